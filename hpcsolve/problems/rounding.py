"""Costs and weights become integers with one power of ten as their scale: exactly where they fit, else rounded.

This is the one place where that happens, and where overflow is judged: of costs in `costs_from_texts`,
`costs_from_floats` and `costs_from_integers`, of weights in `exact_weights` and `rounded_weights`. What a job gives
beside an instance, in the unit of its costs, follows the instance's scale: `at_scale` and `all_at_scale` (exact, time
windows and costs by leg), and `floor_at_scale` (cutoffs).

Texts and floats have the same way: the value of a float is its shortest decimal form that reads back as the same float
(`repr`), so that 0.1 is a tenth and not 0.1000000000000000055. Costs whose decimals fit the limit of an algorithm are
exact.

Else, or where a job asks for it, every number is rounded to the nearest multiple of a unit, a power of ten (of two
equally near ones to the even one), from its exact value. So no cost differs from the input by more than half a unit,
and of two numbers the smaller one is never rounded to the larger value. What follows for answers and for what is proven
of them is in unrounded.py.

Weights of arcs have the form that the engines take: unsigned integers up to 2 ** 64 - 2 where possible. Decimals of at
most nine places become integers unless the length of a path could then overflow. All other weights become doubles,
whose order is that of their bit patterns. The form depends on the instance alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.wording import counted, shown

NO_ARC = np.iinfo(np.int64).max
"""The cost of an arc that does not exist, and the value on the diagonal of a cost matrix."""

LARGEST_SUM = 2**62 - 1
"""The largest magnitude of a sum of costs, weights or times, so that the sum of two and a cost fits 64 bits."""
MAXIMUM_DECIMALS = 18
"""10 ** 18 is the largest power of ten below `LARGEST_SUM`."""

_NUMBER = re.compile(r"([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5}))?", re.ASCII)
_INFINITY = frozenset(("", "inf", "+inf", "infinity", "+infinity"))
_LONGEST_TOKEN = 400
_PROBE = 4096
ExactValue = Callable[[int], Decimal]
"""Function that returns the exact value of the number with an index (from 0)."""
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_HALF_EVEN, traps=[Inexact])
"""The arithmetic of exact values: sums and products of decimals have as many digits as they need."""
FEWEST_UNITS = 10
"""Units of the smallest cost: with fewer, rounding might change this cost by more than 5 %."""
_NOISE = 2.0**-40
"""Difference between the two directions, as a part of the largest cost, that comes from the arithmetic of floats."""
Weights = NDArray[np.uint32] | NDArray[np.uint64] | NDArray[np.float64]
LARGEST_WEIGHT = 2**64 - 2
"""2 ** 64 - 1 marks vertices that are not reached."""
EXACT_IN_DOUBLES = 2**53
"""All integers up to this one are exact as doubles."""


class BadNumber(ValueError):
    """Raised for an entry that cannot be a cost or a weight.

    Attributes
    ----------
    index
        Position of the entry in the flattened input.
    reason
        The end of a sentence that begins with the entry: "is NaN; give a number".
    """

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


class TooManyDigits(BadNumber):
    """Raised for a number whose decimals do not fit, so that rounding would help."""


@dataclass(frozen=True)
class Precision:
    """How the costs of an instance become an algorithm's integers.

    Attributes
    ----------
    algorithm
        Its name, for messages.
    largest_cost
        Function of the numbers of vertices (or cities) and of arcs (or edges): the largest rounded cost.
    fits
        Function of a problem with exact costs: whether the algorithm takes them as they are.
    exact
        Whether to refuse costs that would have to be rounded.
    decimals
        Decimals to round to. None: costs are rounded only if they do not fit, to as many decimals as fit.
    """

    algorithm: str
    largest_cost: Callable[[int, int], int]
    fits: Callable[[Any], bool]
    exact: bool = False
    decimals: int | None = None

    def rounds(self, problem: Any) -> bool:
        """Return whether the exact costs of a `Tsp` or `Graph` have to be rounded.

        Raises
        ------
        InputError
            They have to be, but the job says `exact = true`.
        """
        if self.decimals is not None:
            return bool(problem.scale > 10**self.decimals)
        if problem.scale == 1 or self.fits(problem):  # too large whole numbers are refused by the algorithm
            return False
        if self.exact:
            digits = counted(len(str(problem.scale)) - 1, "decimal")
            what = f"exact = true, but {self.algorithm} cannot add up costs of {digits} exactly"
            raise InputError(f"{what}; remove exact, or set round in its place")
        return True

    def rounded_table(self, numbers: NDArray[np.float64], exact: ExactValue, n: int, name: str) -> Costs:
        """Round the costs of a table of n cities, and mend what only noise makes asymmetric. Raises as `rounded`."""
        costs = self.rounded(numbers, exact, (n, len(numbers)), name)
        return _without_noise(costs, numbers, n) if len(numbers) == n * n else costs  # not for one triangle of a table

    def rounded(
        self, numbers: NDArray[np.float64], exact: ExactValue, size: tuple[int, int], name: str
    ) -> Costs:
        """Round numbers to the decimals that are asked for, or to as many as fit the algorithm.

        Parameters
        ----------
        numbers
            Shape (k,): the numbers as the nearest floats, `inf` for an arc that does not exist.
        exact
            Called for numbers whose float is too near to a tie.
        size
            The numbers of vertices and of arcs.
        name
            Of the file or the instance, for messages.

        Returns
        -------
        Costs
            With `NO_ARC` where an arc does not exist.

        Raises
        ------
        InputError
            The numbers are too large, or they differ so much that small ones would lose their meaning.
        """
        exists = np.isfinite(numbers)
        decimals = self.decimals_for(numbers[exists], self.largest_cost(*size), name)
        values = np.full(len(numbers), NO_ARC)
        scaled = numbers[exists] * 10.0**decimals
        values[exists] = np.rint(scaled)
        # The product of floats is wrong by less than this. So near to a tie it does not tell where to round.
        doubtful = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) <= np.abs(scaled) * 2.0**-50
        for index in np.flatnonzero(exists)[doubtful].tolist():
            values[index] = int(exact(index).scaleb(decimals, EXACT).to_integral_value(ROUND_HALF_EVEN, EXACT))
        return Costs(values, 10**decimals, Rounding(Decimal(5).scaleb(-decimals - 1), exact))

    def decimals_for(self, numbers: NDArray[np.float64], largest: int, name: str) -> int:
        """Return the decimals to round to. Raises as `rounded`."""
        span = float(max(numbers.max(initial=0.0), 0.0)) - float(min(numbers.min(initial=0.0), 0.0))
        # One unit more for rounding, and a little for the error of the float itself.
        finest = next((d for d in range(MAXIMUM_DECIMALS, -1, -1)
                       if span * 10.0**d * (1 + 2.0**-50) + 1 <= largest), None)
        asked, apart = self.decimals, f"the largest and the smallest cost (or 0) are {span:.6g} apart"
        if finest is None:
            what = f"{apart}, and {self.algorithm} takes at most {largest} here"
            raise InputError(f"{what}, even if they are rounded to whole numbers; divide them by a power of ten", name)
        if asked is not None and asked > finest:
            what = f"round = {unit_text(asked)} is too fine: {apart}"
            raise InputError(f"{what}, and {self.algorithm} can round them to {unit_text(finest)} at best", name)
        decimals = finest if asked is None else asked
        sizes = np.abs(numbers[numbers != 0])
        if sizes.size:
            self._refuse_coarse(float(sizes.min()), float(sizes.max()), decimals, name)
        return decimals

    def _refuse_coarse(self, least: float, most: float, decimals: int, name: str) -> None:
        """Refuse a unit that may change the smallest cost by more than 5 %, or, if the job sets it, the largest."""
        fewest, unit = FEWEST_UNITS / 10**decimals, unit_text(decimals)
        if self.decimals is not None and most < fewest:
            raise InputError(f"round = {unit} is too coarse: the largest cost is {most:.6g}", name)
        if self.decimals is None and least < fewest:
            what = f"costs from {least:.6g} to {most:.6g} are too far apart for {self.algorithm}, which can round them"
            way_out = f"set round = {unit} if that is good enough, or write inf for arcs that are not to be used"
            raise InputError(f"{what} to {unit} at best; {way_out}", name)


@dataclass(frozen=True, eq=False)
class Rounding:
    """What rounding has done to the numbers of an instance.

    Attributes
    ----------
    error
        The most by which a number differs from the given one, in the instance's own unit.
    exact
        The given numbers, by the index in the flattened table. None on ranks that did not read the instance, since
        only the rank that writes the result needs them.
    """

    error: Decimal
    exact: ExactValue | None = None

    def __reduce__(self) -> tuple[type[Rounding], tuple[Decimal]]:
        """Leave the given numbers behind where an instance is sent to another rank."""
        return Rounding, (self.error,)


class Costs(NamedTuple):
    """Costs as integers: `values / scale`. `rounding` is None where they are exact."""

    values: NDArray[np.int64]
    scale: int
    rounding: Rounding | None = None


def costs_from_texts(tokens: Sequence[str], n: int, limit: int, precision: Precision | None, name: str) -> Costs:
    """Return the costs of n cities in decimal texts: exact, or rounded if they do not fit and rounding is allowed.

    Parameters
    ----------
    limit
        The largest magnitude of an exact integer.
    precision
        None: only exact costs are returned.

    Raises
    ------
    BadNumber
        As `exact_from_texts`.
    InputError
        As `Precision.rounded`.
    """
    try:
        return Costs(*exact_from_texts(tokens, limit))
    except TooManyDigits as problem:
        precision = _require_allowed(precision, problem)
    # The exact values are kept in one text, a third of their size in a list.
    text, ends = "".join(tokens), np.fromiter(accumulate(map(len, tokens), initial=0), np.int64, len(tokens) + 1)
    known: dict[str, float] = {}
    for index, token in enumerate(tokens):
        if token not in known:
            value = parsed(token, index)
            known[token] = math.inf if value is None else float(token)
            if value is not None and math.isinf(known[token]):
                raise BadNumber(index, too_large(token, limit))
    numbers = np.fromiter((known[token] for token in tokens), np.float64, len(tokens))
    return precision.rounded_table(numbers, lambda index: Decimal(text[ends[index] : ends[index + 1]]), n, name)


def costs_from_floats(
    numbers: NDArray[np.floating[Any]], n: int, limit: int, precision: Precision | None, name: str
) -> Costs:
    """Return the costs of n cities in floats, by their shortest decimal form, as `costs_from_texts` does."""
    if numbers.dtype != np.float64:
        return costs_from_texts([str(x) for x in numbers], n, limit, precision, name)
    try:
        return Costs(*exact_from_floats(numbers, limit))
    except TooManyDigits as problem:
        precision = _require_allowed(precision, problem)
    return precision.rounded_table(numbers.astype(np.float64, copy=False), exact_floats(numbers), n, name)


def costs_from_integers(costs: Costs, n: int, precision: Precision, name: str) -> Costs:
    """Return exact costs of n cities, rounded to fewer decimals."""
    numbers = np.where(costs.values == NO_ARC, np.inf, costs.values / costs.scale)
    return precision.rounded_table(numbers, exact_integers(costs.values, costs.scale), n, name)


def exact_floats(numbers: NDArray[np.floating[Any]]) -> ExactValue:
    """Return the function of the exact values of floats, by their shortest decimal form."""
    return lambda index: Decimal(repr(float(numbers[index])))


def exact_integers(values: NDArray[Any], scale: int) -> ExactValue:
    """Return the function of the exact values of integers over a power of ten."""
    return lambda index: own_decimal(int(values[index]), scale)


def own_decimal(value: int | Decimal, scale: int) -> Decimal:
    """Return `value / scale` for a power of ten, exact."""
    return Decimal(value).scaleb(1 - len(str(scale)), EXACT)


def at_scale(token: str, scale: int, limit: int) -> int | None:
    """Return the integer that a decimal text is over a given scale, `NO_ARC` if it is infinite.

    None: it is not a number, has more decimals than the scale, or is larger than the limit.
    """
    decimals = len(str(scale)) - 1
    try:
        value = parsed(token, 0)
        if value is None:
            return NO_ARC
        return None if -value.exponent > decimals else _scaled(value, token, decimals, limit, 0)
    except BadNumber:
        return None


def all_at_scale(numbers: NDArray[Any], scale: int, limit: int) -> NDArray[np.int64] | None:
    """Return the integers that integers or floats are over a given scale, None if one has more decimals than the scale.

    Raises
    ------
    OverflowError
        One of them is not finite, or larger than the limit.
    """
    if not np.isfinite(numbers).all():
        raise OverflowError
    if max(int(numbers.max(initial=0)), -int(numbers.min(initial=0))) * scale > limit:
        raise OverflowError
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64) * scale
    scaled = np.rint(numbers * float(scale)).astype(np.int64)
    return scaled if np.array_equal(scaled / scale, numbers) else None


def floor_at_scale(number: float, scale: int) -> int:
    """Return the largest integer over a given scale that is not above a number."""
    return math.floor(Decimal(repr(number)).scaleb(len(str(scale)) - 1, EXACT))


class ExactDecimal(NamedTuple):
    """The decimal number `mantissa * 10 ** exponent`, whose mantissa has no trailing zeros."""

    mantissa: int
    exponent: int


def is_number(token: str) -> bool:
    """Return whether a text is a finite decimal number, an infinity or NaN. The last two may be refused later."""
    word = token.lower()
    return _NUMBER.fullmatch(token) is not None or (word in _INFINITY and word != "") or word in ("nan", "-inf")


def exact_from_texts(tokens: Sequence[str], limit: int) -> tuple[NDArray[np.int64], int]:
    """Turn decimal texts into integers with one common scale.

    Parameters
    ----------
    tokens
        Decimal numbers. `inf` or an empty text is a forbidden arc.
    limit
        Largest magnitude allowed after scaling.

    Returns
    -------
    values, scale
        int64, one for each token, `NO_ARC` where there is no arc, and a power of ten. The value of a token is
        `values / scale`.

    Raises
    ------
    BadNumber
        For the first token that is not a number, or that has too many digits.
    """
    known: dict[str, tuple[int, ExactDecimal | None]] = {}
    decimals = 0
    for index, token in enumerate(tokens):
        if token in known:
            continue
        value = parsed(token, index)
        known[token] = index, value
        if value is not None:
            decimals = max(decimals, -value.exponent)
            # Checked at once, not after millions of numbers, since more decimals never make a value fit.
            _scaled(value, token, decimals, limit, index)
    scaled = {token: NO_ARC if value is None else _scaled(value, token, decimals, limit, index)
              for token, (index, value) in known.items()}
    return np.fromiter((scaled[token] for token in tokens), dtype=np.int64, count=len(tokens)), 10**decimals


def parsed(token: str, index: int) -> ExactDecimal | None:
    """Return the exact value of a token, or None for a forbidden arc. Raises `BadNumber` if it is not a number."""
    if token.lower() in _INFINITY:
        return None
    if len(token) > _LONGEST_TOKEN:
        raise BadNumber(index, f"has too many digits: {shown(token)}")
    found = _NUMBER.fullmatch(token)
    if found is None:
        raise BadNumber(index, _not_a_cost(token))
    sign, whole, part, exponent = found.groups(default="")
    digits = (whole + part).rstrip("0")
    if not digits.strip("0"):
        return ExactDecimal(0, 0)
    zeros = len(whole) + len(part) - len(digits)
    return ExactDecimal(int(sign + digits), int(exponent or "0") - len(part) + zeros)


def _not_a_cost(text: str) -> str:
    """Return why a text cannot be a cost."""
    word = text.lower()
    if word in ("nan", "+nan", "-nan"):
        return "is NaN; give a number, or inf if the arc does not exist"
    if word in ("-inf", "-infinity"):
        return "is -inf; a forbidden arc has the cost inf"
    return f"is not a number: {shown(text)}"


def _scaled(value: ExactDecimal, token: str, decimals: int, limit: int, index: int) -> int:
    """Return the value times 10 ** decimals, which must fit the limit and 18 decimals."""
    if decimals > MAXIMUM_DECIMALS:
        reason = f"has too many digits: {shown(token)} needs {decimals} decimals, and at most {MAXIMUM_DECIMALS} fit"
        raise TooManyDigits(index, reason + "; round the costs")
    zeros = value.exponent + decimals
    if zeros <= MAXIMUM_DECIMALS:
        result = value.mantissa * int(10**zeros)
        if abs(result) <= limit:
            return result
    if decimals == 0:
        raise BadNumber(index, too_large(token, limit))
    reason = f"has too many digits: {shown(token)} times 10^{decimals} (the decimals of the costs) exceeds {limit}"
    raise TooManyDigits(index, reason + "; round the costs to fewer decimals")


def too_large(token: str, limit: int) -> str:
    """Return why a cost is refused: sums of such costs would not fit 62 bits."""
    quoted = shown(token)[1:-1]
    return f"is too large: {quoted} exceeds {limit}, so that a tour's cost may overflow; scale the costs down"


def exact_from_floats(values: NDArray[np.floating[Any]], limit: int) -> tuple[NDArray[np.int64], int]:
    """Turn floats into integers with one common scale, by their shortest decimal form.

    `inf` is a forbidden arc. Parameters, results and errors are those of `exact_from_texts`.
    """
    finite = np.isfinite(values)
    for index in np.flatnonzero(~finite):
        if not values[index] > 0:
            raise BadNumber(int(index), _not_a_cost(str(values[index])))
    if values.dtype == np.float64:
        quick = few_decimals(values[finite], limit)
        if quick is not None:
            result = np.full(len(values), NO_ARC, dtype=np.int64)
            result[finite] = quick[0]
            return result, quick[1]
    for part in (values[:_PROBE], values):  # usually the first numbers show that the decimals do not fit
        texts = [repr(x) for x in part.tolist()] if values.dtype == np.float64 else [str(x) for x in part]
        found = exact_from_texts(texts, limit)
    return found


def few_decimals(values: NDArray[np.float64], limit: int) -> tuple[NDArray[np.int64], int] | None:
    """Turn finite floats with at most nine decimals into integers with one common scale, by float arithmetic alone.

    An integer below 2 ** 53 divided by a power of ten up to 10 ** 22 is rounded once, so the quotient is the float
    nearest to that decimal. Equality with a value therefore proves that this decimal is the value's shortest form.

    Returns
    -------
    (values, scale) or None
        As of `exact_from_texts`, or None if a value has more decimals or is too large for exact arithmetic.
    """
    bound = min(float(limit), 2.0**50)
    for decimals in range(10):
        power = float(10**decimals)
        if values.size and np.abs(values).max() >= bound / power:
            return None
        scaled = np.rint(values * power)
        if np.array_equal(scaled / power, values):
            return scaled.astype(np.int64), 10**decimals
    return None


def _require_allowed(precision: Precision | None, problem: TooManyDigits) -> Precision:
    """Return the precision. Raise the problem if there is none, or, with a way out, if it forbids rounding."""
    if precision is None:
        raise problem
    if precision.exact:
        raise TooManyDigits(problem.index, f"{problem.reason}, or remove exact = true")
    return precision


def decimals_of(unit: float) -> int | None:
    """Return the decimals of a unit that is a power of ten from 1e-18 to 1, else None."""
    return next((d for d in range(MAXIMUM_DECIMALS + 1) if float(f"1e-{d}") == unit), None)


def unit_text(decimals: int) -> str:
    """Return a unit in its shortest form: 0.001, 1e-6."""
    return f"{10.0**-decimals:g}" if decimals < 4 else f"1e-{decimals}"


def _without_noise(costs: Costs, numbers: NDArray[np.float64], n: int) -> Costs:
    """Return the rounded costs of an (n, n) table, symmetric if the table is symmetric up to float arithmetic.

    Two costs that differ by noise may lie on both sides of a tie. Then both become the one above the diagonal.
    """
    values, table = costs.values.reshape(n, n), numbers.reshape(n, n)
    differ = values != values.T
    if not differ.any() or not np.array_equal(np.isinf(table), np.isinf(table.T)):
        return costs
    difference = np.abs(np.subtract(table, table.T, where=np.isfinite(table), out=np.zeros((n, n))))
    if difference.max() > _NOISE * np.abs(table[np.isfinite(table)]).max():
        return costs
    mirrored = np.where(np.tri(n, dtype=bool), values.T, values)
    # The exact value of each is a decimal, or integer / scale, within a unit in the last place of its float.
    noise = float(difference[differ].max() + 2 * np.spacing(np.abs(table[differ]).max()))
    assert costs.rounding is not None
    error = EXACT.add(costs.rounding.error, Decimal(noise))
    return Costs(mirrored.reshape(-1), costs.scale, Rounding(error, costs.rounding.exact))


def exact_weights(values: ArrayLike, n: int) -> tuple[Weights, int]:
    """Check the weights of a graph's arcs and bring them into their final form.

    Parameters
    ----------
    values
        Shape (m,): integers, floats or booleans of at least 0. The exact value of a float32 counts.
    n
        Number of vertices, which bounds the number of arcs of a path.

    Returns
    -------
    weights, scale
        uint32 where all weights fit, else uint64, or float64 without -0.0, and a power of ten, which is 1 for float64.
        The values are `weights / scale`.

    Raises
    ------
    BadNumber
        For the first value that is negative, NaN, infinite, too large or not a number.
    """
    table = number_table(values)
    if table.dtype.kind == "f":
        return _of_floats(table.astype(np.float64, copy=False), n)
    if table.dtype.kind == "i":
        _refuse(table < 0, table, "is negative")
    whole = table.astype(np.uint64, copy=False)
    _refuse(whole > np.uint64(LARGEST_WEIGHT), table, f"is too large, above {LARGEST_WEIGHT}")
    return narrowed(whole), 1


def number_table(values: ArrayLike) -> NDArray[Any]:
    """Return the array of integers or floats that numpy would make, but with Python's integers kept exact.

    Raises
    ------
    BadNumber
        For anything but numbers, and for integers that do not fit 64 bits.
    """
    try:
        table = np.asarray(values)
        items = np.asarray(values, dtype=object) if table.dtype.kind in "fO" and table is not values else table
    except (ValueError, TypeError):
        raise BadNumber(0, "is not a number: the weights are not a table of numbers") from None
    if items.dtype == object and all(isinstance(item, int) for item in items.flat):
        # numpy turns lists with an integer of 2 ** 63 or more into floats.
        _refuse(np.asarray(items < 0, dtype=bool), items, "is negative")
        _refuse(np.asarray(items > LARGEST_WEIGHT, dtype=bool), items, f"is too large, above {LARGEST_WEIGHT}")
        table = items.astype(np.uint64)
    if table.dtype.kind not in "biuf":
        raise BadNumber(0, f"is not a number: the weights are {table.dtype}; give integers or floats")
    return table.astype(np.uint8) if table.dtype.kind == "b" else table


def _of_floats(values: NDArray[np.float64], n: int) -> tuple[Weights, int]:
    _refuse(np.isnan(values), values, "is NaN; give a number")
    _refuse(values < 0, values, "is negative")
    _refuse(np.isinf(values), values, "is infinite; leave out arcs that do not exist")
    if values.size == 0 or (values.max() < EXACT_IN_DOUBLES and np.array_equal(np.rint(values), values)):
        return narrowed(values.astype(np.uint64)), 1
    scaled = few_decimals(values, (2**63 - 1) // max(n, 1))
    if scaled is None:
        return values + 0.0, 1
    return narrowed(scaled[0].astype(np.uint64)), scaled[1]


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], reason: str) -> None:
    """Raise a BadNumber for the first bad value, if there is any."""
    if bad.any():
        index = int(np.argmax(bad))
        value = values[index]
        raise BadNumber(index, f"{reason}: {value:.17g}" if values.dtype.kind == "f" else f"{reason}: {value}")


def narrowed(values: Weights) -> Weights:
    """Return integers as uint32 if all of them fit, other values unchanged."""
    if values.dtype != np.uint64 or (values.size and values.max() >= 2**32):
        return values
    return values.astype(np.uint32)


def rounded_weights(
    weights: Weights, scale: int, size: tuple[int, int], precision: Precision, name: str
) -> tuple[Weights, int, Rounding | None]:
    """Return weights rounded to fewer decimals, their scale, and how they were rounded, None if they are exact.

    Parameters
    ----------
    weights, scale
        As `exact_weights` returns them.
    size
        The numbers of vertices and of edges (arcs, if the graph is directed).

    Raises
    ------
    InputError
        As `Precision.rounded`.
    """
    if weights.dtype.kind == "u":
        found = precision.rounded(weights / scale, exact_integers(weights, scale), size, name)
    else:
        numbers = weights.astype(np.float64, copy=False)
        found = precision.rounded(numbers, exact_floats(numbers), size, name)
        if (found.values < EXACT_IN_DOUBLES).all() and np.array_equal(found.values / float(found.scale), numbers):
            found = found._replace(rounding=None)  # exact after all: floats only since they have ten decimals or more
    return narrowed(found.values.astype(np.uint64)), found.scale, found.rounding

"""Costs, weights and times become integers with one power of ten as their scale: exactly where they fit, else rounded.

This is the one place where a cost, weight or time becomes an integer, and where it is judged whether integers fit. The
parts of this file, in their order:

1. Limits: how large an integer may be, so that sums of so many fit (`largest_cost`).
2. The ways in. `costs_of_table` (arrays) and `costs_of` (texts, flat arrays) return costs, `exact_weights` weights of
   arcs. `Costs.rounded` and `Graph.fitted` round what an algorithm cannot take. What a job gives beside an instance, in
   the unit of its costs, follows the instance's scale: `Costs.at` (time windows, costs by leg), and `floor_at_scale`
   (cutoffs, targets).
3. How numbers become integers exactly, texts and floats alike.
4. How they are rounded: `Precision`.

Distances between coordinates are whole numbers by definition, and `distances.py` computes them as such, up to
`largest_cost`. Lengths that graphs have as weights are rounded where they are computed (`geojson.py`: millimetres,
`generate/plane.py`: whole units). Whether the integers of an instance suit an algorithm is for its own `Statement.fits`
to say, by the limits that are given here. Weights, windows and costs by leg of an objective make larger sums, which
`held_karp/problem.py` and `held_karp/statement.py` compare with `LARGEST_SUM`, as `steiner.py` compares those of edges.

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
LARGEST_WEIGHT = 2**64 - 2
"""2 ** 64 - 1 marks vertices that are not reached."""
EXACT_IN_DOUBLES = 2**53
"""All integers up to this one are exact as doubles."""

NUMBER = r"[+-]?(?=\.?\d)\d*(?:\.\d*)?(?:[eE][+-]?\d{1,5})?"
"""The pattern of a finite decimal number."""
_NUMBER = re.compile(NUMBER, re.ASCII)
_INFINITY = frozenset(("", "inf", "+inf", "infinity", "+infinity"))
_NOT_INTEGERS = re.compile(rb"[^\d\s+-]|\d[+-]|[+-](?!\d)|\d{19}")
"""Whatever is not a whole number of at most 18 digits between blanks."""
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


def largest_cost(count: int) -> int:
    """Return the largest magnitude that a cost may have, so that the sum of this many is at most `LARGEST_SUM`."""
    return LARGEST_SUM // max(count, 1)


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
    """Costs as integers: `values / scale`, `NO_ARC` where there is no arc. `rounding` is None where they are exact."""

    values: NDArray[np.int64]
    scale: int
    rounding: Rounding | None = None

    @property
    def largest(self) -> int:
        """The largest magnitude of a value."""
        return int(np.abs(self.values[self.values != NO_ARC]).max(initial=0))

    def at(self, scale: int, limit: int) -> NDArray[np.int64] | None:
        """Return the integers over another scale, or None if they have more decimals or one is beyond the limit."""
        factor = scale // self.scale
        return times(self.values, factor) if factor > 0 and self.largest * factor <= limit else None

    def rounded(self, precision: Precision, name: str) -> Costs:
        """Return these exact costs, of shape (..., n, n) or (..., n), rounded to fewer decimals."""
        flat = self.values.reshape(-1)
        numbers = np.where(flat == NO_ARC, np.inf, flat / self.scale)
        found = precision.rounded_table(numbers, exact_integers(flat, self.scale), self.values.shape[-1], name)
        return found._replace(values=found.values.reshape(self.values.shape))


def times(cost: NDArray[np.int64], factor: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return costs times a factor, `NO_ARC` where there is no arc."""
    absent = cost == NO_ARC
    return np.where(absent, NO_ARC, np.where(absent, 0, cost) * factor)


def costs_of_table(table: NDArray[Any], precision: Precision | None, name: str, several: str = "instance") -> Costs:
    """Return the costs in a table of integers, floats or Python's numbers, in its shape, with `NO_ARC` on diagonals.

    Parameters
    ----------
    table
        Shape (n, n) or (several, n, n): costs from row to column, as in `costs_of`. The diagonals are ignored.
    several
        What the first of three dimensions counts, in the singular, for messages.

    Raises
    ------
    InputError
        As `costs_of`. The message names the entry.
    """
    n, cities = table.shape[-1], np.arange(table.shape[-1])
    whole = {"i": np.int64, "u": np.uint64}.get(table.dtype.kind)
    own = table.astype(table.dtype if whole is None else whole, order="C")
    own[..., cities, cities] = np.inf if whole is None else 0
    try:
        found = costs_of(own.reshape(-1), n, precision, name)
    except BadNumber as problem:
        *number, row, column = np.unravel_index(problem.index, table.shape)
        of = f" of {several} {number[0]}" if number else ""
        raise InputError(f"the cost from city {row} to city {column}{of} {problem.reason}", name) from None
    values = found.values.reshape(table.shape)
    values[..., cities, cities] = NO_ARC
    return found._replace(values=values)


def costs_of(numbers: Sequence[str] | NDArray[Any], n: int, precision: Precision | None, name: str) -> Costs:
    """Return the costs of n cities as integers: exact, or rounded if they do not fit and rounding is allowed.

    Parameters
    ----------
    numbers
        Decimal texts, or an array of shape (k,) of integers, floats or Python's numbers. Where there is no arc, a text
        is `inf` or empty, a float is infinite, and an integer is `NO_ARC`. Integers of 64 bits are not copied.
    precision
        None: only exact costs are returned.
    name
        Of the file or the instance, for messages.

    Raises
    ------
    BadNumber
        For the first entry that is not a number, is too large for sums of n costs, or has too many digits.
    InputError
        As `Precision.rounded`.
    """
    limit = largest_cost(n)
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iu":
        unsigned = numbers.dtype.kind == "u"
        whole = numbers.astype(np.uint64 if unsigned else np.int64, copy=False).view(np.int64)  # 2^63 becomes negative
        beyond = whole > limit
        beyond &= whole != NO_ARC
        beyond |= whole < (0 if unsigned else -limit)
        if beyond.any():
            index = int(np.argmax(beyond))
            raise BadNumber(index, _too_large(str(numbers[index]), limit))
        return Costs(whole, 1)
    if isinstance(numbers, np.ndarray) and numbers.dtype != np.float64:
        numbers = [_text_of(value, index) for index, value in enumerate(numbers)]
    try:
        if isinstance(numbers, np.ndarray):
            return exact_from_floats(numbers, limit)
        return exact_from_texts(numbers, limit)
    except TooManyDigits as problem:
        if precision is None:
            raise
        if precision.exact:
            raise TooManyDigits(problem.index, f"{problem.reason}, or remove exact = true") from None
    floats, exact = (numbers, exact_floats(numbers)) if isinstance(numbers, np.ndarray) else _floats_of(numbers, limit)
    return precision.rounded_table(floats, exact, n, name)


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
    if table.dtype.kind != "f":
        if table.dtype.kind == "i":
            _refuse(table < 0, table, "is negative")
        whole = table.astype(np.uint64, copy=False)
        _refuse(whole > np.uint64(LARGEST_WEIGHT), table, f"is too large, above {LARGEST_WEIGHT}")
        return narrowed(whole), 1
    floats = table.astype(np.float64, copy=False)
    _refuse(np.isnan(floats), floats, "is NaN; give a number")
    _refuse(floats < 0, floats, "is negative")
    _refuse(np.isinf(floats), floats, "is infinite; leave out arcs that do not exist")
    if floats.size == 0 or (floats.max() < EXACT_IN_DOUBLES and np.array_equal(np.rint(floats), floats)):
        return narrowed(floats.astype(np.uint64)), 1
    scaled = few_decimals(floats, (2**63 - 1) // max(n, 1))
    return (floats + 0.0, 1) if scaled is None else (narrowed(scaled[0].astype(np.uint64)), scaled[1])


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


def floor_at_scale(number: float, scale: int) -> int:
    """Return the largest integer over a given scale that is not above a number."""
    return math.floor(Decimal(repr(number)).scaleb(len(str(scale)) - 1, EXACT))


def own_decimal(value: int | Decimal, scale: int) -> Decimal:
    """Return `value / scale` for a power of ten, exact."""
    return Decimal(value).scaleb(1 - len(str(scale)), EXACT)


def exact_floats(numbers: NDArray[np.floating[Any]]) -> ExactValue:
    """Return the function of the exact values of floats, by their shortest decimal form."""
    return lambda index: Decimal(repr(float(numbers[index])))


def exact_integers(values: NDArray[Any], scale: int) -> ExactValue:
    """Return the function of the exact values of integers over a power of ten."""
    return lambda index: own_decimal(int(values[index]), scale)


def is_number(token: str) -> bool:
    """Return whether a text is a finite decimal number, an infinity or NaN. The last two may be refused later."""
    word = token.lower()
    return _NUMBER.fullmatch(token) is not None or (word in _INFINITY and word != "") or word in ("nan", "-inf")


def whole_numbers(text: bytes) -> NDArray[np.int64] | None:
    """Return the numbers of a text, or None if it has others than whole ones of at most 18 digits between blanks."""
    if _NOT_INTEGERS.search(text):
        return None
    return np.fromstring(text, dtype=np.int64, sep=" ") if text.strip() else np.empty(0, dtype=np.int64)


def exact_from_texts(tokens: Sequence[str], limit: int) -> Costs:
    """Turn decimal texts into integers with one common scale, the smallest one.

    Parameters
    ----------
    tokens
        Decimal numbers. `inf` or an empty text is a forbidden arc.
    limit
        Largest magnitude allowed after scaling.

    Raises
    ------
    BadNumber
        For the first token that is not a number, or that has too many digits.
    """
    known: dict[str, tuple[int, Decimal | None]] = {}
    decimals = 0
    for index, token in enumerate(tokens):
        if token in known:
            continue
        value = _parsed(token, index)
        known[token] = index, value
        if value is not None:
            decimals = max(decimals, -int(value.as_tuple().exponent))
            # Checked at once, not after millions of numbers, since more decimals never make a value fit.
            _scaled(value, token, decimals, limit, index)
    scaled = {token: NO_ARC if value is None else _scaled(value, token, decimals, limit, index)
              for token, (index, value) in known.items()}
    return Costs(np.fromiter((scaled[token] for token in tokens), dtype=np.int64, count=len(tokens)), 10**decimals)


def _parsed(token: str, index: int) -> Decimal | None:
    """Return the exact value of a token without trailing zeros, or None for a forbidden arc. Raises `BadNumber`."""
    if token.lower() in _INFINITY:
        return None
    if len(token) > _LONGEST_TOKEN:
        raise BadNumber(index, f"has too many digits: {shown(token)}")
    if not _NUMBER.fullmatch(token):
        raise BadNumber(index, _not_a_cost(token))
    return EXACT.normalize(Decimal(token))


def exact_number(token: str) -> Decimal | None:
    """Return the exact value of a decimal text without trailing zeros, None if it is infinite. Raises `BadNumber`."""
    return _parsed(token, 0)


def _not_a_cost(text: str) -> str:
    """Return why a text cannot be a cost."""
    word = text.lower()
    if word in ("nan", "+nan", "-nan"):
        return "is NaN; give a number, or inf if the arc does not exist"
    if word in ("-inf", "-infinity"):
        return "is -inf; a forbidden arc has the cost inf"
    return f"is not a number: {shown(text)}"


def _text_of(value: object, index: int) -> str:
    """Return the decimal form of one of Python's or numpy's numbers."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if abs(int(value)) > NO_ARC:
            raise BadNumber(index, "is too large: it does not fit 64 bits")
        return "inf" if value == NO_ARC else str(value)
    if isinstance(value, (float, np.floating, Decimal)):
        return str(value)
    raise BadNumber(index, f"is not a number: {type(value).__name__}")


def _scaled(value: Decimal, token: str, decimals: int, limit: int, index: int) -> int:
    """Return the value times 10 ** decimals, which must fit the limit and 18 decimals."""
    if decimals > MAXIMUM_DECIMALS:
        reason = f"has too many digits: {shown(token)} needs {decimals} decimals, and at most {MAXIMUM_DECIMALS} fit"
        raise TooManyDigits(index, reason + "; round the costs")
    scaled = value.scaleb(decimals, EXACT)
    if -limit <= scaled <= limit:
        return int(scaled)
    if decimals == 0:
        raise BadNumber(index, _too_large(token, limit))
    reason = f"has too many digits: {shown(token)} times 10^{decimals} (the decimals of the costs) exceeds {limit}"
    raise TooManyDigits(index, reason + "; round the costs to fewer decimals")


def _too_large(token: str, limit: int) -> str:
    """Return why a cost is refused: sums of such costs would not fit 62 bits."""
    quoted = shown(token)[1:-1]
    return f"is too large: {quoted} exceeds {limit}, so that a tour's cost may overflow; scale the costs down"


def exact_from_floats(values: NDArray[np.float64], limit: int) -> Costs:
    """Turn floats into integers by their shortest decimal form, `inf` into a forbidden arc, as `exact_from_texts`."""
    finite = np.isfinite(values)
    for index in np.flatnonzero(~finite):
        if not values[index] > 0:
            raise BadNumber(int(index), _not_a_cost(str(values[index])))
    quick = few_decimals(values[finite], limit)
    if quick is not None:
        result = np.full(len(values), NO_ARC, dtype=np.int64)
        result[finite] = quick[0]
        return Costs(result, quick[1])
    for part in (values[:_PROBE], values):  # usually the first numbers show that the decimals do not fit
        found = exact_from_texts([repr(x) for x in part.tolist()], limit)
    return found


def few_decimals(values: NDArray[np.float64], limit: int) -> tuple[NDArray[np.int64], int] | None:
    """Turn finite floats with at most nine decimals into integers with one common scale, by float arithmetic alone.

    An integer below 2 ** 53 divided by a power of ten up to 10 ** 22 is rounded once, so the quotient is the float
    nearest to that decimal. Equality with a value therefore proves that this decimal is the value's shortest form.

    Returns
    -------
    (values, scale) or None
        None if a value has more decimals or is too large for exact arithmetic.
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


def _floats_of(tokens: Sequence[str], limit: int) -> tuple[NDArray[np.float64], ExactValue]:
    """Return decimal texts as the nearest floats, and the function of their exact values. Raises `BadNumber`."""
    known: dict[str, float] = {}
    for index, token in enumerate(tokens):
        if token not in known:
            known[token] = math.inf if _parsed(token, index) is None else float(token)
            if math.isinf(known[token]) and token.lower() not in _INFINITY:
                raise BadNumber(index, _too_large(token, limit))
    # The exact values are kept in one text, a third of their size in a list.
    text, ends = "".join(tokens), np.fromiter(accumulate(map(len, tokens), initial=0), np.int64, len(tokens) + 1)
    numbers = np.fromiter((known[token] for token in tokens), np.float64, len(tokens))
    return numbers, lambda index: Decimal(text[ends[index] : ends[index + 1]])


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

"""Costs rounded to a power of ten, where exact decimals do not fit an algorithm's integers, or where a job asks for it.

Every number is rounded to the nearest multiple of the unit (of two equally near ones to the even one) from its exact
value, which of a float is its shortest decimal form. So no cost differs from the input by more than half a unit, and of
two numbers the smaller one is never rounded to the larger value. What follows for answers and for what is proven of
them is in unrounded.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.decimals import (
    FORBIDDEN,
    MAXIMUM_DECIMALS,
    BadNumber,
    TooManyDigits,
    exact_from_floats,
    exact_from_texts,
    parsed,
    too_large,
)
from hpcsolve.wording import counted

ExactValue = Callable[[int], Decimal]
"""Function that returns the exact value of the number with an index (from 0)."""
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_HALF_EVEN, traps=[Inexact])
"""The arithmetic of exact values: sums and products of decimals have as many digits as they need."""

FEWEST_UNITS = 10
"""Units of the smallest cost: with fewer, rounding might change this cost by more than 5 %."""
_NOISE = 2.0**-40
"""Difference between the two directions, as a part of the largest cost, that comes from the arithmetic of floats."""


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
        As `rounded`.
    """
    try:
        return Costs(*exact_from_texts(tokens, limit))
    except TooManyDigits as problem:
        precision = _require_allowed(precision, problem)
    known: dict[str, float] = {}
    for index, token in enumerate(tokens):
        if token not in known:
            value = parsed(token, index)
            known[token] = math.inf if value is None else float(token)
            if value is not None and math.isinf(known[token]):
                raise BadNumber(index, too_large(token, limit))
    numbers = np.fromiter((known[token] for token in tokens), np.float64, len(tokens))
    return _rounded_table(numbers, _exact_texts(tokens), n, precision, name)


def _exact_texts(tokens: Sequence[str]) -> ExactValue:
    """Return the function of the exact values of texts, which are kept in one text, a third of their size in a list."""
    text, ends = "".join(tokens), np.fromiter(accumulate(map(len, tokens), initial=0), np.int64, len(tokens) + 1)
    return lambda index: Decimal(text[ends[index] : ends[index + 1]])


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
    return _rounded_table(numbers.astype(np.float64, copy=False), exact_floats(numbers), n, precision, name)


def costs_from_integers(costs: Costs, n: int, precision: Precision, name: str) -> Costs:
    """Return exact costs of n cities, rounded to fewer decimals."""
    numbers = np.where(costs.values == FORBIDDEN, np.inf, costs.values / costs.scale)
    return _rounded_table(numbers, exact_integers(costs.values, costs.scale), n, precision, name)


def _require_allowed(precision: Precision | None, problem: TooManyDigits) -> Precision:
    """Return the precision. Raise the problem if there is none, or, with a way out, if it forbids rounding."""
    if precision is None:
        raise problem
    if precision.exact:
        raise TooManyDigits(problem.index, f"{problem.reason}, or remove exact = true")
    return precision


def _rounded_table(numbers: NDArray[np.float64], exact: ExactValue, n: int, precision: Precision, name: str) -> Costs:
    costs = rounded(numbers, exact, (n, len(numbers)), precision, name)
    return _without_noise(costs, numbers, n) if len(numbers) == n * n else costs  # not for one triangle of a table


def rounded(
    numbers: NDArray[np.float64], exact: ExactValue, size: tuple[int, int], precision: Precision, name: str
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
        With `FORBIDDEN` where an arc does not exist.

    Raises
    ------
    InputError
        The numbers are too large, or they differ so much that small ones would lose their meaning.
    """
    exists = np.isfinite(numbers)
    decimals = _decimals_for(numbers[exists], precision.largest_cost(*size), precision, name)
    values = np.full(len(numbers), FORBIDDEN)
    scaled = numbers[exists] * 10.0**decimals
    values[exists] = np.rint(scaled)
    # The product of floats is wrong by less than this. So near to a tie it does not tell where to round.
    doubtful = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) <= np.abs(scaled) * 2.0**-50
    for index in np.flatnonzero(exists)[doubtful].tolist():
        values[index] = int(exact(index).scaleb(decimals, EXACT).to_integral_value(ROUND_HALF_EVEN, EXACT))
    return Costs(values, 10**decimals, Rounding(Decimal(5).scaleb(-decimals - 1), exact))


def exact_floats(numbers: NDArray[np.floating[Any]]) -> ExactValue:
    """Return the function of the exact values of floats, by their shortest decimal form."""
    return lambda index: Decimal(repr(float(numbers[index])))


def exact_integers(values: NDArray[Any], scale: int) -> ExactValue:
    """Return the function of the exact values of integers over a power of ten."""
    return lambda index: own_decimal(int(values[index]), scale)


def own_decimal(value: int | Decimal, scale: int) -> Decimal:
    """Return `value / scale` for a power of ten, exact."""
    return Decimal(value).scaleb(1 - len(str(scale)), EXACT)


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


def _decimals_for(numbers: NDArray[np.float64], largest: int, precision: Precision, name: str) -> int:
    """Return the decimals to round to. Raises as `rounded`."""
    span = float(max(numbers.max(initial=0.0), 0.0)) - float(min(numbers.min(initial=0.0), 0.0))
    # One unit more for rounding, and a little for the error of the float itself.
    finest = next((d for d in range(MAXIMUM_DECIMALS, -1, -1) if span * 10.0**d * (1 + 2.0**-50) + 1 <= largest), None)
    asked, apart = precision.decimals, f"the largest and the smallest cost (or 0) are {span:.6g} apart"
    if finest is None:
        what = f"{apart}, and {precision.algorithm} takes at most {largest} here"
        raise InputError(f"{what}, even if they are rounded to whole numbers; divide them by a power of ten", name)
    if asked is not None and asked > finest:
        what = f"round = {unit_text(asked)} is too fine: {apart}"
        raise InputError(f"{what}, and {precision.algorithm} can round them to {unit_text(finest)} at best", name)
    decimals = finest if asked is None else asked
    sizes = np.abs(numbers[numbers != 0])
    if sizes.size:
        _refuse_coarse(float(sizes.min()), float(sizes.max()), decimals, precision, name)
    return decimals


def _refuse_coarse(least: float, most: float, decimals: int, precision: Precision, name: str) -> None:
    """Refuse a unit that may change the smallest cost by more than 5 %, or, if the job sets it, the largest cost."""
    fewest, unit = FEWEST_UNITS / 10**decimals, unit_text(decimals)
    if precision.decimals is not None and most < fewest:
        raise InputError(f"round = {unit} is too coarse: the largest cost is {most:.6g}", name)
    if precision.decimals is None and least < fewest:
        what = f"costs from {least:.6g} to {most:.6g} are too far apart for {precision.algorithm}, which can round them"
        way_out = f"set round = {unit} if that is good enough, or write inf for arcs that are not to be used"
        raise InputError(f"{what} to {unit} at best; {way_out}", name)


def decimals_of(unit: float) -> int | None:
    """Return the decimals of a unit that is a power of ten from 1e-18 to 1, else None."""
    return next((d for d in range(MAXIMUM_DECIMALS + 1) if float(f"1e-{d}") == unit), None)


def unit_text(decimals: int) -> str:
    """Return a unit in its shortest form: 0.001, 1e-6."""
    return f"{10.0**-decimals:g}" if decimals < 4 else f"1e-{decimals}"

"""Access: how much of the targets' opportunities (jobs, hospital beds) a source reaches, by a decay with the distance.

    access(source) = sum over targets of opportunities(target) * share(distance)

A decay is a table of steps of distance, each with a share from 0 to 1 in millionths. Opportunities are integers with
one scale. So sums are exact, and the same in any order. The tables are made here, and are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.rounding import BadNumber, Costs, TooManyDigits, exact_from_floats, exact_from_texts

ONE = 10**6
"""The share 1."""
LARGEST_TOTAL = (2**63 - 1) // ONE
"""The largest sum of opportunities, times their scale, so that sums of them times shares are below 2^63."""
LARGEST_LENGTH = 2.0**48
"""The largest length of a formula in units of the weights, so that its steps are exact as doubles."""
Floats = NDArray[np.float64]


class Steps(NamedTuple):
    """A decay: of each step the largest distance, ascending, in the unit of `graph.weights`, and the share."""

    limits: NDArray[Any]
    shares: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Access:
    """What is asked about access.

    Attributes
    ----------
    names
        Each decay in words, such as `within 900`.
    decays
        The tables of steps.
    opportunities, scale
        Shape (targets,), uint64, and a power of ten: the opportunities of each target are `opportunities / scale`.
    """

    names: tuple[str, ...]
    decays: tuple[Steps, ...]
    opportunities: NDArray[np.uint64]
    scale: int = 1

    def in_own_unit(self, total: int) -> float:
        """Return a sum of opportunities times shares in the unit of the opportunities, rounded once."""
        return total / (self.scale * ONE)

    def opportunities_in_own_unit(self) -> Floats:
        """Return the opportunities of each target in their own unit."""
        return np.array([number / self.scale for number in self.opportunities.tolist()], np.float64)

    def of(self, distance: NDArray[Any]) -> list[float]:
        """Return the access by each decay, given the distance of each target, above all limits where none leads."""
        found = []
        for limits, shares in self.decays:
            share = np.append(shares, 0)[np.searchsorted(limits, distance)]
            found.append(self.in_own_unit(int((share.astype(np.uint64) * self.opportunities).sum())))
        return found


def opportunities_of(numbers: Sequence[str] | Floats) -> Costs:
    """Return opportunities as integers with one scale.

    Raises
    ------
    BadNumber
        For the first number that is negative, infinite, NaN or none, or that has too many digits.
    """
    try:
        if isinstance(numbers, np.ndarray):
            found = exact_from_floats(numbers, LARGEST_TOTAL)
        else:
            found = exact_from_texts(numbers, LARGEST_TOTAL)
    except BadNumber as error:
        reason = f"has too many decimals: opportunities times 10^decimals may come to {LARGEST_TOTAL}; round them" \
            if isinstance(error, TooManyDigits) else error.reason.split(";")[0]
        raise BadNumber(error.index, reason) from None
    for index in np.flatnonzero((found.values < 0) | (found.values > LARGEST_TOTAL)).tolist():
        raise BadNumber(index, "is negative" if found.values[index] < 0 else "is missing or infinite")
    total = sum(found.values.tolist())
    if total > LARGEST_TOTAL:
        what = f"is the last of {total / found.scale:.3g} opportunities in all, and with so many decimals"
        raise BadNumber(len(found.values) - 1, f"{what} {LARGEST_TOTAL / found.scale:.3g} fit; round them")
    return found


@lru_cache(8)  # a job is read more than once
def by_formula(kind: str, length: float, whole: bool) -> Steps:
    """Return the steps of a decay that a formula gives, as many as there are different shares in millionths.

    Parameters
    ----------
    kind
        One of `FORMULAS`.
    length
        In the unit of `graph.weights`: the distance where a linear decay ends, where an exponential one has fallen to
        1 / e, and the standard deviation of a Gaussian one.
    whole
        Whether distances are integers. If not, steps end at multiples of a power of two of at most `length` / 2^39.
    """
    unit = 1.0 if whole else 2.0 ** (math.frexp(length)[1] - 40)
    length /= unit
    share_at, distance_of = FORMULAS[kind]

    def share(distance: Floats) -> Floats:
        return np.rint(ONE * share_at(distance / length))

    falling = np.arange(ONE, 0, -1)
    last = math.floor(distance_of(np.array([0.5 / ONE]))[0] * length) + 1
    if last < ONE:
        limits = np.arange(last + 1.0)
    else:  # the largest distance of each share: libraries differ in the last bit of a logarithm, but not of a sum
        limits = np.floor(distance_of((falling - 0.5) / ONE) * length)
        while (wrong := np.where(share(limits) < falling, -1, share(limits + 1) >= falling)).any():
            limits += wrong
    shares = share(limits)
    ends = np.append(shares[1:] != shares[:-1], True) & (shares > 0)
    return Steps((limits[ends] * unit).astype(np.uint64 if whole else np.float64), shares[ends].astype(np.uint32))


def _exponential(x: Floats) -> Floats:
    """Return e to the power of -x, x at least 0, by sums and products alone."""
    halvings = np.floor(x / math.log(2))
    rest, power = halvings * math.log(2) - x, np.ones(len(x))
    for k in range(18, 0, -1):
        power = 1 + rest / k * power
    return np.ldexp(power, -halvings.astype(np.int64))


FORMULAS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "linear": (lambda x: np.maximum(1 - x, 0), lambda share: 1 - share),
    "exponential": (_exponential, lambda share: -np.log(share)),
    "gaussian": (lambda x: _exponential(x * x / 2), lambda share: np.sqrt(-2 * np.log(share))),
}
"""Of each kind the share by distance / length, and the other way round."""

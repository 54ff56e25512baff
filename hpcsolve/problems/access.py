"""Access: how much of the targets' opportunities (jobs, hospital beds) a source reaches, by a decay with the distance.

    access(source) = sum over targets of opportunities(target) * share(distance)

A decay is a table of steps of distance, each with a share from 0 to 1 in millionths, and opportunities are integers with
one scale. So sums are exact, and the same in any order. The tables are made here, with sums and products of floats
alone, so that they are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.rounding import BadNumber, Costs, TooManyDigits, exact_from_floats, exact_from_texts

ONE = 10**6
"""The share 1."""
MOST_STEPS = 1 << 16
"""Most steps of a decay that a formula gives. Up to so many distances each whole one has a step of its own."""
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

    def own(self, total: int) -> float:
        """Return a sum of opportunities times shares in the unit of the opportunities, rounded once."""
        return total / (self.scale * ONE)

    def given(self) -> Floats:
        """Return the opportunities of each target in their own unit."""
        return np.array([number / self.scale for number in self.opportunities.tolist()], np.float64)

    def of(self, distance: NDArray[Any]) -> list[float]:
        """Return the access by each decay, given the distances of all targets, at most the last one's if unreached."""
        found = []
        for limits, shares in self.decays:
            share = np.append(shares, 0)[np.searchsorted(limits, distance)]
            found.append(self.own(int((share.astype(np.uint64) * self.opportunities).sum())))
        return found


def opportunities_of(numbers: Sequence[str] | Floats) -> Costs:
    """Return opportunities as integers with one scale.

    Raises
    ------
    BadNumber
        For the first number that is negative, infinite, NaN or none, or that has too many digits.
    """
    texts = not isinstance(numbers, np.ndarray)
    try:
        found = exact_from_texts(numbers, LARGEST_TOTAL) if texts else exact_from_floats(numbers, LARGEST_TOTAL)
    except BadNumber as error:
        reason = f"has too many decimals: opportunities times 10^decimals may come to {LARGEST_TOTAL}; round them" \
            if isinstance(error, TooManyDigits) else error.reason.split(";")[0]
        raise BadNumber(error.index, reason) from None
    for index in np.flatnonzero((found.values < 0) | (found.values > LARGEST_TOTAL)).tolist():
        raise BadNumber(index, "is negative" if found.values[index] < 0 else "is missing or infinite")
    total = sum(found.values.tolist())
    if total > LARGEST_TOTAL:
        raise BadNumber(len(found.values) - 1, f"is one of {total / found.scale:.3g} opportunities in all, and "
                        f"{LARGEST_TOTAL / found.scale:.3g} fit; divide them by a power of ten")
    return found


def by_formula(kind: str, length: float, whole: bool) -> Steps:
    """Return the steps of a decay that a formula gives: `linear`, `exponential` or `gaussian`.

    Parameters
    ----------
    length
        In the unit of `graph.weights`: the distance where a linear decay ends, where an exponential one has fallen to
        1 / e, and the standard deviation of a Gaussian one.
    whole
        Whether distances are integers. Up to 65536 of them each has its own share. Where more have one, a step covers
        the same number of them, and the share is that of its middle.
    """
    formula, reach = FORMULAS[kind]
    if whole:
        last = int(reach * length)
        width = last // MOST_STEPS + 1
        limits: NDArray[Any] = np.arange(width - 1, last + width, width).astype(np.uint64)
        middle = limits.astype(np.float64) - (width - 1) / 2
    else:
        limits = np.arange(1, MOST_STEPS + 1) * (reach * length / MOST_STEPS)
        middle = limits - reach * length / MOST_STEPS / 2
    shares = np.rint(ONE * formula(middle / length)).astype(np.uint32)
    ends = np.append(shares[1:] != shares[:-1], shares[-1] > 0)
    return Steps(limits[ends], shares[ends])


def _linear(x: Floats) -> Floats:
    return np.maximum(1 - x, 0)


def _exponential(x: Floats) -> Floats:
    """Return e to the power of -x, x at least 0, by sums and products alone: libraries differ in the last bit."""
    halvings = np.floor(x / math.log(2))
    rest, power = halvings * math.log(2) - x, np.ones(len(x))
    for k in range(24, 0, -1):
        power = 1 + rest / k * power
    return np.ldexp(power, -halvings.astype(np.int64))


def _gaussian(x: Floats) -> Floats:
    return _exponential(x * x / 2)


FORMULAS: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "linear": (_linear, 1.0), "exponential": (_exponential, 14.51), "gaussian": (_gaussian, 5.39)}
"""Of each kind the share by distance / length, and the quotient beyond which it is less than half a millionth."""

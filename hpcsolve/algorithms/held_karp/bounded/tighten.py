"""Better bounds: multipliers by the subgradient method, and memories where the relaxed tour repeats a city.

All in integers, so that every rank and every machine has the same bounds. A round's bounds prove something only if no
value that matters can be saturated (relaxation.py). Where it could be, the multipliers return to the best ones so far,
and steps are halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded import slots as memories
from hpcsolve.algorithms.held_karp.bounded.chains import chain_bound
from hpcsolve.algorithms.held_karp.bounded.descent import Improver, repaired
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.algorithms.held_karp.bounded.relaxation import Relaxation, Relaxed
from hpcsolve.errors import InputError
from hpcsolve.problems.tsp import FORBIDDEN

UNIT = 1 << 10
"""The unit of a direction's entries."""
STEP = 1 << 20
"""The unit of step lengths."""
PATIENCE = 6
"""Rounds without a better bound after which steps become shorter."""
NEAR = 4
"""A level ends once its bound is at most 2^-NEAR below the incumbent's value, in the unit of costs.

A bound that just proves the value would leave more states, above all where many orders are equally good.
"""
REPAIR_EVERY = 10
"""Rounds from one repair of a relaxed tour to the next."""
WORK_BETWEEN_LOOKS = 1 << 28
"""Min-adds of rounds, some tenths of a second, after which `goes_on` is called."""


@dataclass
class Incumbent:
    """The best order so far, and the best lower bound.

    Attributes
    ----------
    upper
        The order's value. Without an order it is a value above that of any.
    lower
        Every order has at least this value.
    """

    upper: int
    order: list[int] | None
    lower: int

    @property
    def value(self) -> int | None:
        """The order's value, or None without an order."""
        return None if self.order is None else self.upper

    def offer(self, found: tuple[int, list[int]] | None) -> None:
        """Take an order if it is better."""
        if found is not None and (found[0] < self.upper or self.order is None):
            self.upper, self.order = found

    def raise_lower(self, bound: int) -> None:
        """Take a lower bound of all orders that are better than the incumbent."""
        self.lower = max(self.lower, min(self.upper, bound))


@dataclass
class Tightener:
    """The bounds of one problem, round after round.

    Attributes
    ----------
    infeasible
        Whether it is proven that no order has a value up to `best.upper`. Without an incumbent that exceeds all values,
        so there is no order at all.
    rounds
        Rounds so far.
    goes_on
        Called every few rounds, and after each one that takes long. The level ends at once if it returns False: then
        the bounds are those of the last round.
    """

    problem: PlaceCosts
    relaxation: Relaxation
    improver: Improver
    best: Incumbent
    wishes: NDArray[np.int64] = field(init=False)
    colours: NDArray[np.int64] | None = None
    multiplier: NDArray[np.int64] = field(init=False)
    infeasible: bool = False
    rounds: int = 0
    goes_on: Callable[[], bool] = lambda: True

    def __post_init__(self) -> None:
        """Begin without multipliers, and with wishes for near cities."""
        self.wishes = memories.first_wishes(self.problem)
        self.multiplier = np.zeros(self.problem.cities, np.int64)

    def level(self, count: int, rounds: int, step: int) -> bool:
        """Choose memories of `count` slots anew and improve the multipliers. Return whether a better order was found.

        Parameters
        ----------
        step
            First step length, in units of 1 / STEP.

        Raises
        ------
        InputError
            Even without multipliers the costs are too far apart for 31 bits.
        """
        before, scale = self.best.upper, self.relaxation.scale
        self.colours = memories.colours(self.wishes, count, self.colours)
        self.relaxation.remember(memories.make_slots(self.problem, self.wishes, self.colours, count))
        top, kept, since = None, self.multiplier, 0
        direction = np.zeros(self.problem.cities, np.int64)
        looks = max(1, min(REPAIR_EVERY, WORK_BETWEEN_LOOKS // (self.problem.cities**3 << count - 1)))
        for number in range(rounds):
            relaxed, limit = self.relaxation.solve(self.multiplier), self.relaxation.limit_of(self.best.upper)
            self.rounds += 1
            if limit is None:
                kept = kept if top is not None else np.zeros_like(kept)
                self.multiplier, step, direction = kept, step // 2, np.zeros_like(direction)
                continue
            if relaxed.reduced > limit:
                self.infeasible = True
                return False
            value = relaxed.reduced - relaxed.shift
            if top is None or value > top:
                top, kept, since = value, self.multiplier, 0
            else:
                since += 1
                step, since = (step * 3 // 4, 0) if since == PATIENCE else (step, since)
            self.best.raise_lower(-(-value // scale))
            if value == top and scale * self.best.upper - value <= scale >> NEAR:
                break
            memories.learn(self.wishes, self.problem, relaxed.path)
            if number % REPAIR_EVERY == REPAIR_EVERY - 1:
                self.best.offer(self.improver.improve([repaired(self.problem, relaxed.path)]))
            if number % looks == looks - 1 and not self.goes_on():
                self.multiplier = kept
                return self.best.upper < before
            direction = self._direction(direction, relaxed)
            if not direction.any():
                break
            gap = max(scale, scale * self.best.upper - value)
            self.multiplier = _moved(self.multiplier, direction, step, gap)
        self.multiplier = kept
        self.settle()
        return self.best.upper < before

    def settle(self) -> None:
        """Compute the bounds for the best multipliers."""
        relaxed = self.relaxation.solve(self.multiplier)
        limit = self.limit()
        self.infeasible = relaxed.reduced > limit
        if not self.infeasible:
            self.best.raise_lower(-(-(relaxed.reduced - relaxed.shift) // self.relaxation.scale))

    def limit(self, margin: int = 0) -> int:
        """Return the most reduced cost of an order that beats the incumbent by `margin`. Raises as `level`."""
        limit = self.relaxation.limit_of(self.best.upper - margin)
        if limit is None:
            raise InputError("the costs are too far apart for bounds of 31 bits: round them to fewer digits, or use "
                             'method = "lattice"')
        return limit

    def fix(self) -> int:
        """Remove arcs that are on no order up to the incumbent's value, and return how many are left."""
        return self.relaxation.fix(self.limit())

    def _direction(self, old: NDArray[np.int64], relaxed: Relaxed) -> NDArray[np.int64]:
        visits = np.bincount(relaxed.path, minlength=self.problem.cities)
        direction: NDArray[np.int64] = UNIT * (1 - visits) + np.sign(old) * (np.abs(old) // 2)
        return direction


def _moved(multiplier: NDArray[np.int64], direction: NDArray[np.int64], step: int, gap: int) -> NDArray[np.int64]:
    """Return multipliers moved by step * gap / |direction|^2, in exact integers."""
    norm = sum(d * d for d in direction.tolist())
    return np.array([m + step * gap * d * UNIT // (norm * STEP)
                     for m, d in zip(multiplier.tolist(), direction.tolist(), strict=True)], np.int64)


def no_incumbent(problem: PlaceCosts) -> Incumbent:
    """Return the incumbent at the start: no order, and bounds from the dearest arcs and from precedences."""
    above = 1 + sum(int(costs[costs != FORBIDDEN].max(initial=0)) for costs in problem.cost)
    return Incumbent(above, None, min(above, chain_bound(problem)))

"""Better bounds: multipliers by the subgradient method, memories where the relaxed tour repeats a city, good orders.

All in integers, so that every rank and every machine has the same bounds. A round's bounds prove something only if no
value that matters can be saturated (relaxation.py). Where it could be, the multipliers return to the best ones so far,
and steps are halved.

Good orders come from local search, from relaxed tours, and, where the value of an order is the length of a tour, from
edge assembly, which sees reduced costs. Each level of the bounds begins with a population of its own, twice as large as
that of the level before, which ends once it has converged. So a proof is the same however long it takes, and a search
that a time limit ends has spent a part of its time on good tours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms import edge_assembly
from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.in_time import InTime
from hpcsolve.algorithms.held_karp.bounded.layers import masks_of
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts, Potentials, chain_bound, complete_costs
from hpcsolve.algorithms.held_karp.bounded.relaxation import (
    Orders,
    Relaxation,
    colours,
    learn_wishes,
    make_slots,
)
from hpcsolve.algorithms.held_karp.bounded.timed import TimedRelaxation
from hpcsolve.algorithms.held_karp.bounded.windows import TimedOrders
from hpcsolve.algorithms.held_karp.problem import OrderProblem
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, without_writer
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import NO_ARC, Tsp

UNIT = 1 << 10
"""The unit of a direction's entries."""
STEP = 1 << 20
"""The unit of step lengths."""
PATIENCE = 6
"""Rounds without a better bound after which steps become shorter."""
SHORTEST_STEP = STEP // 50
"""The step length at which a level ends whose multipliers return to the best ones."""
NEAR = 4
"""A level ends once its bound is at most 2^-NEAR below the incumbent's value, in the unit of costs.

A bound that just proves the value would leave more states, above all where many orders are equally good.
"""
REPAIR_EVERY = 10
"""Rounds from one repair of a relaxed tour to the next."""
WORK_BETWEEN_LOOKS = 1 << 28
"""Min-adds of rounds, some tenths of a second, after which `goes_on` is called."""
DESCENT_FILE = "held_karp/descent"
PENALTY = 1 << 36
"""The cost of a missing arc or a broken precedence in the kernel, above that of every order."""
DESCENT_THREADS = 128
STARTS = 8
"""Orders with different first cities."""
DESCENT_ROUNDS = 4
"""Kicks of each of these orders, each followed by local search."""
LONGEST = 3
"""The longest segment that a move takes elsewhere if the costs of all places are proportional."""
POPULATION = 60
"""Tours of the first population."""


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

    problem: Orders
    relaxation: Relaxation | TimedRelaxation
    improver: Improver | InTime
    best: Incumbent
    wishes: NDArray[np.int64] = field(init=False)
    colours: NDArray[np.int64] | None = None
    multiplier: NDArray[np.int64] = field(init=False)
    infeasible: bool = False
    rounds: int = 0
    goes_on: Callable[[], bool] = lambda: True

    def __post_init__(self) -> None:
        """Begin with the relaxation's first multipliers, and with wishes for near cities."""
        self.wishes = self.relaxation.first_wishes()
        self.multiplier = self.relaxation.first_multiplier()

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
        before, scale, count = self.best.upper, self.relaxation.scale, self.relaxation.slots_for(count)
        self.colours = colours(self.wishes, count, self.colours)
        self.relaxation.remember(make_slots(self.problem, self.wishes, self.colours, count))
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
                if since == PATIENCE and self.relaxation.returns:
                    step, since, self.multiplier, direction = step // 2, 0, kept, np.zeros_like(direction)
                    if step < SHORTEST_STEP:
                        break
                elif since == PATIENCE:
                    step, since = step * 3 // 4, 0
            self.best.raise_lower(-(-value // scale))
            if value == top and scale * self.best.upper - value <= scale >> NEAR:
                break
            learn_wishes(self.wishes, self.problem, relaxed.path)
            if number % REPAIR_EVERY == REPAIR_EVERY - 1:
                self.best.offer(self.improver.from_relaxed(relaxed.path))
            if number % looks == looks - 1 and not self.goes_on():
                self.multiplier = kept
                return self.best.upper < before
            visits = np.bincount(relaxed.path, minlength=self.problem.cities)
            direction = UNIT * (1 - visits) + np.sign(direction) * (np.abs(direction) // 2)
            if not direction.any():
                self.best.offer(self.improver.from_relaxed(relaxed.path))
                break
            gap = max(scale, scale * self.best.upper - value)
            norm = sum(d * d for d in direction.tolist())
            # Each multiplier moves by step * gap / norm. Python's integers, since the products exceed 64 bits.
            self.multiplier = np.array([m + step * gap * d * UNIT // (norm * STEP) for m, d in zip(
                self.multiplier.tolist(), direction.tolist(), strict=True)], np.int64)
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
            instead = "" if self.relaxation.labels else ', or use method = "lattice"'
            raise InputError(f"the costs are too far apart for bounds of 31 bits: round them to fewer digits{instead}")
        return limit

    def fix(self) -> int:
        """Remove arcs that are on no order up to the incumbent's value, and return how many are left."""
        return self.relaxation.fix(self.limit())


def no_incumbent(problem: PlaceCosts | TimedOrders) -> Incumbent:
    """Return the incumbent at the start: no order, and bounds from the dearest arcs and from precedences."""
    if isinstance(problem, TimedOrders):  # every city is entered once
        there = problem.time != NO_ARC
        dearest = problem.cost if problem.hours is None else problem.hours.tables.max(axis=0)
        least, most = (np.where(there, problem.cost, 0).min(axis=0), np.where(there, dearest, 0).max(axis=0))
        if problem.rates is not None:
            least = least + problem.rates * problem.earliest
            most = most + problem.rates * np.minimum(problem.latest, problem.horizon())
        return Incumbent(1 + int(most.sum()), None, int(least.sum()))
    above = 1 + sum(int(costs[costs != NO_ARC].max(initial=0)) for costs in problem.cost)
    return Incumbent(above, None, min(above, chain_bound(problem)))


class Improver:
    """Improves orders of one problem, on the host's cores."""

    improves = True
    """Whether `improve` makes orders better."""

    def __init__(self, problem: PlaceCosts, devices: Devices) -> None:
        m, device = problem.cities, devices.host
        self.problem, self.device = problem, device
        lowest = problem.cost.min(axis=(1, 2), keepdims=True)  # so that no cost is negative
        self.costs = np.where(problem.allowed, problem.cost - np.where(lowest == NO_ARC, 0, lowest), PENALTY)
        self.cost = device.upload(self.costs)
        self.before = device.upload(masks_of(problem.before, 2))
        self.longest = min(LONGEST, m) if problem.proportional else m

    def improve(self, orders: list[list[int]], rounds: int = 0) -> tuple[int, list[int]] | None:
        """Return the value and the best of the improved orders, or None if all break a constraint."""
        m = self.problem.cities
        improved, values = self.device.upload(np.array(orders, np.int32)), self.device.empty(len(orders), np.int64)
        kernel = self.device.kernel(DESCENT_FILE, "descent_improve")
        kernel(len(orders), DESCENT_THREADS, orders=improved, values=values,
               problem={"cities": m, "longest": self.longest, "rounds": rounds, "key": m, "cost": self.cost,
                        "before": self.before})
        best = improved.download()[int(values.download().argmin())].tolist()
        improved.free()
        values.free()
        value = self.problem.value(best)
        return None if value is None else (value, best)

    def from_relaxed(self, path: list[int]) -> tuple[int, list[int]] | None:
        """Return the value and the order that is made of a relaxed tour, or None if that breaks a constraint."""
        return self.improve([repaired(self.problem, path)])

    def from_nothing(self) -> tuple[int, list[int]] | None:
        """Return the best of several orders that begin with different cities, each kicked and improved repeatedly."""
        m = self.problem.cities
        starts = [self.problem.nearest_neighbour(self.costs, m * start // STARTS) for start in range(min(STARTS, m))]
        return self.improve(starts, DESCENT_ROUNDS)

    def close(self) -> None:
        """Free the tables on the device."""
        self.cost.free()
        self.before.free()


def repaired(problem: PlaceCosts, path: list[int]) -> list[int]:
    """Return an order of all cities made of a relaxed tour.

    Its cities stand in the order of their first visits. Each missing one is inserted where it costs least.
    """
    order = list(dict.fromkeys(path))
    cost = np.where(problem.allowed, problem.cost, PENALTY)
    for city in range(problem.cities):
        if city not in order:
            order.insert(_cheapest_gap(problem, cost, order, city), city)
    return order


def _cheapest_gap(problem: PlaceCosts, cost: NDArray[np.int64], order: list[int], city: int) -> int:
    """Return the position of an incomplete order where inserting a city costs least, the first of equal ones."""
    m, size, at = problem.cities, len(order), np.arange(len(order) + 1)
    tail, head = np.append(0, order), np.append(order, 0)
    place = np.minimum(at, m - 1)
    enter = cost[place, np.where(at == 0, 0, tail), city]
    leave = np.where(at == size, cost[m, city, 0], cost[np.minimum(at + 1, m - 1), city, head])
    skipped = np.where((at > 0) & (at < size), cost[place, tail, head], 0)
    own = np.array(order, np.int64)
    wrong = np.append(0, np.cumsum(problem.before[own, city]))  # cities before the gap that must come after it
    late = np.append(np.cumsum(problem.before[city, own][::-1])[::-1], 0)  # behind the gap, that must come before
    return int((enter + leave - skipped + PENALTY * (wrong + late)).argmin())


def good_order(
    problem: OrderProblem, reduced_by: Potentials | None, devices: Devices, seed: int, number: int = 0,
    seconds: float | None = None, checkpoints: Checkpoints = NONE,
) -> tuple[int, list[int]] | None:
    """Return the value of a good order and the order, or None where edge assembly cannot search.

    Parameters
    ----------
    reduced_by
        The potentials that reduce costs, or None.
    number
        Number of the population, from 0. Its random numbers and its size depend on it.
    seconds
        The time that is left, or None.
    checkpoints
        Tells when the run is interrupted. Nothing is saved here.
    """
    m, cost = problem.m, complete_costs(problem)
    if cost is None:
        return None
    parameters = edge_assembly.Parameters(population=POPULATION << number, bound=False)
    seen = [cost] if reduced_by is None else [reduced_by.reduced(cost), cost]
    cities = (Tsp("", one, np.arange(m + 1)) for one in seen)
    searches = (edge_assembly.ALGORITHM.statement(tsp, parameters) for tsp in cities)
    stated = next((one for one in searches if one.fits()), None)
    if stated is None:
        return None
    interruptions = replace(without_writer(checkpoints), begun=None)
    seed += number << 63
    found = edge_assembly.ALGORITHM.run(stated, devices.host, SerialComm(), silent, StopCriteria(seconds), seed,
                                        interruptions)
    tour = found.answer.tour.tolist()
    first = tour.index(m)
    order = [*tour[first + 1 :], *tour[:first]]
    value = problem.value(order)
    return None if value is None else (value, order)

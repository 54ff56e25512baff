"""Upper bounds: good orders by local search on the device, and orders made of relaxed tours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.keys import masks_of
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.device.base import Device
from hpcsolve.problems.tsp import FORBIDDEN

FILE = "held_karp/descent"
NEVER = 1 << 36
"""The cost of a missing arc or a broken precedence in the kernel, above that of every order."""
THREADS = 128
STARTS = 8
"""Orders with different first cities."""
ROUNDS = 4
"""Kicks of each of these orders, each followed by local search."""
LONGEST = 3
"""The longest segment that a move takes elsewhere if the costs of all places are proportional."""


class Improver:
    """Improves orders of one problem."""

    def __init__(self, problem: PlaceCosts, device: Device) -> None:
        m = problem.cities
        self.problem, self.device = problem, device
        lowest = problem.cost.min(axis=(1, 2), keepdims=True)  # so that no cost is negative
        self.costs = np.where(problem.allowed, problem.cost - np.where(lowest == FORBIDDEN, 0, lowest), NEVER)
        self.cost = device.upload(self.costs)
        self.before = device.upload(masks_of(problem.before, 2))
        self.longest = min(LONGEST, m) if _proportional(problem) else m

    def improve(self, orders: list[list[int]], rounds: int = 0) -> tuple[int, list[int]] | None:
        """Return the value and the best of the improved orders, or None if all break a constraint."""
        m = self.problem.cities
        improved, values = self.device.upload(np.array(orders, np.int32)), self.device.empty(len(orders), np.int64)
        kernel = self.device.kernel(FILE, "descent_improve")
        kernel(len(orders), THREADS, orders=improved, values=values,
               problem={"cities": m, "longest": self.longest, "rounds": rounds, "key": m, "cost": self.cost,
                        "before": self.before})
        best = improved.download()[int(values.download().argmin())].tolist()
        improved.free()
        values.free()
        value = self.problem.value(best)
        return None if value is None else (value, best)

    def from_nothing(self) -> tuple[int, list[int]] | None:
        """Return the best of several orders that begin with different cities, each kicked and improved repeatedly."""
        m = self.problem.cities
        starts = [_greedy(self.problem, self.costs, m * start // STARTS) for start in range(min(STARTS, m))]
        return self.improve(starts, ROUNDS)

    def close(self) -> None:
        """Free the tables on the device."""
        self.cost.free()
        self.before.free()


def _greedy(problem: PlaceCosts, costs: NDArray[np.int64], first: int) -> list[int]:
    """Return the nearest-neighbour order from a first city, which keeps to precedences as far as it can."""
    order, left = [first], np.ones(problem.cities, bool)
    left[first] = False
    for place in range(1, problem.cities):
        ready = left & ~(problem.before & left).any(axis=1)
        ready = ready if ready.any() else left
        order.append(int(np.where(ready, costs[place, order[-1]], FORBIDDEN).argmin()))
        left[order[-1]] = False
    return order


def quick_value(problem: PlaceCosts) -> int | None:
    """Return the value of a nearest-neighbour order, or None if it breaks a constraint."""
    costs = np.where(problem.allowed, problem.cost, NEVER)
    return problem.value(_greedy(problem, costs, 0)) if problem.cities else 0


def _proportional(problem: PlaceCosts) -> bool:
    """Return whether there is no precedence, and the costs of all places are those of one place times a factor."""
    inner = problem.cost[1 : problem.cities]
    allowed = inner != FORBIDDEN
    if problem.before.any() or not len(inner) or (allowed != allowed[0]).any():
        return False
    costs = np.where(allowed, inner, 0)
    largest = np.unravel_index(int(np.abs(costs[0]).argmax()), costs[0].shape)
    return all(np.array_equal(place * costs[0][largest], costs[0] * place[largest]) for place in costs)


def repaired(problem: PlaceCosts, path: list[int]) -> list[int]:
    """Return an order of all cities made of a relaxed tour.

    Its cities stand in the order of their first visits. Each missing one is inserted where it costs least.
    """
    order = list(dict.fromkeys(path))
    cost = np.where(problem.allowed, problem.cost, NEVER)
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
    return int((enter + leave - skipped + NEVER * (wrong + late)).argmin())

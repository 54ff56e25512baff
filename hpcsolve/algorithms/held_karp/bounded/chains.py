"""A first lower bound, from precedences: the shortest path from the depot through a chain of precedences and back.

The relaxation forgets precedences. Where one of them makes an order leave a group of cities at a great cost and enter
it again, only this bound contains that cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.problems.tsp import FORBIDDEN

FAR = np.int64(1 << 60)
"""The distance where there is no path. A sum of up to seven such distances does not overflow."""


def chain_bound(problem: PlaceCosts) -> int:
    """Return a lower bound of the cost of every order, at least the sum of the cheapest arcs of all places.

    The cheapest arc of each place is subtracted from the place's arcs, so that no arc is negative. An order then costs
    at least the shortest path from the depot through the cities of a chain of precedences, in its order, back to the
    depot. Between them the path may visit any cities, also repeatedly, by arcs of any places. The bound is the largest
    over all chains, plus what was subtracted.
    """
    least = problem.cost.min(axis=(1, 2), keepdims=True)
    cost = np.where(problem.allowed, problem.cost - np.where(least == FORBIDDEN, 0, least), FAR)
    distance = _all_distances(cost[1 : problem.cities].min(axis=0, initial=FAR))
    reached = np.minimum(FAR, (cost[0, 0][:, None] + distance).min(axis=0))  # from the depot, through the worst chain
    for city in np.argsort(problem.before.sum(axis=1), kind="stable").tolist():  # after those that come before it
        through = (reached + distance[:, city])[problem.before[city]]
        reached[city] = min(FAR, max(reached[city], through.max(initial=0)))
    back = np.minimum(FAR, (distance + cost[-1, :, 0]).min(axis=1))
    return int((reached + back).max()) + int(least[least != FORBIDDEN].sum())


def _all_distances(cost: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distances between all cities (Floyd and Warshall), 0 from a city to itself."""
    distance = cost.copy()
    np.fill_diagonal(distance, 0)
    for middle in range(len(distance)):
        distance = np.minimum(distance, distance[:, middle][:, None] + distance[middle])
    return distance

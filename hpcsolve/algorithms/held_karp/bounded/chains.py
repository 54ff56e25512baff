"""A first lower bound: the shortest way through the cities of a chain of precedences, whatever lies between them.

Where cities must be left and entered again at a great cost only because of a precedence, the relaxation forgets that,
but this bound has it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.problems.tsp import FORBIDDEN

FAR = np.int64(1 << 60)
"""The length of a way that does not exist. Sums of four do not wrap."""


def chain_bound(problem: PlaceCosts) -> int:
    """Return a lower bound of the cost of every order.

    Each place's arcs are made cheaper by the cheapest of them, so that none is negative. Then an order costs at least
    as much as the shortest way from the depot through the cities of a chain, in its order, to the depot. The bound is
    that of the chain with the longest such way, at least the sum of the cheapest arcs.
    """
    least = problem.cost.min(axis=(1, 2), keepdims=True)
    cost = np.where(problem.allowed, problem.cost - np.where(least == FORBIDDEN, 0, least), FAR)
    way = _shortest(cost[1 : problem.cities].min(axis=0, initial=FAR))
    longest = np.minimum(FAR, (cost[0, 0][:, None] + way).min(axis=0))  # from the depot to each city
    for city in np.argsort(problem.before.sum(axis=1), kind="stable").tolist():  # after those that come before it
        through = (longest + way[:, city])[problem.before[city]]
        longest[city] = min(FAR, max(longest[city], through.max(initial=0)))
    home = np.minimum(FAR, (way + cost[-1, :, 0]).min(axis=1))
    return int((longest + home).max()) + int(least[least != FORBIDDEN].sum())


def _shortest(cost: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lengths of all shortest ways (Floyd and Warshall), 0 from a city to itself."""
    way = cost.copy()
    np.fill_diagonal(way, 0)
    for middle in range(len(way)):
        way = np.minimum(way, way[:, middle][:, None] + way[middle])
    return way

"""The problem as the bounds and layers have it: arc costs by place, and which cities come before which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.problem import OrderProblem
from hpcsolve.problems.tsp import FORBIDDEN


@dataclass(frozen=True, eq=False)
class PlaceCosts:
    """m cities, each at one of the places 1 to m, between a start and an end at the depot.

    Attributes
    ----------
    cost
        Shape (m + 1, m, m), int64: cost[k, i, j] of the arc from city i at place k to city j at place k + 1. Row 0 of
        place 0 has the arcs from the depot, column 0 of place m those to it; the rest of both is `FORBIDDEN`, as is
        every arc that no order can use.
    before
        Shape (m, m), bool, transitive: before[i, j] where j comes before i.
    """

    cost: NDArray[np.int64]
    before: NDArray[np.bool_]

    @property
    def cities(self) -> int:
        """The number m of cities beside the depot."""
        return len(self.before)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Which arcs there are, in the shape of `cost`."""
        allowed: NDArray[np.bool_] = self.cost != FORBIDDEN
        return allowed

    def value(self, order: list[int]) -> int | None:
        """Return the cost of an order of all cities, or None if it uses a missing arc or breaks a precedence."""
        m, at = self.cities, np.array(order)
        arcs = self.cost[np.arange(m + 1), np.append(0, at), np.append(at, 0)]
        behind = np.tri(m, m, -1, dtype=bool).T  # at place a, b comes later
        if (arcs == FORBIDDEN).any() or (self.before[np.ix_(at, at)] & behind).any():
            return None
        return sum(map(int, arcs))

    @property
    def reversible(self) -> bool:
        """Whether every order costs the same in both directions, and may be turned round."""
        m = self.cities
        inner = self.cost[1:m]
        ends = np.array_equal(self.cost[0, 0], self.cost[m, :, 0])
        return ends and not self.before.any() and np.array_equal(inner, inner[::-1].transpose(0, 2, 1))


def place_costs(
    cost: NDArray[np.int64], before: NDArray[np.bool_] | None = None, places: NDArray[np.bool_] | None = None
) -> PlaceCosts:
    """Return a problem without the arcs that precedences and places rule out.

    Parameters
    ----------
    cost
        Shape (m + 1, m + 1, m + 1), int64: cost[k, i, j] of the k-th arc of an order, from i to j; m is the depot, and
        `FORBIDDEN` stands where there is no arc.
    before
        Shape (m, m): before[i, j] where j comes before i. It need not be transitive.
    places
        Shape (m, m): places[i, k] where city i may stand at place k + 1.
    """
    m = len(cost) - 1
    ahead = _closure(np.zeros((m, m), bool) if before is None else before)
    table = np.full((m + 1, m, m), FORBIDDEN)
    table[1:m] = cost[1:m, :m, :m]
    table[0, 0], table[m, :, 0] = cost[0, m, :m], cost[m, :m, m]
    table[1:m, np.arange(m), np.arange(m)] = FORBIDDEN
    allowed = np.ones((m, m), bool) if places is None else places.copy()
    place = np.arange(m)
    allowed &= (place >= ahead.sum(axis=1)[:, None]) & (place < m - ahead.sum(axis=0)[:, None])
    # No city stands between neighbours: i does not lead to j if j is before i, or a third city is between them.
    apart = ahead | ((ahead.T.astype(np.int64) @ ahead.T.astype(np.int64)) > 0)
    table[1:m][:, apart] = FORBIDDEN
    for k in range(m):
        table[k][:, ~allowed[:, k]] = FORBIDDEN
    table[m, ~allowed[:, m - 1]] = FORBIDDEN
    return PlaceCosts(table, ahead)


def _closure(before: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the transitive closure of a relation (Warshall)."""
    closed = before.copy()
    for middle in range(len(closed)):
        closed |= closed[:, middle][:, None] & closed[middle][None, :]
    return closed


def of_orders(problem: OrderProblem) -> PlaceCosts:
    """Return the problem of orders whose value is a sum of costs by place."""
    m = problem.m
    before = np.array([[problem.before[i] >> j & 1 for j in range(m)] for i in range(m)], bool).reshape(m, m)
    return place_costs(problem.cost, before)

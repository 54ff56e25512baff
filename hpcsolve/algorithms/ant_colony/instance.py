"""An instance as the ants' kernels have it: renumbered, with 32-bit costs, lists of nearest cities, the heuristic.

Cities are numbered along a nearest-neighbour tour. Then the cities that an ant has visited have numbers close together,
and whole words of the set of unvisited cities become empty early. Results have the instance's own numbers again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import FORBIDDEN, Tsp

HEAD = 32
"""Cities in the head of a row (cuda_src/ants/head_tail_tables.cuh), and the most candidates."""
MOST_LISTED = 128
"""The most cities in a list of nearest cities."""
HEURISTIC_BITS = 30
GUARD = 0.1
"""Added to every cost before a division by it, since costs may be 0."""
ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class AntInstance:
    """An instance as the ants' kernels have it.

    Attributes
    ----------
    order
        Shape (n,): for each number here, the city's position in the instance.
    cost
        Shape (n, n), int32: at least 0, and 0 on the diagonal; the instance's costs less the offset.
    offset
        The least cost if that is negative, else 0.
    symmetric
        Whether every arc costs the same both ways.
    nearest
        Shape (n, list_width(n)), uint16: the nearest cities of each, by (cost, number). The city itself fills
        the rest of a list.
    greedy_length, bound
        The length of the nearest-neighbour tour, and a lower bound on that of any tour, by `cost` and at least 1.
    """

    order: NDArray[np.int64]
    cost: NDArray[np.int32]
    offset: int
    symmetric: bool
    nearest: NDArray[np.uint16]
    greedy_length: int
    bound: int

    @property
    def n(self) -> int:
        """Number of cities."""
        return len(self.order)


def ant_instance(tsp: Tsp) -> AntInstance:
    """Renumber an instance that `require_fit` has passed. Integers alone decide, so it is the same on all ranks."""
    order = nearest_neighbour_tour(tsp.cost)
    offset = min(0, int(tsp.cost.min()))
    cost = np.empty((tsp.n, tsp.n), np.int32)
    for rows in _stripes(tsp.n):
        np.subtract(tsp.cost[np.ix_(order[rows], order)], offset, out=cost[rows], casting="unsafe")
    np.fill_diagonal(cost, 0)
    nearest = nearest_cities(cost)
    greedy = int(np.take_along_axis(cost, np.roll(np.arange(tsp.n), -1)[:, None], axis=1).sum(dtype=np.int64))
    bound = _bound(cost, nearest, tsp.symmetric)
    return AntInstance(order, cost, offset, tsp.symmetric, nearest, max(1, greedy), bound)


def nearest_neighbour_tour(cost: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nearest-neighbour tour from city 0, the first of equally near cities, as int64 of shape (n,)."""
    n = len(cost)
    tour, left = np.zeros(n, np.int64), np.ones(n, bool)
    for step in range(1, n):
        left[tour[step - 1]] = False
        tour[step] = np.where(left, cost[tour[step - 1]], FORBIDDEN).argmin()
    return tour


def list_width(n: int) -> int:
    """Return the width of the lists of nearest cities, a multiple of 32."""
    return HEAD * -(-min(n - 1, MOST_LISTED) // HEAD)


def nearest_cities(cost: NDArray[np.int32]) -> NDArray[np.uint16]:
    """Return the lists of `AntInstance.nearest`."""
    n, width = len(cost), min(len(cost) - 1, MOST_LISTED)
    nearest = np.repeat(np.arange(n, dtype=np.uint16)[:, None], list_width(n), axis=1)
    for rows in _stripes(n):
        keys = cost[rows].astype(np.int64) * n + np.arange(n)
        keys[np.arange(len(keys)), np.arange(n)[rows]] = FORBIDDEN
        nearest[rows, :width] = np.sort(np.partition(keys, width - 1, axis=1)[:, :width], axis=1) % n
    return nearest


def heuristic_table(instance: AntInstance, beta: float) -> NDArray[np.uint32]:
    """Return the heuristic of all arcs, shape (n, n): (cheapest of the row / cost) ^ beta in 30 bits.

    It is at least 1, and 0 on the diagonal.
    Powers come from a library whose last bits differ between machines, so rank 0 makes the table for all.
    """
    table = np.empty((instance.n, instance.n), np.uint32)
    for rows in _stripes(instance.n):
        table[rows] = _nearness(instance, rows, instance.cost[rows], beta)
    np.fill_diagonal(table, 0)
    return table


def candidate_heuristic(instance: AntInstance, beta: float, candidates: int) -> NDArray[np.uint32]:
    """Return the heuristic of the arcs to the candidates, shape (n, 32), 0 where there are fewer."""
    nearest = instance.nearest[:, :HEAD].astype(np.int64)
    table = _nearness(instance, slice(None), np.take_along_axis(instance.cost, nearest, axis=1), beta)
    table[:, min(candidates, instance.n - 1) :] = 0
    return table


def _nearness(instance: AntInstance, rows: slice, cost: NDArray[np.int32], beta: float) -> NDArray[np.uint32]:
    cheapest = np.take_along_axis(instance.cost[rows], instance.nearest[rows, :1].astype(np.int64), axis=1)
    nearness = ((cheapest + GUARD) / (cost + GUARD)) ** beta * 2.0**HEURISTIC_BITS
    return np.clip(np.floor(nearness), 1, 2**HEURISTIC_BITS).astype(np.uint32)


def _bound(cost: NDArray[np.int32], nearest: NDArray[np.uint16], symmetric: bool) -> int:
    """Return a lower bound of any tour: half the two cheapest arcs of every city, or the cheapest one if asymmetric."""
    arcs = np.take_along_axis(cost, nearest[:, : 2 if symmetric else 1].astype(np.int64), axis=1)
    return max(1, int(arcs.sum(dtype=np.int64)) // int(arcs.shape[1]))


def _stripes(n: int) -> Iterator[slice]:
    return (slice(first, min(first + ROWS_AT_ONCE, n)) for first in range(0, n, ROWS_AT_ONCE))

"""An instance as the kernels have it: cities renumbered, costs in 32 bits, nearest cities, the heuristic.

Cities are numbered along a nearest-neighbour tour: then what an ant has visited lies together, and whole words of the
set of unvisited cities are empty early. All that leaves the device is in the instance's own order again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import FORBIDDEN, Tsp

HEAD = 32
"""Nearest cities whose weights a step has at hand."""
MOST_LISTED = 128
"""Nearest cities that are listed, at the most."""
HEURISTIC_BITS = 30
GUARD = 0.1
"""Added to a cost where it is divided by: costs may be 0."""
ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class AntInstance:
    """An instance as the kernels have it.

    Attributes
    ----------
    order
        Shape (n,): the instance's position of the city that is numbered k here.
    cost
        Shape (n, n), int32: at least 0, 0 on the diagonal. If some costs are negative, less the least of them.
    offset
        What was taken from every cost.
    symmetric
        Whether every arc costs the same both ways.
    nearest
        Shape (n, listed(n)), uint16: the cheapest arcs from each city, by (cost, number); where there are fewer cities,
        filled up with the city itself.
    greedy_length, bound
        The nearest-neighbour tour's cost, and a lower bound of any tour's, at least 1, both without offsets.
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
    """The instance of an instance that `require_fit` has passed; integers only, so the same everywhere."""
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
    """From city 0 always on to the nearest city that is left, the first of equals; shape (n,), int64."""
    n = len(cost)
    tour, left = np.zeros(n, np.int64), np.ones(n, bool)
    for step in range(1, n):
        left[tour[step - 1]] = False
        tour[step] = np.where(left, cost[tour[step - 1]], FORBIDDEN).argmin()
    return tour


def listed(n: int) -> int:
    """Width of the lists of nearest cities, a multiple of 32."""
    return HEAD * -(-min(n - 1, MOST_LISTED) // HEAD)


def nearest_cities(cost: NDArray[np.int32]) -> NDArray[np.uint16]:
    """The lists of `AntInstance.nearest`."""
    n, width = len(cost), min(len(cost) - 1, MOST_LISTED)
    nearest = np.repeat(np.arange(n, dtype=np.uint16)[:, None], listed(n), axis=1)
    for rows in _stripes(n):
        keys = cost[rows].astype(np.int64) * n + np.arange(n)
        keys[np.arange(len(keys)), np.arange(n)[rows]] = FORBIDDEN
        nearest[rows, :width] = np.sort(np.partition(keys, width - 1, axis=1)[:, :width], axis=1) % n
    return nearest


def heuristic_table(instance: AntInstance, beta: float) -> NDArray[np.uint32]:
    """Nearness by rows, shape (n, n): (cheapest / cost) ^ beta in 30 bits, at least 1, 0 on the diagonal.

    Powers need a library whose last bits differ between machines: rank 0 makes the table, the others get it.
    """
    table = np.empty((instance.n, instance.n), np.uint32)
    for rows in _stripes(instance.n):
        table[rows] = _nearness(instance, rows, instance.cost[rows], beta)
    np.fill_diagonal(table, 0)
    return table


def candidate_heuristic(instance: AntInstance, beta: float, candidates: int) -> NDArray[np.uint32]:
    """The same of the first so many nearest cities; shape (n, 32), 0 beyond them."""
    near = instance.nearest[:, :HEAD].astype(np.int64)
    table = _nearness(instance, slice(None), np.take_along_axis(instance.cost, near, axis=1), beta)
    table[:, min(candidates, instance.n - 1) :] = 0
    return table


def _nearness(instance: AntInstance, rows: slice, cost: NDArray[np.int32], beta: float) -> NDArray[np.uint32]:
    cheapest = np.take_along_axis(instance.cost[rows], instance.nearest[rows, :1].astype(np.int64), axis=1)
    nearness = ((cheapest + GUARD) / (cost + GUARD)) ** beta * 2.0**HEURISTIC_BITS
    return np.clip(np.floor(nearness), 1, 2**HEURISTIC_BITS).astype(np.uint32)


def _bound(cost: NDArray[np.int32], nearest: NDArray[np.uint16], symmetric: bool) -> int:
    """Half the two cheapest arcs of every city; one cheapest arc from each if costs depend on the direction."""
    arcs = np.take_along_axis(cost, nearest[:, : 2 if symmetric else 1].astype(np.int64), axis=1)
    return max(1, int(arcs.sum(dtype=np.int64)) // int(arcs.shape[1]))


def _stripes(n: int) -> Iterator[slice]:
    return (slice(first, min(first + ROWS_AT_ONCE, n)) for first in range(0, n, ROWS_AT_ONCE))

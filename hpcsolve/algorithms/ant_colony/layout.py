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
WIDTH = 128
"""Nearest cities that are listed."""
HEURISTIC_BITS = 30
GUARD = 0.1
"""Added to a cost where it is divided by: costs may be 0."""
ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class Layout:
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
        Shape (n, width), uint16: the cheapest arcs from each city, by (cost, number).
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


def lay_out(tsp: Tsp) -> Layout:
    """The layout of an instance that `require_fit` has passed; integers only, so the same everywhere."""
    order = nearest_neighbour_tour(tsp.cost)
    offset = min(0, int(tsp.cost.min()))
    cost = np.empty((tsp.n, tsp.n), np.int32)
    for rows in _stripes(tsp.n):
        np.subtract(tsp.cost[np.ix_(order[rows], order)], offset, out=cost[rows], casting="unsafe")
    np.fill_diagonal(cost, 0)
    nearest = nearest_cities(cost, min(tsp.n - 1, WIDTH))
    greedy = int(np.take_along_axis(cost, np.roll(np.arange(tsp.n), -1)[:, None], axis=1).sum(dtype=np.int64))
    return Layout(order, cost, offset, tsp.symmetric, nearest, max(1, greedy), _bound(cost, nearest, tsp.symmetric))


def nearest_neighbour_tour(cost: NDArray[np.int64]) -> NDArray[np.int64]:
    """From city 0 always on to the nearest city that is left, the first of equals; shape (n,), int64."""
    n = len(cost)
    tour, left = np.zeros(n, np.int64), np.ones(n, bool)
    for step in range(1, n):
        left[tour[step - 1]] = False
        tour[step] = np.where(left, cost[tour[step - 1]], FORBIDDEN).argmin()
    return tour


def nearest_cities(cost: NDArray[np.int32], width: int) -> NDArray[np.uint16]:
    """The `width` cheapest arcs from each city, by (cost, city); shape (n, width)."""
    n = len(cost)
    nearest = np.empty((n, width), np.uint16)
    for rows in _stripes(n):
        keys = cost[rows].astype(np.int64) * n + np.arange(n)
        keys[np.arange(len(keys)), np.arange(n)[rows]] = FORBIDDEN
        if width < n - 1:
            keys = np.partition(keys, width - 1, axis=1)
        nearest[rows] = np.sort(keys, axis=1)[:, :width] % n if width == n - 1 else np.sort(keys[:, :width], 1) % n
    return nearest


def heuristic_table(layout: Layout, beta: float) -> NDArray[np.uint32]:
    """Nearness of every city, by rows: (cheapest / cost) ^ beta in 30 bits, at least 1, 0 on the diagonal.

    Powers need a library whose last bits differ between machines: rank 0 makes the table, the others get it.
    """
    n = layout.n
    table = np.empty((n, n), np.uint32)
    cheapest = np.take_along_axis(layout.cost, layout.nearest[:, :1].astype(np.int64), axis=1) + GUARD
    for rows in _stripes(n):
        nearness = (cheapest[rows] / (layout.cost[rows] + GUARD)) ** beta
        table[rows] = np.clip(np.floor(nearness * 2.0**HEURISTIC_BITS), 1, 2**HEURISTIC_BITS)
    np.fill_diagonal(table, 0)
    return table


def _bound(cost: NDArray[np.int32], nearest: NDArray[np.uint16], symmetric: bool) -> int:
    """Half the two cheapest arcs of every city; one cheapest arc from each if costs depend on the direction."""
    arcs = np.take_along_axis(cost, nearest[:, : 2 if symmetric else 1].astype(np.int64), axis=1)
    return max(1, int(arcs.sum(dtype=np.int64)) // int(arcs.shape[1]))


def _stripes(n: int) -> Iterator[slice]:
    return (slice(first, min(first + ROWS_AT_ONCE, n)) for first in range(0, n, ROWS_AT_ONCE))

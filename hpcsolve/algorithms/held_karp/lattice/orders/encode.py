"""An order problem in the integers of a kernel: 32 bits wherever a bound proves that they suffice, else 64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.problem import FREE, OrderProblem
from hpcsolve.problems.order import LARGEST_VALUE
from hpcsolve.problems.tsp import FORBIDDEN

STRIDE, DEPOT = 32, 31
"""Rows of a matrix of costs as kernels read it, and the depot's row."""
NO_PATH = {4: 0x7FFFFFFF, 8: 2**62}
"""For states of 4 and 8 bytes the value that means that there is no path."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """An order problem in the form that the kernels read.

    Attributes
    ----------
    m
        Number of cities beside the depot.
    join
        How a path and an arc are joined: "add", "multiply" (the arc's cost by the factor of the set) or "dearest".
    cost
        Shape (places, 32, 32): the costs by place, or one matrix for all places; row 31 leaves the depot.
    back
        Shape (m,): the costs of the arcs that return to the depot.
    earliest, latest
        Shape (32,): the window of each city. Without windows nobody waits and nobody is late.
    depot_earliest, depot_latest
        The window of the return.
    before
        Shape (32,), uint32: the cities that must precede each.
    weight, factor
        Shape (32,), and a number: an arc that is taken after set S counts factor + the sum of weight over S times.
    values
        For "dearest" the costs in ascending order: their positions are the kernel's integers, and 0 is no cost.
    offset
        The value of an order is that of the kernel plus this.
    """

    m: int
    join: str
    cost: NDArray[np.generic]
    back: NDArray[np.generic]
    earliest: NDArray[np.generic]
    latest: NDArray[np.generic]
    depot_earliest: int
    depot_latest: int
    before: NDArray[np.uint32]
    weight: NDArray[np.generic]
    factor: int = 1
    values: tuple[int, ...] = ()
    offset: int = 0

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of a state."""
        return self.cost.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of a state."""
        return self.cost.dtype.itemsize

    @property
    def no_path(self) -> int:
        """The value that means that there is no path."""
        return NO_PATH[self.itemsize]

    @property
    def kernel(self) -> str:
        """The name of the kernel that fills a layer."""
        return f"orders_{self.join}_{self.dtype.kind}{self.itemsize}"

    def decoded(self, value: int) -> int:
        """Return the value of an order in the problem's scaled integers."""
        return (self.values[value - 1] if value else 0) if self.join == "dearest" else value + self.offset

    def place(self, k: int) -> int:
        """Return which of the matrices of costs has the arcs of a place."""
        return k if len(self.cost) > 1 else 0

    def factor_after(self, cities: int) -> int:
        """Return how often an arc counts that is taken after a set of cities, a bit mask."""
        chosen = [int(self.weight[i]) for i in range(self.m) if cities >> i & 1]
        return self.factor + sum(chosen) if self.join == "multiply" else 1

    def joined(self, path: int, cost: int, factor: int) -> int:
        """Return the value of a path with one more arc, at most `no_path`."""
        if path >= self.no_path or cost >= self.no_path:
            return self.no_path
        return max(path, cost) if self.join == "dearest" else path + cost * factor


def encode(problem: OrderProblem, least: int = 4) -> Encoded:
    """Return a problem with at least one city in the integers of a kernel, `least` bytes or more for each sum."""
    if problem.combine == "max":
        return _dearest(problem)
    if problem.weights is not None:
        weights = problem.weights
        whole = _encoded(problem, _layers(problem), "multiply", 8)
        padded = _padded(-weights[:-1], 8, 0)
        return replace(whole, weight=padded, factor=sum(map(int, weights)))
    layers = _layers(problem)
    lows, highs = _extremes(layers)
    if problem.combine == "finish":
        assert problem.earliest is not None
        most = sum(max(0, high) for high in highs) + int(problem.earliest.max())
        return _encoded(problem, layers, "add", 4 if most < NO_PATH[4] else 8)
    if least == 4 and sum(high - low for low, high in zip(lows, highs)) < NO_PATH[4]:
        shifted = [np.where(layer == FORBIDDEN, FORBIDDEN, layer - low) for layer, low in zip(layers, lows)]
        return replace(_encoded(problem, shifted, "add", 4), offset=problem.offset + sum(lows))
    return _encoded(problem, layers, "add", 8)


def _layers(problem: OrderProblem) -> list[NDArray[np.int64]]:
    """Return the arcs by place: from the depot, shape (m,), between cities, (m, m), and back, (m,)."""
    m, cost = problem.m, problem.cost
    return [cost[0, m, :m], *(cost[k, :m, :m] for k in range(1, m)), cost[m, :m, m]]


def _extremes(layers: Sequence[NDArray[np.int64]]) -> tuple[list[int], list[int]]:
    """Return the least and the largest cost of each place, 0 where there is no arc."""
    known = [layer[layer != FORBIDDEN] for layer in layers]
    return [int(k.min()) if len(k) else 0 for k in known], [int(k.max()) if len(k) else 0 for k in known]


def _dearest(problem: OrderProblem) -> Encoded:
    """Return the problem with positions among the ascending costs in place of costs."""
    layers = _layers(problem)
    every = np.unique(np.concatenate([layer.reshape(-1) for layer in layers]))
    values = every[(every != FORBIDDEN) & (every != FREE)]
    ranks = [np.where(layer == FORBIDDEN, FORBIDDEN,
                      np.where(layer == FREE, 0, np.searchsorted(values, layer) + 1)) for layer in layers]
    return replace(_encoded(problem, ranks, "dearest", 4), values=tuple(values.tolist()))


def _encoded(problem: OrderProblem, layers: Sequence[NDArray[np.int64]], join: str, itemsize: int) -> Encoded:
    m, none = problem.m, NO_PATH[itemsize]
    dtype = np.dtype(f"{'i' if itemsize == 8 else 'u'}{itemsize}")
    places = m if problem.by_place else 1
    cost = np.full((places, STRIDE, STRIDE), none, np.int64)
    cost[:, DEPOT, :m] = np.minimum(layers[0], none)
    for k in range(places):
        if m > 1:
            cost[k, :m, :m] = np.minimum(layers[max(k, 1)], none)
    lowest = -LARGEST_VALUE if itemsize == 8 else 0
    earliest = np.full(m + 1, lowest) if problem.earliest is None else problem.earliest
    latest = np.full(m + 1, none - 1) if problem.latest is None else np.minimum(problem.latest, none - 1)
    return Encoded(
        m, join, cost.astype(dtype), np.minimum(layers[m], none).astype(dtype), _padded(earliest[:m], itemsize, 0),
        _padded(latest[:m], itemsize, 0), int(earliest[m]), int(latest[m]),
        np.array([*problem.before, *[0] * (STRIDE - m)], np.uint32), _padded(np.zeros(m, np.int64), itemsize, 0),
        offset=problem.offset,
    )


def _padded(values: NDArray[np.int64], itemsize: int, fill: int) -> NDArray[np.generic]:
    padded = np.full(STRIDE, fill, np.int64)
    padded[: len(values)] = values
    return padded.astype(f"{'i' if itemsize == 8 else 'u'}{itemsize}")

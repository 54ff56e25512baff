"""An order problem in the integers of a kernel, and what its states say: the best order, the best ones, their number.

Integers have 32 bits wherever a bound proves that they suffice, else 64. A state is the value of the best path to a
city through a set; the functions that read states get them from the filled table (`Read`).

The number of optimal orders and the best orders in order of their value both go from the end of the orders to their
beginning. A suffix of an order is a function of the value at which its first city is reached: max(value + added,
least), if the value is at most `limit`. With the table's exact value of the best path to each state, the best order
with each suffix is known at once, so nothing is looked at that is not used (A* with an exact bound).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.algorithms.held_karp.problem import FREE, NO_PATH, OrderProblem, tie
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import NO_ARC

STRIDE, DEPOT = 32, 31
"""Rows of a matrix of costs as kernels read it, and the depot's row."""
Read = Callable[[ArrayLike, ArrayLike], NDArray[np.int64]]
"""Returns the states of sets and cities."""
MOST_COUNTED = 2**64 - 1
"""The largest number of orders that is counted, which stands for that many or more."""
END = np.dtype([("visited", np.uint32), ("city", np.int32), ("limit", np.int64), ("number", np.uint64)])
"""Ends of optimal orders: the set of cities before them, their first city (or the depot), the largest value at which
that may be reached, and how many ends these are, saturated."""
Ends = NDArray[Any]
"""Shape (ends,), of type `END`."""
ENDS_AT_A_TIME = 1 << 16
MOST_UNMERGED = 1 << 22
"""Ends of orders that are looked at together, and above which equal ones are merged: some hundred MB of memory."""
_NO_LIMIT = 2**63
_LOW, _HALF = np.uint64(2**32 - 1), np.uint64(32)


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


def encode(problem: OrderProblem, least: int = 4) -> Encoded:
    """Return a problem with at least one city in the integers of a kernel, `least` bytes or more for each sum."""
    if problem.combine == "max":
        return _dearest(problem)
    if problem.weights is not None:
        weights = problem.weights
        whole = _encoded(problem, _layers(problem), "multiply", 8)
        padded = _padded(-weights[:-1], 8)
        return replace(whole, weight=padded, factor=sum(map(int, weights)))
    layers = _layers(problem)
    known = [layer[layer != NO_ARC] for layer in layers]
    lows, highs = ([int(extreme(costs)) if len(costs) else 0 for costs in known] for extreme in (np.min, np.max))
    if problem.combine == "finish":
        assert problem.earliest is not None
        most = sum(max(0, high) for high in highs) + int(problem.earliest.max())
        return _encoded(problem, layers, "add", 4 if most < NO_PATH[4] else 8)
    if least == 4 and sum(high - low for low, high in zip(lows, highs)) < NO_PATH[4]:
        shifted = [np.where(layer == NO_ARC, NO_ARC, layer - low) for layer, low in zip(layers, lows)]
        return replace(_encoded(problem, shifted, "add", 4), offset=problem.offset + sum(lows))
    return _encoded(problem, layers, "add", 8)


def _layers(problem: OrderProblem) -> list[NDArray[np.int64]]:
    """Return the arcs by place: from the depot, shape (m,), between cities, (m, m), and back, (m,)."""
    m, cost = problem.m, problem.cost
    return [cost[0, m, :m], *(cost[k, :m, :m] for k in range(1, m)), cost[m, :m, m]]


def _dearest(problem: OrderProblem) -> Encoded:
    """Return the problem with positions among the ascending costs in place of costs."""
    layers = _layers(problem)
    every = np.unique(np.concatenate([layer.reshape(-1) for layer in layers]))
    values = every[(every != NO_ARC) & (every != FREE)]
    ranks = [np.where(layer == NO_ARC, NO_ARC,
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
    lowest = -LARGEST_SUM if itemsize == 8 else 0
    earliest = np.full(m + 1, lowest) if problem.earliest is None else problem.earliest
    latest = np.full(m + 1, none - 1) if problem.latest is None else np.minimum(problem.latest, none - 1)
    return Encoded(
        m, join, cost.astype(dtype), np.minimum(layers[m], none).astype(dtype), _padded(earliest[:m], itemsize),
        _padded(latest[:m], itemsize), int(earliest[m]), int(latest[m]),
        np.array([*problem.before, *[0] * (STRIDE - m)], np.uint32), _padded(np.zeros(m, np.int64), itemsize),
        offset=problem.offset,
    )


def _padded(values: NDArray[np.int64], itemsize: int) -> NDArray[np.generic]:
    padded = np.zeros(STRIDE, np.int64)
    padded[: len(values)] = values
    return padded.astype(f"{'i' if itemsize == 8 else 'u'}{itemsize}")


def values_by_end(encoded: Encoded, read: Read) -> list[int]:
    """Return for each city the value of the best order that ends in it, `no_path` if there is none. Collective."""
    m, none = encoded.m, encoded.no_path
    whole = (1 << m) - 1
    paths, factor, values = read([whole & ~(1 << i) for i in range(m)], range(m)), encoded.factor_after(whole), []
    for path, cost in zip(paths.tolist(), encoded.back.tolist()):
        joined = max(path, cost) if encoded.join == "dearest" else path + cost * factor
        values.append(joined if path < none and cost < none else none)
    return values


@dataclass(frozen=True, order=True)
class Suffix:
    """The end of orders. Suffixes are compared by the best value, and equal ones by the tie rule.

    Attributes
    ----------
    value
        The value of the best order with this end.
    key
        `tie` of its cities.
    cities
        Its cities, in their order.
    left
        The set of the cities before it, a bit mask.
    added, least, limit
        The function of the value at its first city, as above.
    """

    value: int
    key: tuple[int, ...]
    cities: list[int]
    left: int
    added: int
    least: int
    limit: int


def count_optimal(encoded: Encoded, read: Read) -> int:
    """Return the number of optimal orders, 0 if there is none and at most `MOST_COUNTED`. Collective."""
    least = min(values_by_end(encoded, read))
    value = max(least, encoded.depot_earliest)
    if least >= encoded.no_path or value > encoded.depot_latest:
        return 0
    ends = _ends([(1 << encoded.m) - 1], [encoded.m], [value], [1])
    for size in range(encoded.m, 0, -1):
        longer = _ends([], [], [], [])
        for at in range(0, len(ends), ENDS_AT_A_TIME):
            longer = np.concatenate([longer, _with_city_before(encoded, read, size, ends[at : at + ENDS_AT_A_TIME])])
            longer = _merged(longer) if len(longer) > MOST_UNMERGED else longer
        ends = _merged(longer)
    total = sum(map(int, ends["number"]))
    return min(total, MOST_COUNTED)


def _ends(visited: ArrayLike, city: ArrayLike, limit: ArrayLike, number: ArrayLike) -> Ends:
    ends = np.empty(np.size(visited), END)
    for name, values in (("visited", visited), ("city", city), ("limit", limit), ("number", number)):
        ends[name] = values
    return ends


def _merged(ends: Ends) -> Ends:
    """Return the ends with equal ones counted together."""
    if not len(ends):
        return ends
    state = ends["visited"].astype(np.int64) << 5 | ends["city"]
    order = np.lexsort([ends["limit"], state])
    state, limit, number = state[order], ends["limit"][order], ends["number"][order]
    first = np.flatnonzero(np.append(True, (np.diff(state) != 0) | (np.diff(limit) != 0)))
    low = np.add.reduceat(number & _LOW, first)  # sums of 32-bit halves do not wrap
    high = np.add.reduceat(number >> _HALF, first) + (low >> _HALF)
    total = np.where(high > _LOW, np.uint64(MOST_COUNTED), high << _HALF | low & _LOW)
    merged = ends[order[first]]
    merged["number"] = np.minimum(total, np.uint64(MOST_COUNTED))
    return merged


def _with_city_before(encoded: Encoded, read: Read, size: int, ends: Ends) -> Ends:
    """Return the ends with one more city before each, those alone that are ends of optimal orders.

    Parameters
    ----------
    size
        The number of cities before each of the ends, at least 1.
    """
    m, none, one = encoded.m, encoded.no_path, np.uint32(1)
    inside = (ends["visited"][:, None] >> np.arange(m, dtype=np.uint32) & one).astype(bool)
    end, last = np.nonzero(inside)
    before = ends["visited"][end] & ~(one << last.astype(np.uint32))
    paths = read(before, last)
    arcs = encoded.back[last] if size == m else encoded.cost[encoded.place(size), last, ends["city"][end]]
    costs = arcs.astype(np.int64)
    reached = (paths < none) & (costs < none)
    end, last, before, paths, costs = (column[reached] for column in (end, last, before, paths, costs))
    limit = ends["limit"][end]
    if encoded.join == "dearest":
        kept = np.maximum(paths, costs) <= limit
    else:
        weight = encoded.weight[:m].astype(np.int64) if encoded.join == "multiply" else np.zeros(m, np.int64)
        limit = limit - costs * (encoded.factor + inside @ weight)[end]
        kept = paths <= limit
        limit = np.minimum(limit, encoded.latest[last].astype(np.int64))
    return _ends(before[kept], last[kept], limit[kept], ends["number"][end[kept]])


def best_orders(encoded: Encoded, read: Read, most: int) -> list[tuple[int, list[int]]]:
    """Return up to `most` best orders with their values in the kernel's integers, equal ones by the tie rule.

    Collective.
    """
    found: list[tuple[int, list[int]]] = []
    waiting = [Suffix(0, (), [], (1 << encoded.m) - 1, 0, -_NO_LIMIT, _NO_LIMIT)]
    while waiting and len(found) < most:
        suffix = heapq.heappop(waiting)
        if not suffix.left:
            found.append((suffix.value, suffix.cities))
            continue
        for longer in _longer(encoded, read, suffix):
            heapq.heappush(waiting, longer)
    return found


def _longer(encoded: Encoded, read: Read, suffix: Suffix) -> list[Suffix]:
    """Return the suffixes with one more city before, those alone that an order has."""
    city = suffix.cities[0] if suffix.cities else encoded.m
    members = [i for i in range(encoded.m) if suffix.left >> i & 1]
    paths = read([suffix.left & ~(1 << i) for i in members], members).tolist()
    if city == encoded.m:
        costs, earliest, latest = encoded.back, encoded.depot_earliest, encoded.depot_latest
    else:
        costs = encoded.cost[encoded.place(len(members)), :, city]
        earliest, latest = int(encoded.earliest[city]), int(encoded.latest[city])
    factor, found = encoded.factor_after(suffix.left), []
    for last, path in zip(members, paths):
        cost = int(costs[last])
        if cost >= encoded.no_path or path >= encoded.no_path:
            continue
        if encoded.join == "dearest":
            added, least, limit = 0, max(suffix.least, cost), _NO_LIMIT
        else:
            added, least = suffix.added + cost * factor, max(suffix.least, earliest + suffix.added)
            limit = min(latest, suffix.limit) - cost * factor
        if path <= limit:
            cities, left = [last, *suffix.cities], suffix.left & ~(1 << last)
            found.append(Suffix(max(path + added, least), tie(cities), cities, left, added, least, limit))
    return found

"""An instance as kernels of tours have it: its nodes, renumbered, with costs from coordinates or a matrix.

The kernels (cuda_src/tours/costs.cuh) search closed tours of nodes that keep all fixed edges. What else a job may ask
for becomes such tours:

- *Renumbering.* Nodes are numbered along a Hilbert curve (D. Hilbert, Mathematische Annalen 38, 1891; computed as by
  J. Skilling, AIP Conference Proceedings 707, 2004) of the coordinates, those of a matrix along a nearest-neighbour
  tour, so that what is near is near in memory.
- *Asymmetric costs.* Each city is two nodes, its entry and its exit, which a fixed edge joins (`Cities.paired`).
- *Forced edges.* Those that follow one another are a chain. Its inner cities are no nodes, and a fixed edge joins its
  ends. Of asymmetric costs a chain is one city: its entry is that of its first city, its exit that of its last one.
- *Open paths.* They are closed tours with one more city, the depot, that costs nothing to and from all others. Edges
  from it are forced to a given first and last city. Where both are given, the depot is within a chain, and no node.
  Else costs must be a matrix, since no coordinates have such a city.

So a tour of the nodes costs the same as the tour in the instance, but for `Cities.shift`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.distances import ON_THE_GLOBE, bounded_distance, on_the_globe
from hpcsolve.problems.tsp import MOST_PAIRED, NO_ARC, Tsp

OF_MATRIX, OF_PAIRS = 0, 1
CODES = {
    name: code for code, name in enumerate((
        "EUC_2D", "EUC_3D", "CEIL_2D", "ATT", "MAN_2D", "MAN_3D", "MAX_2D", "MAX_3D", "XRAY1", "XRAY2", *ON_THE_GLOBE,
    ), start=2)
}
"""The number of each metric in kernels (`metric_code` in cuda_src/tours/costs.cuh)."""
FORBIDDEN = 1 << 30
"""The cost in kernels of an edge that no tour may have."""
LARGEST_COST = FORBIDDEN - 1
"""The largest difference of two costs: they are 32-bit integers in kernels, and sums of a few of them must fit too."""
NONE = 0xFFFFFFFF
"""In place of a node: there is none."""
ROWS_AT_ONCE = 256
POINTS_AT_ONCE = 1 << 15
HILBERT_BITS = 20
"""Bits of each coordinate from which places on the Hilbert curve are computed."""


@dataclass(frozen=True, eq=False)
class Cities:
    """An instance as kernels of tours have it.

    Attributes
    ----------
    tsp
        The instance.
    order
        Shape (nodes,), of a paired instance (nodes / 2,): the position in the instance of each node or pair; of a pair
        that is a chain, that of its first city. The depot of an open path has `tsp.n`.
    metric
        The number of the function that has the costs, one of `CODES`, `OF_MATRIX` or `OF_PAIRS`.
    points
        Shape (nodes, 2 or 3), float64: coordinates, on the globe unit vectors; None with a matrix.
    matrix
        Shape (nodes, nodes), of a paired instance (nodes / 2, nodes / 2), int32: costs from row to column, less the
        offset, 0 on the diagonal. None with coordinates.
    offset
        The least cost if that is negative, else 0.
    shift
        What is added to the length of a tour of nodes in the kernels' costs, to get its cost in the instance.
    fixed
        Shape (nodes,), uint32: the node at the other end of a node's fixed edge, or `NONE`; None if there are no fixed
        edges.
    chains
        The inner positions of chains of forced edges, by the node where a tour enters the chain, in the order from
        there. Of a pair, by its number, all positions but the first.
    closed
        Whether tours in the instance are closed. Those of nodes always are.
    start, end
        The given first and last city of an open path, or None.
    assigned
        Shape (nodes / 2,), uint32: the pair that follows each in a solution of the assignment problem, if costs are
        reduced by its dual values; else None.
    """

    tsp: Tsp
    order: NDArray[np.int64]
    metric: int
    points: NDArray[np.float64] | None
    matrix: NDArray[np.int32] | None
    offset: int
    shift: int
    fixed: NDArray[np.uint32] | None
    chains: Mapping[int, NDArray[np.int64]]
    closed: bool = True
    start: int | None = None
    end: int | None = None
    assigned: NDArray[np.uint32] | None = None

    @property
    def paired(self) -> bool:
        """Whether each city is two nodes, its entry and its exit."""
        return self.metric == OF_PAIRS

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.order) * (2 if self.paired else 1)

    @property
    def most_near(self) -> int:
        """The most nodes that can be listed for a node."""
        return max(1, len(self.order) - 1)

    def arguments(self) -> dict[str, Any]:
        """Return the fields of the struct `cities`."""
        return {"n": self.nodes, "metric": self.metric, "points": self.points, "matrix": self.matrix,
                "fixed": self.fixed}

    def tour_of(self, nodes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return tours of nodes as tours of positions, shape (tours, cities of the instance).

        Parameters
        ----------
        nodes
            Shape (tours, nodes): all nodes in an order that keeps all fixed edges.
        """
        tours = np.atleast_2d(nodes).astype(np.int64)
        if self.paired:
            tours = _entries(tours) >> 1
        whole = np.stack([self._expanded(tour) for tour in tours]) if self.chains else self.order[tours]
        return whole if self.closed else np.stack([self._opened(tour) for tour in whole])

    def nodes_of(self, tours: NDArray[Any]) -> NDArray[np.uint32]:
        """Return tours of positions, shape (tours, cities of the instance), as tours of nodes.

        They must have all forced edges.
        """
        whole = np.atleast_2d(tours).astype(np.int64)
        if not self.closed:
            whole = np.concatenate([whole, np.full((len(whole), 1), self.tsp.n)], axis=1)
        numbers = self._numbers[whole]
        nodes: NDArray[np.uint32] = numbers[numbers != NONE]
        if self.paired:
            nodes = np.stack([2 * nodes, 2 * nodes + 1], axis=-1)
        return nodes.reshape(len(whole), -1)

    def costs_of(self, nodes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the costs in the instance of tours of nodes, shape (tours,), from the instance's own costs."""
        tours = self.tour_of(nodes)
        legs = tours.shape[1] if self.closed else tours.shape[1] - 1
        return np.array([self.tsp.between(tour[:legs], np.roll(tour, -1)[:legs]).sum() for tour in tours], np.int64)

    def with_reduced_costs(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], assigned: NDArray[np.uint32]
    ) -> Cities:
        """Return this paired instance with `rows[i] + columns[j]` subtracted from the cost of each arc (i, j).

        Parameters
        ----------
        rows, columns
            Shape (nodes / 2,): dual values of the assignment problem.
        assigned
            As the attribute.
        """
        assert self.matrix is not None
        matrix = np.empty_like(self.matrix)
        for row, costs, low in zip(matrix, self.matrix, rows.tolist()):
            np.subtract(costs, low + columns, out=row, casting="unsafe")
        np.fill_diagonal(matrix, 0)
        return replace(self, matrix=matrix, shift=self.shift + int(rows.sum() + columns.sum()), assigned=assigned)

    def _expanded(self, tour: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a tour of nodes or pairs with the inner cities of its chains."""
        begins = np.isin(tour, np.fromiter(self.chains, np.int64))
        if not self.paired and self.fixed is not None:  # of both ends the one from which the tour takes the chain
            begins &= self.fixed[tour] == np.roll(tour, -1)
            begins[1:] &= len(tour) > 2
        at = np.flatnonzero(begins)
        inner = [self.chains[node] for node in tour[at].tolist()]
        return np.insert(self.order[tour], np.repeat(at + 1, [len(chain) for chain in inner]), np.concatenate(inner))

    def _opened(self, tour: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the path that a closed tour of positions and the depot is without the depot."""
        path = np.roll(tour, -int(np.argmax(tour == self.tsp.n)))[1:]
        begins = self.start is None or path[0] == self.start
        return path if begins and (self.end is None or path[-1] == self.end) else path[::-1]

    @cached_property
    def _numbers(self) -> NDArray[np.uint32]:
        """Shape (cities + 1,): the node or pair of each position and of the depot, or `NONE`."""
        numbers = np.full(self.tsp.n + 1, NONE, np.uint32)
        numbers[self.order] = np.arange(len(self.order), dtype=np.uint32)
        return numbers


def _entries(tours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the entries of paired tours, in the direction in which each entry comes before its exit."""
    forwards = (tours[:, 1] == tours[:, 0] ^ 1) == (tours[:, 0] & 1 == 0)
    entries: NDArray[np.int64] = tours[tours & 1 == 0].reshape(len(tours), -1)
    return np.where(forwards[:, None], entries, entries[:, ::-1])


# ---- which costs ----


def require_costs(tsp: Tsp, algorithm: str) -> None:
    """Raise `InputError` if arcs are missing, or if 32 bits do not suffice for the costs."""
    missing = None if tsp.metric else tsp.cost == NO_ARC
    if missing is not None and int(missing.sum()) > tsp.n:
        row, column = next((int(i), int(j)) for i, j in zip(*missing.nonzero()) if i != j)
        what = f"there is no arc from city {tsp.labels[row]} to city {tsp.labels[column]}"
        raise InputError(f"{what}; {algorithm} needs one between any two cities: give it a large cost", tsp.name)
    if not fits(tsp):
        low, high = cost_range(tsp)
        what = f"costs range from {low} to {high} in units of 1/{tsp.scale}"
        raise InputError(f"{what}; {algorithm} takes a range up to {LARGEST_COST}: round or scale them", tsp.name)


def fits(tsp: Tsp) -> bool:
    """Return whether 32 bits suffice for the costs as they are."""
    low, high = cost_range(tsp)
    return high - min(low, 0) <= LARGEST_COST


def cost_range(tsp: Tsp) -> tuple[int, int]:
    """Return the least and the largest cost.

    With coordinates it is 0 and an upper bound of all distances, if that is at most `LARGEST_COST` or if there are more
    than `MOST_PAIRED` cities.
    """
    if tsp.metric and tsp.coordinates is not None:
        bound = bounded_distance(tsp.coordinates, tsp.metric)
        if bound <= LARGEST_COST or tsp.n > MOST_PAIRED:
            return 0, int(bound)
    ranges = [(block.min(), block.max(where=block != NO_ARC, initial=-NO_ARC)) for _, block in tsp.row_blocks()]
    return int(min(low for low, _ in ranges)), int(max(high for _, high in ranges))


# ---- making the nodes ----


def kernel_cities(
    tsp: Tsp, fixed_edges: Iterable[tuple[int, int]] = (), *, closed: bool = True, start: int | None = None,
    end: int | None = None,
) -> Cities:
    """Return an instance as kernels of tours have it. It must pass `require_costs`.

    It follows from integers, and of coordinates from sums, products and quotients, so it is the same on all ranks.

    Parameters
    ----------
    fixed_edges
        Pairs of positions: edges, or arcs if costs are asymmetric, that every tour must have.
    closed
        Whether tours are closed. Else they are paths.
    start, end
        Positions of the first and of the last city of a path, if they are given.

    Raises
    ------
    InputError
        No tour has all fixed edges.
    ResourceError
        A matrix that is needed does not fit in memory.
    """
    depot, chains = tsp.n, chains_of(tsp, fixed_edges, closed=closed, start=start, end=end)
    is_node = np.ones(tsp.n + 1, bool)
    is_node[depot] = not closed
    for chain in chains:
        is_node[chain[1 : -1 if tsp.symmetric else None]] = False
    points, matrix, offset = None, None, 0
    if tsp.metric and tsp.coordinates is not None and not is_node[depot]:
        metric = CODES[tsp.metric]
        points, order = _along_a_curve(tsp.coordinates, tsp.metric, np.flatnonzero(is_node))
    else:
        metric, offset = OF_MATRIX if tsp.symmetric else OF_PAIRS, min(0, int(tsp.cost.min()))
        tour = np.append(nearest_neighbour_tour(tsp.cost), depot)
        order = tour[is_node[tour]]
        exits = np.arange(tsp.n + 1)
        if not tsp.symmetric:
            exits[[chain[0] for chain in chains]] = [chain[-1] for chain in chains]
        matrix = _matrix(tsp, exits[order], order, offset)
    made = Cities(tsp, order, metric, points, matrix, offset, offset * len(order), None, {}, closed, start, end)
    return _with_chains(made, chains)


def _with_chains(cities: Cities, chains: Sequence[NDArray[np.int64]]) -> Cities:
    """Return the instance with the fixed edges and inner cities of its chains, and its shift."""
    tsp, shift, inner = cities.tsp, cities.shift, {}
    fixed = np.full(cities.nodes, NONE, np.uint32)
    if cities.paired:
        fixed = np.arange(cities.nodes, dtype=np.uint32) ^ np.uint32(1)
    ends = {int(place) for chain in chains for place in (chain[0], chain[-1])}
    number = {place: node for node, place in enumerate(cities.order.tolist()) if place in ends} if ends else {}
    for chain in chains:
        first, last = number[int(chain[0])], number.get(int(chain[-1]))
        shift += int(_between(tsp, chain[:-1], chain[1:]).sum())
        if last is None:  # a pair
            inner[first] = chain[1:]
            continue
        shift -= int(_between(tsp, chain[:1], chain[-1:])[0])
        fixed[first], fixed[last] = last, first
        if len(chain) > 2:
            inner[first], inner[last] = chain[1:-1], chain[-2:0:-1]
    return replace(cities, shift=shift, chains=inner, fixed=fixed if chains or cities.paired else None)


def chains_of(
    tsp: Tsp, fixed_edges: Iterable[tuple[int, int]], *, closed: bool = True, start: int | None = None,
    end: int | None = None,
) -> list[NDArray[np.int64]]:
    """Return the chains of forced edges. Arcs run from the first city to the last.

    Parameters and errors are those of `kernel_cities`.
    """
    depot, edges = tsp.n, list(dict.fromkeys((int(a), int(b)) for a, b in fixed_edges))
    if not closed:
        edges += [(depot, start)] if start is not None else []
        edges += [(end, depot)] if end is not None else []
    return _chains(tsp, edges, depot if closed else depot + 1)


def _chains(tsp: Tsp, edges: Sequence[tuple[int, int]], cities: int) -> list[NDArray[np.int64]]:
    """Return the chains of forced edges. Arcs run from the first city to the last.

    Of edges that are a tour of all cities, the last one is left out.
    """
    beside: dict[int, list[int]] = {}
    if tsp.symmetric:
        edges = sorted({(min(edge), max(edge)) for edge in edges})
    for a, b in edges:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    leaving, entering = {tail for tail, _ in edges}, {head for _, head in edges}
    if not tsp.symmetric and min(len(leaving), len(entering)) < len(edges):
        raise InputError("two forced arcs leave, or enter, the same city: no tour has both", tsp.name)
    for city, others in beside.items():
        if len(set(others) - {city}) < len(others) or len(others) > 2:
            where = f"city {tsp.labels[city]}" if city < tsp.n else "an end of the path"
            raise InputError(f"no tour has all forced edges at {where}", tsp.name)
    chains, seen = [], set()
    for city, others in beside.items():
        if len(others) == 2 or city in seen or (not tsp.symmetric and city not in leaving):
            continue
        chain = [city]
        while following := [other for other in beside[chain[-1]] if chain[-2:-1] != [other]]:
            chain.append(following[0])
        seen.update(chain)
        chains.append(np.array(chain, np.int64))
    if not seen and len(edges) == cities == len(beside):
        return _chains(tsp, edges[:-1], cities)
    if len(seen) < len(beside):
        raise InputError("forced edges close a cycle: no tour has all of them", tsp.name)
    return chains


def _between(tsp: Tsp, tails: NDArray[np.int64], heads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return costs between positions, 0 from and to the depot."""
    last = tsp.n - 1
    costs = tsp.between(np.minimum(tails, last), np.minimum(heads, last))
    return np.where((tails > last) | (heads > last), 0, costs)


def _matrix(tsp: Tsp, tails: NDArray[np.int64], heads: NDArray[np.int64], offset: int) -> NDArray[np.int32]:
    """Return the costs from tails to heads less the offset, 0 on the diagonal. Arcs of the depot cost 0 before that."""
    matrix, cost, last = np.empty((len(tails), len(heads)), np.int32), tsp.cost, tsp.n - 1
    columns = np.minimum(heads, last)
    for first in range(0, len(tails), ROWS_AT_ONCE):
        rows = tails[first : first + ROWS_AT_ONCE]
        block = cost[np.ix_(np.minimum(rows, last), columns)]
        block[rows > last] = 0
        block[:, heads > last] = 0
        np.subtract(block, offset, out=matrix[first : first + ROWS_AT_ONCE], casting="unsafe")
    np.fill_diagonal(matrix, 0)
    return matrix


# ---- numbering ----


def nearest_neighbour_tour(cost: NDArray[np.int64], start: int = 0) -> NDArray[np.int64]:
    """Return the nearest-neighbour tour from a city, the first of equally near cities, as int64 of shape (n,)."""
    n = len(cost)
    tour, left = np.full(n, start, np.int64), np.ones(n, bool)
    for step in range(1, n):
        left[tour[step - 1]] = False
        tour[step] = np.where(left, cost[tour[step - 1]], NO_ARC).argmin()
    return tour


def _along_a_curve(
    coordinates: NDArray[np.float64], metric: str, positions: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the points at some positions along a Hilbert curve, and their positions."""
    globe = metric in ON_THE_GLOBE
    points = np.empty((len(positions), 3 if globe else coordinates.shape[1]))
    for some in _parts(len(positions)):
        chosen = coordinates[positions[some]]
        points[some] = on_the_globe(chosen, metric) if globe else chosen
    along = np.argsort(hilbert_places(points), kind="stable")
    return points[along], positions[along]


def hilbert_places(points: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return places of points along a Hilbert curve through the cube that has them all.

    Parameters
    ----------
    points
        Shape (n, 2 or 3). Points in the same cell of a grid, of 2 ** `HILBERT_BITS` cells along each axis, have the
        same place.
    """
    low = points.min(axis=0)
    extent, largest = float(np.ptp(points, axis=0).max()), (1 << HILBERT_BITS) - 1
    places = np.empty(len(points), np.uint64)
    for some in _parts(len(points)):
        cells = np.minimum((points[some] - low) / (extent or 1.0) * largest, largest).astype(np.uint32)
        places[some] = _hilbert_places_of_cells(np.ascontiguousarray(cells.T))
    return places


def _hilbert_places_of_cells(axes: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the places of cells, shape (axes, cells), which are overwritten. As by Skilling."""
    top = np.uint32(1 << (HILBERT_BITS - 1))
    bit = top
    while bit > 1:
        below = bit - np.uint32(1)
        for axis in axes:
            inverted = (axis & bit) != 0
            exchanged = np.where(inverted, 0, (axes[0] ^ axis) & below)
            axes[0] ^= np.where(inverted, below, exchanged)
            axis ^= exchanged
        bit >>= np.uint32(1)
    for axis, before in zip(axes[1:], axes):
        axis ^= before
    turned = np.zeros_like(axes[0])
    bit = top
    while bit > 1:
        turned ^= np.where(axes[-1] & bit, bit - np.uint32(1), np.uint32(0))
        bit >>= np.uint32(1)
    places = np.zeros(axes.shape[1], np.uint64)
    axes ^= turned
    for shift in range(HILBERT_BITS - 1, -1, -1):
        for axis in axes:
            places = places << np.uint64(1) | (axis >> np.uint32(shift) & np.uint32(1))
    return places


def _parts(count: int) -> Iterator[slice]:
    return (slice(first, min(first + POINTS_AT_ONCE, count)) for first in range(0, count, POINTS_AT_ONCE))

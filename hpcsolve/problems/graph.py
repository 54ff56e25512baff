"""Weighted graphs in compressed sparse rows (CSR): the arcs that leave a vertex stand together, their heads ascend.

Of parallel arcs the lightest one is kept, and loops are dropped, since no shortest path or tree needs them; both are
counted. An undirected graph holds each edge as two arcs. Graphs are built from lists of arcs or edges, and given again
with rounded weights, with their arcs reversed, or with their vertices in another order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.edge_texts import EdgeTexts
from hpcsolve.problems.labels import Labels
from hpcsolve.problems.rounding import (
    EXACT_IN_DOUBLES,
    BadNumber,
    Precision,
    Rounding,
    Weights,
    exact_floats,
    exact_integers,
    exact_weights,
    narrowed,
    number_table,
)

LARGEST_ORDER = 2**31 - 1
"""Largest number of vertices, since positions are 32-bit integers."""
EITHER_WEIGHT = (
    "say directed = true to keep both, or directed = false for the lighter one; a Steiner problem knows false alone"
)
"""The way out where edges have another weight each way, and the input does not say whether it has arcs or edges."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with weights of at least 0, and perhaps with the terminals of a Steiner problem.

    Attributes
    ----------
    offsets
        Shape (n + 1,), int64: the arcs that leave vertex v are `offsets[v]` to `offsets[v + 1]` of `heads`, `weights`.
    heads
        Shape (m,), int32: positions 0..n-1, strictly ascending in each row.
    weights
        Shape (m,), uint32, uint64 or float64 (see `problems.rounding`); in the input's own unit `weights / scale`.
    directed
        If False, each edge stands in both directions, with the same weight.
    labels
        Shape (n,), int64: the numbers of the vertices in the input.
    rounding
        How weights were rounded, with the given ones by the index of the arc; None if weights are as they were given.
    coordinates
        Shape (n, 2 or 3), float64, as in the input, or None.
    terminals
        Positions of the terminals, int64, in the input's order, or None.
    vertex_names
        A name for each vertex where the input has names in place of numbers, else empty.
    coordinates_kind
        `geographic.DEGREES` if coordinates are latitudes and longitudes, else empty.
    parallel_arcs, loops, repeated_terminals
        Number of arcs (edges of an undirected graph) and of terminals that were dropped.
    notes
        How the input was taken, and what it has beside the graph, in lines for the log of a run (see `problems.notes`).
    places
        The places that stand for terminals (`problems.snapping.Snapped`), or none.
    edge_texts
        What the input says of its edges beside their weights, or None.
    unit
        The unit of the weights where the input says it, such as m, else "".
    """

    name: str
    offsets: NDArray[np.int64]
    heads: NDArray[np.int32]
    weights: Weights
    directed: bool
    labels: NDArray[np.int64]
    scale: int = 1
    coordinates: NDArray[np.float64] | None = None
    terminals: NDArray[np.int64] | None = None
    comment: str = ""
    vertex_names: tuple[str, ...] = ()
    coordinates_kind: str = ""
    parallel_arcs: int = 0
    loops: int = 0
    repeated_terminals: int = 0
    rounding: Rounding | None = None
    notes: tuple[str, ...] = ()
    edge_texts: EdgeTexts | None = None
    places: tuple[Any, ...] = ()
    unit: str = ""

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def arcs(self) -> int:
        """Number of arcs, two for each edge of an undirected graph."""
        return len(self.heads)

    @property
    def edges(self) -> int:
        """Number of edges of an undirected graph, of arcs of a directed one."""
        return self.arcs if self.directed else self.arcs // 2

    def tails(self) -> NDArray[np.int32]:
        """Return the vertex that each arc leaves, shape (m,)."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.offsets))

    def once(self) -> NDArray[np.int64]:
        """Return the index of one arc of each edge, and of a directed graph those of all arcs."""
        return np.arange(self.arcs) if self.directed else np.flatnonzero(self.tails() <= self.heads)

    def arc_keys(self) -> NDArray[np.int64]:
        """Return tail * n + head of each arc, which ascend."""
        return self.tails() * np.int64(self.n) + self.heads

    def arcs_between(
        self, tails: NDArray[Any], heads: NDArray[Any], keys: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return the arc from each tail to its head, -1 where there is none. `keys` are `arc_keys()`, if known."""
        if not self.arcs:
            return np.full(len(tails), -1)
        known = self.arc_keys() if keys is None else keys
        asked = tails.astype(np.int64) * self.n + heads.astype(np.int64)
        found = np.minimum(np.searchsorted(known, asked), self.arcs - 1)
        return np.where(known[found] == asked, found, -1)

    def positions(self, vertices: ArrayLike | Iterable[Any]) -> NDArray[np.int64]:
        """Return the positions (from 0) of vertices by label or name, as `Labels.positions`."""
        return Labels(self.labels, self.vertex_names, self.name, "vertex", "vertices").positions(vertices)

    def with_terminals_at(self, positions: NDArray[np.int64]) -> Graph:
        """Return the graph with the vertices at these positions as its terminals. Repeated ones are dropped."""
        first = np.sort(np.unique(positions, return_index=True)[1])
        return replace(self, terminals=positions[first], repeated_terminals=len(positions) - len(first))

    def fitted(self, precision: Precision, whole: bool) -> Graph:
        """Return the graph that an algorithm takes: weights are rounded where they do not fit or the job says so.

        Parameters
        ----------
        whole
            Whether the algorithm takes integers only, and not floats.

        Raises
        ------
        InputError
            The weights do not fit, and the job forbids rounding; or as in `Precision.rounded`.
        """
        floats = self.weights.dtype.kind == "f"
        if floats and precision.exact:
            way_out = "remove exact, or set round in its place"
            raise InputError(f"exact = true, but weights are not decimals of at most nine places; {way_out}", self.name)
        if floats and not whole and precision.decimals is None:
            return self
        if not floats and not precision.rounds(self):
            return self
        numbers = self.weights / self.scale
        exact = exact_floats(numbers) if floats else exact_integers(self.weights, self.scale)
        values, scale, rounding = precision.rounded(numbers, exact, (self.n, self.edges), self.name)
        if floats and (values < EXACT_IN_DOUBLES).all() and np.array_equal(values / float(scale), numbers):
            rounding = None  # exact after all: floats only since they have ten decimals or more
        return replace(self, weights=narrowed(values.astype(np.uint64)), scale=scale, rounding=rounding)

    def with_rows(self, tails: NDArray[np.int64], heads: NDArray[np.int64], **changed: Any) -> Graph:
        """Return the graph with new tails and heads for its arcs, of which no two may be parallel.

        Its `rounding` is gone, whose given weights stand in the order of the old arcs, and so are its `edge_texts`.
        """
        offsets, row_heads, weights = _rows(self.n, tails, heads, self.weights)
        gone: dict[str, Any] = {"rounding": None, "edge_texts": None}
        return replace(self, offsets=offsets, heads=row_heads, weights=weights, **gone, **changed)

    def reversed(self) -> Graph:
        """Return the graph with every arc reversed. An undirected graph is its own reverse."""
        if not self.directed:
            return self
        return self.with_rows(self.heads.astype(np.int64), self.tails().astype(np.int64))

    def same_arcs(self, other: Graph) -> bool:
        """Return whether two graphs have the same arcs, with the same weights."""
        pairs = ((self.offsets, other.offsets), (self.heads, other.heads), (self.weights, other.weights))
        return all(np.array_equal(own, others) for own, others in pairs)

    def undirected(self) -> Graph:
        """Return a graph that has every arc in both directions, with the same weight, as an undirected one.

        Raises
        ------
        InputError
            An arc has no reverse of the same weight. The message names its ends.
        """
        lone = self.arc_without_reverse()
        if lone is None:
            return replace(self, directed=False)
        a, b = self.labels[list(lone)]
        message = f"the arcs between the vertices {a} and {b} differ in the two directions"
        raise InputError(f"{message}; an undirected graph is needed", self.name)

    def arc_without_reverse(self) -> tuple[int, int] | None:
        """Return the ends (positions) of the first arc that has no reverse of the same weight, or None."""
        back = self.reversed()
        tails, others = self.tails(), back.tails()
        same = (tails == others) & (self.heads == back.heads) & (self.weights == back.weights)
        if same.all():
            return None
        index = int(np.argmin(same))
        tail, head = min((tails[index], self.heads[index]), (others[index], back.heads[index]))
        return int(tail), int(head)

    def spatial_order(self) -> NDArray[np.int64]:
        """Return an order of the vertices in which neighbours stand near each other, for `permuted`.

        Returns
        -------
        order
            Shape (n,), int64: the position of the vertex that comes k-th. It follows a Z-order curve through the first
            two coordinates; without coordinates it is reverse Cuthill-McKee (scipy). Ties are broken by position.
        """
        if self.coordinates is not None:
            return z_order(self.coordinates)
        if self.arcs == 0 or self.arcs > np.iinfo(np.int32).max:
            return np.arange(self.n, dtype=np.int64)
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        pattern = self.sparse_matrix(np.ones(self.arcs, dtype=np.int8))
        return np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=not self.directed), dtype=np.int64)

    def permuted(self, order: ArrayLike, labels: NDArray[np.int64] | None = None) -> Graph:
        """Return the graph with its vertices in another order. Labels, coordinates and terminals move with them.

        Parameters
        ----------
        order
            Shape (n,): the position in `graph` of the vertex that comes k-th; `order[p]` maps new positions back.
        labels
            Labels of the vertices in their new order, by default their old ones.

        Raises
        ------
        ValueError
            The order is no permutation of 0..n-1.
        """
        old = np.asarray(order, dtype=np.int64)
        if old.shape != (self.n,) or not np.array_equal(np.sort(old), np.arange(self.n)):
            raise ValueError(f"the order must be a permutation of 0 to {self.n - 1}")
        new = np.empty(self.n, dtype=np.int64)
        new[old] = np.arange(self.n)
        names = self.vertex_names
        return self.with_rows(
            new[self.tails()], new[self.heads], labels=self.labels[old] if labels is None else labels,
            coordinates=None if self.coordinates is None else self.coordinates[old],
            terminals=None if self.terminals is None else new[self.terminals],
            vertex_names=tuple(names[position] for position in old) if names else (),
        )

    def sparse_matrix(self, values: NDArray[Any]) -> Any:
        """Return a `scipy.sparse.csr_array` of shape (n, n) with a value for each arc. Stored zeros are arcs too."""
        from scipy.sparse import csr_array

        offsets = self.offsets.astype(np.int32) if self.arcs <= np.iinfo(np.int32).max else self.offsets
        return csr_array((values, self.heads, offsets), shape=(self.n, self.n))


def from_edges(
    tails: ArrayLike,
    heads: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    n: int | None = None,
    directed: bool | None = False,
    labels: ArrayLike | None = None,
    coordinates: ArrayLike | None = None,
    terminals: ArrayLike | None = None,
    name: str = "graph",
    comment: str = "",
    vertex_names: tuple[str, ...] = (),
) -> Graph:
    """Return the graph with these arcs or edges, given in any order.

    Parameters
    ----------
    tails, heads
        Shape (m,), integers 0..n-1. An edge of an undirected graph is given once, with either end first; given twice,
        it is two parallel edges.
    weights
        Shape (m,), numbers of at least 0; by default 1 each.
    n
        Number of vertices, by default the largest end plus 1.
    directed
        None: the input has edges, but may mean arcs. Then opposite edges with different weights are refused.
    labels
        Shape (n,), by default 0..n-1.
    terminals
        Positions 0..n-1; repeated ones are dropped.

    Raises
    ------
    InputError
        Shapes differ, an end is out of range, or a weight is negative, NaN, infinite or too large; or as `directed`.
    """
    a, b = _ends(tails, "tails", name), _ends(heads, "heads", name)
    size = max(int(a.max(initial=-1)), int(b.max(initial=-1))) + 1 if n is None else n
    # Refuse a number of vertices that is negative or does not fit 32 bits.
    if not 0 <= size <= LARGEST_ORDER:
        raise InputError(f"{size} vertices; a graph has 0 to {LARGEST_ORDER}", name)
    try:
        values = np.ones(len(a), dtype=np.uint32) if weights is None else number_table(weights)
    except BadNumber as problem:
        raise InputError(f"the weight of arc {problem.index} {problem.reason}", name) from None
    if not a.shape == b.shape == values.shape:
        message = f"tails, heads, weights have shapes {a.shape}, {b.shape}, {values.shape}; give three of one length"
        raise InputError(message, name)
    for ends in (a, b):
        require_in_range(ends, size, name, f"an end of arc {{index}} is {{value}}, out of range 0 to {size - 1}")

    def in_words(arc: int) -> str:
        known = vertex_names or (range(size) if labels is None else np.asarray(labels).tolist())
        return f"arc {arc} ({known[a[arc]]} to {known[b[arc]]})"

    try:
        final, scale = exact_weights(values, size)
    except BadNumber as problem:
        raise InputError(f"the weight of {in_words(problem.index)} {problem.reason}", name) from None
    opposite = opposite_arcs(size, a, b, final) if directed is None else None
    if opposite is not None:
        one, other = (f"{in_words(arc)} weighs {float(values[arc]):.15g}" for arc in opposite)
        raise InputError(f"{one}, but {other}; {EITHER_WEIGHT}", name)
    return assembled(
        name, size, a, b, final, directed=bool(directed), scale=scale, comment=comment, vertex_names=vertex_names,
        labels=_table(labels, (size,), np.int64, "labels", name),
        coordinates=_table(coordinates, (size, 2), np.float64, "coordinates", name),
        terminals=None if terminals is None else _ends(terminals, "terminals", name),
    )


def _ends(values: ArrayLike, what: str, name: str) -> NDArray[np.int64]:
    table = np.asarray(values)
    if table.size == 0:
        table = table.astype(np.int64)
    if table.ndim != 1 or table.dtype.kind not in "iu":
        raise InputError(f"{what} are {table.dtype} of shape {table.shape}; give a list of integers", name)
    return table.astype(np.int64)


def _table(values: ArrayLike | None, shape: tuple[int, ...], kind: Any, what: str, name: str) -> NDArray[Any] | None:
    """Return an array of that shape (3 columns in place of 2 are allowed), or None."""
    if values is None:
        return None
    table = np.ascontiguousarray(values, dtype=kind)
    if table.shape not in (shape, (*shape[:-1], 3)):
        raise InputError(f"{what} have shape {table.shape}; {shape} is needed", name)
    return table


def require_in_range(values: NDArray[np.int64], n: int, name: str, message: str) -> None:
    """Refuse positions out of range 0..n-1.

    Parameters
    ----------
    message
        For the first wrong position, with fields `{index}` and `{value}`.

    Raises
    ------
    InputError
        A position is out of range.
    """
    if values.size and (values.min() < 0 or values.max() >= n):
        index = int(np.argmax((values < 0) | (values >= n)))
        raise InputError(message.format(index=index, value=values[index]), name)


def opposite_arcs(
    n: int, tails: NDArray[np.int64], heads: NDArray[np.int64], weights: Weights
) -> tuple[int, int] | None:
    """Return the first two arcs between the same vertices, one each way, that make undirected edges ambiguous, or None.

    They are the lightest ones of their directions, and have different weights.
    """
    up, down = tails < heads, tails > heads
    if not up.any() or not down.any() or weights.min() == weights.max():
        return None
    keys = (np.minimum(tails, heads) * n + np.maximum(tails, heads)).view(np.uint64)
    (one, least), (other, other_least) = (_least_of_parallel(keys[way], weights[way], n) for way in (up, down))
    place = np.minimum(np.searchsorted(one, other), len(one) - 1)
    ambiguous = (one[place] == other) & (least[place] != other_least)
    if not ambiguous.any():
        return None
    first = int(np.argmax(np.isin(keys, other[ambiguous]) & (up | down)))
    between = np.flatnonzero(keys == keys[first])
    lightest = [way[np.argmin(weights[way])] for way in (between[up[between]], between[down[between]])]
    return int(min(lightest)), int(max(lightest))


def assembled(
    name: str,
    n: int,
    tails: NDArray[np.int64],
    heads: NDArray[np.int64],
    weights: Weights,
    *,
    directed: bool,
    labels: NDArray[np.int64] | None = None,
    terminals: NDArray[np.int64] | None = None,
    **fields: Any,
) -> Graph:
    """Return the graph of arcs that have been checked, without loops and the heavier ones of parallel arcs.

    Parameters
    ----------
    fields
        Other fields of `Graph`.

    Raises
    ------
    InputError
        A terminal is out of range.
    """
    proper = tails != heads
    loops = len(tails) - int(np.count_nonzero(proper))
    if loops:
        tails, heads, weights = tails[proper], heads[proper], weights[proper]
    if not directed:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        weights = np.concatenate([weights, weights])
    offsets, row_heads, row_weights = _rows(n, tails, heads, weights)
    dropped = len(tails) - len(row_heads)
    graph = Graph(
        name, offsets, row_heads, narrowed(row_weights), directed,
        np.arange(n, dtype=np.int64) if labels is None else labels,
        parallel_arcs=dropped if directed else dropped // 2, loops=loops, **fields,
    )
    if terminals is None:
        return graph
    require_in_range(terminals, n, name, f"terminal {{value}} is out of range 0 to {n - 1}")
    return graph.with_terminals_at(terminals)


def _rows(
    n: int, tails: NDArray[np.int64], heads: NDArray[np.int64], weights: Weights
) -> tuple[NDArray[np.int64], NDArray[np.int32], Weights]:
    """Return offsets, heads and weights of the rows, with the lightest one of parallel arcs."""
    keys = (tails * max(n, 1) + heads).view(np.uint64)
    if len(keys) and not (keys[1:] > keys[:-1]).all():
        keys, weights = _least_of_parallel(keys, weights, n)
    # Not divmod, which is slower for unsigned integers than these two.
    rows = (keys // np.uint64(max(n, 1))).view(np.int64)
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n)[:n], out=offsets[1:])
    return offsets, (keys.view(np.int64) - rows * n).astype(np.int32), weights


def _least_of_parallel(
    keys: NDArray[np.uint64], weights: Weights, n: int
) -> tuple[NDArray[np.uint64], Weights]:
    """Return each key once, in ascending order, with the least of its weights."""
    bits = int(weights.max()).bit_length() if weights.dtype.kind == "u" else 64
    if (n * n - 1).bit_length() + bits <= 64:
        # Key and weight in one word: numpy's sort is ten times as fast as its argsort.
        both = np.sort(keys << np.uint64(bits) | weights.astype(np.uint64))
        keys = both >> np.uint64(bits)
        first = _first_of_runs(keys)
        least = (both[first] & np.uint64((1 << bits) - 1)).astype(weights.dtype)
        return keys[first], cast(Weights, least)
    # The order of equal keys does not matter: the minimum of their weights is taken.
    order = np.argsort(keys)
    keys, weights = keys[order], weights[order]
    first = _first_of_runs(keys)
    return keys[first], cast(Weights, np.minimum.reduceat(weights, first))


def _first_of_runs(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))


def z_order(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order of points along a Z-order curve, by the bits of x and y in turn, with ties broken by position.

    Parameters
    ----------
    points
        Shape (n, 2 or more), finite; the first two columns count, in 2^31 steps of the longer side.
    """
    if not len(points):
        return np.empty(0, dtype=np.int64)
    low = points[:, :2].min(axis=0)
    side = float((points[:, :2].max(axis=0) - low).max())
    steps = ((points[:, :2] - low) * ((2**31 - 1) / side) if side > 0 else points[:, :2] * 0).astype(np.uint64)
    return np.argsort(_spread(steps[:, 0]) | _spread(steps[:, 1]) << np.uint64(1), kind="stable")


def _spread(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the lower 32 bits of each value, with a zero bit between any two."""
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        values = (values | values << np.uint64(shift)) & np.uint64(mask)
    return values

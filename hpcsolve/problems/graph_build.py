"""Graphs built from lists of arcs or edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.decimals import BadNumber
from hpcsolve.problems.graph import Graph, require_in_range, require_order, with_terminals_at
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.weights import Weights, exact_weights, narrowed, number_table, rounded_weights

EITHER_WEIGHT = (
    "say directed = true to keep both, or directed = false for the lighter one; a Steiner problem knows false alone"
)
"""The way out where edges have another weight each way, and the input does not say whether it has arcs or edges."""


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
    require_order(size, name)
    values = np.ones(len(a), dtype=np.uint32) if weights is None else _weights(weights, name)
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
    return with_terminals_at(graph, terminals)


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


def fitted(graph: Graph, precision: Precision, whole: bool) -> Graph:
    """Return the graph that an algorithm takes: with rounded weights where they do not fit or where the job says so.

    Parameters
    ----------
    whole
        Whether the algorithm takes integers only, and not floats.

    Raises
    ------
    InputError
        The weights do not fit, and the job forbids rounding; or as in `rounding.rounded`.
    """
    floats = graph.weights.dtype.kind == "f"
    if floats and precision.exact:
        way_out = "remove exact, or set round in its place"
        raise InputError(f"exact = true, but weights are not decimals of at most nine places; {way_out}", graph.name)
    if floats and not whole and precision.decimals is None:
        return graph
    if not floats and not precision.rounds(graph):
        return graph
    found = rounded_weights(graph.weights, graph.scale, (graph.n, graph.edges), precision, graph.name)
    return replace(graph, weights=found[0], scale=found[1], rounding=found[2])


def with_rows(graph: Graph, tails: NDArray[np.int64], heads: NDArray[np.int64], **changed: Any) -> Graph:
    """Return the graph with new tails and heads for its arcs, of which no two may be parallel.

    Its `rounding` is gone, whose given weights stand in the order of the old arcs.
    """
    offsets, row_heads, weights = _rows(graph.n, tails, heads, graph.weights)
    return replace(graph, offsets=offsets, heads=row_heads, weights=weights, rounding=None, **changed)


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


def _ends(values: ArrayLike, what: str, name: str) -> NDArray[np.int64]:
    table = np.asarray(values)
    if table.size == 0:
        table = table.astype(np.int64)
    if table.ndim != 1 or table.dtype.kind not in "iu":
        raise InputError(f"{what} are {table.dtype} of shape {table.shape}; give a list of integers", name)
    return table.astype(np.int64)


def _weights(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        return number_table(values)
    except BadNumber as problem:
        raise InputError(f"the weight of arc {problem.index} {problem.reason}", name) from None


def _table(values: ArrayLike | None, shape: tuple[int, ...], kind: Any, what: str, name: str) -> NDArray[Any] | None:
    """Return an array of that shape (3 columns in place of 2 are allowed), or None."""
    if values is None:
        return None
    table = np.ascontiguousarray(values, dtype=kind)
    if table.shape not in (shape, (*shape[:-1], 3)):
        raise InputError(f"{what} have shape {table.shape}; {shape} is needed", name)
    return table

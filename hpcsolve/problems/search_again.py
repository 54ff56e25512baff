"""Shortest paths computed again on the host, for answers that only a comparison can check: columns, paths, reductions.

scipy's Dijkstra computes in float64. That is exact for floats, which a search adds in the same order, and for integers
while no sum reaches 2^53; a heap of Python's own integers takes the others. Reductions of rows of distances are made
again from them in plain numpy.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.check_distances import (
    NO_VERTEX,
    DistanceArray,
    Mask,
    PairPaths,
    no_path_of,
    tight_arcs,
)
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import Reduction
from hpcsolve.problems.rounding import EXACT_IN_DOUBLES

BATCH = 16
"""Number of rows that are searched again at a time."""
_BATCH_BYTES = 1 << 27
"""Bytes of the distances that are computed at a time."""


def check_columns(
    graph: Graph, sources: NDArray[np.int64], targets: NDArray[np.int64], distance: NDArray[Any], *,
    cutoff: float | None = None, first: int = 0,
) -> None:
    """Check rows of distances at some vertices only.

    Parameters
    ----------
    sources
        Positions, one for each row.
    distance
        Shape (sources, targets), in scaled integers (the dtype's maximum: unreached) or floats (infinity).
    cutoff
        In the unit of `graph.weights`: vertices farther away count as unreached.
    first
        Number of the first row, for messages.

    Raises
    ------
    ValueError
        A distance is wrong. The message names row and vertex (by its label).
    """
    for begin, rows in _batches(graph, sources, cutoff):
        wrong = ~_equal(distance[begin : begin + len(rows)], rows[:, targets])
        if wrong.any():
            row, column = (int(index) for index in np.argwhere(wrong)[0])
            label, found, had = graph.labels[targets[column]], rows[row, targets[column]], distance[begin + row, column]
            raise ValueError(f"row {first + begin + row}: vertex {label} has distance {had}, not {found}")


def check_shortest(graph: Graph, answer: PairPaths, cutoff: float | None = None) -> None:
    """Check that the paths of an answer are shortest, and follow the predecessors of `smallest_predecessors`.

    The answer must have passed `PairPaths.check_paths`.

    Parameters
    ----------
    cutoff
        In the unit of `graph.weights`: vertices farther away count as unreached.

    Raises
    ------
    ValueError
        A path is wrong. The message names the number of the query (from 0) and its labels.
    """
    tails, order = graph.tails(), np.argsort(answer.source, kind="stable")
    sources, starts = np.unique(answer.source[order], return_index=True)
    queries = np.split(order, starts[1:])
    if len(order) and answer.reached.all():  # what is farther away does not matter
        cutoff = answer.distance.max().item()
    wrong, other = np.zeros(len(order), bool), np.zeros(len(order), bool)
    for begin, rows in _batches(graph, sources, cutoff):
        for row, source, own in zip(rows, sources[begin:], queries[begin:], strict=False):
            wrong[own] = ~_equal(answer.distance[own], row[answer.target[own]])
            before = smallest_predecessors(graph, tails, np.array([source]), row)
            other[own] = [(before[path[1:]] != path[:-1]).any() for path in map(answer.path_of, own)]
    answer.refuse(graph, wrong, "has another distance than a search on the host finds")
    answer.refuse(graph, other, "has a path of this length, but not the one of the smallest predecessors")


def smallest_predecessors(
    graph: Graph, tails: NDArray[np.int32], seeds: NDArray[np.int64], distance: DistanceArray
) -> NDArray[np.int32]:
    """Return the predecessors of all vertices on shortest paths from the seeds, shape (n,), -1 where there is none.

    The predecessor is the smallest vertex that is nearer to the seeds and has a tight arc to the vertex. Where none is
    nearer (arcs of weight 0, or lost in rounding), it is the smallest one at the same distance among those that are
    fewest arcs away from a vertex with a nearer predecessor, or from a seed.

    Parameters
    ----------
    tails
        `graph.tails()`.
    distance
        The distances from the seeds, which must be right.
    """
    tight = tight_arcs(graph, tails, distance)
    starts, ends = tails[tight], graph.heads[tight]
    nearer = distance[starts] < distance[ends]
    before = np.full(graph.n, -1, np.int32)
    before[ends[nearer][::-1]] = starts[nearer][::-1]  # arcs are sorted by tails: the smallest tail is written last
    found = before >= 0
    found[seeds] = True
    starts, ends = starts[~nearer], ends[~nearer]
    while True:
        new = found[starts] & ~found[ends]
        if not new.any():
            return before
        before[ends[new][::-1]] = starts[new][::-1]
        found[ends[new]] = True


def _equal(claimed: NDArray[Any], found: DistanceArray) -> Mask:
    """Return where distances, in any type of integers or floats, are those that were found."""
    if claimed.dtype.kind == "f" or found.dtype.kind == "f":
        equal: Mask = (claimed == found) & (claimed.dtype.kind == found.dtype.kind)
        return equal
    none: Mask = claimed == no_path_of(claimed.dtype)
    wide = np.where(none, np.uint64(no_path_of(np.uint64)), claimed.astype(np.uint64))
    equal = wide == found
    return equal


def _batches(graph: Graph, sources: NDArray[np.int64], cutoff: float | None) -> Iterator[tuple[int, DistanceArray]]:
    """Yield the index of the first source of a batch, and the rows of distances from all its sources."""
    size = max(1, _BATCH_BYTES // (16 * max(graph.n, 1)))
    for begin in range(0, len(sources), size):
        yield begin, distance_rows(graph, sources[begin : begin + size], cutoff)


def distance_rows(graph: Graph, sources: NDArray[np.int64], cutoff: float | None = None) -> DistanceArray:
    """Return the distances of all vertices from each source.

    Parameters
    ----------
    cutoff
        In the unit of `graph.weights`: vertices farther away count as unreached.

    Returns
    -------
    array
        Shape (sources, n): uint64 (2^64 - 1: unreached) of integer weights, else float64 (infinity).
    """
    whole = graph.weights.dtype.kind != "f"
    largest = int(graph.weights.max(initial=0)) if whole else 0
    if largest < EXACT_IN_DOUBLES and (cutoff is None or cutoff < EXACT_IN_DOUBLES or not whole):
        from scipy.sparse.csgraph import dijkstra

        matrix = graph.sparse_matrix(graph.weights.astype(np.float64))
        rows: NDArray[np.float64] = dijkstra(matrix, indices=sources, limit=math.inf if cutoff is None else cutoff)
        if not whole:
            return rows
        reached = np.isfinite(rows)
        if rows.max(initial=0, where=reached) + largest < EXACT_IN_DOUBLES:  # then no sum on the way was larger
            return np.where(reached, np.where(reached, rows, 0).astype(np.uint64), no_path_of(np.uint64))
    most = 2**64 - 2 if cutoff is None else min(int(cutoff), 2**64 - 2)
    rows_found = [nearest_sources(graph, sources[row : row + 1], most)[0] for row in range(len(sources))]
    return np.array(rows_found, np.uint64).reshape(len(sources), graph.n)


def nearest_sources(
    graph: Graph, sources: NDArray[np.int64], most: int = 2**64 - 2
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Search in Python's own integers.

    Parameters
    ----------
    most
        The largest distance that is found.

    Returns
    -------
    distance, source
        Shapes (n,): the distance from the nearest source (2^64 - 1: unreached), and the position of that source, the
        smallest one if several are as near, -1 where there is none.
    """
    offsets, heads, weights = graph.offsets.tolist(), graph.heads.tolist(), graph.weights.tolist()
    distance, nearest = [no_path_of(np.uint64)] * graph.n, [-1] * graph.n
    queue = [(0, source, source) for source in sorted(sources.tolist())]
    while queue:
        here, vertex, source = heapq.heappop(queue)
        if nearest[vertex] >= 0:
            continue
        distance[vertex], nearest[vertex] = here, source
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if here + weights[arc] <= most:
                heapq.heappush(queue, (here + weights[arc], heads[arc], source))
    return np.array(distance, np.uint64), np.array(nearest, np.int64)


def check_reductions(
    graph: Graph, sources: NDArray[np.int64], targets: NDArray[np.int64] | None, reduction: Reduction,
    claimed: Mapping[str, NDArray[Any]], rows: NDArray[np.int64], cutoff: float | None = None,
) -> None:
    """Search again from some of the sources, and check what is kept of their rows.

    Parameters
    ----------
    sources
        Positions, one for each row.
    targets
        Positions, or None for all vertices.
    claimed
        What is kept of all rows, by the names of the datasets.
    rows
        Numbers of the rows to check.
    cutoff
        In the unit of `graph.weights`: vertices farther away count as unreached.

    Raises
    ------
    ValueError
        A value is wrong. The message names the row and the dataset.
    """
    names = np.arange(graph.n) if targets is None else targets
    for begin in range(0, len(rows), BATCH):
        some = rows[begin : begin + BATCH]
        for row, distance in zip(some.tolist(), distance_rows(graph, sources[some], cutoff), strict=True):
            for name, found in reduced_row(distance[names], names, reduction).items():
                had = _widened(claimed[name][row]).tolist()
                if had != found:
                    raise ValueError(f"row {row}: {name} is {had}, but a search on the host finds {found}")


def reduced_row(distance: NDArray[Any], names: NDArray[np.int64], reduction: Reduction) -> dict[str, Any]:
    """Return what is kept of a row, by the names of the datasets.

    Parameters
    ----------
    distance
        Shape (targets,), uint64 or float64; the largest value of the type (infinity) is unreached.
    names
        Shape (targets,): the position of each target.
    """
    none = no_path_of(distance.dtype)
    there = distance != none
    order = np.lexsort((names, distance))[: int(there.sum())]
    near, last = order[: reduction.nearest], distance[order[-1:]]
    farthest = names[there & (distance == (last[0] if len(last) else none))]
    missing = reduction.nearest - len(near)
    found: dict[str, Any] = {"reached": len(order)}
    if reduction.cutoffs:
        found["count"] = [int((distance[there] <= cutoff).sum()) for cutoff in reduction.cutoffs]
    if reduction.access is not None:
        found["access"] = reduction.access.of(distance)
    if reduction.nearest:
        found["nearest_target"] = names[near].tolist() + missing * [NO_VERTEX]
        found["nearest_distance"] = distance[near].tolist() + missing * [none]
    if reduction.sums:
        found["sum"] = sum(distance[there].tolist())
    if reduction.farthest:
        found["farthest_target"] = int(farthest.min()) if len(farthest) else NO_VERTEX
        found["farthest_distance"] = last[0].item() if len(last) else none
    return found


def _widened(values: NDArray[Any]) -> NDArray[Any]:
    """Return 32-bit distances as those of 64 bits, where another number stands for "unreached"."""
    if values.dtype != np.uint32:
        return values
    return np.where(values == no_path_of(np.uint32), np.uint64(no_path_of(np.uint64)), values.astype(np.uint64))

"""Checks in plain numpy that the path of each query is a path, and as long as its distance says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.verify.distances import Mask, unreached_of

_BLOCK = 1 << 18
"""Number of vertices of paths that are checked at a time, so that they stay in cache."""


@dataclass(frozen=True, eq=False)
class PairPaths:
    """The answers to q queries.

    Attributes
    ----------
    source, target
        Shape (q,): positions.
    distance
        Shape (q,): scaled integers (the dtype's maximum if there is no path) or floats (infinity).
    offset, path
        Shapes (q + 1,) and (offset[-1],): the vertices of the i-th path are `path[offset[i]:offset[i + 1]]`, source and
        target included; empty where there is no path.
    """

    source: NDArray[Any]
    target: NDArray[Any]
    distance: NDArray[Any]
    offset: NDArray[Any]
    path: NDArray[Any]

    @property
    def reached(self) -> Mask:
        """Whether each query has a path, shape (q,)."""
        found: Mask = self.distance != unreached_of(self.distance.dtype)
        return found

    def path_of(self, query: int) -> NDArray[Any]:
        """Return the vertices of a query's path."""
        return self.path[self.offset[query] : self.offset[query + 1]]


def check_pair_paths(graph: Graph, answer: PairPaths, cutoff: float | None = None) -> None:
    """Check that every path leads from its source to its target along arcs, whose weights add up to its distance.

    Floats are added from the source on, as a search adds them. Whether a shorter path exists is not checked.

    Parameters
    ----------
    cutoff
        In the unit of `graph.weights`: no distance may be larger.

    Raises
    ------
    ValueError
        A path is wrong. The message names the number of the query (from 0) and its labels.
    """
    _check_shapes(graph, answer)
    lengths, reached = np.diff(answer.offset), answer.reached
    require_none(graph, answer, reached != (lengths > 0), "has a distance and no path, or a path and no distance")
    if cutoff is not None:
        require_none(graph, answer, reached & (answer.distance > cutoff), "is answered beyond the cutoff")
    elsewhere = np.zeros(len(reached), bool)
    begin, end = answer.path[answer.offset[:-1][reached]], answer.path[answer.offset[1:][reached] - 1]
    elsewhere[reached] = (begin != answer.source[reached]) | (end != answer.target[reached])
    require_none(graph, answer, elsewhere, "has a path that begins or ends elsewhere")
    arcs = graph.tails() * np.int64(graph.n) + graph.heads  # ascending
    cuts = np.append(np.searchsorted(answer.offset, range(0, len(answer.path), _BLOCK)), len(reached))
    for first, behind in pairwise(np.unique(cuts).tolist()):
        _check_steps(graph, arcs, answer, first, behind)


def _check_steps(graph: Graph, arcs: NDArray[np.int64], answer: PairPaths, first: int, behind: int) -> None:
    """Check the steps of some queries' paths. `arcs` holds tail * n + head of every arc."""
    offset = answer.offset[first : behind + 1] - answer.offset[first]
    path, lengths = answer.path[answer.offset[first] : answer.offset[behind]], np.diff(offset)
    goes_on = np.ones(len(path), bool)
    goes_on[offset[1:][lengths > 0] - 1] = False
    arc = _arcs_between(graph, arcs, path[:-1][goes_on[:-1]], path[1:][goes_on[:-1]])
    starts = np.concatenate([[0], np.cumsum(np.maximum(lengths - 1, 0))])
    require_none(graph, answer, _sums(arc < 0, starts) > 0, "has a path with a step that is no arc", first)
    distance = answer.distance[first:behind]
    longer = (lengths > 0) & ~_add_up(graph.weights[arc], starts, distance)
    require_none(graph, answer, longer, "has a path of another length than its distance", first)


def require_none(graph: Graph, answer: PairPaths, wrong: Mask, what: str, first: int = 0) -> None:
    """Raise `ValueError` for the first query that is wrong. `wrong` begins with query `first`."""
    if wrong.any():
        query = first + int(np.argmax(wrong))
        source, target = (graph.labels[ends[query]] for ends in (answer.source, answer.target))
        raise ValueError(f"query {query}, {source} -> {target}, {what}")


def _check_shapes(graph: Graph, answer: PairPaths) -> None:
    count, offset, kind = len(answer.source), answer.offset, answer.distance.dtype.kind
    if not len(answer.target) == len(answer.distance) == len(offset) - 1 == count:
        raise ValueError("source, target and distance must have one entry for each query, and offset one more")
    if (kind == "f") != (graph.weights.dtype.kind == "f"):
        raise ValueError(f"distances are {answer.distance.dtype}, weights {graph.weights.dtype}")
    if offset[0] != 0 or offset[-1] != len(answer.path) or (offset[1:] < offset[:-1]).any():
        raise ValueError("offset does not divide path into parts")
    for name, vertices in (("source", answer.source), ("target", answer.target), ("path", answer.path)):
        if len(vertices) and not 0 <= vertices.min() <= vertices.max() < graph.n:
            raise ValueError(f"{name} names vertices that the instance does not have")


def _arcs_between(graph: Graph, arcs: NDArray[np.int64], tails: NDArray[Any], heads: NDArray[Any]
                  ) -> NDArray[np.int64]:
    """Return the number of the arc from each tail to its head, -1 where there is none."""
    if not graph.arcs:
        return np.full(len(tails), -1)
    asked = tails * np.int64(graph.n) + heads
    found = np.minimum(np.searchsorted(arcs, asked), graph.arcs - 1)
    return np.where(arcs[found] == asked, found, -1)


def _add_up(weights: NDArray[Any], starts: NDArray[np.int64], distance: NDArray[Any]) -> Mask:
    """Return whether the weights from each start to the next add up to the distance."""
    if weights.dtype.kind == "f":
        parts = (weights[a:b] for a, b in pairwise(starts.tolist()))
        equal: Mask = distance == [np.add.accumulate(part)[-1] if len(part) else 0.0 for part in parts]
        return equal
    # Halves of 32 bits, so that no sum overflows.
    wide = weights.astype(np.uint64)
    low, high = _sums(wide & np.uint64(2**32 - 1), starts), _sums(wide >> np.uint64(32), starts)
    high += low >> np.uint64(32)
    claimed = distance.astype(np.uint64)
    equal = ((low ^ claimed) & np.uint64(2**32 - 1) == 0) & (high == claimed >> np.uint64(32))
    return equal


def _sums(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the sum from each start to the next."""
    running: NDArray[np.uint64] = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    return running[starts[1:]] - running[starts[:-1]]

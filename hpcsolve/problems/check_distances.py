"""Checks tables of distances and predecessors, and the paths of queries, in plain numpy and without a search.

Distances are right if and only if no arc offers less, sources are at 0, and tight arcs (those with
`distance[tail] + weight == distance[head]`) lead from a source to every other reached vertex. Floats are added as a
search adds them, from the source on, so the comparison is exact for them too. The path of a query must be a path, and
as long as its distance says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.problems.graph import Graph

Mask = NDArray[np.bool_]
DistanceArray = NDArray[np.uint64] | NDArray[np.float64]
NO_VERTEX = -1
"""The predecessor of sources and of unreached vertices."""


def check_distances(
    graph: Graph, sources: Iterable[ArrayLike], distance: ArrayLike, predecessor: ArrayLike | None = None, *,
    cutoff: float | None = None, first: int = 0,
) -> None:
    """Check a table of distances, row by row.

    Parameters
    ----------
    sources
        For each row the position of its source, or several positions: one search from all of them.
    distance
        Shape (rows, n), in scaled integers (the dtype's maximum: unreached) or floats (infinity).
    predecessor
        Shape (rows, n): positions of the predecessors, or `NO_VERTEX`.
    cutoff
        In the unit of `distance`: vertices farther away count as unreached.
    first
        Number of the first row, for messages.

    Raises
    ------
    ValueError
        An entry is wrong. The message names row and vertex (by its label).
    """
    table, before = np.asarray(distance), None if predecessor is None else np.asarray(predecessor)
    seeds = [np.atleast_1d(np.asarray(item, dtype=np.int64)) for item in sources]
    require(table.shape == (len(seeds), graph.n), f"distances have shape {table.shape}, not {(len(seeds), graph.n)}")
    require(before is None or before.shape == table.shape, "predecessors and distances differ in shape")
    tails = graph.tails()
    for number, row in enumerate(table):
        one = _Row(graph, tails, seeds[number], row, cutoff, f"row {first + number}: ")
        one.check(None if before is None else before[number])


def require(right: bool, message: str) -> None:
    """Raise a `ValueError` with this message unless the condition `right` holds."""
    if not right:
        raise ValueError(message)


def no_path_of(dtype: Any) -> int | float:
    """Return the distance of that type that stands for "unreached"."""
    kind = np.dtype(dtype)
    return int(np.iinfo(kind).max) if kind.kind in "iu" else float(np.inf)


def roots(before: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the root that the predecessors of each vertex lead to, shape (n,)."""
    above = np.where(before < 0, np.arange(len(before), dtype=np.int32), before)
    while not np.array_equal(above, further := above[above]):  # pointer jumping: twice as far each time
        above = further
    return above


def tight_arcs(graph: Graph, tails: NDArray[np.int32], distance: NDArray[Any]) -> Mask:
    """Return which arcs are tight: both ends are reached, and distance[tail] + weight == distance[head]."""
    return _offers(graph, tails, distance)[1]


def _offers(graph: Graph, tails: NDArray[np.int32], distance: NDArray[Any]) -> tuple[Mask, Mask]:
    """Return which arcs between reached vertices offer less than the distance of their head, and which exactly that."""
    reached = distance != no_path_of(distance.dtype)
    start, end, both = distance[tails], distance[graph.heads], reached[tails] & reached[graph.heads]
    if distance.dtype.kind == "f":
        with np.errstate(over="ignore"):
            offer = start + graph.weights
        return both & (offer < end), both & (offer == end)
    gap = np.where(end >= start, end - start, 0).astype(np.uint64)  # sums may not fit
    return both & (gap > graph.weights), both & (gap == graph.weights) & (end >= start)


@dataclass(frozen=True)
class _Row:
    """A row of the table, with what its check needs. `place` begins every message."""

    graph: Graph
    tails: NDArray[np.int32]
    seeds: NDArray[np.int64]
    distance: NDArray[Any]
    cutoff: float | None
    place: str

    def check(self, before: NDArray[Any] | None) -> None:
        """Raise `ValueError` if an entry is wrong."""
        reached = self.distance != no_path_of(self.distance.dtype)
        self._check_range(reached)
        tight = self._tight_arcs(reached)
        rest = reached.copy()
        rest[self.seeds] = False
        if before is None:
            self._check_led_to(tight, rest)
        else:
            self._check_predecessors(before, tight, rest)

    def _check_range(self, reached: Mask) -> None:
        values, n = self.distance, self.graph.n
        require(values.dtype.kind in "uif", f"{self.place}distances are {values.dtype}")
        require(bool(((self.seeds >= 0) & (self.seeds < n)).all()), f"{self.place}a source is not a vertex")
        self._none(values[self.seeds] != 0, "source {} has distance {}, not 0", self.seeds)
        vertices = np.arange(n)
        self._none(np.isnan(values) | (values < 0), "vertex {} has distance {}", vertices)
        if self.cutoff is not None:
            self._none(reached & (values > self._cutoff()), "vertex {} has distance {}, beyond the cutoff", vertices)

    def _cutoff(self) -> int | float:
        """Return the largest distance of a reached vertex, as distances are held."""
        floats = self.distance.dtype.kind == "f"
        most = float(np.finfo(np.float64).max) if floats else 2**64 - 1
        return most if self.cutoff is None else min(self.cutoff if floats else int(self.cutoff), most)

    def _tight_arcs(self, reached: Mask) -> Mask:
        """Return which arcs are tight, and refuse arcs that offer less."""
        tails, heads, weights = self.tails, self.graph.heads, self.graph.weights
        start, from_reached = self.distance[tails], reached[tails]
        less, tight = _offers(self.graph, tails, self.distance)
        if self.distance.dtype.kind == "f":
            with np.errstate(over="ignore"):
                within = start + weights <= self._cutoff()
        else:  # differences, since sums may not fit
            within = weights <= np.uint64(self._cutoff()) - np.where(from_reached, start, 0).astype(np.uint64)
        wrong = np.where(reached[heads], less, from_reached & within)
        if wrong.any():
            arc = int(np.argmax(wrong))
            tail, head = (self.graph.labels[int(ends[arc])] for ends in (tails, heads))
            had = self.distance[heads[arc]] if reached[heads[arc]] else "none"
            raise ValueError(f"{self.place}vertex {head} has distance {had}; from vertex {tail} at {start[arc]} an arc "
                             f"of {weights[arc]} leads to it")
        return tight

    def _check_led_to(self, tight: Mask, rest: Mask) -> None:
        """Refuse vertices of `rest` that no path of tight arcs (arcs of weight 0 included) reaches from a source."""
        tails, heads = self.tails[tight], self.graph.heads[tight]
        led = ~rest
        led[heads[self.distance[tails] < self.distance[heads]]] = True
        level = self.distance[tails] == self.distance[heads]
        tails, heads = tails[level], heads[level]
        while True:
            new = led[tails] & ~led[heads]
            if not new.any():
                break
            led[heads[new]] = True
            tails, heads = tails[~new], heads[~new]
        self._none(~led, "vertex {} has distance {}, but no path of that length leads to it", np.arange(len(led)))

    def _check_predecessors(self, before: NDArray[Any], tight: Mask, rest: Mask) -> None:
        vertices, n = np.arange(self.graph.n), self.graph.n
        text = "vertex {} at {} has a predecessor, but is a source or unreached"
        self._none(~rest & (before != NO_VERTEX), text, vertices)
        self._none(rest & ~((before >= 0) & (before < n)), "vertex {} at {} has no predecessor", vertices)
        fits = ~rest
        heads = self.graph.heads[tight]
        fits[heads[before[heads] == self.tails[tight]]] = True
        self._none(~fits, "vertex {} at {} has a predecessor without a tight arc to it", vertices)
        above = np.where(rest, before, vertices).astype(np.int64)
        for _ in range(int(n).bit_length()):  # pointer jumping: twice as far each time
            above = above[above]
        self._none(rest[above], "vertex {} at {} has predecessors that lead in a cycle", vertices)

    def _none(self, wrong: Mask, message: str, vertices: NDArray[np.int64]) -> None:
        """Raise `ValueError` for the first vertex that is wrong."""
        if wrong.any():
            vertex = int(vertices[int(np.argmax(wrong))])
            raise ValueError(self.place + message.format(self.graph.labels[vertex], self.distance[vertex]))


BLOCK = 1 << 18
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
        found: Mask = self.distance != no_path_of(self.distance.dtype)
        return found

    def path_of(self, query: int) -> NDArray[Any]:
        """Return the vertices of a query's path."""
        return self.path[self.offset[query] : self.offset[query + 1]]

    def check_paths(self, graph: Graph, cutoff: float | None = None) -> None:
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
        self._check_shapes(graph)
        lengths, reached = np.diff(self.offset), self.reached
        self.refuse(graph, reached != (lengths > 0), "has a distance and no path, or a path and no distance")
        if cutoff is not None:
            self.refuse(graph, reached & (self.distance > cutoff), "is answered beyond the cutoff")
        elsewhere = np.zeros(len(reached), bool)
        begin, end = self.path[self.offset[:-1][reached]], self.path[self.offset[1:][reached] - 1]
        elsewhere[reached] = (begin != self.source[reached]) | (end != self.target[reached])
        self.refuse(graph, elsewhere, "has a path that begins or ends elsewhere")
        keys = graph.arc_keys()
        cuts = np.append(np.searchsorted(self.offset, range(0, len(self.path), BLOCK)), len(reached))
        for first, behind in pairwise(np.unique(cuts).tolist()):
            self._check_steps(graph, keys, first, behind)

    def _check_steps(self, graph: Graph, keys: NDArray[np.int64], first: int, behind: int) -> None:
        """Check the steps of some queries' paths."""
        offset = self.offset[first : behind + 1] - self.offset[first]
        path, lengths = self.path[self.offset[first] : self.offset[behind]], np.diff(offset)
        goes_on = np.ones(len(path), bool)
        goes_on[offset[1:][lengths > 0] - 1] = False
        arc = graph.arcs_between(path[:-1][goes_on[:-1]], path[1:][goes_on[:-1]], keys)
        starts = np.concatenate([[0], np.cumsum(np.maximum(lengths - 1, 0))])
        self.refuse(graph, _sums(arc < 0, starts) > 0, "has a path with a step that is no arc", first)
        distance = self.distance[first:behind]
        longer = (lengths > 0) & ~_add_up(graph.weights[arc], starts, distance)
        self.refuse(graph, longer, "has a path of another length than its distance", first)

    def refuse(self, graph: Graph, wrong: Mask, what: str, first: int = 0) -> None:
        """Raise `ValueError` for the first query that is wrong. `wrong` begins with query `first`."""
        if wrong.any():
            query = first + int(np.argmax(wrong))
            source, target = (graph.labels[ends[query]] for ends in (self.source, self.target))
            raise ValueError(f"query {query}, {source} -> {target}, {what}")

    def _check_shapes(self, graph: Graph) -> None:
        count, offset, kind = len(self.source), self.offset, self.distance.dtype.kind
        if not len(self.target) == len(self.distance) == len(offset) - 1 == count:
            raise ValueError("source, target and distance must have one entry for each query, and offset one more")
        if (kind == "f") != (graph.weights.dtype.kind == "f"):
            raise ValueError(f"distances are {self.distance.dtype}, weights {graph.weights.dtype}")
        if offset[0] != 0 or offset[-1] != len(self.path) or (offset[1:] < offset[:-1]).any():
            raise ValueError("offset does not divide path into parts")
        for name, vertices in (("source", self.source), ("target", self.target), ("path", self.path)):
            if len(vertices) and not 0 <= vertices.min() <= vertices.max() < graph.n:
                raise ValueError(f"{name} names vertices that the instance does not have")


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

"""Checks tables of distances and predecessors in plain numpy, independently of the algorithms.

Distances are right if and only if no arc offers less, sources are at 0, and tight arcs (those with
`distance[tail] + weight == distance[head]`) lead from a source to every other reached vertex. Floats are added as a
search adds them, from the source on, so the comparison is exact for them too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    _require(table.shape == (len(seeds), graph.n), f"distances have shape {table.shape}, not {(len(seeds), graph.n)}")
    _require(before is None or before.shape == table.shape, "predecessors and distances differ in shape")
    tails = graph.tails()
    for number, row in enumerate(table):
        one = _Row(graph, tails, seeds[number], row, cutoff, f"row {first + number}: ")
        one.check(None if before is None else before[number])


def unreached_of(dtype: Any) -> int | float:
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
    reached = distance != unreached_of(distance.dtype)
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
        reached = self.distance != unreached_of(self.distance.dtype)
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
        _require(values.dtype.kind in "uif", f"{self.place}distances are {values.dtype}")
        _require(bool(((self.seeds >= 0) & (self.seeds < n)).all()), f"{self.place}a source is not a vertex")
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


def _require(right: bool, message: str) -> None:
    if not right:
        raise ValueError(message)

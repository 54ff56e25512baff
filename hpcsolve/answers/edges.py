"""The group `/edges`: the edges of paths or of a tree, with their weights and what the instance's input says of them.

With this group a path or tree can be given back to the program that the graph came from: with the keys, identifiers and
names of its edges, and along their curves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Column, Contents, Dataset, columns
from hpcsolve.errors import DamagedFileError
from hpcsolve.problems.edge_texts import GEOMETRY, line_in
from hpcsolve.problems.graph import Graph

EDGES = {
    "tail": Dataset("int32", "Position, from 0, of the tail of the arc (paths) or of the smaller end (tree)",
                    "edge"),
    "head": Dataset("int32", "Position of the other end", "edge"),
    "weight": Dataset("uint32|uint64|float64", "Weight, times /instance/scale", "edge", scaled=True),
    "key": Dataset("text", "Key of the edge in the instance's multigraph, as JSON", "edge", optional=True),
    "attributes": Dataset("text", "What the instance's input says of the edge, as a JSON object; geometry is WKT",
                          "edge", optional=True),
    "reversed": Dataset("bool", "Whether the input has the edge from head to tail", "edge", optional=True),
    "directed": Dataset("bool", "Whether the input has arcs, even if the search took them as edges", optional=True),
}
"""The group `/edges`: one row for each edge, in the order of tails, then heads."""


def edges_group(graph: Graph, tails: NDArray[Any], heads: NDArray[Any]) -> dict[str, dict[str, Column]]:
    """Return `/edges` with the arcs from tails to heads, which the graph must have, each one once."""
    keys = np.unique(tails.astype(np.int64) * graph.n + heads)
    a, b = keys // max(graph.n, 1), keys % max(graph.n, 1)
    found: dict[str, Any] = {
        "tail": a.astype(np.int32), "head": b.astype(np.int32), "weight": graph.weights[graph.arcs_between(a, b)],
    }
    texts = graph.edge_texts
    if texts is not None:
        given = texts.of(graph.n, graph.directed, a, b)
        key, attributes = zip(*texts.texts(given)) if len(given) else ((), ())
        found |= {"attributes": list(attributes), "reversed": texts.tails[given] != a, "directed": texts.arcs}
        found |= {"key": list(key)} if texts.keyed else {}
    return {"edges": columns(EDGES, found)}


def edges_of(graph: Graph, tails: NDArray[Any], heads: NDArray[Any]) -> AnswerEdges:
    """Return what a graph says of its arcs from tails to heads, as if they were those of a result."""
    return AnswerEdges(Contents({}, {} if graph.edge_texts is None else edges_group(graph, tails, heads)))


@dataclass(frozen=True)
class AnswerEdges:
    """The group `/edges` of a result, by the positions of tail and head. Of a result without the group it is empty."""

    contents: Contents

    @cached_property
    def _rows(self) -> dict[tuple[int, int], int]:
        ends = (np.asarray(self.contents.value("edges", name, ())).tolist() for name in ("tail", "head"))
        return {pair: row for row, pair in enumerate(zip(*ends))}

    def _row(self, tail: int, head: int) -> int:
        row = self._rows.get((tail, head))
        if row is None:
            raise DamagedFileError(f"the result: damaged: /edges has no edge from position {tail} to {head}")
        return row

    @property
    def keyed(self) -> bool:
        """Whether edges have keys, as in a multigraph."""
        return self.contents.value("edges", "key") is not None

    @property
    def has_attributes(self) -> bool:
        """Whether the input says anything of its edges beside their weights."""
        return self.contents.value("edges", "attributes") is not None

    @property
    def directed(self) -> bool:
        """Whether the input has arcs."""
        return bool(self.contents.value("edges", "directed", False))

    def weights(self, tails: NDArray[Any], heads: NDArray[Any]) -> NDArray[Any] | None:
        """Return the weights of arcs in the instance's own unit, or None if the result does not have them."""
        weights = self.contents.own("edges", "weight")
        if weights is None:
            return None
        rows = [self._row(*pair) for pair in zip(tails.tolist(), heads.tolist())]
        found: NDArray[Any] = weights[np.array(rows, np.int64)]
        return found

    def key(self, tail: int, head: int) -> Any:
        """Return the key of an edge, None if it has none."""
        keys = self.contents.value("edges", "key")
        return None if keys is None else _hashable(json.loads(str(keys[self._row(tail, head)])))

    def attributes(self, tail: int, head: int) -> dict[str, Any]:
        """Return what the input says of an edge."""
        texts = self.contents.value("edges", "attributes")
        found: dict[str, Any] = {} if texts is None else json.loads(str(texts[self._row(tail, head)]))
        return found

    def is_reversed(self, tail: int, head: int) -> bool:
        """Return whether the input has the edge from head to tail."""
        values = self.contents.value("edges", "reversed")
        return values is not None and bool(values[self._row(tail, head)])

    def line(self, tail: int, head: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the line of an edge from tail to head, shape (corners, 2).

        It is the input's geometry, turned so that it begins at the nearer end, or without one the straight line.

        Parameters
        ----------
        points
            Shape (n, 2): the places of all vertices, x or longitude first, as in the geometry.
        """
        line = line_in(self.attributes(tail, head).get(GEOMETRY))
        if line is None:
            straight: NDArray[np.float64] = points[[tail, head]]
            return straight
        begin, end = (((line[[0, -1]] - points[place]) ** 2).sum(axis=1) for place in (tail, head))
        return line[::-1] if begin[1] + end[0] < begin[0] + end[1] else line

    def line_of_path(self, vertices: NDArray[Any], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the line of a path through these vertices, shape (corners, 2). Each vertex is there once."""
        if not self.has_attributes:
            straight: NDArray[np.float64] = points[vertices]
            return straight
        steps = [self.line(tail, head, points) for tail, head in zip(vertices[:-1].tolist(), vertices[1:].tolist())]
        return np.concatenate([points[vertices[:1]], *(step[1:] for step in steps)])

    def lines(self, tails: NDArray[Any], heads: NDArray[Any], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the lines of edges as one, with NaN after each edge, as `line_of_edges` in `analysis/plot/maps.py`."""
        gap = np.full((1, 2), np.nan)
        each = (self.line(tail, head, points) for tail, head in zip(tails.tolist(), heads.tolist()))
        return np.concatenate([np.empty((0, 2)), *(part for line in each for part in (line, gap))])


def _hashable(key: Any) -> Any:
    return tuple(map(_hashable, key)) if isinstance(key, list) else key

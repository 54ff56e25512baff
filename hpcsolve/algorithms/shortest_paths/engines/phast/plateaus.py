"""The arcs of weight 0 of a graph, across which predecessors need a rule of their own (cuda_src/paths/plateaus.cu)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph

FILE = "paths/plateaus"
NO_MEMBER = np.uint32(2**32 - 1)


@dataclass(frozen=True)
class Plateaus:
    """The vertices at the ends of arcs of weight 0, called members.

    Attributes
    ----------
    vertex
        Shape (members,), uint32: ascending.
    offsets, tail
        Shapes (members + 1,) and (arcs,), uint32: the arcs of weight 0 that enter each member, in the graph's order.
    """

    vertex: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    tail: NDArray[np.uint32]

    def members(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the member number of each vertex, `NO_MEMBER` for vertices that are no members."""
        if not len(self.vertex):
            return np.full(vertices.shape, NO_MEMBER)
        at = np.minimum(np.searchsorted(self.vertex, vertices), len(self.vertex) - 1)
        return np.where(self.vertex[at] == vertices, at, NO_MEMBER).astype(np.uint32)


def plateaus_of(graph: SearchGraph) -> Plateaus:
    """Return the plateaus of a graph."""
    pairs = graph.in_arcs.reshape(-1, 2)
    free = np.flatnonzero(pairs[:, 1] == 0)
    tail = pairs[free, 0].astype(np.uint32)
    head = (np.searchsorted(graph.in_offsets, free, side="right") - 1).astype(np.uint32)
    vertex = np.unique(np.concatenate([head, tail]))
    starts = np.searchsorted(head, np.append(vertex, 2**32))
    return Plateaus(vertex, starts.astype(np.uint32), np.searchsorted(vertex, tail).astype(np.uint32))

"""A graph as the kernels read it.

The vertices are laid out along a space-filling curve (or by reverse Cuthill-McKee), so that neighbours share cache
lines; everything that leaves a kernel is in the graph's own order again. Arcs of a vertex stand in the order of the
other ends' original positions, so that the first that fits a predecessor is the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_order import reversed_graph, spatial_order


@dataclass(frozen=True)
class Layout:
    """A graph as the kernels read it.

    Attributes
    ----------
    order
        uint32, shape (n,): the original position of the vertex that comes k-th.
    offsets, arcs
        uint32 (n + 1,) and keys (2 m,): (head, weight) pairs of the arcs that leave; `in_offsets`, `in_arcs` likewise
        (tail, weight) of those that come in; of an undirected graph the same arrays.
    plateaus
        Whether arcs may join vertices at one distance: weights of 0, or that a sum of floats may lose.
    """

    order: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    arcs: NDArray[Any]
    in_offsets: NDArray[np.uint32]
    in_arcs: NDArray[Any]
    plateaus: bool

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.order)

    def places(self) -> NDArray[np.uint32]:
        """The inverse of `order`: where each vertex comes."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(self.n, dtype=np.uint32)
        return found


def lay_out(graph: Graph, keys: Keys) -> Layout:
    """The layout of a graph.

    Raises
    ------
    InputError
        It has 2^32 arcs or more.
    """
    if graph.arcs >= 2**32:
        raise InputError(f"{graph.arcs} arcs; at most {2**32 - 1} can be searched", graph.name)
    order = spatial_order(graph)
    place = np.empty_like(order)
    place[order] = np.arange(graph.n)
    outgoing = _rows(graph, order, place, keys)
    incoming = outgoing if not graph.directed else _rows(reversed_graph(graph), order, place, keys)
    return Layout(order.astype(np.uint32), *outgoing, *incoming, _has_plateaus(graph))


def layout_bytes(graph: Graph, keys: Keys) -> int:
    """Size of a graph's layout."""
    sides = 2 if graph.directed else 1
    return 4 * graph.n + sides * (4 * (graph.n + 1) + 2 * keys.dtype.itemsize * graph.arcs)


def _has_plateaus(graph: Graph) -> bool:
    if not graph.arcs:
        return False
    least, most = graph.weights.min(), graph.weights.max()
    if graph.weights.dtype.kind != "f":
        return bool(least == 0)
    return float(least) * 2.0**52 <= float(most) * graph.n  # else no distance is so long that it swallows a weight


def _rows(
    graph: Graph, order: NDArray[np.int64], place: NDArray[np.int64], keys: Keys
) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Each vertex' arcs in their original order, the vertices in the new one."""
    degrees = np.diff(graph.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    arc = np.repeat(graph.offsets[:-1][order] - offsets[:-1], degrees) + np.arange(graph.arcs)
    arcs = np.empty((graph.arcs, 2), keys.dtype)
    arcs[:, 0] = place[graph.heads[arc]]
    arcs[:, 1] = keys.encode(graph.weights[arc])
    return offsets.astype(np.uint32), arcs.reshape(-1)

"""A graph as the kernels read it: weights as keys, and vertices numbered so that neighbours lie together in memory.

Keys are unsigned integers in the order of the distances (cuda_src/paths/distances.cuh). The numbering follows a
space-filling curve (or reverse Cuthill-McKee); kernels return positions in the input. The arcs of a vertex stand in the
order of the other ends' positions, so that of several predecessors that fit the first one has the smallest position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph


@dataclass(frozen=True)
class Keys:
    """A type of keys.

    Attributes
    ----------
    code
        The ending of the names of their kernels. "u4" and "u8" are integers, "f8" the bit patterns of float64.
    limit
        The largest key of a distance that Near-Far can hold, which reserves one bit.
    whole_limit
        The largest key of a distance that Bellman-Ford can hold, one below `no_path`.
    """

    code: str
    limit: int
    whole_limit: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the keys in memory."""
        return np.dtype("u4" if self.code == "u4" else "u8")

    @property
    def no_path(self) -> int:
        """The key of a vertex that no path reaches: all ones."""
        return int(np.iinfo(self.dtype).max)

    def encode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the keys of distances or weights."""
        if self.code == "f8":
            return np.ascontiguousarray(values, np.float64).view(np.uint64)
        return np.ascontiguousarray(values).astype(self.dtype)

    def encode_one(self, value: float) -> int:
        """Return the key of a number. Integer keys are rounded down, and are at most `whole_limit`."""
        if self.code == "f8":
            return int(self.encode(np.array([value]))[0])
        return min(int(value), self.whole_limit)

    def decode_one(self, key: int) -> int | float:
        """Return the distance of a key."""
        value: int | float = self.decode(np.array([key], self.dtype))[0].item()
        return value

    def decode(self, keys: NDArray[Any]) -> NDArray[Any]:
        """Return the distances of keys. At unreached vertices a float is infinite, an integer is `no_path`."""
        if self.code != "f8":
            return keys
        return np.where(keys == np.uint64(self.no_path), np.inf, keys.view(np.float64))


WORD = Keys("u4", 2**31 - 2, 2**32 - 2)
LONG = Keys("u8", 2**63 - 2, 2**64 - 2)
REAL = Keys("f8", 0x7FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF)
KINDS = {kind.code: kind for kind in (WORD, LONG, REAL)}


def first_keys(graph: Graph) -> Keys:
    """Return the narrowest keys that hold the weights. Distances may need wider ones."""
    if graph.weights.dtype.kind == "f":
        return REAL
    small = not graph.arcs or int(graph.weights.max()) <= WORD.limit
    return WORD if small else LONG


@dataclass(frozen=True)
class SearchGraph:
    """A graph as the kernels read it.

    Attributes
    ----------
    order
        Shape (n,), uint32: the position in the input of each vertex.
    offsets, arcs
        Shapes (n + 1,), uint32, and (2 m,), keys: the arcs that leave each vertex, as (head, weight) pairs.
    in_offsets, in_arcs
        The arcs that enter each vertex, as (tail, weight) pairs; in an undirected graph the same arrays.
    plateaus
        Whether an arc may join two vertices at the same distance, because its weight is 0 or may be rounded away in a
        sum of floats.
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
        """Return the inverse of `order`: for each position in the input, the vertex' number here."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(self.n, dtype=np.uint32)
        return found

    def renumbered(self, new: NDArray[np.uint32]) -> SearchGraph:
        """Return the graph with its vertices renumbered. The arcs of a vertex keep their order.

        Parameters
        ----------
        new
            Shape (n,): the new number of each vertex.
        """
        old = np.empty(self.n, np.int64)
        old[new] = np.arange(self.n)

        def rows(offsets: NDArray[np.uint32], arcs: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
            arc, ends = gathered(offsets, old)
            pairs = arcs.reshape(-1, 2)[arc]
            pairs[:, 0] = new[pairs[:, 0]]
            return ends.astype(np.uint32), pairs.reshape(-1)

        outgoing = rows(self.offsets, self.arcs)
        incoming = outgoing if self.in_arcs is self.arcs else rows(self.in_offsets, self.in_arcs)
        return SearchGraph(self.order[old], *outgoing, *incoming, self.plateaus)


def lay_out(graph: Graph, keys: Keys, order: NDArray[np.int64] | None = None) -> SearchGraph:
    """Return a graph as the kernels read it.

    A directed graph is laid out as an undirected one if each arc has its reverse, of the same weight: road networks
    often come that way.

    Parameters
    ----------
    order
        Shape (n,): the position in the input of each vertex, by default `Graph.spatial_order`.

    Raises
    ------
    InputError
        The graph has 2^32 arcs or more.
    """
    if graph.arcs >= 2**32:
        raise InputError(f"{graph.arcs} arcs, but at most {2**32 - 1} can be searched", graph.name)
    back = graph.reversed()
    if back is not graph and back.same_arcs(graph):
        graph = back = replace(graph, directed=False)
    order = graph.spatial_order() if order is None else order
    place = np.empty_like(order)
    place[order] = np.arange(graph.n)
    outgoing = _rows(graph, order, place, keys)
    incoming = outgoing if back is graph else _rows(back, order, place, keys)
    least, most = (graph.weights.min(), graph.weights.max()) if graph.arcs else (1, 1)
    plateaus = bool(least == 0)
    if graph.weights.dtype.kind == "f":
        # Only if the lightest arc is so much shorter than a path can it vanish when it is added.
        plateaus = float(least) * 2.0**52 <= float(most) * graph.n
    return SearchGraph(order.astype(np.uint32), *outgoing, *incoming, plateaus)


def search_graph_bytes(n: int, arcs: int, directed: bool, keys: Keys) -> int:
    """Return the size of a graph as the kernels read it, in bytes."""
    return 4 * n + (1 + directed) * (4 * (n + 1) + 2 * keys.dtype.itemsize * arcs)


def layout_bytes(n: int, arcs: int, directed: bool, keys: Keys) -> int:
    """Return the peak memory of `lay_out`, which works with several arrays of 64-bit positions of arcs."""
    width = 2 * keys.dtype.itemsize
    return 44 * n + (48 + width) * arcs if directed else 32 * n + (20 + width) * arcs


def _rows(
    graph: Graph, order: NDArray[np.int64], place: NDArray[np.int64], keys: Keys
) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the arcs of each vertex in the order of the input, with the vertices in the new order."""
    arc, offsets = gathered(graph.offsets, order)
    arcs = np.empty((graph.arcs, 2), keys.dtype)
    arcs[:, 0] = place[graph.heads[arc]]
    arcs[:, 1] = keys.encode(graph.weights[arc])
    return offsets.astype(np.uint32), arcs.reshape(-1)


def gathered(offsets: NDArray[Any], order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the arcs with the rows in another order, and the new offsets of the rows."""
    starts = offsets.astype(np.int64)
    degrees: NDArray[np.int64] = (starts[1:] - starts[:-1])[order]
    ends = np.concatenate([[0], np.cumsum(degrees)])
    return np.repeat(starts[:-1][order] - ends[:-1], degrees) + np.arange(ends[-1]), ends

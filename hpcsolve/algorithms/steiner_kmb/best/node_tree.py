"""The minimum spanning tree of the nodes, on rank 0, and how vertices join it as new nodes.

See cuda_src/host/one_steiner.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.steiner_kmb.order import depth_first
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.device.host import Given, HostDevice

FILE = "host/one_steiner"
NO_NODE = np.uint32(2**32 - 1)
"""Stands for a vertex that is no node (`none` in one_steiner.cpp)."""
SLACK = 10
"""A vertex joins if it still saves what was measured, less one part in SLACK."""


@dataclass(frozen=True)
class PlacedTree:
    """A tree of nodes as the functions `measure` and `link` read it. Place i has the i-th node in depth-first order.

    Attributes
    ----------
    slots
        The row in the table of each place's node.
    depths, edges
        The number of edges up to the root; the distance to the parent.
    weight, levels
        The sum of `edges`; one more than the greatest depth.
    """

    slots: NDArray[np.uint32]
    depths: NDArray[np.uint32]
    edges: NDArray[Any]
    weight: int
    levels: int


@dataclass(frozen=True)
class Candidates:
    """Vertices with their links. A vertex' links are its edges in the minimum spanning tree with it as one more node.

    Attributes
    ----------
    vertex, weight
        The position of each vertex; the weight of the tree with the vertex added.
    links
        The number of links of each vertex.
    to, way
        All links, one vertex after the other: the place (on rank 0 the node) at the other end, and its distance.
    """

    vertex: NDArray[np.uint32]
    weight: NDArray[Any]
    links: NDArray[np.uint32]
    to: NDArray[np.uint32]
    way: NDArray[Any]

    def sorted(self, order: Indices) -> Candidates:
        """Return them in another order, or some of them."""
        begin = np.cumsum(self.links, dtype=np.int64) - self.links
        links, which = self.links[order], runs(begin[order], self.links[order])
        return Candidates(self.vertex[order], self.weight[order], links, self.to[which], self.way[which])


def merged(parts: Sequence[Candidates]) -> Candidates:
    """Return the candidates of all parts, one part after the other."""
    columns = zip(*((part.vertex, part.weight, part.links, part.to, part.way) for part in parts))
    return Candidates(*map(np.concatenate, columns))


def runs(begin: NDArray[Any], length: NDArray[Any]) -> Indices:
    """Return the numbers from begin[i] to begin[i] + length[i] - 1 for each i, one run after the other."""
    ends = np.cumsum(length, dtype=np.int64)
    shift: Indices = np.repeat(begin.astype(np.int64) - (ends - length), length)
    return np.arange(len(shift)) + shift


def scrambled(vertices: NDArray[np.uint32], key: int) -> NDArray[np.uint32]:
    """Return a pseudo-random number for each vertex and key, to break ties and to choose at random."""
    mixed = vertices * np.uint32(0x9E3779B1) + np.uint32(key * 0x85EBCA6B % 2**32)
    mixed = (mixed ^ mixed >> np.uint32(16)) * np.uint32(0x7FEB352D)
    return mixed ^ mixed >> np.uint32(15)


@dataclass
class NodeTree:
    """The nodes and their spanning tree. Nodes are numbered, the terminals first. Number 0 is the root.

    Attributes
    ----------
    terminals
        Number of terminals, which are never dropped.
    room
        Number of rows of the table: the most nodes that there can be.
    vertex, slot
        The position of each node, and its row in the table.
    parent, edge
        The parent of each node, and the distance to it. The root is its own parent.
    key
        Which of several pseudo-random orders breaks ties.
    """

    device: HostDevice
    keys: Keys
    terminals: int
    room: int
    vertex: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    parent: NDArray[np.uint32]
    edge: NDArray[Any]
    key: int = 0

    @property
    def weight(self) -> int:
        """The weight of the tree."""
        return int(self.edge.sum(dtype=np.uint64))

    def tree(self) -> tuple[PlacedTree, NDArray[np.uint32]]:
        """Return the tree by places, and the node of each place."""
        up, depth = self.parent, (self.parent != np.arange(len(self.parent))).astype(np.uint32)
        while (more := depth[up]).any():  # pointer jumping: twice as far up each time
            depth, up = depth + more, up[up]
        order = self.walk()
        return PlacedTree(self.slot[order], depth[order], self.edge[order], self.weight, int(depth.max()) + 1), order

    def walk(self) -> NDArray[np.uint32]:
        """Return the nodes in depth-first order, in which neighbours in the tree are close to each other."""
        below = np.argsort(self.edge, kind="stable")
        below = below[below > 0]  # the root, number 0, has no edge
        return depth_first(len(self.edge), self.parent[below].astype(np.int64), below).astype(np.uint32)

    def pairs(self) -> Indices:
        """Return the edges of the tree as sorted pairs of positions, the smaller one first, shape (edges, 2)."""
        below = np.arange(1, len(self.vertex))
        ends = np.stack([self.vertex[below], self.vertex[self.parent[below]]], axis=1).astype(np.int64)
        ends.sort(axis=1)
        sorted_pairs: Indices = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        return sorted_pairs

    def mend(self, links: Candidates) -> None:
        """Turn the tree into the minimum spanning tree of its nodes, by links between nodes."""
        self._graft(self._numbers(links.vertex), np.zeros(len(links.vertex), np.uint64), links)

    def accept(self, found: Candidates, whatever: bool = False) -> NDArray[np.uint32]:
        """Make nodes of the vertices that still save enough (`whatever`: of all), and return the new nodes' numbers."""
        found = found.sorted(np.lexsort((scrambled(found.vertex, self.key), found.weight)))
        promised = np.uint64(self.weight) - found.weight.astype(np.uint64)
        least = 0 * promised if whatever else promised - promised // SLACK
        return self._graft(self._numbers(found.vertex), least, found)

    def drop(self) -> bool:
        """Drop the nodes with at most two neighbours, except terminals, and return whether there were any."""
        below = np.arange(1, len(self.parent))
        degree = np.bincount(self.parent[below], minlength=len(self.parent)) + 1
        return self._drop(degree <= 2)

    def shake(self, key: int) -> None:
        """Drop about half of the nodes that are no terminals. The key decides which."""
        self.key = key
        self._drop(scrambled(self.vertex, key) % 2 == 0)

    def _drop(self, chosen: NDArray[np.bool_]) -> bool:
        """Drop nodes, except terminals, join their children to their parents, and return whether there were any."""
        chosen[: self.terminals] = False
        while (late := chosen[self.parent]).any():
            self.edge[late] += self.edge[self.parent[late]]
            self.parent[late] = self.parent[self.parent[late]]
        number = np.cumsum(~chosen) - 1
        self.vertex, self.slot, self.edge = self.vertex[~chosen], self.slot[~chosen], self.edge[~chosen]
        self.parent = number[self.parent[~chosen]].astype(np.uint32)
        return bool(chosen.any())

    def _numbers(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the numbers of the nodes at these positions, or `NO_NODE`."""
        order = np.argsort(self.vertex)
        place = np.minimum(np.searchsorted(self.vertex[order], vertices), len(order) - 1)
        number = order[place].astype(np.uint32)
        return np.where(self.vertex[number] == vertices, number, NO_NODE)

    def _graft(
        self, number: NDArray[np.uint32], least: NDArray[np.uint64], links: Candidates
    ) -> NDArray[np.uint32]:
        """Join each vertex to the tree by its links if it saves at least `least`, and return the new nodes' numbers."""
        known, most = len(self.vertex), self.room - len(self.vertex)
        if not len(number):
            return np.empty(0, np.uint32)
        start = np.concatenate([[0], np.cumsum(links.links)]).astype(np.uint32)
        offered: Given = {
            "count": len(number), "number": number, "least": least, "start": start, "to": links.to, "way": links.way
        }
        found = self.device.call(
            FILE, f"one_steiner_graft_{self.keys.code}", nodes=known, most=most, offered=offered,
            old_parent=self.parent, old_edge=self.edge)
        accepted = links.vertex[found["accepted"]]
        free = np.setdiff1d(np.arange(self.room, dtype=np.uint32), self.slot)[: len(accepted)]
        self.vertex, self.slot = np.concatenate([self.vertex, accepted]), np.concatenate([self.slot, free])
        self.parent, self.edge = found["parent"], found["edge"]
        return np.arange(known, len(self.vertex), dtype=np.uint32)


def node_tree(
    device: HostDevice, keys: Keys, terminals: NDArray[np.uint32], room: int, edges: Candidates
) -> NodeTree:
    """Return the tree of the terminals (positions) that these edges, links between their numbers, span."""
    k = len(terminals)
    everyone, far = np.arange(k, dtype=np.uint32), np.full(k, keys.unreached, keys.dtype)
    far[0] = 0
    made = NodeTree(device, keys, k, room, terminals, everyone, 0 * everyone, far)
    made.mend(edges)
    return made

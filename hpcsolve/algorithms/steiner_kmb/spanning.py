"""The minimum spanning tree of nodes, on rank 0, and what makes it lighter (cuda_src/one_steiner.cu)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.steiner_kmb.network import Given, New, launched
from hpcsolve.algorithms.steiner_kmb.order import depth_first
from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.device.base import Device

NOBODY = np.uint32(2**32 - 1)
KEPT = 10
"""A vertex may save a tenth less than was measured, when its turn comes."""


@dataclass(frozen=True)
class Tree:
    """A spanning tree as the kernels read it, by places: nodes as a walk depth first comes to them.

    Attributes
    ----------
    slots
        The row of the table that each place's node has.
    depths, edges
        How many edges lead to the root; how far the parent is.
    weight, levels
        The sum of the edges; the deepest node's depth, and one.
    """

    slots: NDArray[np.uint32]
    depths: NDArray[np.uint32]
    edges: NDArray[Any]
    weight: int
    levels: int


@dataclass(frozen=True)
class Candidates:
    """Vertices with their links: the edges that the minimum spanning tree would have at each as a node more.

    Attributes
    ----------
    vertex, weight
        Positions; of the tree with the vertex.
    links, to, way
        How many each has; all of them one after the other: a place (on rank 0 a node), and how far it is.
    """

    vertex: NDArray[np.uint32]
    weight: NDArray[Any]
    links: NDArray[np.uint32]
    to: NDArray[np.uint32]
    way: NDArray[Any]

    def sorted(self, order: Indices) -> Candidates:
        """The same in another order, or some of them."""
        begin = np.cumsum(self.links, dtype=np.int64) - self.links
        links, which = self.links[order], runs(begin[order], self.links[order])
        return Candidates(self.vertex[order], self.weight[order], links, self.to[which], self.way[which])


def merged(parts: Sequence[Candidates]) -> Candidates:
    """All of them, one part after the other."""
    names = "vertex", "weight", "links", "to", "way"
    return Candidates(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def runs(begin: NDArray[Any], length: NDArray[Any]) -> Indices:
    """The numbers from each of `begin` on, so many of each, one run after the other."""
    ends = np.cumsum(length, dtype=np.int64)
    shift: Indices = np.repeat(begin.astype(np.int64) - (ends - length), length)
    return np.arange(len(shift)) + shift


def scrambled(vertices: NDArray[np.uint32], key: int) -> NDArray[np.uint32]:
    """Numbers in which there is no pattern, for each key others: on them nothing depends but what does not matter."""
    mixed = vertices * np.uint32(0x9E3779B1) + np.uint32(key * 0x85EBCA6B % 2**32)
    mixed = (mixed ^ mixed >> np.uint32(16)) * np.uint32(0x7FEB352D)
    return mixed ^ mixed >> np.uint32(15)


@dataclass
class Spanning:
    """Nodes and their spanning tree, by numbers: the terminals first, number 0 is the root.

    Attributes
    ----------
    terminals
        How many stay whatever happens.
    room
        Rows of the table: so many nodes at most.
    vertex, slot
        Each node's position, and its row in the table.
    parent, edge
        A node, and how far it is; the root is its own parent.
    key
        Decides between equals.
    """

    device: Device
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
        """Of the tree."""
        return int(self.edge.sum(dtype=np.uint64))

    def tree(self) -> tuple[Tree, NDArray[np.uint32]]:
        """The tree by places, and the node of each place."""
        up, depth = self.parent, (self.parent != np.arange(len(self.parent))).astype(np.uint32)
        while (more := depth[up]).any():  # twice as far up each time
            depth, up = depth + more, up[up]
        order = self.walk()
        return Tree(self.slot[order], depth[order], self.edge[order], self.weight, int(depth.max()) + 1), order

    def walk(self) -> NDArray[np.uint32]:
        """The nodes as a walk depth first comes to them: those that follow each other are near each other."""
        below = np.argsort(self.edge, kind="stable")
        below = below[below > 0]  # the root, number 0, has no edge
        return depth_first(len(self.edge), self.parent[below].astype(np.int64), below).astype(np.uint32)

    def pairs(self) -> Indices:
        """Both ends of each edge of the tree, the smaller position first, sorted; shape (edges, 2)."""
        below = np.arange(1, len(self.vertex))
        ends = np.stack([self.vertex[below], self.vertex[self.parent[below]]], axis=1).astype(np.int64)
        ends.sort(axis=1)
        sorted_pairs: Indices = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        return sorted_pairs

    def mend(self, links: Candidates) -> None:
        """Make it the minimum spanning tree of its nodes, by links of theirs, to nodes, that make it lighter."""
        self._graft(self._numbers(links.vertex), np.zeros(len(links.vertex), np.uint64), links)

    def accept(self, found: Candidates, whatever: bool = False) -> NDArray[np.uint32]:
        """Make nodes of vertices that keep what they promised, or of all of them; the numbers of these nodes."""
        found = found.sorted(np.lexsort((scrambled(found.vertex, self.key), found.weight)))
        promised = np.uint64(self.weight) - found.weight.astype(np.uint64)
        least = 0 * promised if whatever else promised - promised // KEPT
        return self._graft(self._numbers(found.vertex), least, found)

    def drop(self) -> bool:
        """Take nodes out that have at most two neighbours, but terminals; whether there are any."""
        below = np.arange(1, len(self.parent))
        degree = np.bincount(self.parent[below], minlength=len(self.parent)) + 1
        return self._take_out(degree <= 2)

    def shake(self, key: int) -> None:
        """Take half of the nodes out, but terminals; the key decides which."""
        self.key = key
        self._take_out(scrambled(self.vertex, key) % 2 == 0)

    def _take_out(self, chosen: NDArray[np.bool_]) -> bool:
        """Without these nodes, but terminals; what hung on them hangs on their parents. Whether there were any."""
        chosen[: self.terminals] = False
        while (late := chosen[self.parent]).any():
            self.edge[late] += self.edge[self.parent[late]]
            self.parent[late] = self.parent[self.parent[late]]
        number = np.cumsum(~chosen) - 1
        self.vertex, self.slot, self.edge = self.vertex[~chosen], self.slot[~chosen], self.edge[~chosen]
        self.parent = number[self.parent[~chosen]].astype(np.uint32)
        return bool(chosen.any())

    def _numbers(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The nodes at these positions, or nobody."""
        order = np.argsort(self.vertex)
        place = np.minimum(np.searchsorted(self.vertex[order], vertices), len(order) - 1)
        number = order[place].astype(np.uint32)
        return np.where(self.vertex[number] == vertices, number, NOBODY)

    def _graft(
        self, number: NDArray[np.uint32], least: NDArray[np.uint64], links: Candidates
    ) -> NDArray[np.uint32]:  # fmt: skip
        known, most = len(self.vertex), self.room - len(self.vertex)
        if not len(number):
            return np.empty(0, np.uint32)
        start = np.concatenate([[0], np.cumsum(links.links)]).astype(np.uint32)
        offered: Given = {
            "count": len(number), "number": number, "least": least, "start": start, "to": links.to, "way": links.way
        }
        kind = self.keys.dtype
        found = launched(
            self.device, "steiner/one_steiner", f"one_steiner_graft_{self.keys.code}", nodes=known, most=most,
            offered=offered, old_parent=self.parent, old_edge=self.edge,
            words=New(4 * self.room, np.uint32, scratch=True), lengths=New(self.room, kind, scratch=True),
            parent=New(self.room, np.uint32), edge=New(self.room, kind), accepted=New(1 + most, np.uint32),
        )
        accepted = links.vertex[found["accepted"][1 : 1 + int(found["accepted"][0])]]
        free = np.setdiff1d(np.arange(self.room, dtype=np.uint32), self.slot)[: len(accepted)]
        self.vertex, self.slot = np.concatenate([self.vertex, accepted]), np.concatenate([self.slot, free])
        self.parent, self.edge = found["parent"][: len(self.vertex)], found["edge"][: len(self.vertex)]
        return np.arange(known, len(self.vertex), dtype=np.uint32)


def spanning(
    device: Device, keys: Keys, terminals: NDArray[np.uint32], room: int, edges: Candidates
) -> Spanning:  # fmt: skip
    """The spanning tree of terminals that these edges, from one to another terminal's number, make."""
    k = len(terminals)
    everyone, far = np.arange(k, dtype=np.uint32), np.full(k, keys.unreached, keys.dtype)
    far[0] = 0
    made = Spanning(device, keys, k, room, terminals, everyone, 0 * everyone, far)
    made.mend(edges)
    return made

"""The nodes of iterated 1-Steiner: their spanning tree, on rank 0, and their table of distances to all vertices.

Vertices join the tree as new nodes (function `graft` of cuda_src/host/one_steiner.cpp). The table has a row for each
node and a column for each vertex. A rank has the columns of its own vertices. Each rank searches from its share of the
new nodes, and sends the other ranks their columns of these rows. The rank that has a vertex' column measures how light
the tree would be with it (functions `measure` and `link`). So memory and work are spread over the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import Prepared, filled_rows
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, ranges
from hpcsolve.algorithms.steiner_kmb.terminal_rows import depth_first
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Part
from hpcsolve.device.host import Given, HostDevice
from hpcsolve.parallel.comm import Comm, agree_minimum, even_shares

ONE_STEINER_FILE = "host/one_steiner"
NO_NODE = np.uint32(2**32 - 1)
"""Stands for a vertex that is no node (`none` in one_steiner.cpp)."""
SLACK = 10
"""A vertex joins if it still saves what was measured, less one part in SLACK."""
PANEL = 32
"""Columns that lie together in memory (`panel` in one_steiner.cpp)."""
PANELS_AT_ONCE = 256
"""Panels of the table that are copied at a time, into a checkpoint and out of it."""
LINKS_A_VERTEX = 8
"""Links that are held for each vertex at most: road-like graphs have 3 or 4, and for a moment they are held twice."""
DENSE = 4
"""If more than one column in DENSE is asked for, all are measured, which is faster because they lie in order."""


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

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return the candidates of all parts, one part after the other."""
        return cls(*map(np.concatenate, zip(*(vars(part).values() for part in parts))))

    def sorted(self, order: Indices) -> Candidates:
        """Return them in another order, or some of them."""
        begin = np.cumsum(self.links, dtype=np.int64) - self.links
        links, which = self.links[order], ranges(begin[order], self.links[order])
        return Candidates(self.vertex[order], self.weight[order], links, self.to[which], self.way[which])


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

    def resume(self, saved: Saved, filled: NDArray[np.uint32], n: int) -> NDArray[np.uint32]:
        """Become the tree of a checkpoint whose table has these rows, and return the numbers of the new nodes."""
        self.vertex = saved.gathered("vertex", (), np.uint32, range(self.terminals, self.room + 1), range(n))
        size = len(self.vertex)
        each, number = range(size, size + 1), range(size)
        self.slot = saved.gathered("slot", (), np.uint32, each, range(self.room))
        self.parent = saved.gathered("parent", (), np.uint32, each, number)
        self.edge = saved.gathered("edge", (), self.edge.dtype, each)
        self.key = saved.integer("key")
        new = saved.gathered("new", (), np.uint32, range(size + 1), number)
        old = np.setdiff1d(np.arange(size), new)
        fits = len(np.unique(self.vertex)) == len(np.unique(self.slot)) == size
        fits = fits and bool(np.isin(self.slot[old], filled).all() and np.isin(filled, self.slot).all())
        up = self.parent
        for _ in range(size.bit_length()):
            up = up[up]
        saved.require(fits and not up.any(), "its tree of nodes")  # all nodes lead to node 0
        return new

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
            ONE_STEINER_FILE, f"one_steiner_graft_{self.keys.code}", nodes=known, most=most, offered=offered,
            old_parent=self.parent, old_edge=self.edge)
        accepted = links.vertex[found["accepted"]]
        free = np.setdiff1d(np.arange(self.room, dtype=np.uint32), self.slot)[: len(accepted)]
        self.vertex, self.slot = np.concatenate([self.vertex, accepted]), np.concatenate([self.slot, free])
        self.parent, self.edge = found["parent"], found["edge"]
        return np.arange(known, len(self.vertex), dtype=np.uint32)


def capacity(terminals: int) -> int:
    """Return the number of rows of the table, for the terminals and for nodes to come."""
    return 2 * terminals + 64


@dataclass
class NodeTable:
    """This rank's columns of the table.

    Attributes
    ----------
    device
        The CPU's cores.
    room
        Number of rows.
    own
        This rank's vertices, in whole panels except the last one.
    rows
        Shape (panels, room, PANEL), as the functions read it.
    sent
        Bytes of rows that this rank has sent so far.
    ready
        Shape (room,): whether a row that the next `fill` is asked for is filled already.
    """

    device: HostDevice
    keys: Keys
    n: int
    room: int
    comm: Comm
    own: range = field(init=False)
    rows: NDArray[Any] = field(init=False)
    sent: int = 0
    ready: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        """Reserve room for all rows. The system takes memory for a row when it is filled."""
        panels = self.shares(self.n, self.comm.size)[self.comm.rank]
        self.own = range(self.n)[panels.start * PANEL : panels.stop * PANEL]
        self.rows = np.empty((len(panels), self.room, PANEL), self.keys.dtype)
        self.ready = np.zeros(self.room, bool)

    @staticmethod
    def shares(n: int, ranks: int) -> list[range]:
        """Return each rank's panels of the table's columns."""
        return even_shares(-(-n // PANEL), ranks)

    @staticmethod
    def bytes_for(n: int, terminals: int, ranks: int, width: int) -> list[int]:
        """Return the bytes of each rank's columns, where a distance has `width` bytes."""
        return [PANEL * len(panels) * capacity(terminals) * width for panels in NodeTable.shares(n, ranks)]

    @staticmethod
    def links_bytes(n: int, terminals: int, width: int, threads: int) -> int:
        """Return what the host's functions take beside the table: links of vertices, a panel for each thread."""
        return (4 + LINKS_A_VERTEX * (4 + width)) * n + threads * PANEL * capacity(terminals) * width

    @staticmethod
    def sent_bytes(n: int, terminals: int, ranks: int, width: int) -> list[int]:
        """Return the bytes that each rank sends of the terminals' rows. How many other nodes will come is not known."""
        shares = zip(NodeTable.bytes_for(n, terminals, ranks, width), even_shares(terminals, ranks))
        whole = sum(NodeTable.bytes_for(n, terminals, 1, width))
        return [len(rows) * (whole - own) // capacity(terminals) for own, rows in shares]

    def fill(
        self, search: Prepared, nodes: NDArray[np.uint32], slots: NDArray[np.uint32], over: Callable[[float], bool]
    ) -> tuple[int, bool]:
        """Fill in the rows of nodes (positions), one at each slot, except those that are `ready`. Collective.

        Parameters
        ----------
        over
            Called after each batch, on all ranks, with the share of rows that are filled. Returns whether to give up.

        Returns
        -------
        tuple
            The number of arcs that this rank has relaxed; whether all rows are filled.
        """
        nodes, slots = nodes[~self.ready[slots]], slots[~self.ready[slots]]
        shares = even_shares(len(nodes), self.comm.size)
        step, relaxed = agree_minimum(self.comm, search.at_once), 0
        begins, mine = range(0, len(shares[0]), step), shares[self.comm.rank]
        batches = (nodes[mine.start : mine.stop][begin : begin + step] for begin in begins)
        filled = filled_rows(search, batches, None)
        for begin in begins:
            rows, arcs = next(filled)
            relaxed += arcs
            places = [slots[share.start : share.stop][begin : begin + step] for share in shares]
            self._exchange(rows, places)
            self.ready[np.concatenate(places)] = True
            del rows  # frees them before the next ones are made
            if over(min(1.0, (begin + step) / len(shares[0]))) and begin + step < len(shares[0]):
                return relaxed, False
        self.ready[:] = False
        return relaxed, True

    def _exchange(self, rows: NDArray[Any], slots: list[NDArray[np.uint32]]) -> None:
        """Send every rank its columns of these rows, and receive this rank's columns of the others' rows."""
        comm, sent = self.comm, []
        for rank, share in enumerate(self.shares(self.n, self.comm.size)):
            piece = np.zeros((len(rows), len(share) * PANEL), self.keys.dtype)
            part = rows[:, share.start * PANEL : share.stop * PANEL]
            piece[:, : part.shape[1]] = part
            if rank == comm.rank:
                self.store(slots[rank], piece)
            elif piece.size:
                sent.append(comm.send(piece, rank))
                self.sent += piece.nbytes
        for rank, places in enumerate(slots):
            if rank != comm.rank and len(places) and len(self.rows):
                arrived = np.empty((len(places), len(self.rows) * PANEL), self.keys.dtype)
                comm.receive(arrived, rank).wait()
                self.store(places, arrived)
        for message in sent:
            message.wait()

    def store(self, slots: NDArray[np.uint32], piece: NDArray[Any]) -> None:
        """Store this rank's columns of some rows, shape (slots, columns)."""
        self.rows[:, slots] = piece.reshape(len(slots), len(self.rows), PANEL).swapaxes(0, 1)

    def parts(self, slots: NDArray[np.uint32]) -> list[Part]:
        """Return these rows, with this rank's columns, as parts of a checkpoint."""
        def values(panels: slice) -> NDArray[Any]:
            return self.rows[panels, slots]

        return [Part("rows", self.own.start // PANEL + panels.start, (panels.stop - panels.start, len(slots), PANEL),
                     self.rows.dtype, partial(values, panels)) for panels in self._pieces()]

    def resume(self, saved: Saved, slots: NDArray[np.uint32]) -> None:
        """Take these rows, which are `ready` then, from a checkpoint."""
        first = self.own.start // PANEL
        for panels in self._pieces():
            wanted = range(first + panels.start, first + panels.stop)
            self.rows[panels, slots] = saved.rows("rows", wanted, (len(slots), PANEL), self.rows.dtype)
        self.ready[slots] = True

    def _pieces(self) -> Iterator[slice]:
        """Return slices of at most `PANELS_AT_ONCE` of this rank's panels."""
        count = len(self.rows)
        return (slice(first, min(first + PANELS_AT_ONCE, count)) for first in range(0, count, PANELS_AT_ONCE))

    def promising(self, tree: PlacedTree, vertices: NDArray[np.uint32] | None = None) -> Candidates:
        """Return those of this rank's vertices (or of the given ones) that make the tree lighter as one more node."""
        columns = self._columns(vertices)
        dense = len(columns) * DENSE > len(self.own)
        measured = self._columns(None) if dense else columns
        weight = np.empty(len(measured), self.keys.dtype)  # of the tree with each vertex added
        self._call("measure", tree, measured, weight=weight)
        weight = weight[columns] if dense else weight
        better = weight < tree.weight
        return self.linked(tree, columns[better] + np.uint32(self.own.start), weight[better])

    def linked(self, tree: PlacedTree, vertices: NDArray[np.uint32], weight: NDArray[Any] | None = None) -> Candidates:
        """Return those of the given vertices that are this rank's, ascending, with their links."""
        columns = self._columns(vertices)
        weight = np.zeros(len(columns), self.keys.dtype) if weight is None else weight
        links = np.empty(len(columns), np.uint32)
        found = self._call("link", tree, columns, length=links)
        return Candidates(columns + np.uint32(self.own.start), weight, links, found["to"], found["way"])

    def _columns(self, vertices: NDArray[np.uint32] | None) -> NDArray[np.uint32]:
        """Return this rank's columns of vertices, ascending."""
        if vertices is None:
            return np.arange(len(self.own), dtype=np.uint32)
        mine = np.sort(vertices[(vertices >= self.own.start) & (vertices < self.own.stop)])
        return mine - np.uint32(self.own.start)

    def _call(self, name: str, tree: PlacedTree, columns: NDArray[np.uint32], **own: Given) -> dict[str, NDArray[Any]]:
        """Call a function of one_steiner.cpp on the tree and some columns of the table."""
        return self.device.call(
            ONE_STEINER_FILE, f"one_steiner_{name}_{self.keys.code}",
            columns={"count": len(columns), "column": columns},
            tree={"room": self.room, "nodes": len(tree.slots), "levels": tree.levels, "slots": tree.slots,
                  "depths": tree.depths, "edges": tree.edges, "table": self.rows},
            threads=self.device.info.threads, **own)

"""The table of distances from nodes (rows) to vertices (columns). A rank has the columns of its own vertices.

Each rank searches from its share of the new nodes, and sends the other ranks their columns of these rows. The rank that
has a vertex' column measures how light the tree would be with it (cuda_src/host/one_steiner.cpp). So memory and work
are spread over the ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.rows import RowSearch, filled_rows
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.steiner_kmb.best.node_tree import FILE, Candidates, PlacedTree
from hpcsolve.device.host import Given, HostDevice
from hpcsolve.parallel.comm import Comm, agree_minimum, even_shares

PANEL = 32
"""Columns that lie together in memory (`panel` in one_steiner.cpp)."""
DENSE = 4
"""If more than one column in DENSE is asked for, all are measured, which is faster because they lie in order."""


def capacity(terminals: int) -> int:
    """Return the number of rows of the table, for the terminals and for nodes to come."""
    return 2 * terminals + 64


def table_bytes(n: int, terminals: int, ranks: int, width: int) -> list[int]:
    """Return the bytes of each rank's columns, where a distance has `width` bytes."""
    room = capacity(terminals)
    return [PANEL * len(panels) * room * width for panels in even_shares(-(-n // PANEL), ranks)]


def sent_bytes(n: int, terminals: int, ranks: int, width: int) -> list[int]:
    """Return the bytes that each rank sends of the terminals' rows. How many other nodes will come is not known."""
    panels = -(-n // PANEL)
    shares = zip(even_shares(panels, ranks), even_shares(terminals, ranks))
    return [len(rows) * PANEL * (panels - len(own)) * width for own, rows in shares]


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
        panels = self._shares()[self.comm.rank]
        self.own = range(self.n)[panels.start * PANEL : panels.stop * PANEL]
        self.rows = np.empty((len(panels), self.room, PANEL), self.keys.dtype)
        self.ready = np.zeros(self.room, bool)

    def fill(
        self, search: RowSearch, nodes: NDArray[np.uint32], slots: NDArray[np.uint32], over: Callable[[float], bool]
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
        filled = filled_rows(search, batches, self.n)
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

    def _shares(self) -> list[range]:
        """Return each rank's panels of columns."""
        return even_shares(-(-self.n // PANEL), self.comm.size)

    def _exchange(self, rows: NDArray[Any], slots: list[NDArray[np.uint32]]) -> None:
        """Send every rank its columns of these rows, and receive this rank's columns of the others' rows."""
        comm, sent = self.comm, []
        for rank, share in enumerate(self._shares()):
            piece = np.zeros((len(rows), len(share) * PANEL), self.keys.dtype)
            part = rows[:, share.start * PANEL : share.stop * PANEL]
            piece[:, : part.shape[1]] = part
            if rank == comm.rank:
                self._store(slots[rank], piece)
            elif piece.size:
                sent.append(comm.send(piece, rank))
                self.sent += piece.nbytes
        for rank, places in enumerate(slots):
            if rank != comm.rank and len(places) and len(self.rows):
                arrived = np.empty((len(places), len(self.rows) * PANEL), self.keys.dtype)
                comm.receive(arrived, rank).wait()
                self._store(places, arrived)
        for message in sent:
            message.wait()

    def _store(self, slots: NDArray[np.uint32], piece: NDArray[Any]) -> None:
        self.rows[:, slots] = piece.reshape(len(slots), len(self.rows), PANEL).swapaxes(0, 1)

    def promising(self, tree: PlacedTree, vertices: NDArray[np.uint32] | None = None) -> Candidates:
        """Return those of this rank's vertices (or of the given ones) that make the tree lighter as one more node."""
        columns = self._columns(vertices)
        if len(columns) * DENSE > len(self.own):
            weight = self._measured(tree, self._columns(None))[columns]
        else:
            weight = self._measured(tree, columns)
        better = weight < tree.weight
        return self.linked(tree, columns[better] + np.uint32(self.own.start), weight[better])

    def _measured(self, tree: PlacedTree, columns: NDArray[np.uint32]) -> NDArray[Any]:
        """Return for each column the weight of the tree with its vertex added."""
        weight = np.empty(len(columns), self.keys.dtype)
        self._call("measure", tree, columns, weight=weight)
        return weight

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
            FILE, f"one_steiner_{name}_{self.keys.code}", columns={"count": len(columns), "column": columns},
            tree={"room": self.room, "nodes": len(tree.slots), "levels": tree.levels, "slots": tree.slots,
                  "depths": tree.depths, "edges": tree.edges, "table": self.rows},
            threads=self.device.info.threads, **own)

"""The table of distances from nodes to vertices: a row a node, and of each row a rank's own vertices.

The ranks search from new nodes, each from its share, and send each other the slices of these rows. A vertex is then
measured where its column lies (cuda_src/one_steiner.cu), so neither memory nor work is in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.row_engine import RowSearch
from hpcsolve.algorithms.steiner_kmb.network import Given, New, launched
from hpcsolve.algorithms.steiner_kmb.spanning import Candidates, Tree, runs
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm, agree_minimum
from hpcsolve.parallel.partition import blocks

PANEL = 32
DENSE = 4
"""Measuring all columns takes less than so many times as long as the same number one by one."""
LINKS_A_VERTEX = 8
"""Room at first; there are 3 or 4 on road-like graphs."""


def capacity(terminals: int) -> int:
    """Rows of the table: the terminals, and the nodes that may come."""
    return 2 * terminals + 64


def slice_bytes(n: int, terminals: int, ranks: int, width: int, batch: int, units: int) -> list[int]:
    """Bytes by rank: slices, the rows of a batch with what is sent and arrives, what the kernels work in.

    Parameters
    ----------
    width
        Bytes of a distance.
    batch
        Rows that a rank searches at a time.
    units
        Of the CPU that measures.
    """
    room = capacity(terminals)
    scratch = units * PANEL * 2 * room * (5 * width + 4)
    own = [PANEL * len(tiles) for tiles in blocks(-(-n // PANEL), ranks)]
    return [mine * (room + batch) * width + 2 * n * batch * width + scratch for mine in own]


def sent_bytes(n: int, terminals: int, ranks: int, width: int) -> list[int]:
    """By rank, of the terminals' rows; those of other nodes are not known before."""
    tiles = -(-n // PANEL)
    shares = zip(blocks(tiles, ranks), blocks(terminals, ranks))
    return [len(rows) * PANEL * (tiles - len(own)) * width for own, rows in shares]


@dataclass
class NodeTable:
    """This rank's slice.

    Attributes
    ----------
    device
        The CPU.
    own
        This rank's vertices: whole tiles, but for the last.
    rows
        Shape (tiles, room, PANEL), as the kernels want it.
    sent
        Bytes of rows that went to other ranks so far.
    """

    device: Device
    keys: Keys
    n: int
    room: int
    comm: Comm
    own: range = field(init=False)
    rows: NDArray[Any] = field(init=False)
    sent: int = 0

    def __post_init__(self) -> None:
        """Room for all rows; memory is taken as they come."""
        tiles = self._shares()[self.comm.rank]
        self.own = range(self.n)[tiles.start * PANEL : tiles.stop * PANEL]
        self.rows = np.empty((len(tiles), self.room, PANEL), self.keys.dtype)

    def fill(
        self, search: RowSearch, nodes: NDArray[np.uint32], slots: NDArray[np.uint32], over: Callable[[float], bool]
    ) -> tuple[int, bool]:  # fmt: skip
        """Bring the rows of nodes (positions) into these slots. Collective.

        Parameters
        ----------
        over
            Told after each batch, on all ranks, the fraction of the rows that are there: whether to give up.

        Returns
        -------
        tuple
            The arcs that this rank followed; whether all rows are there.
        """
        shares = blocks(len(nodes), self.comm.size)
        step, relaxed = agree_minimum(self.comm, search.at_once), 0
        for begin in range(0, len(shares[0]), step):
            batches = [range(share.stop)[share.start + begin : share.start + begin + step] for share in shares]
            mine = batches[self.comm.rank]
            rows = np.empty((len(mine), self.n), self.keys.dtype)
            relaxed += search.fill(nodes[mine.start : mine.stop], rows)
            self._exchange(rows, [slots[batch.start : batch.stop] for batch in batches])
            if over(min(1.0, (begin + step) / len(shares[0]))) and begin + step < len(shares[0]):
                return relaxed, False
        return relaxed, True

    def _shares(self) -> list[range]:
        """Each rank's tiles of vertices."""
        return blocks(-(-self.n // PANEL), self.comm.size)

    def _exchange(self, rows: NDArray[Any], slots: list[NDArray[np.uint32]]) -> None:
        """Send everybody their slices of these rows, and take one's own of all."""
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

    def promising(self, tree: Tree, vertices: NDArray[np.uint32] | None = None) -> Candidates:
        """Those of this rank's vertices, or of these among them, that as a node more make the tree lighter."""
        columns = self._columns(vertices)
        if len(columns) * DENSE > len(self.own):
            weight = self._measured(tree, self._columns(None))[columns]
        else:
            weight = self._measured(tree, columns)
        better = weight < tree.weight
        return self.linked(tree, columns[better] + np.uint32(self.own.start), weight[better])

    def _measured(self, tree: Tree, columns: NDArray[np.uint32]) -> NDArray[Any]:
        """The weight of the tree with each column's vertex as a node more."""
        if not len(columns):
            return np.empty(0, self.keys.dtype)
        grid = 4 * self.device.info.units
        dtype = self.keys.dtype
        scratch, weight = New(grid * (tree.levels + 2) * PANEL, dtype, scratch=True), New(len(columns), dtype)
        return self._launched("measure", tree, columns, grid, scratch=scratch, weight=weight)["weight"]

    def linked(self, tree: Tree, vertices: NDArray[np.uint32], weight: NDArray[Any] | None = None) -> Candidates:
        """Those of these vertices that are this rank's, in ascending order, with their links."""
        columns, dtype = self._columns(vertices), self.keys.dtype
        if not len(columns):
            return Candidates(columns, np.empty(0, dtype), columns, columns, np.empty(0, dtype))
        room = LINKS_A_VERTEX * len(columns)
        grid = max(1, min(self.device.info.units, len(columns) // PANEL))
        while True:
            scratch = grid * PANEL * (len(tree.slots) + tree.levels)
            out: Given = {
                "room": room, "used": New(1, np.uint32, zero=True, scratch=True), "begin": New(len(columns), np.uint32),
                "length": New(len(columns), np.uint32), "to": New(room, np.uint32), "way": New(room, dtype),
            }
            found = self._launched("links", tree, columns, grid, ways=New(scratch, dtype, scratch=True),
                                   words=New(scratch, np.uint32, scratch=True), found=out)
            begin, links, to, way = found["begin"], found["length"], found["to"], found["way"]
            used = int(links.sum())
            if used <= room:
                break
            room = used
        which = runs(begin, links)
        weight = np.zeros(len(columns), dtype) if weight is None else weight
        return Candidates(columns + np.uint32(self.own.start), weight, links, to[which], way[which])

    def _columns(self, vertices: NDArray[np.uint32] | None) -> NDArray[np.uint32]:
        """This rank's columns of vertices, ascending."""
        if vertices is None:
            return np.arange(len(self.own), dtype=np.uint32)
        mine = np.sort(vertices[(vertices >= self.own.start) & (vertices < self.own.stop)])
        return mine - np.uint32(self.own.start)

    def _launched(
        self, name: str, tree: Tree, columns: NDArray[np.uint32], grid: int, **own: Given
    ) -> dict[str, NDArray[Any]]:
        """Launch a kernel on the tree and some columns of the table; what it makes."""
        given: Given = {
            "room": self.room, "nodes": len(tree.slots), "levels": tree.levels, "slots": tree.slots,
            "depths": tree.depths, "edges": tree.edges, "table": self.rows,
        }
        name = f"one_steiner_{name}_{self.keys.code}"
        return launched(self.device, "steiner/one_steiner", name, grid, PANEL, tree=given, columns=len(columns),
                        column=columns, **own)

"""Iterated 1-Steiner: vertices become nodes beside the terminals as long as that makes the spanning tree lighter.

The distances from each node to every vertex are a table of k rows, which takes k searches, dealt to the ranks; rank 0
keeps it (cuda_src/one_steiner.cu) and measures every vertex in a round. What is accepted gets a row for the next round;
nodes of two neighbours in the tree are no use and go. At last the tree's edges become paths again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.jobs import WANTS_DISTANCES, row_jobs
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.layout import lay_out
from hpcsolve.algorithms.shortest_paths.searcher import Searcher, searcher
from hpcsolve.algorithms.steiner_kmb.exchange import exchanged
from hpcsolve.algorithms.steiner_kmb.kmb import Work, keys_for, path_edges
from hpcsolve.algorithms.steiner_kmb.network import Network, launched, spanning_tree
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.algorithms.steiner_kmb.trees import Closure, improved, nearest, shortest_path_tree
from hpcsolve.device.base import Buffer, Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.partition import blocks
from hpcsolve.problems.graph import Graph

MEASURE = "u4 u4 u4* u4* {0}* {0}* {0}* u8*"
ACCEPT = "u4 u4 u4 u4 u8 u4* u8* {0}* u4* {0}* u4* {0}* u4*"
SPAN = "u4 u4 u4* {0}* u4* {0}*"
TILE = 32
NOBODY = np.empty(0, np.uint32)
NO_PAIRS = np.empty((0, 2), np.int64)
MOST_CANDIDATES = 20_000
BATCH = 16
"""Searches a block and batch."""


def capacity(terminals: int) -> int:
    """Rows of the table: the terminals, and the nodes that may come."""
    return terminals + terminals // 2 + 64


@dataclass
class Rounds:
    """Rank 0's nodes and table.

    Attributes
    ----------
    nodes
        Positions: the terminals, then others, of which the first `known` have a row in the table.
    turns
        How often the branches of a tree have joined.
    """

    net: Network
    keys: Keys
    nodes: NDArray[np.uint32]
    known: int = 0
    turns: int = 0
    table: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        """Room for all rows; memory is taken as they come."""
        self.table = np.empty((capacity(len(self.nodes)), self.net.n), self.keys.dtype)

    def next_nodes(self) -> NDArray[np.uint32]:
        """Make the spanning tree of what is known, take useless nodes out, and accept others; those, perhaps none."""
        self.known = len(self.nodes)
        tree, edge = self.spanned()
        while len(useless := self._useless(tree)):
            self._drop(useless)
            tree, edge = self.spanned()
        weight = self._measured(tree, edge)
        now = int(edge.sum(dtype=np.uint64))
        better = np.flatnonzero(weight < now)
        scrambled = better.astype(np.uint32) * np.uint32(0x9E3779B1)  # of equals no pattern decides, as in heap.cuh
        chosen = better[np.lexsort((scrambled, weight[better]))][:MOST_CANDIDATES]
        accepted = self._accepted(chosen.astype(np.uint32), weight[chosen], now, tree, edge)
        self.nodes = np.concatenate([self.nodes, accepted])
        return accepted

    def join(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Make nodes of these vertices, as far as there is room; those that were none."""
        new = np.setdiff1d(vertices, self.nodes)[: len(self.table) - len(self.nodes)]
        self.nodes = np.concatenate([self.nodes, new])
        self.turns += 1
        return new

    def pairs(self) -> Indices:
        """Both ends of the edges of the nodes' tree, the smaller position first, sorted; shape (edges, 2)."""
        order, parent = self.spanned()[0]
        ends = np.stack([self.nodes[order[1:]], self.nodes[parent[order[1:]]]], axis=1).astype(np.int64)
        ends.sort(axis=1)
        sorted_pairs: Indices = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        return sorted_pairs

    def spanned(self) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """The minimum spanning tree of the known nodes: order and parents, shape (2, known), and edges."""
        self.nodes = self.nodes[: self.known]
        made = (2 * self.known, np.uint32), (self.known, self.keys.dtype)
        tree, edge = self._launched("span", SPAN, (self.known,), (self.nodes, self._rows()), made)
        return tree.reshape(2, -1), edge

    def _useless(self, tree: NDArray[np.uint32]) -> Indices:
        """Nodes beside the terminals with at most two neighbours in the tree."""
        order, parent = tree
        degree = np.bincount(parent[order[1:]], minlength=self.known) + 1
        degree[order[0]] -= 1
        return np.flatnonzero((degree <= 2) & (np.arange(self.known) >= len(self.net.terminals)))

    def _drop(self, useless: Indices) -> None:
        kept = np.setdiff1d(np.arange(self.known), useless)
        for place, node in enumerate(kept.tolist()):
            if place != node:
                self.table[place] = self.table[node]
        self.nodes, self.known = self.nodes[kept], len(kept)

    def _measured(self, tree: NDArray[np.uint32], edge: NDArray[Any]) -> NDArray[np.uint64]:
        """The weight of the tree with each vertex as a node more."""
        grid = 4 * self.net.device.info.units
        made = (grid * self.known * TILE, self.keys.dtype), (self.net.n, np.uint64)
        given = tree[0], tree[1], edge, self._rows()
        weight: NDArray[np.uint64] = self._launched("measure", MEASURE, (self.known,), given, made, grid)[1]
        return weight

    def _accepted(
        self, candidates: NDArray[np.uint32], weight: NDArray[np.uint64], now: int, tree: NDArray[np.uint32],
        edge: NDArray[Any],
    ) -> NDArray[np.uint32]:  # fmt: skip
        """Those of the candidates that become nodes."""
        whole, dtype = len(self.table), self.keys.dtype
        most = whole - self.known
        if not len(candidates) or not most:
            return np.empty(0, np.uint32)
        wide, long = np.zeros((2, whole), np.uint32), np.zeros(whole, dtype)
        wide[:, : self.known], long[: self.known] = tree, edge
        given = candidates, weight, self._rows(), wide, long
        made = (8 * whole, np.uint32), (2 * whole, dtype), (1 + most, np.uint32)
        sizes = self.known, most, len(candidates), now
        accepted: NDArray[np.uint32] = self._launched("accept", ACCEPT, sizes, given, made)[2]
        return accepted[1 : 1 + int(accepted[0])]

    def _rows(self) -> Buffer:
        return self.net.device.constant(self.table[: self.known])

    def _launched(
        self, name: str, signature: str, sizes: tuple[int, ...], given: tuple[NDArray[Any] | Buffer, ...],
        made: tuple[tuple[int, Any], ...], grid: int = 1,
    ) -> list[NDArray[Any]]:  # fmt: skip
        code = self.keys.code
        full = f"one_steiner_{name}_{code}"
        return launched(self.net.device, "one_steiner", full, signature.format(code), (self.net.n, *sizes), given, made,
                        grid, TILE)  # fmt: skip


def best_tree(
    graph: Graph, net: Network, near: Closure, device: Device, comm: Comm, parameters: Parameters, report: Report
) -> tuple[Indices | None, Work]:  # fmt: skip
    """The tree's edges, on rank 0; collective. Parameters as `kmb.kmb_tree`.

    Rounds until no vertex helps; then the paths of the nodes' tree are exchanged, and the branches of what comes of it
    are nodes too, as long as that makes it lighter.
    """
    # From any vertex to any other: to its terminal, along the closure, to the other one.
    reach = near.weight + 2 * int(nearest(net, net.terminals).distance.max())
    keys = keys_for(graph, reach)
    rounds = Rounds(net, keys, net.terminals) if comm.rank == 0 else None
    best = exchanged(net, improved(net, shortest_path_tree(net))) if rounds is not None else None
    layout = comm.once_a_host(partial(lay_out, graph, keys))
    relaxed, new = 0, net.terminals
    with searcher(graph, device, keys, parameters.engine, layout=layout, searches=len(new)) as prepared:
        while len(new):
            while len(new):
                relaxed += _fill(prepared, new, rounds, comm)
                new = comm.bcast(NOBODY if rounds is None else rounds.next_nodes())
                report(0.5, "" if rounds is None else f"{rounds.known} nodes")
            pairs = comm.bcast(NO_PAIRS if rounds is None else rounds.pairs())
            edges, more = path_edges(net, prepared, pairs, comm, report)
            relaxed += more
            found = comm.gather(edges)
            if rounds is not None and best is not None and found is not None:
                tree = exchanged(net, improved(net, spanning_tree(net, np.unique(np.concatenate(found)))))
                lighter = net.weight(tree) < net.weight(best)
                best = tree if lighter else best
                new = rounds.join(branches(net, best)) if lighter or rounds.turns == 0 else NOBODY
            new = comm.bcast(new)
        return best, Work(relaxed, prepared.timer.seconds)


def branches(net: Network, tree: Indices) -> NDArray[np.uint32]:
    """Vertices of more than two neighbours in a tree that are no terminals."""
    degree = np.bincount(np.concatenate([net.edges.tails[tree], net.edges.heads[tree]]), minlength=net.n)
    return np.flatnonzero((degree > 2) & (net.wanted == 0)).astype(np.uint32)


def _fill(prepared: Searcher, new: NDArray[np.uint32], rounds: Rounds | None, comm: Comm) -> int:
    """Bring the rows of these nodes to the end of rank 0's table; the arcs that this rank followed. Collective."""
    owned = blocks(len(new), comm.size)
    mine = owned[comm.rank]
    first = 0 if rounds is None else len(rounds.nodes) - len(new)
    rows = np.empty((len(mine), prepared.layout.n), prepared.keys.dtype)
    if rounds is not None:
        rows = rounds.table[first : first + len(mine)]
    places, step, relaxed = prepared.layout.places(), BATCH * prepared.blocks, 0
    for begin in range(0, len(mine), step):
        part = rows[begin : begin + step]
        sources = new[mine.start + begin : mine.start + begin + len(part), None].astype(np.int64)
        relaxed += int(prepared.solve(row_jobs(list(sources), None, places), WANTS_DISTANCES, part).relaxed.sum())
    if rounds is None:
        comm.send(rows, 0).wait()
        return relaxed
    for rank, share in enumerate(owned[1:], start=1):
        comm.receive(rounds.table[first + share.start : first + share.stop], rank).wait()
    return relaxed

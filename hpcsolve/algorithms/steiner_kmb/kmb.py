"""Mode kmb: the tree of Kou, Markowsky and Berman, by one search per terminal. The searches are dealt to the ranks.

Each rank searches from groups of terminals that are near each other (terminal_rows.py). Of all pairs that it sees it
keeps a spanning forest: an edge that is not in the minimum spanning tree of some pairs is not in that of all pairs (the
cycle property). So a rank never holds more than a batch of rows, and sends at most k - 1 pairs, of which rank 0 makes
the tree. Paths come from a second search from the first terminal of each chosen pair, back by predecessors, so no table
of predecessors is kept. Pairs are ordered by (distance, terminal, terminal), each found from its smaller terminal: the
tree is the same however the work is dealt.

No edge of the tree is longer than the bottleneck of the terminal distance graph, which one search from all terminals
finds (network.py), so a search ends at that distance. What only repeats the paper is in study.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report, silent
from hpcsolve.algorithms.shortest_paths.searches import Prepared, filled_rows
from hpcsolve.algorithms.shortest_paths.tables import SearchCheckpoints
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network, forest
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices
from hpcsolve.algorithms.steiner_kmb.setting import Setting, Work
from hpcsolve.algorithms.steiner_kmb.terminal_rows import keys_for, path_edges, shares_of_walk, terminal_searches, walk
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import Part, State, part
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.graph import Graph

MOST_PAIRS = 1 << 16
"""The most pairs that a rank examines at a time, or collects before it reduces them to a spanning forest."""
PAIR_BYTES, NEAR_PAIRS = 80, 36
"""Bytes that a pair of terminals takes while pairs are collected and sorted, and the pairs of each terminal.

In road networks a terminal has 20 to 35 others within the bottleneck. More pairs are made fewer at `MOST_PAIRS`.
"""
ROWS, PATHS = 1, 2
"""The two phases: the rows of distances, from which the pairs follow, and the paths of the chosen pairs."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of terminals and their distances. Terminals are numbered by position, and `first` is the smaller one."""

    first: Indices
    second: Indices
    distance: NDArray[np.uint64]

    @classmethod
    def near(cls, sources: Indices, rows: NDArray[Any], longest: int) -> Pairs:
        """Return the pairs in rows whose distance is at most `longest`, each once, from its smaller terminal."""
        row, column = np.nonzero(rows <= longest)
        ahead = column > sources[row]
        row, column = row[ahead], column[ahead]
        return cls(sources[row], column, rows[row, column].astype(np.uint64))

    @classmethod
    def spanning(cls, net: Network, parts: Sequence[Pairs]) -> Pairs:
        """Return the minimum spanning forest of all these pairs, with ties broken by the smaller pair."""
        k = len(net.terminals)
        number = np.concatenate([part.first * k + part.second for part in parts])
        distance = np.concatenate([part.distance for part in parts])
        bits = (k * k - 1).bit_length()
        if int(distance.max(initial=0)).bit_length() + bits > 64:
            order = np.lexsort((number, distance))
            number, distance = number[order], distance[order]
        else:  # far faster than lexsort
            both = np.sort(distance << np.uint64(bits) | number.astype(np.uint64))
            number, distance = (both & np.uint64((1 << bits) - 1)).astype(np.int64), both >> np.uint64(bits)
        pairs = cls(*np.divmod(number, k), distance)
        return pairs.part(forest(net.device, pairs.first, pairs.second, np.ones(k, np.uint32)))

    def part(self, which: NDArray[np.bool_] | Indices) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.first[which], self.second[which], self.distance[which])


@dataclass
class Rows:
    """Which rows of distances a rank makes, and what it keeps of them beside the pairs: nothing, but for study.

    Attributes
    ----------
    cutoff
        The distance beyond which no search goes.
    """

    cutoff: int

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept, roughly."""
        return 0

    def sources(self, order: Indices, comm: Comm) -> Indices:
        """Return the terminals that this rank searches from, those near each other together."""
        return order[shares_of_walk(len(order), comm.size)[comm.rank]]

    def take(self, batch: Indices, rows: NDArray[Any]) -> None:
        """Take over the rows of these terminals."""

    def missing(self) -> Indices:
        """Return the terminals whose rows are kept, but are not there yet."""
        return np.empty(0, np.int64)

    def parts(self) -> list[Part]:
        """Return what is kept as parts of a checkpoint."""
        return []

    def resume(self, saved: Saved) -> None:
        """Take what is kept from a checkpoint."""

    def table(self) -> DistanceTable | None:
        """Return this rank's part of the table of distances, if it is part of the answer."""
        return None


@dataclass
class KmbCheckpoints:
    """The checkpoints of a rank in mode kmb.

    Attributes
    ----------
    done
        Terminals whose rows are finished. On rank 0 also those of the checkpoint.
    """

    rows: Rows
    comm: Comm = field(default_factory=SerialComm)
    checkpoints: Checkpoints = NONE
    boundary: Boundary = field(init=False)
    done: list[Indices] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take the rows that are kept from the checkpoint."""
        self.boundary = Boundary(self.comm, self.checkpoints)
        if self.checkpoints.saved is not None:
            self.rows.resume(self.checkpoints.saved)

    def left(self, sources: Indices) -> Indices:
        """Return the terminals of this rank from which it must still search."""
        saved = self.checkpoints.saved
        if saved is None:
            return sources
        done = saved.gathered("done", (), np.int64, ANY_COUNT)
        if self.comm.rank == 0:
            self.done.append(done)
        if saved.integer("phase", ROWS, PATHS) == PATHS:
            return sources[:0]
        return sources[~np.isin(sources, done) | np.isin(sources, self.rows.missing())]

    def pairs(self, terminals: int) -> Pairs:
        """Return the pairs of the checkpoint on rank 0, elsewhere none."""
        saved, found = self.checkpoints.saved, np.empty((0, 3), np.int64)
        if saved is not None and self.comm.rank == 0:
            found = saved.gathered("pairs", (3,), np.int64, ANY_COUNT, range(2**63))
            ends = found[:, :2]
            saved.require(bool((ends < terminals).all() and (ends[:, 0] < ends[:, 1]).all()), "a pair of terminals")
        first, second, distance = found.T
        return Pairs(first, second, distance.astype(np.uint64))

    def state(self, pairs: Pairs) -> State:
        """Return the state in the phase of rows, with this rank's pairs."""
        done = np.concatenate([np.empty(0, np.int64), *self.done])
        saved = self.checkpoints.saved
        pieces = self.boundary.number + 1 + (saved.integer("pieces") if saved else 0)
        return State({"phase": ROWS, "pieces": pieces}, [*self.parts(pairs), part("done", 0, done)],
                     f"after the rows of {len(done)} terminals of rank 0")

    def parts(self, pairs: Pairs) -> list[Part]:
        """Return the parts of the state that both phases keep."""
        table = np.stack([pairs.first, pairs.second, pairs.distance.astype(np.int64)], axis=1)
        return [part("pairs", 0, table), *self.rows.parts()]

    def searches(self, first: int, chosen: Pairs) -> SearchCheckpoints:
        """Return the checkpoints in the phase of paths, where this rank's pairs begin with number `first`."""
        saved = self.checkpoints.saved
        here = saved if saved is not None and saved.integer("phase", ROWS, PATHS) == PATHS else None
        on_rank_0 = np.full(len(chosen.first), self.comm.rank == 0)
        parts = self.parts(chosen.part(on_rank_0))
        return SearchCheckpoints(self.comm, self.checkpoints, first, here, {"phase": PATHS}, parts)


def kmb_tree(
    graph: Graph, net: Network, closure_tree: ClosureTree, run: Setting, rows: Rows
) -> tuple[Indices | None, Work]:
    """Return the edges of the tree, on rank 0, and this rank's work. Collective.

    Parameters
    ----------
    graph, net
        The reduced graph, and the same as the functions on the CPU read it.
    closure_tree
        The minimum spanning tree of the terminal distance graph.
    """
    comm, report, keys = run.comm, run.report, keys_for(graph, rows.cutoff)
    sources = rows.sources(walk(net, closure_tree), comm)
    kept = KmbCheckpoints(rows, comm, run.stop.checkpoints)
    single, row_search = terminal_searches(graph, keys, run.parameters, run.device, comm, len(sources), rows.cutoff,
                                           net.terminals.astype(np.int64))
    with single:
        with row_search() as search:
            mine, relaxed = spanned_rows(net, sources, closure_tree.bottleneck, search, report, kept)
        gathered = comm.gather(mine)
        chosen = comm.bcast(None if gathered is None else Pairs.spanning(net, gathered))
        assert chosen is not None
        if int(chosen.distance.sum()) != closure_tree.weight:
            raise AssertionError("k searches and one from all terminals find trees of different weights")
        chosen = chosen.part(np.argsort(chosen.first, kind="stable"))
        ends = np.stack([net.terminals[chosen.first], net.terminals[chosen.second]], axis=1).astype(np.int64)
        edges, more = path_edges(net, single, ends, comm, report, partial(kept.searches, chosen=chosen))
        found = comm.gather(edges)
        work = Work(relaxed + more)
    return None if found is None else net.spanning_tree(np.unique(np.concatenate(found))), work


def spanned_rows(
    net: Network, sources: Indices, longest: int, search: Prepared, report: Report = silent,
    kept: KmbCheckpoints | None = None,
) -> tuple[Pairs, int]:
    """Return a minimum spanning forest of the pairs that searches find, and the number of arcs relaxed.

    The searches begin at `sources`, and pairs farther apart than `longest` are left out. Collective if checkpoints are
    kept.
    """
    kept = kept or KmbCheckpoints(Rows(longest))
    relaxed, waiting, done = 0, [kept.pairs(len(net.terminals))], 0
    sources = kept.left(sources)
    batches = [sources[begin : begin + search.at_once] for begin in range(0, len(sources), search.at_once)]
    filled = filled_rows(search, (net.terminals[batch] for batch in batches), net.terminals.astype(np.int64))

    def state() -> State:
        waiting[:] = [Pairs.spanning(net, waiting)]
        return kept.state(waiting[0])

    for batch in kept.boundary.while_any(batches[::-1], state, lambda: kept.rows.nbytes):
        rows, arcs = next(filled)
        relaxed, done = relaxed + arcs, done + len(batch)
        step = max(1, MOST_PAIRS // rows.shape[1])
        for first in range(0, len(batch), step):
            waiting.append(Pairs.near(batch[first : first + step], rows[first : first + step], longest))
            if sum(len(pairs.first) for pairs in waiting) > MOST_PAIRS:
                waiting[:] = [Pairs.spanning(net, waiting)]
        kept.rows.take(batch, rows)
        kept.done.append(batch)
        del rows  # frees them before the next ones are made
        report(0.7 * done / len(sources))
    return Pairs.spanning(net, waiting), relaxed

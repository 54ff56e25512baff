"""Mode kmb: the tree of Kou, Markowsky and Berman, by one search per terminal. The searches are dealt to the ranks.

Each rank searches from groups of terminals that are near each other (terminal_rows.py). Of all pairs that it sees it
keeps a spanning forest: an edge that is not in the minimum spanning tree of some pairs is not in that of all pairs (the
cycle property). So a rank never holds more than a batch of rows, and sends at most k - 1 pairs, of which rank 0 makes
the tree. Paths come from a second search from the first terminal of each chosen pair, back by predecessors, so no table
of predecessors is kept. Pairs are ordered by (distance, terminal, terminal), each found from its smaller terminal: the
tree is the same however the work is dealt.

No edge of the tree is longer than the bottleneck of the terminal distance graph, which one search from all terminals
finds (network.py), so a search may end at that distance or, as published, when it has settled the last terminal.
(Engines that search from many terminals at once do not look for the last one: 98 to 100 % of the vertices are settled
by then.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.engines import row_search, searcher
from hpcsolve.algorithms.shortest_paths.pairs import shares, solve_pairs
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, Keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Prepared, filled_rows
from hpcsolve.algorithms.shortest_paths.tables import RELAXED, SearchCheckpoints
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network, forest
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices
from hpcsolve.algorithms.steiner_kmb.setting import Parameters, Setting, Work
from hpcsolve.algorithms.steiner_kmb.terminal_rows import chosen_rows, shares_of_walk, walk
from hpcsolve.answers.contents import DistanceTable, datasets
from hpcsolve.answers.tree import Tree
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.saved import ANY_COUNT
from hpcsolve.checkpoint.store import Part, State, part
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.problems.graph import Graph

MOST_PAIRS = 1 << 16
"""The most pairs that a rank examines at a time, or collects before it reduces them to a spanning forest."""
ROWS, PATHS = 1, 2
"""The two phases: the rows of distances, from which the pairs follow, and the paths of the chosen pairs."""


@dataclass(frozen=True)
class Matrix:
    """This rank's rows of the table.

    Attributes
    ----------
    member
        Shape (terminals,): the number that each terminal has in the reduced graph, where contraction may join several.
    share
        The terminals of this rank's rows.
    rows
        Shape (len(share), terminals), 0 at first.
    """

    member: Indices
    share: range
    rows: NDArray[Any]

    @property
    def own(self) -> Indices:
        """The numbers, in the reduced graph, of the terminals of this rank's rows."""
        return self.member[self.share.start : self.share.stop]

    def take(self, sources: Indices, found: NDArray[Any]) -> None:
        """Take over found rows: distances from these terminals of the reduced graph to all of its terminals."""
        place = np.full(int(self.member.max()) + 1, -1)
        place[sources] = np.arange(len(sources))
        here = place[self.own]
        self.rows[here >= 0] = found[here[here >= 0]][:, self.member]

    def as_table(self) -> DistanceTable:
        """Return the rows as this rank's part of the answer."""
        dataset = datasets(Tree)["matrix"]
        return DistanceTable(self.rows, self.share.start, len(self.member), dataset)


def empty_matrix(member: Indices, dtype: DTypeLike, comm: Comm) -> Matrix:
    """Return this rank's rows, to be filled."""
    share = even_shares(len(member), comm.size)[comm.rank]
    return Matrix(member, share, np.zeros((len(share), len(member)), dtype))


@dataclass(frozen=True)
class Pairs:
    """Pairs of terminals and their distances. Terminals are numbered by position, and `first` is the smaller one."""

    first: Indices
    second: Indices
    distance: NDArray[np.uint64]

    def part(self, which: NDArray[np.bool_] | Indices) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.first[which], self.second[which], self.distance[which])


@dataclass
class KmbCheckpoints:
    """The checkpoints of a rank in mode kmb.

    Attributes
    ----------
    done
        Terminals whose rows are finished. On rank 0 also those of the checkpoint.
    filled
        Which rows of this rank's part of the matrix are finished.
    """

    comm: Comm = field(default_factory=SerialComm)
    checkpoints: Checkpoints = NONE
    matrix: Matrix | None = None
    boundary: Boundary = field(init=False)
    done: list[Indices] = field(default_factory=list)
    filled: Indices = field(init=False)

    def __post_init__(self) -> None:
        """Take the rows of the matrix from the checkpoint."""
        self.boundary = Boundary(self.comm, self.checkpoints)
        own, saved = range(0) if self.matrix is None else self.matrix.share, self.checkpoints.saved
        self.filled = np.zeros(len(own), np.int64)
        if saved is not None:
            self.filled[:] = saved.rows("filled", own, (), np.int64, range(2))
            if self.matrix is not None:
                rows = self.matrix.rows
                rows[:] = saved.rows("matrix", own, rows.shape[1:], rows.dtype)

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
        missing = np.empty(0, np.int64) if self.matrix is None else self.matrix.own[self.filled == 0]
        return sources[~np.isin(sources, done) | np.isin(sources, missing)]

    def pairs(self, terminals: int) -> Indices:
        """Return the pairs of the checkpoint on rank 0, elsewhere none, with columns first, second and distance."""
        saved = self.checkpoints.saved
        if saved is None or self.comm.rank:
            return np.empty((0, 3), np.int64)
        found = saved.gathered("pairs", (3,), np.int64, ANY_COUNT, range(2**63))
        ends = found[:, :2]
        saved.require(bool((ends < terminals).all() and (ends[:, 0] < ends[:, 1]).all()), "a pair of terminals")
        return found

    def note(self, batch: Indices) -> None:
        """Note that the rows of these terminals are finished."""
        self.done.append(batch)
        if self.matrix is not None:
            self.filled[np.isin(self.matrix.own, batch)] = 1

    def state(self, pairs: Pairs) -> State:
        """Return the state in the phase of rows, with this rank's pairs."""
        done = np.concatenate([np.empty(0, np.int64), *self.done])
        saved = self.checkpoints.saved
        pieces = self.boundary.number + 1 + (saved.integer("pieces") if saved else 0)
        return State({"phase": ROWS, "pieces": pieces}, [*self.parts(pairs), part("done", 0, done)],
                     f"after the rows of {len(done)} terminals of rank 0")

    def parts(self, pairs: Pairs) -> list[Part]:
        """Return the parts of the state that both phases keep."""
        first = self.matrix.share.start if self.matrix else 0
        table = np.stack([pairs.first, pairs.second, pairs.distance.astype(np.int64)], axis=1)
        found = [part("pairs", 0, table), part("filled", first, self.filled)]
        return found if self.matrix is None else [*found, part("matrix", first, self.matrix.rows)]

    def searches(self, first: int, chosen: Pairs) -> SearchCheckpoints:
        """Return the checkpoints in the phase of paths, where this rank's pairs begin with number `first`."""
        saved = self.checkpoints.saved
        here = saved if saved is not None and saved.integer("phase", ROWS, PATHS) == PATHS else None
        on_rank_0 = np.full(len(chosen.first), self.comm.rank == 0)
        parts = self.parts(chosen.part(on_rank_0))
        return SearchCheckpoints(self.comm, self.checkpoints, first, here, {"phase": PATHS}, parts)

    def each(self, batches: list[Indices], state: Callable[[], State]) -> Iterator[Indices]:
        """Yield batches of this rank's terminals until no rank has any. Collective."""
        nbytes = 0 if self.matrix is None else self.matrix.rows.nbytes  # of this rank's share of a checkpoint, roughly
        return self.boundary.while_any(batches[::-1], state, lambda: nbytes)


def kmb_tree(
    graph: Graph, net: Network, closure_tree: ClosureTree, run: Setting, matrix: Matrix | None
) -> tuple[Indices | None, Work]:
    """Return the edges of the tree, on rank 0, and this rank's work. Collective.

    Parameters
    ----------
    graph, net
        The reduced graph, and the same as the kernels on the CPU read it.
    closure_tree
        The minimum spanning tree of the terminal distance graph.
    matrix
        The table to be filled. Each rank then searches from the terminals of its own rows, to all terminals.
    """
    comm, parameters, report, cutoff = run.comm, run.parameters, run.report, cutoff_of(closure_tree, run.parameters)
    keys = keys_for(graph, cutoff)
    search_graph = comm.once_per_host(partial(lay_out, graph, keys))
    sources = sources_of(walk(net, closure_tree), comm, matrix)
    kept = KmbCheckpoints(comm, run.stop.checkpoints, matrix)
    choice = chosen_rows(graph, keys, parameters, run.device, comm)
    with searcher(graph, run.device, keys, choice.engine, cutoff=cutoff, search_graph=search_graph,
                  searches=len(sources)) as prepared:
        engine, targets, p = choice.engine, net.terminals.astype(np.int64), parameters.at_once
        with row_search(prepared, graph, engine, p, targets, len(sources), choice.hierarchy) as rows:
            mine, relaxed = spanned_rows(net, sources, closure_tree.bottleneck, rows, keys, report, matrix, kept)
        gathered = comm.gather(mine)
        chosen = comm.bcast(None if gathered is None else _spanned(net, gathered))
        assert chosen is not None
        if int(chosen.distance.sum()) != closure_tree.weight:
            raise AssertionError("k searches and one from all terminals find trees of different weights")
        chosen = chosen.part(np.argsort(chosen.first, kind="stable"))
        ends = np.stack([net.terminals[chosen.first], net.terminals[chosen.second]], axis=1).astype(np.int64)
        edges, more = path_edges(net, prepared, ends, comm, report, partial(kept.searches, chosen=chosen))
        found = comm.gather(edges)
        work = Work(relaxed + more, prepared.timer.seconds, prepared.seconds_copy)
    return None if found is None else net.spanning_tree(np.unique(np.concatenate(found))), work


def cutoff_of(closure_tree: ClosureTree, parameters: Parameters) -> int:
    """Return the distance beyond which no search of mode kmb goes."""
    near = parameters.halt == "bottleneck" and not parameters.matrix
    return closure_tree.bottleneck if near else closure_tree.weight


def keys_for(graph: Graph, farthest: int) -> Keys:
    """Return the narrowest keys that hold every weight, and distances up to `farthest`."""
    heaviest = int(graph.weights.max()) if graph.arcs else 0
    return WORD if max(heaviest, farthest) <= WORD.limit else LONG


def sources_of(order: Indices, comm: Comm, matrix: Matrix | None) -> Indices:
    """Return the terminals that this rank searches from, those near each other together."""
    if matrix is not None:
        return order[np.isin(order, matrix.own)]
    return order[shares_of_walk(len(order), comm.size)[comm.rank]]


def spanned_rows(
    net: Network, sources: Indices, longest: int, search: Prepared, keys: Keys, report: Report, matrix: Matrix | None,
    kept: KmbCheckpoints | None = None,
) -> tuple[Pairs, int]:
    """Return a minimum spanning forest of the pairs that searches find, and the number of arcs relaxed.

    The searches begin at `sources`, and pairs farther apart than `longest` are left out. Collective if checkpoints are
    kept.
    """
    kept = kept or KmbCheckpoints()
    first, second, distance = kept.pairs(len(net.terminals)).T
    relaxed, waiting, done = 0, [Pairs(first, second, distance.astype(np.uint64))], 0
    sources = kept.left(sources)
    batches = [sources[begin : begin + search.at_once] for begin in range(0, len(sources), search.at_once)]
    filled = filled_rows(search, (net.terminals[batch] for batch in batches), net.terminals.astype(np.int64))

    def state() -> State:
        waiting[:] = [_spanned(net, waiting)]
        return kept.state(waiting[0])

    for batch in kept.each(batches, state):
        rows, arcs = next(filled)
        relaxed, done = relaxed + arcs, done + len(batch)
        if matrix is not None:
            matrix.take(batch, rows)
        step = max(1, MOST_PAIRS // rows.shape[1])
        for first in range(0, len(batch), step):
            waiting.append(_near_pairs(batch[first : first + step], rows[first : first + step], longest))
            if sum(len(pairs.first) for pairs in waiting) > MOST_PAIRS:
                waiting[:] = [_spanned(net, waiting)]
        kept.note(batch)
        del rows  # frees them before the next ones are made
        report(0.7 * done / len(sources))
    return _spanned(net, waiting), relaxed


def _near_pairs(sources: Indices, rows: NDArray[Any], longest: int) -> Pairs:
    """Return the pairs in these rows whose distance is at most `longest`, each pair once, from its smaller terminal."""
    row, column = np.nonzero(rows <= longest)
    ahead = column > sources[row]
    row, column = row[ahead], column[ahead]
    return Pairs(sources[row], column, rows[row, column].astype(np.uint64))


def _spanned(net: Network, parts: list[Pairs]) -> Pairs:
    """Return the minimum spanning forest of all these pairs, with ties broken by the smaller pair."""
    k = len(net.terminals)
    number = np.concatenate([part.first * k + part.second for part in parts])
    distance = np.concatenate([part.distance for part in parts])
    number, distance = by_distance(number, distance, k * k)
    pairs = Pairs(*np.divmod(number, k), distance)
    return pairs.part(forest(net.device, pairs.first, pairs.second, np.ones(k, np.uint32)))


def by_distance(
    number: Indices, distance: NDArray[np.uint64], below: int
) -> tuple[Indices, NDArray[np.uint64]]:
    """Return numbers, all below `below`, and their distances, sorted by (distance, number)."""
    bits = (below - 1).bit_length()
    if int(distance.max(initial=0)).bit_length() + bits > 64:
        order = np.lexsort((number, distance))
        return number[order], distance[order]
    both = np.sort(distance << np.uint64(bits) | number.astype(np.uint64))  # far faster than lexsort
    return (both & np.uint64((1 << bits) - 1)).astype(np.int64), both >> np.uint64(bits)


def path_edges(
    net: Network, prepared: Prepared, pairs: Indices, comm: Comm, report: Report,
    kept: Callable[[int], SearchCheckpoints] = lambda first: SearchCheckpoints(),
) -> tuple[Indices, int]:
    """Return the edges on shortest paths between this rank's share of pairs, and the number of arcs relaxed.

    Parameters
    ----------
    pairs
        Shape (pairs, 2): positions, sorted by the first one.
    kept
        Returns this rank's checkpoints, given the number of its first pair.
    """
    share = shares(pairs, comm.size)[comm.rank]
    found = solve_pairs(prepared, pairs[share.start : share.stop], lambda done, message="": report(0.7 + 0.2 * done),
                        kept(share.start))
    path = found.path
    inside = np.ones(max(len(path) - 1, 0), dtype=bool)
    inside[np.cumsum(found.length)[:-1] - 1] = False  # from the end of a path to the beginning of the next
    return np.unique(net.edge_numbers(path[:-1][inside], path[1:][inside])), int(found.work[:, RELAXED].sum())

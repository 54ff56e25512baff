"""The tree of Kou, Markowsky and Berman, by one search per terminal. The searches are dealt to the ranks.

Each rank searches from groups of terminals that are near each other (order.py). Of all pairs that it sees it keeps a
spanning forest: an edge that is not in the minimum spanning tree of some pairs is not in that of all pairs (the cycle
property). So a rank never holds more than a batch of rows, and sends at most k - 1 pairs, of which rank 0 makes the
tree. Paths come from a second search from the first terminal of each chosen pair, back by predecessors, so no table of
predecessors is kept. Pairs are ordered by (distance, terminal, terminal), each found from its smaller terminal: the
tree is the same however the work is dealt.

No edge of the tree is longer than the bottleneck of the terminal distance graph, which one search from all terminals
finds (trees.py), so a search may end at that distance or, as published, when it has settled the last terminal.
(Engines that search from many terminals at once do not look for the last one: 98 to 100 % of the vertices are settled
by then.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.engines import row_search, searcher
from hpcsolve.algorithms.shortest_paths.engines.rows import RowSearch, filled_rows
from hpcsolve.algorithms.shortest_paths.pairs import shares, solve_pairs
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, Keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Searcher
from hpcsolve.algorithms.shortest_paths.tables import SearchCheckpoints
from hpcsolve.algorithms.steiner_kmb.kmb.matrix import Matrix
from hpcsolve.algorithms.steiner_kmb.kmb.resume import KmbCheckpoints
from hpcsolve.algorithms.steiner_kmb.network import Network, edge_numbers, forest, spanning_tree
from hpcsolve.algorithms.steiner_kmb.order import shares_of_walk, walk
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.algorithms.steiner_kmb.row_choice import chosen_rows
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.checkpoint.store import State
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph

MOST_PAIRS = 1 << 16
"""The most pairs that a rank examines at a time, or collects before it reduces them to a spanning forest."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of terminals and their distances. Terminals are numbered by position, and `first` is the smaller one."""

    first: Indices
    second: Indices
    distance: NDArray[np.uint64]

    def part(self, which: NDArray[np.bool_] | Indices) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.first[which], self.second[which], self.distance[which])


@dataclass(frozen=True)
class Work:
    """The work of a rank: arcs relaxed, seconds in kernels and in copies, bytes of rows sent, rounds (in mode best).

    Attributes
    ----------
    history
        Of mode best on rank 0: (rounds, seconds, weight) of each better tree, and of the best at the end.
    """

    relaxed: int
    seconds: float
    seconds_copy: float = 0.0
    sent: int = 0
    rounds: int = 0
    history: Sequence[tuple[int, float, int]] = ()


def kmb_tree(
    graph: Graph, net: Network, closure_tree: ClosureTree, device: Device, comm: Comm, parameters: Parameters,
    report: Report, matrix: Matrix | None = None, checkpoints: Checkpoints = NONE,
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
    cutoff = cutoff_of(closure_tree, parameters)
    keys = keys_for(graph, cutoff)
    search_graph = comm.once_per_host(partial(lay_out, graph, keys))
    sources, kept = sources_of(walk(net, closure_tree), comm, matrix), KmbCheckpoints(comm, checkpoints, matrix)
    choice = chosen_rows(graph, keys, parameters, device, comm)
    with searcher(graph, device, keys, choice.engine, cutoff=cutoff, search_graph=search_graph,
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
    return None if found is None else spanning_tree(net, np.unique(np.concatenate(found))), work


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
    net: Network, sources: Indices, longest: int, search: RowSearch, keys: Keys, report: Report, matrix: Matrix | None,
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
    filled = filled_rows(search, (net.terminals[batch] for batch in batches), len(net.terminals))

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
    net: Network, prepared: Searcher, pairs: Indices, comm: Comm, report: Report,
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
    inside = np.ones(max(len(found.path) - 1, 0), dtype=bool)
    inside[np.cumsum(found.length)[:-1] - 1] = False  # from the end of a path to the beginning of the next
    edges = edge_numbers(net, found.path[:-1][inside], found.path[1:][inside])
    return np.unique(edges), int(sum(batch.relaxed.sum() for batch in found.batches))

"""Iterated 1-Steiner: vertices become nodes beside the terminals as long as that makes the spanning tree lighter.

The nodes' distances to every vertex are a table (table.py), which the ranks make by a search a node, and of which each
has the columns of its own vertices. In a round each rank measures its vertices; rank 0 makes nodes of those that help,
the most promising first, each only if it still helps (spanning.py); their rows come for the next round. Nodes of two
neighbours in the tree are no use and go. At last the tree's edges become paths again.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.layout import lay_out
from hpcsolve.algorithms.shortest_paths.searcher import Searcher, searcher
from hpcsolve.algorithms.steiner_kmb.exchange import exchanged
from hpcsolve.algorithms.steiner_kmb.kmb import Work, keys_for, path_edges
from hpcsolve.algorithms.steiner_kmb.network import Network, spanning_tree
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.algorithms.steiner_kmb.rounds import NOBODY, Rounds, Watch
from hpcsolve.algorithms.steiner_kmb.rows import path_engine, row_search
from hpcsolve.algorithms.steiner_kmb.spanning import Candidates, Spanning, spanning
from hpcsolve.algorithms.steiner_kmb.table import Table, capacity
from hpcsolve.algorithms.steiner_kmb.trees import Closure, improved, nearest, shortest_path_tree
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph

KEYS_A_SEED = 1_000_003
"""Shakes of one seed have keys of their own, as long as there are fewer."""


def best_tree(
    graph: Graph, net: Network, near: Closure, device: Device, comm: Comm, parameters: Parameters, report: Report,
    watch: Watch, seed: int,
) -> tuple[Indices | None, Work]:  # fmt: skip
    """The tree's edges, on rank 0; collective. Parameters as `kmb.kmb_tree`.

    Rounds until no vertex helps; then the paths of the nodes' tree are exchanged, and the branches of the best tree so
    far are nodes too, as long as that makes it lighter. Then half of the nodes go, and it begins again: the next tree
    has the best of what is found now and before.
    """
    # From any vertex to any other: to its terminal, along the closure, to the other one.
    keys = keys_for(graph, near.weight + 2 * int(nearest(net, net.terminals).distance.max()))
    room = capacity(len(net.terminals))
    nodes = terminal_tree(net, near, keys, room) if comm.rank == 0 else None
    layout = comm.once_per_host(partial(lay_out, graph, keys))
    table = Table(net.device, keys, net.n, room, comm)
    rounds = Rounds(comm, table, nodes, watch, report, graph.scale)
    best = exchanged(net, improved(net, shortest_path_tree(net))) if comm.rank == 0 else None
    rounds.best = 0 if best is None else net.weight(best)
    new, joined, shakes = np.arange(len(net.terminals), dtype=np.uint32), False, 0
    prepared = searcher(graph, device, keys, path_engine(parameters.engine), layout=layout, searches=len(new))
    with prepared, row_search(prepared, graph, parameters, None, len(new)) as rows:
        while not watch.is_over(rounds.best):
            rounds.settle(rows, new)
            if not rounds.number:  # not even the terminals' rows are there
                break
            tree = _with_paths(net, prepared, rounds)
            lighter = comm.bcast(tree is not None and net.weight(tree) < rounds.best)
            best = tree if lighter else best
            rounds.best = 0 if best is None else net.weight(best)
            if watch.is_over(rounds.best):  # before it came to the rows of the last nodes, perhaps
                break
            new = NOBODY
            if lighter or not joined:
                new, joined = rounds.join(NOBODY if best is None else branches(net, best)), True
            if comm.bcast(len(new)):
                continue
            if shakes == parameters.shakes:
                break
            shakes, joined = shakes + 1, False
            rounds.shake(seed * KEYS_A_SEED + shakes)
        return best, Work(rounds.relaxed, prepared.timer.seconds, table.sent)


def terminal_tree(net: Network, near: Closure, keys: Keys, room: int) -> Spanning:
    """The closure as a tree of nodes."""
    number = np.searchsorted(net.terminals, near.second).astype(np.uint32)
    length = near.length.astype(keys.dtype)
    links = Candidates(near.first, 0 * length, np.ones_like(near.first), number, length)
    return spanning(net.device, keys, net.terminals, room, links)


def branches(net: Network, tree: Indices) -> NDArray[np.uint32]:
    """Vertices of more than two neighbours in a tree that are no terminals."""
    degree = np.bincount(np.concatenate([net.edges.tails[tree], net.edges.heads[tree]]), minlength=net.n)
    return np.flatnonzero((degree > 2) & (net.wanted == 0)).astype(np.uint32)


def _with_paths(net: Network, prepared: Searcher, rounds: Rounds) -> Indices | None:
    """The nodes' tree with paths in the place of its edges, exchanged; on rank 0, collective."""
    pairs = rounds.comm.bcast(None if rounds.nodes is None else rounds.nodes.pairs())
    assert pairs is not None
    edges, relaxed = path_edges(net, prepared, pairs, rounds.comm, rounds.report)
    rounds.relaxed += relaxed
    found = rounds.comm.gather(edges)
    if found is None:
        return None
    return exchanged(net, improved(net, spanning_tree(net, np.unique(np.concatenate(found)))))

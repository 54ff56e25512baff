"""Iterated 1-Steiner: vertices join the terminals as nodes, as long as that makes the spanning tree of nodes lighter.

The nodes' distances to every vertex are a table (node_table.py). The ranks fill it by a search from each node, and each
rank has the columns of its own vertices. In a round each rank measures its vertices. Rank 0 makes nodes of those that
help, the most promising first, each only if it still helps (node_tree.py). The next round begins with their rows. A
node with two neighbours in the tree is of no use and is dropped. At last the edges of the tree become paths of the
graph.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.engines import row_search, searcher
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Searcher
from hpcsolve.algorithms.steiner_kmb.best.key_vertex import locally_best
from hpcsolve.algorithms.steiner_kmb.best.node_table import NodeTable, capacity
from hpcsolve.algorithms.steiner_kmb.best.node_tree import Candidates, NodeTree, node_tree
from hpcsolve.algorithms.steiner_kmb.best.resume import resume, state_of
from hpcsolve.algorithms.steiner_kmb.best.rounds import NO_VERTICES, Rounds, RoundStop
from hpcsolve.algorithms.steiner_kmb.kmb.tree import Work, keys_for, path_edges
from hpcsolve.algorithms.steiner_kmb.network import Network, spanning_tree
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.algorithms.steiner_kmb.row_choice import chosen_rows
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree, improved, nearest, shortest_path_tree
from hpcsolve.device.base import Device
from hpcsolve.device.select import on_all_ranks
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph

MOST_SHAKES, SHAKING = 16, 1 << 21
"""In small graphs there are up to `MOST_SHAKES` shakes before ruin and recreate, as long as all of them take
about `SHAKING` steps. That is a tenth or two of a second."""
FEW_TERMINALS = 64
"""With no more terminals there are `shakes` of them at least: they find more there than ruin and recreate."""
KEYS_A_SEED = 1_000_003
"""The key of a shake is seed times this, plus its number, so that different seeds have different keys."""


def best_tree(
    graph: Graph, net: Network, closure_tree: ClosureTree, device: Device, comm: Comm, parameters: Parameters,
    report: Report, stop: RoundStop, seed: int,
) -> tuple[Indices | None, Work]:
    """Return the edges of the best tree, on rank 0, and this rank's work. Collective, parameters as in `kmb.kmb_tree`.

    Rounds go on until no vertex helps. Local search then improves the tree, and the branch vertices of the best
    tree so far become nodes too; both are repeated while the tree becomes lighter. Then half of the nodes are dropped
    (a shake), and the rounds begin again.
    """
    # No distance is longer than the path to the nearest terminal, through the terminals' tree, and out again.
    keys = keys_for(graph, closure_tree.weight + 2 * int(nearest(net, net.terminals).distance.max()))
    room = capacity(len(net.terminals))
    nodes = terminal_tree(net, closure_tree, keys, room) if comm.rank == 0 else None
    search_graph = comm.once_per_host(partial(lay_out, graph, keys))
    table = NodeTable(net.device, keys, net.n, room, comm)
    rounds = Rounds(comm, table, nodes, stop, report, graph.scale, state=state_of if stop.checkpoints.writer else None)
    stop.nbytes = table.rows.nbytes // 2
    shakes = shakes_for(net, parameters)
    new = _first_nodes(net, rounds, shakes)
    choice, k = chosen_rows(graph, keys, parameters, device, comm), len(net.terminals)
    prepared = searcher(graph, device, keys, choice.engine, search_graph=search_graph, searches=k)
    searches = row_search(prepared, graph, choice.engine, parameters.at_once, None, k, choice.hierarchy)
    with prepared, searches as rows:
        while not rounds.is_over(new, rounds.best):
            rounds.settle(rows, new)
            if not rounds.number:  # the time was up before the terminals' rows were there
                break
            tree = _with_paths(net, prepared, rounds)
            lighter = comm.bcast(tree is not None and net.weight(tree) < rounds.best)
            if lighter and tree is not None:
                rounds.tree = tree
                rounds.note(net.weight(tree))
            # Perhaps it is over before the rows of the last nodes are there.
            if stop.is_over(rounds.best) and not rounds.must_save():
                break
            new = NO_VERTICES
            if lighter or not rounds.joined:
                new, rounds.joined = rounds.join(_branches_of_best(net, rounds)), True
            if comm.bcast(len(new)):
                continue
            if rounds.shakes == shakes:
                stop.broken_off = False
                break
            rounds.shakes, rounds.joined = rounds.shakes + 1, False
            rounds.shake(seed * KEYS_A_SEED + rounds.shakes)
        if rounds.tree is not None and rounds.history[-1][0] < rounds.number:
            rounds.note(rounds.best)
        work = Work(rounds.relaxed, prepared.timer.seconds, prepared.seconds_copy, table.sent, rounds.number,
                    rounds.history)
        return rounds.tree, work


def shakes_for(net: Network, parameters: Parameters) -> int:
    """Return the number of shakes. It follows from the graph and the job alone."""
    if not parameters.shakes:
        return 0
    terminals = len(net.terminals)
    steps = net.n * (terminals + 64)  # about those of a shake: a search of the graph, a table
    return max(parameters.shakes if terminals <= FEW_TERMINALS else 0, min(MOST_SHAKES, SHAKING // steps))


def terminal_tree(net: Network, closure_tree: ClosureTree, keys: Keys, room: int) -> NodeTree:
    """Return the minimum spanning tree of the terminal distance graph as a tree of nodes."""
    number = np.searchsorted(net.terminals, closure_tree.second).astype(np.uint32)
    length = closure_tree.length.astype(keys.dtype)
    links = Candidates(closure_tree.first, 0 * length, np.ones_like(closure_tree.first), number, length)
    return node_tree(net.device, keys, net.terminals, room, links)


def _first_nodes(net: Network, rounds: Rounds, shakes: int) -> NDArray[np.uint32]:
    """Return the first new nodes (numbers, on rank 0), of a checkpoint or the terminals. Rank 0 gets its first tree."""
    if (saved := rounds.stop.checkpoints.saved) is not None:
        new = on_all_ranks(rounds.comm, lambda: resume(saved, rounds, net, shakes))
        rounds.best = 0 if rounds.tree is None else net.weight(rounds.tree)
        return new
    if rounds.comm.rank == 0:
        rounds.tree = locally_best(net, improved(net, shortest_path_tree(net)), rounds.stop.is_late)
        rounds.note(net.weight(rounds.tree))
    return np.arange(len(net.terminals), dtype=np.uint32)


def branches(net: Network, tree: Indices) -> NDArray[np.uint32]:
    """Return the branch vertices of a tree: no terminals, with more than two neighbours in it."""
    degree = np.bincount(np.concatenate([net.edges.tails[tree], net.edges.heads[tree]]), minlength=net.n)
    return np.flatnonzero((degree > 2) & (net.is_terminal == 0)).astype(np.uint32)


def _branches_of_best(net: Network, rounds: Rounds) -> NDArray[np.uint32]:
    return NO_VERTICES if rounds.tree is None else branches(net, rounds.tree)


def _with_paths(net: Network, prepared: Searcher, rounds: Rounds) -> Indices | None:
    """Return the nodes' tree, its edges replaced by paths, after local search, on rank 0. Collective."""
    pairs = rounds.comm.bcast(None if rounds.nodes is None else rounds.nodes.pairs())
    assert pairs is not None
    edges, relaxed = path_edges(net, prepared, pairs, rounds.comm, rounds.report)
    rounds.relaxed += relaxed
    found = rounds.comm.gather(edges)
    if found is None:
        return None
    tree = improved(net, spanning_tree(net, np.unique(np.concatenate(found))))
    return locally_best(net, tree, rounds.stop.is_late)

"""What mode best keeps in a checkpoint: the tree of nodes, their rows of the table, and the best tree so far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.best.node_table import PANEL, NodeTable
from hpcsolve.algorithms.steiner_kmb.best.node_tree import NodeTree
from hpcsolve.algorithms.steiner_kmb.best.rounds import NO_VERTICES, Rounds
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import Part, State, part
from hpcsolve.wording import counted

PANELS_AT_ONCE = 256
"""Panels of the table that are copied at a time."""


def state_of(rounds: Rounds, new: NDArray[np.uint32]) -> State:
    """Return the state while rows of new nodes (their numbers, on rank 0) may still be missing. Collective."""
    comm, nodes, table = rounds.comm, rounds.nodes, rounds.table
    slots = comm.bcast(None if nodes is None else _filled(nodes.slot, new, table))
    assert slots is not None
    parts = [_panels(table, slots, panels) for panels in _pieces(len(table.rows))]
    if nodes is not None:
        tree = np.empty(0, np.int64) if rounds.tree is None else rounds.tree.astype(np.int64)
        history = [(number, weight) for number, _, weight in rounds.history]
        arrays = {"vertex": nodes.vertex, "slot": nodes.slot, "parent": nodes.parent, "edge": nodes.edge, "new": new,
                  "filled": slots, "tree": tree,
                  "history": np.array(history, np.int64).reshape(-1, 2),
                  "seconds": np.array([seconds for _, seconds, _ in rounds.history], np.float64)}
        parts += [part(name, 0, values) for name, values in arrays.items()]
    numbers = {"round": rounds.number, "key": 0 if nodes is None else nodes.key, "joined": int(rounds.joined),
               "shakes": rounds.shakes, "seconds": rounds.stop.seconds()}
    return State(numbers, parts, f"in round {rounds.number + 1}, with {counted(len(slots), 'row')}")


def resume(saved: Saved, rounds: Rounds, net: Network, shakes: int) -> NDArray[np.uint32]:
    """Set the rounds to those of a checkpoint, and return the numbers of the new nodes on rank 0, elsewhere none.

    `shakes` is the number of shakes in all.
    """
    rounds.number, rounds.shakes = saved.integer("round"), saved.integer("shakes", most=shakes)
    rounds.joined = bool(saved.integer("joined", most=1))
    rounds.stop.started -= saved.seconds()
    table, room = rounds.table, rounds.table.room
    slots = saved.gathered("filled", (), np.uint32, range(room + 1), range(room))
    rows = table.rows
    for panels in _pieces(len(table.rows)):
        first = table.own.start // PANEL
        wanted = range(first + panels.start, first + panels.stop)
        rows[panels.start : panels.stop, slots] = saved.rows("rows", wanted, (len(slots), PANEL), rows.dtype)
    new = NO_VERTICES
    if (nodes := rounds.nodes) is not None:
        new = _resume_nodes(saved, nodes, slots, table.n)
        rounds.tree, rounds.history = saved_tree(saved, "tree", net), saved_history(saved)
    table.ready[slots] = True
    return new


def _resume_nodes(saved: Saved, nodes: NodeTree, filled: NDArray[np.uint32], n: int) -> NDArray[np.uint32]:
    """Set the tree of nodes to that of a checkpoint, and return the numbers of the new nodes."""
    nodes.vertex = saved.gathered("vertex", (), np.uint32, range(nodes.terminals, nodes.room + 1), range(n))
    size = len(nodes.vertex)
    each, number = range(size, size + 1), range(size)
    nodes.slot = saved.gathered("slot", (), np.uint32, each, range(nodes.room))
    nodes.parent = saved.gathered("parent", (), np.uint32, each, number)
    nodes.edge = saved.gathered("edge", (), nodes.edge.dtype, each)
    nodes.key = saved.integer("key")
    new = saved.gathered("new", (), np.uint32, range(size + 1), number)
    old = np.setdiff1d(np.arange(size), new)
    fits = len(np.unique(nodes.vertex)) == len(np.unique(nodes.slot)) == size
    fits = fits and bool(np.isin(nodes.slot[old], filled).all() and np.isin(filled, nodes.slot).all())
    saved.require(fits and is_tree(nodes.parent), "its tree of nodes")
    return new


def is_tree(parent: NDArray[np.uint32]) -> bool:
    """Return whether all nodes lead to node 0, which is its own parent."""
    up = parent
    for _ in range(len(parent).bit_length()):
        up = up[up]
    return len(parent) > 0 and not up.any()


def saved_tree(saved: Saved, name: str, net: Network) -> Indices:
    """Return a tree of a checkpoint, which has all terminals, as numbers of edges."""
    edges = len(net.edges.weights)
    tree = saved.gathered(name, (), np.int64, range(edges + 1), range(edges))
    saved.require(_joins_terminals(net, tree), "a tree")
    return tree


def _joins_terminals(net: Network, tree: Indices) -> bool:
    """Return whether the edges are a tree that has all terminals."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    tails, heads = net.edges.tails[tree], net.edges.heads[tree]
    vertices = np.unique(np.concatenate([tails, heads, net.terminals[:1]]))
    links = csr_array((np.ones(len(tree), np.int8), (tails, heads)), shape=(net.n, net.n))
    _, part = connected_components(links, directed=False)
    return len(vertices) == len(tree) + 1 and len(np.unique(part[np.append(vertices, net.terminals)])) == 1


def saved_history(saved: Saved) -> list[tuple[int, float, int]]:
    """Return the history of a checkpoint: number, seconds and weight."""
    rows = saved.gathered("history", (2,), np.int64, ANY_COUNT)
    seconds = saved.gathered("seconds", (), np.float64, range(len(rows), len(rows) + 1))
    return [(number, at, weight) for (number, weight), at in zip(rows.tolist(), seconds.tolist())]


def _filled(slot: NDArray[np.uint32], new: NDArray[np.uint32], table: NodeTable) -> NDArray[np.uint32]:
    """Return the filled rows of the table: those of all nodes except new ones whose rows are not ready."""
    waiting = slot[new]
    return np.setdiff1d(slot, waiting[~table.ready[waiting]])


def _pieces(panels: int) -> Iterator[range]:
    """Return ranges of at most `PANELS_AT_ONCE` panels."""
    return (range(first, min(first + PANELS_AT_ONCE, panels)) for first in range(0, panels, PANELS_AT_ONCE))


def _panels(table: NodeTable, slots: NDArray[np.uint32], panels: range) -> Part:
    """Return the filled rows in some of this rank's panels."""
    shape = len(panels), len(slots), PANEL
    return Part("rows", table.own.start // PANEL + panels.start, shape, table.rows.dtype,
                lambda: table.rows[panels.start : panels.stop, slots])

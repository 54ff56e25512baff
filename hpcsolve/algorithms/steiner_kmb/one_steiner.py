"""Iterated 1-Steiner: vertices join the terminals as nodes, as long as that makes the spanning tree of nodes lighter.

Kahng and Robins (1992). The nodes' distances to every vertex are a table (nodes.py). The ranks fill it by a search from
each node, and each rank has the columns of its own vertices. In a round each rank measures its vertices. Rank 0 makes
nodes of those that help, the most promising first, each only if it still helps. The next round begins with their rows.
A node with two neighbours in the tree is of no use and is dropped. At last the edges of the tree become paths of the
graph. A checkpoint keeps the tree of nodes, their rows of the table, and the best tree so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.engines import row_search, searcher
from hpcsolve.algorithms.shortest_paths.engines.rows import RowSearch
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Searcher
from hpcsolve.algorithms.steiner_kmb.kmb import keys_for, path_edges
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network, locally_best
from hpcsolve.algorithms.steiner_kmb.nodes import (
    PANEL,
    Candidates,
    NodeTable,
    NodeTree,
    PlacedTree,
    capacity,
    merged,
)
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices
from hpcsolve.algorithms.steiner_kmb.setting import Parameters, RoundStop, Setting, Work
from hpcsolve.algorithms.steiner_kmb.terminal_rows import chosen_rows
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import Part, State, part
from hpcsolve.device.select import on_all_ranks
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.wording import counted

MOST_SHAKES, SHAKING = 16, 1 << 21
"""In small graphs there are up to `MOST_SHAKES` shakes before ruin and recreate, as long as all of them take
about `SHAKING` steps. That is a tenth or two of a second."""
FEW_TERMINALS = 64
"""With no more terminals there are `shakes` of them at least: they find more there than ruin and recreate."""
KEYS_A_SEED = 1_000_003
"""The key of a shake is seed times this, plus its number, so that different seeds have different keys."""
PANELS_AT_ONCE = 256
"""Panels of the table that are copied at a time."""
NO_VERTICES = np.empty(0, np.uint32)


def best_tree(
    graph: Graph, net: Network, closure_tree: ClosureTree, run: Setting
) -> tuple[Indices | None, Work]:
    """Return the edges of the best tree, on rank 0, and this rank's work. Collective, parameters as in `kmb_tree`.

    Rounds go on until no vertex helps. Local search then improves the tree, and the branch vertices of the best
    tree so far become nodes too; both are repeated while the tree becomes lighter. Then half of the nodes are dropped
    (a shake), and the rounds begin again.
    """
    comm, stop = run.comm, run.stop
    # No distance is longer than the path to the nearest terminal, through the terminals' tree, and out again.
    keys = keys_for(graph, closure_tree.weight + 2 * int(net.nearest(net.terminals).distance.max()))
    room = capacity(len(net.terminals))
    nodes = terminal_tree(net, closure_tree, keys, room) if comm.rank == 0 else None
    search_graph = comm.once_per_host(partial(lay_out, graph, keys))
    table = NodeTable(net.device, keys, net.n, room, comm)
    rounds = Rounds(comm, table, nodes, stop, run.report, graph.scale,
                    state=state_of_rounds if stop.checkpoints.writer else None)
    stop.nbytes = table.rows.nbytes // 2
    shakes = shakes_for(net, run.parameters)
    new = _first_nodes(net, rounds, shakes)
    choice, k = chosen_rows(graph, keys, run.parameters, run.device, comm), len(net.terminals)
    prepared = searcher(graph, run.device, keys, choice.engine, search_graph=search_graph, searches=k)
    searches = row_search(prepared, graph, choice.engine, run.parameters.at_once, None, k, choice.hierarchy)
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
                new, rounds.joined = rounds.join(branches(net, rounds.tree)), True
            if comm.bcast(len(new)):
                continue
            if rounds.shakes == shakes:
                stop.broken_off = False
                break
            rounds.shakes, rounds.joined = rounds.shakes + 1, False
            rounds.shake(run.seed * KEYS_A_SEED + rounds.shakes)
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
    k = len(net.terminals)
    everyone, far = np.arange(k, dtype=np.uint32), np.full(k, keys.no_path, keys.dtype)
    far[0] = 0
    made = NodeTree(net.device, keys, k, room, net.terminals, everyone, 0 * everyone, far)
    number = np.searchsorted(net.terminals, closure_tree.second).astype(np.uint32)
    length = closure_tree.length.astype(keys.dtype)
    made.mend(Candidates(closure_tree.first, 0 * length, np.ones_like(closure_tree.first), number, length))
    return made


def _first_nodes(net: Network, rounds: Rounds, shakes: int) -> NDArray[np.uint32]:
    """Return the first new nodes (numbers, on rank 0), of a checkpoint or the terminals. Rank 0 gets its first tree."""
    if (saved := rounds.stop.checkpoints.saved) is not None:
        new = on_all_ranks(rounds.comm, lambda: resume_rounds(saved, rounds, net, shakes))
        rounds.best = 0 if rounds.tree is None else net.weight(rounds.tree)
        return new
    if rounds.comm.rank == 0:
        rounds.tree = locally_best(net, net.improved(net.shortest_path_tree()), rounds.stop.is_late)
        rounds.note(net.weight(rounds.tree))
    return np.arange(len(net.terminals), dtype=np.uint32)


def _with_paths(net: Network, prepared: Searcher, rounds: Rounds) -> Indices | None:
    """Return the nodes' tree, its edges replaced by paths, after local search, on rank 0. Collective."""
    pairs = rounds.comm.bcast(None if rounds.nodes is None else rounds.nodes.pairs())
    assert pairs is not None
    edges, relaxed = path_edges(net, prepared, pairs, rounds.comm, rounds.report)
    rounds.relaxed += relaxed
    found = rounds.comm.gather(edges)
    if found is None:
        return None
    tree = net.improved(net.spanning_tree(np.unique(np.concatenate(found))))
    return locally_best(net, tree, rounds.stop.is_late)


def branches(net: Network, tree: Indices | None) -> NDArray[np.uint32]:
    """Return the branch vertices of a tree, if there is one: no terminals, with more than two neighbours in it."""
    if tree is None:
        return NO_VERTICES
    degree = np.bincount(np.concatenate([net.edges.tails[tree], net.edges.heads[tree]]), minlength=net.n)
    return np.flatnonzero((degree > 2) & (net.is_terminal == 0)).astype(np.uint32)


@dataclass
class Rounds:
    """The table of all ranks and, on rank 0, the tree of nodes. All methods are collective.

    Attributes
    ----------
    nodes
        The tree of nodes, on rank 0.
    scale
        Scale of the graph's weights, for messages.
    best
        The weight of the best tree so far, on rank 0.
    history
        As in `Work`.
    number, relaxed
        Number of rounds so far; number of arcs that this rank has relaxed.
    tree, joined, shakes
        The best tree so far, on rank 0; whether its branch vertices have been tried; number of shakes so far.
    state
        Returns the state before the rows of new nodes (numbers, on rank 0) are there. Collective.
    """

    comm: Comm
    table: NodeTable
    nodes: NodeTree | None
    stop: RoundStop
    report: Report
    scale: int
    best: int = 0
    history: list[tuple[int, float, int]] = field(default_factory=list)
    number: int = 0
    relaxed: int = 0
    tree: Indices | None = None
    joined: bool = False
    shakes: int = 0
    state: Callable[[Rounds, NDArray[np.uint32]], State] | None = None

    def is_over(self, new: NDArray[np.uint32], weight: int | None = None) -> bool:
        """Return whether the run must stop, before the rows of new nodes (numbers, on rank 0). Save if it is time."""
        return self.stop.ends(weight, None if self.state is None else partial(self.state, self, new))

    def must_save(self) -> bool:
        """Return whether the run was interrupted, and its last state has not been saved."""
        return self.state is not None and self.stop.broken_off and not self.stop.saved

    def note(self, weight: int) -> None:
        """Note the weight of the best tree so far."""
        self.best = weight
        self.history.append((self.number, self.stop.seconds(), weight + self.stop.offset))

    def settle(self, search: RowSearch, new: NDArray[np.uint32]) -> None:
        """Repeat rounds, first with these new nodes (numbers, on rank 0), until none helps or the run must stop."""
        while True:
            vertices = self._search(search, new)
            if vertices is None:
                return
            self.number += 1
            self._mend(vertices)
            found = self._links(self.table.promising)
            new = NO_VERTICES if found is None or self.nodes is None else self.nodes.accept(found)
            if not self.comm.bcast(len(new)) or self.is_over(new, self.nodes.weight if self.nodes else None):
                return

    def join(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Make nodes of vertices (positions, given on rank 0), as many as fit, and return the new nodes' numbers."""
        others = self.comm.bcast(NO_VERTICES if self.nodes is None else np.setdiff1d(vertices, self.nodes.vertex))
        found = self._links(lambda tree: self.table.linked(tree, others))
        return NO_VERTICES if found is None or self.nodes is None else self.nodes.accept(found, whatever=True)

    def shake(self, key: int) -> None:
        """Drop about half of the nodes that are no terminals, so that others may come. The key decides which."""
        if self.nodes is not None:
            self.nodes.shake(key)
        self._mend(self.comm.bcast(NO_VERTICES if self.nodes is None else self.nodes.vertex))

    def _search(self, search: RowSearch, new: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
        """Fill in the rows of new nodes, and return the nodes' positions, or None if the run was to stop first."""
        chosen = NO_VERTICES, NO_VERTICES
        if self.nodes is not None:
            walk = self.nodes.walk()
            order = walk[np.isin(walk, new)]
            chosen = self.nodes.vertex[order], self.nodes.slot[order]
        vertices, slots = self.comm.bcast(chosen)
        relaxed, arrived = self.table.fill(search, vertices, slots, partial(self._is_over, new))
        self.relaxed += relaxed
        return vertices if arrived else None

    def _mend(self, new: NDArray[np.uint32]) -> None:
        """Turn the tree into the minimum spanning tree and drop useless nodes, until there are none.

        At first only edges at new nodes may be missing from the tree. After nodes were dropped, any others may.
        """
        while True:
            found = self._links(partial(self.table.promising, vertices=new))
            if found is not None and self.nodes is not None:
                self.nodes.mend(found)
            if not self.comm.bcast(self.nodes is not None and self.nodes.drop()):
                return
            new = self.comm.bcast(NO_VERTICES if self.nodes is None else self.nodes.vertex)

    def _links(self, find: Callable[[PlacedTree], Candidates]) -> Candidates | None:
        """Return on rank 0 what all ranks find for the present tree, with links that lead to nodes."""
        tree, order = (None, None) if self.nodes is None else self.nodes.tree()
        sent = self.comm.bcast(tree)
        assert sent is not None
        parts = self.comm.gather(find(sent))
        if parts is None or order is None:
            return None
        found = merged(parts)
        return replace(found, to=order[found.to])

    def _is_over(self, new: NDArray[np.uint32], done: float) -> bool:
        """Report progress after this share of a round's searches, and return whether the run must stop."""
        if self.nodes is not None:
            weights = self.best, self.nodes.weight
            best, now = (f"{(weight + self.stop.offset) / self.scale:.10g}" for weight in weights)
            text = f"round {self.number + 1}: {len(self.nodes.vertex)} nodes, their tree {now}, best {best}"
            self.report(0.6 * done if self.number == 0 else 0.7 - 0.1 / self.number, text)
        return self.is_over(new)


def state_of_rounds(rounds: Rounds, new: NDArray[np.uint32]) -> State:
    """Return the state while rows of new nodes (their numbers, on rank 0) may still be missing. Collective."""
    comm, nodes, table = rounds.comm, rounds.nodes, rounds.table
    slots = comm.bcast(None if nodes is None else _filled(nodes.slot, new, table))
    assert slots is not None
    parts = [_panels(table, slots, panels) for panels in _pieces(len(table.rows))]
    if nodes is not None:
        tree = np.empty(0, np.int64) if rounds.tree is None else rounds.tree.astype(np.int64)
        arrays = {"vertex": nodes.vertex, "slot": nodes.slot, "parent": nodes.parent, "edge": nodes.edge, "new": new,
                  "filled": slots, "tree": tree, **history_arrays(rounds.history)}
        parts += [part(name, 0, values) for name, values in arrays.items()]
    numbers = {"round": rounds.number, "key": 0 if nodes is None else nodes.key, "joined": int(rounds.joined),
               "shakes": rounds.shakes, "seconds": rounds.stop.seconds()}
    return State(numbers, parts, f"in round {rounds.number + 1}, with {counted(len(slots), 'row')}")


def resume_rounds(saved: Saved, rounds: Rounds, net: Network, shakes: int) -> NDArray[np.uint32]:
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


def history_arrays(history: Sequence[tuple[int, float, int]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that a checkpoint keeps of a history, by their names."""
    rows = np.array([(number, weight) for number, _, weight in history], np.int64).reshape(-1, 2)
    return {"history": rows, "seconds": np.array([seconds for _, seconds, _ in history], np.float64)}


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

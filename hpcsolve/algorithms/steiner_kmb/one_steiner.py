"""Iterated 1-Steiner: vertices join the terminals as nodes, as long as that makes the spanning tree of nodes lighter.

Kahng and Robins (1992). The nodes' distances to every vertex are a table (nodes.py). The ranks fill it by a search from
each node, and each rank has the columns of its own vertices. In a round each rank measures its vertices. Rank 0 makes
nodes of those that help, the most promising first, each only if it still helps. The next round begins with their rows.
A node with two neighbours in the tree is of no use and is dropped. At last the edges of the tree become paths of the
graph. A checkpoint keeps the tree of nodes, their rows of the table, and the best tree so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import Prepared
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network
from hpcsolve.algorithms.steiner_kmb.nodes import Candidates, NodeTable, NodeTree, PlacedTree, capacity
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, ReducedGraph
from hpcsolve.algorithms.steiner_kmb.setting import Parameters, Setting, Work
from hpcsolve.algorithms.steiner_kmb.terminal_rows import keys_for, path_edges, terminal_searches
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.select import on_all_ranks
from hpcsolve.wording import counted

MOST_SHAKES, SHAKING = 16, 1 << 21
"""In small graphs there are up to `MOST_SHAKES` shakes before ruin and recreate, as long as all of them take
about `SHAKING` steps. That is a tenth or two of a second."""
FEW_TERMINALS = 64
"""With no more terminals there are `shakes` of them at least: they find more there than ruin and recreate."""
KEYS_A_SEED = 1_000_003
"""The key of a shake is seed times this, plus its number, so that different seeds have different keys."""
NO_VERTICES = np.empty(0, np.uint32)
T = TypeVar("T")


def best_tree(
    smaller: ReducedGraph, net: Network, closure_tree: ClosureTree, run: Setting
) -> tuple[Indices | None, Work]:
    """Return the edges of the best tree, on rank 0, and this rank's work. Collective, parameters as in `kmb_tree`.

    Rounds go on until no vertex helps. Local search then improves the tree, and the branch vertices of the best
    tree so far become nodes too; both are repeated while the tree becomes lighter. Then half of the nodes are dropped
    (a shake), and the rounds begin again.
    """
    graph, comm, stop, k = smaller.graph, run.comm, run.stop, len(net.terminals)
    # No distance is longer than the path to the nearest terminal, through the terminals' tree, and out again.
    longest = closure_tree.weight + 2 * int(net.nearest(net.terminals).distance.max())
    keys = keys_for(graph, longest)
    nodes = terminal_tree(net, closure_tree, keys, capacity(k)) if comm.rank == 0 else None
    table = NodeTable(net.device, keys, net.n, capacity(k), comm)
    rounds = Rounds(run, smaller, net, table, nodes)
    stop.nbytes = table.rows.nbytes // 2
    shakes = shakes_for(net, run.parameters)
    new = rounds.first_nodes(shakes)
    prepared, row_search = terminal_searches(graph, keys, run.parameters, run.device, comm, k, longest)
    with prepared, row_search() as rows:
        while not rounds.is_over(new, rounds.best):
            rounds.settle(rows, new)
            if not rounds.number:  # the time was up before the terminals' rows were there
                break
            tree = rounds.with_paths(prepared)
            lighter = comm.bcast(tree is not None and net.weight(tree) < rounds.best)
            if lighter and tree is not None:
                rounds.tree = tree
                rounds.note(net.weight(tree))
            # Perhaps it is over before the rows of the last nodes are there.
            if stop.is_over(rounds.best + smaller.offset) and not (run.writes and stop.broken_off and not stop.saved):
                break
            new = NO_VERTICES
            if lighter or not rounds.joined:
                new, rounds.joined = rounds.join(), True
            if comm.bcast(len(new)):
                continue
            if rounds.shakes == shakes:
                stop.broken_off = False
                break
            rounds.shakes, rounds.joined = rounds.shakes + 1, False
            rounds.shake(run.seed * KEYS_A_SEED + rounds.shakes)
        if rounds.tree is not None and rounds.history[-1][0] < rounds.number:
            rounds.note(rounds.best)
        work = Work(rounds.relaxed, table.sent, rounds.number, rounds.history)
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


@dataclass
class Rounds:
    """The table of all ranks and, on rank 0, the tree of nodes. All methods are collective.

    Attributes
    ----------
    nodes
        The tree of nodes, on rank 0.
    best
        The weight of the best tree so far, on rank 0. As all weights here, it is that in the reduced graph.
    history
        As in `Work`.
    number, relaxed
        Number of rounds so far; number of arcs that this rank has relaxed.
    tree, joined, shakes
        The best tree so far, on rank 0; whether its branch vertices have been tried; number of shakes so far.
    """

    run: Setting
    smaller: ReducedGraph
    net: Network
    table: NodeTable
    nodes: NodeTree | None
    best: int = 0
    history: list[tuple[int, float, int]] = field(default_factory=list)
    number: int = 0
    relaxed: int = 0
    tree: Indices | None = None
    joined: bool = False
    shakes: int = 0

    def first_nodes(self, shakes: int) -> NDArray[np.uint32]:
        """Return the first new nodes (numbers, on rank 0), of a checkpoint or the terminals. Rank 0 gets a first tree.

        Parameters
        ----------
        shakes
            Number of shakes in all.
        """
        net, saved = self.net, self.run.saved
        if saved is not None:
            new = on_all_ranks(self.run.comm, lambda: self.resume(saved, shakes))
            self.best = 0 if self.tree is None else net.weight(self.tree)
            return new
        if self.nodes is not None:
            self.tree = net.locally_best(net.improved(net.shortest_path_tree()), self.run.stop.is_late)
            self.note(net.weight(self.tree))
        return np.arange(len(net.terminals), dtype=np.uint32)

    def is_over(self, new: NDArray[np.uint32], weight: int | None = None) -> bool:
        """Return whether the run must stop, before the rows of new nodes (numbers, on rank 0). Save if it is time."""
        weight = None if weight is None else weight + self.smaller.offset
        return self.run.ends(weight, partial(self.state, new))

    def note(self, weight: int) -> None:
        """Note the weight of the best tree so far."""
        self.best = weight
        self.history.append((self.number, self.run.stop.seconds(), weight + self.smaller.offset))

    def settle(self, search: Prepared, new: NDArray[np.uint32]) -> None:
        """Repeat rounds, first with these new nodes (numbers, on rank 0), until none helps or the run must stop."""
        while True:
            vertices = self._search(search, new)
            if vertices is None:
                return
            self.number += 1
            self._mend(vertices)
            new = self._accepted(self.table.promising)
            if not self.run.comm.bcast(len(new)) or self.is_over(new, self.nodes.weight if self.nodes else None):
                return

    def with_paths(self, prepared: Prepared) -> Indices | None:
        """Return the nodes' tree, its edges replaced by paths, after local search, on rank 0."""
        net = self.net
        edges, relaxed = path_edges(net, prepared, self._sent(NodeTree.pairs), self.run.comm, self.run.report)
        self.relaxed += relaxed
        found = self.run.comm.gather(edges)
        if found is None:
            return None
        tree = net.improved(net.spanning_tree(np.unique(np.concatenate(found))))
        return net.locally_best(tree, self.run.stop.is_late)

    def join(self) -> NDArray[np.uint32]:
        """Make nodes of the best tree's branch vertices, as many as fit, and return the new nodes' numbers.

        They are no terminals, and have more than two neighbours in the tree.
        """
        vertices, net = NO_VERTICES, self.net
        if self.tree is not None:
            degree = net.edges.part(self.tree).degrees(net.n)
            vertices = np.flatnonzero((degree > 2) & (net.is_terminal == 0)).astype(np.uint32)
        others = self._sent(lambda nodes: np.setdiff1d(vertices, nodes.vertex))
        return self._accepted(lambda tree: self.table.linked(tree, others), whatever=True)

    def shake(self, key: int) -> None:
        """Drop about half of the nodes that are no terminals, so that others may come. The key decides which."""
        if self.nodes is not None:
            self.nodes.shake(key)
        self._mend(self._sent(lambda nodes: nodes.vertex))

    def state(self, new: NDArray[np.uint32]) -> State:
        """Return what a checkpoint keeps while rows of new nodes (numbers, on rank 0) may still be missing.

        The rows of all nodes are there but for new ones that are not `ready`.
        """
        nodes, ready = self.nodes, self.table.ready
        slots = self._sent(lambda nodes: np.setdiff1d(nodes.slot, nodes.slot[new][~ready[nodes.slot[new]]]))
        parts = self.table.parts(slots)
        if nodes is not None:
            tree = np.empty(0, np.int64) if self.tree is None else self.tree.astype(np.int64)
            arrays = {"vertex": nodes.vertex, "slot": nodes.slot, "parent": nodes.parent, "edge": nodes.edge,
                      "new": new, "filled": slots, "tree": tree, **history_arrays(self.history)}
            parts += [part(name, 0, values) for name, values in arrays.items()]
        numbers = {"round": self.number, "key": 0 if nodes is None else nodes.key, "joined": int(self.joined),
                   "shakes": self.shakes, "seconds": self.run.stop.seconds()}
        return State(numbers, parts, f"in round {self.number + 1}, with {counted(len(slots), 'row')}")

    def resume(self, saved: Saved, shakes: int) -> NDArray[np.uint32]:
        """Go on from a checkpoint, and return the numbers of the new nodes on rank 0, elsewhere none."""
        self.number, self.shakes = saved.integer("round"), saved.integer("shakes", most=shakes)
        self.joined = bool(saved.integer("joined", most=1))
        self.run.stop.resume(saved)
        room = self.table.room
        slots = saved.gathered("filled", (), np.uint32, range(room + 1), range(room))
        self.table.resume(saved, slots)
        if self.nodes is None:
            return NO_VERTICES
        self.tree, self.history = saved_tree(saved, "tree", self.net), saved_history(saved)
        return self.nodes.resume(saved, slots, self.net.n)

    def _search(self, search: Prepared, new: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
        """Fill in the rows of new nodes, and return the nodes' positions, or None if the run was to stop first."""
        def chosen(nodes: NodeTree) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
            walk = nodes.walk()
            order = walk[np.isin(walk, new)]
            return nodes.vertex[order], nodes.slot[order]

        vertices, slots = self._sent(chosen)
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
            if not self._sent(NodeTree.drop):
                return
            new = self._sent(lambda nodes: nodes.vertex)

    def _accepted(self, find: Callable[[PlacedTree], Candidates], whatever: bool = False) -> NDArray[np.uint32]:
        """Return the numbers of the nodes that rank 0 makes of what all ranks find, on other ranks none."""
        found = self._links(find)
        return NO_VERTICES if found is None or self.nodes is None else self.nodes.accept(found, whatever)

    def _links(self, find: Callable[[PlacedTree], Candidates]) -> Candidates | None:
        """Return on rank 0 what all ranks find for the present tree, with links that lead to nodes."""
        tree, order = self._sent(NodeTree.tree)
        parts = self.run.comm.gather(find(tree))
        if parts is None:
            return None
        found = Candidates.joined(parts)
        return replace(found, to=order[found.to])

    def _sent(self, make: Callable[[NodeTree], T]) -> T:
        """Return on all ranks what rank 0 makes of the tree of nodes."""
        found = self.run.comm.bcast(None if self.nodes is None else make(self.nodes))
        assert found is not None
        return found

    def _is_over(self, new: NDArray[np.uint32], done: float) -> bool:
        """Report progress after this share of a round's searches, and return whether the run must stop."""
        if self.nodes is not None:
            best, now = (self.smaller.in_own_unit(weight) for weight in (self.best, self.nodes.weight))
            text = f"round {self.number + 1}: {len(self.nodes.vertex)} nodes, their tree {now}, best {best}"
            self.run.report(0.6 * done if self.number == 0 else 0.7 - 0.1 / self.number, text)
        return self.is_over(new)


def saved_tree(saved: Saved, name: str, net: Network) -> Indices:
    """Return a tree of a checkpoint, which has all terminals, as numbers of edges."""
    edges = len(net.edges.weights)
    tree = saved.gathered(name, (), np.int64, range(edges + 1), range(edges))
    inside = net.vertices_of(tree)
    inside[net.terminals] = True
    component = net.edges.part(tree).components(net.n)[inside]
    saved.require(int(inside.sum()) == len(tree) + 1 and bool((component == component[0]).all()), "a tree")
    return tree


def history_arrays(history: Sequence[tuple[int, float, int]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that a checkpoint keeps of a history, by their names."""
    rows = np.array([(number, weight) for number, _, weight in history], np.int64).reshape(-1, 2)
    return {"history": rows, "seconds": np.array([seconds for _, seconds, _ in history], np.float64)}


def saved_history(saved: Saved) -> list[tuple[int, float, int]]:
    """Return the history of a checkpoint: number, seconds and weight."""
    rows = saved.gathered("history", (2,), np.int64, ANY_COUNT)
    seconds = saved.gathered("seconds", (), np.float64, range(len(rows), len(rows) + 1))
    return [(number, at, weight) for (number, weight), at in zip(rows.tolist(), seconds.tolist())]

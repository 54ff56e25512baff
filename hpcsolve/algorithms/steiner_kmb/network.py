"""A Steiner problem as the functions of cuda_src/host read it, trees by single searches, and local search on trees.

The functions run on the CPU whatever the job's device. The trees are Mehlhorn's tree of the terminal distance graph,
and that of the shortest-path heuristic (cuda_src/host/steiner_tree.cpp). Local search is key-path exchange, and
key-vertex elimination after it (cuda_src/host/tree_moves.cpp). A pass makes all moves that share no vertex.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.reduced_graph import Edges, Indices, ReducedGraph, reduced
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.graph import Graph

TREE_FILE, MOVES_FILE = "host/steiner_tree", "host/tree_moves"
PATHS, VERTICES = "paths", "vertices"
"""The kinds of moves: key-path exchange and key-vertex elimination."""
ROOM = {PATHS: 8, VERTICES: 4}
"""The most edges in all moves of a pass, for each vertex."""
BUDGET = 1 << 22
"""The most arcs and vertices that a pass of key-vertex elimination may look at. In a graph where it would look at more,
it does nothing: little would be gained for the time."""


@dataclass(frozen=True)
class Network:
    """A graph with terminals, in the types of the functions.

    Attributes
    ----------
    device
        The CPU's cores.
    edges
        The edges of the graph, in the order of its rows. A tree is an array of their numbers.
    terminals
        Positions, ascending.
    is_terminal
        Shape (n,): 1 for a terminal, else 0.
    offsets, heads, weights
        The rows of the graph.
    """

    device: HostDevice
    n: int
    edges: Edges
    terminals: NDArray[np.uint32]
    is_terminal: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    heads: NDArray[np.uint32]
    weights: NDArray[np.uint64]

    @staticmethod
    def bytes_for(n: int, arcs: int) -> int:
        """Return the bytes of a network with so many vertices and arcs: all that is declared above."""
        return 4 * n + 4 * n + (4 + 8) * arcs + 24 * arcs // 2

    def weight(self, tree: Indices) -> int:
        """Return the exact weight of a tree."""
        return int(self.edges.weights[tree].sum())

    @cached_property
    def tails(self) -> NDArray[np.uint32]:
        """The vertex in whose row each arc, an entry of the rows, stands."""
        return np.repeat(np.arange(self.n, dtype=np.uint32), np.diff(self.offsets))

    @cached_property
    def edge_of_arc(self) -> Indices:
        """The number of the edge of each arc."""
        return self.edge_numbers(self.tails, self.heads)

    @cached_property
    def back(self) -> NDArray[np.uint32]:
        """The opposite of each arc. Rows ascend, and so do the heads in each: a sort by heads gives the opposites."""
        return np.argsort(self.heads, kind="stable").astype(np.uint32)

    def terminal_numbers(self) -> NDArray[np.uint32]:
        """Return the number of each terminal, by vertex. The entries of other vertices mean nothing."""
        return np.cumsum(self.is_terminal, dtype=np.uint32) - self.is_terminal

    def group(self) -> dict[str, int | NDArray[Any]]:
        """Return the functions' group `net`."""
        return {
            "n": self.n, "count": len(self.terminals), "terminals": self.terminals, "is_terminal": self.is_terminal,
            "offsets": self.offsets, "heads": self.heads, "weights": self.weights,
        }

    def edge_numbers(self, ends: NDArray[Any], others: NDArray[Any]) -> Indices:
        """Return the numbers of the edges between `ends` and `others`, entry by entry."""
        first, second = np.minimum(ends, others).astype(np.int64), np.maximum(ends, others).astype(np.int64)
        found: Indices = np.searchsorted(self.edges.tails * self.n + self.edges.heads, first * self.n + second)
        return found

    def vertices_of(self, tree: Indices) -> NDArray[np.bool_]:
        """Return which vertices a tree has, shape (n,)."""
        inside = np.zeros(self.n, dtype=bool)
        inside[self.edges.tails[tree]] = inside[self.edges.heads[tree]] = True
        return inside

    def spanning_tree(self, edges: Indices) -> Indices:
        """Return the minimum spanning tree of some edges, pruned of leaves that are no terminals, in ascending order.
        """
        edges = edges[np.argsort(self.edges.weights[edges], kind="stable")]
        return np.sort(edges[forest(self.device, self.edges.tails[edges], self.edges.heads[edges], self.is_terminal)])

    def improved(self, tree: Indices) -> Indices:
        """Return the tree, replaced by the pruned minimum spanning tree of its vertices as long as that is lighter."""
        while True:
            inside = self.vertices_of(tree)
            candidate = self.spanning_tree(np.flatnonzero(inside[self.edges.tails] & inside[self.edges.heads]))
            if self.weight(candidate) >= self.weight(tree):
                return tree
            tree = candidate

    def nearest(self, bases: NDArray[np.uint32]) -> Regions:
        """Return the regions of bases (positions), by one search from all bases."""
        found = Regions(np.empty(self.n, np.uint64), np.empty(self.n, np.uint32), np.empty(self.n, np.uint32))
        self.device.call(TREE_FILE, "steiner_tree_regions", net=self.group(), count=len(bases), bases=bases,
                         distance=found.distance, before=found.before, base=found.base)
        return found

    def closure(self) -> ClosureTree:
        """Return the minimum spanning tree of the terminal distance graph, by one search from all terminals.

        An edge of the graph between two regions stands for the path through it from base to base. Such paths suffice
        (Mehlhorn).
        """
        near = self.nearest(self.terminals)
        distance, base = near.distance, near.base
        tails, heads = self.edges.tails, self.edges.heads
        across = np.flatnonzero(base[tails] != base[heads])
        lengths = distance[tails[across]] + self.edges.weights[across] + distance[heads[across]]
        order = np.argsort(lengths, kind="stable")
        first, second = base[tails[across[order]]], base[heads[across[order]]]
        kept = forest(self.device, first, second, self.is_terminal)
        return ClosureTree(first[kept], second[kept], lengths[order][kept])

    def shortest_path_tree(self, root: int = 0) -> Indices:
        """Return the tree grown from terminal number `root`, always by a shortest path to the nearest terminal outside.
        """
        before, inside = np.empty((2, self.n), np.uint32)
        self.device.call(TREE_FILE, "steiner_tree_grow", net=self.group(), root=root, before=before, inside=inside)
        inside[self.terminals[root]] = 0  # the root has no vertex before it
        vertices = np.flatnonzero(inside)
        return self.edge_numbers(vertices, before[vertices])

    def locally_best(
        self, tree: Indices, is_over: Callable[[], bool] = lambda: False, kinds: Sequence[str] = (PATHS, VERTICES)
    ) -> Indices:
        """Return the tree after passes of moves, which end when none makes it lighter, or when the search is over.

        A kind is tried only where no move of the kinds before it makes the tree lighter.
        """
        while True:
            for kind in kinds:
                if not len(tree) or is_over():
                    return tree
                lighter = self.after_moves(tree, self.moves(tree, kind))
                if lighter is not None:
                    tree = lighter
                    break
            else:
                return tree

    def moves(self, tree: Indices, kind: str, room: int | None = None, budget: int = BUDGET) -> list[Move]:
        """Return the best move of each key path, or of each key vertex, that has one, the greatest gain first.

        Parameters
        ----------
        kind
            `PATHS` or `VERTICES`.
        room
            The most edges in all moves of a pass. A move that does not fit is left to the next pass.
        budget
            The most work of key-vertex elimination.
        """
        more = {"budget": budget} if kind == VERTICES else {}
        made = self.device.call(MOVES_FILE, f"tree_moves_{kind}", net=self.group(), root=int(self.terminals[0]),
                               edges=len(tree), edge=tree.astype(np.uint32), room=room or ROOM[kind] * self.n, **more)
        pairs = made["pairs"].reshape(-1, 2)
        edges, found, begin = self.edge_numbers(pairs[:, 0], pairs[:, 1]), [], 0
        for gain, (middle, end) in zip(made["gains"].tolist(), (made["ends"] // 2).reshape(-1, 2).tolist()):
            found.append(Move(gain, edges[begin:middle], edges[middle:end], pairs[begin:end].reshape(-1)))
            begin = end
        return sorted(found, key=lambda move: -move.gain)

    def after_moves(self, tree: Indices, found: list[Move]) -> Indices | None:
        """Return a lighter tree, improved, after all moves that share no vertex with one of greater gain.

        If that is no lighter tree, it is the one after the first half, quarter, ... of these moves, or else None.
        """
        touched, chosen = np.zeros(self.n, dtype=bool), list[Move]()
        for move in found:
            if not touched[move.vertices].any():
                touched[move.vertices] = True
                chosen.append(move)
        while chosen:
            left = np.setdiff1d(tree, np.concatenate([move.removed for move in chosen]))
            candidate = self.spanning_tree(np.union1d(left, np.concatenate([move.added for move in chosen])))
            inside = self.vertices_of(candidate)
            whole = int(inside.sum()) == len(candidate) + 1 and bool(inside[self.terminals].all())
            if whole and self.weight(candidate) < self.weight(tree):
                return self.improved(candidate)
            chosen = chosen[: len(chosen) // 2]
        return None


def network(graph: Graph, device: HostDevice) -> Network:
    """Return the network of a graph with terminals and fewer than 2^32 arcs."""
    assert graph.terminals is not None
    is_terminal = np.zeros(graph.n, np.uint32)
    is_terminal[graph.terminals] = 1
    return Network(
        device, graph.n, Edges.of(graph), np.sort(graph.terminals).astype(np.uint32), is_terminal,
        graph.offsets.astype(np.uint32), graph.heads.astype(np.uint32), graph.weights.astype(np.uint64),
    )


def prepared(graph: Graph, host: HostDevice) -> tuple[ReducedGraph, ClosureTree]:
    """Return the reduced graph, and the minimum spanning tree of its terminal distance graph."""
    smaller = reduced(graph)
    return smaller, network(smaller.graph, host).closure()


def forest(
    host: HostDevice, tails: NDArray[Any], heads: NDArray[Any], is_terminal: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """Return which edges the spanning forest in this order keeps after pruning leaves that are no terminals."""
    kept = np.empty(len(tails), np.uint32)
    host.call(
        TREE_FILE, "steiner_tree_span", n=len(is_terminal), edges=len(tails), tails=tails.astype(np.uint32),
        heads=heads.astype(np.uint32), is_terminal=is_terminal, kept=kept,
    )
    return kept > 0


@dataclass(frozen=True)
class ClosureTree:
    """A minimum spanning tree of the terminal distance graph (metric closure).

    Attributes
    ----------
    first, second, length
        The edges, the shortest first: the positions of two terminals, and their distance.
    """

    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    length: NDArray[np.uint64]

    @property
    def weight(self) -> int:
        """The weight, which every such tree has."""
        return int(self.length.sum())

    @property
    def bottleneck(self) -> int:
        """The length of the longest edge, which every such tree has."""
        return int(self.length.max(initial=0))


@dataclass(frozen=True)
class Regions:
    """The nearest base of each vertex (Voronoi regions). The bases are some of the vertices.

    Attributes
    ----------
    distance, before, base
        Shape (n,): the distance to the nearest base, the neighbour on the path there, and the base (position).
    """

    distance: NDArray[np.uint64]
    before: NDArray[np.uint32]
    base: NDArray[np.uint32]


@dataclass(frozen=True)
class Move:
    """The exchange of key paths for lighter ones between the components that their removal leaves.

    Attributes
    ----------
    gain
        How much lighter the tree becomes.
    removed, added
        Edges of the key paths and of the paths in their place.
    vertices
        The ends of all of them.
    """

    gain: int
    removed: Indices
    added: Indices
    vertices: NDArray[np.uint32]

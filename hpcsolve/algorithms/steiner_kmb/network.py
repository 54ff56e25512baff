"""A Steiner problem as the functions of cuda_src/host read it, and trees by single searches.

The functions run on the CPU whatever the job's device. The trees are Mehlhorn's tree of the terminal distance graph,
and that of the shortest-path heuristic (cuda_src/host/steiner_tree.cpp).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.reduced_graph import Edges, Indices, edges_of
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.graph import Graph

TREE_FILE, REDUCTIONS_FILE = "host/steiner_tree", "host/reductions"


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
        return edge_numbers(self, self.tails, self.heads)

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


def network(graph: Graph, device: HostDevice) -> Network:
    """Return the network of a graph with terminals and fewer than 2^32 arcs."""
    assert graph.terminals is not None
    is_terminal = np.zeros(graph.n, np.uint32)
    is_terminal[graph.terminals] = 1
    return Network(
        device, graph.n, edges_of(graph), np.sort(graph.terminals).astype(np.uint32), is_terminal,
        graph.offsets.astype(np.uint32), graph.heads.astype(np.uint32), graph.weights.astype(np.uint64),
    )


def edge_numbers(net: Network, ends: NDArray[Any], others: NDArray[Any]) -> Indices:
    """Return the numbers of the edges between `ends` and `others`, entry by entry."""
    first, second = np.minimum(ends, others).astype(np.int64), np.maximum(ends, others).astype(np.int64)
    found: Indices = np.searchsorted(net.edges.tails * net.n + net.edges.heads, first * net.n + second)
    return found


def spanning_tree(net: Network, edges: Indices) -> Indices:
    """Return the minimum spanning tree of some edges, pruned of leaves that are no terminals, in ascending order."""
    edges = edges[np.argsort(net.edges.weights[edges], kind="stable")]
    return np.sort(edges[forest(net.device, net.edges.tails[edges], net.edges.heads[edges], net.is_terminal)])


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


def nearest(net: Network, bases: NDArray[np.uint32]) -> Regions:
    """Return the regions of bases (positions), by one search from all bases."""
    found = Regions(np.empty(net.n, np.uint64), np.empty(net.n, np.uint32), np.empty(net.n, np.uint32))
    net.device.call(
        TREE_FILE, "steiner_tree_regions", net=net.group(), count=len(bases), bases=bases, distance=found.distance,
        before=found.before, base=found.base,
    )
    return found


def closure(net: Network) -> ClosureTree:
    """Return the minimum spanning tree of the terminal distance graph, by one search from all terminals.

    An edge of the graph between two regions stands for the path through it from base to base. Such paths suffice
    (Mehlhorn).
    """
    near = nearest(net, net.terminals)
    distance, base = near.distance, near.base
    tails, heads = net.edges.tails, net.edges.heads
    across = np.flatnonzero(base[tails] != base[heads])
    lengths = distance[tails[across]] + net.edges.weights[across] + distance[heads[across]]
    order = np.argsort(lengths, kind="stable")
    first, second = base[tails[across[order]]], base[heads[across[order]]]
    kept = forest(net.device, first, second, net.is_terminal)
    return ClosureTree(first[kept], second[kept], lengths[order][kept])


def shortest_path_tree(net: Network, root: int = 0) -> Indices:
    """Return the tree grown from terminal number `root`, always by a shortest path to the nearest terminal outside."""
    before, inside = np.empty((2, net.n), np.uint32)
    net.device.call(TREE_FILE, "steiner_tree_grow", net=net.group(), root=root, before=before, inside=inside)
    inside[net.terminals[root]] = 0  # the root has no vertex before it
    vertices = np.flatnonzero(inside)
    return edge_numbers(net, vertices, before[vertices])


def improved(net: Network, tree: Indices) -> Indices:
    """Return the tree, replaced by the pruned minimum spanning tree of its vertices as long as that is lighter."""
    while True:
        inside = vertices_of(net, tree)
        edges = np.flatnonzero(inside[net.edges.tails] & inside[net.edges.heads])
        candidate = spanning_tree(net, edges)
        if net.weight(candidate) >= net.weight(tree):
            return tree
        tree = candidate


def vertices_of(net: Network, tree: Indices) -> NDArray[np.bool_]:
    """Return which vertices a tree has, shape (n,)."""
    inside = np.zeros(net.n, dtype=bool)
    inside[net.edges.tails[tree]] = inside[net.edges.heads[tree]] = True
    return inside

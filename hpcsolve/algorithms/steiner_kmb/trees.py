"""Trees by single searches: Mehlhorn's tree of the terminal distance graph, and the shortest-path heuristic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import TREE_FILE, Network, edge_numbers, forest, spanning_tree
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices


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

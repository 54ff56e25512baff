"""Trees from single searches: Mehlhorn's closure, the shortest-path heuristic, the spanning tree of what it found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Network, New, edge_numbers, forest, launched, spanning_tree
from hpcsolve.algorithms.steiner_kmb.reduce import Indices


@dataclass(frozen=True)
class ClosureTree:
    """A minimum spanning tree of the complete graph of distances between the terminals.

    Attributes
    ----------
    first, second, length
        Its edges: positions of two terminals, and how far one is from the other; the shortest comes first.
    """

    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    length: NDArray[np.uint64]

    @property
    def weight(self) -> int:
        """The same for every such tree."""
        return int(self.length.sum())

    @property
    def bottleneck(self) -> int:
        """The longest edge, the same for every such tree."""
        return int(self.length.max(initial=0))


@dataclass(frozen=True)
class Regions:
    """Which of some vertices each vertex is nearest to.

    Attributes
    ----------
    distance, before, base
        Shape (n,): how far it is, the neighbour on the way, and which it is.
    """

    distance: NDArray[np.uint64]
    before: NDArray[np.uint32]
    base: NDArray[np.uint32]


def nearest(net: Network, bases: NDArray[np.uint32]) -> Regions:
    """One search from all these vertices."""
    made = {"distance": New(net.n, np.uint64), "before": New(net.n, np.uint32), "base": New(net.n, np.uint32)}
    return Regions(**launched(
        net.device, "steiner/steiner_tree", "steiner_tree_regions", net=net.group(), count=len(bases), bases=bases,
        scratch=New(2 * net.n, np.uint32, scratch=True), **made,
    ))


def closure(net: Network) -> ClosureTree:
    """By one search from all terminals: of the edges between two regions, the shortest way from base to base first."""
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
    """The tree that grows from terminal number `root` along shortest paths to the terminal that is nearest to it."""
    found = launched(
        net.device, "steiner/steiner_tree", "steiner_tree_grow", net=net.group(), root=root,
        scratch=New(2 * net.n, np.uint32, scratch=True), distance=New(net.n, np.uint64, scratch=True),
        before=New(net.n, np.uint32), inside=New(net.n, np.uint32),
    )
    before, inside = found["before"], found["inside"]
    inside[net.terminals[root]] = 0  # has no vertex before it
    vertices = np.flatnonzero(inside)
    return edge_numbers(net, vertices, before[vertices])


def improved(net: Network, tree: Indices) -> Indices:
    """The minimum spanning tree of all edges between the tree's vertices, pruned; again as long as it gets lighter."""
    while True:
        inside = vertices_of(net, tree)
        edges = np.flatnonzero(inside[net.edges.tails] & inside[net.edges.heads])
        candidate = spanning_tree(net, edges)
        if net.weight(candidate) >= net.weight(tree):
            return tree
        tree = candidate


def vertices_of(net: Network, tree: Indices) -> NDArray[np.bool_]:
    """Shape (n,): whether the tree has a vertex."""
    inside = np.zeros(net.n, dtype=bool)
    inside[net.edges.tails[tree]] = inside[net.edges.heads[tree]] = True
    return inside

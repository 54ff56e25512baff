"""The best tree so far, and trees on the arcs that a dual ascent saturated (ascend and prune)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Network, spanning_tree
from hpcsolve.algorithms.steiner_kmb.reductions.reduced_cost import Arcs
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices, Mask, ReducedGraph
from hpcsolve.algorithms.steiner_kmb.trees import improved, shortest_path_tree


@dataclass
class Incumbent:
    """The best tree so far in the graph as it was read.

    Attributes
    ----------
    whole
        The graph as it was read.
    tree, weight
        The numbers of the tree's edges, ascending, and its weight, which is -1 as long as there is no tree.
    """

    whole: Network
    tree: Indices
    weight: int = -1

    def offer(self, smaller: ReducedGraph, tree: Indices) -> bool:
        """Take a tree of a reduced graph if it is lighter, and return whether it is."""
        return self.offer_restored(smaller.restored(tree))

    def offer_restored(self, edges: Indices) -> bool:
        """Take the spanning tree of edges of the graph as it was read, if it is lighter, and return whether it is."""
        tree = spanning_tree(self.whole, edges)
        weight = self.whole.weight(tree)
        if 0 <= self.weight <= weight:
            return False
        self.tree, self.weight = tree, weight
        return True


def part_of(arcs: Arcs, chosen: Mask) -> Network:
    """Return the network with the chosen edges alone, which are numbered anew."""
    net, mask = arcs.net, chosen[arcs.edge]
    counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    return replace(net, edges=net.edges.part(chosen), offsets=counts[net.offsets].astype(np.uint32),
                   heads=net.heads[mask], weights=net.weights[mask])


def saturated(arcs: Arcs, rest: NDArray[np.uint64]) -> Mask:
    """Return which edges have a saturated arc."""
    mask = np.zeros(len(arcs.net.edges), dtype=bool)
    mask[arcs.edge[rest == 0]] = True
    return mask


def pruned_ascent(arcs: Arcs, rest: NDArray[np.uint64], root: int) -> Indices:
    """Return a tree grown from terminal number `root` on the saturated edges, improved on all edges."""
    chosen = saturated(arcs, rest)
    tree = np.flatnonzero(chosen)[shortest_path_tree(part_of(arcs, chosen), root)]
    return improved(arcs.net, tree)

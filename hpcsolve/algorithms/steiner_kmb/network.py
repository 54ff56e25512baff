"""A Steiner problem as the functions of cuda_src/host read it, which run on the CPU whatever the job's device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.reductions.simple import Edges, Indices, edges_of
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

    def tails(self) -> NDArray[np.uint32]:
        """Return the vertex in whose row each arc stands."""
        return np.repeat(np.arange(self.n, dtype=np.uint32), np.diff(self.offsets))

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

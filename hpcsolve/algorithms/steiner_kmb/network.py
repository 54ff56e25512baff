"""A Steiner problem as the kernels that are marked for the CPU read it, and how they are launched: one block each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.reduce import Edges, Indices, edges_of
from hpcsolve.device.base import Buffer, Device
from hpcsolve.problems.graph import Graph


@dataclass(frozen=True)
class Network:
    """A graph with terminals, in the types of the kernels.

    Attributes
    ----------
    edges
        Of the graph, in the order of its rows; trees are lists of their numbers.
    wanted
        Shape (n,): 1 for a terminal.
    """

    device: Device
    n: int
    edges: Edges
    terminals: NDArray[np.uint32]
    wanted: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    heads: NDArray[np.uint32]
    weights: NDArray[np.uint64]

    def weight(self, tree: Indices) -> int:
        """Of a tree, exact."""
        return int(self.edges.weights[tree].sum())


def network(graph: Graph, device: Device) -> Network:
    """The network of a graph with fewer than 2^32 arcs."""
    assert graph.terminals is not None
    wanted = np.zeros(graph.n, np.uint32)
    wanted[graph.terminals] = 1
    return Network(
        device, graph.n, edges_of(graph), np.sort(graph.terminals).astype(np.uint32), wanted,
        graph.offsets.astype(np.uint32), graph.heads.astype(np.uint32), graph.weights.astype(np.uint64),
    )  # fmt: skip


def edge_numbers(net: Network, ends: NDArray[Any], others: NDArray[Any]) -> Indices:
    """The numbers of the edges between these vertices."""
    first, second = np.minimum(ends, others).astype(np.int64), np.maximum(ends, others).astype(np.int64)
    found: Indices = np.searchsorted(net.edges.tails * net.n + net.edges.heads, first * net.n + second)
    return found


def spanning_tree(net: Network, edges: Indices) -> Indices:
    """Of these edges those of a minimum spanning tree without ends that are no terminals; in ascending order."""
    edges = edges[np.argsort(net.edges.weights[edges], kind="stable")]
    return np.sort(edges[forest(net.device, net.edges.tails[edges], net.edges.heads[edges], net.wanted)])


def forest(
    device: Device, tails: NDArray[Any], heads: NDArray[Any], wanted: NDArray[np.uint32]
) -> NDArray[np.bool_]:  # fmt: skip
    """Which edges a spanning forest keeps that takes them as they come, and has no ends but wanted vertices."""
    given = tails.astype(np.uint32), heads.astype(np.uint32), wanted
    made = (3 * len(wanted), np.uint32), (len(tails), np.uint32)
    sizes = len(wanted), len(tails)
    return launched(device, "steiner/steiner_tree", "steiner_tree_span", sizes, given, made)[1] > 0


def launched(
    device: Device, file: str, name: str, sizes: tuple[int, ...],
    given: tuple[NDArray[Any] | Buffer, ...], made: tuple[tuple[int, Any], ...], grid: int = 1, block: int = 1,
) -> list[NDArray[Any]]:  # fmt: skip
    """What a kernel makes: arrays of these lengths and types, behind those (or buffers) that it is given."""
    own = [device.upload(item) if isinstance(item, np.ndarray) else None for item in given]
    new = [device.empty(*shape) for shape in made]
    passed = [mine or item for mine, item in zip(own, given)]
    device.kernel(file, name)(grid, block, *sizes, *passed, *new)  # type: ignore[arg-type]
    found = [buffer.download() for buffer in new]
    for buffer in (*own, *new):
        if buffer is not None:
            buffer.free()
    return found

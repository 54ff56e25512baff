"""A Steiner problem as the functions of cuda_src/host read it, which run on the CPU whatever the job's device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.steiner_kmb.reductions.simple import Edges, Indices, edges_of
from hpcsolve.device.base import Argument, Buffer, Device
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


@dataclass(frozen=True)
class New:
    """An array to be allocated for a kernel.

    Attributes
    ----------
    zero
        Whether it is filled with zeros first.
    scratch
        Whether it is only the kernel's scratch memory, and is not downloaded.
    """

    length: int
    dtype: DTypeLike
    zero: bool = False
    scratch: bool = False


Given: TypeAlias = int | NDArray[Any] | Buffer | New | Mapping[str, "Given"]
"""An argument of `launched`: a number, an array, a buffer, an array to be allocated, or a group of these."""


def launched(device: Device, file: str, name: str, grid: int = 1, block: int = 1, /, **arguments: Given
             ) -> dict[str, NDArray[Any]]:
    """Launch a kernel on host arrays, and return the new arrays that are no scratch, by the names of its arguments."""
    buffers: list[tuple[str, Buffer, bool]] = []
    passed = {name: _passed(device, name, given, buffers) for name, given in arguments.items()}
    device.kernel(file, name)(grid, block, **passed)
    found = {name: buffer.download() for name, buffer, returned in buffers if returned}
    for _, buffer, _ in buffers:
        buffer.free()
    return found


def _passed(device: Device, name: str, given: Given, buffers: list[tuple[str, Buffer, bool]]) -> Argument:
    """Return an argument as the kernel takes it. Its buffers join the list: name, buffer, whether it is returned."""
    if isinstance(given, Mapping):
        return {field: _passed(device, field, value, buffers) for field, value in given.items()}
    if isinstance(given, New):
        made = (device.zeros if given.zero else device.empty)(given.length, given.dtype)
        buffers.append((name, made, not given.scratch))
        return made
    if isinstance(given, np.ndarray):
        buffers.append((name, device.constant(given), False))
        return buffers[-1][1]
    return given

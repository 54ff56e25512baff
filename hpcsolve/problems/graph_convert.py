"""Graphs from scipy's sparse matrices and from networkx, and back."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import from_edges


def from_scipy(matrix: Any, *, directed: bool = True, name: str = "graph") -> Graph:
    """Return the graph of a sparse matrix; stored zeros are arcs of weight 0, as in `scipy.sparse.csgraph`.

    Parameters
    ----------
    matrix
        Shape (n, n), in any of scipy's sparse formats; entry (u, v) is the weight of the arc from u to v.
    directed
        If False, each stored entry is an edge, and the least one of (u, v) and (v, u) counts.

    Raises
    ------
    InputError
        The matrix is not sparse or not square; or as in `from_edges`.
    """
    if not hasattr(matrix, "tocoo"):
        raise InputError(f"from_scipy takes a sparse matrix, not {type(matrix).__name__}", name)
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"the matrix has shape {matrix.shape}; it must be square", name)
    entries = matrix.tocoo()
    return from_edges(entries.row, entries.col, entries.data, n=int(matrix.shape[0]), directed=directed, name=name)


def to_scipy(graph: Graph) -> Any:
    """Return a `scipy.sparse.csr_array` of shape (n, n), with the weights in the unit of the input."""
    from scipy.sparse import csr_array

    weights = graph.weights if graph.scale == 1 else graph.weights / graph.scale
    fits = graph.arcs <= np.iinfo(np.int32).max
    offsets = graph.offsets.astype(np.int32) if fits else graph.offsets
    return csr_array((weights, graph.heads, offsets), shape=(graph.n, graph.n))


def from_networkx(graph: Any, weight: str = "weight", *, name: str = "") -> Graph:
    """Return the graph of one of networkx, directed or not, with or without parallel edges.

    If all nodes are integers, they are the labels; else the labels are 0..n-1, and the nodes' texts are the names.

    Parameters
    ----------
    weight
        The attribute with the weights; an edge without it weighs 1.

    Raises
    ------
    InputError
        As in `from_edges`.
    """
    nodes = list(graph.nodes)
    position = {node: index for index, node in enumerate(nodes)}
    edges = list(graph.edges(data=weight, default=1))
    numbers = all(isinstance(node, (int, np.integer)) and not isinstance(node, bool) for node in nodes)
    return from_edges(
        [position[a] for a, _, _ in edges], [position[b] for _, b, _ in edges], [value for _, _, value in edges],
        n=len(nodes), directed=graph.is_directed(), name=name or str(getattr(graph, "name", "")) or "graph",
        labels=[int(node) for node in nodes] if numbers else None,
        vertex_names=() if numbers else tuple(map(str, nodes)),
    )


def to_networkx(graph: Graph) -> Any:
    """Return a `networkx.Graph` or `DiGraph` whose nodes are names or labels, with weights in the unit of the input.

    Raises
    ------
    InputError
        networkx is not installed.
    """
    try:
        # By name: networkx serves this function alone, nothing on the run path.
        networkx = importlib.import_module("networkx")
    except ImportError:
        raise InputError("networkx is not installed: pip install networkx") from None
    result = networkx.DiGraph() if graph.directed else networkx.Graph()
    nodes = list(graph.vertex_names) or graph.labels.tolist()
    result.add_nodes_from(nodes)
    tails, once = graph.tails(), np.arange(graph.arcs)
    if not graph.directed:
        once = np.flatnonzero(tails <= graph.heads)
    weights = graph.weights[once] if graph.scale == 1 else graph.weights[once] / graph.scale
    ends = zip(tails[once].tolist(), graph.heads[once].tolist(), weights.tolist(), strict=True)
    result.add_weighted_edges_from((nodes[a], nodes[b], value) for a, b, value in ends)
    return result

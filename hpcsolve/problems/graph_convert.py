"""Graphs from scipy's sparse matrices and from networkx, and back."""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import from_edges
from hpcsolve.problems.node_places import node_places
from hpcsolve.problems.notes import ONE_WAY, one_way_notes, read_note


def from_scipy(matrix: Any, *, directed: bool | None = True, name: str = "graph") -> Graph:
    """Return the graph of a sparse matrix. Stored zeros are arcs of weight 0, as in `scipy.sparse.csgraph`.

    Parameters
    ----------
    matrix
        Shape (n, n), in any of scipy's sparse formats; entry (u, v) is the weight of the arc from u to v.
    directed
        If False, each stored entry is an edge, and the least one of (u, v) and (v, u) counts; if None it is an edge,
        too, but (u, v) and (v, u) must not differ.

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


def from_networkx(
    graph: Any, weight: str | None = "weight", *, directed: bool | None = None, name: str = "", file: bool = False,
    stated: bool = True,
) -> Graph:
    """Return the graph of a networkx graph, directed or not, with or without parallel edges.

    If all nodes are integers, they are the labels; else the labels are 0..n-1, and the nodes' texts are the names.
    Coordinates are what `node_places` finds.

    Parameters
    ----------
    weight
        The attribute with the weights, which every edge must have. None: each edge weighs 1, and so it does by default
        if no edge has any attribute that is a number, as in networkx.
    directed
        False takes each arc as an edge, whose weight is the smaller one of both directions; by default as the graph is.
    file
        Whether the graph was read from a file, so that messages name the key of a job.
    stated
        Whether the file says if it has arcs or edges. If not, `graph` has them as arcs, which are taken as edges.

    Raises
    ------
    InputError
        Edges lack the attribute, or it is not a number; the graph has edges, and `directed` is true; or as in
        `from_edges`. The message names an edge.
    """
    if directed and not graph.is_directed():
        raise InputError("a graph with edges, not arcs, is undirected; remove directed = true", name)
    title = name or str(getattr(graph, "name", "")) or "graph"
    nodes = list(graph.nodes)
    position = {node: index for index, node in enumerate(nodes)}
    tails, heads, attributes = zip(*graph.edges(data=True)) if graph.size() else ((), (), ())
    values = _edge_values(tails, heads, attributes, weight, title, file)
    coordinates, kind = node_places(graph)
    arcs = directed if directed is not None else graph.is_directed() if stated else None
    labelled = all(isinstance(node, (int, np.integer)) and not isinstance(node, bool) for node in nodes)
    converted = from_edges(
        [position[node] for node in tails], [position[node] for node in heads], values,
        n=len(nodes), directed=arcs, name=title,
        labels=[int(node) for node in nodes] if labelled else None,
        vertex_names=() if labelled else tuple(map(str, nodes)),
    )
    one_way = [data[ONE_WAY] for data in attributes if ONE_WAY in data]
    notes = () if graph.is_directed() and stated else one_way_notes("attribute", one_way, directed, stated)
    if weight and tails and not values:
        notes += (read_note("each edge weighs 1, since edges have no numbers"),)
    return replace(converted, coordinates=coordinates, coordinates_kind=kind, notes=notes)


def _edge_values(
    tails: Sequence[Any], heads: Sequence[Any], attributes: Sequence[Mapping[str, Any]], weight: str | None, name: str,
    file: bool,
) -> list[Any] | None:
    """Return the weight of each edge, or None if each one weighs 1."""
    values = [] if weight is None else [data[weight] for data in attributes if weight in data]
    if len(values) == len(attributes):
        for index, value in enumerate(values):
            if not isinstance(value, numbers.Number):
                what = "is None" if value is None else f"is a {type(value).__name__}, {value!r:.40}"
                raise InputError(f"{weight!r} of the edge {tails[index]} - {heads[index]} {what}; give a number", name)
        return values or None
    if values:
        index = next(index for index, data in enumerate(attributes) if weight not in data)
        what = f"the edge {tails[index]} - {heads[index]} has no attribute {weight!r}, which other edges have"
        raise InputError(f"{what}; give it to every edge, or choose another one with weight{'' if file else '='}", name)
    if weight is not None:
        _refuse_other_weights(attributes, weight, name, file)
    return None


def _refuse_other_weights(attributes: Sequence[Mapping[str, Any]], weight: str, name: str, file: bool) -> None:
    """Refuse a weight that no edge has, unless it is the default and edges have no numbers at all."""
    found = {key: value for data in attributes for key, value in data.items() if _is_number(value)}
    if not found and weight == "weight":
        return
    others = sorted(found, key=lambda key: (isinstance(found[key], numbers.Integral), key))  # lengths before ids
    has = f"edges have {', '.join(others)}" if found else "edges have no attribute that is a number"
    if file:
        choice = f"choose with weight, as in --set instance.weight={others[0]}" if found else "leave weight out"
    else:
        choice = f'choose with weight=, as in weight="{others[0]}"' if found else "remove weight="
        choice += ", or weight=None for 1 each"
    raise InputError(f"no edge has the attribute {weight!r}; {has}: {choice}", name)


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def to_networkx(graph: Graph) -> Any:
    """Return a `networkx.Graph` or `DiGraph` whose nodes are names or labels, with weights in the unit of the input.

    Raises
    ------
    InputError
        networkx is not installed.
    """
    try:
        # Imported by name, since networkx is optional and only this function needs it.
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

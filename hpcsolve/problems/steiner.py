"""Steiner problems (an undirected graph with terminals, to be joined by a tree of least weight) and the check of trees.

The check uses nothing of a solver: ends and weights are looked up in the graph, sums are Python's integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph, vertex_positions, with_terminals_at
from hpcsolve.problems.weights import Weights
from hpcsolve.wording import counted

MOST_WEIGHT = 2**62 - 1
"""Largest weight of all edges together, so that the sum of two distances and an edge fits 64 bits."""
SHOWN = 5
"""Most connected components, and most terminals of each, that a message names."""

Indices = NDArray[np.int64]


def with_terminals(graph: Graph, vertices: Iterable[Any]) -> Graph:
    """Return the graph with these terminals (names or labels of vertices) in place of its own.

    Raises
    ------
    InputError
        As `vertex_positions`.
    """
    try:
        return with_terminals_at(graph, vertex_positions(graph, list(vertices)))
    except InputError as error:
        raise InputError(f"terminals: {error}") from None


def require_problem(graph: Graph) -> Graph:
    """Return a graph unchanged, or refuse it if it is not a Steiner problem that has a solution.

    Raises
    ------
    InputError
        It is directed, it has no terminals, its weights are not exact or too large, or no path joins two terminals.
    """
    name = graph.name
    if graph.directed:
        way_out = "set directed = false, which takes the lighter one of two directions"
        raise InputError(f"a Steiner problem is undirected; if arcs stand for edges, {way_out}", name)
    if graph.terminals is None or not len(graph.terminals):
        raise InputError("has no terminals; take a SteinLib or PACE file, or name at least one in `terminals`", name)
    if graph.weights.dtype.kind == "f":
        raise InputError("its weights are not decimals of at most nine places; scale and round them", name)
    total = exact_sum(graph.weights) // 2
    if total > MOST_WEIGHT:
        raise InputError(f"its edges weigh {total} together; at most {MOST_WEIGHT} can be added up exactly", name)
    _require_connected(graph, graph.terminals)
    return graph


def largest_weight(n: int, edges: int) -> int:
    """Return the largest weight an edge may have for the sum of this many edges to stay below 2 ** 62."""
    return MOST_WEIGHT // max(edges, 1)


def fits(graph: Graph) -> bool:
    """Return whether weights are exact integers whose sum stays below 2 ** 62."""
    return graph.weights.dtype.kind == "u" and exact_sum(graph.weights) // 2 <= MOST_WEIGHT


def exact_sum(weights: Weights) -> int:
    """Return the exact sum of integers of up to 64 bits."""
    whole = weights.astype(np.uint64)
    return (int((whole >> np.uint64(32)).sum()) << 32) + int((whole & np.uint64(2**32 - 1)).sum())


def _require_connected(graph: Graph, terminals: Indices) -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    pattern = csr_array((np.ones(graph.arcs, np.int8), graph.heads, graph.offsets), shape=(graph.n, graph.n))
    component = connected_components(pattern, directed=False)[1]
    found = list(dict.fromkeys(component[terminals].tolist()))
    if len(found) == 1:
        return
    texts = []
    for number in found[:SHOWN]:
        inside = np.asarray(graph.vertex_names or graph.labels)[terminals[component[terminals] == number]]
        more = f" and {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
        names = ", ".join(str(label) for label in inside[:SHOWN])
        what = f"terminal{'s' * (len(inside) > 1)} {names}{more}"
        texts.append(f"one of {counted(int((component == number).sum()), 'vertex')} with {what}")
    rest = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    whole = f"no tree joins the terminals, which are in {len(found)} components"
    raise InputError(f"{whole}: {'; '.join(texts)}{rest}", graph.name)


def check_tree(graph: Graph, tails: ArrayLike, heads: ArrayLike, weights: ArrayLike) -> int:
    """Check that edges of a graph are a pruned tree that joins all terminals, and return its weight.

    Parameters
    ----------
    tails, heads, weights
        Shape (edges,): positions of the ends, and weights in scaled integers.

    Raises
    ------
    ValueError
        The edges are no such tree. The message says why, with labels.
    """
    assert graph.terminals is not None
    a, b, claimed = (np.asarray(values) for values in (tails, heads, weights))
    if not (a.ndim == 1 and a.shape == b.shape == claimed.shape and {a.dtype.kind, b.dtype.kind} <= {"i", "u"}):
        raise ValueError(f"ends and weights have shapes {a.shape}, {b.shape}, {claimed.shape}")
    if len(a) and not (min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) < graph.n):
        raise ValueError("an end of an edge is not a vertex of the graph")
    a, b = a.astype(np.int64), b.astype(np.int64)
    _check_edges(graph, a, b, claimed)
    _check_shape(graph, a, b)
    return sum(claimed.tolist())


def _check_edges(graph: Graph, a: Indices, b: Indices, claimed: NDArray[np.generic]) -> None:
    """Refuse edges that the graph does not have, or has with another weight."""
    keys = graph.tails().astype(np.int64) * graph.n + graph.heads
    asked = a * graph.n + b
    place = np.minimum(np.searchsorted(keys, asked), max(graph.arcs - 1, 0))
    for index in range(len(a)):
        ends = f"{graph.labels[a[index]]} - {graph.labels[b[index]]}"
        if not graph.arcs or keys[place[index]] != asked[index]:
            raise ValueError(f"the graph has no edge {ends}")
        if int(graph.weights[place[index]]) != claimed[index]:
            raise ValueError(f"the edge {ends} weighs {graph.weights[place[index]]}, not {claimed[index]}")


def _check_shape(graph: Graph, a: Indices, b: Indices) -> None:
    """Refuse cycles, more than one connected component, and leaves that are no terminals."""
    assert graph.terminals is not None
    above = list(range(graph.n))

    def root(v: int) -> int:
        while above[v] != v:
            above[v] = v = above[above[v]]
        return v

    for tail, head in zip(a.tolist(), b.tolist()):
        if root(tail) == root(head):
            raise ValueError(f"the edge {graph.labels[tail]} - {graph.labels[head]} closes a cycle")
        above[root(tail)] = root(head)
    first = int(graph.terminals[0])
    for v in [*graph.terminals.tolist(), *a.tolist()]:
        if root(v) != root(first):
            raise ValueError(f"no path leads from vertex {graph.labels[v]} to terminal {graph.labels[first]}")
    leaf = np.bincount(np.concatenate([a, b]), minlength=graph.n) == 1
    leaf[graph.terminals] = False
    if leaf.any():
        label = graph.labels[int(np.argmax(leaf))]
        raise ValueError(f"vertex {label} is a leaf, but no terminal: the tree is not pruned")

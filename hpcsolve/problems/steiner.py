"""Steiner problems, an undirected graph with terminals to be joined by a tree of least weight, and the check of trees.

The check uses nothing of a solver: ends and weights are looked up in the graph, sums are Python's integers. So do two
lower bounds, the certificates of a tree, computed and checked by scipy and Python alone.

The first one: no Steiner tree of k terminals is lighter than the minimum spanning tree of the terminal distance graph
over 2 (1 - 1/k) (L. Kou, G. Markowsky, L. Berman, Acta Informatica 15, 1981); one search from all terminals finds that
spanning tree (K. Mehlhorn, Information Processing Letters 27, 1988).

The second one is a dual solution. Sets of vertices that hold a terminal, but not the root, have dual values. These add
up to a lower bound if for each arc the values of the sets that it enters add up to no more than its weight (R. T. Wong,
Mathematical Programming 28, 1984). `replayed` raises the values again, on the graph as it was read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import EXACT_IN_DOUBLES, LARGEST_SUM, Weights
from hpcsolve.problems.search_again import nearest_sources
from hpcsolve.wording import counted

SHOWN = 5
"""Most connected components, and most terminals of each, that a message names."""

Indices = NDArray[np.int64]
MOST_STEPS = 5_000_000
"""Number of arcs that `replayed` scans at most, in some ten seconds."""


def with_terminals(graph: Graph, vertices: Iterable[Any]) -> Graph:
    """Return the graph with these terminals (names or labels of vertices) in place of its own.

    Raises
    ------
    InputError
        As `Graph.positions`.
    """
    try:
        return graph.with_terminals_at(graph.positions(list(vertices)))
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
    if total > LARGEST_SUM:
        raise InputError(f"its edges weigh {total} together; at most {LARGEST_SUM} can be added up exactly", name)
    _require_connected(graph, graph.terminals)
    return graph


def fits(graph: Graph) -> bool:
    """Return whether weights are exact integers whose sum is at most `LARGEST_SUM`."""
    return graph.weights.dtype.kind == "u" and exact_sum(graph.weights) // 2 <= LARGEST_SUM


def exact_sum(weights: Weights) -> int:
    """Return the exact sum of integers of up to 64 bits."""
    whole = weights.astype(np.uint64)
    return (int((whole >> np.uint64(32)).sum()) << 32) + int((whole & np.uint64(2**32 - 1)).sum())


def _require_connected(graph: Graph, terminals: Indices) -> None:
    from scipy.sparse.csgraph import connected_components

    pattern = graph.sparse_matrix(np.ones(graph.arcs, np.int8))
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
    for arc, tail, head, weight in zip(graph.arcs_between(a, b).tolist(), a.tolist(), b.tolist(), claimed.tolist()):
        ends = f"{graph.labels[tail]} - {graph.labels[head]}"
        if arc < 0:
            raise ValueError(f"the graph has no edge {ends}")
        if int(graph.weights[arc]) != weight:
            raise ValueError(f"the edge {ends} weighs {graph.weights[arc]}, not {weight}")
    above: dict[int, int] = {}
    for tail, head in zip(a.tolist(), b.tolist()):
        if not _joined(above, tail, head):
            raise ValueError(f"the edge {graph.labels[tail]} - {graph.labels[head]} closes a cycle")
    first = int(graph.terminals[0])
    for v in [*graph.terminals.tolist(), *a.tolist()]:
        if _root(above, v) != _root(above, first):
            raise ValueError(f"no path leads from vertex {graph.labels[v]} to terminal {graph.labels[first]}")
    leaf = np.bincount(np.concatenate([a, b]).astype(np.int64), minlength=graph.n) == 1
    leaf[graph.terminals] = False
    if leaf.any():
        label = graph.labels[int(np.argmax(leaf))]
        raise ValueError(f"vertex {label} is a leaf, but no terminal: the tree is not pruned")
    return sum(claimed.tolist())


def _root(above: dict[int, int], v: int) -> int:
    """Return the representative of a vertex's connected component."""
    while (parent := above.get(v, v)) != v:
        above[v] = v = above.get(parent, parent)
    return v


def _joined(above: dict[int, int], a: int, b: int) -> bool:
    """Join the connected components of two vertices, and return whether they were apart."""
    a, b = _root(above, a), _root(above, b)
    if a != b:
        above[a] = b
    return a != b


@dataclass(frozen=True)
class ClosureSpanningTree:
    """The weight and the longest edge of a minimum spanning tree of the terminal distance graph (metric closure)."""

    weight: int
    bottleneck: int


def closure_spanning_tree(graph: Graph) -> ClosureSpanningTree:
    """Return weight and longest edge of the minimum spanning tree of a Steiner problem that has a solution."""
    from scipy.sparse.csgraph import dijkstra

    assert graph.terminals is not None
    if exact_sum(graph.weights) >= EXACT_IN_DOUBLES:
        distance, base = nearest_sources(graph, graph.terminals)
    else:
        matrix = graph.sparse_matrix(graph.weights.astype(np.float64))
        length, _, near = dijkstra(matrix, indices=graph.terminals, min_only=True, return_predecessors=True)
        reached = np.isfinite(length)
        distance, base = np.where(reached, length, 0).astype(np.uint64), np.where(reached, near, -1)
    tails, heads = graph.tails(), graph.heads
    across = np.flatnonzero((tails < heads) & (base[tails] != base[heads]) & (base[tails] >= 0))
    lengths = distance[tails[across]] + graph.weights[across].astype(np.uint64) + distance[heads[across]]
    order = np.argsort(lengths, kind="stable")
    ends = base[tails[across[order]]].tolist(), base[heads[across[order]]].tolist()
    above: dict[int, int] = {}
    kept = [length for a, b, length in zip(*ends, lengths[order].tolist()) if _joined(above, a, b)]
    return ClosureSpanningTree(sum(kept), max(kept, default=0))


def closure_bound(weight: int, terminals: int) -> int:
    """Return the first lower bound: the weight of the spanning tree over 2 (1 - 1/k), rounded up, for k terminals."""
    return 0 if terminals < 2 else -(-weight * terminals // (2 * (terminals - 1)))


def ratio_of(weight: int, bound: int) -> float:
    """Return `weight / bound`, an upper bound of weight over optimum. 0 / 0 counts as 1, else x / 0 as infinite."""
    return 1.0 if weight == bound else weight / bound if bound else float("inf")


def replayed(graph: Graph, root: int, raises: Iterable[tuple[int, int]], most: int = MOST_STEPS) -> int | None:
    """Return the lower bound that dual values prove, or None if the check takes more than `most` steps.

    Parameters
    ----------
    root
        Position of a terminal.
    raises
        Terminals (positions) and amounts, in order: the dual value of the set of all vertices that lead to the terminal
        along saturated arcs rises by the amount. If an arc is saturated before, the set grows, and the larger set gets
        the rest.

    Raises
    ------
    ValueError
        A set holds the root, an amount is negative, or a vertex is not a terminal.
    """
    terminals = set() if graph.terminals is None else set(graph.terminals.tolist())
    if root not in terminals:
        raise ValueError("the root of the lower bound is not a terminal")
    # A row of an undirected graph is read as the arcs into its vertex. `rest` is what is left of an arc's weight.
    offsets, tails, rest = graph.offsets.tolist(), graph.heads.tolist(), graph.weights.tolist()
    total = steps = 0
    for terminal, amount in raises:
        if terminal not in terminals or amount < 0:
            raise ValueError("a dual value of the lower bound is negative, or does not belong to a terminal")
        while amount:
            members, inside, border = [terminal], {terminal}, []
            for v in members:  # which grow meanwhile
                for arc in range(offsets[v], offsets[v + 1]):
                    if rest[arc]:
                        border.append(arc)
                    elif tails[arc] not in inside:
                        inside.add(tails[arc])
                        members.append(tails[arc])
            steps += len(border) + len(members)
            border = [arc for arc in border if tails[arc] not in inside]
            if root in inside or not border:
                raise ValueError("a dual value of the lower bound belongs to a set that holds the root")
            step = min(amount, min(rest[arc] for arc in border))
            for arc in border:
                rest[arc] -= step
            total += step
            amount -= step
        if steps > most:
            return None
    return total

"""Rivals written with scipy and numpy: the algorithms of Kou, Markowsky and Berman, and of Mehlhorn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import to_scipy

BATCH = 64
"""Searches in a call of scipy's dijkstra: the distances of one batch are kept, and the predecessors of all."""
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem in the form that is ready before the clock starts.

    Attributes
    ----------
    matrix
        The graph as scipy's csr_array.
    tails, heads, weights
        The edges, each once.
    keys
        tail * n + head of each edge, ascending.
    """

    matrix: Any
    terminals: Indices
    tails: Indices
    heads: Indices
    weights: NDArray[np.float64]
    keys: Indices


def prepare(graph: Graph) -> Problem:
    """Return the graph in the form that scipy takes."""
    assert graph.terminals is not None
    tails = graph.tails().astype(np.int64)
    once = np.flatnonzero(tails < graph.heads)
    tails, heads = tails[once], graph.heads[once].astype(np.int64)
    matrix = to_scipy(graph).astype(np.float64)
    weights = graph.weights[once].astype(np.float64)
    return Problem(matrix, graph.terminals, tails, heads, weights, tails * graph.n + heads)


def each_terminal(graph: Graph, halt: bool) -> Callable[[], Indices]:
    """Return a call that searches from each terminal, as Kou, Markowsky and Berman have it.

    With `halt`, searches end at the longest edge of the minimum spanning tree of the terminal distance graph.
    """
    problem = prepare(graph)
    terminals, k = problem.terminals, len(problem.terminals)

    def call() -> Indices:
        limit = _mehlhorn(problem)[3] if halt else np.inf
        between, before = np.empty((k, k)), np.empty((k, graph.n), np.int32)
        for begin in range(0, k, BATCH):
            rows = slice(begin, begin + BATCH)
            distance, before[rows] = dijkstra(problem.matrix, indices=terminals[rows], limit=limit,
                                              return_predecessors=True)
            between[rows] = distance[:, terminals]
        row, column = np.nonzero(np.triu(np.isfinite(between), 1))
        chosen = _spanned(row, column, between[row, column], k)
        return _tree(problem, *_paths(row[chosen], terminals[column[chosen]], before))

    return call


def all_terminals(graph: Graph) -> Callable[[], Indices]:
    """Return a call that searches once from all terminals, as Mehlhorn has it."""
    problem = prepare(graph)

    def call() -> Indices:
        tails, heads, before, _ = _mehlhorn(problem)
        ends = np.concatenate([tails, heads])
        more = _paths(np.zeros(len(ends), np.int64), ends, before[None])
        return _tree(problem, np.concatenate([tails, more[0]]), np.concatenate([heads, more[1]]))

    return call


def _mehlhorn(problem: Problem) -> tuple[Indices, Indices, NDArray[np.int32], float]:
    """Return the minimum spanning tree of the terminal distance graph, found by one search from all terminals.

    Returns
    -------
    tuple
        Tails and heads of the edges that join the terminals' Voronoi regions in this tree, predecessors of all vertices
        towards their terminals, and the length of the tree's longest edge.
    """
    distance, before, base = dijkstra(problem.matrix, indices=problem.terminals, min_only=True,
                                      return_predecessors=True)
    tails, heads = problem.tails, problem.heads
    across = np.flatnonzero((base[tails] != base[heads]) & (base[tails] >= 0))
    tails, heads = tails[across], heads[across]
    length = distance[tails] + problem.weights[across] + distance[heads]
    n = len(base)
    key = np.minimum(base[tails], base[heads]).astype(np.int64) * n + np.maximum(base[tails], base[heads])
    order = np.lexsort((length, key))
    pairs, first = np.unique(key[order], return_index=True)
    least = order[first]
    chosen = _spanned(pairs // n, pairs % n, length[least], n)
    edges = least[chosen]
    return tails[edges], heads[edges], before, float(length[edges].max(initial=0))


def _spanned(row: Indices, column: Indices, length: NDArray[np.float64], n: int) -> Indices:
    """Return the indices of a minimum spanning tree's edges among edges sorted by (row, column) with row < column."""
    matrix = coo_array((length + 1, (row, column)), shape=(n, n)).tocsr()  # + 1, because for scipy 0 is no edge
    tree = minimum_spanning_tree(matrix).tocoo()
    return np.searchsorted(row * n + column, tree.row.astype(np.int64) * n + tree.col)


def _paths(row: Indices, ends: Indices, before: NDArray[np.int32]) -> tuple[Indices, Indices]:
    """Return tails and heads of all arcs on the paths to these ends, by the given rows of predecessors."""
    tails, heads = [], []
    while len(ends):
        earlier = before[row, ends].astype(np.int64)
        inside = earlier >= 0
        row, ends, earlier = row[inside], ends[inside], earlier[inside]
        tails.append(earlier)
        heads.append(ends)
        ends = earlier
    return np.concatenate(tails), np.concatenate(heads)


def _tree(problem: Problem, tails: Indices, heads: Indices) -> Indices:
    """Return the minimum spanning tree of these edges, with leaves that are no terminals removed, shape (edges, 2)."""
    n = problem.matrix.shape[0]
    keys = np.unique(np.minimum(tails, heads) * n + np.maximum(tails, heads))
    tails, heads = keys // n, keys % n
    chosen = _spanned(tails, heads, problem.weights[np.searchsorted(problem.keys, keys)], n)
    tails, heads = tails[chosen], heads[chosen]
    is_terminal = np.zeros(n, bool)
    is_terminal[problem.terminals] = True
    while True:
        degree = np.bincount(np.concatenate([tails, heads]), minlength=n)
        stays = (degree > 1) | is_terminal
        kept = stays[tails] & stays[heads]
        if kept.all():
            return np.stack([tails, heads], axis=1)
        tails, heads = tails[kept], heads[kept]

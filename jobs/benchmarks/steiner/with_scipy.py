"""Steiner trees as one writes them with scipy and numpy: Kou, Markowsky and Berman's, and Mehlhorn's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_convert import to_scipy

BATCH = 64
"""Searches a call of scipy's dijkstra: of distances no more are kept; of predecessors all."""
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Given:
    """A problem before the clock starts: scipy's matrix, and its edges once, `keys` ascending."""

    matrix: Any
    terminals: Indices
    tails: Indices
    heads: Indices
    weights: NDArray[np.float64]
    keys: Indices


def given(graph: Graph) -> Given:
    """A graph for scipy."""
    assert graph.terminals is not None
    tails = graph.tails().astype(np.int64)
    once = np.flatnonzero(tails < graph.heads)
    tails, heads = tails[once], graph.heads[once].astype(np.int64)
    matrix = to_scipy(graph).astype(np.float64)
    weights = graph.weights[once].astype(np.float64)
    return Given(matrix, graph.terminals, tails, heads, weights, tails * graph.n + heads)


def each_terminal(graph: Graph, halt: bool) -> Callable[[], Indices]:
    """A search a terminal, as published; with `halt` to the longest edge of the terminals' spanning tree only."""
    problem = given(graph)
    terminals, k = problem.terminals, len(problem.terminals)

    def call() -> Indices:
        limit = _closure(problem)[3] if halt else np.inf
        between, before = np.empty((k, k)), np.empty((k, graph.n), np.int32)
        for begin in range(0, k, BATCH):
            part = slice(begin, begin + BATCH)
            distance, before[part] = dijkstra(problem.matrix, indices=terminals[part], limit=limit,
                                              return_predecessors=True)  # fmt: skip
            between[part] = distance[:, terminals]
        row, column = np.nonzero(np.triu(np.isfinite(between), 1))
        chosen = _spanned(row, column, between[row, column], k)
        return _tree(problem, *_walked(row[chosen], terminals[column[chosen]], before))

    return call


def all_terminals(graph: Graph) -> Callable[[], Indices]:
    """One search from all terminals."""
    problem = given(graph)

    def call() -> Indices:
        tails, heads, before, _ = _closure(problem)
        ends = np.concatenate([tails, heads])
        more = _walked(np.zeros(len(ends), np.int64), ends, before[None])
        return _tree(problem, np.concatenate([tails, more[0]]), np.concatenate([heads, more[1]]))

    return call


def _closure(problem: Given) -> tuple[Indices, Indices, NDArray[np.int32], float]:
    """Edges between regions of the terminals' spanning tree, predecessors, and the tree's longest edge."""
    distance, before, base = dijkstra(problem.matrix, indices=problem.terminals, min_only=True,
                                      return_predecessors=True)  # fmt: skip
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
    """Which of these edges a minimum spanning tree has; they are in order of (row, column), and row < column."""
    matrix = coo_array((length + 1, (row, column)), shape=(n, n)).tocsr()  # + 1, as scipy takes a 0 for no edge
    tree = minimum_spanning_tree(matrix).tocoo()
    return np.searchsorted(row * n + column, tree.row.astype(np.int64) * n + tree.col)


def _walked(row: Indices, ends: Indices, before: NDArray[np.int32]) -> tuple[Indices, Indices]:
    """The edges on the paths back from these ends, by these rows of predecessors."""
    tails, heads = [], []
    while len(ends):
        earlier = before[row, ends].astype(np.int64)
        going = earlier >= 0
        row, ends, earlier = row[going], ends[going], earlier[going]
        tails.append(earlier)
        heads.append(ends)
        ends = earlier
    return np.concatenate(tails), np.concatenate(heads)


def _tree(problem: Given, tails: Indices, heads: Indices) -> Indices:
    """The minimum spanning tree of these edges, without ends that are no terminals."""
    n = problem.matrix.shape[0]
    keys = np.unique(np.minimum(tails, heads) * n + np.maximum(tails, heads))
    tails, heads = keys // n, keys % n
    chosen = _spanned(tails, heads, problem.weights[np.searchsorted(problem.keys, keys)], n)
    tails, heads = tails[chosen], heads[chosen]
    wanted = np.zeros(n, bool)
    wanted[problem.terminals] = True
    while True:
        degree = np.bincount(np.concatenate([tails, heads]), minlength=n)
        kept = ((degree > 1) | wanted)[tails] & ((degree > 1) | wanted)[heads]
        if kept.all():
            return np.stack([tails, heads], axis=1)
        tails, heads = tails[kept], heads[kept]

"""Two lower bounds on Steiner trees, the certificates of a tree, computed and checked by scipy and Python alone.

The first one: no Steiner tree of k terminals is lighter than the minimum spanning tree of the terminal distance graph
over 2 (1 - 1/k) (L. Kou, G. Markowsky, L. Berman, Acta Informatica 15, 1981); one search from all terminals finds that
spanning tree (K. Mehlhorn, Information Processing Letters 27, 1988).

The second one is a dual solution. Sets of vertices that hold a terminal, but not the root, have dual values. These add
up to a lower bound if for each arc the values of the sets that it enters add up to no more than its weight (R. T. Wong,
Mathematical Programming 28, 1984). `replayed` raises the values again, on the graph as it was read.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import exact_sum

EXACT_IN_DOUBLES = 2**53
MOST_STEPS = 5_000_000
"""Number of arcs that `replayed` scans at most, in some ten seconds."""


@dataclass(frozen=True)
class ClosureSpanningTree:
    """The weight and the longest edge of a minimum spanning tree of the terminal distance graph (metric closure)."""

    weight: int
    bottleneck: int


def closure_spanning_tree(graph: Graph) -> ClosureSpanningTree:
    """Return weight and longest edge of the minimum spanning tree of a Steiner problem that has a solution."""
    assert graph.terminals is not None
    distance, base = _nearest(graph, graph.terminals)
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
    work = _Ascent(graph.offsets.tolist(), graph.heads.tolist(), graph.weights.tolist())
    if root not in terminals:
        raise ValueError("the root of the lower bound is not a terminal")
    for terminal, amount in raises:
        if terminal not in terminals or amount < 0:
            raise ValueError("a dual value of the lower bound is negative, or does not belong to a terminal")
        work.raise_set(terminal, amount, root)
        if work.steps > most:
            return None
    return work.total


@dataclass
class _Ascent:
    """A dual ascent that is repeated. `tails` and `rest` (weight not used up yet) have each arc in its head's row."""

    offsets: list[int]
    tails: list[int]
    rest: list[int]
    total: int = 0
    steps: int = 0

    def raise_set(self, terminal: int, amount: int, root: int) -> None:
        """Raise the dual value of the terminal's present set."""
        while amount:
            members = [terminal]
            inside = {terminal}
            border: list[int] = []
            for v in members:
                for arc in range(self.offsets[v], self.offsets[v + 1]):
                    if self.rest[arc]:
                        border.append(arc)
                    elif self.tails[arc] not in inside:
                        inside.add(self.tails[arc])
                        members.append(self.tails[arc])
            self.steps += len(border) + len(members)
            border = [arc for arc in border if self.tails[arc] not in inside]
            if root in inside or not border:
                raise ValueError("a dual value of the lower bound belongs to a set that holds the root")
            step = min(amount, min(self.rest[arc] for arc in border))
            for arc in border:
                self.rest[arc] -= step
            self.total += step
            amount -= step


def _nearest(graph: Graph, terminals: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return for each vertex the distance to the nearest terminal, and that terminal's position, -1 without a path."""
    if exact_sum(graph.weights) >= EXACT_IN_DOUBLES:
        return _nearest_in_integers(graph, terminals)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    matrix = csr_array((graph.weights.astype(np.float64), graph.heads, graph.offsets), shape=(graph.n, graph.n))
    distance, _, base = dijkstra(matrix, indices=terminals, min_only=True, return_predecessors=True)
    reached = np.isfinite(distance)
    return np.where(reached, distance, 0).astype(np.uint64), np.where(reached, base, -1).astype(np.int64)


def _nearest_in_integers(graph: Graph, terminals: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the same as `_nearest`, for weights whose sums doubles cannot hold exactly."""
    offsets, heads, weights = graph.offsets.tolist(), graph.heads.tolist(), graph.weights.tolist()
    distance, base = [0] * graph.n, [-1] * graph.n
    heap = [(0, terminal, terminal) for terminal in sorted(terminals.tolist())]
    while heap:
        here, v, terminal = heapq.heappop(heap)
        if base[v] >= 0:
            continue
        distance[v], base[v] = here, terminal
        for arc in range(offsets[v], offsets[v + 1]):
            heapq.heappush(heap, (here + weights[arc], heads[arc], terminal))
    return np.array(distance, np.uint64), np.array(base, np.int64)


def _joined(above: dict[int, int], a: int, b: int) -> bool:
    """Join the connected components of two terminals, and return whether they were apart."""
    roots = []
    for v in (a, b):
        while v in above:
            v = above[v]
        roots.append(v)
    if roots[0] != roots[1]:
        above[roots[0]] = roots[1]
    return roots[0] != roots[1]

"""Lower bounds on Steiner trees, found and checked by scipy and Python alone: what certifies a tree.

Two facts. No Steiner tree of k terminals is lighter than the minimum spanning tree of the complete graph of their
distances over 2 (1 - 1/k) (L. Kou, G. Markowsky, L. Berman, Acta Informatica 15, 1981), and one search from all of them
finds that tree (K. Mehlhorn, Information Processing Letters 27, 1988). And prices for sets of vertices, each with a
terminal and without the root, add up to a bound if no arc is asked for more than its weight (R. T. Wong, Mathematical
Programming 28, 1984): `replayed` raises them again, on the graph as it was read.
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
"""Arcs that `replayed` looks at before it gives up: some ten seconds."""


@dataclass(frozen=True)
class Closure:
    """A minimum spanning tree of the terminals' distances: every one has this weight and this longest edge."""

    weight: int
    bottleneck: int


def closure(graph: Graph) -> Closure:
    """The closure of a Steiner problem whose terminals are connected, by one search from all of them."""
    assert graph.terminals is not None
    distance, base = _nearest(graph, graph.terminals)
    tails, heads = graph.tails(), graph.heads
    across = np.flatnonzero((tails < heads) & (base[tails] != base[heads]) & (base[tails] >= 0))
    lengths = distance[tails[across]] + graph.weights[across].astype(np.uint64) + distance[heads[across]]
    order = np.argsort(lengths, kind="stable")
    ends = base[tails[across[order]]].tolist(), base[heads[across[order]]].tolist()
    above: dict[int, int] = {}
    kept = [length for a, b, length in zip(*ends, lengths[order].tolist()) if _joined(above, a, b)]
    return Closure(sum(kept), max(kept, default=0))


def guaranteed(weight: int, terminals: int) -> int:
    """The least that a Steiner tree may weigh, by the weight of the closure: that over 2 (1 - 1/k), rounded up."""
    return 0 if terminals < 2 else -(-weight * terminals // (2 * (terminals - 1)))


def ratio_of(weight: int, bound: int) -> float:
    """How many times the optimum a tree weighs at most; infinite if the optimum may be 0, and the tree is not."""
    return 1.0 if weight == bound else weight / bound if bound else float("inf")


def replayed(graph: Graph, root: int, raises: Iterable[tuple[int, int]], most: int = MOST_STEPS) -> int | None:
    """The bound that these prices prove, None if it would take more than `most` steps to see.

    Parameters
    ----------
    root
        Position of a terminal.
    raises
        Terminals (positions) and prices in order: the set of what leads to the terminal along arcs that are used up
        asks so much more. Where an arc is used up before, the set grows and goes on with what is left.

    Raises
    ------
    ValueError
        Prices for the root, or for a set that the root is in.
    """
    wanted = set() if graph.terminals is None else set(graph.terminals.tolist())
    work = _Prices(graph.offsets.tolist(), graph.heads.tolist(), graph.weights.tolist())
    if root not in wanted:
        raise ValueError("the root of the lower bound is no terminal")
    for terminal, price in raises:
        if terminal not in wanted or price < 0:
            raise ValueError("the lower bound has a price of less than 0, or of no terminal's set")
        work.ask(terminal, price, root)
        if work.steps > most:
            return None
    return work.total


@dataclass
class _Prices:
    """`rest`: what is left of each arc, in the row of its head; the arc comes from the vertex that stands there."""

    offsets: list[int]
    tails: list[int]
    rest: list[int]
    total: int = 0
    steps: int = 0

    def ask(self, terminal: int, price: int, root: int) -> None:
        """Raise the price of the terminal's set, whichever that is by now."""
        while price:
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
                raise ValueError("the lower bound has a price for a set that the root is in")
            step = min(price, min(self.rest[arc] for arc in border))
            for arc in border:
                self.rest[arc] -= step
            self.total += step
            price -= step


def _nearest(graph: Graph, terminals: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Distance to the nearest terminal, and which it is; -1 where no path leads."""
    if exact_sum(graph.weights) >= EXACT_IN_DOUBLES:
        return _nearest_in_integers(graph, terminals)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    matrix = csr_array((graph.weights.astype(np.float64), graph.heads, graph.offsets), shape=(graph.n, graph.n))
    distance, _, base = dijkstra(matrix, indices=terminals, min_only=True, return_predecessors=True)
    reached = np.isfinite(distance)
    return np.where(reached, distance, 0).astype(np.uint64), np.where(reached, base, -1).astype(np.int64)


def _nearest_in_integers(graph: Graph, terminals: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The same where doubles are not exact."""
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
    """Join the parts of two terminals; whether they were apart."""
    roots = []
    for v in (a, b):
        while v in above:
            v = above[v]
        roots.append(v)
    if roots[0] != roots[1]:
        above[roots[0]] = roots[1]
    return roots[0] != roots[1]

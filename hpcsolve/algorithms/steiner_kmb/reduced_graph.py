"""Exact reductions of a Steiner problem to a smaller one, and the map from its edges back to original edges.

Edges of weight 0 are contracted first. Then rounds follow. Each removes loops, all but the lightest of parallel edges
(of equal ones the first stays), and leaves that are no terminals; and makes one edge of each chain of vertices of
degree 2 that are no terminals. A round is a few passes of numpy over all edges. The rounds end with the first one that
removes less than one edge in `WORTHWHILE`. More rounds would rarely find more (a ladder that collapses rung by rung).

Every mode begins with these reductions. Modes best and exact go on with those of reductions.py, which remove or
contract more edges, and reduce the graph again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph, assembled
from hpcsolve.problems.rounding import narrowed

WORTHWHILE = 64
"""Rounds end with the first one that removes less than one edge in so many."""

REDUCTION_BYTES = 70
"""Bytes that building the reduced graph takes for each arc of the graph as it was read."""

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Edges:
    """A list of edges.

    Attributes
    ----------
    tails, heads
        Shape (m,): positions.
    weights
        Shape (m,), uint64.
    """

    tails: Indices
    heads: Indices
    weights: NDArray[np.uint64]

    @classmethod
    def of(cls, graph: Graph) -> Edges:
        """Return the edges of an undirected graph, each with its smaller end first, in the order of the rows."""
        tails = graph.tails()
        once = np.flatnonzero(tails < graph.heads)
        ends = tails[once].astype(np.int64), graph.heads[once].astype(np.int64)
        return cls(*ends, graph.weights[once].astype(np.uint64))

    def __len__(self) -> int:
        """Number of edges."""
        return len(self.tails)

    def part(self, which: NDArray[Any]) -> Edges:
        """Return some of the edges."""
        return Edges(self.tails[which], self.heads[which], self.weights[which])

    def renamed(self, vertices: Indices) -> Edges:
        """Return the edges between other vertices: those that `vertices` has at the places of their ends."""
        return Edges(vertices[self.tails], vertices[self.heads], self.weights)

    def kept(self, mask: Mask) -> tuple[Edges, Origin]:
        """Return the edges that a mask keeps, and where each comes from."""
        which = np.flatnonzero(mask)
        return self.part(which), Origin(np.arange(len(which) + 1), which)

    def components(self, n: int) -> Indices:
        """Return the number of the connected component of each of n vertices."""
        from scipy.sparse import coo_array, csgraph

        pattern = coo_array((np.ones(len(self), np.int32), (self.tails, self.heads)), shape=(n, n))
        labels: Indices = csgraph.connected_components(pattern.tocsr(), directed=False)[1].astype(np.int64)
        return labels

    def degrees(self, n: int) -> Indices:
        """Return the number of edges at each of n vertices."""
        return np.bincount(self.tails, minlength=n) + np.bincount(self.heads, minlength=n)


@dataclass(frozen=True)
class Origin:
    """The edges of the previous step that each edge of a step stands for: `members[offsets[e] : offsets[e + 1]]`."""

    offsets: Indices
    members: Indices

    def of(self, edges: Indices) -> Indices:
        """Return the edges that these edges stand for."""
        return self.members[ranges(self.offsets[edges], np.diff(self.offsets)[edges])]


@dataclass(frozen=True)
class ReducedGraph:
    """A smaller Steiner problem with the same optimum.

    Attributes
    ----------
    graph
        Connected, all weights above 0, terminals in ascending order.
    edges
        The edges of the graph, in the order of its rows.
    original
        The edges of the original graph.
    member
        Shape (terminals,): the number of each original terminal among those of `graph`, where contraction may join
        several.
    free
        The numbers of the original edges that were contracted: of weight 0, or in some lightest tree.
    origins
        The origins of the edges, one for each step.
    counts
        How many were removed: `contracted` edges of weight 0, `parallel` edges and loops, `ends` (leaves), and `passed`
        vertices of chains. More kinds come from `reductions`.
    """

    graph: Graph
    edges: Edges
    original: Edges
    member: Indices
    free: Indices
    origins: tuple[Origin, ...]
    counts: Mapping[str, int]

    @property
    def offset(self) -> int:
        """The weight of `free`, by which a tree of the original graph is heavier than one of `graph`."""
        return int(self.original.weights[self.free].sum())

    def restored(self, edges: Indices) -> Indices:
        """Return the original edges of a tree in the reduced graph, with `free`. It may have leaves to prune."""
        for origin in reversed(self.origins):
            edges = origin.of(edges)
        return np.union1d(edges, self.free)

    def in_own_unit(self, weight: int) -> str:
        """Return in words what a tree of this weight in `graph` weighs in the original graph, in its own unit."""
        return f"{(weight + self.offset) / self.graph.scale:.10g}"

    def joins_terminals(self, stays: Mask) -> bool:
        """Return whether the edges that stay join all terminals."""
        component = self.edges.part(stays).components(self.graph.n)[self.graph.terminals]
        return bool((component == component[0]).all())

    def reduced_again(
        self, removed: Mask, contracted: Indices, counts: Mapping[str, int], weightless: bool = False
    ) -> ReducedGraph:
        """Return the graph without some of its edges and with others contracted, reduced again.

        Parameters
        ----------
        removed
            Shape (edges,): which edges are removed.
        contracted
            The numbers of the edges to be contracted, which make a forest. The two ends of each become one terminal.
        counts
            How many edges this removes, by kind, to be added to the counts.
        weightless
            Whether edges of weight 0 are contracted. Then a new vertex is a terminal only if one of its vertices was,
            and the counts begin here.
        """
        graph, n, edges = self.graph, self.graph.n, self.edges
        total = {kind: self.counts.get(kind, 0) + counts.get(kind, 0) for kind in {**self.counts, **counts}}
        assert graph.terminals is not None
        stays = ~removed
        stays[contracted] = True
        component = edges.part(stays).components(n)
        inside = component[edges.tails] == component[graph.terminals[0]]
        contracted = contracted[inside[contracted]]
        component, joined = edges.part(contracted).components(n), np.full(n, n)
        np.minimum.at(joined, component, np.arange(n))
        joined = joined[component]  # the smallest vertex that stands for each
        terminal = np.zeros(n, dtype=bool)
        terminal[joined[graph.terminals]] = True
        if weightless:  # contracted edges become loops, which are counted as parallel edges later
            total["contracted"], total["parallel"] = len(contracted), -len(contracted)
        else:
            terminal[joined[edges.tails[contracted]]] = True
            stays[contracted] = False
        edges, first = edges.kept(stays & inside)
        edges, origins = _after_rounds(edges.renamed(joined), terminal, total)
        needed = terminal.copy()
        needed[edges.tails] = needed[edges.heads] = True
        kept, edges = np.flatnonzero(needed), edges.renamed(np.cumsum(needed) - 1)
        smaller = assembled(
            graph.name, len(kept), edges.tails, edges.heads, narrowed(edges.weights), directed=False, scale=graph.scale,
            labels=graph.labels[kept], terminals=np.flatnonzero(terminal[kept]),
            coordinates=None if graph.coordinates is None else graph.coordinates[kept],
        )
        member = np.searchsorted(kept[terminal[kept]], joined[graph.terminals])
        return ReducedGraph(smaller, edges, self.original, member[self.member], self.restored(contracted),
                            (*self.origins, first, *origins), total)


def reduced(graph: Graph) -> ReducedGraph:
    """Return the reduced form of a Steiner problem, which `problems.steiner.require_problem` has accepted."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    assert graph.terminals is not None
    edges = Edges.of(graph)
    zero = np.flatnonzero(edges.weights == 0)
    ranks = np.arange(1.0, len(zero) + 1)  # all different, and none is 0, which scipy would drop
    pattern = coo_array((ranks, (edges.tails[zero], edges.heads[zero])), shape=(graph.n, graph.n))
    first_forest = zero[np.sort(minimum_spanning_tree(pattern.tocsr()).data).astype(np.int64) - 1]
    none, counts = np.empty(0, np.int64), {"contracted": 0, "parallel": 0, "ends": 0, "passed": 0}
    whole = ReducedGraph(graph, edges, edges, np.arange(len(graph.terminals)), none, (), counts)
    return whole.reduced_again(np.zeros(len(edges), dtype=bool), first_forest, {}, weightless=True)


def _after_rounds(edges: Edges, terminal: Mask, counts: dict[str, int]) -> tuple[Edges, list[Origin]]:
    """Return the edges that the rounds leave, given which vertices are terminals, and the origins of each step."""
    origins, before = [], 2 * len(edges)
    while (before - len(edges)) * WORTHWHILE > before:
        before = len(edges)
        for step in (_simple, _without_leaves, _without_chains):
            edges, origin = step(edges, terminal, counts)
            origins.append(origin)
    edges, origin = _simple(edges, terminal, counts)
    return edges, [*origins, origin]


def ranges(begin: Indices, counts: NDArray[Any]) -> Indices:
    """Return the numbers of several ranges, one range after the other: `counts[i]` numbers from `begin[i]` on."""
    shift = np.repeat(begin - (np.cumsum(counts, dtype=np.int64) - counts), counts)
    return shift + np.arange(len(shift))


def left_of(graph: Graph) -> tuple[int, int]:
    """Return about how many vertices and arcs the rounds leave, which is known only after them.

    They remove leaves and vertices of chains, with one edge each. That is right within a few per cent, and takes hardly
    any time.
    """
    passing = np.diff(graph.offsets) <= 2
    passing[graph.terminals] = False
    gone = int(passing.sum())
    return max(1, graph.n - gone), max(0, graph.arcs - 2 * gone)


def reduced_bytes(graph: Graph) -> int:
    """Return the bytes of a reduced graph: its edges, those of the original graph, and the origins of each step.

    The first step has all edges. If it removed many, another one follows, on about the edges that are left.
    """
    n, arcs = left_of(graph)
    again = (graph.arcs - arcs) * WORTHWHILE > graph.arcs
    return 44 * graph.arcs + (28 + 24 * again) * arcs + 32 * n


def _simple(edges: Edges, terminal: Mask, counts: dict[str, int]) -> tuple[Edges, Origin]:
    """Remove loops and parallel edges. The edges that stay have the smaller end first, and are sorted by their ends."""
    tails, heads = np.minimum(edges.tails, edges.heads), np.maximum(edges.tails, edges.heads)
    keys = tails * len(terminal) + heads
    order = np.argsort(keys, kind="stable")
    order = order[(tails != heads)[order]]
    first = first_of_runs(keys[order])
    weights, run = edges.weights[order], np.cumsum(first) - 1
    least = np.minimum.reduceat(weights, np.flatnonzero(first)) if len(order) else weights
    order, run = order[weights == least[run]], run[weights == least[run]]
    which = order[first_of_runs(run)]
    counts["parallel"] += len(edges) - len(which)
    return Edges(tails[which], heads[which], edges.weights[which]), Origin(np.arange(len(which) + 1), which)


def first_of_runs(values: NDArray[Any]) -> Mask:
    """Return which values, or rows of a table, are the first of a run of equal ones."""
    differs = values[1:] != values[:-1]
    if differs.ndim > 1:
        differs = differs.any(axis=1)
    return np.concatenate([np.ones(min(len(values), 1), dtype=bool), differs])


def _without_leaves(edges: Edges, terminal: Mask, counts: dict[str, int]) -> tuple[Edges, Origin]:
    """Remove leaves that are no terminals."""
    leaf = (edges.degrees(len(terminal)) == 1) & ~terminal
    counts["ends"] += int(leaf.sum())
    return edges.kept(~(leaf[edges.tails] | leaf[edges.heads]))


def _without_chains(edges: Edges, terminal: Mask, counts: dict[str, int]) -> tuple[Edges, Origin]:
    """Replace each chain, with the edges at its ends, by one edge. New edges stand behind those that stay."""
    passed = (edges.degrees(len(terminal)) == 2) & ~terminal
    counts["passed"] += int(passed.sum())
    inside, outside = passed[edges.tails], passed[edges.heads]
    chain = edges.part(inside & outside).components(len(terminal))
    touched = np.flatnonzero(inside | outside)
    number = np.where(inside, chain[edges.tails], chain[edges.heads])[touched]
    order = np.argsort(number, kind="stable")
    touched, number = touched[order], number[order]
    starts = np.flatnonzero(first_of_runs(number))
    sums = np.add.reduceat(edges.weights[touched], starts) if len(starts) else edges.weights[:0]
    tails, heads = _chain_ends(edges, chain, inside, outside, number[starts])
    stays = np.flatnonzero(~(inside | outside))
    result = Edges(*(np.concatenate(pair) for pair in (
        (edges.tails[stays], tails), (edges.heads[stays], heads), (edges.weights[stays], sums))))
    offsets = np.concatenate([np.arange(len(stays)), len(stays) + starts, [len(edges)]])
    return result, Origin(offsets, np.concatenate([stays, touched]))


def _chain_ends(edges: Edges, chain: Indices, inside: Mask, outside: Mask, numbers: Indices) -> tuple[Indices, Indices]:
    """Return the two vertices that each chain joins, or vertex 0 twice, a loop, if the chain is a cycle."""
    leaving, entering = inside & ~outside, outside & ~inside
    number = np.concatenate([chain[edges.tails[leaving]], chain[edges.heads[entering]]])
    end = np.concatenate([edges.heads[leaving], edges.tails[entering]])
    lower, upper = np.full(len(chain), len(chain)), np.full(len(chain), -1)
    np.minimum.at(lower, number, end)
    np.maximum.at(upper, number, end)
    cycle = upper[numbers] < 0
    return np.where(cycle, 0, lower[numbers]), np.where(cycle, 0, upper[numbers])

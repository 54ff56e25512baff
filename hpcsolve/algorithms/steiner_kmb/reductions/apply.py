"""The graph without some of its edges and with others contracted, reduced again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hpcsolve.algorithms.steiner_kmb.reductions.simple import (
    Edges,
    Indices,
    Mask,
    ReducedGraph,
    assembled_part,
    component_of,
    connected_components,
    kept_edges,
    reduced_in_rounds,
    smallest_joined,
)


def reduced_again(smaller: ReducedGraph, removed: Mask, contracted: Indices, counts: Mapping[str, int]) -> ReducedGraph:
    """Return a reduced graph without some of its edges and with others contracted, reduced again.

    Parameters
    ----------
    removed
        Shape (edges,): which edges are removed.
    contracted
        The numbers of the edges to be contracted, which make a forest. The two ends of each become one terminal.
    counts
        How many edges this removes, by kind, to be added to the counts.
    """
    graph, total = smaller.graph, dict(smaller.counts)
    assert graph.terminals is not None
    for kind, count in counts.items():
        total[kind] = total.get(kind, 0) + count
    joined = smallest_joined(graph.n, smaller.edges.part(contracted))
    stays = ~removed
    stays[contracted] = False
    edges, first = kept_edges(smaller.edges, stays)
    edges = Edges(joined[edges.tails], joined[edges.heads], edges.weights)
    terminal = np.zeros(graph.n, dtype=bool)
    terminal[joined[graph.terminals]] = terminal[joined[smaller.edges.tails[contracted]]] = True
    edges, near = component_of(graph.n, edges, joined[graph.terminals[0]])
    kept, edges, origins = reduced_in_rounds(edges, terminal, total)
    member = np.searchsorted(kept[terminal[kept]], joined[graph.terminals])[smaller.member]
    return ReducedGraph(
        assembled_part(graph, kept, edges, terminal[kept]), edges, smaller.original, member,
        smaller.restored(contracted), (*smaller.origins, first, near, *origins), total,
    )


def joins_terminals(smaller: ReducedGraph, removed: Mask) -> bool:
    """Return whether the terminals are in one connected component even without the removed edges."""
    assert smaller.graph.terminals is not None
    component = connected_components(smaller.graph.n, smaller.edges.part(~removed))[smaller.graph.terminals]
    return bool((component == component[0]).all())

"""Random Steiner problems from a seed.

Their default sizes are those of instances that are no longer published. Instances 189 and 197 of the PACE challenge
2018 (track C) are as large as road networks, with 172687 and 235686 vertices. The friendship graph "HR" of the SNAP
collection has 54573 vertices and 498202 edges, most of them at few vertices, and was used with 3000 terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.generate.graph import require_weights
from hpcsolve.problems.generate.plane_graphs import road_graph
from hpcsolve.problems.generate.random_integers import integers_below, next_words, require_integers, require_memory_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled


def steiner_generators() -> Mapping[str, Callable[..., Graph]]:
    """Return the generators of Steiner problems by their names in job files."""
    return {"road-steiner": road_steiner, "power-law-steiner": power_law_steiner}


def road_steiner(n: int = 172_687, terminals: int = 5000, seed: int = 1) -> Graph:
    """Generate a road-like network, the same as road-graph, with random terminals.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    terminals
        Number of terminals, at most n.
    seed
        Seed of the random numbers, at least 0.
    """
    _require(n, terminals, seed)
    graph = road_graph(n, seed)
    stream = np.random.PCG64(seed)
    stream.advance(2**64)  # far beyond the words that the network took
    text = f"road-steiner n={n} terminals={terminals} seed={seed}"
    name = f"road-steiner-{n}-seed{seed}"
    return replace(graph, terminals=_draw_terminals(stream, n, terminals), name=name, comment=text)


def power_law_steiner(
    n: int = 54_573, edges: int = 498_202, terminals: int = 3000, seed: int = 1, low: int = 1, high: int = 100
) -> Graph:
    """Generate a connected graph in which few vertices have most of the edges, with random terminals.

    This is preferential attachment. Vertices are added one by one. Each edge joins the new vertex to an endpoint of an
    earlier edge, drawn at random. So a vertex with many edges gets more of them (V. Batagelj, U. Brandes, Physical
    Review E 71, 2005). Parallel edges are dropped.

    Parameters
    ----------
    edges
        Number of edges drawn, at least n - 1.
    low
        Smallest of the uniform integer weights, at least 0.
    high
        Largest weight, included, less than low + 2 ** 31.
    """
    _require(n, terminals, seed)
    require_integers(edges=(edges, n - 1))
    require_weights(low, high)
    require_memory_of(n, 80, edges)
    stream = np.random.PCG64(seed)
    tails, heads = _attached(stream, n, edges if n > 1 else 0)
    weights = integers_below(next_words(stream, len(tails)), high - low + 1).astype(np.uint64) + np.uint64(low)
    text = f"power-law-steiner n={n} edges={edges} terminals={terminals} seed={seed} low={low} high={high}"
    return assembled(
        f"power-law-steiner-{n}-seed{seed}", n, tails, heads, weights, directed=False, labels=np.arange(1, n + 1),
        terminals=_draw_terminals(stream, n, terminals), comment=text,
    )


def _attached(stream: np.random.PCG64, n: int, edges: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tails and heads of edges drawn by preferential attachment between vertices in random order.

    One list holds all endpoints: vertex 0, then for each edge the new vertex and a reference to the earlier entry that
    the edge leads to. References to references are resolved, all at once, until every entry is a vertex.
    """
    first = np.arange(edges) * (n - 1) // max(edges, 1)  # new vertex of each edge, less 1
    before = 1 + 2 * np.searchsorted(first, first)  # number of entries before that vertex was added
    reference = (next_words(stream, edges) >> np.uint64(32)).astype(np.int64) * before >> 32
    ends = np.zeros(1 + 2 * edges, dtype=np.int64)  # a vertex, or -1 - reference
    ends[1::2] = first + 1
    ends[2::2] = -1 - reference
    while (references := np.flatnonzero(ends < 0)).size:
        ends[references] = ends[-1 - ends[references]]
    order = np.argsort(next_words(stream, n), kind="stable")
    return order[ends[1::2]], order[ends[2::2]]


def _draw_terminals(stream: np.random.PCG64, n: int, terminals: int) -> NDArray[np.int64]:
    """Draw distinct vertices at random and return them in ascending order."""
    return np.sort(np.argsort(next_words(stream, n), kind="stable")[:terminals])


def _require(n: int, terminals: int, seed: int) -> None:
    require_integers(n=(n, 1), terminals=(terminals, 1), seed=(seed, 0))
    if terminals > n:
        raise InputError(f"terminals is {terminals}; a graph of {n} vertices has at most {n}")

"""Random Steiner problems from a seed: stand-ins for instances of which no public copy is left, and any other size.

Of the PACE challenge of 2018 (track C) the instances 189 and 197 have 172687 and 235686 vertices, a road network's kind
of size; the friendship graph "HR" of the SNAP collection has 54573 vertices and 498202 edges, few of its vertices with
most of them, and was given 3000 terminals. The defaults make graphs of these sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.generate.graph import require_weights
from hpcsolve.problems.generate.plane_graphs import road_graph
from hpcsolve.problems.generate.random_words import below, next_words, require_integers, require_memory_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled


def steiner_kinds() -> Mapping[str, Callable[..., Graph]]:
    """Every generator of Steiner problems by its name in job files."""
    return {"road-steiner": road_steiner, "power-law-steiner": power_law_steiner}


def road_steiner(n: int = 172_687, terminals: int = 5000, seed: int = 1) -> Graph:
    """A road-like network (as road-graph) with random terminals.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    terminals
        How many, at most n.
    seed
        Of the random numbers, at least 0.
    """
    _require(n, terminals, seed)
    graph = road_graph(n, seed)
    stream = np.random.PCG64(seed)
    stream.advance(2**64)  # far beyond what the network took
    text = f"road-steiner n={n} terminals={terminals} seed={seed}"
    name = f"road-steiner-{n}-seed{seed}"
    return replace(graph, terminals=_some(stream, n, terminals), name=name, comment=text)


def power_law_steiner(
    n: int = 54_573, edges: int = 498_202, terminals: int = 3000, seed: int = 1, low: int = 1, high: int = 100
) -> Graph:
    """A connected graph of few vertices with most edges (preferential attachment), with random terminals.

    Vertex by vertex, each edge leads from the new vertex to an end of an edge before, drawn at random: who has many
    edges gets more (V. Batagelj, U. Brandes, Physical Review E 71, 2005). Parallel edges are dropped.

    Parameters
    ----------
    edges
        How many are drawn, at least n - 1.
    low, high
        Weights are uniform integers of this range, both included; high - low below 2 ** 31.
    """
    _require(n, terminals, seed)
    require_integers(edges=(edges, n - 1))
    require_weights(low, high)
    require_memory_of(80 * n + 150 * edges, f"a graph of {n} vertices and {edges} edges")
    stream = np.random.PCG64(seed)
    tails, heads = _attached(stream, n, edges if n > 1 else 0)
    weights = below(next_words(stream, len(tails)), high - low + 1).astype(np.uint64) + np.uint64(low)
    text = f"power-law-steiner n={n} edges={edges} terminals={terminals} seed={seed} low={low} high={high}"
    return assembled(
        f"power-law-steiner-{n}-seed{seed}", n, tails, heads, weights, directed=False, labels=np.arange(1, n + 1),
        terminals=_some(stream, n, terminals), comment=text,
    )  # fmt: skip


def _attached(stream: np.random.PCG64, n: int, edges: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both ends of the edges; the vertices are numbered in random order.

    All ends stand in one list: vertex 0, then of each edge the new vertex and the place of the end that it leads to.
    Places of places are followed, all at once, until they lead to a vertex.
    """
    first = np.arange(edges) * (n - 1) // max(edges, 1)  # of edge e the new vertex, less 1
    before = 1 + 2 * np.searchsorted(first, first)  # ends in the list before that vertex came
    place = (next_words(stream, edges) >> np.uint64(32)).astype(np.int64) * before >> 32
    ends = np.zeros(1 + 2 * edges, dtype=np.int64)  # a vertex, or less than 0: a place
    ends[1::2] = first + 1
    ends[2::2] = -1 - place
    while (open_ends := np.flatnonzero(ends < 0)).size:
        ends[open_ends] = ends[-1 - ends[open_ends]]
    order = np.argsort(next_words(stream, n), kind="stable")
    return order[ends[1::2]], order[ends[2::2]]


def _some(stream: np.random.PCG64, n: int, terminals: int) -> NDArray[np.int64]:
    """Different vertices, drawn at random, in ascending order."""
    return np.sort(np.argsort(next_words(stream, n), kind="stable")[:terminals])


def _require(n: int, terminals: int, seed: int) -> None:
    require_integers(n=(n, 1), terminals=(terminals, 1), seed=(seed, 0))
    if terminals > n:
        raise InputError(f"terminals is {terminals}; a graph of {n} vertices has at most {n}")

"""Random graphs and Steiner problems from a seed, the same on every platform and with every version of numpy.

They take O(n + m) memory. Weights are integers, labels are 1..n. Shapes that are hard for a shortest-path search are
among them: long and thin graphs, a hub, many connected components, parallel arcs and loops. `low` and `high` make
weights equal, 0 or huge.

The default sizes of Steiner problems are those of instances that are no longer published. Instances 189 and 197 of the
PACE challenge 2018 (track C) are as large as road networks, with 172687 and 235686 vertices. The friendship graph "HR"
of the SNAP collection has 54573 vertices and 498202 edges, most of them at few vertices, and was used with 3000
terminals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.generate import random_integers
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.graph import Graph, assembled
from hpcsolve.problems.labels import is_integer
from hpcsolve.problems.rounding import LARGEST_WEIGHT

Edges = tuple[NDArray[np.int64], NDArray[np.int64]]






def grid_graph(rows: int, columns: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """Generate a grid whose vertices, numbered row by row, are joined to their two to four neighbours.

    Parameters
    ----------
    rows
        Number of rows, at least 1.
    columns
        Number of columns, at least 1.
    seed
        Seed of the random numbers, at least 0.
    low
        Smallest of the uniform integer weights, at least 0.
    high
        Largest weight, included, less than low + 2 ** 31.
    """
    random_integers.require_integers(rows=(rows, 1), columns=(columns, 1), seed=(seed, 0))
    n = _order(rows * columns, 2 * rows * columns)
    numbers = np.arange(n).reshape(rows, columns)
    tails = np.concatenate([numbers[:, :-1].ravel(), numbers[:-1].ravel()])
    heads = np.concatenate([numbers[:, 1:].ravel(), numbers[1:].ravel()])
    text = f"grid-graph rows={rows} columns={columns} seed={seed} low={low} high={high}"
    points = np.stack([np.tile(np.arange(columns), rows), np.repeat(np.arange(rows), columns)], axis=1)
    return _graph(f"grid-{rows}x{columns}", n, (tails, heads), seed, low, high, text, points.astype(np.float64))


def rmat_graph(scale: int, edge_factor: int = 16, seed: int = 1, low: int = 1, high: int = 255) -> Graph:
    """Generate an R-MAT graph as Graph500 has it, with a = 0.57 and b = c = 0.19.

    A few vertices have most of the edges, and many have none.

    Parameters
    ----------
    scale
        Binary logarithm of the number of vertices, 1 to 30. They are numbered at random.
    edge_factor
        Number of edges drawn per vertex, before loops and parallel edges are dropped.
    """
    random_integers.require_integers(scale=(scale, 1), edge_factor=(edge_factor, 1), seed=(seed, 0))
    n = _order(2 ** min(scale, 31), edge_factor << min(scale, 31))
    stream = np.random.PCG64(seed)
    tails, heads = _rmat_edges(stream, scale, n * edge_factor)
    order = np.argsort(random_integers.next_words(stream, n), kind="stable")
    tails, heads = order[tails], order[heads]
    keys = np.minimum(tails, heads) * n + np.maximum(tails, heads)
    keys = random_integers.sorted_unique(keys[tails != heads])
    text = f"rmat-graph scale={scale} edge_factor={edge_factor} seed={seed} low={low} high={high}"
    return _graph(f"rmat-{scale}-seed{seed}", n, (keys // n, keys % n), stream, low, high, text)


def path_graph(n: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """Generate a path through all vertices in order, which takes a search n - 1 dependent steps.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    """
    random_integers.require_integers(n=(n, 1), seed=(seed, 0))
    _order(n, n)
    first = np.arange(n - 1)
    text = f"path-graph n={n} seed={seed} low={low} high={high}"
    return _graph(f"path-{n}", n, (first, first + 1), seed, low, high, text)


def star_graph(n: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """Generate a star whose first vertex is joined to all others."""
    random_integers.require_integers(n=(n, 1), seed=(seed, 0))
    leaves = np.arange(1, _order(n, n))
    text = f"star-graph n={n} seed={seed} low={low} high={high}"
    return _graph(f"star-{n}", n, (np.zeros_like(leaves), leaves), seed, low, high, text)


def hub_graph(n: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """Generate a path of the first half of the vertices whose last one, the hub, is joined to all other vertices."""
    random_integers.require_integers(n=(n, 1), seed=(seed, 0))
    heads = np.arange(1, _order(n, n))
    hub = max(n // 2 - 1, 0)
    text = f"hub-graph n={n} seed={seed} low={low} high={high}"
    return _graph(f"hub-{n}", n, (np.minimum(heads - 1, hub), heads), seed, low, high, text)


def random_graph(
    n: int, degree: int = 4, seed: int = 1, low: int = 1, high: int = 100, parts: int = 1, directed: bool = False
) -> Graph:
    """Generate arcs between random vertices, of which loops and parallel arcs are dropped and counted.

    Parameters
    ----------
    degree
        Number of arcs drawn per vertex. In an undirected graph two of them count as one edge.
    parts
        Least number of connected components: v and w are joined only if v - w is a multiple of it.
    directed
        Whether arcs lead one way only.
    """
    random_integers.require_integers(n=(n, 1), degree=(degree, 0), seed=(seed, 0), parts=(parts, 1))
    random_integers.require_truths(directed=directed)
    _order(n, n * degree)
    stream = np.random.PCG64(seed)
    count = n * degree if directed else n * degree // 2
    tails = random_integers.integers_below(random_integers.next_words(stream, count), n)
    # The number of vertices that the tail may be joined to.
    sizes = (n - 1 - tails % parts) // parts + 1
    drawn = (random_integers.next_words(stream, count) >> np.uint64(32)).astype(np.int64)
    heads = tails % parts + parts * (drawn * sizes >> 32)
    text = f"random-graph n={n} degree={degree} seed={seed} low={low} high={high} parts={parts}"
    text += f" directed={str(directed).lower()}"
    return _graph(f"random-{n}-seed{seed}", n, (tails, heads), stream, low, high, text, directed=directed)


def _rmat_edges(stream: np.random.PCG64, scale: int, count: int) -> Edges:
    """Draw the tails and heads of edges. Each level chooses one of four quadrants by 16 bits of a random word."""
    a, ab, abc = 37356, 49807, 62259  # 0.57, 0.76 and 0.95 of 65536
    tails = np.zeros(count, dtype=np.int64)
    heads = np.zeros(count, dtype=np.int64)
    for level in range(scale):
        if level % 4 == 0:
            raw = random_integers.next_words(stream, count)
        bits = (raw >> np.uint64(16 * (level % 4))).astype(np.uint16)
        tails = tails << 1 | (bits >= ab)
        heads = heads << 1 | ((bits >= a) & (bits < ab)) | (bits >= abc)
    return tails, heads


def _graph(
    name: str, n: int, edges: Edges, random: int | np.random.PCG64, low: int, high: int, comment: str,
    coordinates: NDArray[np.float64] | None = None, directed: bool = False,
) -> Graph:
    """Build the graph of these edges with random weights, from a seed or from the next words of a stream."""
    require_weights(low, high)
    stream = np.random.PCG64(random) if isinstance(random, (int, np.integer)) else random
    weights = _weights(stream, len(edges[0]), low, high)
    return assembled(
        name, n, *edges, weights.astype(np.uint32) if high < 2**32 else weights, directed=directed,
        labels=np.arange(1, n + 1), coordinates=coordinates, comment=comment,
    )


def _weights(stream: np.random.PCG64, count: int, low: int, high: int) -> NDArray[np.uint64]:
    """Return the next random weights of a stream, from `low` to `high`, both included."""
    drawn = random_integers.integers_below(random_integers.next_words(stream, count), high - low + 1)
    return drawn.astype(np.uint64) + np.uint64(low)


def require_weights(low: int, high: int) -> None:
    """Refuse bounds of weights that are not integers or not a range.

    Raises
    ------
    InputError
        With the bounds.
    """
    for key, value in (("low", low), ("high", high)):
        if not is_integer(value):
            raise InputError(f"{key} is {value!r}; it must be an integer")
    if not (0 <= low <= high <= LARGEST_WEIGHT and high - low < random_integers.LARGEST_RANGE):
        raise InputError(f"low is {low}, high is {high}; 0 <= low <= high < low + 2^31 and high < 2^64 - 1 must hold")


def _order(n: int, edges: int) -> int:
    """Return the number of vertices, unless a graph with that many vertices and edges does not fit this machine."""
    if n >= random_integers.LARGEST_RANGE:
        raise InputError(f"{n} vertices are too many; at most {random_integers.LARGEST_RANGE - 1} are possible")
    random_integers.require_memory_of(n, 40, edges)
    return n




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
    random_integers.require_integers(edges=(edges, n - 1))
    require_weights(low, high)
    random_integers.require_memory_of(n, 80, edges)
    stream = np.random.PCG64(seed)
    tails, heads = _attached(stream, n, edges if n > 1 else 0)
    weights = _weights(stream, len(tails), low, high)
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
    reference = (random_integers.next_words(stream, edges) >> np.uint64(32)).astype(np.int64) * before >> 32
    ends = np.zeros(1 + 2 * edges, dtype=np.int64)  # a vertex, or -1 - reference
    ends[1::2] = first + 1
    ends[2::2] = -1 - reference
    while (references := np.flatnonzero(ends < 0)).size:
        ends[references] = ends[-1 - ends[references]]
    order = np.argsort(random_integers.next_words(stream, n), kind="stable")
    return order[ends[1::2]], order[ends[2::2]]


def _draw_terminals(stream: np.random.PCG64, n: int, terminals: int) -> NDArray[np.int64]:
    """Draw distinct vertices at random and return them in ascending order."""
    return np.sort(np.argsort(random_integers.next_words(stream, n), kind="stable")[:terminals])


def _require(n: int, terminals: int, seed: int) -> None:
    random_integers.require_integers(n=(n, 1), terminals=(terminals, 1), seed=(seed, 0))
    if terminals > n:
        raise InputError(f"terminals is {terminals}; a graph of {n} vertices has at most {n}")

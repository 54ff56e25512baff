"""Random graphs from a seed, in O(n + m) memory: the same bytes on every platform and with every version of numpy.

Weights are integers; labels are 1..n. The shapes that are hard for a shortest-path search are among them: long and
thin, a hub, many parts, parallel arcs and loops; with `low` and `high` also equal, vanishing and huge weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.generate.plane_graphs import geometric_graph as geometric_graph
from hpcsolve.problems.generate.plane_graphs import road_graph as road_graph
from hpcsolve.problems.generate.random_words import (
    WIDEST,
    below,
    made,
    next_words,
    require_integers,
    require_memory_of,
    sorted_once,
)
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled
from hpcsolve.problems.weights import LARGEST_WEIGHT

Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


def generate_graph(kind: str, **parameters: object) -> Graph:
    """Make the graph that a job file's `{ generate = "road-graph", n = 1000, seed = 1 }` asks for.

    Parameters
    ----------
    kind
        A key of `graph_kinds()`.
    parameters
        The arguments of the function of that name.

    Raises
    ------
    InputError
        Unknown kind or key (naming the nearest), a missing key, a value of the wrong type or out of range.
    """
    return made(graph_kinds(), kind, parameters)


def graph_kinds() -> Mapping[str, Callable[..., Graph]]:
    """Every generator of graphs by its name in job files."""
    return {
        "road-graph": road_graph,
        "grid-graph": grid_graph,
        "rmat-graph": rmat_graph,
        "geometric-graph": geometric_graph,
        "path-graph": path_graph,
        "star-graph": star_graph,
        "hub-graph": hub_graph,
        "random-graph": random_graph,
    }


def grid_graph(rows: int, columns: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """A grid, each vertex joined to those beside, above and below; vertices row by row.

    Parameters
    ----------
    rows, columns
        At least 1 each.
    seed
        Of the random numbers, at least 0.
    low, high
        Weights are uniform integers of this range, both included; high - low below 2 ** 31.
    """
    require_integers(rows=(rows, 1), columns=(columns, 1), seed=(seed, 0))
    n = _order(rows * columns, 2 * rows * columns)
    numbers = np.arange(n).reshape(rows, columns)
    tails = np.concatenate([numbers[:, :-1].ravel(), numbers[:-1].ravel()])
    heads = np.concatenate([numbers[:, 1:].ravel(), numbers[1:].ravel()])
    text = f"grid-graph rows={rows} columns={columns} seed={seed} low={low} high={high}"
    places = np.stack([np.tile(np.arange(columns), rows), np.repeat(np.arange(rows), columns)], axis=1)
    return _graph(f"grid-{rows}x{columns}", n, (tails, heads), seed, low, high, text, places.astype(np.float64))


def rmat_graph(scale: int, edge_factor: int = 16, seed: int = 1, low: int = 1, high: int = 255) -> Graph:
    """An R-MAT graph of Graph500's shape (a = 0.57, b = c = 0.19): few vertices have most edges, many have none.

    Parameters
    ----------
    scale
        2 ** scale vertices, in random order; 1 to 30.
    edge_factor
        Edges drawn a vertex, of which loops and parallel ones are dropped.
    """
    require_integers(scale=(scale, 1), edge_factor=(edge_factor, 1), seed=(seed, 0))
    n = _order(2 ** min(scale, 31), edge_factor << min(scale, 31))
    stream = np.random.PCG64(seed)
    tails, heads = _rmat_ends(stream, scale, n * edge_factor)
    order = np.argsort(next_words(stream, n), kind="stable")
    tails, heads = order[tails], order[heads]
    keys = np.minimum(tails, heads) * n + np.maximum(tails, heads)
    keys = sorted_once(keys[tails != heads])
    text = f"rmat-graph scale={scale} edge_factor={edge_factor} seed={seed} low={low} high={high}"
    return _graph(f"rmat-{scale}-seed{seed}", n, (keys // n, keys % n), stream, low, high, text)


def path_graph(n: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """A path through all vertices in order: n - 1 dependent steps.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    """
    require_integers(n=(n, 1), seed=(seed, 0))
    _order(n, n)
    first = np.arange(n - 1)
    text = f"path-graph n={n} seed={seed} low={low} high={high}"
    return _graph(f"path-{n}", n, (first, first + 1), seed, low, high, text)


def star_graph(n: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """A star: the first vertex is joined to all others."""
    require_integers(n=(n, 1), seed=(seed, 0))
    leaves = np.arange(1, _order(n, n))
    text = f"star-graph n={n} seed={seed} low={low} high={high}"
    return _graph(f"star-{n}", n, (np.zeros_like(leaves), leaves), seed, low, high, text)


def hub_graph(n: int, seed: int = 1, low: int = 1, high: int = 100) -> Graph:
    """A chain of the first half of the vertices; its last one is the hub that all others hang on."""
    require_integers(n=(n, 1), seed=(seed, 0))
    heads = np.arange(1, _order(n, n))
    hub = max(n // 2 - 1, 0)
    text = f"hub-graph n={n} seed={seed} low={low} high={high}"
    return _graph(f"hub-{n}", n, (np.minimum(heads - 1, hub), heads), seed, low, high, text)


def random_graph(
    n: int, degree: int = 4, seed: int = 1, low: int = 1, high: int = 100, parts: int = 1, directed: bool = False
) -> Graph:
    """Arcs between random vertices, with loops and parallel ones among them (dropped and counted).

    Parameters
    ----------
    degree
        Arcs drawn a vertex; undirected, every second one makes an edge.
    parts
        Vertices v and w are joined only if v - w is a multiple of it: at least so many components.
    directed
        Whether an arc leads one way only.
    """
    require_integers(n=(n, 1), degree=(degree, 0), seed=(seed, 0), parts=(parts, 1))
    if not isinstance(directed, bool):
        raise InputError(f"directed is {directed!r}; it must be true or false")
    _order(n, n * degree)
    stream = np.random.PCG64(seed)
    count = n * degree if directed else n * degree // 2
    tails = below(next_words(stream, count), n)
    # As many vertices as there are in the part of the first end.
    sizes = (n - 1 - tails % parts) // parts + 1
    heads = tails % parts + parts * ((next_words(stream, count) >> np.uint64(32)).astype(np.int64) * sizes >> 32)
    text = f"random-graph n={n} degree={degree} seed={seed} low={low} high={high} parts={parts}"
    text += f" directed={str(directed).lower()}"
    return _graph(f"random-{n}-seed{seed}", n, (tails, heads), stream, low, high, text, directed=directed)


def _rmat_ends(stream: np.random.PCG64, scale: int, count: int) -> Edges:
    """Both ends of the edges: each level takes one of four quadrants by 16 random bits, four levels a word."""
    a, ab, abc = 37356, 49807, 62259  # 0.57, 0.76 and 0.95 of 65536
    tails = np.zeros(count, dtype=np.int64)
    heads = np.zeros(count, dtype=np.int64)
    for level in range(scale):
        if level % 4 == 0:
            raw = next_words(stream, count)
        bits = (raw >> np.uint64(16 * (level % 4))).astype(np.uint16)
        tails = tails << 1 | (bits >= ab)
        heads = heads << 1 | ((bits >= a) & (bits < ab)) | (bits >= abc)
    return tails, heads


def _graph(
    name: str, n: int, edges: Edges, random: int | np.random.PCG64, low: int, high: int, comment: str,
    coordinates: NDArray[np.float64] | None = None, directed: bool = False,
) -> Graph:  # fmt: skip
    """The graph of these edges with random weights, from a seed or a stream that goes on."""
    require_weights(low, high)
    stream = np.random.PCG64(random) if isinstance(random, (int, np.integer)) else random
    weights = below(next_words(stream, len(edges[0])), high - low + 1).astype(np.uint64) + np.uint64(low)
    return assembled(
        name, n, *edges, weights.astype(np.uint32) if high < 2**32 else weights, directed=directed,
        labels=np.arange(1, n + 1), coordinates=coordinates, comment=comment,
    )  # fmt: skip


def require_weights(low: int, high: int) -> None:
    """Refuse a range of weights that is none.

    Raises
    ------
    InputError
        Naming the bounds.
    """
    for key, value in (("low", low), ("high", high)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
            raise InputError(f"{key} is {value!r}; it must be an integer")
    if not (0 <= low <= high <= LARGEST_WEIGHT and high - low < WIDEST):
        raise InputError(f"low is {low}, high is {high}; 0 <= low <= high < low + 2^31 must hold, high < 2^64 - 1")


def _order(n: int, edges: int) -> int:
    """The number of vertices, if they and that many edges fit this machine."""
    if n >= WIDEST:
        raise InputError(f"{n} vertices are too many; at most {WIDEST - 1}")
    require_memory_of(24 * n + 80 * edges, f"a graph of {n} vertices and {edges} edges")
    return n

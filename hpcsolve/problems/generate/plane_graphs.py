"""Random graphs of points in the plane: road-like networks, and random geometric graphs.

Points have integer coordinates in a square of 2 ** 30 a side; lengths are compared as exact squares, so that the edges
do not depend on rounding. Vertices are numbered along a Z-curve. Weights are lengths, of which the mean distance of n
points in the square, side / sqrt(n), is 1000.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.generate.random_words import below, next_words, require_integers, require_memory_of, sorted_once
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled
from hpcsolve.problems.graph_order import permuted, z_order

SIDE = 2**30

Points = NDArray[np.int64]
Ends = NDArray[np.int64]

_PI = 3.141592653589793
_BLOCK = 1 << 17


def road_graph(n: int, seed: int = 1, shuffle: bool = False) -> Graph:
    """A road-like network: planar, connected, of mean degree 2.5, dense in towns.

    60 % of the vertices lie in towns of Pareto-distributed size, the others anywhere. Of the Delaunay triangulation
    an edge is kept unless a neighbour of either end is nearer to both ends than they are to each other: a relative
    neighbourhood graph but for a few. One road in four is fast: its length counts 0.7 or, every twentieth's, 0.45.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    seed
        Of the random numbers, at least 0.
    shuffle
        Vertices in random order, as a file of no spatial order has them.
    """
    require_integers(n=(n, 1), seed=(seed, 0))
    if not isinstance(shuffle, bool):
        raise InputError(f"shuffle is {shuffle!r}; it must be true or false")
    require_memory_of(700 * n, f"a road graph of {n} vertices")
    stream = np.random.PCG64(seed)
    in_towns = 6 * n // 10
    points = np.concatenate([_town_points(stream, in_towns, max(8, n // 3000)), _points(stream, n - in_towns)])
    points = _distinct(points[z_order(points.astype(np.float64))])
    tails, heads = _without_detours(points, *_delaunay(points))
    speed = below(next_words(stream, len(tails)), 100)
    factors = np.where(speed < 75, 1.0, np.where(speed < 95, 0.7, 0.45))
    text = f"road-graph n={n} seed={seed} shuffle={str(shuffle).lower()}"
    graph = _graph(f"road-{n}-seed{seed}", points, tails, heads, factors, text)
    if not shuffle:
        return graph
    return permuted(graph, np.argsort(next_words(stream, n), kind="stable"), labels=graph.labels)


def geometric_graph(n: int, degree: int = 12, seed: int = 1) -> Graph:
    """Uniform points, joined where they are nearer than a radius.

    Parameters
    ----------
    degree
        Mean number of neighbours, away from the border.
    """
    require_integers(n=(n, 1), degree=(degree, 0), seed=(seed, 0))
    require_memory_of((200 + 65 * degree) * n, f"a geometric graph of {n} vertices and degree {degree}")
    points = _points(np.random.PCG64(seed), n)
    points = points[z_order(points.astype(np.float64))]
    tails, heads = _near_pairs(points, int(min(degree / (_PI * n), 2.0) * SIDE * SIDE))
    text = f"geometric-graph n={n} degree={degree} seed={seed}"
    return _graph(f"geometric-{n}-seed{seed}", points, tails, heads, np.ones(len(tails)), text)


def _points(stream: np.random.PCG64, count: int) -> Points:
    """Uniform points, one random word each."""
    raw = next_words(stream, count)
    return np.stack([raw >> np.uint64(34), (raw >> np.uint64(4)) & np.uint64(SIDE - 1)], axis=1).astype(np.int64)


def _town_points(stream: np.random.PCG64, count: int, towns: int) -> Points:
    """Points around the centres of towns; three random words each: x, y, town."""
    centres = _points(stream, towns)
    shares = _pareto(below(next_words(stream, towns), 2**31))
    bounds = np.cumsum(shares)
    total = int(bounds[-1])
    spread = (0.012 * np.sqrt(shares.astype(np.float64) * (towns / total)) * SIDE).astype(np.int64)
    raw = next_words(stream, count)
    shift = max(total.bit_length() - 31, 0)
    town = np.minimum(np.searchsorted(bounds >> shift, below(raw, total >> shift), side="right"), towns - 1)
    result = np.empty((count, 2), dtype=np.int64)
    for axis in range(2):
        grain = spread[town] // 37837 + 1
        jitter = ((raw >> np.uint64(16 * axis)) & np.uint64(0xFFFF)).astype(np.int64) * grain >> 16
        offset = _bell(next_words(stream, count)) * spread[town] // 37837 + jitter
        result[:, axis] = (centres[town, axis] + offset) & (SIDE - 1)
    return result


def _bell(raw: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Sum of a word's four 16-bit parts less its mean: bell-shaped, with standard deviation 37837."""
    total = np.zeros(len(raw), dtype=np.int64)
    for part in range(4):
        total += ((raw >> np.uint64(16 * part)) & np.uint64(0xFFFF)).astype(np.int64)
    return total - 131070


def _pareto(uniform: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sizes u ** (-1 / 1.2) - 0.8 in units of 2 ** -12, for u = (uniform + 1) / 2 ** 31; Newton's cube root."""
    u = (uniform + 1) / float(2**31)
    root = np.ones(len(u))
    for _ in range(60):
        root = (2.0 * root + u / (root * root)) / 3.0
    sixth = np.sqrt(root)
    return ((sixth / u - 0.8) * 4096.0).astype(np.int64)


def _distinct(points: Points) -> Points:
    """The points, moved by one unit until no two are the same."""
    while True:
        keys = points[:, 0] * SIDE + points[:, 1]
        order = np.argsort(keys, kind="stable")
        again = order[1:][keys[order[1:]] == keys[order[:-1]]]
        if not len(again):
            return points
        points[again, 0] = (points[again, 0] + 1) % SIDE


def _delaunay(points: Points) -> tuple[Ends, Ends]:
    """Both ends, the smaller first, of each edge of the Delaunay triangulation."""
    n = len(points)
    if n < 4:
        first, second = np.triu_indices(n, 1)
        return first.astype(np.int64), second.astype(np.int64)
    from scipy.spatial import Delaunay

    found = Delaunay((points - SIDE // 2).astype(np.float64))
    corners = found.simplices.astype(np.int64)
    # Points that are too near to a corner for the library are joined to it.
    pairs = [corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]], found.coplanar[:, [0, 2]].astype(np.int64)]
    ends = np.concatenate(pairs)
    keys = sorted_once(ends.min(axis=1) * n + ends.max(axis=1))
    return keys // n, keys % n


def _without_detours(points: Points, tails: Ends, heads: Ends) -> tuple[Ends, Ends]:
    """The edges for which no neighbour of either end is nearer to both ends than these are to each other."""
    n = len(points)
    lengths = _squares(points, tails, heads)
    delaunay = assembled("", n, tails, heads, np.zeros(len(tails), dtype=np.uint32), directed=False)
    degrees = np.diff(delaunay.offsets)
    wanted = np.ones(len(tails), dtype=bool)
    kept = np.arange(len(tails))
    for near, far in ((tails, heads), (heads, tails)):
        for place in range(int(degrees.max(initial=0))):
            tried = kept[degrees[near[kept]] > place]
            if not len(tried):
                break
            third = delaunay.heads[delaunay.offsets[near[tried]] + place].astype(np.int64)
            longest = np.maximum(_squares(points, near[tried], third), _squares(points, far[tried], third))
            wanted[tried[longest < lengths[tried]]] = False
            kept = kept[wanted[kept]]
    return tails[kept], heads[kept]


def _near_pairs(points: Points, limit: int) -> tuple[Ends, Ends]:
    """All pairs of points whose squared distance is at most the limit, by a grid of cells of that width."""
    n = len(points)
    cells = max(min(SIDE // (math.isqrt(limit) + 1), math.isqrt(n) + 1), 1)
    column, row = points[:, 0] * cells >> 30, points[:, 1] * cells >> 30
    cell = column * cells + row
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(cells * cells + 1))
    found: list[tuple[Ends, Ends]] = [(np.empty(0, dtype=np.int64),) * 2]
    for begin in range(0, n, _BLOCK):
        here = np.arange(begin, min(begin + _BLOCK, n))
        for right, up in ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1)):
            x, y = column[order[here]] + right, row[order[here]] + up
            inside = np.flatnonzero((x < cells) & (y >= 0) & (y < cells))
            other = x[inside] * cells + y[inside]
            first = np.maximum(starts[other], here[inside] + 1) if (right, up) == (0, 0) else starts[other]
            counts = starts[other + 1] - first
            a = np.repeat(here[inside], counts)
            b = np.arange(len(a)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
            near = _squares(points, order[a], order[b]) <= limit
            found.append((order[a[near]], order[b[near]]))
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def _squares(points: Points, a: Ends, b: Ends) -> NDArray[np.int64]:
    """Squared distances, exact: below 2 ** 61."""
    across, along = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
    result: NDArray[np.int64] = across * across + along * along
    return result


def _graph(
    name: str, points: Points, tails: Ends, heads: Ends, factors: NDArray[np.float64], comment: str
) -> Graph:
    n = len(points)
    unit = 1000.0 * math.sqrt(n) / SIDE
    lengths = np.sqrt(_squares(points, tails, heads).astype(np.float64))
    weights = np.maximum(np.rint(lengths * factors * unit), 1.0).astype(np.uint32)
    return assembled(
        name, n, tails, heads, weights, directed=False, labels=np.arange(1, n + 1), comment=comment,
        coordinates=points.astype(np.float64),
    )  # fmt: skip

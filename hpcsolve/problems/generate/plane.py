"""Random graphs of points in the plane: road-like networks, road networks with small separators, geometric graphs.

Points have integer coordinates in a square with sides of 2 ** 30. Lengths are compared as exact squares, so that the
edges do not depend on rounding. Vertices are numbered along a Z-order curve. Weights are lengths, scaled so that
side / sqrt(n), the spacing of n points in the square, is 1000.

Few roads lead from one region of a real road network to the next. The vertices of `road_graph` whose numbers agree but
for the last b bits are a region of 2^b vertices, and each region consists of two halves. In a random planar graph some
2^(b/2) edges cross from one half to the other, and that many vertices separate them. In `road_network` about 2^(b/3)
do: the bridges, passes and highways between towns. The separators of real road networks grow alike (D. Delling, A. V.
Goldberg, I. Razenshteyn, R. F. Werneck: Graph partitioning with natural cuts, IPDPS 2011). Contraction of a million
vertices takes 26 steps a vertex and arc, and leaves 2.6 arcs a vertex. The real road network NE with 1.5 million
vertices takes 38, and leaves 2.6.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.generate import random_integers
from hpcsolve.problems.graph import Graph, assembled, z_order

SIDE = 2**30
"""Coordinates are 0..SIDE-1."""

Points = NDArray[np.int64]
Ends = NDArray[np.int64]

_PI = 3.141592653589793
_BLOCK = 1 << 17  # points whose neighbours are searched for at a time


def road_graph(n: int, seed: int = 1, shuffle: bool = False) -> Graph:
    """Generate a road-like network, which is planar and connected, has mean degree 2.5 and is denser in towns.

    60 % of the vertices lie in towns of Pareto-distributed size, the others anywhere. An edge of the Delaunay
    triangulation is kept unless a neighbour of one of its ends is nearer to both ends than they are to each other. This
    is the relative neighbourhood graph with a few more edges. The weight of a road is its length, times 0.7 for 20 % of
    the roads and times 0.45 for 5 %.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    seed
        Seed of the random numbers, at least 0.
    shuffle
        Whether to number the vertices at random, as in a file without spatial order.
    """
    random_integers.require_integers(n=(n, 1), seed=(seed, 0))
    random_integers.require_truths(shuffle=shuffle)
    random_integers.require_memory_of(n, 850)
    stream = np.random.PCG64(seed)
    points = road_points(stream, n)
    tails, heads = without_detours(points, *delaunay(points))
    speed = random_integers.integers_below(random_integers.next_words(stream, len(tails)), 100)
    factors = np.where(speed < 75, 1.0, np.where(speed < 95, 0.7, 0.45))
    text = f"road-graph n={n} seed={seed} shuffle={str(shuffle).lower()}"
    graph = weighted(f"road-{n}-seed{seed}", points, tails, heads, factors, text)
    if not shuffle:
        return graph
    return graph.permuted(np.argsort(random_integers.next_words(stream, n), kind="stable"), labels=graph.labels)


def geometric_graph(n: int, degree: int = 12, seed: int = 1) -> Graph:
    """Generate uniform points that are joined if they are not farther apart than a radius.

    Parameters
    ----------
    degree
        Mean number of neighbours away from the border. It determines the radius.
    """
    random_integers.require_integers(n=(n, 1), degree=(degree, 0), seed=(seed, 0))
    random_integers.require_memory_of(n, 200 + 70 * degree)
    points = _points(np.random.PCG64(seed), n)
    points = points[z_order(points.astype(np.float64))]
    tails, heads = _near_pairs(points, int(min(degree / (_PI * n), 2.0) * SIDE * SIDE))
    text = f"geometric-graph n={n} degree={degree} seed={seed}"
    return weighted(f"geometric-{n}-seed{seed}", points, tails, heads, np.ones(len(tails)), text)


def road_points(stream: np.random.PCG64, n: int) -> Points:
    """Return different points along a Z-order curve, of which 60 % lie in towns of Pareto-distributed size."""
    in_towns = 6 * n // 10
    points = np.concatenate([_town_points(stream, in_towns, max(8, n // 3000)), _points(stream, n - in_towns)])
    return _distinct(points[z_order(points.astype(np.float64))])


def _points(stream: np.random.PCG64, count: int) -> Points:
    """Draw uniform points, each from one random word."""
    raw = random_integers.next_words(stream, count)
    return np.stack([raw >> np.uint64(34), (raw >> np.uint64(4)) & np.uint64(SIDE - 1)], axis=1).astype(np.int64)


def _town_points(stream: np.random.PCG64, count: int, towns: int) -> Points:
    """Draw points around the centres of towns, each from three random words for x, y and the town."""
    centres = _points(stream, towns)
    shares = _pareto(random_integers.integers_below(random_integers.next_words(stream, towns), 2**31))
    bounds = np.cumsum(shares)
    total = int(bounds[-1])
    spread = (0.012 * np.sqrt(shares.astype(np.float64) * (towns / total)) * SIDE).astype(np.int64)
    raw = random_integers.next_words(stream, count)
    shift = max(total.bit_length() - 31, 0)
    share = random_integers.integers_below(raw, total >> shift)
    town = np.minimum(np.searchsorted(bounds >> shift, share, side="right"), towns - 1)
    result = np.empty((count, 2), dtype=np.int64)
    for axis in range(2):
        grain = spread[town] // 37837 + 1
        jitter = ((raw >> np.uint64(16 * axis)) & np.uint64(0xFFFF)).astype(np.int64) * grain >> 16
        offset = _bell(random_integers.next_words(stream, count)) * spread[town] // 37837 + jitter
        result[:, axis] = (centres[town, axis] + offset) & (SIDE - 1)
    return result


def _bell(raw: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the sum of a word's four 16-bit parts less its mean, bell-shaped with standard deviation 37837."""
    total = np.zeros(len(raw), dtype=np.int64)
    for part in range(4):
        total += ((raw >> np.uint64(16 * part)) & np.uint64(0xFFFF)).astype(np.int64)
    return total - 131070


def _pareto(uniform: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return u ** (-1 / 1.2) - 0.8 in units of 2 ** -12 for u = (uniform + 1) / 2 ** 31, with Newton's cube root."""
    u = (uniform + 1) / float(2**31)
    root = np.ones(len(u))
    for _ in range(60):
        root = (2.0 * root + u / (root * root)) / 3.0
    sixth = np.sqrt(root)
    return ((sixth / u - 0.8) * 4096.0).astype(np.int64)


def _distinct(points: Points) -> Points:
    """Move points by one unit until no two are the same, and return them."""
    while True:
        keys = points[:, 0] * SIDE + points[:, 1]
        order = np.argsort(keys, kind="stable")
        again = order[1:][keys[order[1:]] == keys[order[:-1]]]
        if not len(again):
            return points
        points[again, 0] = (points[again, 0] + 1) % SIDE


def delaunay(points: Points) -> tuple[Ends, Ends]:
    """Return the smaller and the larger end of each edge of the Delaunay triangulation."""
    n = len(points)
    if n < 4:
        first, second = np.triu_indices(n, 1)
        return first.astype(np.int64), second.astype(np.int64)
    from scipy.spatial import Delaunay

    found = Delaunay((points - SIDE // 2).astype(np.float64))
    corners = found.simplices.astype(np.int64)
    # Qhull leaves out points that are too near to a corner; they are joined to that corner.
    pairs = [corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]], found.coplanar[:, [0, 2]].astype(np.int64)]
    ends = np.concatenate(pairs)
    keys = random_integers.sorted_unique(ends.min(axis=1) * n + ends.max(axis=1))
    return keys // n, keys % n


def without_detours(points: Points, tails: Ends, heads: Ends) -> tuple[Ends, Ends]:
    """Return the edges whose ends have no neighbour that is nearer to both than they are to each other."""
    n = len(points)
    lengths = squares(points, tails, heads)
    graph = assembled("", n, tails, heads, np.zeros(len(tails), dtype=np.uint32), directed=False)
    degrees = np.diff(graph.offsets)
    keep = np.ones(len(tails), dtype=bool)
    kept = np.arange(len(tails))
    for near, far in ((tails, heads), (heads, tails)):
        for index in range(int(degrees.max(initial=0))):
            tried = kept[degrees[near[kept]] > index]
            if not len(tried):
                break
            third = graph.heads[graph.offsets[near[tried]] + index].astype(np.int64)
            longest = np.maximum(squares(points, near[tried], third), squares(points, far[tried], third))
            keep[tried[longest < lengths[tried]]] = False
            kept = kept[keep[kept]]
    return tails[kept], heads[kept]


def _near_pairs(points: Points, limit: int) -> tuple[Ends, Ends]:
    """Return all pairs of points whose squared distance is at most `limit`, found with a grid of cells."""
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
            near = squares(points, order[a], order[b]) <= limit
            found.append((order[a[near]], order[b[near]]))
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def squares(points: Points, a: Ends, b: Ends) -> NDArray[np.int64]:
    """Return the exact squared distances, which are below 2 ** 61."""
    across, along = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
    result: NDArray[np.int64] = across * across + along * along
    return result


def weighted(
    name: str, points: Points, tails: Ends, heads: Ends, factors: NDArray[np.float64], comment: str
) -> Graph:
    """Return the graph with these edges, whose weights are lengths times factors."""
    n = len(points)
    unit = 1000.0 * math.sqrt(n) / SIDE
    lengths = np.sqrt(squares(points, tails, heads).astype(np.float64))
    weights = np.maximum(np.rint(lengths * factors * unit), 1.0).astype(np.uint32)
    return assembled(
        name, n, tails, heads, weights, directed=False, labels=np.arange(1, n + 1), comment=comment,
        coordinates=points.astype(np.float64),
    )


FAST, FASTEST = 8, 14
"""Roads between the halves of regions of at least 2^FAST vertices are fast, and of 2^FASTEST the fastest."""


def road_network(n: int, seed: int = 1) -> Graph:
    """Generate a road network with small separators: a hierarchy of regions, and few roads from one to the next.

    The vertices are those of road-graph. Of its roads, a spanning tree is kept that stays within regions as small as
    possible, and a few others from one region to another. The weight of a road is its length, times 0.7 between the
    halves of a region of 256 vertices or more, and times 0.45 from 16384 vertices on.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    seed
        Seed of the random numbers, at least 0.
    """
    random_integers.require_integers(n=(n, 1), seed=(seed, 0))
    random_integers.require_memory_of(n, 780)
    points = road_points(np.random.PCG64(seed), n)
    roads = without_detours(points, *delaunay(points))
    chosen = _spanning_tree(points, *roads), _few_between_regions(points, *roads)
    keys = random_integers.sorted_unique(np.concatenate([tails * n + heads for tails, heads in chosen]))
    tails, heads = np.divmod(keys, n)
    level = _level(tails, heads)
    factors = np.where(level < FAST, 1.0, np.where(level < FASTEST, 0.7, 0.45))
    return weighted(f"road-network-{n}-seed{seed}", points, tails, heads, factors, f"road-network n={n} seed={seed}")


def _level(tails: Ends, heads: Ends) -> NDArray[np.int64]:
    """Return for each edge the b of the smallest region of 2^b vertices that has both ends."""
    return np.frexp((tails ^ heads).astype(np.float64))[1].astype(np.int64)


def _spanning_tree(points: Points, tails: Ends, heads: Ends) -> tuple[Ends, Ends]:
    """Return a spanning tree whose edges lead through as small regions as possible, then are as short as possible."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    order = np.lexsort((squares(points, tails, heads), _level(tails, heads)))
    rank = np.empty(len(order))
    rank[order] = np.arange(1, len(order) + 1)  # all different, so that there is one minimum spanning tree
    tree = minimum_spanning_tree(coo_array((rank, (tails, heads)), shape=(len(points), len(points))))
    chosen = order[np.sort(tree.data).astype(np.int64) - 1]
    return tails[chosen], heads[chosen]


def _few_between_regions(points: Points, tails: Ends, heads: Ends) -> tuple[Ends, Ends]:
    """Return the shortest edges between the halves of each region of 2^b vertices, at most 1 + 2^(b/3) of them."""
    level = _level(tails, heads)
    region = tails >> level
    order = np.lexsort((squares(points, tails, heads), region, level))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(level[order]) != 0) | (np.diff(region[order]) != 0)
    number = np.arange(len(order)) - np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    most = np.array([1 + _cube_root(2**b) for b in range(64)])
    chosen = order[number < most[level[order]]]
    return tails[chosen], heads[chosen]


def _cube_root(power: int) -> int:
    """Return the smallest integer whose cube is at least `power`, a power of 2."""
    root = round(power ** (1 / 3))
    return next(r for r in range(max(0, root - 1), root + 3) if r**3 >= power)

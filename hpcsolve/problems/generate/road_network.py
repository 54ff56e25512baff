"""Random road networks with small separators, as real ones have: few roads lead from one region to the next.

The vertices of `road_graph` are numbered along a Z-order curve. So the vertices whose numbers agree but for the last b
bits are a region of 2^b vertices, and each region consists of two halves. In a random planar graph some 2^(b/2) edges
cross from one half to the other, and that many vertices separate them. Here about 2^(b/3) do: the bridges, passes and
highways between towns. The separators of real road networks grow alike (D. Delling, A. V. Goldberg, I. Razenshteyn, R.
F. Werneck: Graph partitioning with natural cuts, IPDPS 2011). Contraction of a million vertices takes 26 steps a vertex
and arc, and leaves 2.6 arcs a vertex. The real road network NE with 1.5 million vertices takes 38, and leaves 2.6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.generate.plane_graphs import (
    Ends,
    Points,
    delaunay,
    road_points,
    squares,
    weighted,
    without_detours,
)
from hpcsolve.problems.generate.random_integers import require_integers, require_memory_of, sorted_unique
from hpcsolve.problems.graph import Graph

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
    require_integers(n=(n, 1), seed=(seed, 0))
    require_memory_of(n, 780)
    points = road_points(np.random.PCG64(seed), n)
    roads = without_detours(points, *delaunay(points))
    chosen = _spanning_tree(points, *roads), _few_between_regions(points, *roads)
    keys = sorted_unique(np.concatenate([tails * n + heads for tails, heads in chosen]))
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

"""Places for the vertices of a tree without coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.places import Places

NO_VERTEX = -1
Neighbours = Mapping[int, Sequence[int]]


def around_a_centre(n: int, u: NDArray[np.int64], v: NDArray[np.int64], terminals: NDArray[np.int64]) -> Places:
    """Return places on rings around a centre of the tree, NaN for vertices that are not in the tree.

    A vertex is as many units away from the centre as edges lead there. Each subtree has a sector of its own, whose
    angle is proportional to its leaves.

    Parameters
    ----------
    n
        Vertices of the graph.
    u, v
        Shape (edges,): positions of the ends of the tree's edges.
    terminals
        Positions of the terminals; there is at least one.
    """
    near: dict[int, list[int]] = {int(vertex): [] for vertex in [*u, *v, *terminals]}
    for a, b in zip(u.tolist(), v.tolist()):
        near[a].append(b)
        near[b].append(a)
    root = _centre(near, int(terminals[0]))
    before = _predecessors(near, root)
    leaves = _leaves_below(before)
    depth, free = {NO_VERTEX: -1}, {NO_VERTEX: 0.0}  # free: where the sector of the next child begins, in radians
    points = np.full((n, 2), np.nan)
    for vertex, parent in before.items():
        share = 2 * math.pi * leaves[vertex] / leaves[root]
        depth[vertex], free[vertex] = depth[parent] + 1, free[parent]
        angle = free[parent] + share / 2
        free[parent] += share
        points[vertex] = depth[vertex] * math.cos(angle), depth[vertex] * math.sin(angle)
    return Places(points, note="without coordinates: around a centre of the tree, one unit per edge")


def _centre(near: Neighbours, start: int) -> int:
    """Return the middle vertex of a longest path of the tree, by number of edges."""
    one_end = list(_predecessors(near, start))[-1]
    before = _predecessors(near, one_end)
    path = [list(before)[-1]]
    while before[path[-1]] != NO_VERTEX:
        path.append(before[path[-1]])
    return path[len(path) // 2]


def _predecessors(near: Neighbours, root: int) -> dict[int, int]:
    """Return the predecessor of each vertex on the path from the root, in breadth-first order."""
    before, sequence = {root: NO_VERTEX}, [root]
    for vertex in sequence:  # which grows meanwhile
        for other in near[vertex]:
            if other not in before:
                before[other] = vertex
                sequence.append(other)
    return before


def _leaves_below(before: Mapping[int, int]) -> dict[int, int]:
    """Return the number of leaves in the subtree of each vertex."""
    leaves = dict.fromkeys([*before, NO_VERTEX], 0)
    for vertex in reversed(list(before)):
        leaves[vertex] = max(leaves[vertex], 1)
        leaves[before[vertex]] += leaves[vertex]
    return leaves

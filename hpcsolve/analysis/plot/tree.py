"""Draws a Steiner tree over its network, or around a centre of the tree where vertices have no coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot import canvas, maps
from hpcsolve.answers.edges import AnswerEdges
from hpcsolve.answers.snaps import named_by_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

NAMED_UP_TO = 60
"""Terminals up to which names are written if the caller does not say whether."""
NO_VERTEX = -1


def plot_tree(
    result: Result, axes: Axes | None = None, *, names: bool | None = None, geographic: bool | None = None,
    network: object = True,
) -> Axes:
    """Draw the edges of a Steiner tree and its terminals, over the network in grey.

    Vertices without coordinates are drawn around a centre of the tree, and the network is not drawn.

    Parameters
    ----------
    axes, geographic
        As in `plot_tour`.
    names
        Whether to write the terminals' names or numbers beside them, where there is room; by default up to 60.
    network
        True to draw the other edges too, if the instance can be read or generated again; False not to; or the graph
        itself, as `hpcsolve.solve` takes it, where the result came from a graph in memory.

    Raises
    ------
    InputError
        The result is no Steiner tree.
    EnvironmentFault
        matplotlib is not installed.
    """
    canvas.require_answer(result, "tree", "plot_tree")
    axes = canvas.axes_for(axes)
    u, v = (canvas.positions(result, "solution", end, "plot_tree") for end in "uv")
    terminals = canvas.positions(result, "instance", "terminal", "plot_tree")
    known = maps.places_of(result, geographic)
    places = known or around_a_centre(result.n, u, v, terminals)
    if known is not None:
        maps.draw_network(axes, result, places.points, network)
    line, ends = maps.line_of_edges(places.points, u, v), places.points[terminals]
    if known is not None and (streets := AnswerEdges(result.contents)).has_attributes:
        line = streets.lines(u, v, places.points)
    size, raster = float(np.clip(600 / len(terminals), 4, 16)), len(u) > canvas.RASTER_FROM
    axes.plot(*line.T, "-", color=canvas.BLUE, linewidth=1.4, zorder=1, rasterized=raster, gid="tree")
    axes.scatter(ends[:, 0], ends[:, 1], s=size, marker="s", color=canvas.VERMILION, zorder=2, linewidths=0,
                 rasterized=raster)
    ratio = float(result.contents.value("solution", "ratio"))
    good = ", proven optimal" if ratio == 1 else f", at most {ratio:.4g} times the optimum"
    canvas.set_title(axes, result, f"cost {canvas.number(result.cost)}{good}, {len(terminals)} terminals")
    maps.finish_map(axes, places)
    if maps.with_names(names, len(terminals), NAMED_UP_TO):
        maps.write_names(axes, ends, named_by_places(result.contents, "terminal", terminals), ends, line)
    return axes


Neighbours = Mapping[int, Sequence[int]]


def around_a_centre(n: int, u: NDArray[np.int64], v: NDArray[np.int64], terminals: NDArray[np.int64]) -> maps.Places:
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
    leaves = dict.fromkeys([*before, NO_VERTEX], 0)  # in the subtree of each vertex
    for vertex in reversed(list(before)):
        leaves[vertex] = max(leaves[vertex], 1)
        leaves[before[vertex]] += leaves[vertex]
    depth, free = {NO_VERTEX: -1}, {NO_VERTEX: 0.0}  # free: where the sector of the next child begins, in radians
    points = np.full((n, 2), np.nan)
    for vertex, parent in before.items():
        share = 2 * math.pi * leaves[vertex] / leaves[root]
        depth[vertex], free[vertex] = depth[parent] + 1, free[parent]
        angle = free[parent] + share / 2
        free[parent] += share
        points[vertex] = depth[vertex] * math.cos(angle), depth[vertex] * math.sin(angle)
    return maps.Places(points, note="without coordinates: around a centre of the tree, one unit per edge")


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

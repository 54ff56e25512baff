"""Draws edges as one line with gaps, since thousands of lines would take minutes: a network in grey, a tree, a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.network import network_of
from hpcsolve.analysis.plot.canvas import RASTER_FROM
from hpcsolve.analysis.plot.palette import GREY
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import from_networkx, from_scipy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

Points = NDArray[np.float64]


def line_of_edges(points: Points, u: NDArray[Any], v: NDArray[Any]) -> Points:
    """Return the edges from u to v as one line, shape (3 * edges, 2), with NaN after each edge."""
    gap = np.full((len(u), 2), np.nan)
    return np.stack([points[u], points[v], gap], axis=1).reshape(-1, 2)


def draw_network(axes: Axes, result: Result, points: Points, network: object) -> None:
    """Draw the edges of the result's graph in grey, below all else, if the graph can be had.

    Parameters
    ----------
    points
        Shape (vertices, 2).
    network
        True to read or generate the instance again, False to draw nothing, or the graph as `hpcsolve.solve` takes it.

    Raises
    ------
    InputError
        What was given is no graph, or has another number of vertices.
    """
    if network is False:
        return
    graph = network_of(result) if network is True else _graph_of(network)
    if graph is None:
        return
    if graph.n != len(points):
        raise InputError(f"the network has {graph.n} vertices, but the result {len(points)}")
    tails = graph.tails()
    once = slice(None) if graph.directed else tails < graph.heads
    line = line_of_edges(points, tails[once], graph.heads[once])
    edges = len(line) // 3
    width = float(np.clip(60 / np.sqrt(max(edges, 1)), 0.15, 0.8))
    look: dict[str, Any] = {"color": GREY, "linewidth": width, "alpha": 0.5, "zorder": 0, "gid": "network"}
    axes.plot(line[:, 0], line[:, 1], "-", rasterized=edges > RASTER_FROM, **look)


def _graph_of(network: Any) -> Graph:
    """Return the graph that a program gave, with any weights."""
    if isinstance(network, Graph):
        return network
    return from_networkx(network, None) if hasattr(network, "is_directed") else from_scipy(network)

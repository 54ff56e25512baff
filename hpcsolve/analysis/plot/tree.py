"""Draws a Steiner tree over its network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.analysis.plot.canvas import RASTER_FROM, axes_for, set_title
from hpcsolve.analysis.plot.names import with_names, write_names
from hpcsolve.analysis.plot.needs import positions, require_answer
from hpcsolve.analysis.plot.network import draw_network, line_of_edges
from hpcsolve.analysis.plot.palette import BLUE, VERMILION
from hpcsolve.analysis.plot.places import finish_map, places_of
from hpcsolve.analysis.plot.radial import around_a_centre
from hpcsolve.analysis.plot.texts import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

NAMED_UP_TO = 60
"""Terminals up to which names are written if the caller does not say whether."""


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
    require_answer(result, "tree", "plot_tree")
    axes = axes_for(axes)
    u, v = (positions(result, "solution", end, "plot_tree") for end in "uv")
    terminals = positions(result, "instance", "terminal", "plot_tree")
    known = places_of(result, geographic)
    places = known or around_a_centre(result.n, u, v, terminals)
    if known is not None:
        draw_network(axes, result, places.points, network)
    line, ends = line_of_edges(places.points, u, v), places.points[terminals]
    size, raster = float(np.clip(600 / len(terminals), 4, 16)), len(u) > RASTER_FROM
    axes.plot(line[:, 0], line[:, 1], "-", color=BLUE, linewidth=1.4, zorder=1, rasterized=raster, gid="tree")
    axes.scatter(
        ends[:, 0], ends[:, 1], s=size, marker="s", color=VERMILION, zorder=2, linewidths=0, rasterized=raster,
    )
    ratio = float(result.contents.value("solution", "ratio"))
    good = ", proven optimal" if ratio == 1 else f", at most {ratio:.4g} times the optimum"
    set_title(axes, result, f"cost {number(result.cost)}{good}, {len(terminals)} terminals")
    finish_map(axes, places)
    if with_names(names, len(terminals), NAMED_UP_TO):
        write_names(axes, ends, result.terminals, ends, line)
    return axes

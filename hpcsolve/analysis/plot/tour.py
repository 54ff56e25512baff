"""Draws a tour, and the costs of a batch's tours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.analysis.plot import canvas
from hpcsolve.analysis.plot.maps import add_note, finish_map, on_a_ring, places_of, with_names, write_names
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tours import TOURS
from hpcsolve.errors import InputError
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

NAMED_UP_TO = 200
"""Cities up to which names are written if the caller does not say whether."""


def plot_tour(
    result: Result, axes: Axes | None = None, *, names: bool | None = None, geographic: bool | None = None
) -> Axes:
    """Draw the tour. Cities without coordinates are drawn on a circle, in the order of the tour.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.
    names
        Whether to write the cities' names or numbers beside them, where there is room; by default up to 200 cities.
    geographic
        Whether the coordinates are latitude and longitude; by default what the result file says.

    Raises
    ------
    InputError
        The result is no tour, or says that there is none.
    EnvironmentFault
        matplotlib is not installed.
    """
    canvas.require_answer(result, "tour", "plot_tour")
    if result.infeasible:
        raise InputError("plot_tour: it is proven that the instance has no tour, so there is nothing to draw")
    axes, tour = canvas.axes_for(axes), canvas.positions(result, "solution", "tour", "plot_tour")
    places = places_of(result, geographic) or on_a_ring(result, tour)
    closed = not TOUR.is_open(result.contents)
    line, stops = places.points[[*tour, tour[0]] if closed else tour], places.points[tour]
    size, raster = float(np.clip(3000 / len(tour), 2, 16)), len(tour) > canvas.RASTER_FROM
    axes.plot(*line.T, "-", color=canvas.BLUE, linewidth=1, zorder=1, rasterized=raster)
    axes.scatter(stops[:, 0], stops[:, 1], s=size, color=canvas.VERMILION, zorder=2, linewidths=0, rasterized=raster)
    if not closed:
        for end, mark, text in ((stops[0], "s", "first"), (stops[-1], "D", "last")):
            axes.scatter(end[0], end[1], s=36, marker=mark, color=canvas.GREEN, zorder=3, label=text)
        axes.legend(fontsize="small", framealpha=0.6)
    proven = ", proven optimal" if result.optimal else ""
    canvas.set_title(axes, result, f"cost {canvas.number(result.cost)}{proven}, {counted(len(tour), 'city')}")
    finish_map(axes, places)
    if with_names(names, len(tour), NAMED_UP_TO):
        write_names(axes, stops, result.tour_labels, stops, line)
    return axes


def plot_batch(result: Result, axes: Axes | None = None) -> Axes:
    """Draw how many instances of a batch have a tour of at most each cost.

    Parameters
    ----------
    axes
        As in `plot_tour`.

    Raises
    ------
    InputError
        The result is not of a batch.
    EnvironmentFault
        matplotlib is not installed.
    """
    canvas.require_answer(result, "tours of a batch", "plot_batch")
    costs, count = TOURS.costs_of(result.contents), int(result.contents.value("instance", "instances"))
    axes = canvas.axes_for(axes)
    canvas.set_title(axes, result, f"costs of {counted(len(costs), 'tour')}")
    canvas.draw_counts(axes, costs, canvas.BLUE)
    axes.set(xlabel="cost of the best tour", ylabel=f"instances with at most this cost, of {count}")
    if len(costs) < count:
        add_note(axes, f"not drawn: {counted(count - len(costs), 'instance')} without a tour")
    return axes

"""Draws a tour, and the costs of a batch's tours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
MARKED_UP_TO = 50_000
"""Cities up to which each has a mark. More marks would cover the tour."""
COURSE = "not marked: the cities; colours: the tour from its first city (dark) to its last (light)"
_SHADES = 256


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
    marked = len(tour) <= MARKED_UP_TO
    out = places.points[np.setdiff1d(np.arange(result.n), tour)]
    if len(out) and np.isfinite(out).all():
        x, y = out.T
        axes.scatter(x, y, s=size, facecolors="none", edgecolors=canvas.GREY, zorder=1, linewidths=0.8,
                     label="left out")
        axes.legend(fontsize="small", framealpha=0.6)
    if marked:
        axes.plot(*line.T, "-", color=canvas.BLUE, linewidth=1, zorder=1, rasterized=raster)
        x, y = stops.T
        axes.scatter(x, y, s=size, color=canvas.VERMILION, zorder=2, linewidths=0, rasterized=raster)
    else:
        _draw_course(axes, line)
    if not closed:
        for end, mark, text in ((stops[0], "s", "first"), (stops[-1], "D", "last")):
            axes.scatter(end[0], end[1], s=36, marker=mark, color=canvas.GREEN, zorder=3, label=text)
        axes.legend(fontsize="small", framealpha=0.6)
    proven = ", proven optimal" if result.optimal else ""
    prize = "" if result.prize is None else f"prize {result.prize}, "
    canvas.set_title(axes, result, f"{prize}cost {canvas.number(result.cost)}{proven}, {counted(len(tour), 'city')}")
    finish_map(axes, places)
    if not marked:
        add_note(axes, COURSE)
    if with_names(names, len(tour), NAMED_UP_TO):
        write_names(axes, stops, result.tour_labels, stops, line)
    return axes


def _draw_course(axes: Axes, line: NDArray[np.float64]) -> None:
    """Draw a line of many cities as pixels, in parts whose colours tell how far along the line they are."""
    from matplotlib import colormaps

    cuts = np.linspace(0, len(line) - 1, _SHADES + 1).astype(int).tolist()
    for (first, last), shade in zip(pairwise(cuts), np.linspace(0, 1, _SHADES)):
        part, colour = line[first : last + 1], colormaps["viridis"](shade)
        axes.plot(*part.T, "-", color=colour, linewidth=0.4, zorder=1, rasterized=True)


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

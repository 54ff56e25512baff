"""Draws a tour, and the costs of a batch's tours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot import canvas
from hpcsolve.analysis.plot.maps import (
    add_note,
    draw_edges,
    finish_map,
    graph_of,
    on_a_ring,
    places_of,
    with_names,
    write_names,
)
from hpcsolve.analysis.streets import has_streets, streets_of, ways_of
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tours import TOURS
from hpcsolve.errors import InputError
from hpcsolve.problems.questions import VALUES
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

NAMED_UP_TO = 200
"""Cities up to which names are written if the caller does not say whether."""
MARKED_UP_TO = 50_000
"""Cities up to which each has a mark. More marks would cover the tour."""
DIRECTED_UP_TO = 300
"""Cities up to which arrows show the direction of travel."""
ARROW, SHORTEST_LEG = 0.075, 0.03
"""Length of an arrow in inches, and the shortest leg that has one, as a fraction of the map's size."""
COURSE = "not marked: the cities; colours: the tour from its first city (dark) to its last (light)"
_SHADES = 256


def plot_tour(
    result: Result, axes: Axes | None = None, *, names: bool | None = None, geographic: bool | None = None,
    network: object = True,
) -> Axes:
    """Draw the tour with the numbers of its stops and its direction.

    Cities without coordinates are drawn on a circle, in the order of the tour. A tour between vertices of a graph runs
    along the edges, with the others in grey, if the graph can be had.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.
    names
        Whether to write beside each city its number in the order and its name, if it has one, where there is room, or
        the number alone; by default up to 200 cities.
    geographic
        Whether the coordinates are latitude and longitude; by default what the result file says.
    network
        Of a tour between vertices of a graph: True to read the graph again, False not to draw it, or the graph itself,
        as `hpcsolve.solve` takes it.

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
    order, stops = np.append(tour, tour[:1]) if closed else tour, places.points[tour]
    legs = list(np.stack([places.points[order[:-1]], places.points[order[1:]]], axis=1))
    streets = None
    if geographic is None and has_streets(result.contents):
        streets = streets_of(result.contents, graph_of(result, network))
    if streets is not None:
        legs = ways_of(result.contents, streets, order) or legs
        draw_edges(axes, streets.graph, streets.points, near=np.concatenate([stops, *legs]))
    line = np.concatenate([stops[:1], *(leg[1:] for leg in legs)])
    size, raster = float(np.clip(3000 / len(tour), 2, 16)), len(tour) > canvas.RASTER_FROM
    marked = len(tour) <= MARKED_UP_TO
    out = places.points[np.setdiff1d(np.arange(result.n), tour)]
    if len(out) and np.isfinite(out).all():
        x, y = out.T
        axes.scatter(x, y, s=size, facecolors="none", edgecolors=canvas.GREY, zorder=1, linewidths=0.8,
                     label="left out")
    if marked:
        axes.plot(*line.T, "-", color=canvas.BLUE, linewidth=1, zorder=1, rasterized=raster)
        x, y = stops.T
        axes.scatter(x, y, s=size, color=canvas.VERMILION, zorder=2, linewidths=0, rasterized=raster)
    else:
        _draw_course(axes, line)
    if len(tour) <= DIRECTED_UP_TO:
        _draw_direction(axes, legs, float(np.ptp(line, axis=0).max()))
    ends = ((0, "s", "depot"),) if closed else ((0, "s", "start"), (-1, "D", "end"))
    for end, mark, text in ends:
        axes.scatter(stops[end, 0], stops[end, 1], s=36, marker=mark, color=canvas.GREEN, zorder=3, label=text)
    axes.legend(fontsize="small", frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    proven = ", proven optimal" if result.optimal else ""
    prize = "" if result.prize is None else f"prize {result.prize}, "
    title = f"{prize}cost {canvas.number(result.cost)}{proven}, {counted(len(tour), 'city')}"
    canvas.set_title(axes, result, title, pad=20)
    finish_map(axes, places)
    if not marked:
        add_note(axes, COURSE)
    if with_names(names, len(tour), NAMED_UP_TO):
        named = result.contents.value("instance", "city_name") is not None
        labels = [f"{place} {name}" if named else str(place) for place, name in enumerate(result.tour_labels, 1)]
        write_names(axes, stops, labels, stops, line, short=range(1, len(tour) + 1) if named else ())
    return axes


def _draw_direction(axes: Axes, legs: Sequence[NDArray[np.float64]], size: float) -> None:
    """Draw an arrow in the middle of the line of each leg that is not too short for one on a map of this size."""
    middles, ahead = [], []
    for leg in legs:
        steps = np.diff(leg, axis=0)
        along = np.hypot(*steps.T).cumsum()
        if along[-1:].sum() > SHORTEST_LEG * size:
            at = int(np.searchsorted(along, along[-1] / 2))
            length = np.hypot(*steps[at])
            middles.append(leg[at + 1] - steps[at] * (along[at] - along[-1] / 2) / length)
            ahead.append(steps[at] / length)
    if not middles:
        return
    # An arrow has no shaft: all of its length is its head.
    axes.quiver(*np.array(middles).T, *(ARROW * np.array(ahead)).T, angles="xy", units="inches", scale_units="inches",
                scale=1, pivot="mid", width=ARROW / 3, headwidth=2.2, headlength=3, headaxislength=2.6, minlength=0,
                color=canvas.BLUE, zorder=1.6, gid="direction")


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
    objective = result.contents.keys.get("objective", "sum")
    what = "cost of the best tour" if objective == "sum" else VALUES[objective]
    axes.set(xlabel=what, ylabel=f"instances with at most this cost, of {count}")
    axes.locator_params(axis="y", integer=True)
    if len(costs) < count:
        add_note(axes, f"not drawn: {counted(count - len(costs), 'instance')} without a tour")
    return axes

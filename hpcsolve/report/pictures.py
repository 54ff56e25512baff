"""The pictures of a result: which ones, how large, and what they show in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hpcsolve.analysis import plot
from hpcsolve.analysis.load import Result
from hpcsolve.analysis.plot.canvas import RASTER_FROM, kind_of_answer, svg
from hpcsolve.analysis.plot.distances import MOST_PATHS, quantity_of
from hpcsolve.analysis.plot.maps import places_of
from hpcsolve.analysis.plot.tour import NAMED_UP_TO
from hpcsolve.analysis.streets import has_streets, network_of
from hpcsolve.answers.reductions import access_of
from hpcsolve.answers.schedule import schedule_in, schedule_line
from hpcsolve.answers.tour import TOUR
from hpcsolve.problems.graph import Graph
from hpcsolve.report.elements import Markup, element

WIDTH, HEIGHT = 4.8, 3.1
"""Inches of a chart: two stand side by side on a wide page, and on a telephone the letters can still be read."""
WIDE, STOPS_ABOVE, STOP_HEIGHT = 7.2, 1.1, 0.17
"""Inches of a map with many names and of a tour's stops over time, what is not stops there, and a stop's height."""
MANY_NAMES = 15
"""Names from which a map is wide."""
OVER_NETWORKS = ("tree", "paths", "distances", "reductions")
"""Kinds of answers whose maps show the network, if it can be had. Maps of tours do so if their costs are from one."""
FIELDS = 4
"""Searches up to which each has a map of distances. With more, the first one has."""


@dataclass(frozen=True)
class Picture:
    """A picture of a result.

    Attributes
    ----------
    draw
        Draws it on given axes.
    text
        What it shows.
    size
        Width and height in inches.
    is_map
        Whether it is wider than a chart, as maps and schedules are.
    narrow
        The size of another drawing for telephones. None: there is one drawing.
    """

    draw: Callable[..., Any]
    text: str
    size: tuple[float, float] = (WIDTH, HEIGHT)
    is_map: bool = False
    narrow: tuple[float, float] | None = None


def answer_pictures(result: Result) -> Iterator[Picture]:
    """Yield the pictures of the answer."""
    kind, names = kind_of_answer(result), _names_on_map(result)
    size = _map_size(result, WIDE if names >= MANY_NAMES else WIDTH)
    narrow = _map_size(result, WIDTH) if MANY_NAMES <= names <= RASTER_FROM else None
    on_map = partial(Picture, size=size, is_map=True, narrow=narrow)
    over = kind in OVER_NETWORKS and result.coordinates is not None
    on_network = over or (kind == "tour" and has_streets(result.contents))
    network = (on_network and network_of(result.contents)) or False  # read once for all maps
    below = ", over the network in grey" if network else ""
    if kind == "tour" and not result.infeasible:
        numbers = "; numbers are those of the stops in their order" if len(result.tour) <= NAMED_UP_TO else ""
        yield on_map(partial(plot.plot_tour, network=network),
                     f"The tour: {TOUR.summary(result.contents)}{numbers}{below}.")
        if (schedule := schedule_in(result.contents)) is not None:
            text = f"The stops over time, {schedule_line(result.contents, schedule)}. Light blue are the windows in " \
                   "which a service may begin."
            high = STOPS_ABOVE + STOP_HEIGHT * len(schedule.city)
            yield Picture(plot.plot_schedule, text, (WIDE, high), is_map=True, narrow=(WIDTH, high))
        if result.contents.value("solution", "curve_prizes") is not None:
            what = "for each cost" if schedule is None else "by each end"
            yield Picture(plot.plot_prizes, f"The most prize that a tour can have {what}.")
    elif kind == "tree":
        text = f"The tree (blue) with its {len(result.terminals)} terminals (squares){below}."
        yield on_map(partial(plot.plot_tree, network=network), text)
    elif kind == "paths":
        yield on_map(partial(plot.plot_path, network=network), f"Shortest paths, a colour for each query{below}.")
    elif kind == "distances":
        yield from _distance_pictures(result, on_map, network)
    elif kind == "tours of a batch":
        yield Picture(plot.plot_batch, "The number of instances whose best tour has at most a cost.")
    elif kind == "reductions":
        marked = "" if result.contents.value("solution", "target") is None else "; triangles are the targets"
        for decay in range(len(access_of(result.contents)[0]) or 1):
            label, draw = quantity_of(result, decay=decay)[0].capitalize(), partial(plot.plot_reductions, decay=decay)
            if result.coordinates is not None:
                text = f"{label} of each source: the lighter, the larger{below}{marked}."
                yield on_map(partial(draw, network=network), text)
            else:
                yield Picture(draw, f"{label}: the number of sources with at most this value.")
    if result.contents.value("solution", "matrix") is not None:
        yield Picture(plot.plot_histogram, "How many pairs of terminals have which distance.")


def _distance_pictures(result: Result, on_map: Callable[..., Picture], network: Graph | bool) -> Iterator[Picture]:
    coordinates, rows = result.coordinates is not None, len(result.distance)
    if result.contents.value("solution", "nearest") is not None and coordinates:
        text = "The nearest source of each vertex, as colours; stars are the sources."
        yield on_map(partial(plot.plot_voronoi, network=network), text)
    if result.contents.value("solution", "target") is None:
        sources = result.sources if rows > 1 else [None]
        for source in sources[: rows if rows <= FIELDS else 1] if coordinates else [None]:
            together = source is None and len(result.sources) > 1
            where = "the nearest source" if together else result.sources[0] if source is None else source
            text = f"Distance from {where}: the lighter, the farther." if coordinates else "Vertices within a distance."
            draw = partial(plot.plot_distances, source=source, network=network)
            yield (on_map if coordinates else Picture)(draw, text)
    yield Picture(plot.plot_histogram, f"How many pairs of vertices have which distance, of a table of "
                                       f"{' x '.join(map(str, result.distance.shape))}.")


def search_pictures(result: Result) -> Iterator[Picture]:
    """Yield the pictures of how the answer came about."""
    groups = result.contents.groups
    if len(result.contents.value("layers", "states", ())):
        more = ", and the seconds of the kernels" if "seconds" in groups["layers"] else ""
        yield Picture(plot.plot_layers, f"The number of states by the size of their sets{more}.")
    if len(result.contents.value("history", "step", ())) > 1:  # one alone is a dot
        mean = "" if kind_of_answer(result) == "tree" else ", the mean of all tours"
        colonies = ", also the best of each colony" if "colonies" in groups else ""
        bound = "" if np.isnan(result.lower_bound) else ", and the lower bound"
        yield Picture(plot.plot_convergence, f"The best cost so far{mean}{colonies}{bound}.")
    costs = result.contents.value("colonies", "cost")
    if costs is not None and len(costs) > 1:
        yield Picture(plot.plot_colonies, f"The best cost of each of {len(costs)} colonies.")


def _names_on_map(result: Result) -> int:
    """Return how many names a map would have if all had room."""
    kind = kind_of_answer(result)
    return len(result.tour) if kind == "tour" else len(result.terminals) if kind == "tree" else 0


def _map_size(result: Result, width: float) -> tuple[float, float]:
    """Return the size of a map of this width, whose height fits the coordinates."""
    places = places_of(result)
    if places is None and kind_of_answer(result) == "paths":
        return WIDTH, 1.2 + 0.4 * min(len(result.distance), MOST_PATHS)
    if places is None:
        return width, width * 0.8
    wide, high = np.nanmax(places.points, axis=0) - np.nanmin(places.points, axis=0)
    narrowing = np.cos(np.radians(np.nanmean(places.points[:, 1]))) if places.geographic else 1.0
    ratio = high / (wide * narrowing) if wide > 0 else 1.0
    return width, float(np.clip(width * ratio, 0.45 * width, 1.1 * width) + 0.6)


def figure(result: Result, picture: Picture, name: str) -> Markup:
    """Return a picture as a figure with caption, for a wide page and for a narrow one, or why it cannot be drawn.

    Parameters
    ----------
    name
        As in `analysis.plot.canvas.svg`.
    """
    drawings = [("drawn", "", picture.size)]  # class, end of the ids, size
    if picture.narrow is not None:
        drawings = [("for-wide", "w", picture.size), ("for-narrow", "n", picture.narrow)]
    try:
        drawn = [element("div", Markup(svg(partial(picture.draw, result), size, name + end, picture.text)), class_=page)
                 for page, end, size in drawings]
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # the file may hold anything
        drawn = [element("p", f"This cannot be drawn, the result is damaged: {error}", class_="warning")]
    kind = "chart" if not picture.is_map else "wide map" if picture.size[0] > WIDTH else "map"
    return element("figure", *drawn, element("figcaption", picture.text), class_=kind)

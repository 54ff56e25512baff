"""The pictures of a result: which ones, how large, and what they show in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hpcsolve.analysis import plot
from hpcsolve.analysis.load import Result
from hpcsolve.analysis.plot.canvas import kind_of_answer
from hpcsolve.analysis.plot.distances import MOST_LINES, MOST_PATHS, quantity_of
from hpcsolve.analysis.plot.maps import places_of
from hpcsolve.answers.schedule import schedule_in, schedule_line
from hpcsolve.answers.tour import TOUR

WIDTH, HEIGHT = 4.8, 3.1
"""Inches of a chart: two stand side by side on a wide page, and on a telephone the letters can still be read."""
WIDE, STOPS_ABOVE, STOP_HEIGHT = 7.2, 1.1, 0.17
"""Inches of the picture of a tour's stops over time: its width, what is not stops, and the height of a stop."""
FIELDS = 4
"""Searches up to which each has a map of distances. With more, the first one has, and the table is drawn too."""


@dataclass(frozen=True)
class Picture:
    """A picture: the function that draws it, what it shows in words, its size in inches, and whether it is a map."""

    draw: Callable[..., Any]
    text: str
    size: tuple[float, float] = (WIDTH, HEIGHT)
    is_map: bool = False


def answer_pictures(result: Result) -> Iterator[Picture]:
    """Yield the pictures of the answer."""
    kind, on_map = kind_of_answer(result), partial(Picture, size=_map_size(result), is_map=True)
    if kind == "tour" and not result.infeasible:
        yield on_map(plot.plot_tour, f"The tour: {TOUR.summary(result.contents)}.")
        if (schedule := schedule_in(result.contents)) is not None:
            text = f"The stops over time, {schedule_line(result.contents, schedule)}. Light blue are the windows in " \
                   "which a service may begin."
            high = STOPS_ABOVE + STOP_HEIGHT * len(schedule.city)
            yield Picture(plot.plot_schedule, text, (WIDE, high), is_map=True)
        if result.contents.value("solution", "curve_prizes") is not None:
            what = "for each cost" if schedule is None else "by each end"
            yield Picture(plot.plot_prizes, f"The most prize that a tour can have {what}.")
    elif kind == "tree":
        below = ", over the network in grey" if result.coordinates is not None else ""
        text = f"The tree (blue) with its {len(result.terminals)} terminals (squares){below}."
        yield on_map(plot.plot_tree, text)
    elif kind == "paths":
        yield on_map(plot.plot_path, "Shortest paths, a colour for each query.")
    elif kind == "distances":
        yield from _distance_pictures(result, on_map)
    elif kind == "tours of a batch":
        yield Picture(plot.plot_batch, "The number of instances whose best tour has at most a cost.")
    elif kind == "reductions":
        label = quantity_of(result)[0].capitalize()
        if result.coordinates is not None:
            yield on_map(plot.plot_reductions, f"{label} of each source: the lighter, the larger.")
        else:
            yield Picture(plot.plot_reductions, f"{label}: the number of sources with at most this value.")
    if result.contents.value("solution", "matrix") is not None:
        yield Picture(plot.plot_matrix, "Distances between the terminals: the lighter, the farther.", (WIDTH, WIDTH))


def _distance_pictures(result: Result, on_map: Callable[..., Picture]) -> Iterator[Picture]:
    coordinates, rows = result.coordinates is not None, len(result.distance)
    if result.contents.value("solution", "nearest") is not None and coordinates:
        text = "The nearest source of each vertex, as colours; stars are the sources."
        yield on_map(plot.plot_voronoi, text)
    if result.contents.value("solution", "target") is None:
        sources = result.sources if rows > 1 else [None]
        for source in sources[: rows if rows <= FIELDS else 1] if coordinates else [None]:
            where = "the sources" if source is None else source
            text = f"Distance from {where}: the lighter, the farther." if coordinates else "Vertices within a distance."
            yield (on_map if coordinates else Picture)(partial(plot.plot_distances, source=source), text)
        if rows <= (FIELDS if coordinates else MOST_LINES):
            return
    text = f"The table of {' x '.join(map(str, result.distance.shape))} distances: the lighter, the farther."
    yield Picture(plot.plot_matrix, text, (WIDTH, WIDTH))


def search_pictures(result: Result) -> Iterator[Picture]:
    """Yield the pictures of how the answer came about."""
    groups = result.contents.groups
    if len(result.contents.value("layers", "states", ())):
        more = ", and the seconds of the kernels" if "seconds" in groups["layers"] else ""
        yield Picture(plot.plot_layers, f"The number of states by the size of their sets{more}.")
    if "history" in groups:
        mean = "" if kind_of_answer(result) == "tree" else ", the mean of all tours"
        colonies = ", also the best of each colony" if "colonies" in groups else ""
        bound = "" if np.isnan(result.lower_bound) else ", and the lower bound"
        yield Picture(plot.plot_convergence, f"The best cost so far{mean}{colonies}{bound}.")
    costs = result.contents.value("colonies", "cost")
    if costs is not None and len(costs) > 1:
        yield Picture(plot.plot_colonies, f"The best cost of each of {len(costs)} colonies.")


def _map_size(result: Result) -> tuple[float, float]:
    """Return the size of a map, whose height fits the coordinates."""
    places = places_of(result)
    if places is None and kind_of_answer(result) == "paths":
        return WIDTH, 1.2 + 0.4 * min(len(result.distance), MOST_PATHS)
    if places is None:
        return WIDTH, WIDTH * 0.8
    wide, high = np.nanmax(places.points, axis=0) - np.nanmin(places.points, axis=0)
    narrowing = np.cos(np.radians(np.nanmean(places.points[:, 1]))) if places.geographic else 1.0
    ratio = high / (wide * narrowing) if wide > 0 else 1.0
    return WIDTH, float(np.clip(WIDTH * ratio, 2.0, 5.6) + 0.6)

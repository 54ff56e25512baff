"""Draws distances: as a field over the vertices of one search, the cells of the nearest sources, and a whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.canvas import RASTER_FROM, axes_for, set_title
from hpcsolve.analysis.plot.names import with_names, write_names
from hpcsolve.analysis.plot.needs import column, positions, require_answer
from hpcsolve.analysis.plot.network import draw_network
from hpcsolve.analysis.plot.palette import DISTANCE_MAP, FIELD_INK, FIELD_PAPER, GREY, SERIES, VERMILION
from hpcsolve.analysis.plot.places import Places, add_note, finish_map, places_of
from hpcsolve.analysis.plot.texts import clean
from hpcsolve.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

MOST_LINES = 8
"""Most searches that are drawn as lines in one picture."""
LARGEST_IMAGE = 1000
"""Most rows and columns of a table that are drawn. Of a larger table every second, third, ... one is drawn."""
NAMED_UP_TO = 30
"""Sources, rows or columns up to which names are written."""


def plot_distances(
    result: Result, axes: Axes | None = None, *, source: Any = None, geographic: bool | None = None,
    network: object = False,
) -> Axes:
    """Draw the distance of every vertex from a source, as colours at their coordinates.

    Vertices without coordinates are counted instead: how many are reached within a distance, a line for each of the
    first eight searches.

    Parameters
    ----------
    axes, geographic
        As in `plot_tour`.
    source
        Name or number of the source; by default the first one.
    network
        As in `plot_tree`, but False by default.

    Raises
    ------
    InputError
        The result has no distances to all vertices, or no such source.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_answer(result, "distances", "plot_distances")
    if result.contents.value("solution", "target") is not None:
        raise InputError("plot_distances draws distances to all vertices; plot_matrix draws a table for targets")
    axes, sources = axes_for(axes), result.sources
    together = len(result.distance) == 1 and len(sources) > 1  # one search from all sources
    places = places_of(result, geographic)
    if places is None:
        return _plot_reached(result, axes, together)
    row = 0 if source is None else _row_of(sources, source)
    starts = positions(result, "solution", "source", "plot_distances")[slice(None) if together else slice(row, row + 1)]
    draw_network(axes, result, places.points, network)
    where = f"the nearest of {len(sources)} sources" if together else clean(sources[row])
    distance = result.distance[0 if together else row]
    draw_field(axes, places, distance, f"distance from {where}")
    axes.plot(*places.points[starts].T, "*", color=VERMILION, markersize=11, zorder=3)
    which = "" if together or len(sources) == 1 else f" ({row + 1} of {len(sources)} sources)"
    set_title(axes, result, f"distance from {where}{which}")
    finish_map(axes, places, FIELD_INK)
    if lost := int(np.isinf(distance).sum()):
        add_note(axes, f"crosses: {lost} of {len(distance)} vertices are not reached")
    return axes


def _row_of(sources: list[Any], source: Any) -> int:
    if source not in sources:
        raise InputError(f"plot_distances: {source!r} is not a source of the result")
    return sources.index(source)


def draw_field(axes: Axes, places: Places, distance: NDArray[np.float64], label: str) -> None:
    """Draw a mark for each vertex, coloured by its distance, and small crosses where no path leads."""
    reached, points = np.isfinite(distance), places.points
    raster, size = len(points) > RASTER_FROM, _mark_size(len(points))
    axes.set_facecolor(FIELD_PAPER)
    marks = axes.scatter(
        points[reached, 0], points[reached, 1], s=size, c=distance[reached], cmap=DISTANCE_MAP, linewidths=0,
        rasterized=raster, zorder=1,
    )
    bar = axes.figure.colorbar(marks, ax=axes, location="bottom", aspect=40, fraction=0.06)
    bar.set_label(label, parse_math=False, fontsize="small")
    if not reached.all():
        lost = points[~reached]
        axes.plot(lost[:, 0], lost[:, 1], "x", color=GREY, markersize=3, zorder=0, rasterized=raster)


def _mark_size(count: int) -> float:
    return float(np.clip(20000 / count, 0.4, 25))


def _plot_reached(result: Result, axes: Axes, together: bool) -> Axes:
    """Draw how many vertices each search reaches within a distance."""
    n = result.distance.shape[1]
    for row, (distance, color) in enumerate(zip(result.distance[:MOST_LINES], SERIES * 2)):
        within = np.sort(distance[np.isfinite(distance)])
        name = "the nearest source" if together else clean(result.sources[row])
        axes.step(within, np.arange(1, len(within) + 1), where="post", color=color, label=name)
    axes.legend(title="from", fontsize="small")
    axes.set_xlabel("distance (the instance's own unit)")
    axes.set_ylabel(f"vertices within this distance, of {n}")
    if len(result.distance) > MOST_LINES:
        add_note(axes, f"the first {MOST_LINES} of {len(result.distance)} searches")
    set_title(axes, result, "vertices within a distance")
    return axes


def plot_voronoi(
    result: Result, axes: Axes | None = None, *, names: bool | None = None, geographic: bool | None = None,
    network: object = False,
) -> Axes:
    """Draw which source is nearest to each vertex, as colours at their coordinates.

    Parameters
    ----------
    axes, geographic
        As in `plot_tour`.
    names
        Whether to write the sources' names or numbers beside them, where there is room; by default up to 30.
    network
        As in `plot_tree`, but False by default.

    Raises
    ------
    InputError
        The result has no nearest sources (`voronoi = true`), or its vertices have no coordinates.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_answer(result, "distances", "plot_voronoi")
    nearest = column(result, "solution", "nearest", "plot_voronoi (voronoi = true in the job)")[0]
    places = places_of(result, geographic)
    if places is None:
        raise InputError("plot_voronoi needs coordinates, which this result does not have; use plot_distances")
    axes, points = axes_for(axes), places.points
    draw_network(axes, result, points, network)
    sources, raster = positions(result, "solution", "source", "plot_voronoi"), len(points) > RASTER_FROM
    colors = np.array([GREY, *(SERIES[number % len(SERIES)] for number in range(len(sources)))])
    number = np.zeros(len(points), np.int64)  # 0 for unreached
    for index, source in enumerate(sources):
        number[nearest == source] = index + 1
    axes.scatter(
        points[:, 0], points[:, 1], s=_mark_size(len(points)), c=colors[number], linewidths=0, rasterized=raster,
    )
    stars = points[sources]
    axes.scatter(
        stars[:, 0], stars[:, 1], s=130, marker="*", c=colors[1:], edgecolors="black", linewidths=0.8, zorder=3,
    )
    set_title(axes, result, f"the nearest of {len(sources)} sources")
    finish_map(axes, places)
    if with_names(names, len(sources), NAMED_UP_TO):
        write_names(axes, stars, result.sources, stars, stars[:0])
    if (nearest < 0).any():
        add_note(axes, f"grey: {int((nearest < 0).sum())} of {len(points)} vertices are not reached")
    return axes


def plot_matrix(result: Result, axes: Axes | None = None) -> Axes:
    """Draw a table of distances as an image: a row for each source, a column for each vertex or target.

    Of a Steiner tree with `matrix = true` the distances between the terminals are drawn.

    Raises
    ------
    InputError
        The result has no table of distances.
    EnvironmentFault
        matplotlib is not installed.
    """
    if result.contents.value("solution", "matrix") is not None:
        table = result.contents.in_own_unit(np.asarray(result.contents.value("solution", "matrix")))
        rows = columns = result.terminals
        words = "terminal", "terminal"
    else:
        require_answer(result, "distances", "plot_matrix")
        table, rows, columns = result.distance, result.sources, result.targets
        words = "source", "target" if columns else "vertex"
        columns = columns or result.named(range(table.shape[1]))
    axes = axes_for(axes)
    from matplotlib import colormaps

    steps = [-(-length // LARGEST_IMAGE) for length in table.shape]
    shown = np.ma.masked_invalid(table[:: steps[0], :: steps[1]])
    extent = (-0.5, table.shape[1] - 0.5, table.shape[0] - 0.5, -0.5)
    colors = colormaps[DISTANCE_MAP].with_extremes(bad=GREY)
    image = axes.imshow(shown, cmap=colors, aspect="auto", interpolation="nearest", extent=extent)
    bar = axes.figure.colorbar(image, ax=axes, location="bottom", aspect=40, fraction=0.06)
    bar.set_label("distance (the instance's own unit)", fontsize="small")
    _label_sides(axes, rows if len(rows) == table.shape[0] else ["all sources"], columns, words)
    set_title(axes, result, f"{table.shape[0]} x {table.shape[1]} distances")
    if np.ma.is_masked(shown):
        add_note(axes, "grey: not reached")
    if max(steps) > 1:
        add_note(axes, f"one of {steps[0]} rows and one of {steps[1]} columns are drawn")
    return axes


def _label_sides(axes: Axes, rows: list[Any], columns: list[Any], words: tuple[str, str]) -> None:
    """Write the names of rows and columns, if they are few, or else count them from 0."""
    for labels, word, set_ticks, set_label in (
        (rows, words[0], axes.set_yticks, axes.set_ylabel), (columns, words[1], axes.set_xticks, axes.set_xlabel),
    ):
        few = len(labels) <= NAMED_UP_TO
        if few:
            turn = 90 if set_ticks == axes.set_xticks and len(labels) > 8 else 0
            set_ticks(range(len(labels)), [clean(name) for name in labels], fontsize="small", parse_math=False)
            if turn:
                axes.tick_params("x", rotation=turn)
        set_label(word if few else f"{word} (number in the file, from 0)", fontsize="small")

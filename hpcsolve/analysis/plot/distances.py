"""Draws shortest paths and distances.

Distances are drawn as a field over the vertices of one search, as the cells of the nearest sources, and as a histogram
of all. Of their reductions a quantity of each source is drawn, as colours on a map, or its distribution as a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot import canvas
from hpcsolve.analysis.plot.maps import Places, add_note, draw_network, finish_map, places_of, with_names, write_names
from hpcsolve.answers.edges import AnswerEdges
from hpcsolve.answers.reductions import access_of
from hpcsolve.answers.snaps import named_by_places
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

MOST_PATHS = len(canvas.SERIES)
"""Paths that are drawn if the caller does not say which."""
STYLES = ("-", "--", ":")
"""Line styles, which tell apart the paths that share a colour."""
MOST_LINES = 8
"""Most searches that are drawn as lines in one picture."""
BINS = 30
"""Bars of a histogram, equally wide."""
NAMED_UP_TO = 30
"""Sources up to which names are written."""


def plot_path(
    result: Result, axes: Axes | None = None, *, queries: Sequence[int] | None = None,
    ends: tuple[Any, Any] | None = None, geographic: bool | None = None, network: object = True,
) -> Axes:
    """Draw shortest paths over the network, each in its own colour.

    Vertices without coordinates are drawn in a row for each path.

    Parameters
    ----------
    axes, geographic, network
        As in `plot_tree`.
    queries
        Numbers of queries from 0; by default the first six.
    ends
        Source and target, by name or number, in a result with `predecessors = true`.

    Raises
    ------
    InputError
        The result has no paths, or no such query or vertex.
    EnvironmentFault
        matplotlib is not installed.
    """
    paths, names = _paths_of(result, queries, ends)
    axes, places = canvas.axes_for(axes), places_of(result, geographic)
    if places is None:
        return _plot_rows(result, axes, paths, names)
    draw_network(axes, result, places.points, network)
    known = AnswerEdges(result.contents)
    for index, (path, name) in enumerate(zip(paths, names)):
        line, color = known.line_of_path(path, places.points), canvas.SERIES[index % len(canvas.SERIES)]
        style = STYLES[index // len(canvas.SERIES) % len(STYLES)]
        axes.plot(*line.T, style, color=color, linewidth=2, zorder=2, label=name)
        if len(path):
            axes.plot(line[[0, -1], 0], line[[0, -1], 1], "o", color=color, markersize=5, zorder=3)
    _finish(result, axes, paths, places)
    return axes


def _paths_of(result: Result, queries: Sequence[int] | None, ends: tuple[Any, Any] | None
              ) -> tuple[list[NDArray[np.int64]], list[str]]:
    """Return the positions along each path, and what to call it."""
    labels = np.array(result.named(range(result.n)), dtype=object)
    if ends is not None:
        where = {name: position for position, name in enumerate(labels.tolist())}
        along = np.array([where[name] for name in result.path(*ends)], np.int64)
        return [along], [f"{canvas.clean(ends[0])} to {canvas.clean(ends[1])}"]
    if canvas.kind_of_answer(result) != "paths":
        raise InputError("plot_path draws the paths of queries; in a result with predecessors = true give "
                         f"ends=(source, target); this result of {result.algorithm} has no queries")
    path = canvas.positions(result, "solution", "path", "plot_path")
    offset = canvas.column(result, "solution", "offset", "plot_path")
    chosen = range(min(MOST_PATHS, len(offset) - 1)) if queries is None else queries
    if wrong := [query for query in chosen if not 0 <= query < len(offset) - 1]:
        raise InputError(f"plot_path: there is no query {wrong[0]}; they are numbered 0 to {len(offset) - 2}")
    pairs, lengths = list(zip(result.sources, result.targets)), result.distance
    names = [f"{canvas.clean(a)} to {canvas.clean(b)}: " for a, b in (pairs[query] for query in chosen)]
    said = ["not reached" if np.isinf(lengths[query]) else canvas.number(lengths[query]) for query in chosen]
    return [path[offset[query] : offset[query + 1]] for query in chosen], [a + b for a, b in zip(names, said)]


def _finish(result: Result, axes: Axes, paths: list[NDArray[np.int64]], places: Places) -> None:
    total = len(result.distance) if canvas.kind_of_answer(result) == "paths" else 1
    above = 13.0 * -(-len(paths) // 2) + 8  # room for the legend
    canvas.set_title(axes, result, counted(len(paths), "shortest path"), pad=above)
    finish_map(axes, places)
    if len(paths) < total:
        add_note(axes, f"{len(paths)} of {total} queries")
    legend = axes.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0.08, 1), ncols=2, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _plot_rows(result: Result, axes: Axes, paths: list[NDArray[np.int64]], names: list[str]) -> Axes:
    """Draw each path as a row of its vertices."""
    places = Places(np.empty((0, 2)), note="without coordinates: a row for each path, one unit per edge")
    stops = [np.stack([np.arange(len(path)), np.full(len(path), -row)], axis=1) for row, path in enumerate(paths)]
    for index, (line, name) in enumerate(zip(stops, names)):
        axes.plot(*line.T, "o-", color=canvas.SERIES[index % len(canvas.SERIES)], markersize=4, label=name)
    _finish(result, axes, paths, places)
    axes.set_aspect("auto")
    axes.set_ylim(0.7 - len(paths), 1.2)
    points = np.concatenate([*stops, np.empty((0, 2))])
    write_names(axes, points, result.named(np.concatenate([*paths, np.empty(0, np.int64)])), points, points)
    return axes


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
    canvas.require_answer(result, "distances", "plot_distances")
    if result.contents.value("solution", "target") is not None:
        raise InputError("plot_distances draws distances to all vertices; plot_histogram draws those to targets")
    axes, sources = canvas.axes_for(axes), result.sources
    together = len(result.distance) == 1 and len(sources) > 1  # one search from all sources
    places = places_of(result, geographic)
    if places is None:
        return _plot_reached(result, axes, together)
    if source is not None and source not in sources:
        raise InputError(f"plot_distances: {source!r} is not a source of the result")
    row = 0 if source is None else sources.index(source)
    own = slice(None) if together else slice(row, row + 1)
    starts = canvas.positions(result, "solution", "source", "plot_distances")[own]
    draw_network(axes, result, places.points, network)
    where = f"the nearest of {len(sources)} sources" if together else canvas.clean(sources[row])
    distance = result.distance[0 if together else row]
    draw_field(axes, places, distance, f"distance from {where}")
    axes.plot(*places.points[starts].T, "*", color=canvas.VERMILION, markersize=11, zorder=3)
    which = "" if together or len(sources) == 1 else f" ({row + 1} of {len(sources)} sources)"
    canvas.set_title(axes, result, f"distance from {where}{which}")
    finish_map(axes, places, canvas.FIELD_INK)
    if lost := int(np.isinf(distance).sum()):
        add_note(axes, f"crosses: {lost} of {len(distance)} vertices are not reached")
    return axes


def draw_field(axes: Axes, places: Places, distance: NDArray[np.float64], label: str) -> None:
    """Draw a mark for each vertex, coloured by its distance, and small crosses where no path leads."""
    reached, points = np.isfinite(distance), places.points
    raster, size = len(points) > canvas.RASTER_FROM, _mark_size(len(points))
    axes.set_facecolor(canvas.FIELD_PAPER)
    marks = axes.scatter(
        points[reached, 0], points[reached, 1], s=size, c=distance[reached], cmap=canvas.DISTANCE_MAP, linewidths=0,
        rasterized=raster, zorder=1,
    )
    bar = axes.figure.colorbar(marks, ax=axes, location="bottom", aspect=40, fraction=0.06)
    bar.set_label(label, parse_math=False, fontsize="small")
    if not reached.all():
        lost = points[~reached]
        axes.plot(*lost.T, "x", color=canvas.GREY, markersize=3, zorder=0, rasterized=raster)


def _mark_size(count: int) -> float:
    return float(np.clip(20000 / count, 0.4, 25))


def _plot_reached(result: Result, axes: Axes, together: bool) -> Axes:
    """Draw how many vertices each search reaches within a distance."""
    n = result.distance.shape[1]
    for row, (distance, color) in enumerate(zip(result.distance[:MOST_LINES], canvas.SERIES * 2)):
        label = "the nearest source" if together else canvas.clean(result.sources[row])
        canvas.draw_counts(axes, distance, color, label)
    axes.legend(title="from", fontsize="small")
    axes.set(xlabel="distance (the instance's own unit)", ylabel=f"vertices within this distance, of {n}")
    if len(result.distance) > MOST_LINES:
        add_note(axes, f"the first {MOST_LINES} of {len(result.distance)} searches")
    canvas.set_title(axes, result, "vertices within a distance")
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
    canvas.require_answer(result, "distances", "plot_voronoi")
    nearest = canvas.column(result, "solution", "nearest", "plot_voronoi (voronoi = true in the job)")[0]
    places = places_of(result, geographic)
    if places is None:
        raise InputError("plot_voronoi needs coordinates, which this result does not have; use plot_distances")
    axes, points = canvas.axes_for(axes), places.points
    draw_network(axes, result, points, network)
    sources, raster = canvas.positions(result, "solution", "source", "plot_voronoi"), len(points) > canvas.RASTER_FROM
    colors = np.array([canvas.GREY, *(canvas.SERIES[index % len(canvas.SERIES)] for index in range(len(sources)))])
    nearest_index = np.zeros(len(points), np.int64)  # 0 for unreached
    for index, source in enumerate(sources):
        nearest_index[nearest == source] = index + 1
    axes.scatter(points[:, 0], points[:, 1], s=_mark_size(len(points)), c=colors[nearest_index], linewidths=0,
                 rasterized=raster)
    stars = points[sources]
    axes.scatter(stars[:, 0], stars[:, 1], s=130, marker="*", c=colors[1:], edgecolors="black", linewidths=0.8,
                 zorder=3)
    canvas.set_title(axes, result, f"the nearest of {len(sources)} sources")
    finish_map(axes, places)
    if (nearest < 0).any():
        add_note(axes, f"grey: {int((nearest < 0).sum())} of {len(points)} vertices are not reached")
    if with_names(names, len(sources), NAMED_UP_TO):
        write_names(axes, stars, result.sources, stars, stars[:0])
    return axes


@dataclass(frozen=True)
class Pairs:
    """The distances of a table by pairs of vertices.

    Attributes
    ----------
    distance
        Shape (rows, columns), in the instance's own unit, `inf` where no path leads.
    once
        Shape (rows, columns): whether the pair counts. It does not where both are one vertex, nor, in an undirected
        graph, where an earlier row has the pair.
    rows, columns
        Names of the vertices of each row and column, or of the places that these stand for; of a search from all
        sources the row is "nearest source".
    words
        What a row and what a column is.
    """

    distance: NDArray[np.float64]
    once: NDArray[np.bool_]
    rows: list[Any]
    columns: list[Any]
    words: tuple[str, str]

    @property
    def unreached(self) -> int:
        """The number of pairs without a path."""
        return int((self.once & np.isinf(self.distance)).sum())

    def farthest(self, most: int) -> list[tuple[int, int]]:
        """Return row and column of the pairs that are farthest apart, at most so many, of equal ones the first."""
        where = np.flatnonzero(self.once & np.isfinite(self.distance))
        values = self.distance.reshape(-1)[where]
        if len(values) > most:  # only these are sorted
            far = values >= np.partition(values, -most)[-most]
            where, values = where[far], values[far]
        chosen = where[np.argsort(-values, kind="stable")[:most]]
        return list(zip(*(index.tolist() for index in np.unravel_index(chosen, self.distance.shape))))


def pairs_of(result: Result) -> Pairs:
    """Return the distances of a result as pairs, of a Steiner tree with `matrix = true` those between the terminals.

    Raises
    ------
    InputError
        The result has no table of distances.
    DamagedFileError
        The table does not fit sources and targets.
    """
    contents = result.contents
    if contents.value("solution", "matrix") is not None:
        terminals = canvas.positions(result, "instance", "terminal", "plot_histogram")
        distance = contents.in_own_unit(np.asarray(contents.value("solution", "matrix"))).astype(np.float64)
        once = _once(terminals, terminals, True)
        names = named_by_places(contents, "terminal", terminals)
        return _fitting(Pairs(distance, once, names, names, ("terminal", "terminal")))
    canvas.require_answer(result, "distances", "plot_histogram")
    of_solution = partial(canvas.positions, result, "solution", function="plot_histogram")
    to_all = contents.value("solution", "target") is None
    sources, targets = of_solution("source"), np.arange(result.n) if to_all else of_solution("target")
    words = "source", "vertex" if to_all else "target"
    columns = named_by_places(contents, "target", targets)
    if len(result.distance) == 1 < len(sources):
        once = ~np.isin(targets, sources)[None, :]
        return _fitting(Pairs(result.distance, once, ["nearest source"], columns, words))
    once = _once(sources, targets, not contents.value("instance", "directed"))
    return _fitting(Pairs(result.distance, once, named_by_places(contents, "source", sources), columns, words))


def _fitting(pairs: Pairs) -> Pairs:
    """Return the pairs, if their table has a row for each source and a column for each target."""
    if pairs.distance.shape != pairs.once.shape:
        raise DamagedFileError(f"damaged: the table of distances has shape {pairs.distance.shape}, and its sources and "
                               f"targets {pairs.once.shape}")
    return pairs


def _once(tails: NDArray[np.int64], heads: NDArray[np.int64], symmetric: bool) -> NDArray[np.bool_]:
    """Return `Pairs.once` of rows from these tails and columns to these heads."""
    once: NDArray[np.bool_] = tails[:, None] != heads[None, :]
    if symmetric:
        row, column = ({int(vertex): place for place, vertex in enumerate(ends)} for ends in (tails, heads))
        mirror_row = np.array([row.get(int(vertex), len(tails)) for vertex in heads], np.int64)
        mirrored = np.array([int(vertex) in column for vertex in tails], np.bool_)
        once = once & ~(mirrored[:, None] & (mirror_row[None, :] < np.arange(len(tails))[:, None]))
    return once


def plot_histogram(result: Result, axes: Axes | None = None) -> Axes:
    """Draw a histogram of the distances between pairs of vertices. Of an undirected graph each pair counts once.

    Of a Steiner tree with `matrix = true` the distances between the terminals are drawn.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        The result has no table of distances.
    EnvironmentFault
        matplotlib is not installed.
    """
    pairs = pairs_of(result)
    values = pairs.distance[pairs.once & np.isfinite(pairs.distance)]
    axes = canvas.axes_for(axes)
    if len(values):
        axes.hist(values, bins=BINS, color=canvas.BLUE)
        median = float(np.median(values))
        axes.axvline(median, color=canvas.VERMILION, linewidth=1, label=f"median, {canvas.number(median)}")
        axes.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0.2)
    axes.set(xlabel="distance (the instance's own unit)", ylabel="pairs with this distance")
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    canvas.set_title(axes, result, f"distances of {counted(len(values), 'pair')}", pad=20)
    if pairs.unreached:
        add_note(axes, f"not drawn: {counted(pairs.unreached, 'pair')} without a path")
    return axes


def plot_reductions(
    result: Result, axes: Axes | None = None, *, quantity: str | None = None, decay: int = 0,
    geographic: bool | None = None, network: object = False,
) -> Axes:
    """Draw a quantity of every source, as colours at their coordinates, with the targets if these are not all vertices.

    Without coordinates it draws the distribution instead: how many sources have at most each value.

    Parameters
    ----------
    axes, geographic
        As in `plot_tour`.
    quantity
        "access", "closeness", "farthest", "nearest" (the distance of the farthest of the `k`
        nearest targets), "count" (targets within the last cutoff) or "reached"; by default the first of these that the
        result has.
    decay
        Number of the decay that access is by, from 0.
    network
        As in `plot_tree`, but False by default.

    Raises
    ------
    InputError
        The result has no reductions, or no such quantity.
    EnvironmentFault
        matplotlib is not installed.
    """
    canvas.require_answer(result, "reductions", "plot_reductions")
    label, values = quantity_of(result, quantity, decay)
    axes, places = canvas.axes_for(axes), places_of(result, geographic)
    canvas.set_title(axes, result, f"{label} of {len(values)} sources")
    if places is None:
        canvas.draw_counts(axes, values, canvas.BLUE)
        axes.set(xlabel=label, ylabel=f"sources with at most this value, of {len(values)}")
    else:
        sources = canvas.positions(result, "solution", "source", "plot_reductions")
        draw_network(axes, result, places.points, network)
        draw_field(axes, Places(places.points[sources], places.geographic), values, label)
        if result.contents.value("solution", "target") is not None:
            targets = places.points[canvas.positions(result, "solution", "target", "plot_reductions")]
            axes.plot(*targets.T, "^", color=canvas.VERMILION, markersize=7, markeredgecolor=canvas.BLACK, zorder=3,
                      gid="targets")
        finish_map(axes, places, canvas.FIELD_INK)
    if missing := int((~np.isfinite(values)).sum()):
        where = "not drawn" if places is None else "crosses"
        add_note(axes, f"{where}: {missing} of {len(values)} sources reach no target")
    return axes


def quantity_of(result: Result, name: str | None = None, decay: int = 0) -> tuple[str, NDArray[np.float64]]:
    """Return a quantity of each source in words, and its values, `inf` where no target is reached.

    Parameters
    ----------
    name, decay
        As `quantity` and `decay` of `plot_reductions`.

    Raises
    ------
    InputError
        The result has no such quantity, or no such decay.
    """
    contents = result.contents
    decays, access = access_of(contents)
    if decays and not 0 <= decay < len(decays):
        raise InputError(f"plot_reductions: there is no decay {decay}; they are numbered 0 to {len(decays) - 1}")
    known = {"access": (f"access ({decays[decay]})", access[decay])} if decays else {}
    known |= {"closeness": ("closeness", result.closeness),
              "farthest": ("distance of the farthest target", result.eccentricity)}
    nearest, count = (contents.value("solution", quantity) for quantity in ("nearest_distance", "count"))
    if nearest is not None:
        which = f"farthest of the {nearest.shape[1]} nearest targets" if nearest.shape[1] > 1 else "nearest target"
        known["nearest"] = f"distance of the {which}", contents.own_distances(np.asarray(nearest[:, -1]))
    if count is not None:
        cutoff = contents.in_own_unit(np.asarray(contents.value("solution", "cutoff")))[-1]
        known["count"] = f"targets within {cutoff:.10g}", count[:, -1]
    known["reached"] = "targets reached", np.asarray(contents.value("solution", "reached"))
    found = {quantity: (label, values) for quantity, (label, values) in known.items() if len(values)}
    if name is not None and name not in found:
        raise InputError(f"plot_reductions: the result has no {name!r}; it has {', '.join(found)}")
    label, values = found[name or next(iter(found))]
    return label, np.asarray(values, np.float64)

"""Draws shortest paths between pairs of vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.canvas import axes_for, set_title
from hpcsolve.analysis.plot.names import write_names
from hpcsolve.analysis.plot.needs import column, kind_of_answer, positions
from hpcsolve.analysis.plot.network import draw_network
from hpcsolve.analysis.plot.palette import SERIES
from hpcsolve.analysis.plot.places import Places, add_note, finish_map, places_of
from hpcsolve.analysis.plot.texts import clean, number
from hpcsolve.errors import InputError
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

MOST_PATHS = len(SERIES)
"""Paths that are drawn if the caller does not say which."""
STYLES = ("-", "--", ":")
"""Line styles, which tell apart the paths that share a colour."""


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
    axes, places = axes_for(axes), places_of(result, geographic)
    if places is None:
        return _plot_rows(result, axes, paths, names)
    draw_network(axes, result, places.points, network)
    for index, (path, name) in enumerate(zip(paths, names)):
        line, color = places.points[path], SERIES[index % len(SERIES)]
        style = STYLES[index // len(SERIES) % len(STYLES)]
        axes.plot(line[:, 0], line[:, 1], style, color=color, linewidth=2, zorder=2, label=name)
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
        return [along], [f"{clean(ends[0])} to {clean(ends[1])}"]
    if kind_of_answer(result) != "paths":
        raise InputError("plot_path draws the paths of queries; in a result with predecessors = true give "
                         f"ends=(source, target); this result of {result.algorithm} has no queries")
    path, offset = positions(result, "solution", "path", "plot_path"), column(result, "solution", "offset", "plot_path")
    chosen = range(min(MOST_PATHS, len(offset) - 1)) if queries is None else queries
    if wrong := [query for query in chosen if not 0 <= query < len(offset) - 1]:
        raise InputError(f"plot_path: there is no query {wrong[0]}; they are numbered 0 to {len(offset) - 2}")
    pairs, lengths = list(zip(result.sources, result.targets)), result.distance
    names = [f"{clean(a)} to {clean(b)}: " for a, b in (pairs[query] for query in chosen)]
    said = ["not reached" if np.isinf(lengths[query]) else number(lengths[query]) for query in chosen]
    return [path[offset[query] : offset[query + 1]] for query in chosen], [a + b for a, b in zip(names, said)]


def _finish(result: Result, axes: Axes, paths: list[NDArray[np.int64]], places: Places) -> None:
    total = len(result.distance) if kind_of_answer(result) == "paths" else 1
    above = 13.0 * -(-len(paths) // 2) + 8  # room for the legend
    set_title(axes, result, counted(len(paths), "shortest path"), pad=above)
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
        axes.plot(line[:, 0], line[:, 1], "o-", color=SERIES[index % len(SERIES)], markersize=4, label=name)
    _finish(result, axes, paths, places)
    axes.set_aspect("auto")
    axes.set_ylim(0.7 - len(paths), 1.2)
    points = np.concatenate([*stops, np.empty((0, 2))])
    write_names(axes, points, result.named(np.concatenate([*paths, np.empty(0, np.int64)])), points, points)
    return axes

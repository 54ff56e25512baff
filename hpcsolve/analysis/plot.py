"""Draws tours and Steiner trees with matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcsolve.analysis.load import Result
from hpcsolve.errors import EnvironmentFault

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_tour(result: Result, axes: Axes | None = None, *, names: bool = True, geographic: bool = False) -> Axes:
    """Draw the tour. Cities without coordinates are drawn on a circle.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure.
    names
        Whether to write the cities' names or numbers beside them.
    geographic
        Whether the coordinates are those of TSPLIB's GEO: latitude and longitude as degrees.minutes.

    Raises
    ------
    EnvironmentFault
        matplotlib is not installed.
    """
    axes = axes if axes is not None else _new_axes()
    places = _places(result, geographic)
    order = list(result.tour)
    closed = 'path = "open"' not in result.job
    line = places[[*order, order[0]] if closed and order else order]
    axes.plot(line[:, 0], line[:, 1], "-", color="tab:blue", linewidth=1, zorder=1)
    axes.scatter(places[:, 0], places[:, 1], s=14, color="tab:red", zorder=2)
    if names:
        _write_names(axes, places, order, result.tour_labels)
    return _finished(axes, result)


def plot_tree(result: Result, axes: Axes | None = None, *, names: bool = False, geographic: bool = False) -> Axes:
    """Draw the edges of a Steiner tree, terminals in red. Vertices without coordinates are drawn on a circle.

    Parameters
    ----------
    axes, geographic
        As of `plot_tour`.
    names
        Whether to write the terminals' names or numbers beside them.

    Raises
    ------
    EnvironmentFault
        matplotlib is not installed.
    """
    axes = axes if axes is not None else _new_axes()
    places, terminals = _places(result, geographic), np.asarray(result.contents.value("instance", "terminal"))
    ends = [places[np.asarray(result.contents.value("solution", end))] for end in "uv"]
    # NaN separates the edges in a single line, since thousands of lines would take minutes.
    apart = np.full_like(ends[0], np.nan)
    line = np.stack([*ends, apart], axis=1).reshape(-1, 2)
    axes.plot(line[:, 0], line[:, 1], "-", color="tab:blue", linewidth=1, zorder=1)
    axes.scatter(places[terminals, 0], places[terminals, 1], s=14, color="tab:red", zorder=2)
    if names:
        _write_names(axes, places, terminals, result.terminals)
    return _finished(axes, result)


def _write_names(axes: Axes, places: Any, positions: Iterable[int], names: Iterable[Any]) -> None:
    for position, name in zip(positions, names):
        axes.annotate(str(name), places[position], xytext=(3, 3), textcoords="offset points", fontsize=7)


def _finished(axes: Axes, result: Result) -> Axes:
    axes.set_title(f"{result.contents.value('instance', 'name')}: {result.cost}")
    axes.set_aspect("equal", adjustable="datalim")
    return axes


def _places(result: Result, geographic: bool) -> Any:
    """Return where to draw the cities or vertices, shape (n, 2)."""
    found = result.coordinates
    if found is None:
        angle = np.linspace(0, 2 * np.pi, len(result.contents.value("instance", "label")), endpoint=False)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if not geographic:
        return found[:, :2]
    degrees = np.trunc(found) + (found - np.trunc(found)) * 5 / 3
    return degrees[:, ::-1]


def _new_axes() -> Axes:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise EnvironmentFault("matplotlib is not installed: pip install 'hpcsolve[plot]'") from None
    return Figure(figsize=(7, 6), layout="constrained").add_subplot()

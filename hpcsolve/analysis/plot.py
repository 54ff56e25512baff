"""Pictures of results, with matplotlib (extra `plot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcsolve.analysis.load import Result
from hpcsolve.errors import EnvironmentFault

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_tour(result: Result, axes: Axes | None = None, *, names: bool = True, geographic: bool = False) -> Axes:
    """Draw the tour; cities without coordinates stand on a circle.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure.
    names
        Write the cities' names or numbers beside them.
    geographic
        The coordinates are TSPLIB's GEO: latitude and longitude, in degrees.minutes.

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
        for city, label in zip(order, result.tour_labels):
            axes.annotate(str(label), places[city], xytext=(3, 3), textcoords="offset points", fontsize=7)
    axes.set_title(f"{result.contents.value('instance', 'name')}: {result.cost}")
    axes.set_aspect("equal", adjustable="datalim")
    return axes


def _places(result: Result, geographic: bool) -> Any:
    """Shape (n, 2)."""
    found = result.coordinates
    if found is None:
        angle = np.linspace(0, 2 * np.pi, int(result.contents.value("instance", "n")), endpoint=False)
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

"""Draws reductions of distances: a quantity of each source, as colours on a map, or its distribution as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.canvas import axes_for, set_title
from hpcsolve.analysis.plot.distances import draw_field
from hpcsolve.analysis.plot.needs import positions, require_answer
from hpcsolve.analysis.plot.network import draw_network
from hpcsolve.analysis.plot.palette import BLUE, FIELD_INK
from hpcsolve.analysis.plot.places import Places, add_note, finish_map, places_of
from hpcsolve.answers.distances import own_distances
from hpcsolve.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result


def plot_reductions(
    result: Result, axes: Axes | None = None, *, quantity: str | None = None, geographic: bool | None = None,
    network: object = False,
) -> Axes:
    """Draw a quantity of every source, as colours at their coordinates.

    Without coordinates it draws the distribution instead: how many sources have at most each value.

    Parameters
    ----------
    axes, geographic
        As in `plot_tour`.
    quantity
        "closeness", "farthest", "nearest" (the distance of the farthest of the `k` nearest targets), "count" (targets
        within the last cutoff) or "reached"; by default the first of these that the result has.
    network
        As in `plot_tree`, but False by default.

    Raises
    ------
    InputError
        The result has no reductions, or no such quantity.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_answer(result, "reductions", "plot_reductions")
    label, values = quantity_of(result, quantity)
    axes, places = axes_for(axes), places_of(result, geographic)
    set_title(axes, result, f"{label} of {len(values)} sources")
    if places is None:
        return _plot_values(axes, label, values)
    sources = positions(result, "solution", "source", "plot_reductions")
    draw_network(axes, result, places.points, network)
    draw_field(axes, Places(places.points[sources], places.geographic), values, label)
    finish_map(axes, places, FIELD_INK)
    _note_missing(axes, values, "crosses")
    return axes


def quantity_of(result: Result, name: str | None = None) -> tuple[str, NDArray[np.float64]]:
    """Return a quantity of each source in words, and its values, `inf` where no target is reached.

    Parameters
    ----------
    name
        As in `plot_reductions`.

    Raises
    ------
    InputError
        The result has no such quantity.
    """
    found = _quantities(result)
    if name is not None and name not in found:
        raise InputError(f"plot_reductions: the result has no {name!r}; it has {', '.join(found)}")
    label, values = found[name or next(iter(found))]
    return label, np.asarray(values, np.float64)


def _quantities(result: Result) -> dict[str, tuple[str, NDArray[np.float64]]]:
    """Return the quantities of a result by name, in the order in which they are preferred."""
    contents = result.contents
    found = {"closeness": ("closeness", result.closeness),
             "farthest": ("distance of the farthest target", result.eccentricity)}
    nearest, count = (contents.value("solution", name) for name in ("nearest_distance", "count"))
    if nearest is not None:
        which = f"farthest of the {nearest.shape[1]} nearest targets" if nearest.shape[1] > 1 else "nearest target"
        found["nearest"] = f"distance of the {which}", own_distances(contents, np.asarray(nearest[:, -1]))
    if count is not None:
        cutoff = contents.in_own_unit(np.asarray(contents.value("solution", "cutoff")))[-1]
        found["count"] = f"targets within {cutoff:.10g}", count[:, -1]
    found["reached"] = "targets reached", np.asarray(contents.value("solution", "reached"))
    return {name: (label, values) for name, (label, values) in found.items() if len(values)}


def _plot_values(axes: Axes, label: str, values: NDArray[np.float64]) -> Axes:
    """Draw how many sources have at most each value."""
    within = np.sort(values[np.isfinite(values)])
    axes.step(within, np.arange(1, len(within) + 1), where="post", color=BLUE)
    axes.set_xlabel(label)
    axes.set_ylabel(f"sources with at most this value, of {len(values)}")
    _note_missing(axes, values, "not drawn")
    return axes


def _note_missing(axes: Axes, values: NDArray[np.float64], where: str) -> None:
    """Note on the picture how many sources reach no target, and where it shows them: "crosses", or "not drawn"."""
    if missing := int((~np.isfinite(values)).sum()):
        add_note(axes, f"{where}: {missing} of {len(values)} sources reach no target")

"""Draws the runs of a sweep with matplotlib (extra `plot`): a box plot by group, and scaling with a fitted law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.canvas import axes_for
from hpcsolve.analysis.plot.palette import BLUE, SERIES, VERMILION
from hpcsolve.analysis.statistics import By, Law, fit, groups, points_of, values_of
from hpcsolve.analysis.table import Table
from hpcsolve.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNITS = {"seconds": "seconds", "seconds_kernel": "seconds in kernels", "bytes": "bytes", "bytes_resident": "bytes"}
POINTS_ON_A_LINE = 200


def plot_box(runs: Table, column: str = "cost", by: By = (), axes: Axes | None = None) -> Axes:
    """Draw a box for each group of runs: quartiles, median, whiskers, and every run as a dot.

    Whiskers reach at most 1.5 interquartile ranges beyond the box.

    Parameters
    ----------
    column
        What is drawn, such as `cost`, `gap` or `seconds`.
    by
        Columns whose values divide the runs into groups.
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        A column is missing or has no numbers.
    EnvironmentFault
        matplotlib is not installed.
    """
    axes = axes_for(axes)
    found = [(group.label or "all runs", values_of(group.runs, column)) for group in groups(runs, by)]
    found = [(label, values) for label, values in found if len(values)]
    if not found:
        raise InputError(f"no run has a value of {column}")
    places = range(1, len(found) + 1)
    axes.boxplot([values for _, values in found], positions=places, widths=0.5, showfliers=False,
                 medianprops={"color": VERMILION})
    for place, (_, values) in zip(places, found):
        axes.plot(place + _beside(len(values)), values, "o", color=BLUE, markersize=3, alpha=0.6)
    crowded = sum(len(label) for label, _ in found) > 60
    axes.set_xticks(list(places), [label for label, _ in found], rotation=30 if crowded else 0,
                    ha="right" if crowded else "center")
    axes.set_xlabel(by if isinstance(by, str) else ", ".join(by))
    axes.set_ylabel(UNITS.get(column, column))
    axes.grid(axis="y", alpha=0.3)
    return axes


def plot_scaling(
    runs: Table, column: str = "seconds", against: str = "n", by: By = (), axes: Axes | None = None, *,
    law: Law = "power",
) -> Axes:
    """Draw how a column grows with another one: a dot for each run, and for each group the fitted law as a line.

    Parameters
    ----------
    column, against
        What is drawn, and along which axis: `seconds` against `n`, or against `ranks`.
    by
        Columns whose values divide the runs into groups, each with a colour.
    axes
        Where to draw; by default a new figure of pyplot.
    law
        As in `hpcsolve.analysis.statistics.scaling`: "power" has two logarithmic axes, "exponential" one.

    Raises
    ------
    InputError
        As in `hpcsolve.analysis.statistics.scaling`.
    EnvironmentFault
        matplotlib is not installed.
    """
    axes = axes_for(axes)
    for number, group in enumerate(groups(runs, by)):
        x, y = points_of(group, column, against, law)
        found, colour = fit(x, y, law), SERIES[number % len(SERIES)]
        space = np.geomspace if law == "power" else np.linspace
        along = space(x.min(), x.max(), POINTS_ON_A_LINE)
        growth = f"∝ {against}^{found.growth:.2f}" if law == "power" else f"∝ {found.growth:.2f}^{against}"
        axes.plot(x, y, "o", color=colour, markersize=4, alpha=0.7)
        axes.plot(along, found.at(along), "-", color=colour, linewidth=1, label=f"{group.label} {growth}".strip())
    axes.set_yscale("log")
    if law == "power":
        axes.set_xscale("log")
    axes.set_xlabel(against)
    axes.set_ylabel(UNITS.get(column, column))
    axes.legend(frameon=False)
    axes.grid(which="both", alpha=0.2)
    return axes


def _beside(count: int) -> NDArray[np.float64]:
    """Return horizontal offsets, shape (count,), that keep the dots of a group apart."""
    return np.linspace(-0.12, 0.12, count) if count > 1 else np.zeros(count)


"""The chart of the times to the optimum, written as an SVG file. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from jobs.benchmarks.common.charts import plain_decades, save
from jobs.benchmarks.edge_assembly.runs import Run
from jobs.benchmarks.edge_assembly.tables import Found

COLUMNS = 3
COLOURS = {"hpcsolve": "tab:blue", "fast-tsp": "tab:orange", "LKH": "tab:green", "GA-EAX": "tab:red"}


def draw_times(all_found: Sequence[Found], folder: Path) -> None:
    """Draw, for each instance with a target, the share of seeds that have reached it against CPU seconds.

    Of a solver that is told its limit, there is a line for each limit, the longer the limit the darker.
    """
    drawn = [found for found in all_found if found.target is not None]
    rows = math.ceil(len(drawn) / COLUMNS)
    if not rows:
        return
    figure = Figure(figsize=(3.2 * COLUMNS, 2.5 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, squeeze=False, sharey=True)
    for found, own in zip(drawn, axes.flat):
        _draw(found, own)
    for unused in axes.flat[len(drawn):]:
        unused.set_visible(False)
    figure.supxlabel("CPU seconds of the process")
    figure.supylabel("seeds at the optimum, %")
    named = {label: line for own in axes.flat for line, label in zip(*own.get_legend_handles_labels())}
    figure.legend(named.values(), named.keys(), loc="outside upper center", ncols=len(named), fontsize=8)
    save(figure, folder / "edge-assembly-time-to-target.svg")


def _draw(found: Found, axes: Axes) -> None:
    """Draw the lines of an instance."""
    for solver, runs in found.runs.items():
        limits = sorted({run.ask.limit for run in runs})
        for place, limit in enumerate(limits, 1):
            times, shares = _steps([run for run in runs if run.ask.limit == limit], found.target or 0, limit)
            last = place == len(limits)
            axes.step(times, shares, where="post", color=COLOURS.get(solver), alpha=place / len(limits),
                      linewidth=1.2, label=solver if last else None)
    axes.set_xscale("log")
    plain_decades(axes.xaxis)
    axes.set_ylim(-4, 104)
    axes.grid(True, alpha=0.3)
    axes.tick_params(labelsize=7)
    axes.set_title(found.instance.name, fontsize=9)


def _steps(runs: list[Run], target: int, limit: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return CPU seconds, and the share of runs in percent that have reached the target from each of them on."""
    times = sorted(time for run in runs if math.isfinite(time := run.seconds_to(target)))
    end = max([limit, *times]) if runs else limit
    places = np.array([0.05, *times, end])
    counts = np.array([0, *range(1, len(times) + 1), len(times)])
    return places, 100 * counts / max(len(runs), 1)

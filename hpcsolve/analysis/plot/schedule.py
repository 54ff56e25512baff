"""Draws when a tour with time windows is where: a line for each stop, with its window, waiting and service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot import canvas
from hpcsolve.answers.schedule import schedule_in, time_text, time_unit_of
from hpcsolve.errors import InputError
from hpcsolve.problems.clock import UNITS
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

_STEPS = (1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Seconds between marks of times of day."""
_MARKS = 8
_MARGIN = 0.02
"""Part of the tour's time that is drawn before its begin and after its end."""


def plot_schedule(result: Result, axes: Axes | None = None) -> Axes:
    """Draw the stops of a tour with time windows from top to bottom, over time.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        The result is no tour, or has no time windows.
    EnvironmentFault
        matplotlib is not installed.
    """
    canvas.require_answer(result, "tour", "plot_schedule")
    schedule = schedule_in(result.contents)
    if schedule is None:
        raise InputError(f"plot_schedule needs /windows, which this result of {result.algorithm} does not have")
    canvas.positions(result, "solution", "tour", "plot_schedule")
    axes, scale = canvas.axes_for(axes), result.contents.scale
    first, last = int(schedule.arrival[0]), int(schedule.departure[-1])
    room = max(1, round(_MARGIN * (last - first)))
    low, high = (first - room) / scale, (last + room) / scale
    rows = np.arange(len(schedule.city))

    def bars(begin: NDArray[np.int64], end: NDArray[np.int64], height: float, color: str, label: str, zorder: int,
             alpha: float = 1.0) -> None:
        left, right = np.clip(begin / scale, low, high), np.clip(end / scale, low, high)
        wide = right > left
        if wide.any():
            axes.barh(rows[wide], (right - left)[wide], left=left[wide], height=height, color=color, label=label,
                      linewidth=0, zorder=zorder, alpha=alpha)

    bars(schedule.earliest, np.minimum(schedule.latest, LARGEST_SUM), 0.8, canvas.SKY, "window", 1, alpha=0.35)
    bars(schedule.arrival, schedule.begin, 0.3, canvas.ORANGE, "waiting", 2)
    bars(schedule.begin, schedule.departure, 0.5, canvas.BLUE, "service", 3)
    travel = np.column_stack([schedule.departure[:-1], schedule.arrival[1:]]).reshape(-1) / scale
    axes.plot(travel, np.repeat(rows, 2)[1:-1], "-", color=canvas.BLACK, linewidth=0.8, zorder=4, label="travel")
    axes.plot(schedule.begin / scale, rows, "|", color=canvas.VERMILION, markersize=6, zorder=5, label="begin")
    names = result.contents.shown_names()[schedule.city]
    axes.set_yticks(rows, [canvas.clean(name) for name in names], parse_math=False, fontsize="small")
    axes.set(xlim=(low, high), ylim=(len(rows) - 0.4, -0.6), xlabel=name_of_times(result))
    mark_times(axes, result, low, high)
    axes.tick_params(axis="y", length=0)
    axes.legend(fontsize="small", frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=5, borderaxespad=0.2)
    begin, end = (time_text(result.contents, time) for time in (first, last))
    canvas.set_title(axes, result, f"{counted(len(np.unique(schedule.city)), 'stop')}, from {begin} to {end}",
                     pad=20)
    return axes


def name_of_times(result: Result) -> str:
    """Return what the axis of times has."""
    return "time" if time_unit_of(result.contents) is None else "time of day"


def mark_times(axes: Axes, result: Result, low: float, high: float) -> None:
    """Mark times of day at whole minutes and hours, where it is known what a unit is."""
    unit = time_unit_of(result.contents)
    if unit is None:
        return
    seconds = UNITS[unit]
    step = next((step for step in _STEPS if (high - low) * seconds <= step * _MARKS), _STEPS[-1])
    marks = np.arange(np.ceil(low * seconds / step), np.floor(high * seconds / step) + 1) * step
    scale = result.contents.scale
    texts = [time_text(result.contents, round(mark * scale / seconds)) for mark in marks.tolist()]
    axes.set_xticks(marks / seconds, texts)

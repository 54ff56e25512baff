"""Draws what each sum of prizes costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.analysis.plot import canvas
from hpcsolve.analysis.plot.schedule import mark_times, name_of_times
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result


def plot_prizes(result: Result, axes: Axes | None = None) -> Axes:
    """Draw the most prize that can be had for each cost or, with time windows, by each end.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        The result is no tour, or not of objective "prize" without a budget.
    EnvironmentFault
        matplotlib is not installed.
    """
    canvas.require_answer(result, "tour", "plot_prizes")
    prizes, costs = (canvas.column(result, "solution", f"curve_{name}", "plot_prizes") for name in ("prizes", "costs"))
    axes, costs = canvas.axes_for(axes), costs / result.contents.scale
    timed = result.contents.value("windows", "latest") is not None
    room = 0.04 * max(1.0, costs[-1] - costs[0])
    axes.step([*costs, costs[-1] + room], [*prizes, prizes[-1]], where="post", color=canvas.BLUE, linewidth=1)
    size = float(np.clip(1500 / len(costs), 4, 20))
    axes.scatter(costs, prizes, s=size, color=canvas.VERMILION, zorder=2, linewidths=0)
    end = f"{name_of_times(result)} of the end" if timed else "cost"
    axes.set(xlabel=end, ylabel="prize")
    if timed:
        mark_times(axes, result, float(costs[0]), float(costs[-1] + room))
    canvas.set_title(axes, result, f"{counted(len(costs), 'tour')}, prize {prizes[0]} to {prizes[-1]}")
    return axes

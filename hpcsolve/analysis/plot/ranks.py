"""Draws the time of a run by phase and rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.analysis.phases import OTHER, PHASES, seconds_by_phase
from hpcsolve.analysis.plot.canvas import axes_for, set_title
from hpcsolve.analysis.plot.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

COLORS = {
    "read": PURPLE, "build": ORANGE, "kernel": BLUE, "copy": SKY, "wait": VERMILION, OTHER: GREY, "check": BLACK,
    "write": GREEN,
}
NAMED_RANKS = 16
"""Ranks up to which each has a tick."""


def plot_ranks(result: Result, axes: Axes | None = None) -> Axes:
    """Draw a bar for each rank, divided by the phases of the run.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        The result has no `/ranks`.
    EnvironmentFault
        matplotlib is not installed.
    """
    phases, axes = seconds_by_phase(result), axes_for(axes)
    ranks = len(phases["read"])
    half = 0.4 if ranks <= NAMED_RANKS else 0.5
    edges = np.stack([np.arange(ranks) - half, np.arange(ranks) + half], axis=1).reshape(-1)
    below = np.zeros(ranks)
    for name, seconds in phases.items():
        if not seconds.any():
            continue
        # Between the bars, base and height are equal: one area per phase serves thousands of ranks.
        bottom, top = (_with_gaps(values) for values in (below, below + seconds))
        axes.stairs(top, edges, baseline=bottom, fill=True, color=COLORS[name], label=PHASES[name])
        below = below + seconds
    if ranks <= NAMED_RANKS:
        axes.set_xticks(range(ranks))
    axes.set_xlabel("rank")
    axes.set_ylabel("seconds")
    axes.set_ylim(0, None)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    set_title(axes, result, f"time of {counted(ranks, 'rank')}")
    return axes


def _with_gaps(values: np.ndarray) -> np.ndarray:
    """Return the values of the bars with a zero between each two, shape (2 * bars - 1,)."""
    return np.stack([values, np.zeros_like(values)], axis=1).reshape(-1)[:-1]

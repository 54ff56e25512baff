"""Draws the costs of a batch's tours: how many instances have at most each cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.analysis.plot.canvas import axes_for, set_title
from hpcsolve.analysis.plot.needs import require_answer
from hpcsolve.analysis.plot.palette import BLUE
from hpcsolve.analysis.plot.places import add_note
from hpcsolve.answers.tours import costs_of
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result


def plot_batch(result: Result, axes: Axes | None = None) -> Axes:
    """Draw how many instances of a batch have a tour of at most each cost.

    Parameters
    ----------
    axes
        As in `plot_tour`.

    Raises
    ------
    InputError
        The result is not of a batch.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_answer(result, "tours of a batch", "plot_batch")
    costs, count = np.sort(costs_of(result.contents)), int(result.contents.value("instance", "instances"))
    axes = axes_for(axes)
    set_title(axes, result, f"costs of {counted(len(costs), 'tour')}")
    axes.step(costs, np.arange(1, len(costs) + 1), where="post", color=BLUE)
    axes.set_xlabel("cost of the best tour")
    axes.set_ylabel(f"instances with at most this cost, of {count}")
    if len(costs) < count:
        add_note(axes, f"not drawn: {counted(count - len(costs), 'instance')} without a tour")
    return axes

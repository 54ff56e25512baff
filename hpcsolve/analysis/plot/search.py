"""Draws how an answer came about: convergence, colonies of an ant colony, layers of Held-Karp's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hpcsolve.analysis.plot.canvas import axes_for, set_title
from hpcsolve.analysis.plot.needs import column, kind_of_answer
from hpcsolve.analysis.plot.palette import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION
from hpcsolve.analysis.plot.texts import number
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

NAMED_COLONIES = 40
"""Colonies up to which each has a tick."""


def plot_convergence(result: Result, axes: Axes | None = None) -> Axes:
    """Draw the cost of the best answer so far.

    Of ant colonies, draw also a line for each colony, its best tour, and the mean of each iteration. Of a Steiner tree,
    draw also the lower bound.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        The result has no `/history`, which ant colonies and Steiner trees of mode "best" have.
    EnvironmentFault
        matplotlib is not installed.
    """
    step, best = (column(result, "history", name, "plot_convergence") for name in ("step", "best"))
    axes = axes_for(axes)
    draw, unit = (_draw_tree, "round") if kind_of_answer(result) == "tree" else (_draw_ants, "iteration")
    draw(result, axes)
    axes.step(step, best, where="post", color=BLUE, linewidth=1.6, label="best so far", zorder=3)
    axes.set_xlabel(unit)
    axes.set_ylabel("cost (the instance's own unit)")
    axes.legend(fontsize="small")
    seconds = result.contents.value("history", "seconds")
    after = f" after {float(seconds[-1]):.3g} s" if seconds is not None and len(seconds) else ""
    set_title(axes, result, f"cost {number(result.cost)}{after}")
    return axes


def _draw_tree(result: Result, axes: Axes) -> None:
    """Draw the rounds that found a lighter tree, and the lower bound."""
    from matplotlib.ticker import MaxNLocator

    step, best = (column(result, "history", name, "plot_convergence") for name in ("step", "best"))
    lighter = np.diff(best, prepend=np.inf) < 0
    axes.plot(step[lighter], best[lighter], "o", color=BLUE, markersize=4, label="a lighter tree")
    axes.axhline(result.lower_bound, color=GREEN, linestyle="--", linewidth=1, label="lower bound")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_ants(result: Result, axes: Axes) -> None:
    """Draw the mean of each iteration, the colonies and their best tours, and the optimum if the job names it."""
    step, mean = (column(result, "history", name, "plot_convergence") for name in ("step", "mean"))
    axes.plot(step, mean, "-", color=ORANGE, linewidth=1, label="mean of the iteration")
    _draw_colonies(result, axes, int(step[-1]))
    found, costs = (result.contents.own("colonies", name) for name in ("iteration", "cost"))
    if found is not None and costs is not None:
        axes.plot(found, costs, "o", color=VERMILION, markersize=4, label="best tour of a colony", zorder=4)
    if (optimum := _optimum(result)) is not None:
        axes.axhline(optimum, color=GREEN, linestyle="--", linewidth=1, label="optimum that the job names")


def _draw_colonies(result: Result, axes: Axes, last: int) -> None:
    """Draw the best cost so far of each colony up to the last iteration, if there are several colonies."""
    colony, iteration, cost = (result.contents.own("improvements", name) for name in ("colony", "iteration", "cost"))
    if colony is None or iteration is None or cost is None or len(np.unique(colony)) < 2:
        return  # one colony is the line of all colonies; results of before have no improvements
    begins = np.flatnonzero(np.diff(colony)) + 1
    label: str | None = "best so far of a colony"
    for steps, costs in zip(np.split(iteration, begins), np.split(cost, begins)):
        axes.step([*steps, last], [*costs, costs[-1]], where="post", color=SKY, linewidth=0.8, label=label)
        label = None  # one entry in the legend


def _optimum(result: Result) -> float | None:
    value = msgspec.toml.decode(result.job).get(result.algorithm, {}).get("optimum")
    return float(value) if isinstance(value, (int, float)) else None


def plot_colonies(result: Result, axes: Axes | None = None) -> Axes:
    """Draw the best cost of each colony, and their mean.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        The result has no `/colonies`.
    EnvironmentFault
        matplotlib is not installed.
    """
    colonies, costs = (column(result, "colonies", name, "plot_colonies") for name in ("colony", "cost"))
    own = result.contents.in_own_unit(costs)
    axes = axes_for(axes)
    axes.plot(colonies, own, "o", color=BLUE, markersize=5, label="best tour of a colony")
    axes.axhline(own.mean(), color=GREY, linestyle="--", linewidth=1, label=f"mean, {number(own.mean())}")
    if (optimum := _optimum(result)) is not None:
        axes.axhline(optimum, color=GREEN, linewidth=1, label=f"optimum, {number(optimum)}")
    if len(colonies) <= NAMED_COLONIES:
        axes.set_xticks(colonies)
    axes.set_xlabel("colony")
    axes.set_ylabel("cost (the instance's own unit)")
    axes.legend(fontsize="small", framealpha=0.6)
    spread = f"{number(own.min())} to {number(own.max())}"
    set_title(axes, result, f"{counted(len(own), 'colony')}, {spread}")
    return axes


def plot_layers(result: Result, axes: Axes | None = None) -> Axes:
    """Draw the states of each layer of Held-Karp's table, and the seconds that its kernels took.

    Parameters
    ----------
    axes
        Where to draw the states; a second axis at the right has the seconds. By default a new figure of pyplot.

    Raises
    ------
    InputError
        The result has no `/layers`, which Held-Karp writes unless there are only a handful of cities.
    EnvironmentFault
        matplotlib is not installed.
    """
    states, seconds = (column(result, "layers", name, "plot_layers") for name in ("states", "seconds"))
    axes, layers = axes_for(axes), np.arange(len(states))
    axes.bar(layers, states, color=BLUE, label="states")
    axes.set_xlabel("layer")
    axes.set_ylabel("states (bars)")
    axes.set_xticks(layers if len(layers) <= 16 else layers[::4])
    right = axes.twinx()
    right.plot(layers, seconds, "o-", color=VERMILION, linewidth=1, markersize=4, label="seconds")
    right.set_ylabel("kernel seconds (dots)")
    right.set_ylim(bottom=0)
    set_title(axes, result, f"{number(int(states.sum()))} states, {float(seconds.sum()):.3g} s in kernels")
    return axes

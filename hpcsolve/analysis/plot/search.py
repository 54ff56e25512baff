"""Draws how an answer came about: convergence, colonies of an ant colony, states by the size of their sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.canvas import axes_for, set_title
from hpcsolve.analysis.plot.needs import column, kind_of_answer
from hpcsolve.analysis.plot.palette import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION
from hpcsolve.analysis.plot.texts import number
from hpcsolve.errors import InputError
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

NAMED_COLONIES = 40
"""Colonies up to which each has a tick."""
SIZES = {"size": "terminals of a set", "mid_cities": "mid cities of a set", "cities": "cities of a set"}
"""Labels of the axis, by the dataset of `/layers` that has the size of each layer's sets."""


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
    """Draw the number of states of each layer, and the seconds that Held-Karp's kernels took.

    A layer has the sets of one size: of cities in Held-Karp, of terminals in mode exact.

    Parameters
    ----------
    axes
        Where to draw the states. Where there are seconds, they have a second axis at the right. By default a new
        figure of pyplot.

    Raises
    ------
    InputError
        The result has no `/layers`, which Held-Karp writes unless there are only a handful of cities. In mode exact
        there are none if reductions and bounds were enough.
    EnvironmentFault
        matplotlib is not installed.
    """
    states, seconds = column(result, "layers", "states", "plot_layers"), result.contents.value("layers", "seconds")
    if not len(states):
        raise InputError("plot_layers: there are no layers, since reductions and bounds were enough for this tree; "
                         "draw it with plot_tree")
    label, sizes = _sizes(result, len(states))
    axes, title = axes_for(axes), f"{number(int(states.sum()))} states"
    axes.bar(sizes, states, color=BLUE, label="states")
    axes.set_xlabel(label)
    axes.set_ylabel("states" if seconds is None else "states (bars)")
    axes.set_xticks(sizes if len(sizes) <= 16 else sizes[::4])
    if seconds is not None:
        _draw_seconds(axes, sizes, seconds)
        title += f", {float(np.sum(seconds)):.3g} s in kernels"
    set_title(axes, result, title)
    return axes


def _sizes(result: Result, layers: int) -> tuple[str, NDArray[Any]]:
    """Return the label of the axis, and the size of each layer's sets, or the number of each layer."""
    for name, label in SIZES.items():
        if name in result.contents.groups["layers"]:
            return label, column(result, "layers", name, "plot_layers")
    return "layer", np.arange(layers)


def _draw_seconds(axes: Axes, sizes: NDArray[Any], seconds: NDArray[Any]) -> None:
    """Draw the seconds of each layer, with an axis at the right."""
    right = axes.twinx()
    right.plot(sizes, seconds, "o-", color=VERMILION, linewidth=1, markersize=4, label="seconds")
    right.set_ylabel("kernel seconds (dots)")
    right.set_ylim(bottom=0)

"""Draws how an answer came about, and says where the time of the run went.

Pictures: the best cost over time, the colonies of an ant colony, states by the size of their sets, and the time of the
run by phase and rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot import canvas
from hpcsolve.errors import InputError
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

NAMED_COLONIES = 40
"""Colonies up to which each has a tick."""
SIZES = {"size": "terminals of a set", "mid_cities": "mid cities of a set", "cities": "cities of a set"}
"""Labels of the axis, by the dataset of `/layers` that has the size of each layer's sets."""
STEPS = {"ant-colony": "iteration", "edge-assembly": "generation (of many cities: round)", "steiner-kmb": "round"}
"""What a step of `/history` is, by algorithm."""
OTHER = "other work"
"""The algorithm's time outside kernels, copies and waiting: Python, numpy and messages."""
PHASES = {
    "read": "reading", "build": "compiling or loading kernels", "kernel": "kernels", "copy": "copies",
    "wait": "waiting", OTHER: OTHER, "check": "checking the answer", "write": "writing",
}
"""Phase -> its name in words, in the order of drawing."""
MUCH_WAITING = 0.25
"""Fraction of the algorithm's time from which a rank's waiting is reported."""
COLORS = {
    "read": canvas.PURPLE, "build": canvas.ORANGE, "kernel": canvas.BLUE, "copy": canvas.SKY, "wait": canvas.VERMILION,
    OTHER: canvas.GREY, "check": canvas.BLACK, "write": canvas.GREEN,
}
NAMED_RANKS = 16
"""Ranks up to which each has a tick."""


def plot_convergence(result: Result, axes: Axes | None = None, *, others: Sequence[Result] = ()) -> Axes:
    """Draw the cost of the best answer so far, and the lower bound.

    Draw also, of tours, the mean of each step, and of ant colonies each one and its best tour.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.
    others
        Runs of the same job with other seeds. The best answer so far of each is drawn, in place of means and colonies.

    Raises
    ------
    InputError
        A result has no `/history`, which edge assembly, ant colonies and Steiner trees of mode "best" have.
    EnvironmentFault
        matplotlib is not installed.
    """
    runs = [[canvas.column(run, "history", name, "plot_convergence") for name in ("step", "best")]
            for run in (result, *others)]
    (step, best), last = runs[0], max((int(steps[-1]) for steps, _ in runs if len(steps)), default=0)
    axes = canvas.axes_for(axes)
    from matplotlib.ticker import MaxNLocator

    for number, (steps, costs) in enumerate(runs[1:]):
        axes.step(*_up_to(last, steps, costs), where="post", color=canvas.SKY, linewidth=0.8, alpha=0.6,
                  label="" if number else "best so far of another seed")
    if not others:
        (_draw_tree if canvas.kind_of_answer(result) == "tree" else _draw_tours)(result, axes)
    if not np.isnan(result.lower_bound):
        axes.axhline(result.lower_bound, color=canvas.GREEN, linestyle="--", linewidth=1, label="lower bound")
    along = _up_to(last, step, best) if others else (step, best)
    axes.step(*along, where="post", color=canvas.BLUE, linewidth=1.6, label="best so far", zorder=3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel=STEPS[result.algorithm], ylabel="cost (the instance's own unit)")
    axes.legend(fontsize="small")
    seconds = result.contents.value("history", "seconds")
    after = f" after {float(seconds[-1]):.3g} s" if seconds is not None and len(seconds) else ""
    seeds = f", the best of {len(runs)} seeds" if others else ""
    canvas.set_title(axes, result, f"cost {canvas.number(result.cost)}{after}{seeds}")
    return axes


def _up_to(last: int, steps: NDArray[Any], costs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return steps and costs of a run with its last cost up to the last step of all runs."""
    return (np.append(steps, last), np.append(costs, costs[-1])) if len(steps) else (steps, costs)


def _draw_tree(result: Result, axes: Axes) -> None:
    """Draw the rounds that found a lighter tree."""
    step, best = (canvas.column(result, "history", name, "plot_convergence") for name in ("step", "best"))
    lighter = np.diff(best, prepend=np.inf) < 0
    axes.plot(step[lighter], best[lighter], "o", color=canvas.BLUE, markersize=4, label="a lighter tree")


def _draw_tours(result: Result, axes: Axes) -> None:
    """Draw the mean of each step, the colonies and their best tours, and the optimum if the job names it."""
    step, mean = (canvas.column(result, "history", name, "plot_convergence") for name in ("step", "mean"))
    axes.plot(step, mean, "-", color=canvas.ORANGE, linewidth=1, label="mean of all tours")
    _draw_colonies(result, axes, int(step[-1]))
    found, costs = (result.contents.own("colonies", name) for name in ("iteration", "cost"))
    if found is not None and costs is not None:
        axes.plot(found, costs, "o", color=canvas.VERMILION, markersize=4, label="best tour of a colony", zorder=4)
    if (optimum := _optimum(result)) is not None:
        axes.axhline(optimum, color=canvas.PURPLE, linestyle="--", linewidth=1, label="optimum that the job names")


def _draw_colonies(result: Result, axes: Axes, last: int) -> None:
    """Draw the best cost so far of each colony up to the last iteration, if there are several colonies."""
    colony, iteration, cost = (result.contents.own("improvements", name) for name in ("colony", "iteration", "cost"))
    if colony is None or iteration is None or cost is None or len(np.unique(colony)) < 2:
        return  # one colony is the line of all colonies; results of before have no improvements
    begins = np.flatnonzero(np.diff(colony)) + 1
    label: str | None = "best so far of a colony"
    for steps, costs in zip(np.split(iteration, begins), np.split(cost, begins)):
        axes.step([*steps, last], [*costs, costs[-1]], where="post", color=canvas.SKY, linewidth=0.8, alpha=0.6,
                  label=label)
        label = None  # one entry in the legend


def _optimum(result: Result) -> float | None:
    value = result.contents.keys.get("optimum")
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
    colonies, costs = (canvas.column(result, "colonies", name, "plot_colonies") for name in ("colony", "cost"))
    own = result.contents.in_own_unit(costs)
    axes = canvas.axes_for(axes)
    axes.plot(colonies, own, "o", color=canvas.BLUE, markersize=5, label="best tour of a colony")
    axes.axhline(own.mean(), color=canvas.GREY, linestyle="--", linewidth=1, label=f"mean, {canvas.number(own.mean())}")
    if (optimum := _optimum(result)) is not None:
        axes.axhline(optimum, color=canvas.GREEN, linewidth=1, label=f"optimum, {canvas.number(optimum)}")
    if len(colonies) <= NAMED_COLONIES:
        axes.set_xticks(colonies)
    axes.set(xlabel="colony", ylabel="cost (the instance's own unit)")
    axes.legend(fontsize="small", framealpha=0.6)
    spread = f"{canvas.number(own.min())} to {canvas.number(own.max())}"
    canvas.set_title(axes, result, f"{counted(len(own), 'colony')}, {spread}")
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
    states = canvas.column(result, "layers", "states", "plot_layers")
    seconds = result.contents.value("layers", "seconds")
    if not len(states):
        raise InputError("plot_layers: there are no layers, since reductions and bounds were enough for this tree; "
                         "draw it with plot_tree")
    named = next((name for name in SIZES if name in result.contents.groups["layers"]), "")
    sizes = canvas.column(result, "layers", named, "plot_layers") if named else np.arange(len(states))
    axes, title = canvas.axes_for(axes), f"{canvas.number(int(states.sum()))} states"
    axes.bar(sizes, states, color=canvas.BLUE, label="states")
    axes.set(xlabel=SIZES.get(named, "layer"), ylabel="states" if seconds is None else "states (bars)")
    axes.set_xticks(sizes if len(sizes) <= 16 else sizes[::4])
    if seconds is not None:
        right = axes.twinx()
        right.plot(sizes, seconds, "o-", color=canvas.VERMILION, linewidth=1, markersize=4, label="seconds")
        right.set_ylabel("kernel seconds (dots)")
        right.set_ylim(bottom=0)
        title += f", {float(np.sum(seconds)):.3g} s in kernels"
    canvas.set_title(axes, result, title)
    return axes


Seconds = NDArray[np.float64]


def seconds_by_phase(result: Result) -> dict[str, Seconds]:
    """Return the seconds of each phase, arrays of shape (ranks,), which add up to the time of each rank.

    Raises
    ------
    InputError
        The result has no `/ranks`.
    """
    table = result.table("ranks")
    none = np.zeros(len(table["seconds_run"]))  # old files have no seconds_check
    found = {name: np.asarray(table.get(f"seconds_{name}", none), float) for name in PHASES if name != OTHER}
    inside = found["kernel"] + found["copy"] + found["wait"]
    found[OTHER] = np.maximum(np.asarray(table["seconds_run"], float) - inside, 0)
    return {name: found[name] for name in PHASES}


def diagnosis(result: Result) -> str:
    """Return one line that says where the time went: `82 % of the time is in kernels`.

    Percentages are of the time summed over all ranks.
    """
    phases = seconds_by_phase(result)
    total = sum(float(seconds.sum()) for seconds in phases.values())
    if total <= 0:
        return "no time was measured"
    largest = max(phases, key=lambda name: float(phases[name].sum()))
    part = float(phases[largest].sum()) / total
    text = f"{100 * part:.0f} % of the time is {PHASES[largest] if largest != 'kernel' else 'in kernels'}"
    if largest == "build":
        text += "; a later run finds them in the cache"
    return "; ".join([text, *_waiting(phases)])


def _waiting(phases: dict[str, Seconds]) -> list[str]:
    """Return one text about the ranks that wait long for others, or none."""
    run = phases["kernel"] + phases["copy"] + phases["wait"] + phases[OTHER]
    part = np.divide(phases["wait"], run, out=np.zeros_like(run), where=run > 0)
    worst = int(np.argmax(part))
    if len(part) < 2 or part[worst] < MUCH_WAITING:
        return []
    many = int((part >= MUCH_WAITING).sum())
    others = f", and {many - 1} more {'ranks wait' if many > 2 else 'rank waits'} long" if many > 1 else ""
    return [f"rank {worst} waits {100 * part[worst]:.0f} % of the algorithm's time for other ranks{others}"]


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
    phases, axes = seconds_by_phase(result), canvas.axes_for(axes)
    ranks = len(phases["read"])
    half = 0.4 if ranks <= NAMED_RANKS else 0.5
    edges = np.stack([np.arange(ranks) - half, np.arange(ranks) + half], axis=1).reshape(-1)
    below = np.zeros(ranks)
    for name, seconds in phases.items():
        if not seconds.any():
            continue
        # Between the bars, base and height are equal (0): one area per phase serves thousands of ranks.
        bottom, top = (np.stack([values, np.zeros(ranks)], axis=1).reshape(-1)[:-1]
                       for values in (below, below + seconds))
        axes.stairs(top, edges, baseline=bottom, fill=True, color=COLORS[name], label=PHASES[name])
        below = below + seconds
    if ranks <= NAMED_RANKS:
        axes.set_xticks(range(ranks))
    axes.set(xlabel="rank", ylabel="seconds")
    axes.set_ylim(0, None)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    canvas.set_title(axes, result, f"time of {counted(ranks, 'rank')}")
    return axes

"""Charts of the Steiner benchmark, written as SVG files. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.benchmarks.common.charts import file_part, save
from jobs.benchmarks.steiner.instances import Instance
from jobs.benchmarks.steiner.runs import Timing


def draw_solvers(instance: Instance, rows: list[Timing], folder: Path) -> None:
    """Draw the gap to the optimum, or else to the best lower bound, against time: a point for each solver."""
    lower = instance.optimum or max(row.bound or 0 for row in rows)
    figure, axes = _figure()
    for row in rows:
        if row.seconds and row.weight:
            own = row.whole is not None
            gap = 100 * (row.weight / lower - 1)
            axes.semilogx(row.seconds, gap, "o" if own else "s", color="tab:blue" if own else "tab:orange")
            axes.annotate(row.solver, (row.seconds, gap), (4, 3), textcoords="offset points", fontsize=7)
    reference = "the optimum" if instance.optimum else "the lower bound"
    axes.set(xlabel="CPU seconds for a tree", ylabel=f"gap to {reference}, %", title=instance.name)
    _finish(figure, axes, folder / f"steiner-solvers-{file_part(instance.name)}.svg")


def draw_at_once(instance: Instance, rows: dict[int, Timing], folder: Path) -> None:
    """Draw seconds against the number of searches at once."""
    figure, axes = _figure()
    axes.loglog(list(rows), [row.seconds or 0 for row in rows.values()], "o-", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="searches at once", ylabel="seconds", title=f"{instance.name}: p-SSSP")
    _finish(figure, axes, folder / f"steiner-at-once-{file_part(instance.name)}.svg")


def draw_terminals(instance: Instance, rows: dict[int, list[Timing]], folder: Path) -> None:
    """Draw seconds against the number of terminals, a curve for each solver."""
    figure, axes = _figure()
    for number, first in enumerate(next(iter(rows.values()))):
        points = [(count, timings[number].seconds) for count, timings in rows.items() if timings[number].seconds]
        axes.loglog(*zip(*points), "o-", label=first.solver, markersize=4)
    axes.set(xlabel="terminals", ylabel="seconds for a tree", title=instance.name)
    axes.legend(fontsize=8)
    _finish(figure, axes, folder / f"steiner-terminals-{file_part(instance.name)}.svg")


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    return figure, figure.add_subplot()


def _finish(figure: Figure, axes: Axes, path: Path) -> None:
    axes.grid(True, alpha=0.3)
    save(figure, path)

"""Charts of the Steiner benchmark, written as SVG files. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.benchmarks.common.charts import file_part, number_ticks, plain_decades, save
from jobs.benchmarks.steiner.instances import Instance
from jobs.benchmarks.steiner.runs import Timing
from jobs.benchmarks.steiner.variants import STUDY, Sweep


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


def draw_engines(instance: Instance, rows: list[Timing], folder: Path) -> None:
    """Draw a bar for each engine: its time divided by that of dijkstra. Those of the study have another colour."""
    figure, axes = _figure()
    base = next(row.seconds for row in rows if row.solver == "dijkstra") or 1
    ordered = sorted(rows, key=lambda row: row.seconds or 0)
    ratios = [(row.seconds or 0) / base for row in ordered]
    names = [f"{row.solver} ({STUDY[row.solver]})" if row.solver in STUDY else row.solver for row in ordered]
    bars = axes.barh(names, ratios, color=["tab:orange" if row.solver in STUDY else "tab:blue" for row in ordered])
    axes.bar_label(bars, [f"{ratio:.2g}" for ratio in ratios], padding=3)
    axes.margins(x=0.1)
    axes.set(xlabel="time / dijkstra's (orange: the study's variants, with their names there)",
             title=f"{instance.name}, {len(instance.terminals)} terminals: mode kmb by every engine")
    _finish(figure, axes, folder / f"steiner-engines-{file_part(instance.name)}.svg")


def draw_sweeps(instance: Instance, rows: list[Sweep], folder: Path) -> None:
    """Draw time and rounds of k-pull against k, both divided by those of k = 1."""
    figure, axes = _figure()
    ks = [row.sweeps for row in rows]
    axes.plot(ks, [row.seconds / rows[0].seconds for row in rows], "o-", label="time")
    axes.plot(ks, [row.rounds / rows[0].rounds for row in rows], "s--", label="dependent rounds")
    number_ticks(axes.xaxis, ks)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="k: sweeps between two checks", ylabel="divided by that of k = 1",
             title=f"{instance.name}, {len(instance.terminals)} terminals: k-pull")
    axes.legend(fontsize=8)
    _finish(figure, axes, folder / f"steiner-sweeps-{file_part(instance.name)}.svg")


def draw_at_once(instance: Instance, rows: dict[int, Timing], folder: Path) -> None:
    """Draw seconds against the number of searches at once."""
    figure, axes = _figure()
    axes.semilogx(list(rows), [row.seconds or 0 for row in rows.values()], "o-", base=2)
    number_ticks(axes.xaxis, list(rows))
    axes.set_ylim(bottom=0)
    axes.set(xlabel="p: searches at once", ylabel="seconds for a tree",
             title=f"{instance.name}, {len(instance.terminals)} terminals: p-SSSP")
    _finish(figure, axes, folder / f"steiner-at-once-{file_part(instance.name)}.svg")


def draw_terminals(instance: Instance, rows: dict[int, list[Timing]], folder: Path) -> None:
    """Draw seconds against the number of terminals, a curve for each solver."""
    figure, axes = _figure()
    for number, first in enumerate(next(iter(rows.values()))):
        points = [(count, timings[number].seconds) for count, timings in rows.items() if timings[number].seconds]
        axes.loglog(*zip(*points), "o-", label=first.solver, markersize=4)
    number_ticks(axes.xaxis, list(rows))
    plain_decades(axes.yaxis)
    axes.set(xlabel="terminals", ylabel="seconds for a tree", title=f"{instance.name}: more and more terminals")
    axes.legend(fontsize=8)
    _finish(figure, axes, folder / f"steiner-terminals-{file_part(instance.name)}.svg")


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    return figure, figure.add_subplot()


def _finish(figure: Figure, axes: Axes, path: Path) -> None:
    axes.set_axisbelow(True)
    axes.grid(True, alpha=0.3)
    save(figure, path)

"""What the Steiner benchmark found, as pictures: SVG files in a folder. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.benchmarks.steiner_instances import Instance
from jobs.benchmarks.steiner_runs import Timing


def draw_solvers(where: Instance, rows: list[Timing], folder: Path) -> None:
    """Quality against time: each solver a point, hpcsolve's in blue; above the optimum, or above the best bound."""
    least = where.optimum or max(row.bound or 0 for row in rows)
    figure, axes = _figure()
    for row in rows:
        if row.seconds and row.weight:
            own = row.whole is not None
            above = 100 * (row.weight / least - 1)
            axes.semilogx(row.seconds, above, "o" if own else "s", color="tab:blue" if own else "tab:orange")
            axes.annotate(row.solver, (row.seconds, above), (4, 3), textcoords="offset points", fontsize=7)
    what = "the optimum" if where.optimum else "the lower bound"
    axes.set(xlabel="CPU seconds up to the tree", ylabel=f"above {what}, %", title=where.name)
    _save(figure, axes, folder / f"steiner-solvers-{_file(where)}.svg")


def draw_at_once(where: Instance, rows: dict[int, Timing], folder: Path) -> None:
    """Seconds against the searches at once."""
    figure, axes = _figure()
    axes.loglog(list(rows), [row.seconds or 0 for row in rows.values()], "o-", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="searches at once", ylabel="seconds", title=f"{where.name}: p-SSSP")
    _save(figure, axes, folder / f"steiner-at-once-{_file(where)}.svg")


def draw_terminals(where: Instance, rows: dict[int, list[Timing]], folder: Path) -> None:
    """Seconds against the number of terminals, a curve a solver."""
    figure, axes = _figure()
    for number, first in enumerate(next(iter(rows.values()))):
        points = [(count, timings[number].seconds) for count, timings in rows.items() if timings[number].seconds]
        axes.loglog(*zip(*points), "o-", label=first.solver, markersize=4)
    axes.set(xlabel="terminals", ylabel="seconds up to the tree", title=where.name)
    axes.legend(fontsize=8)
    _save(figure, axes, folder / f"steiner-terminals-{_file(where)}.svg")


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    return figure, figure.add_subplot()


def _file(where: Instance) -> str:
    return where.name.replace(":", "-")


def _save(figure: Figure, axes: Axes, path: Path) -> None:
    rcParams["svg.hashsalt"] = "hpcsolve"
    axes.grid(True, alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})

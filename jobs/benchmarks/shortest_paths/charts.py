"""What the shortest-paths benchmark found, as pictures: SVG files in a folder. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

from jobs.benchmarks.shortest_paths_pairs import DIJKSTRA, Point
from jobs.benchmarks.shortest_paths_single import IN_ORDER, Row
from jobs.benchmarks.shortest_paths_widths import ENGINES, Sweep, Width


def draw_single(rows: list[Row], folder: Path) -> None:
    """Time of each solver relative to scipy's in our order, a group of bars a graph."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot()
    solvers = list(rows[0].seconds)
    for number, solver in enumerate(solvers):
        places = np.arange(len(rows)) + 0.8 * (number / len(solvers) - 0.5)
        shares = [row.seconds[solver] / row.seconds[IN_ORDER] for row in rows]
        axes.bar(places, shares, 0.75 / len(solvers), label=solver, align="edge")
    axes.set_xticks(range(len(rows)), [row.name for row in rows])
    axes.axhline(1, color="black", linewidth=0.5)
    axes.set(ylabel="CPU time, of scipy's", title="Shortest paths from one source, one core")
    axes.legend(fontsize=8)
    _save(figure, folder / "shortest-paths-single.svg")


def draw_widths(name: str, rows: list[Width], folder: Path) -> None:
    """Work and steps against delta, both engines; what adapts is left out, it has no one width."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    for number, (what, title) in enumerate({"work": "arcs, of Dijkstra's", "steps": "dependent steps"}.items()):
        axes = figure.add_subplot(1, 2, number + 1)
        for engine in ENGINES:
            mine = [row for row in rows if row.engine == engine and "adaptive" not in row.name]
            points = [(row.delta, getattr(row, what)) for row in mine]
            axes.loglog(*zip(*points), "o--" if engine == ENGINES[1] else "o-", label=engine, markersize=4)
        axes.set(xlabel="delta", title=f"{name}: {title}")
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=8)
    _save(figure, folder / f"shortest-paths-widths-{_file(name)}.svg")


def draw_sweep(name: str, found: Sweep, folder: Path) -> None:
    """Milliseconds by delta and batch."""
    deltas, batches = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    times = np.array([[1e3 * found[delta, batch][0] for batch in batches] for delta in deltas])
    figure = Figure(figsize=(6.5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(times, aspect="auto", cmap="YlOrRd")
    for (row, column), time in np.ndenumerate(times):
        axes.text(column, row, f"{time:.1f}", ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(batches)), [str(batch or "more and more") for batch in batches])
    axes.set_yticks(range(len(deltas)), map(str, deltas))
    axes.set(xlabel="launches between two looks", ylabel="delta", title=f"{name}, near-far-grid: CPU milliseconds")
    _save(figure, folder / f"shortest-paths-sweep-{_file(name)}.svg")


def draw_pairs(name: str, points: list[Point], folder: Path) -> None:
    """Efficiency and microseconds against Dijkstra rank."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    efficiency, time = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    for solver in dict.fromkeys(point.solver for point in points):
        mine = [point for point in points if point.solver == solver]
        ranks = [1 << point.rank for point in mine]
        time.loglog(ranks, [1e6 * point.seconds for point in mine], "o-", base=2, label=solver, markersize=4)
        if solver != DIJKSTRA:
            efficiency.semilogx(ranks, [point.efficiency for point in mine], "o-", base=2, label=solver, markersize=4)
    time.set_yscale("log")
    time.set(xlabel="Dijkstra rank of the target", title=f"{name}: CPU microseconds a query")
    efficiency.set(xlabel="Dijkstra rank of the target", ylim=(0, 1.05), title="Dijkstra's arcs over Near-Far's")
    for axes in (efficiency, time):
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=8)
    _save(figure, folder / f"shortest-paths-pairs-{_file(name)}.svg")


def _file(name: str) -> str:
    return name.replace(":", "-")


def _save(figure: Figure, path: Path) -> None:
    rcParams["svg.hashsalt"] = "hpcsolve"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})

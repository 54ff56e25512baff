"""Charts of the shortest-paths benchmark, written as SVG files. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from jobs.benchmarks.common.charts import file_part, save
from jobs.benchmarks.shortest_paths.many import CHECKED, PREPARED, SCIPY, Times
from jobs.benchmarks.shortest_paths.queries import DIJKSTRA, Point
from jobs.benchmarks.shortest_paths.single import SCIPY_LAYOUT, Row
from jobs.benchmarks.shortest_paths.widths import ENGINES, Sweep, Width


def draw_single(rows: list[Row], folder: Path) -> None:
    """Draw each solver's time divided by scipy's (in the order of the layout), a group of bars for each graph."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot()
    solvers = list(rows[0].seconds)
    for number, solver in enumerate(solvers):
        positions = np.arange(len(rows)) + 0.8 * (number / len(solvers) - 0.5)
        shares = [row.seconds[solver] / row.seconds[SCIPY_LAYOUT] for row in rows]
        axes.bar(positions, shares, 0.75 / len(solvers), label=solver, align="edge")
    axes.set_xticks(range(len(rows)), [row.name for row in rows])
    axes.axhline(1, color="black", linewidth=0.5)
    axes.set(ylabel="CPU time / scipy's", title="Shortest paths from one source, one core")
    axes.legend(fontsize=8)
    save(figure, folder / "shortest-paths-single.svg")


def draw_widths(name: str, rows: list[Width], folder: Path) -> None:
    """Draw work and rounds against delta for both engines, without the adaptive searches."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    for number, (what, title) in enumerate({"work": "arcs scanned / Dijkstra's", "rounds": "dependent rounds"}.items()):
        axes = figure.add_subplot(1, 2, number + 1)
        for engine in ENGINES:
            mine = [row for row in rows if row.engine == engine and "adaptive" not in row.name]
            points = [(row.delta, getattr(row, what)) for row in mine]
            axes.loglog(*zip(*points), "o--" if engine == ENGINES[1] else "o-", label=engine, markersize=4)
        axes.set(xlabel="delta", title=f"{name}: {title}")
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=8)
    save(figure, folder / f"shortest-paths-widths-{file_part(name)}.svg")


def draw_tables(name: str, times: Times, folder: Path) -> None:
    """Draw the CPU milliseconds a source, preparation included, against the number of sources."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    counts, one = np.array(list(times.swept)), times.single
    checked = np.array([each["rows, check"] for each in times.swept.values()])
    lines = {SCIPY: one[SCIPY] + 0 * counts, CHECKED: one[CHECKED] + 0 * counts,
             "phast, check": one[PREPARED] / counts + checked, "phast, check, without preparation": checked}
    lines |= {program: prepared / counts + row for program, (prepared, row) in times.rivals.items()}
    for label, seconds in lines.items():
        axes.loglog(counts, 1e3 * seconds, "o-", label=label, markersize=4)
    axes.set(xlabel="sources", ylabel="CPU milliseconds a source", title=f"{name}: rows of distances, one core")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, folder / f"shortest-paths-tables-{file_part(name)}.svg")


def draw_sweep(name: str, found: Sweep, folder: Path) -> None:
    """Draw milliseconds by delta and batch as a map of colours."""
    deltas, batches = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    times = np.array([[1e3 * found[delta, batch][0] for batch in batches] for delta in deltas])
    figure = Figure(figsize=(6.5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(times, aspect="auto", cmap="YlOrRd")
    for (row, column), time in np.ndenumerate(times):
        axes.text(column, row, f"{time:.1f}", ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(batches)), [str(batch or "growing") for batch in batches])
    axes.set_yticks(range(len(deltas)), map(str, deltas))
    axes.set(xlabel="launches until the host reads back", ylabel="delta",
             title=f"{name}, near-far-grid: CPU milliseconds")
    save(figure, folder / f"shortest-paths-sweep-{file_part(name)}.svg")


def draw_queries(name: str, points: list[Point], folder: Path) -> None:
    """Draw efficiency and microseconds against Dijkstra rank."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    efficiency, time = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    for number, solver in enumerate(dict.fromkeys(point.solver for point in points)):
        mine = [point for point in points if point.solver == solver]
        ranks, style = [1 << point.rank for point in mine], {"color": f"C{number}", "label": solver, "markersize": 4}
        time.loglog(ranks, [1e6 * point.seconds for point in mine], "o-", base=2, **style)
        if solver != DIJKSTRA:
            efficiency.semilogx(ranks, [point.efficiency for point in mine], "o-", base=2, **style)
    time.set_yscale("log")
    time.set(xlabel="Dijkstra rank of the target", title=f"{name}: CPU microseconds for a query")
    efficiency.set(xlabel="Dijkstra rank of the target", ylim=(0, 1.05), title="Dijkstra's arcs / Near-Far's")
    for axes in (efficiency, time):
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=8)
    save(figure, folder / f"shortest-paths-queries-{file_part(name)}.svg")

"""What the ant colonies' benchmark found, as pictures: SVG files in a folder. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.benchmarks import ant_published, ant_speed, ant_tours


def draw_speed(rows: list[ant_speed.Row], cities: dict[str, int], folder: Path) -> None:
    """Milliseconds an iteration against the number of cities (as the study's Figure C1, which has ratios)."""
    curves: dict[str, dict[str, float]] = {"Zhou et al., i7-4770": ant_published.CPU,
                                           "Zhou et al., GTX 780": ant_published.GPU}  # fmt: skip
    for row in rows:
        for name, timing in row.strategies.items():
            curves.setdefault(f"hpcsolve, {name}", {})[row.instance] = timing.milliseconds
        for name, timing in row.rules.items():
            curves.setdefault(f"doubles, {name}", {})[row.instance] = timing.milliseconds
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.add_subplot()
    for name, times in curves.items():
        points = sorted((cities[instance], time) for instance, time in times.items() if instance in cities)
        if points:
            axes.loglog(*zip(*points), "o--" if "Zhou" in name else "o-", label=name, markersize=4, linewidth=1.2)
    sizes = sorted(cities.values())
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="cities", ylabel="milliseconds", title="Ant System: an iteration, one core (but the GTX 780)")
    _save(figure, axes, folder / "ant-speed.svg")


def draw_tours(found: ant_tours.Found, folder: Path) -> None:
    """The gap against CPU seconds, a picture an instance: hpcsolve's seeds and their median, the rivals' points."""
    for instance in found.instances:
        figure = Figure(figsize=(7.5, 5), layout="constrained")
        axes = figure.add_subplot()
        runs = found.ours[instance.name]
        times = np.geomspace(0.05, max(found.budgets), 200)
        gaps = np.array([[instance.gap(run.best_after(time)) for time in times] for run in runs])
        axes.semilogx(times, gaps.T, color="tab:blue", linewidth=0.5, alpha=0.5)
        axes.semilogx(times, np.median(gaps, axis=0), color="tab:blue", label=f"{ant_tours.OURS}, median")
        for solver in dict.fromkeys(attempt.solver for attempt in found.rivals):
            points = [(attempt.cpu, attempt.gap) for attempt in found.rivals
                      if (attempt.instance, attempt.solver) == (instance.name, solver)]  # fmt: skip
            if points:
                axes.semilogx(*zip(*points), "o-", label=solver)
        finite = gaps[np.isfinite(gaps)]
        axes.set(xlabel="CPU seconds", ylabel="above the optimum, %", title=instance.name,
                 ylim=(-0.05, min(5.0, 1.05 * float(finite.max(initial=0.1)))))  # fmt: skip
        _save(figure, axes, folder / f"ant-tours-{instance.name}.svg")


def _save(figure: Figure, axes: Axes, path: Path) -> None:
    rcParams["svg.hashsalt"] = "hpcsolve"
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})

"""Charts of the ant colonies' benchmark, written as SVG files. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.benchmarks.ants import published, speed, tours
from jobs.benchmarks.common.charts import number_ticks, plain_decades, save


def draw_speed(rows: list[speed.Row], cities: dict[str, int], folder: Path) -> None:
    """Draw milliseconds an iteration against the number of cities (the study's Figure C1 has the ratios)."""
    others = tuple(published.OTHER_GPUS)
    curves = {name: times for name, times in speed.published_times(rows).items() if name not in others}
    for row in rows:
        for name, timing in row.strategies.items():
            curves.setdefault(f"hpcsolve, {name}", {})[row.instance] = timing.milliseconds
        for name, timing in row.rules.items():
            curves.setdefault(f"double precision, {name}", {})[row.instance] = timing.milliseconds
    title = "Ant System: one iteration on one core, or on a GTX 780"
    _finish(*_curves(curves, cities, "milliseconds", title), folder / "ant-speed.svg")


def draw_speed_ups(rows: list[speed.Row], cities: dict[str, int], folder: Path) -> None:
    """Draw by how many times the study's GPU beats its CPU program, and hpcsolve the plain program in doubles here."""
    times = speed.published_times(rows)
    first = next(iter(rows[0].strategies))
    cpu, gpu = times["Zhou et al., i7-4770"], times["Zhou et al., GTX 780"]
    here = {row.instance: row.rules["candidates"].milliseconds / row.strategies[first].milliseconds
            for row in rows if "candidates" in row.rules}
    curves = {"Zhou et al., GTX 780 over i7-4770": {name: cpu[name] / gpu[name] for name in cpu.keys() & gpu.keys()},
              f"hpcsolve, {first}, over double precision with a full candidate list": here}
    title = "Ant System: speed-ups (Figure C1)"
    _finish(*_curves(curves, cities, "times as fast", title), folder / "ant-speed-ups.svg")


def draw_ratios(rows: list[speed.Row], base: str, cities: dict[str, int], title: str, path: Path) -> None:
    """Draw each strategy's time divided by that of `base`, against the number of cities."""
    curves: dict[str, dict[str, float]] = {}
    for row in rows:
        for name, timing in row.strategies.items():
            ratio = timing.milliseconds / row.strategies[base].milliseconds
            curves.setdefault(name, {})[row.instance] = ratio
    figure, axes = _curves(curves, cities, f"time / that of {base}", title)
    axes.set_yscale("linear")
    axes.set_ylim(bottom=0)
    _finish(figure, axes, path)


def _curves(
    curves: dict[str, dict[str, float]], cities: dict[str, int], what: str, title: str
) -> tuple[Figure, Axes]:
    """Draw curves by name, each a number by instance, against the number of cities on logarithmic axes."""
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.add_subplot()
    for name, numbers in curves.items():
        points = sorted((cities[instance], number) for instance, number in numbers.items())
        if points:
            axes.loglog(*zip(*points), "o--" if "Zhou" in name else "o-", label=name, markersize=4, linewidth=1.2)
    number_ticks(axes.xaxis, sorted(set(cities.values())))
    if axes.lines:
        plain_decades(axes.yaxis)
    axes.set(xlabel="cities", ylabel=what, title=title)
    return figure, axes


def draw_tours(found: tours.Found, folder: Path) -> None:
    """Draw the gap against CPU seconds, one chart an instance: hpcsolve's seeds and median, and the rivals' runs."""
    for instance in found.instances:
        figure = Figure(figsize=(7.5, 5), layout="constrained")
        axes = figure.add_subplot()
        runs = found.ours[instance.name]
        times = np.geomspace(0.05, max(found.marks), 200)
        gaps = np.array([[instance.gap(run.best_after(time)) for time in times] for run in runs])
        axes.semilogx(times, gaps.T, color="tab:blue", linewidth=0.5, alpha=0.5)
        axes.semilogx(times, np.median(gaps, axis=0), color="tab:blue", label=f"{tours.OURS}, median")
        for solver in dict.fromkeys(run.solver for run in found.rivals):
            points = [(run.cpu, run.gap) for run in found.rivals
                      if (run.instance, run.solver) == (instance.name, solver)]
            if points:
                axes.semilogx(*zip(*points), "o-", label=solver)
        finite = gaps[np.isfinite(gaps)]
        axes.set(xlabel="CPU seconds", ylabel="gap to the optimum, %", title=instance.name,
                 ylim=(-0.05, min(5.0, 1.05 * float(finite.max(initial=0.1)))))
        _finish(figure, axes, folder / f"ant-tours-{instance.name}.svg")


def _finish(figure: Figure, axes: Axes, path: Path) -> None:
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, path)

"""Tours after many iterations: hpcsolve's strategies, the reference in double precision, the study's Table C6."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.base import Limits
from hpcsolve.problems.tsp import Tsp
from jobs.benchmarks import ant_published
from jobs.benchmarks.ant_reference import DoubleColony, compiled
from jobs.benchmarks.ant_runs import Instance, Run, build, search, series
from jobs.benchmarks.report import markdown

REFERENCE = "double precision"


CHANGES: dict[str, dict[str, Any]] = {"step": {"launch": "step"}, "no-list": {"tour_list": False},
                                      "untiled": {"tiled": False}}  # fmt: skip
"""What may follow a strategy's name; a number is that of threads in a block."""


def parameters_of(solver: str) -> Parameters:
    """The study's settings with one of hpcsolve's strategies: `head-tail`, `st-group`, `st-group:step:256`."""
    strategy, *options = solver.split(":")
    changes: dict[str, Any] = {}
    for option in options:
        changes |= {"block_threads": int(option)} if option.isdigit() else CHANGES[option]
    return Parameters(variant="ant-system", strategy=strategy, **changes)


@dataclass(frozen=True)
class Series:
    """What is run: every solver on every instance with every seed, so many iterations each."""

    instances: list[Instance]
    solvers: list[str]
    seeds: int
    iterations: int

    def wanted(self) -> list[Run]:
        """The runs, solvers side by side."""
        seeds = range(1, self.seeds + 1)
        return [Run(instance.name, solver, self.iterations, seed, 0, 0.0)
                for instance in self.instances for seed in seeds for solver in self.solvers]  # fmt: skip


def quality(asked: Series, kept: str | None) -> list[str]:
    """Markdown: the runs' statistics, and each two solvers compared."""
    perform = _performer(asked)
    runs = series(kept, asked.wanted(), perform)
    return [*_statistics(asked, runs), "", *_comparisons(asked, runs)]


def _performer(asked: Series) -> Callable[[Run], Run]:
    """What makes a run; all that must be compiled is."""
    tsps = {instance.name: instance.tsp for instance in asked.instances}
    library = compiled() if REFERENCE in asked.solvers else None
    for solver in set(asked.solvers) - {REFERENCE}:
        build(asked.instances[0].tsp, parameters_of(solver))

    def perform(run: Run) -> Run:
        begin = time.process_time()
        cost = _cost(run, tsps[run.instance], library)
        done = replace(run, cost=cost, cpu=time.process_time() - begin)
        print(f"{done.instance}, {done.solver}, seed {done.seed}: {cost}, {done.cpu:.1f} s", file=sys.stderr)
        return done

    return perform


def _cost(run: Run, tsp: Tsp, library: ctypes.CDLL | None) -> int:
    if run.solver != REFERENCE:
        return search(tsp, parameters_of(run.solver), Limits(seed=run.seed, iterations=run.iterations)).cost
    assert library is not None
    with DoubleColony(library, tsp, run.seed) as colony:
        return int(colony.iterate("head-tail", run.iterations)[-1])


def _statistics(asked: Series, runs: list[Run]) -> list[str]:
    names = ["instance", "solver", "runs", "mean", "least", "greatest", "standard deviation", "above the optimum",
             "against Table C6", f"CPU s a run of {asked.iterations}"]  # fmt: skip
    lines = []
    for instance in asked.instances:
        name, gap = instance.name, instance.gap
        study = ant_published.QUALITY.get(name) if asked.iterations == ant_published.ITERATIONS else None
        if study:
            lines.append([name, "Table C6, CPU", "10", *map(str, study), "", f"{gap(study[0]):.1f} %", "", ""])
        for solver in asked.solvers:
            costs = _costs(runs, name, solver)
            against = f"{100 * (costs.mean() / study[0] - 1):+.2f} %" if study else ""
            cpu = np.mean([run.cpu for run in runs if (run.instance, run.solver) == (name, solver)])
            spread = f"{_deviation(costs):.0f}" if len(costs) > 1 else ""
            lines.append([name, solver, str(len(costs)), f"{costs.mean():.0f}", str(costs.min()), str(costs.max()),
                          spread, f"{gap(costs.mean()):.1f} %", against, f"{cpu:.1f}"])  # fmt: skip
    return markdown(names, lines)


def _comparisons(asked: Series, runs: list[Run]) -> list[str]:
    """Difference of means, its standard error, ratio of deviations, and the test of Mann and Whitney."""
    if len(asked.solvers) < 2 or asked.seeds < 3:
        return []
    names = ["instance", "compared", "difference of means", "its standard error", "ratio of standard deviations",
             "Mann-Whitney p"]  # fmt: skip
    lines = []
    for instance in asked.instances:
        for first, second in combinations(asked.solvers, 2):
            a, b = _costs(runs, instance.name, first), _costs(runs, instance.name, second)
            difference = 100 * (a.mean() / b.mean() - 1)
            error = 100 * np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)) / b.mean()
            lines.append([instance.name, f"{first} : {second}", f"{difference:+.2f} %", f"{error:.2f} %",
                          f"{_deviation(a) / (_deviation(b) or np.nan):.2f}",
                          f"{mannwhitneyu(a, b).pvalue:.3f}"])  # fmt: skip
    return markdown(names, lines)


def _costs(runs: list[Run], name: str, solver: str) -> NDArray[np.int64]:
    return np.array([run.cost for run in runs if (run.instance, run.solver) == (name, solver)])


def _deviation(costs: NDArray[np.int64]) -> float:
    return float(costs.std(ddof=1))

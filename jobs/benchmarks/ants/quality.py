"""Length of tours after many iterations: hpcsolve's strategies, double precision, and the study's Table C6."""

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

from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.errors import InputError
from hpcsolve.problems.tsp import Tsp
from jobs.benchmarks.ants import published
from jobs.benchmarks.ants.instances import Instance
from jobs.benchmarks.ants.reference import DoubleColony, load_reference
from jobs.benchmarks.ants.runs import compile_kernels, search
from jobs.benchmarks.ants.series import Run, complete
from jobs.benchmarks.common.table import markdown

REFERENCE = "double precision"
OPTIONS: dict[str, dict[str, Any]] = {"step": {"launch": "step"}, "no-list": {"tour_list": False},
                                      "untiled": {"tiled": False}}
"""Parameters that an option after a strategy's name changes; a number sets the threads of a block."""


def parameters_of(solver: str) -> Parameters:
    """Return the study's settings with a strategy of hpcsolve, such as `head-tail` or `st-group:step:256`.

    Raises
    ------
    InputError
        If an option is unknown.
    """
    strategy, *options = solver.split(":")
    changes: dict[str, Any] = {}
    for option in options:
        if not option.isdigit() and option not in OPTIONS:
            raise InputError(f"{solver}: there is no option {option}; take {', '.join(OPTIONS)} or a number of threads")
        changes |= {"block_threads": int(option)} if option.isdigit() else OPTIONS[option]
    return Parameters(variant="ant-system", strategy=strategy, **changes)


@dataclass(frozen=True)
class Series:
    """The runs to be made: every solver on every instance, with seeds 1 to `seeds` and so many iterations each."""

    instances: list[Instance]
    solvers: list[str]
    seeds: int
    iterations: int

    def runs(self) -> list[Run]:
        """Return the runs without results, in the order in which they are made."""
        return [Run(instance.name, solver, self.iterations, seed) for instance in self.instances
                for seed in range(1, self.seeds + 1) for solver in self.solvers]


def quality(series: Series, path: str | None) -> list[str]:
    """Make the runs and return their statistics and the comparison of each two solvers, in Markdown.

    Parameters
    ----------
    path
        CSV file that keeps the runs, or None.
    """
    runs = complete(path, series.runs(), _performer(series))
    return [*_statistics(series, runs), "", *_comparisons(series, runs)]


def _performer(series: Series) -> Callable[[Run], Run]:
    """Compile all programs, and return the function that performs a run."""
    tsps = {instance.name: instance.tsp for instance in series.instances}
    library = load_reference() if REFERENCE in series.solvers else None
    for solver in set(series.solvers) - {REFERENCE}:
        compile_kernels(series.instances[0].tsp, parameters_of(solver))

    def perform(run: Run) -> Run:
        begin = time.process_time()
        cost = _cost(run, tsps[run.instance], library)
        done = replace(run, cost=cost, cpu=time.process_time() - begin)
        print(f"{done.instance}, {done.solver}, seed {done.seed}: {cost}, {done.cpu:.1f} s", file=sys.stderr)
        return done

    return perform


def _cost(run: Run, tsp: Tsp, library: ctypes.CDLL | None) -> int:
    """Perform a run and return the length of its best tour."""
    if run.solver != REFERENCE:
        return search(tsp, parameters_of(run.solver), StopCriteria(iterations=run.iterations), run.seed).cost
    assert library is not None
    with DoubleColony(library, tsp, run.seed) as colony:
        return int(colony.iterate("head-tail", run.iterations)[-1])


def _statistics(series: Series, runs: list[Run]) -> list[str]:
    """Return the table of each solver's tour lengths, beside those of Table C6."""
    names = ["instance", "solver", "runs", "mean", "least", "greatest", "standard deviation", "above the optimum",
             "against Table C6", f"CPU s a run of {series.iterations}"]
    lines = []
    for instance in series.instances:
        name, gap = instance.name, instance.gap
        study = published.QUALITY.get(name) if series.iterations == published.ITERATIONS else None
        if study:
            lines.append([name, "Table C6, CPU", "10", *map(str, study), "", f"{gap(study[0]):.1f} %", "", ""])
        for solver in series.solvers:
            costs = _costs(runs, name, solver)
            against = f"{100 * (costs.mean() / study[0] - 1):+.2f} %" if study else ""
            cpu = np.mean([run.cpu for run in runs if (run.instance, run.solver) == (name, solver)])
            spread = f"{_deviation(costs):.0f}" if len(costs) > 1 else ""
            above = f"{gap(costs.mean()):.1f} %" if instance.optimum else ""
            lines.append([name, solver, str(len(costs)), f"{costs.mean():.0f}", str(costs.min()), str(costs.max()),
                          spread, above, against, f"{cpu:.1f}"])
    return markdown(names, lines)


def _comparisons(series: Series, runs: list[Run]) -> list[str]:
    """Return the table of each two solvers: difference of means, ratio of standard deviations, Mann-Whitney test."""
    if len(series.solvers) < 2 or series.seeds < 3:
        return []
    from scipy.stats import mannwhitneyu  # takes a second, which each part of the benchmark would spend

    names = ["instance", "compared", "difference of means", "its standard error", "ratio of standard deviations",
             "Mann-Whitney p"]
    lines = []
    for instance in series.instances:
        for first, second in combinations(series.solvers, 2):
            a, b = _costs(runs, instance.name, first), _costs(runs, instance.name, second)
            difference = 100 * (a.mean() / b.mean() - 1)
            error = 100 * np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)) / b.mean()
            lines.append([instance.name, f"{first} : {second}", f"{difference:+.2f} %", f"{error:.2f} %",
                          f"{_deviation(a) / (_deviation(b) or np.nan):.2f}",
                          f"{mannwhitneyu(a, b).pvalue:.3f}"])
    return markdown(names, lines)


def _costs(runs: list[Run], name: str, solver: str) -> NDArray[np.int64]:
    return np.array([run.cost for run in runs if (run.instance, run.solver) == (name, solver)])


def _deviation(costs: NDArray[np.int64]) -> float:
    return float(costs.std(ddof=1))

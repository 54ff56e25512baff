"""All runs of the solvers on an instance, in an order in which a change of the machine's load meets all of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.benchmarks.edge_assembly.instances import Instance
from jobs.benchmarks.edge_assembly.runs import Ask, Run, Series
from jobs.benchmarks.edge_assembly.solvers import SOLVERS, Solver
from jobs.benchmarks.edge_assembly.tables import Found

LARGE, HUGE = 50_000, 500_000
"""From so many cities on, tours are compared after more seconds, and seeds are at most `LARGE_SEEDS`."""
MARKS, LARGE_MARKS, HUGE_MARKS = (1.0, 3.0, 10.0, 30.0), (10.0, 30.0, 60.0), (30.0, 90.0)
LARGE_SEEDS = 2


def installed(names: Sequence[str]) -> tuple[list[Solver], list[str]]:
    """Return the solvers of these names that are installed, and a line for each one that is not."""
    chosen = [kind() for kind in SOLVERS if kind.name in names]
    return ([solver for solver in chosen if not solver.missing()],
            [f"{solver.name} is left out: {solver.missing()}" for solver in chosen if solver.missing()])


@dataclass
class Measure:
    """What is measured, and where.

    Attributes
    ----------
    seconds
        CPU seconds after which tours are compared; empty: as many as there are cities for.
    patience
        CPU seconds after which LKH and GA-EAX are ended that have not found a known optimum.
    folder
        For files.
    skipped
        A line for each solver that was left out for an instance.
    """

    solvers: list[Solver]
    seconds: tuple[float, ...]
    seeds: int
    patience: float
    series: Series
    folder: Path
    skipped: list[str] = field(default_factory=list)
    _warm: set[str] = field(default_factory=set)

    def runs_on(self, instance: Instance) -> Found:
        """Return all runs on an instance: for each seed those of each solver, for each of its limits."""
        marks = self.seconds or (MARKS if instance.n < LARGE else LARGE_MARKS if instance.n < HUGE else HUGE_MARKS)
        patience = max(self.patience, *marks) if instance.optimum is not None else max(marks)
        refusals = {solver.name: solver.refusal(instance) for solver in self.solvers}
        self.skipped += [f"{name} is left out for {instance.name}: {why}" for name, why in refusals.items() if why]
        takers = [solver for solver in self.solvers if not refusals[solver.name]]
        runs: dict[str, list[Run]] = {solver.name: [] for solver in takers}
        for seed in range(1, (self.seeds if instance.n < LARGE else min(self.seeds, LARGE_SEEDS)) + 1):
            for solver in takers:
                for limit in marks if solver.limited else (patience,):
                    asked = Ask(instance.name, solver.name, seed, limit)
                    run = self.series.find(asked)
                    if run is None:
                        run = self._perform(asked, solver, instance)
                        self.series.add(run)
                    runs[solver.name].append(run)
        return Found(instance, marks, runs, frozenset(solver.name for solver in takers if solver.limited))

    def _perform(self, asked: Ask, solver: Solver, instance: Instance) -> Run:
        """Run a solver. Before hpcsolve's first run on an instance it runs for a second, and before that to compile."""
        if not solver.package:
            for what in (instance.metric, instance.name):
                if what not in self._warm:
                    solver.run(Ask(instance.name, solver.name, 1, 1.0), instance, self.folder)
                self._warm.add(what)
        run = solver.run(asked, instance, self.folder)
        last = f"{run.cost} after {run.curve[-1][0]:.2f} s" if run.curve else "no tour"
        print(f"{asked.instance}, {asked.solver}, seed {asked.seed}, limit {asked.limit:g} s: {last}; "
              f"{run.cpu:.2f} CPU s, {run.peak:.0f} MiB", file=sys.stderr, flush=True)
        return run

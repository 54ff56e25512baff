"""Good tours: gap to the optimum against CPU time, for hpcsolve's MAX-MIN Ant System, LKH and fast-tsp."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.problems.questions import check_tour
from jobs.benchmarks.ants.instances import Instance
from jobs.benchmarks.ants.rivals import Solve, can_solve, has_time_limit, installed
from jobs.benchmarks.ants.runs import Search, compile_kernels, search
from jobs.benchmarks.common.table import markdown

OURS = "hpcsolve, mmas"


@dataclass(frozen=True)
class RivalRun:
    """A rival's run: the CPU seconds that it took, and the gap of its tour in percent."""

    instance: str
    solver: str
    cpu: float
    gap: float


@dataclass(frozen=True)
class Found:
    """All runs.

    Attributes
    ----------
    marks
        CPU seconds at which hpcsolve's runs are compared.
    ours
        By instance, one run of hpcsolve for each seed.
    skipped
        A line for each rival that was left out.
    """

    instances: list[Instance]
    marks: list[float]
    ours: dict[str, list[Search]]
    rivals: list[RivalRun]
    skipped: list[str]


def measure(instances: list[Instance], marks: list[float], seeds: int) -> Found:
    """Run hpcsolve with seeds 1 to `seeds`, each until the optimum is found or the last mark, and then the rivals."""
    rivals, skipped = installed()
    ours: dict[str, list[Search]] = {}
    runs: list[RivalRun] = []
    for instance in instances:
        compile_kernels(instance.tsp, Parameters())
        stop = StopCriteria(seconds=max(marks), target=instance.optimum)
        ours[instance.name] = [_own_run(instance, stop, seed) for seed in range(1, seeds + 1)]
        for name, solve in rivals.items():
            if can_solve(name, instance.tsp):
                runs += _rival_runs(instance, name, solve, marks)
            else:
                skipped.append(f"{name} on {instance.name}: skipped, asymmetric or costs from 2^16")
    return Found(instances, marks, ours, runs, skipped)


def _own_run(instance: Instance, stop: StopCriteria, seed: int) -> Search:
    run = search(instance.tsp, Parameters(), stop, seed)
    _report(instance, f"{OURS}, seed {seed}", run.cpu, instance.gap(run.cost))
    return run


def _rival_runs(instance: Instance, name: str, solve: Solve, marks: list[float]) -> list[RivalRun]:
    """Run a rival once for each mark as its time limit, or once if it has no time limit."""
    done = []
    for seconds in marks if has_time_limit(name) else [max(marks)]:
        begin = time.process_time()
        tour = solve(instance.tsp, seconds)
        cpu = time.process_time() - begin
        done.append(RivalRun(instance.name, name, cpu, instance.gap(check_tour(instance.tsp, tour))))
        _report(instance, name, cpu, done[-1].gap)
    return done


def _report(instance: Instance, solver: str, cpu: float, gap: float) -> None:
    print(f"{instance.name}, {solver}: {gap:.3f} % after {cpu:.1f} s", file=sys.stderr, flush=True)


def tables(found: Found) -> list[str]:
    """Return two tables in Markdown: hpcsolve's median gaps by time, and the rivals' gaps."""
    marks = [f"{seconds:g} s" for seconds in found.marks]
    head = ["instance", "optimum", "seeds", *marks, "by seed, at the end", "optimum found, after s"]
    return [
        f"{OURS}: median gap in percent after so many CPU seconds of one core, set-up included.", "",
        *markdown(head, [_row(instance, found) for instance in found.instances]), "",
        *(f"- {line}" for line in found.skipped), "",
        "Rivals: gap in percent (CPU seconds taken).", "",
        *markdown(["instance", "solver", "runs"], [_rival_row(*key) for key in _grouped(found.rivals).items()]),
    ]


def _row(instance: Instance, found: Found) -> list[str]:
    runs = found.ours[instance.name]
    medians = [float(np.median([instance.gap(run.best_after(mark)) for run in runs])) for mark in found.marks]
    optimal = sorted(run.cpu for run in runs if run.cost <= instance.optimum)
    return [instance.name, str(instance.optimum), str(len(runs)), *(f"{gap:.3f}" for gap in medians),
            ", ".join(f"{instance.gap(run.cost):.3f}" for run in runs),
            ", ".join(f"{seconds:.1f}" for seconds in optimal) or "never"]


def _grouped(runs: list[RivalRun]) -> dict[tuple[str, str], list[RivalRun]]:
    """Return the runs by (instance, solver)."""
    grouped: dict[tuple[str, str], list[RivalRun]] = {}
    for run in runs:
        grouped.setdefault((run.instance, run.solver), []).append(run)
    return grouped


def _rival_row(key: tuple[str, str], runs: list[RivalRun]) -> list[str]:
    return [*key, ", ".join(f"{run.gap:.3f} ({run.cpu:.1f} s)" for run in runs)]

"""Good tours: gaps to the optimum after some CPU seconds; hpcsolve's MAX-MIN Ant System beside LKH and fast-tsp."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.base import Limits
from hpcsolve.problems.tsp import check_tour
from jobs.benchmarks.ant_rivals import Solve, can_solve, installed, takes_a_budget
from jobs.benchmarks.ant_runs import Instance, Search, build, search
from jobs.benchmarks.report import markdown

OURS = "hpcsolve, mmas"


@dataclass(frozen=True)
class Attempt:
    """A rival's run: CPU seconds that it took, and the gap of its tour in percent."""

    instance: str
    solver: str
    cpu: float
    gap: float


@dataclass(frozen=True)
class Found:
    """All runs: hpcsolve's by instance, a seed each, and the rivals'."""

    instances: list[Instance]
    budgets: list[float]
    ours: dict[str, list[Search]]
    rivals: list[Attempt]
    skipped: list[str]


def measure(instances: list[Instance], budgets: list[float], seeds: int) -> Found:
    """Each solver alone, one after the other. hpcsolve's runs end at the optimum, if they find it."""
    rivals, skipped = installed()
    ours: dict[str, list[Search]] = {}
    attempts: list[Attempt] = []
    for instance in instances:
        build(instance.tsp, Parameters())
        limits = [Limits(seed=seed, seconds=max(budgets), target=instance.optimum) for seed in range(1, seeds + 1)]
        ours[instance.name] = [_ours(instance, limit) for limit in limits]
        for name, solve in rivals.items():
            if can_solve(name, instance.tsp):
                attempts += _attempts(instance, name, solve, budgets)
            else:
                skipped.append(f"{name} on {instance.name}: skipped, asymmetric or costs from 2^16")
    return Found(instances, budgets, ours, attempts, skipped)


def _ours(instance: Instance, limits: Limits) -> Search:
    run = search(instance.tsp, Parameters(), limits)
    _tell(instance, f"{OURS}, seed {limits.seed}", run.cpu, instance.gap(run.cost))
    return run


def _attempts(instance: Instance, name: str, solve: Solve, budgets: list[float]) -> list[Attempt]:
    done = []
    for seconds in budgets if takes_a_budget(name) else [max(budgets)]:
        begin = time.process_time()
        tour = solve(instance.tsp, seconds)
        cpu = time.process_time() - begin
        done.append(Attempt(instance.name, name, cpu, instance.gap(check_tour(instance.tsp, tour))))
        _tell(instance, name, cpu, done[-1].gap)
    return done


def _tell(instance: Instance, solver: str, cpu: float, gap: float) -> None:
    print(f"{instance.name}, {solver}: {gap:.3f} % after {cpu:.1f} s", file=sys.stderr, flush=True)


def tables(found: Found) -> list[str]:
    """Markdown: hpcsolve's medians by time, then what the rivals gave."""
    marks = [f"{seconds:g} s" for seconds in found.budgets]
    head = ["instance", "optimum", "seeds", *marks, "by seed, at the end", "optimum found, after s"]
    return [
        f"{OURS}: median gap in percent after so many CPU seconds of one core, set-up included.", "",
        *markdown(head, [_row(instance, found) for instance in found.instances]), "",
        *(f"- {line}" for line in found.skipped), "",
        "Rivals: gap in percent (CPU seconds taken).", "",
        *markdown(["instance", "solver", "runs"], [_rival_row(*key) for key in _grouped(found.rivals).items()]),
    ]  # fmt: skip


def _row(instance: Instance, found: Found) -> list[str]:
    runs = found.ours[instance.name]
    medians = [float(np.median([instance.gap(run.best_after(mark)) for run in runs])) for mark in found.budgets]
    reached = sorted(run.cpu for run in runs if run.cost <= instance.optimum)
    return [instance.name, str(instance.optimum), str(len(runs)), *(f"{gap:.3f}" for gap in medians),
            ", ".join(f"{instance.gap(run.cost):.3f}" for run in runs),
            ", ".join(f"{seconds:.1f}" for seconds in reached) or "never"]  # fmt: skip


def _grouped(attempts: list[Attempt]) -> dict[tuple[str, str], list[Attempt]]:
    grouped: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        grouped.setdefault((attempt.instance, attempt.solver), []).append(attempt)
    return grouped


def _rival_row(key: tuple[str, str], attempts: list[Attempt]) -> list[str]:
    return [*key, ", ".join(f"{attempt.gap:.3f} ({attempt.cpu:.1f} s)" for attempt in attempts)]

"""The 1-tree bound: how far it is below the optimum, and its CPU seconds on one core."""

from __future__ import annotations

import sys

import numpy as np

from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.edge_assembly.instances import Instance
from jobs.benchmarks.edge_assembly.processes import watch

LIMIT = 1800.0
"""CPU seconds after which a process is ended."""


def table(instances: list[Instance], repeats: int) -> list[str]:
    """Compute the bound of each instance so many times, each time in a new process, and return a table in Markdown."""
    rows, gaps = [], []
    for instance in instances:
        runs = [_bound(instance) for _ in range(repeats + 1)][1:]  # the first one may compile
        bound, (seconds, whole, peak) = runs[0][0], (min(run[place] for run in runs) for place in (1, 2, 3))
        below = None if bound is None else _below(instance, bound)
        if instance.kind == "file" and instance.symmetric and below is not None:
            gaps.append(below)
        rows.append([instance.name, str(instance.n), "none" if bound is None else str(bound),
                     "" if below is None else f"{below:.3f}", f"{seconds:.2f}", f"{whole:.2f}", f"{peak:.0f}"])
        print(*rows[-1], file=sys.stderr, flush=True)
    head = ["instance", "cities", "bound", "below the optimum, %", "CPU s", "whole process, CPU s", "peak MiB"]
    text = f"The 1-tree bound over all edges, on one thread, the best of {repeats}. Uniform: below .7124 sqrt(nA)."
    mean = [f"On average of the {len(gaps)} symmetric files: {np.mean(gaps):.3f} %.", ""] if gaps else []
    return [text, "", *markdown(head, rows), "", *mean]


def _below(instance: Instance, bound: int) -> float | None:
    """Return by how many percent a bound is below the optimum or, of uniform cities, below the cost of many."""
    if instance.optimum is not None and bound > instance.optimum:
        raise WrongAnswerError(f"{instance.name}: the bound {bound} is above the optimum, {instance.optimum}")
    reference = instance.optimum or instance.expected
    return 100 * (1 - bound / reference) if reference else None


def _bound(instance: Instance) -> tuple[int | None, float, float, float]:
    """Return the bound, its CPU seconds, those of the whole process, and its peak memory in MiB."""
    watched = watch([sys.executable, "-m", f"{__package__}.bound_of", instance.path], LIMIT)
    _, bound, begun, ended = next(text.split() for _, text in watched.lines if text.startswith("bound "))
    return None if bound == "none" else int(bound), float(ended) - float(begun), watched.cpu, watched.peak

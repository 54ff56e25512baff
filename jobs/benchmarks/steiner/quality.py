"""Quality on a set of instances: weight, lower bound, closure, time and memory of each mode."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.steiner.instances import Instance, weight_of
from jobs.benchmarks.steiner.jobs import Solved, solve

MODES = ("fast", "kmb", "best")
HOW = """\
`hpcsolve run`, ranks: {ranks}, one thread each. Run: wall-clock seconds of the run with its certificate
(`seconds_run`). CPU: seconds of the whole command, all ranks, with reading, check and writing. Peak: resident memory of
the largest rank, with Python itself. Where no optimum is known, weights are divided by the lower bound, and bounds by
the weight."""


@dataclass(frozen=True)
class Row:
    """The result of a mode on an instance, and a line for each error in it."""

    instance: Instance
    mode: str
    found: Solved
    wrong: list[str]

    @property
    def ratio(self) -> float:
        """The tree's weight divided by the optimum, or by the lower bound if the optimum is not known."""
        return self.found.weight / (self.instance.optimum or self.found.bound)

    @property
    def bound(self) -> float:
        """The lower bound divided by the optimum, or by the tree's weight if the optimum is not known."""
        return self.found.bound / (self.instance.optimum or self.found.weight)


def measure(instance: Instance, mode: str, ranks: int, seconds: float | None, device: str = "cpu") -> Row:
    """Solve an instance by a mode, of which best ends after `seconds`, and check the answer."""
    found = solve(instance, mode, ranks, seconds if mode == "best" else None, device=device)
    row = Row(instance, mode, found, mistakes(instance, found))
    text = f"{instance.name}, {mode}: {row.ratio:.4f}, {found.run:.2f} s"
    print(" - ".join([text, *row.wrong]), file=sys.stderr, flush=True)
    return row


def mistakes(instance: Instance, found: Solved) -> list[str]:
    """Return a line for each contradiction to the instance, its optimum or the reference."""
    wrong = []
    try:
        weight = weight_of(instance, found.edges)
        if weight != found.weight:
            wrong.append(f"the tree weighs {weight}, not {found.weight}")
    except WrongAnswerError as error:
        wrong.append(str(error))
    if instance.closure and found.closure != instance.closure:
        wrong.append(f"closure_mst and closure_bottleneck are {found.closure}, in the reference {instance.closure}")
    upper = instance.optimum or found.weight
    if found.bound > upper:
        wrong.append(f"lower_bound is {found.bound}, more than {upper}")
    return wrong


def tables(rows: list[Row], ranks: int) -> list[str]:
    """Return two tables in Markdown, of all runs and of the means of each mode, and what is wrong."""
    cells = [
        [row.instance.name, str(row.instance.graph.n), str(len(row.instance.terminals)), row.mode,
         str(row.found.weight), f"{row.ratio:.4f}", f"{row.bound:.4f}", f"{row.found.run:.2f}", f"{row.found.cpu:.2f}",
         f"{row.found.peak / 2**20:.0f}"]
        for row in rows
    ]
    names = ["instance", "n", "k", "mode", "weight", "weight / optimum", "bound / optimum", "run s", "CPU s",
             "peak MiB"]
    means = [_mean([row for row in rows if row.mode == mode]) for mode in dict.fromkeys(row.mode for row in rows)]
    head = ["mode", "instances", "mean weight / optimum", "largest", "mean bound / optimum", "least", "longest run s"]
    wrong = [f"- **{row.instance.name}, {row.mode}: {text}**" for row in rows for text in row.wrong]
    verdict = wrong or ["All trees and bounds are valid; closure_mst and closure_bottleneck equal the reference's."]
    return [HOW.format(ranks=ranks), "", *markdown(names, cells), "", *markdown(head, means), "", *verdict]


def _mean(rows: list[Row]) -> list[str]:
    ratios, bounds = ([getattr(row, name) for row in rows] for name in ("ratio", "bound"))
    return [rows[0].mode, str(len(rows)), f"{np.mean(ratios):.4f}", f"{max(ratios):.4f}",
            f"{np.mean(bounds):.4f}", f"{min(bounds):.4f}",
            f"{max(row.found.run for row in rows):.2f}"]

"""Quality over a set of instances: weight, lower bound, closure, time and memory of each mode."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from jobs.benchmarks.report import markdown
from jobs.benchmarks.shortest_paths_graphs import WrongAnswerError
from jobs.benchmarks.steiner_instances import Instance, weight_of
from jobs.benchmarks.steiner_jobs import Solved, solved

MODES = ("fast", "kmb", "best")
HOW = """\
`hpcsolve run` on {ranks} rank(s), a thread each. run: seconds by the clock of the run with its certificate
(`seconds_run`). CPU: seconds of the whole command, all ranks, with reading, check and writing. Peak: resident memory of
the largest rank, all of Python's included. Where no optimum is known, the tree and its bound stand for it."""


@dataclass(frozen=True)
class Row:
    """A mode on an instance, and what is wrong with the answer."""

    where: Instance
    mode: str
    found: Solved
    wrong: list[str]

    @property
    def ratio(self) -> float:
        """To the optimum, or if that is not known to the lower bound."""
        return self.found.weight / (self.where.optimum or self.found.bound)

    @property
    def bound(self) -> float:
        """Of the optimum, or if that is not known of the tree."""
        return self.found.bound / (self.where.optimum or self.found.weight)


def measure(where: Instance, mode: str, ranks: int, seconds: float | None) -> Row:
    """Run a mode; `seconds` end mode best."""
    found = solved(where, mode, ranks, seconds if mode == "best" else None)
    row = Row(where, mode, found, mistakes(where, found))
    text = f"{where.name}, {mode}: {row.ratio:.4f}, {found.run:.2f} s"
    print(" - ".join([text, *row.wrong]), file=sys.stderr, flush=True)
    return row


def mistakes(where: Instance, found: Solved) -> list[str]:
    """What contradicts the instance, its optimum or the reference."""
    wrong = []
    try:
        weight = weight_of(where, found.edges)
        if weight != found.weight:
            wrong.append(f"the tree weighs {weight}, not {found.weight}")
    except WrongAnswerError as error:
        wrong.append(str(error))
    if where.closure and found.closure != where.closure:
        wrong.append(f"closure_mst and closure_bottleneck are {found.closure}, the reference has {where.closure}")
    least = where.optimum or found.weight
    if found.bound > least:
        wrong.append(f"lower_bound is {found.bound}, more than {least}")
    return wrong


def tables(rows: list[Row], ranks: int) -> list[str]:
    """Markdown."""
    cells = [
        [row.where.name, str(row.where.graph.n), str(len(row.where.terminals)), row.mode, str(row.found.weight),
         f"{row.ratio:.4f}", f"{row.bound:.4f}", f"{row.found.run:.2f}", f"{row.found.cpu:.2f}",
         f"{row.found.peak / 2**20:.0f}"]
        for row in rows
    ]  # fmt: skip
    names = ["instance", "n", "k", "mode", "weight", "weight / optimum", "bound / optimum", "run s", "CPU s",
             "peak MiB"]  # fmt: skip
    means = [_mean([row for row in rows if row.mode == mode]) for mode in dict.fromkeys(row.mode for row in rows)]
    head = ["mode", "instances", "mean weight / optimum", "largest", "mean bound / optimum", "least", "longest run s"]
    wrong = [f"- **{row.where.name}, {row.mode}: {text}**" for row in rows for text in row.wrong]
    verdict = wrong or ["All trees and bounds hold; closure_mst and closure_bottleneck are the reference's."]
    return [HOW.format(ranks=ranks), "", *markdown(names, cells), "", *markdown(head, means), "", *verdict]


def _mean(rows: list[Row]) -> list[str]:
    ratios, bounds = ([getattr(row, name) for row in rows] for name in ("ratio", "bound"))
    return [rows[0].mode, str(len(rows)), f"{np.mean(ratios):.4f}", f"{max(ratios):.4f}",
            f"{np.mean(bounds):.4f}", f"{min(bounds):.4f}",
            f"{max(row.found.run for row in rows):.2f}"]  # fmt: skip

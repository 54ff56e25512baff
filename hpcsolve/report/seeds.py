"""Runs of one job that differ in the seed alone: which results are such runs, and their overview as part of a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from hpcsolve.analysis import plot
from hpcsolve.analysis.collect import Table, collected
from hpcsolve.analysis.load import Result
from hpcsolve.analysis.statistics import plot_box, summary
from hpcsolve.answers.rounding import exact_text
from hpcsolve.job import hash_of
from hpcsolve.report import words
from hpcsolve.report.elements import Markup, element, pairs, table
from hpcsolve.report.pictures import Picture, figure
from hpcsolve.wording import counted

NOT_BY_COST = ("prize", "dearest")
"""Datasets of answers whose objective is not the cost alone."""


@dataclass(frozen=True)
class Run:
    """A result with its file."""

    file: str
    result: Result

    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
        return int(self.result.contents.job.get("seed", 1))

    def job_but_seed(self) -> str:
        """Return the SHA-256 of instance and settings without the seed, or "" if the run is not compared by its cost.

        It is not if it was interrupted, its check failed, or its answer has no cost or another objective.
        """
        contents = self.result.contents
        whole = self.result.complete and self.result.verified and not math.isnan(self.result.cost)
        if not whole or any(contents.value("solution", name) is not None for name in NOT_BY_COST):
            return ""
        tables = {self.result.algorithm: {}, **contents.job}
        tables.pop("seed", None)
        return hash_of(tables, str(contents.value("instance", "sha256")))


@dataclass(frozen=True)
class Runs:
    """Runs of one job with a seed each, in the order of the seeds, or one run."""

    runs: tuple[Run, ...]

    @cached_property
    def table(self) -> Table:
        """The row of each run, as `hpcsolve.collect` has it."""
        rows, faults = collected(run.file for run in self.runs)
        for fault in faults:
            raise fault
        by_file = {row["file"]: row for row in rows.rows}
        return Table(tuple(by_file[run.file] for run in self.runs))

    @cached_property
    def best(self) -> Run:
        """The run of least cost, of equal ones that of the smallest seed."""
        if len(self.runs) == 1:
            return self.runs[0]
        costs = [row["cost"] for row in self.table.rows]
        return self.runs[costs.index(min(costs))]


def divided(found: Sequence[tuple[str, Result]]) -> list[Runs]:
    """Return results, each with its file, as runs of one job with several seeds, and others alone.

    They are in the order of their first results. A result whose seed is there already begins other runs.
    """
    together: dict[Any, dict[int, Run]] = {}
    for number, (file, result) in enumerate(found):
        run = Run(file, result)
        job = run.job_but_seed()
        key: Any = (job, 0) if job else number
        while run.seed in together.get(key, {}):
            key = (job, key[1] + 1)
        together.setdefault(key, {})[run.seed] = run
    return [Runs(tuple(runs[seed] for seed in sorted(runs))) for runs in together.values()]


def overview(runs: Runs, name: str) -> Iterator[Markup]:
    """Yield what several runs found: best, mean and deviation, box and convergence, and a table by seed.

    Parameters
    ----------
    name
        Prefix of the pictures' ids, unique on the page.
    """
    best, (numbers,) = runs.best, summary(runs.table).rows
    mean, least, most, deviation = (numbers[column] for column in ("mean", "minimum", "maximum", "deviation"))
    measured = partial(words.with_unit, best.result)
    found = f"All cost {measured(least)}." if least == most else \
        f"The best, of seed {best.seed}, costs {measured(least)}{_above(mean, least, '; the mean is ')}."
    yield element("p", f"These are {len(runs.runs)} runs of one job, which differ in the seed alone. {found}")
    yield pairs([
        ("best", measured(least)), ("mean", measured(mean)), ("standard deviation", measured(f"{deviation:.4g}")),
        ("median", measured(numbers["median"])), ("worst", measured(most)),
    ])
    drawn = (figure(best.result, picture, f"{name}o{i}") for i, picture in enumerate(_pictures(runs, least == most)))
    yield element("div", *drawn, class_="charts")
    rows = (_row(run, row["cost"], least, run is best) for run, row in zip(runs.runs, runs.table.rows))
    headings = ("seed", "cost", "above the best", "lower bound", "gap at most", "seconds", "file")
    yield element("div", table(headings, rows, "The runs by seed"), class_="numbers")


def _above(cost: float, least: float, before: str) -> str:
    """Return how far a cost is above the least one, or "" where the least one is not positive."""
    return f"{before}{words.percent(cost / least - 1)} above it" if least > 0 else ""


def _row(run: Run, cost: Any, least: float, best: bool) -> list[object]:
    lower, _, gap = words.bounds_of(run.result)
    exact = cost if isinstance(cost, int) else exact_text(cost)
    seed = element("span", run.seed, *([" ", element("span", "best", class_="mark")] if best else []))
    above = words.percent(float(cost) / least - 1) if least > 0 else words.NONE
    cost_shown, seconds = words.with_unit(run.result, str(exact)), f"{words.seconds_of(run.result):.3g}"
    return [seed, cost_shown, above, lower, gap, seconds, run.file]


def _pictures(runs: Runs, same: bool) -> Iterator[Picture]:
    """Yield the box of the costs, unless they are the same, and the convergence of all runs in one picture."""
    seeds = counted(len(runs.runs), "seed")
    if not same:
        text = f"The costs of {seeds}: quartiles and median as a box, and each run as a dot."
        yield Picture(lambda _, axes: plot_box(runs.table, axes=axes), text)
    if all("history" in run.result.contents.groups for run in runs.runs):
        others = [run.result for run in runs.runs if run is not runs.best]
        yield Picture(lambda result, axes: plot.plot_convergence(result, axes, others=others),
                      f"The best cost so far of {seeds}. The thick line is seed {runs.best.seed}, the best.")

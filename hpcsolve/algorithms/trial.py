"""Some of a job's work, which is done to learn how long all of it takes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from hpcsolve.algorithms.base import Outcome, Statement
from hpcsolve.answers.contents import DistanceTable


@dataclass(frozen=True)
class Trial:
    """Some of a job's work, which was done on one rank to learn how long all of it takes.

    Attributes
    ----------
    statement, outcome
        What was solved, and what was found.
    setup
        Seconds of what a rank does once, before the work.
    work
        Seconds that the job's work takes on the rank with most of it. With an `open_end` it is the most that it takes,
        or None if there is no limit.
    measured_on
        What was solved, in words.
    row_ratio
        Rows that a rank has of the job's tables, divided by the rows of the trial's tables.
    open_end
        Why the end of the work cannot be foreseen, or "" if it can.
    tables
        Tables of the job's answer, with some of their rows, that `outcome` does not have.
    """

    statement: Statement
    outcome: Outcome
    setup: float
    work: float | None
    measured_on: str
    row_ratio: float = 1.0
    open_end: str = ""
    tables: tuple[DistanceTable, ...] = ()


@dataclass
class Stopwatch:
    """A `Report` that measures a run's set-up. Algorithms report 0.0 where the work begins."""

    started: float = field(default_factory=lambda: time.perf_counter())
    setup: float = 0.0

    def __call__(self, done: float, message: str = "") -> None:
        """Note the time if nothing is done yet."""
        if done == 0.0:
            self.setup = self.seconds()

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.started

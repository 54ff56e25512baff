"""Long series of runs, kept in a CSV file so that a series can be continued."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Run:
    """One run of a series, with its results `cost` and `cpu` (seconds)."""

    instance: str
    solver: str
    iterations: int
    seed: int
    cost: int = 0
    cpu: float = 0.0


def complete(path: str | None, runs: list[Run], perform: Callable[[Run], Run]) -> list[Run]:
    """Return the runs with their results, after performing those that the file does not hold yet.

    Parameters
    ----------
    path
        CSV file to which each run is appended when it ends, or None to keep nothing.
    perform
        Takes a run without results and returns it with its results.
    """
    known = {_key(run): run for run in _read(path)}
    for run in runs:
        if _key(run) not in known:
            known[_key(run)] = done = perform(run)
            _append(path, done)
    return [known[_key(run)] for run in runs]


def _key(run: Run) -> tuple[str, str, int, int]:
    return run.instance, run.solver, run.iterations, run.seed


def _read(path: str | None) -> list[Run]:
    if path is None or not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return [Run(row[0], row[1], int(row[2]), int(row[3]), int(row[4]), float(row[5])) for row in csv.reader(file)]


def _append(path: str | None, run: Run) -> None:
    if path is not None:
        with open(path, "a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(astuple(run))

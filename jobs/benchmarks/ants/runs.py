"""Instances, runs of hpcsolve's colonies on one core of this process, and a file that keeps results of long series."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms import ant_colony
from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.base import Limits, silent
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import Tsp, check_tour


@dataclass(frozen=True)
class Instance:
    """A published instance and what its best tour costs."""

    tsp: Tsp
    optimum: int

    @property
    def name(self) -> str:
        """As in the study: `pcb442`."""
        return self.tsp.name

    def gap(self, cost: float) -> float:
        """Above the optimum, in percent."""
        return 100 * (cost / self.optimum - 1)


def instances(names: list[str]) -> list[Instance]:
    """From `$HPCSOLVE_DATA/tsplib`: NAME.tsp or NAME.atsp, and optima.csv (name, optimum, ...).

    Raises
    ------
    InputError
        If something is not there.
    """
    folder = Path(os.environ.get("HPCSOLVE_DATA") or "") / "tsplib"
    if "HPCSOLVE_DATA" not in os.environ or not (folder / "optima.csv").exists():
        raise InputError("HPCSOLVE_DATA must name a folder with tsplib/ and tsplib/optima.csv in it")
    with open(folder / "optima.csv", newline="", encoding="utf-8") as file:
        optima = {row["name"]: int(row["optimum"]) for row in csv.DictReader(file)}
    return [Instance(_read(folder, name), optima[name]) for name in names]


def _read(folder: Path, name: str) -> Tsp:
    for path in (folder / f"{name}.tsp", folder / f"{name}.atsp"):
        if path.exists():
            tsp = read(path).problem
            assert isinstance(tsp, Tsp)
            return tsp
    raise InputError(f"no {name}.tsp and no {name}.atsp", str(folder))


@dataclass(frozen=True)
class Search:
    """A run of hpcsolve, its tour checked.

    Attributes
    ----------
    cpu
        Seconds, from the costs to the tour.
    iterations, seconds, best
        By row of the history: the iteration's number, CPU seconds since the call, length of the best tour so far.
    """

    cost: int
    cpu: float
    iterations: NDArray[np.int64]
    seconds: NDArray[np.float64]
    best: NDArray[np.float64]

    def best_after(self, seconds: float) -> float:
        """Length of the best tour so many CPU seconds after the call; infinite before the first iteration's end."""
        rows = int(np.searchsorted(self.seconds, seconds, side="right"))
        return float(self.best[rows - 1]) if rows else np.inf


def search(tsp: Tsp, parameters: Parameters, limits: Limits, device: str = "cpu") -> Search:
    """Run on one core, or on a GPU.

    Others may share the machine, so on a CPU the run's own clock and `limits.seconds` are CPU time; on a GPU they are
    wall-clock time.
    """
    opened = HostDevice(1) if device == "cpu" else open_device(device, SerialComm())[0]
    clock = time.process_time if device == "cpu" else time.perf_counter
    with opened, mock.patch("time.perf_counter", clock):
        before = clock()
        outcome = ant_colony.run(tsp, opened, SerialComm(), parameters, silent, limits)
        cpu = clock() - before
    assert outcome.cost == check_tour(tsp, outcome.solution["tour"].values)
    table = outcome.tables["history"]
    steps, seconds, best = (np.asarray(table[name].values) for name in ("step", "seconds", "best"))
    return Search(outcome.cost, cpu, steps, seconds + (cpu - seconds[-1]), best)


def build(tsp: Tsp, parameters: Parameters, device: str = "cpu") -> None:
    """Compile the kernels, if they are not in the cache, before anything is timed."""
    search(tsp, parameters, Limits(iterations=1), device)


@dataclass(frozen=True)
class Run:
    """One run of a series."""

    instance: str
    solver: str
    iterations: int
    seed: int
    cost: int
    cpu: float


def series(path: str | None, wanted: list[Run], perform: Callable[[Run], Run]) -> list[Run]:
    """The runs asked for, their results filled in; those that the file holds already are not made again.

    Parameters
    ----------
    path
        Of a CSV file, to which each run is added when it ends; None: nothing is kept.
    """
    known = {_key(run): run for run in _kept(path)}
    for run in wanted:
        if _key(run) not in known:
            known[_key(run)] = done = perform(run)
            _keep(path, done)
    return [known[_key(run)] for run in wanted]


def _key(run: Run) -> tuple[str, str, int, int]:
    return run.instance, run.solver, run.iterations, run.seed


def _kept(path: str | None) -> list[Run]:
    if path is None or not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return [Run(row[0], row[1], int(row[2]), int(row[3]), int(row[4]), float(row[5])) for row in csv.reader(file)]


def _keep(path: str | None, run: Run) -> None:
    if path is not None:
        with open(path, "a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(astuple(run))

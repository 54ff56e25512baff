"""Run hpcsolve's ant colonies in this process, on one core or on a GPU."""

from __future__ import annotations

import time
from dataclasses import dataclass
from unittest import mock

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms import ant_colony
from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import check_tour
from hpcsolve.problems.tsp import Tsp


@dataclass(frozen=True)
class Search:
    """A run of hpcsolve, with its tour checked.

    Attributes
    ----------
    cpu
        Seconds from the costs to the tour.
    iterations, seconds, best
        The rows of the history: number of the iteration, CPU seconds since the call, length of the best tour so far.
    """

    cost: int
    cpu: float
    iterations: NDArray[np.int64]
    seconds: NDArray[np.float64]
    best: NDArray[np.float64]

    def best_after(self, seconds: float) -> float:
        """Return the length of the best tour after so many CPU seconds, or infinity in the first iteration."""
        rows = int(np.searchsorted(self.seconds, seconds, side="right"))
        return float(self.best[rows - 1]) if rows else np.inf


def search(tsp: Tsp, parameters: Parameters, stop: StopCriteria, seed: int = 1, device: str = "cpu") -> Search:
    """Run hpcsolve on one core, or on a GPU.

    Others may share the machine. Therefore the run's own clock and its time limit use CPU time on a CPU, and
    wall-clock time only on a GPU.
    """
    parameters = msgspec.structs.replace(parameters, bound=False)  # which would end some searches early
    opened = HostDevice(1) if device == "cpu" else open_device(device, SerialComm())[0]
    clock = time.process_time if device == "cpu" else time.perf_counter
    with opened, mock.patch("time.perf_counter", clock):
        before = clock()
        outcome = ant_colony.ALGORITHM.solve(tsp, opened, SerialComm(), parameters, silent, stop, seed)
        cpu = clock() - before
    assert outcome.cost == check_tour(tsp, outcome.solution["tour"].values)
    table = outcome.groups["history"]
    steps, seconds, best = (np.asarray(table[name].values) for name in ("step", "seconds", "best"))
    return Search(outcome.cost, cpu, steps, seconds + (cpu - seconds[-1]), best)


def compile_kernels(tsp: Tsp, parameters: Parameters, device: str = "cpu") -> None:
    """Run one iteration, so that the kernels are in the compile cache before anything is timed."""
    search(tsp, parameters, StopCriteria(iterations=1), device=device)

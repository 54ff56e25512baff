"""Timed runs: hpcsolve in this process, tree and lower bound timed separately, and rivals in child processes."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from unittest import mock

import numpy as np

from hpcsolve.algorithms.base import NO_STOP, StopCriteria, silent
from hpcsolve.algorithms.steiner_kmb import ALGORITHM, Parameters, bounds
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.common.child import in_child
from jobs.benchmarks.common.timing import best_of
from jobs.benchmarks.steiner.instances import Instance, TreeEdges, weight_of

QUICK = 3.0
"""A run is repeated until all its runs have taken so many CPU seconds."""


@dataclass(frozen=True)
class Timing:
    """A solver's time and tree on an instance.

    Attributes
    ----------
    seconds
        CPU seconds (on a GPU wall-clock seconds) without the lower bound, or None if there is no tree.
    weight
        The tree's weight, or None.
    whole
        Seconds with the lower bound: hpcsolve only.
    bound
        The lower bound: hpcsolve only.
    arcs
        Arcs that the searches scanned: hpcsolve only.
    failed
        Why there is no tree.
    """

    solver: str
    seconds: float | None
    weight: int | None
    runs: int = 0
    whole: float | None = None
    bound: int | None = None
    arcs: int = 0
    failed: str = ""


def own_run(
    solver: str, instance: Instance, device: Device, parameters: Parameters, repeats: int, stop: StopCriteria = NO_STOP
) -> Timing:
    """Time hpcsolve on a graph that has been read, the best of `repeats` runs, of fewer if they are slow."""
    clock = time.process_time if device.info.kind == "cpu" else time.perf_counter
    runs: list[tuple[float, float]] = []
    while True:
        begin = clock()
        with _timed("own_dual", clock) as ascents:
            outcome = ALGORITHM.solve(instance.graph, device, SerialComm(), parameters, silent, stop)
        whole = clock() - begin
        runs.append((whole - sum(ascents), whole))
        if len(runs) >= repeats or sum(whole for _, whole in runs) > QUICK:
            break
    tree, whole = (min(times) for times in zip(*runs))
    weight = weight_of(instance, np.stack([outcome.solution["u"].values, outcome.solution["v"].values], axis=1))
    bound, arcs = int(outcome.solution["lower_bound"].values), int(outcome.rank["operations"])
    return Timing(solver, tree, weight, len(runs), whole, bound, arcs)


@contextmanager
def _timed(name: str, clock: Callable[[], float]) -> Iterator[list[float]]:
    """Replace a function of hpcsolve's solver by one that also appends the seconds of each call to the given list."""
    original: Callable[..., object] = vars(bounds)[name]
    seconds: list[float] = []

    def timed(*arguments: object) -> object:
        begin = clock()
        value = original(*arguments)
        seconds.append(clock() - begin)
        return value

    with mock.patch.object(bounds, name, timed):
        yield seconds
    if not seconds:
        raise AssertionError(f"hpcsolve's solver did not call {name}, which finds the lower bound")


def rival_run(
    solver: str, instance: Instance, call: Callable[[], TreeEdges], repeats: int, seconds: float, gibibytes: int
) -> Timing:
    """Time a rival in a child process, which is ended after so many wall-clock seconds or if it needs more memory."""
    late, ended = f"more than {seconds:g} s", f"ended without a tree (limit {gibibytes} GiB)"
    found = in_child(partial(_limited, call, repeats, gibibytes), seconds, late, ended)
    if isinstance(found, str):
        return Timing(solver, None, None, failed=found)
    tree, cpu, runs = found
    try:
        return Timing(solver, cpu, weight_of(instance, tree), runs)
    except WrongAnswerError as error:
        return Timing(solver, None, None, failed=f"wrong: {error}")


def _limited(call: Callable[[], TreeEdges], repeats: int, gibibytes: int) -> tuple[TreeEdges, float, int] | str:
    """Return a rival's tree, time and number of runs, or why there is no tree. Called in the child process."""
    resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30, gibibytes << 30))
    try:
        found = best_of(call, 1, 0)
        if found.cpu < QUICK / 4:
            found = best_of(call, repeats, QUICK)
    except MemoryError:
        return f"more than {gibibytes} GiB"
    return found.value, found.cpu, found.runs

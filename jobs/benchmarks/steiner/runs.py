"""hpcsolve's own solver within this process, the tree and its certificate timed apart; and rivals within limits."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np

from hpcsolve.algorithms.base import UNLIMITED, Limits
from hpcsolve.algorithms.steiner_kmb import Parameters, run
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.measure import best_of
from jobs.benchmarks.shortest_paths_graphs import WrongAnswerError
from jobs.benchmarks.steiner_instances import Instance, Pairs, weight_of

CERTIFYING = "lower bound"
"""What a run reports when it has its tree."""
QUICK = 3.0
"""CPU seconds up to which a run is repeated."""


@dataclass(frozen=True)
class Timing:
    """A solver on an instance: CPU seconds (of a GPU: by the clock) up to the tree, and weight; or why there is none.

    Attributes
    ----------
    whole
        With the certificate: hpcsolve's only.
    bound
        No tree is lighter: hpcsolve's only.
    arcs
        Followed by the searches: hpcsolve's only.
    """

    solver: str
    seconds: float | None
    weight: int | None
    runs: int = 0
    whole: float | None = None
    bound: int | None = None
    arcs: int = 0
    failed: str = ""


@dataclass
class _Stopwatch:
    """Notes when a run begins with its certificate."""

    clock: Callable[[], float]
    begin: float = field(init=False)
    tree: float = np.nan

    def __post_init__(self) -> None:
        self.begin = self.clock()

    def __call__(self, done: float, message: str = "") -> None:
        if message == CERTIFYING:
            self.tree = self.clock() - self.begin


def own_run(solver: str, where: Instance, device: Device, parameters: Parameters, repeats: int,
            limits: Limits = UNLIMITED) -> Timing:  # fmt: skip
    """hpcsolve's run on a graph that is read, the best of several; but what is not quick is not repeated."""
    clock = time.process_time if device.info.kind == "cpu" else time.perf_counter
    runs: list[tuple[float, float]] = []
    while True:
        watch = _Stopwatch(clock)
        outcome = run(where.graph, device, SerialComm(), parameters, watch, limits)
        runs.append((watch.tree, clock() - watch.begin))
        if len(runs) >= repeats or sum(whole for _, whole in runs) > QUICK:
            break
    if np.isnan(watch.tree):
        raise AssertionError(f"a run does not report {CERTIFYING!r} when it has its tree")
    tree, whole = (min(times) for times in zip(*runs))
    weight = weight_of(where, np.stack([outcome.solution["u"].values, outcome.solution["v"].values], axis=1))
    bound, arcs = int(outcome.solution["lower_bound"].values), int(outcome.rank["operations"])
    return Timing(solver, tree, weight, len(runs), whole, bound, arcs)


def rival_run(solver: str, where: Instance, call: Callable[[], Pairs], repeats: int, seconds: float, gibibytes: int
              ) -> Timing:  # fmt: skip
    """A rival's run, in a child process that ends after so many seconds by the clock, or for want of memory."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_limited, args=(there, call, repeats, gibibytes))
    child.start()
    there.close()
    try:
        found = here.recv() if here.poll(seconds) else f"more than {seconds:g} s"
    except EOFError:
        found = f"none within {gibibytes} GiB"
    child.kill()
    child.join()
    if isinstance(found, str):
        return Timing(solver, None, None, failed=found)
    tree, cpu, runs = found
    try:
        return Timing(solver, cpu, weight_of(where, tree), runs)
    except WrongAnswerError as error:
        return Timing(solver, None, None, failed=f"wrong: {error}")


def _limited(there: Connection, call: Callable[[], Pairs], repeats: int, gibibytes: int) -> None:
    """In the child: the tree, CPU seconds and runs, or why there is no tree."""
    resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30, gibibytes << 30))
    try:
        found = best_of(call, 1, 0)
        if found.cpu < QUICK / 4:
            found = best_of(call, repeats, QUICK)
    except MemoryError:
        there.send(f"more than {gibibytes} GiB")
    else:
        there.send((found.value, found.cpu, found.runs))

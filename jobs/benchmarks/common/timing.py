"""Timing on a machine that others may use: the best of several runs, in wall-clock and in CPU seconds."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """The result of the last run, the least wall-clock time and the least CPU time (perhaps of different runs).

    Attributes
    ----------
    wall, cpu
        Seconds.
    """

    value: object
    wall: float
    cpu: float
    runs: int


def best_of(call: Callable[[], object], repeats: int, seconds: float) -> Measurement:
    """Return the best of `repeats` runs of `call`, or of fewer (two at least) if these take longer than `seconds`.

    If the first run takes less than a quarter of `seconds`, it only warms up memory and caches, and is not counted.
    """
    begin = time.perf_counter()
    runs = [_timed(call)]
    if repeats > 1 and runs[0].wall < seconds / 4:
        runs.clear()
    while len(runs) < min(repeats, 2) or (len(runs) < repeats and time.perf_counter() - begin < seconds):
        runs.append(_timed(call))
    return Measurement(runs[-1].value, min(run.wall for run in runs), min(run.cpu for run in runs), len(runs))


def _timed(call: Callable[[], object]) -> Measurement:
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return Measurement(value, time.perf_counter() - wall, time.process_time() - cpu, 1)


def best_cpu_seconds(
    calls: Mapping[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Return the CPU seconds of each call, or those of another clock, the best of `repeats` rounds.

    In every round each call runs once, so that all of them see the same load of the machine.
    """
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            begin = clock()
            call()
            best[name] = min(best[name], clock() - begin)
    return best


def keep_freed_memory() -> None:
    """Let this process use freed memory again, as a program that allocates its tables once does.

    By default the C library (glibc) gives large arrays back to the system, which clears every page when it is touched
    again. With 26 cities that took a quarter of the kernels' CPU time.
    """
    if sys.platform == "linux":
        no_mappings, no_trimming = (-4, 0), (-1, 2**31 - 1)  # M_MMAP_MAX, M_TRIM_THRESHOLD
        for option, value in (no_mappings, no_trimming):
            ctypes.CDLL(None).mallopt(option, value)


def load() -> float:
    """Return the mean number of runnable processes in the last minute.

    If it is larger than the number of cores, wall-clock times mean nothing.
    """
    return os.getloadavg()[0]

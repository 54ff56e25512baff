"""Executes the missing runs of a sweep on this machine, several at a time, each as a process of its own.

The standard input of a run is a pipe from the sweep, on which nothing is ever sent. A run ends when the pipe closes
(`hpcsolve.cli.sweep_run`). Ctrl-C closes all pipes, and so does the end of the sweep's process by any signal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from hpcsolve.device.gpus import list_gpus
from hpcsolve.device.select import requested_threads
from hpcsolve.errors import HpcsolveError, ResourceError
from hpcsolve.runner.planned import plan_run
from hpcsolve.sweep.expand import Run

SECONDS_TO_END = 15.0
"""Time that the runs have to end after Ctrl-C, and to write what they have. After that they are killed."""
SECONDS_BETWEEN_LOOKS = 0.02
TAIL_BYTES = 1 << 16
"""How much of the end of a run's output is searched for the reason of its failure."""
KILLED = 128
"""A shell reports a process that a signal ended with this exit code plus the number of the signal."""


@dataclass(frozen=True)
class Failure:
    """A run that failed, with its exit code and the reason in one line."""

    run: Run
    exit_code: int
    reason: str


@dataclass(frozen=True)
class _Started:
    """A run with its process and the file that takes what the process prints."""

    run: Run
    process: subprocess.Popen[bytes]
    printed: IO[bytes]


def is_done(run: Run) -> bool:
    """Return whether the output holds the verified result of this very job. The instance is read only if it exists."""
    if not os.path.exists(run.job.settings.output):
        return False
    try:
        planned = plan_run(run.job)
    except HpcsolveError:
        return False  # the run itself will find the same error, and report it
    return planned.existing_verdict is not None and planned.existing_verdict.passed is not False


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def number_at_once(runs: Iterable[Run]) -> int:
    """Return how many runs fit on the cores at a time, by their threads, or 1 if a run takes all cores or a GPU.

    Raises
    ------
    InputError
        A job or OMP_NUM_THREADS asks for a number of threads that is not possible.
    """
    settings = [run.job.settings for run in runs]
    if any(one.device.lower() != "cpu" for one in settings) and _has_gpu():
        return 1
    threads = [requested_threads(one.threads, os.environ)[0] or cores() for one in settings]
    return max(1, cores() // max(threads, default=1))


def _has_gpu() -> bool:
    try:
        return bool(list_gpus())
    except ResourceError:
        return False


def run_all(
    runs: Sequence[Run], at_once: int, command: Sequence[str], report: Callable[[float, str], None]
) -> list[Failure]:
    """Execute runs as processes, and return the failures. A failure does not stop the other runs.

    Parameters
    ----------
    at_once
        Most processes at a time.
    command
        Program and arguments to which the arguments of a run are appended.
    report
        Called with the fraction of the runs that have ended, and a text such as `3 of 20 runs`.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, when all runs have ended.
    """
    waiting, environment = list(reversed(runs)), _environment(at_once)
    active: list[_Started] = []
    failures: list[Failure] = []
    try:
        while waiting or active:
            while waiting and len(active) < at_once:
                active.append(_start(waiting.pop(), command, environment))
            ended = [one for one in active if one.process.poll() is not None]
            active = [one for one in active if one not in ended]
            failures += [failure for one in ended if (failure := _failure(one))]
            count = len(runs) - len(waiting) - len(active)
            report(count / len(runs), f"{count} of {len(runs)} runs")
            if not ended:
                time.sleep(SECONDS_BETWEEN_LOOKS)
    finally:
        _end(active)
    return sorted(failures, key=lambda failure: failure.run.index)


def _environment(at_once: int) -> Mapping[str, str]:
    """Return the environment of the runs, which share the cores equally unless OMP_NUM_THREADS is set."""
    share = {"OMP_NUM_THREADS": str(max(1, cores() // at_once))} if at_once > 1 else {}
    return {**share, **os.environ}


def _start(run: Run, command: Sequence[str], environment: Mapping[str, str]) -> _Started:
    """Start a run in a session of its own, so that Ctrl-C on the terminal reaches the sweep alone."""
    printed = tempfile.TemporaryFile()  # noqa: SIM115 (`_failure` closes it)
    process = subprocess.Popen(
        [*command, *run.arguments], stdin=subprocess.PIPE, stdout=printed, stderr=subprocess.STDOUT, env=environment,
        start_new_session=True,
    )
    return _Started(run, process, printed)


def _end(active: Sequence[_Started]) -> None:
    """End runs as Ctrl-C would, and kill those that do not end in time, or all on a second Ctrl-C."""
    deadline = time.monotonic() + SECONDS_TO_END
    try:
        for one in active:
            if one.process.stdin:
                one.process.stdin.close()
        for one in active:
            one.process.wait(max(0.0, deadline - time.monotonic()))
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        for one in active:
            one.process.kill()


def _failure(ended: _Started) -> Failure | None:
    """Return the failure of a run that has ended, or None if it succeeded, and close its files."""
    code = ended.process.returncode
    with ended.printed as file, ended.process:
        if code == 0:
            return None
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        printed = file.read().decode(errors="replace")
    if code < 0:
        return Failure(ended.run, KILLED - code, f"killed by {signal.Signals(-code).name}")
    return Failure(ended.run, code, _reason(printed))


def _reason(printed: str) -> str:
    """Return the line of a run's output that says why it failed: its last error, a failed check, or the last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("hpcsolve: ", "check:  FAIL"))]
    return (told or lines or ["the run printed nothing"])[-1].removeprefix("hpcsolve: ").removeprefix("error: ")

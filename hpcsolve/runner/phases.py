"""Estimates the time of a job by phases: does some of its work, and checks and writes that answer, as a run does."""

from __future__ import annotations

import os
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hpcsolve.algorithms.trial import Trial
from hpcsolve.device.base import Device
from hpcsolve.errors import HpcsolveError
from hpcsolve.output.large_tables import receive_chunks
from hpcsolve.output.log import Log, duration
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.runner.conclude import conclude
from hpcsolve.runner.planned import PlannedRun
from hpcsolve.runner.run import rank_row


@dataclass(frozen=True)
class Phases:
    """The seconds that a command takes, by phase.

    Attributes
    ----------
    starting
        Python and its libraries.
    reading
        Reading or generating the instance.
    trial
        The work that was done to learn how long solving takes, or None if it failed.
    checking, writing
        Checking and writing the whole answer.
    fault
        Why the trial failed.
    """

    starting: float
    reading: float
    trial: Trial | None = None
    checking: float = 0.0
    writing: float = 0.0
    fault: str = ""

    @property
    def solving(self) -> float | None:
        """Seconds of solving, or the most if its end is open, or None if there is no limit."""
        return None if self.trial is None or self.trial.work is None else self.trial.setup + self.trial.work

    @property
    def total(self) -> float | None:
        """Seconds of the whole command, or the most if the end of solving is open, or None if there is no limit."""
        if self.solving is None:
            return None
        return self.starting + self.reading + self.solving + self.checking + self.writing

    def lines(self) -> Iterator[str]:
        """Yield a line for each phase, and one for all of them."""
        yield f"starting                {duration(self.starting)}"
        yield f"reading                 {duration(self.reading)}"
        if self.trial is None:
            yield f"solving                 not known: {self.fault}"
            return
        why = f": {self.trial.open_end}" if self.trial.open_end else ""
        how = "" if self.solving is None else f"; measured now with {self.trial.measured_on}"
        yield f"solving                 {self._words(self.solving)}{why}{how}"
        yield f"checking                {duration(self.checking)}"
        yield f"writing                 {duration(self.writing)}"
        yield f"time                    {self._words(self.total)}{', the sum' if self.total else why}"

    def _words(self, seconds: float | None) -> str:
        """Return `about 12 s`, `at most about 12 s` or `not known`."""
        if seconds is None:
            return "not known"
        return f"{'at most ' if self.trial and self.trial.open_end else ''}about {duration(seconds)}"


def process_age() -> float:
    """Return the seconds since this process was started."""
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")


def with_trial(phases: Phases, planned: PlannedRun, ranks: int, device: Device) -> Phases:
    """Return the phases with the time of solving, checking and writing, from a trial on a rank's device."""
    settings = planned.job.settings
    try:
        trial = planned.solver.trial(
            planned.instance.problem, planned.job.parameters, settings.stop, ranks, device, settings.seed
        )
        checking, writing = _afterwards(planned, trial, device)
    except HpcsolveError as error:
        return replace(phases, fault=str(error))
    return replace(phases, trial=trial, checking=checking, writing=writing)


def _afterwards(planned: PlannedRun, trial: Trial, device: Device) -> tuple[float, float]:
    """Return the seconds that checking and writing the whole answer take, extrapolated from the trial's answer."""
    job = replace(planned.job.with_settings(threads=device.info.threads), parameters=trial.parameters)
    comm, tables = SerialComm(), [*trial.outcome.rows.values(), *trial.tables]
    with tempfile.TemporaryDirectory() as folder:
        small = replace(planned, job=job, instance=replace(planned.instance, problem=trial.problem),
                        output=str(Path(folder) / "trial.h5"))
        begun = time.perf_counter()
        row = rank_row(device, "", trial.outcome, {})
        done = conclude(small, trial.outcome, row, device.info, comm, Log(1), keep=False)
        both = time.perf_counter() - begun
    assert done.contents is not None
    writing = float(done.contents.value("ranks", "seconds_write")[0])
    begun = time.perf_counter()
    for table in tables:  # compressed again: only this part of writing grows with the rows
        deque(receive_chunks(table, comm, device.info.threads), maxlen=0)
    compressing = time.perf_counter() - begun
    included = 0.0 if trial.tables else min(writing, compressing)  # of it in `writing`
    return both - writing, writing - included + compressing * trial.row_ratio

"""`hpcsolve estimate`: forecasts the memory of a job, and its time by phases.

The time follows from a trial, which does some of the job's work, and checks and writes that answer, as a run does.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcsolve.algorithms.base import Plan
from hpcsolve.algorithms.trial import Trial
from hpcsolve.device.base import ONE_CORE, Device
from hpcsolve.device.select import open_device
from hpcsolve.errors import HpcsolveError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import Job
from hpcsolve.memory import available_memory
from hpcsolve.output.large_tables import Chunks
from hpcsolve.output.log import Log, Say, duration, say_nothing
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.notes import notes_on
from hpcsolve.runner.conclude import conclude
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.memory import free_bytes, memory_of, process_bytes
from hpcsolve.runner.planned import PlannedRun, read_planned
from hpcsolve.runner.reading import read_reporting
from hpcsolve.runner.run import rank_row
from hpcsolve.wording import counted, size

MPI_BYTES = 20 << 20
"""Memory that an MPI library takes in each process."""
MPI_START = 1.3
"""Time that a process takes to start together with others, divided by the time that it takes alone."""


@dataclass(frozen=True)
class Forecast:
    """A plan with the free memory and the time.

    Attributes
    ----------
    memory
        Bytes free for each rank, counted as `Plan.needed` counts.
    process
        Bytes of host memory of rank 0's whole process, with Python and the instance.
    device
        The device of each rank, in words.
    """

    job: Job
    instance: InstanceOf[Any]
    plan: Plan
    memory: int
    process: int
    device: str
    phases: Phases

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.plan.device_bytes)

    @property
    def fits(self) -> bool:
        """Whether every rank's share fits its free memory."""
        return max(self.plan.needed) <= self.memory

    def lines(self) -> Iterator[str]:
        """Yield the lines that are printed."""
        problem, plan, kind = self.instance.problem, self.plan, kind_of(self.job)
        shared = plan.shared_bytes
        what = f"{problem.name}, {counted(kind.size(problem), kind.size_noun)}"
        yield f"{self.job.settings.algorithm}, {what}, {counted(self.ranks, 'rank')}"
        yield from notes_on(problem)
        yield f"each rank has           {self.device}"
        yield f"device memory per rank  {_range(plan.device_bytes)}"
        yield f"host memory per rank    {_range(plan.host_bytes)}, for messages and tables, without Python's own"
        if shared:
            yield f"shared on a host        {size(shared)}, once for all its ranks; each GPU has a copy"
        yield f"memory of all ranks     {size(sum(plan.needed) - shared * (self.ranks - 1))}"
        yield f"process of rank 0       {size(self.process)} of host memory, with Python and the instance"
        yield f"messages per rank       {_range(plan.bytes_sent)}"
        yield from (f"{name:23} {value}" for name, value in {**plan.details, **plan.beside()}.items())
        yield f"work                    {plan.operations:.4g} operations ({plan.operation})"
        yield from self.phases.lines()
        largest = plan.largest([self.memory] * self.ranks)
        verdict = f"{'yes' if self.fits else 'no'}: {size(self.memory)} per rank"
        yield f"fits                    {verdict}; the largest that fits: {counted(largest, kind.size_noun)}"

    def values(self) -> dict[str, Any]:
        """Return the same as values: bytes by rank, and seconds by phase, None where they are not known."""
        problem, plan, phases, kind = self.instance.problem, self.plan, self.phases, kind_of(self.job)
        return {
            "algorithm": self.job.settings.algorithm, "instance": problem.name, "size": kind.size(problem),
            "size_unit": kind.size_noun, "notes": list(notes_on(problem)), "ranks": self.ranks, "device": self.device,
            "device_bytes": plan.device_bytes, "host_bytes": plan.host_bytes, "shared_bytes": plan.shared_bytes,
            "process_bytes": self.process, "bytes_sent": plan.bytes_sent, "operations": plan.operations,
            "details": {**plan.details, **plan.beside()}, "free_bytes": self.memory, "fits": self.fits,
            "largest_size": plan.largest([self.memory] * self.ranks),
            "seconds": {"starting": phases.starting, "reading": phases.reading, "solving": phases.solving,
                        "checking": phases.checking, "writing": phases.writing, "total": phases.total},
            "seconds_are_at_most": bool(phases.trial and phases.trial.open_end), "fault": phases.fault or None,
        }


def forecast(
    job: Job, ranks: int, memory: int | None = None, seconds_build: float = 0.0, say: Say = say_nothing
) -> Forecast:
    """Read a job's instance, and return what the job would need.

    Parameters
    ----------
    memory
        Bytes free for each rank, including the tables that it shares with others. By default the ranks divide the free
        memory of this machine, and each has a GPU like the one that is open.
    seconds_build
        Seconds that this process took to compile kernels, which a run does not need again.
    say
        Says how far reading is.

    Raises
    ------
    InputError
        The instance is bad, or the job does not fit it.
    """
    starting = (process_age() - seconds_build) * (MPI_START if ranks > 1 else 1)
    begun = time.perf_counter()
    planned = read_planned(job, job.settings.output, lambda judge: read_reporting(job, say, judge.precision()))
    phases = Phases(starting, time.perf_counter() - begun)
    device, fault = _device_of_a_rank(planned.job, ranks)
    with device or nullcontext():
        info = device.info if device else ONE_CORE
        plan = planned.solver.plan(planned.statement, ranks, info, job.settings.stop)
        free = _free_for(plan, ranks, device) if memory is None else memory
        if plan.otherwise and max(plan.needed) > free:
            why = plan.otherwise.note.removeprefix("method: ")
            plan = replace(plan.otherwise, details={**plan.otherwise.details, "method": why})
            free = _free_for(plan, ranks, device) if memory is None else memory
        once = plan.shared_bytes
        process = process_bytes(plan.needed[0] if info.kind == "cpu" else plan.host_bytes[0] + once)
        process += MPI_BYTES if ranks > 1 else 0
        phases = with_trial(phases, planned, ranks, device, plan.method) if device else replace(phases, fault=fault)
    threads = f"{counted(info.threads, 'thread')} of " if info.kind == "cpu" and device else ""
    name = f"{threads}{info.name or 'one CPU core'}"
    return Forecast(planned.job, planned.instance, plan, free, process, name, phases)


def _free_for(plan: Plan, ranks: int, device: Device | None) -> int:
    """Return the bytes that are free for each rank, counted as `Plan.needed`: of this machine and a GPU like this."""
    if device is None or device.info.kind == "cpu":
        once = plan.shared_bytes
        return once + max(0, available_memory() - once) // ranks
    own = memory_of(device)
    return min(free_bytes(plan, [replace(own, device_uuid=str(rank)) for rank in range(ranks)]))


def _device_of_a_rank(job: Job, ranks: int) -> tuple[Device | None, str]:
    """Return the device of one of the ranks that divide this machine's cores, or None and why there is none."""
    settings = job.settings
    try:
        device, _ = open_device(settings.device, SerialComm(), threads=settings.threads)
        if settings.threads is None and ranks > 1:
            threads = max(1, device.info.threads // ranks)
            device.close()
            device, _ = open_device(settings.device, SerialComm(), threads=threads)
    except HpcsolveError as error:
        return None, str(error)
    return device, ""


def process_age() -> float:
    """Return the seconds since this process was started."""
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")


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


def with_trial(phases: Phases, planned: PlannedRun, ranks: int, device: Device, method: str = "") -> Phases:
    """Return the phases with the time of solving, checking and writing, from a trial on a rank's device."""
    settings = planned.job.settings
    try:
        trial = planned.solver.trial(planned.statement, settings.stop, ranks, device, settings.seed, method)
        checking, writing = _afterwards(planned, trial, device)
    except HpcsolveError as error:
        return replace(phases, fault=str(error))
    return replace(phases, trial=trial, checking=checking, writing=writing)


def _afterwards(planned: PlannedRun, trial: Trial, device: Device) -> tuple[float, float]:
    """Return the seconds that checking and writing the whole answer take, extrapolated from the trial's answer."""
    stated = trial.statement
    job = replace(planned.job.with_settings(threads=device.info.threads), parameters=stated.parameters)
    comm, tables = SerialComm(), [*trial.outcome.rows.values(), *trial.tables]
    with tempfile.TemporaryDirectory() as folder:
        small = replace(planned, job=job, instance=replace(planned.instance, problem=stated.problem), statement=stated,
                        output=str(Path(folder) / "trial.h5"))
        begun = time.perf_counter()
        row = rank_row(device, "", trial.outcome, {})
        done = conclude(small, trial.outcome, row, device.info, comm, Log(1), keep=False)
        both = time.perf_counter() - begun
    assert done.contents is not None
    writing = float(done.contents.value("ranks", "seconds_write")[0])
    begun = time.perf_counter()
    for table in tables:  # compressed again: only this part of writing grows with the rows
        deque(Chunks(table).receive(comm, device.info.threads), maxlen=0)
    compressing = time.perf_counter() - begun
    included = 0.0 if trial.tables else min(writing, compressing)  # of it in `writing`
    return both - writing, writing - included + compressing * trial.row_ratio


def _range(counts: Sequence[int]) -> str:
    """Return the smallest and the largest number of bytes in words: `1.5 MiB (1,048,576 to 1,572,864 bytes)`."""
    low, high = min(counts), max(counts)
    exact = f"{high:,} bytes" if low == high else f"{low:,} to {high:,} bytes"
    return exact if high < 1024 else f"{size(high)} ({exact})"


def parsed_size(text: str) -> int:
    """Return the number of bytes that a text such as `80G`, `512 MiB` or `1e9` means. K, M, G, T are powers of 1024.

    Raises
    ------
    ValueError
        The text is not such a size.
    """
    plain = text.strip().upper().removesuffix("IB").removesuffix("B").strip()
    power = "KMGT".find(plain[-1:]) + 1 if plain[-1:] else 0
    number = float(plain[:-1] if power else plain) * 1024**power
    if not 0 < number < 2**60:
        raise ValueError(text)
    return int(number)

"""Opens the checkpoints of a run: finds the last whole one, takes the lease, and computes the deadline."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import hpcsolve
from hpcsolve.checkpoint import store
from hpcsolve.checkpoint.checkpoints import Checkpoints, Pace, Watchdog, Writer, remove_checkpoints
from hpcsolve.checkpoint.saved import Saved, newest
from hpcsolve.checkpoint.store import LeaseLost, take_lease
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.output.log import Log
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.interrupts import Interrupts
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.runner.planned import PlannedRun
from hpcsolve.wording import warn

SLURM_END = "SLURM_JOB_END_TIME"
"""When Slurm will end the job, in seconds since 1970."""
SLURM_MARGIN = 10.0
"""Seconds before the end of the Slurm job by which a run must be over, so that the job script can requeue it."""


@dataclass(frozen=True)
class CheckpointOptions:
    """The user's options for checkpoints and stopping.

    Attributes
    ----------
    folder
        Where the folder of the checkpoints is made; None: beside the output.
    interval
        Seconds between checkpoints; None: chosen so that they take little of the time; infinite: none are written.
    deadline
        Seconds from the start within which the run must be over; None: before the end of the Slurm job, if any.
    hang_timeout
        Seconds without progress after which a rank prints its stacks and ends the run; None: never.
    overwrite
        Whether checkpoints of another job are removed instead of refused.
    """

    folder: str | None = None
    interval: float | None = None
    deadline: float | None = None
    hang_timeout: float | None = None
    overwrite: bool = False


NO_CHECKPOINTS = CheckpointOptions(interval=math.inf, deadline=math.inf)


def folder_of(planned: PlannedRun, options: CheckpointOptions) -> Path | None:
    """Return the folder of a run's checkpoints, or None if it writes none."""
    writes = options.interval != math.inf and (planned.output or options.folder)
    if not writes or not planned.solver.can_resume(planned.job.parameters):
        return None
    output = Path(planned.output or f"{planned.hash[:16]}.h5")
    return (Path(options.folder) if options.folder else output.parent) / f"{output.name}.checkpoint"


def forget_finished(planned: PlannedRun, options: CheckpointOptions) -> None:
    """Remove the checkpoints of a finished job. A kill just before the end of its run may have left them."""
    folder = folder_of(planned, options)
    if folder is not None and folder.is_dir() and not _foreign(folder, planned):
        remove_checkpoints(folder, warn)


def saved_in(folder: Path, planned: PlannedRun, overwrite: bool, comm: Comm, log: Log) -> Saved | None:
    """Return the checkpoint from which the run goes on, or None. Collective.

    Raises
    ------
    InputError
        The folder holds checkpoints of another job, or of another version of hpcsolve.
    DamagedFileError
        It has checkpoints, and all of them are damaged.
    """
    on_rank_0(comm, lambda: _refuse_foreign(folder, planned, overwrite))
    saved = newest(folder, comm, lambda line: warn(f"hpcsolve: {line}") if comm.rank == 0 else None)
    if saved is not None:
        log.say(f"resume: {saved.manifest.words}, from {folder}")
    return saved


def open_checkpoints(
    planned: PlannedRun, options: CheckpointOptions, deadline: float | None, comm: Comm, interrupts: Interrupts,
    watchdog: Watchdog | None, log: Log,
) -> Checkpoints:
    """Return the checkpoints of a run, after taking the lease of their folder. Collective.

    Parameters
    ----------
    deadline
        When the run must be over, on the clock `time.monotonic`; None: never.
    """
    folder = folder_of(planned, options)
    saved = saved_in(folder, planned, options.overwrite, comm, log) if folder else None
    lease = on_rank_0(comm, lambda: take_lease(folder)) if folder else None
    writer = Writer(folder, comm, lease, planned.hash, saved) if folder else None
    stoppable = folder is not None or planned.has_partial_answers
    pace = Pace(options.interval, deadline if stoppable else None)
    return Checkpoints(interrupted=interrupts.noted, saved=saved, writer=writer, pace=pace, note=log.note,
                       warn=warn if comm.rank == 0 else log.note, watchdog=watchdog)


@contextmanager
def no_empty_folder_on_error(checkpoints: Checkpoints, comm: Comm) -> Iterator[None]:
    """Remove the folder of the checkpoints if its block raises an error before any checkpoint was written."""
    try:
        yield
    except BaseException:
        writer = checkpoints.writer
        if comm.rank == 0 and writer and not writer.has_any:
            with suppress(LeaseLost):  # the folder is a later run's then
                writer.require_lease()
                remove_checkpoints(writer.folder, warn)
        raise


def deadline_of(options: CheckpointOptions, started: float) -> float | None:
    """Return when a run must be over, on the clock `time.monotonic`, or None if there is no deadline.

    Parameters
    ----------
    started
        When the run began, on that clock.
    """
    if options.deadline is not None:
        return started + options.deadline
    end = os.environ.get(SLURM_END, "")
    if not end.isascii() or not end.isdigit():
        return None
    return time.monotonic() + int(end) - time.time() - SLURM_MARGIN


def _refuse_foreign(folder: Path, planned: PlannedRun, overwrite: bool) -> None:
    found = _foreign(folder, planned)
    if found and not overwrite:
        way_out = "choose another --output or --checkpoint-dir, or remove them with --overwrite"
        raise InputError(f"{folder}: {found}; {way_out}")
    if found:
        remove_checkpoints(folder, warn)


def _foreign(folder: Path, planned: PlannedRun) -> str:
    """Return a message if a folder holds checkpoints of another job or version, or ""."""
    for number in store.generations(folder):
        try:
            manifest = store.read_manifest(folder, number)
        except DamagedFileError:
            continue
        if manifest.job != planned.hash:
            return "these are checkpoints of another job or instance"
        if manifest.version != hpcsolve.__version__:
            return f"these are checkpoints of hpcsolve {manifest.version}, and this is {hpcsolve.__version__}"
    return ""

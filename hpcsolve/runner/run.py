"""Runs a job, phase by phase. All ranks call these functions in the same order, unless a docstring says otherwise."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from hpcsolve.algorithms.base import TO_FILL_GPUS, WITHOUT_WORK, Outcome, Report, silent
from hpcsolve.checkpoint.checkpoints import Checkpoints, watched
from hpcsolve.checkpoint.saved import contradictions_refused
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.device.select import open_device
from hpcsolve.errors import Stopped
from hpcsolve.memory import peak_resident_memory
from hpcsolve.output.log import Log, Progress
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.interrupts import CTRL_C, Interrupts, let_kill
from hpcsolve.parallel.launch import STOPPED_EARLY, on_rank_0
from hpcsolve.replacing import make_folder
from hpcsolve.runner.announce import say_devices, say_end, say_existing, say_head
from hpcsolve.runner.checkpoints import (
    NO_CHECKPOINTS,
    CheckpointOptions,
    deadline_of,
    folder_of,
    forget_finished,
    no_empty_folder_on_error,
    open_checkpoints,
)
from hpcsolve.runner.conclude import Finished, conclude, exit_code_of_run, places_elsewhere
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.memory import check_memory, memory_line, memory_of, process_bytes, that_fits
from hpcsolve.runner.planned import PlannedRun

WILL_BE_WRITTEN = "hpcsolve: interrupted: {} will be written; another Ctrl-C ends the run at once"


def run_job(
    comm: Comm, read: Callable[[], PlannedRun], log: Log, before: Mapping[str, float] | None = None, *,
    keep: bool = False, signals: tuple[signal.Signals, ...] = CTRL_C, checkpointing: CheckpointOptions = NO_CHECKPOINTS,
    clock: float | None = None,
) -> Finished:
    """Run a job on all ranks.

    Parameters
    ----------
    read
        Returns the planned run. Called on rank 0 only.
    before
        Seconds of reading (`seconds_read`) and of building the kernels (`seconds_build`) that went before this call.
    keep
        Whether `Finished.contents` gets the values of large tables too.
    signals
        The signals that end a search with a checkpoint, or with its best answer so far, where the algorithm has one.
    checkpointing
        Options for checkpoints and stopping.
    clock
        As `Checkpoints.begun`.

    Raises
    ------
    InputError, ResourceError, EnvironmentFault
        The same error on every rank, raised before device memory is allocated.
    NotWritten, LeaseLost
        As `conclude`, at the end.
    """
    started, begun = time.perf_counter(), time.monotonic()
    planned = on_rank_0(comm, read)
    earlier = {"seconds_read": 0.0, "seconds_build": 0.0, **(before or {})}
    seconds = {"seconds_read": earlier["seconds_read"] + time.perf_counter() - started}
    if planned.existing is not None:
        return _existing(planned, checkpointing, comm, log)
    say_head(planned, comm, log)
    settings, started = planned.job.settings, time.perf_counter()
    device, reason = open_device(settings.device, comm, share_gpu=settings.share_gpu, threads=settings.threads)
    with device:
        seconds["seconds_build"] = earlier["seconds_build"] + time.perf_counter() - started
        say_devices(reason, comm, log)
        with (
            _interrupts(planned, checkpointing, signals, comm) as interrupts,
            watched(checkpointing.hang_timeout, f"rank {comm.rank} on {socket.gethostname()}") as watchdog,
        ):
            estimated = _check_estimate(planned, device, comm, log)
            deadline = deadline_of(checkpointing, begun)
            checkpoints = open_checkpoints(planned, checkpointing, deadline, comm, interrupts, watchdog, log)
            checkpoints.begun = clock
            with no_empty_folder_on_error(checkpoints, comm):
                try:
                    outcome, seconds["seconds_run"] = _run_algorithm(planned, device, comm, log, checkpoints)
                except Stopped as stopped:
                    return _stopped(stopped, checkpoints, log)
                say_end(outcome, log)
                for line in device.notes:
                    log.say(line)
                row = rank_row(device, reason, outcome, seconds) | {"estimated_bytes": estimated}
                writer = checkpoints.writer
                elsewhere = places_elsewhere(planned, writer.folder if writer else None)
                return conclude(planned, outcome, row, device.info, comm, log, keep, writer, elsewhere)


def _existing(planned: PlannedRun, checkpointing: CheckpointOptions, comm: Comm, log: Log) -> Finished:
    """Return the result of the same job, which the output holds already, and print it."""
    assert planned.existing_verdict is not None
    say_existing(planned, log)
    if comm.rank == 0:
        forget_finished(planned, checkpointing)
    return Finished(planned.existing if comm.rank == 0 else None, exit_code_of_run(planned.existing_verdict, True))


def _interrupts(
    planned: PlannedRun, checkpointing: CheckpointOptions, signals: tuple[signal.Signals, ...], comm: Comm
) -> Interrupts:
    """Return what notes the signals that stop a run. If the run has nothing to save, they end it at once instead."""
    best, kept = planned.has_partial_answers, folder_of(planned, checkpointing)
    if not best and kept is None:
        let_kill(*(one for one in signals if one not in CTRL_C))
        return Interrupts(())
    words = "the best answer so far" if best else "a checkpoint"
    return Interrupts(signals, WILL_BE_WRITTEN.format(words) if comm.rank == 0 else "")


def _stopped(stopped: Stopped, checkpoints: Checkpoints, log: Log) -> Finished:
    """Return the end of a run that was stopped without an answer, after saying from where it can go on."""
    where = checkpoints.writer.folder if checkpoints.writer else ""
    log.answer(f"stopped: {stopped}; the same command goes on from {where}")
    return Finished(None, STOPPED_EARLY)


def _check_estimate(planned: PlannedRun, device: Device, comm: Comm, log: Log) -> int:
    """Refuse a run that does not fit in memory, make the output's folder, and return this rank's estimated bytes."""
    memories = comm.gather(memory_of(device))
    needed = on_rank_0(comm, lambda: _needed_bytes(planned, memories or [], device.info, log))
    estimated = process_bytes(needed[comm.rank])
    log.note(f"memory of this rank: {estimated} bytes estimated, including the process before the run")
    return estimated


def _needed_bytes(planned: PlannedRun, memories: list[Any], info: DeviceInfo, log: Log) -> Sequence[int]:
    problem, kind = planned.instance.problem, kind_of(planned.job)
    estimate = that_fits(planned.solver.estimate(problem, planned.job.parameters, len(memories), info), memories)
    check_memory(estimate, memories, f"{kind.size(problem)} {kind.size_unit}", kind.size_unit)
    if planned.output is not None:
        make_folder(Path(planned.output))
    log.say(memory_line(estimate, memories))
    if idle := estimate.details.get(WITHOUT_WORK):
        log.say(f"idle:   {idle} of {len(memories)} ranks have no work: the problem is too small to share with so many")
    if more := estimate.details.get(TO_FILL_GPUS):
        log.say(f"idle:   most of a GPU has no work: {more} would fill {'it' if len(memories) == 1 else 'all of them'}")
    return estimate.needed


def _run_algorithm(
    planned: PlannedRun, device: Device, comm: Comm, log: Log, checkpoints: Checkpoints
) -> tuple[Outcome, float]:
    started, solver, settings = time.perf_counter(), planned.solver, planned.job.settings
    with Progress(log) if comm.rank == 0 else nullcontext() as progress:
        report: Report = progress or silent
        with contradictions_refused(checkpoints.saved):
            outcome = solver.run(planned.instance.problem, device, comm, planned.job.parameters, report, settings.stop,
                                 settings.seed, checkpoints)
    return outcome, time.perf_counter() - started


def rank_row(device: Device, reason: str, outcome: Outcome, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return this rank's row of `/ranks`."""
    own = {"host": socket.gethostname(), "device": f"{device.info.name}: {reason}", "uuid": device.info.uuid}
    peaks = {"peak_bytes": device.memory_peak, "peak_resident_bytes": peak_resident_memory()}
    return {**own, **peaks, **outcome.rank, **seconds}

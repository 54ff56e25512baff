"""Runs a job, phase by phase. All ranks call these functions in the same order, unless a docstring says otherwise."""

from __future__ import annotations

import math
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hpcsolve
from hpcsolve.algorithms.base import TO_FILL_GPUS, WITHOUT_WORK, Outcome, Report, silent
from hpcsolve.checkpoint import store
from hpcsolve.checkpoint.checkpoints import Checkpoints, Pace, Writer, remove_checkpoints, watched
from hpcsolve.checkpoint.saved import Saved, contradictions_refused, newest
from hpcsolve.checkpoint.store import LeaseLost, take_lease
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.device.declaration import for_host
from hpcsolve.device.select import open_device
from hpcsolve.errors import DamagedFileError, InputError, NoAnswer, Stopped
from hpcsolve.memory import peak_resident_memory
from hpcsolve.output.log import Log, Progress
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.interrupts import CTRL_C, Interrupts, let_kill
from hpcsolve.parallel.launch import STOPPED_EARLY, on_rank_0
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.rounding import decimals_of, unit_text
from hpcsolve.replacing import make_folder
from hpcsolve.runner.conclude import Finished, conclude, exit_code_of_run, places_elsewhere, say_checked
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.memory import check_memory, memory_line, memory_of, process_bytes, that_fits
from hpcsolve.runner.planned import PlannedRun
from hpcsolve.wording import counted, warn

SLURM_END = "SLURM_JOB_END_TIME"
"""When Slurm will end the job, in seconds since 1970."""
SLURM_MARGIN = 10.0
"""Seconds before the end of the Slurm job by which a run must be over, so that the job script can requeue it."""
WILL_BE_WRITTEN = "hpcsolve: interrupted: {} will be written; another Ctrl-C ends the run at once"


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
    folder = checkpoint_folder(planned, checkpointing)
    if planned.existing is not None:
        return _existing(planned, folder, comm, log)
    _say_head(planned, comm, log)
    settings, started = planned.job.settings, time.perf_counter()
    device, reason = open_device(settings.device, comm, share_gpu=settings.share_gpu, threads=settings.threads)
    with device:
        seconds["seconds_build"] = earlier["seconds_build"] + time.perf_counter() - started
        _say_devices(planned, device.info, reason, comm, log)
        with (
            _interrupts(planned, folder, signals, comm) as interrupts,
            watched(checkpointing.hang_timeout, f"rank {comm.rank} on {socket.gethostname()}") as watchdog,
        ):
            estimated, method, note = _check_memory(planned, device, comm, log)
            pace = Pace(checkpointing.interval, _deadline(checkpointing, begun, folder, planned))
            saved, writer = (_saved_and_writer(folder, planned, checkpointing.overwrite, comm, log) if folder else
                             (None, None))
            if note and saved is None and comm.rank == 0:  # a run from a checkpoint keeps to its method
                device.notes.append(note)
            checkpoints = Checkpoints(interrupts.noted, saved, writer, pace, log.note,
                                      warn if comm.rank == 0 else log.note, watchdog, begun=clock)
            with no_empty_folder_on_error(checkpoints, comm):
                try:
                    outcome, seconds["seconds_run"] = _run_algorithm(planned, method, device, comm, log, checkpoints)
                except Stopped as stopped:
                    log.answer(f"stopped: {stopped}; the same command goes on from {folder or ''}")
                    log.values({"file": None, "passed": None, "reason": f"stopped: {stopped}", "complete": False,
                                "answer": None})
                    return Finished(None, STOPPED_EARLY)
                except NoAnswer as ended:
                    if writer is None or not writer.has_any:
                        raise
                    raise NoAnswer(f"{ended} and begin anew with --overwrite, or go on from {writer.folder} with the "
                                   "same command") from None
                for line in ([f"stopped: {outcome.ended}"] if outcome.ended else []) + device.notes:
                    log.say(line)
                row = rank_row(device, reason, outcome, seconds) | {"estimated_bytes": estimated}
                elsewhere = places_elsewhere(planned, folder)
                return conclude(planned, outcome, row, device.info, comm, log, keep, writer, elsewhere)


def checkpoint_folder(planned: PlannedRun, options: CheckpointOptions) -> Path | None:
    """Return the folder of a run's checkpoints, or None if it writes none."""
    writes = options.interval != math.inf and (planned.output or options.folder)
    if not writes or not planned.job.parameters.can_resume():
        return None
    output = Path(planned.output or f"{planned.hash[:16]}.h5")
    return (Path(options.folder) if options.folder else output.parent) / f"{output.name}.checkpoint"


def _existing(planned: PlannedRun, folder: Path | None, comm: Comm, log: Log) -> Finished:
    """Return the result of the same job, which the output holds already, and print it.

    Checkpoints of the job are removed. A kill just before the end of its run may have left them.
    """
    assert planned.existing is not None and planned.existing_verdict is not None
    log.say(f"{planned.output}: this job is done already; its result:")
    say_checked(planned, planned.existing, planned.existing_verdict, log, Path(planned.output or ""))
    log.answer(f"file:   {planned.output}")
    if comm.rank == 0 and folder is not None and folder.is_dir() and not _foreign(folder, planned):
        remove_checkpoints(folder, warn)
    return Finished(planned.existing if comm.rank == 0 else None, exit_code_of_run(planned.existing_verdict, True))


def _say_head(planned: PlannedRun, comm: Comm, log: Log) -> None:
    """Say what is solved, what is worth a note in it, on which ranks, and what in the output will be replaced.

    Collective.
    """
    what = kind_of(planned.job).headline(planned.instance.problem)
    log.say(f"hpcsolve {hpcsolve.__version__}: {planned.job.settings.algorithm}, {what}")
    for line in notes_on(planned.instance.problem) if comm.rank == 0 else ():
        log.say(line)
    values = kind_of(planned.job).values(planned.instance)
    if values["rounded_to"] is not None:
        unit = unit_text(decimals_of(values["rounded_to"]) or 0)
        log.say(f"costs:  rounded to {unit}; the answer's exact cost stands beside the rounded one")
    hosts = comm.allgather(socket.gethostname())
    where = ", ".join(f"{hosts.count(host)} on {host}" for host in dict.fromkeys(hosts))
    log.say(f"ranks:  {comm.size} ({where})")
    if planned.earlier is not None and not planned.earlier.complete:
        log.say(f"output: {planned.output} holds a result of this job, {planned.earlier.in_words}; "
                "a complete result or a better one will replace it")


def _say_devices(planned: PlannedRun, info: DeviceInfo, reason: str, comm: Comm, log: Log) -> None:
    """Say which device each rank uses, and why, and which parts of the job run on GPUs. Collective."""
    reasons = comm.allgather(reason)
    for text in dict.fromkeys(reasons):
        ranks = [rank for rank, other in enumerate(reasons) if other == text]
        who = "every rank" if len(ranks) == comm.size else f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
        log.say(f"device: {who}: {text}")
    log.note(f"device of this rank: {reason}")
    if info.kind == "cuda":
        log.say(_parts_line(planned))


def _parts_line(planned: PlannedRun) -> str:
    """Return where the files of cuda_src run that a job may load, if its device is a GPU."""
    job = planned.job
    files = planned.solver.kernels_of(job.parameters, job.settings.instance, job.settings.stop)
    cores = planned.solver.cores
    on_gpu = ", ".join(file for file in files if not for_host(file) and cores.get(file, True))
    on_host = ", ".join([*(file for file in files if for_host(file) or file in cores), "Python"])
    little = planned.solver.little_for_a_gpu(job.parameters)
    needless = f"; {little} computes nearly all on the host's cores, and needs no GPU" if little else ""
    parts = f"on the GPU{', as needed: ' + on_gpu if on_gpu else ' nothing'}; on the host's cores: {on_host}"
    return f"parts:  {parts}{needless}"


def _interrupts(
    planned: PlannedRun, folder: Path | None, signals: tuple[signal.Signals, ...], comm: Comm
) -> Interrupts:
    """Return what notes the signals that stop a run. If the run has nothing to save, they end it at once instead."""
    best = planned.has_partial_answers
    if not best and folder is None:
        let_kill(*(one for one in signals if one not in CTRL_C))
        return Interrupts(())
    words = "the best answer so far" if best else "a checkpoint"
    return Interrupts(signals, WILL_BE_WRITTEN.format(words) if comm.rank == 0 else "")


def _check_memory(planned: PlannedRun, device: Device, comm: Comm, log: Log) -> tuple[int, str, str]:
    """Refuse a run that does not fit in memory, and make the output's folder.

    Return this rank's estimated bytes, and method and note of the plan that fits.
    """
    memories = comm.gather(memory_of(device))
    needed, method, note = on_rank_0(comm, lambda: _needed_bytes(planned, memories or [], device.info, log))
    estimated = process_bytes(needed[comm.rank])
    log.note(f"memory of this rank: {estimated} bytes estimated, including the process before the run")
    return estimated, method, note


def _needed_bytes(
    planned: PlannedRun, memories: list[Any], info: DeviceInfo, log: Log
) -> tuple[Sequence[int], str, str]:
    problem, kind = planned.instance.problem, kind_of(planned.job)
    first = planned.solver.plan(planned.statement, len(memories), info, planned.job.settings.stop)
    plan = that_fits(first, memories)
    check_memory(plan, memories, counted(kind.size(problem), kind.size_noun), kind.size_noun)
    if planned.output is not None:
        make_folder(Path(planned.output))
    log.say(memory_line(plan, memories))
    if idle := plan.details.get(WITHOUT_WORK):
        log.say(f"idle:   {idle} of {len(memories)} ranks have no work: the problem is too small to share with so many")
    if more := plan.details.get(TO_FILL_GPUS):
        log.say(f"idle:   most of a GPU has no work: {more} would fill {'it' if len(memories) == 1 else 'all of them'}")
    return plan.needed, plan.method, plan.note


def _deadline(options: CheckpointOptions, begun: float, folder: Path | None, planned: PlannedRun) -> float | None:
    """Return when a run must be over, on the clock `time.monotonic`, or None if there is no deadline.

    There is none for a run that would have nothing to show for its time: no checkpoint and no answer.

    Parameters
    ----------
    begun
        When the run began, on that clock.
    """
    if folder is None and not planned.has_partial_answers:
        return None
    if options.deadline is not None:
        return begun + options.deadline
    end = os.environ.get(SLURM_END, "")
    if not end.isascii() or not end.isdigit():
        return None
    return time.monotonic() + int(end) - time.time() - SLURM_MARGIN


def _saved_and_writer(
    folder: Path, planned: PlannedRun, overwrite: bool, comm: Comm, log: Log
) -> tuple[Saved | None, Writer]:
    """Return the checkpoint from which the run goes on, or None, and what writes more, which has taken the lease.

    Collective.

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
    lease = on_rank_0(comm, lambda: take_lease(folder))
    return saved, Writer(folder, comm, lease, planned.hash, saved)


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


def _run_algorithm(
    planned: PlannedRun, method: str, device: Device, comm: Comm, log: Log, checkpoints: Checkpoints
) -> tuple[Outcome, float]:
    started, solver, settings = time.perf_counter(), planned.solver, planned.job.settings
    with Progress(log) if comm.rank == 0 else nullcontext() as progress:
        report: Report = progress or silent
        with contradictions_refused(checkpoints.saved):
            outcome = solver.run(planned.statement, device, comm, report, settings.stop, settings.seed, checkpoints,
                                 method)
    return outcome, time.perf_counter() - started


def rank_row(device: Device, reason: str, outcome: Outcome, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return this rank's row of `/ranks`."""
    own = {"host": socket.gethostname(), "device": f"{device.info.name}: {reason}", "uuid": device.info.uuid}
    times = {"seconds_copy": device.seconds_copy, "seconds_kernel": device.seconds_kernel}
    peaks = {"peak_bytes": device.memory_peak, "peak_resident_bytes": peak_resident_memory()}
    return {**own, **peaks, **times, **outcome.rank, **seconds}

"""Runs a job. All ranks call every function here in the same order, unless it says otherwise."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import hpcsolve
from hpcsolve.algorithms.base import WITHOUT_WORK, Algorithm, Outcome, Report, silent
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.dataset import Column
from hpcsolve.answers.table import DistanceTable, gathered, spread
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.device.memory import peak_resident_memory
from hpcsolve.device.select import fair_share, open_device
from hpcsolve.output.chunks import chunks, send
from hpcsolve.output.contents import Contents
from hpcsolve.output.hdf5 import file_image, make_folder, write_bytes
from hpcsolve.output.log import Log
from hpcsolve.output.progress import Progress
from hpcsolve.output.provenance import provenance, started_as
from hpcsolve.output.schema import require_whole
from hpcsolve.output.tables import Written, write_with_tables
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.runner.check import check
from hpcsolve.runner.collect import contents_of
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.memory import check_memory, memory_line, memory_of
from hpcsolve.runner.summary import seconds_line
from hpcsolve.runner.task import Task

CHECK_FAILED = 1


@dataclass(frozen=True)
class Finished:
    """The result and the exit code of a run. Only rank 0 has `contents`."""

    contents: Contents | None
    exit_code: int


def run_task(
    comm: Comm, read: Callable[[], Task], log: Log, seconds_build: float = 0.0, *, keep: bool = False
) -> Finished:
    """Run a job on all ranks.

    Parameters
    ----------
    read
        Makes the task; called on rank 0.
    seconds_build
        What building the kernels ahead took.
    keep
        Large tables are wanted in `Finished.contents` too.

    Raises
    ------
    InputError, ResourceError, EnvironmentFault
        The same on every rank, before device memory is taken, but for a disk that fills up.
    """
    started = time.perf_counter()
    task = on_rank_0(comm, read)
    seconds = {"seconds_read": time.perf_counter() - started}
    if task.finished is not None:
        return _print_again(task, comm, log)
    _say_head(task, comm, log)
    settings, started = task.job.settings, time.perf_counter()
    device, reason = open_device(settings.device, comm, share_gpu=settings.share_gpu, threads=settings.threads)
    with device:
        seconds["seconds_build"] = seconds_build + time.perf_counter() - started
        _say_devices(reason, comm, log)
        foreseen = _check_estimate(task, device, comm, log)
        outcome, seconds["seconds_run"] = _run_algorithm(task, device, comm, log)
        row = _rank_row(device, reason, outcome, seconds) | {"estimated_bytes": foreseen}
        return _finish(task, outcome, row, device, comm, log, keep)


def _print_again(task: Task, comm: Comm, log: Log) -> Finished:
    assert task.finished is not None and task.verdict is not None
    log.say(f"{task.output}: this job is done already; its result:")
    for line in require_whole(task.finished, str(task.output)).lines(task.finished):
        log.answer(line)
    log.answer(f"check:  {task.verdict}")
    log.answer(f"file:   {task.output}")
    return Finished(task.finished if comm.rank == 0 else None, CHECK_FAILED if task.verdict.passed is False else 0)


def _say_head(task: Task, comm: Comm, log: Log) -> None:
    what = kind_of(task.job).headline(task.instance.problem)
    log.say(f"hpcsolve {hpcsolve.__version__}: {task.job.settings.algorithm}, {what}")
    hosts = comm.allgather(socket.gethostname())
    where = ", ".join(f"{hosts.count(host)} on {host}" for host in dict.fromkeys(hosts))
    log.say(f"ranks:  {comm.size} ({where})")


def _say_devices(reason: str, comm: Comm, log: Log) -> None:
    reasons = comm.allgather(reason)
    for text in dict.fromkeys(reasons):
        ranks = [rank for rank, other in enumerate(reasons) if other == text]
        who = "every rank" if len(ranks) == comm.size else f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
        log.say(f"device: {who}: {text}")
    log.note(f"device of this rank: {reason}")


def _check_estimate(task: Task, device: Device, comm: Comm, log: Log) -> int:
    """Refuse a run that does not fit, make the output's folder, and return the bytes foreseen for this rank."""
    memories = comm.gather(memory_of(device))
    needed = on_rank_0(comm, lambda: _foreseen(task, memories or [], device.info, log))
    foreseen = needed[comm.rank] + peak_resident_memory()
    log.note(f"memory of this rank: {foreseen} bytes foreseen, the process as it is included")
    return foreseen


def _foreseen(task: Task, memories: list[Any], info: DeviceInfo, log: Log) -> Sequence[int]:
    problem, kind = task.instance.problem, kind_of(task.job)
    estimate = _solver(task).estimate(problem, task.job.parameters, len(memories), info)
    check_memory(estimate, memories, f"{kind.size(problem)} {kind.size_unit}", kind.size_unit)
    if task.output is not None:
        make_folder(Path(task.output))
    log.say(memory_line(estimate, memories))
    if idle := estimate.details.get(WITHOUT_WORK):
        log.say(f"idle:   {idle} of {len(memories)} ranks have no work: the problem is too small to share with so many")
    return estimate.needed


def _run_algorithm(task: Task, device: Device, comm: Comm, log: Log) -> tuple[Outcome, float]:
    started = time.perf_counter()
    progress = Progress(log) if comm.rank == 0 else None
    report: Report = progress or silent
    try:
        settings, parameters, problem = task.job.settings, task.job.parameters, task.instance.problem
        outcome = _solver(task).run(problem, device, comm, parameters, report, settings.stop, settings.seed)
    finally:
        if progress:
            progress.close()
    return outcome, time.perf_counter() - started


def _rank_row(device: Device, reason: str, outcome: Outcome, seconds: Mapping[str, float]) -> dict[str, Any]:
    own = {"host": socket.gethostname(), "device": f"{device.info.name}: {reason}", "uuid": device.info.uuid}
    peaks = {"peak_bytes": device.memory_peak, "peak_resident_bytes": peak_resident_memory()}
    return {**own, **peaks, **outcome.rank, **seconds}


def _finish(task: Task, outcome: Outcome, row: dict[str, Any], device: Device, comm: Comm, log: Log, keep: bool
            ) -> Finished:
    """Check the answer on all ranks, then gather, write and print it on rank 0."""
    verdict = check(task, outcome, comm)
    rows, tables = comm.gather(row), {name: spread(table, comm) for name, table in outcome.rows.items()}
    streams = tables if task.output is not None else {}
    threads = _own_threads(task, comm) if streams else 0
    contents: list[Contents] = []

    def conclude() -> None:
        sources = provenance(device.info, comm.mpi_library, _solver(task).kernel_files, started_as())
        arriving = {name: (table, chunks(table, comm, threads)) for name, table in streams.items()}
        try:
            contents.append(_write(task, outcome, verdict, rows or [], sources, tables, arriving))
        finally:
            for _, left in arriving.values():
                deque(left, maxlen=0)  # the other ranks must not wait for ever
        _say_answer(task, contents[0], verdict, log)

    if comm.rank != 0:
        for table in streams.values():
            send(table, comm, threads)
    on_rank_0(comm, conclude)
    kept = {name: _whole(table, comm) for name, table in tables.items()} if keep else {}
    made = _with_tables(contents[0], kept) if contents else None
    return Finished(made, CHECK_FAILED if verdict.passed is False else 0)


def _whole(table: DistanceTable, comm: Comm) -> Column | None:
    """Return the table with all rows on rank 0, and None on other ranks. Collective."""
    values = gathered(table, comm)
    return None if values is None else Column(values, table.dataset.description, table.dataset.unit)


def _own_threads(task: Task, comm: Comm) -> int:
    """Return how many threads may compress for this rank: its share of the cores, at most what the job allows."""
    cores, _ = fair_share(comm, socket.gethostname())
    return max(1, min(cores, task.job.settings.threads or cores))


def _write(
    task: Task, outcome: Outcome, verdict: Verdict, rows: list[dict[str, Any]], sources: Mapping[str, Column],
    tables: Mapping[str, DistanceTable], arriving: Mapping[str, Written],
) -> Contents:
    """Return the contents of the result, written if there is an output."""
    started = time.perf_counter()

    def contents() -> Contents:
        rows[0]["seconds_write"] = time.perf_counter() - started
        return contents_of(task, outcome, verdict.passed is True, rows, sources, tables)

    if task.output is None:
        return contents()
    if arriving:
        return write_with_tables(Path(task.output), arriving, contents)
    file_image(contents())  # once to see how long it takes, once with that number in it
    final = contents()
    write_bytes(Path(task.output), file_image(final))
    return final


def _with_tables(contents: Contents, kept: Mapping[str, Column | None]) -> Contents:
    """Return the contents with whole tables in `/solution`."""
    columns = {name: column for name, column in kept.items() if column is not None}
    solution = {**contents.groups["solution"], **columns}
    return replace(contents, groups={**contents.groups, "solution": solution})


def _say_answer(task: Task, contents: Contents, verdict: Verdict, log: Log) -> None:
    for line in require_whole(contents, str(task.output)).lines(contents):
        log.answer(line)
    log.answer(f"check:  {verdict}")
    log.say(seconds_line(contents))
    if task.output is not None:
        log.answer(f"file:   {task.output}")


def _solver(task: Task) -> Algorithm:
    return algorithm(task.job.settings.algorithm)

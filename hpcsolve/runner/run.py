"""Runs a job, phase by phase. All ranks call these functions in the same order, unless a docstring says otherwise."""

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
from hpcsolve.answers.table import DistanceTable, gathered, with_row_ranges
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.device.memory import peak_resident_memory
from hpcsolve.device.select import fair_share, open_device
from hpcsolve.output.chunks import chunks, send
from hpcsolve.output.contents import Contents
from hpcsolve.output.hdf5 import file_image, make_folder, write_bytes
from hpcsolve.output.large_tables import ChunkedTable, write_with_tables
from hpcsolve.output.log import Log
from hpcsolve.output.progress import Progress
from hpcsolve.output.provenance import provenance, started_as
from hpcsolve.output.schema import require_whole
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.rounding import statement
from hpcsolve.runner.check import check
from hpcsolve.runner.collect import contents_of
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.memory import check_memory, memory_line, memory_of, process_bytes
from hpcsolve.runner.planned import PlannedRun
from hpcsolve.runner.timings import seconds_line

CHECK_FAILED = 1


@dataclass(frozen=True)
class Finished:
    """The result and the exit code of a run. Only rank 0 has `contents`."""

    contents: Contents | None
    exit_code: int


def run_job(
    comm: Comm, read: Callable[[], PlannedRun], log: Log, seconds_build: float = 0.0, *, keep: bool = False
) -> Finished:
    """Run a job on all ranks.

    Parameters
    ----------
    read
        Returns the planned run. Called on rank 0 only.
    seconds_build
        Seconds that building the kernels before MPI took.
    keep
        Whether `Finished.contents` gets the values of large tables too.

    Raises
    ------
    InputError, ResourceError, EnvironmentFault
        The same error on every rank. Except for a full disk, it is raised before device memory is allocated.
    """
    started = time.perf_counter()
    planned = on_rank_0(comm, read)
    seconds = {"seconds_read": time.perf_counter() - started}
    if planned.existing is not None:
        return _print_again(planned, comm, log)
    _say_head(planned, comm, log)
    settings, started = planned.job.settings, time.perf_counter()
    device, reason = open_device(settings.device, comm, share_gpu=settings.share_gpu, threads=settings.threads)
    with device:
        seconds["seconds_build"] = seconds_build + time.perf_counter() - started
        _say_devices(reason, comm, log)
        estimated = _check_estimate(planned, device, comm, log)
        outcome, seconds["seconds_run"] = _run_algorithm(planned, device, comm, log)
        row = rank_row(device, reason, outcome, seconds) | {"estimated_bytes": estimated}
        return finish(planned, outcome, row, device, comm, log, keep)


def _print_again(planned: PlannedRun, comm: Comm, log: Log) -> Finished:
    assert planned.existing is not None and planned.existing_verdict is not None
    log.say(f"{planned.output}: this job is done already; its result:")
    for line in require_whole(planned.existing, str(planned.output)).lines(planned.existing):
        log.answer(line)
    log.answer(f"check:  {planned.existing_verdict}")
    log.answer(f"file:   {planned.output}")
    exit_code = CHECK_FAILED if planned.existing_verdict.passed is False else 0
    return Finished(planned.existing if comm.rank == 0 else None, exit_code)


def _say_head(planned: PlannedRun, comm: Comm, log: Log) -> None:
    what = kind_of(planned.job).headline(planned.instance.problem)
    log.say(f"hpcsolve {hpcsolve.__version__}: {planned.job.settings.algorithm}, {what}")
    values = kind_of(planned.job).values(planned.instance)
    if values["rounded_to"] is not None:
        log.say(f"costs:  {statement(values['rounded_to'], values['rounding_error'] or 0.0)}")
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


def _check_estimate(planned: PlannedRun, device: Device, comm: Comm, log: Log) -> int:
    """Refuse a run that does not fit, make the output's folder, and return the bytes estimated for this rank."""
    memories = comm.gather(memory_of(device))
    needed = on_rank_0(comm, lambda: _needed_bytes(planned, memories or [], device.info, log))
    estimated = process_bytes(needed[comm.rank])
    log.note(f"memory of this rank: {estimated} bytes estimated, including the process before the run")
    return estimated


def _needed_bytes(planned: PlannedRun, memories: list[Any], info: DeviceInfo, log: Log) -> Sequence[int]:
    problem, kind = planned.instance.problem, kind_of(planned.job)
    estimate = _solver(planned).estimate(problem, planned.job.parameters, len(memories), info)
    check_memory(estimate, memories, f"{kind.size(problem)} {kind.size_unit}", kind.size_unit)
    if planned.output is not None:
        make_folder(Path(planned.output))
    log.say(memory_line(estimate, memories))
    if idle := estimate.details.get(WITHOUT_WORK):
        log.say(f"idle:   {idle} of {len(memories)} ranks have no work: the problem is too small to share with so many")
    return estimate.needed


def _run_algorithm(planned: PlannedRun, device: Device, comm: Comm, log: Log) -> tuple[Outcome, float]:
    started = time.perf_counter()
    progress = Progress(log) if comm.rank == 0 else None
    report: Report = progress or silent
    try:
        settings, parameters, problem = planned.job.settings, planned.job.parameters, planned.instance.problem
        outcome = _solver(planned).run(problem, device, comm, parameters, report, settings.stop, settings.seed)
    finally:
        if progress:
            progress.close()
    return outcome, time.perf_counter() - started


def rank_row(device: Device, reason: str, outcome: Outcome, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return this rank's row of `/ranks`."""
    own = {"host": socket.gethostname(), "device": f"{device.info.name}: {reason}", "uuid": device.info.uuid}
    peaks = {"peak_bytes": device.memory_peak, "peak_resident_bytes": peak_resident_memory()}
    return {**own, **peaks, **outcome.rank, **seconds}


def finish(planned: PlannedRun, outcome: Outcome, row: dict[str, Any], device: Device, comm: Comm, log: Log, keep: bool
            ) -> Finished:
    """Check the answer on all ranks, then gather, write and print it on rank 0."""
    started = time.perf_counter()
    verdict = check(planned, outcome, comm)
    row["seconds_check"] = time.perf_counter() - started
    rows, tables = comm.gather(row), {name: with_row_ranges(table, comm) for name, table in outcome.rows.items()}
    streams = tables if planned.output is not None else {}
    threads = _own_threads(planned, comm) if streams else 0
    contents: list[Contents] = []

    def conclude() -> None:
        sources = provenance(device.info, comm.mpi_library, _solver(planned).kernel_files, started_as())
        arriving = {name: (table, chunks(table, comm, threads)) for name, table in streams.items()}
        try:
            contents.append(_write(planned, outcome, verdict, rows or [], sources, tables, arriving))
        finally:
            for _, left in arriving.values():
                deque(left, maxlen=0)  # the other ranks must not wait for ever
        _say_answer(planned, contents[0], verdict, log)

    if comm.rank != 0:
        for table in streams.values():
            send(table, comm, threads)
    on_rank_0(comm, conclude)
    kept = {name: _whole(table, comm) for name, table in tables.items()} if keep else {}
    made = _with_tables(contents[0], kept) if contents else None
    return Finished(made, CHECK_FAILED if verdict.passed is False else 0)


def _whole(table: DistanceTable, comm: Comm) -> Column | None:
    """Return a table with the rows of all ranks on rank 0, and None on other ranks. Collective."""
    values = gathered(table, comm)
    if values is None:
        return None
    dataset = table.dataset
    return Column(values, dataset.description, dataset.unit, none=table.none, scaled=dataset.scaled)


def _own_threads(planned: PlannedRun, comm: Comm) -> int:
    """Return how many threads may compress for this rank: its share of the cores, or fewer if the job says so."""
    cores, _ = fair_share(comm, socket.gethostname())
    return max(1, min(cores, planned.job.settings.threads or cores))


def _write(
    planned: PlannedRun, outcome: Outcome, verdict: Verdict, rows: list[dict[str, Any]], sources: Mapping[str, Column],
    tables: Mapping[str, DistanceTable], arriving: Mapping[str, ChunkedTable],
) -> Contents:
    """Return the contents of the result, after writing them if there is an output."""
    started = time.perf_counter()

    def contents() -> Contents:
        rows[0]["seconds_write"] = time.perf_counter() - started
        return contents_of(planned, outcome, verdict.passed is True, rows, sources, tables)

    if planned.output is None:
        return contents()
    if arriving:
        return write_with_tables(Path(planned.output), arriving, contents)
    file_image(contents())  # made twice: `seconds_write` of the second one says how long the first one took
    final = contents()
    write_bytes(Path(planned.output), file_image(final))
    return final


def _with_tables(contents: Contents, kept: Mapping[str, Column | None]) -> Contents:
    """Return the contents with the values of the tables in `/solution`."""
    columns = {name: column for name, column in kept.items() if column is not None}
    solution = {**contents.groups["solution"], **columns}
    return replace(contents, groups={**contents.groups, "solution": solution})


def _say_answer(planned: PlannedRun, contents: Contents, verdict: Verdict, log: Log) -> None:
    for line in require_whole(contents, str(planned.output)).lines(contents):
        log.answer(line)
    log.answer(f"check:  {verdict}")
    log.say(seconds_line(contents))
    if planned.output is not None:
        log.answer(f"file:   {planned.output}")


def _solver(planned: PlannedRun) -> Algorithm:
    return algorithm(planned.job.settings.algorithm)

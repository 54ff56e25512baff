"""The end of a run: the answer is checked on all ranks, gathered, written and printed on rank 0."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import Outcome
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.dataset import Column
from hpcsolve.answers.table import DistanceTable, gathered, with_row_ranges
from hpcsolve.checkpoint.writer import Writer, remove_checkpoints
from hpcsolve.device.base import DeviceInfo
from hpcsolve.device.select import fair_share
from hpcsolve.output.chunks import chunks, send
from hpcsolve.output.contents import Contents
from hpcsolve.output.hdf5 import file_image
from hpcsolve.output.large_tables import ChunkedTable, write_with_tables
from hpcsolve.output.log import Log
from hpcsolve.output.provenance import provenance, started_as
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import STOPPED_EARLY, on_rank_0
from hpcsolve.parallel.printing import warn
from hpcsolve.replacing import write_bytes
from hpcsolve.runner.announce import say_answer
from hpcsolve.runner.check import check
from hpcsolve.runner.collect import contents_of
from hpcsolve.runner.planned import PlannedRun

CHECK_FAILED = 1


@dataclass(frozen=True)
class Finished:
    """The result and the exit code of a run. Only rank 0 has `contents`."""

    contents: Contents | None
    exit_code: int


def exit_code_of(verdict: Verdict, complete: bool) -> int:
    """Return the exit code of a run with this verdict on its answer."""
    if verdict.passed is False:
        return CHECK_FAILED
    return 0 if complete else STOPPED_EARLY


def conclude(planned: PlannedRun, outcome: Outcome, row: dict[str, Any], info: DeviceInfo, comm: Comm, log: Log,
             keep: bool, writer: Writer | None = None) -> Finished:
    """Check the answer on all ranks, then gather, write and print it on rank 0. Collective.

    Parameters
    ----------
    row
        This rank's row of `/ranks`.
    keep
        As in `run.run_job`.
    writer
        Writer of the run's checkpoints, which are removed when a complete result is written.

    Raises
    ------
    LeaseLost
        A later run of the job has taken over. Nothing is written.
    """
    started = time.perf_counter()
    verdict = check(planned, outcome, comm)
    row["seconds_check"] = time.perf_counter() - started
    rows = comm.gather(row)
    tables = {name: with_row_ranges(table, comm) for name, table in outcome.rows.items()}
    streams = tables if planned.output is not None else {}
    threads = _own_threads(planned, comm) if streams else 0
    contents: list[Contents] = []

    def write_and_say() -> None:
        sources = provenance(info, comm.mpi_library, planned.solver.kernel_files, started_as())
        arriving = {name: (table, chunks(table, comm, threads)) for name, table in streams.items()}
        try:
            if writer is not None:
                writer.require_lease()
            contents.append(_write(planned, outcome, verdict, rows or [], sources, tables, arriving))
        finally:
            for _, left in arriving.values():
                deque(left, maxlen=0)  # receive the rest, or the other ranks would wait for ever
        say_answer(planned, contents[0], verdict, log)
        if writer is not None and outcome.complete:
            remove_checkpoints(writer.folder, warn)

    if comm.rank != 0:
        for table in streams.values():
            send(table, comm, threads)
    on_rank_0(comm, write_and_say)
    kept = {name: _whole(table, comm) for name, table in tables.items()} if keep else {}
    result = _with_tables(contents[0], kept) if contents else None
    return Finished(result, exit_code_of(verdict, outcome.complete))


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
    """Return the contents of the result, after writing them if there is an output which they may replace."""
    started = time.perf_counter()

    def contents() -> Contents:
        rows[0]["seconds_write"] = time.perf_counter() - started
        return contents_of(planned, outcome, verdict.passed is True, rows, sources, tables)

    if planned.output is None or planned.keeps_earlier(contents()):
        return contents()
    if arriving:
        return write_with_tables(Path(planned.output), arriving, contents)
    final = contents()
    times = np.asarray(final.value("ranks", "seconds_write"))

    def noted_seconds() -> float:
        """Return the seconds of writing so far, and note them in the contents too."""
        times[0] = time.perf_counter() - started
        return float(times[0])

    write_bytes(Path(planned.output), file_image(final, noted_seconds))
    return final


def _with_tables(contents: Contents, kept: Mapping[str, Column | None]) -> Contents:
    """Return the contents with the values of the tables in `/solution`."""
    columns = {name: column for name, column in kept.items() if column is not None}
    solution = {**contents.groups["solution"], **columns}
    return replace(contents, groups={**contents.groups, "solution": solution})

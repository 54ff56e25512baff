"""The end of a run: the answer is checked on all ranks, gathered, written and printed on rank 0."""

from __future__ import annotations

import datetime
import os
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Outcome
from hpcsolve.answers import ANSWERS, answer_type_of_record
from hpcsolve.answers.base import Verdict, first_failure
from hpcsolve.answers.contents import Column, Contents, DistanceTable, columns, own_unit
from hpcsolve.checkpoint.checkpoints import Writer, remove_checkpoints
from hpcsolve.checkpoint.store import LeaseGone, LeaseLost
from hpcsolve.device.base import DeviceInfo
from hpcsolve.device.select import fair_share
from hpcsolve.errors import EnvironmentFault, HpcsolveError, InputError, NotWritten
from hpcsolve.output.hdf5 import file_image
from hpcsolve.output.large_tables import ChunkedTable, Chunks, write_with_tables
from hpcsolve.output.log import Log, duration
from hpcsolve.output.provenance import provenance, started_as
from hpcsolve.output.schema import FORMAT, FORMAT_VERSION, JOB_GROUP, RANKS_GROUP, answer_lines, answer_values
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import STOPPED_EARLY, on_rank_0
from hpcsolve.replacing import write_bytes
from hpcsolve.runner.kinds import instance_columns
from hpcsolve.runner.planned import PlannedRun, holds_answer
from hpcsolve.wording import warn

CHECK_FAILED = 1
PHASES = ("read", "build", "run", "kernel", "copy", "wait", "write")


@dataclass(frozen=True)
class Finished:
    """The result and the exit code of a run. Only rank 0 has `contents`."""

    contents: Contents | None
    exit_code: int


def exit_code_of_run(verdict: Verdict, complete: bool) -> int:
    """Return the exit code of a run with this verdict on its answer."""
    if verdict.passed is False:
        return CHECK_FAILED
    return 0 if complete else STOPPED_EARLY


def conclude(planned: PlannedRun, outcome: Outcome, row: dict[str, Any], info: DeviceInfo, comm: Comm, log: Log,
             keep: bool, writer: Writer | None = None, elsewhere: Sequence[Path] = ()) -> Finished:
    """Check the answer on all ranks, then gather, write and print it on rank 0. Collective.

    Parameters
    ----------
    row
        This rank's row of `/ranks`.
    keep
        As in `run.run_job`.
    writer
        Writer of the run's checkpoints, which are removed when a complete result is written.
    elsewhere
        Folders that are tried in turn if the output cannot be written. The result goes into a new folder there.

    Raises
    ------
    NotWritten
        The output could not be written. The answer was passed to the log all the same, and is the error's `result`.
    LeaseLost
        A later run of the job has taken over. Nothing is written.
    """
    started = time.perf_counter()
    verdict, question = check_answer(planned, outcome, comm)
    row["seconds_check"] = time.perf_counter() - started
    rows = comm.gather(row)
    tables = {name: table.with_row_ranges(comm) for name, table in outcome.rows.items()}
    result_writer = _ResultWriter(planned, outcome, verdict, rows or [], tables, list(elsewhere))

    def note() -> None:
        result_writer.sources = provenance(info, comm.mpi_library, planned.solver.kernel_files, started_as())
        if verdict.passed is not False:
            kind = answer_type_of_record(type(outcome.answer))
            result_writer.beside = kind.beside(planned.instance.problem, question, outcome.answer)

    def say() -> NotWritten | None:
        say_answer(planned, result_writer.contents(), verdict, log, result_writer.file)
        if writer is not None and outcome.complete and not result_writer.faults:
            remove_checkpoints(writer.folder, warn)
        return result_writer.not_written(elsewhere)

    on_rank_0(comm, note)
    if planned.output is not None:
        _write_collectively(result_writer, comm, writer)
    fault = on_rank_0(comm, say)
    whole = {name: table.gathered(comm) for name, table in tables.items()} if keep else {}
    result = _with_tables(result_writer.contents(), tables, whole) if rows else None
    if fault is not None:
        fault.result = result
        raise fault
    return Finished(result, exit_code_of_run(verdict, outcome.complete))


def check_answer(planned: PlannedRun, outcome: Outcome, comm: Comm) -> tuple[Verdict, Any]:
    """Return the verdict on a run's answer, and what was asked. Both are the same on every rank. Collective.

    The algorithm's own check comes first, then the check of the kind of answer.
    """
    wrong = first_failure(comm, outcome.wrong)
    if wrong is not None:
        return wrong, None
    # Rank 0 always has an answer. Other ranks may have no part of it.
    number = comm.bcast(ANSWERS.index(answer_type_of_record(type(outcome.answer))) if comm.rank == 0 else 0)
    question = planned.statement.question
    return ANSWERS[number].check(planned.instance.problem, question, outcome.answer, comm), question


def _write_collectively(result_writer: _ResultWriter, comm: Comm, writer: Writer | None) -> None:
    """Write the result on rank 0, to which the other ranks send their rows of tables once for each place that is tried.

    Collective.

    Raises
    ------
    LeaseLost
        A later run of the job has taken over, or another one has written its result.
    """
    tables, threads = result_writer.tables, 0
    if tables:  # compressed by this rank's share of the cores, or fewer if the job says so
        cores, _ = fair_share(comm, socket.gethostname())
        threads = max(1, min(cores, result_writer.planned.job.settings.threads or cores))

    def attempt() -> bool:
        arriving = {name: (table, Chunks(table).receive(comm, threads)) for name, table in tables.items()}
        try:
            return result_writer.attempt(arriving, writer)
        finally:
            for _, rest in arriving.values():
                for _ in rest:  # receive what the other ranks send, or they would wait for ever
                    pass

    over = False
    while not over:
        if comm.rank != 0:
            for table in tables.values():
                Chunks(table).send(comm, threads)
        over = on_rank_0(comm, attempt)


@dataclass
class _ResultWriter:
    """Writes the result of a run on rank 0: to its output or, if that fails, to the first other folder that takes it.

    Attributes
    ----------
    untried
        Other folders that have not been tried.
    sources
        The columns of `/provenance`.
    beside
        The groups that belong to the kind of answer, of an answer that has not failed its check.
    file
        Where the result is, or None if it is in no file.
    faults
        Why the output and other places did not take it.
    """

    planned: PlannedRun
    outcome: Outcome
    verdict: Verdict
    rows: list[dict[str, Any]]
    tables: Mapping[str, DistanceTable]
    untried: list[Path]
    sources: Mapping[str, Column] = field(default_factory=dict)
    beside: Mapping[str, Mapping[str, Column]] = field(default_factory=dict)
    file: Path | None = None
    faults: list[HpcsolveError] = field(default_factory=list)
    _contents: Contents | None = None

    def contents(self) -> Contents:
        """Return the contents of the result, those of the file if it is in one."""
        if self._contents is None:
            self._contents = self._contents_now(0.0)
        return self._contents

    def attempt(self, arriving: Mapping[str, ChunkedTable], writer: Writer | None) -> bool:
        """Try the next place, and return whether the result is written or no other place is left.

        Raises
        ------
        LeaseLost
            A later run of the job has taken over, or another one has written its result.
        """
        assert self.planned.output is not None
        output = Path(self.planned.output)
        try:
            if not self.faults:
                if writer is not None:
                    writer.require_lease()
                self._write(output, arriving)
            else:
                self._write_into(self.untried.pop(0), output.name, arriving)
        except LeaseLost as lost:
            if not isinstance(lost, LeaseGone) or holds_answer(self.planned):
                raise
            self.faults.append(lost)
        except (EnvironmentFault, InputError) as fault:
            self.faults.append(fault)
        return self.file is not None or not self.untried

    def not_written(self, elsewhere: Sequence[Path]) -> NotWritten | None:
        """Return the error of a run whose output could not be written, or None."""
        if not self.faults:
            return None
        if self.file is not None:
            return NotWritten(f"{self.faults[0]}; the result is in {self.file}")
        tried = f", nor could anything be written in {' or '.join(map(str, elsewhere))}" if elsewhere else ""
        return NotWritten(f"{self.faults[0]}{tried}; the answer is in no file: it is printed above, "
                          "and in Python it is the attribute `result` of this error")

    def _write_into(self, folder: Path, name: str, arriving: Mapping[str, ChunkedTable]) -> None:
        """Write the result into a new folder inside a folder, where no file can be in the way."""
        try:
            own = Path(tempfile.mkdtemp(prefix="hpcsolve-", dir=folder))
        except OSError as error:
            raise EnvironmentFault(f"{folder}: no folder can be made there: {error.strerror}") from None
        try:
            self._write(own / name, arriving)
        except BaseException:
            with suppress(OSError):
                own.rmdir()
            raise

    def _write(self, path: Path, arriving: Mapping[str, ChunkedTable]) -> None:
        """Write the result to a file, unless the output keeps an earlier one."""
        started = time.perf_counter()
        final = self._contents_now(time.perf_counter() - started)
        if self.planned.keeps_earlier(final):
            self._contents, self.file = final, path
            return
        if arriving:
            final = write_with_tables(path, arriving, lambda: self._contents_now(time.perf_counter() - started))
        else:
            times = np.asarray(final.value("ranks", "seconds_write"))

            def noted_seconds() -> float:
                """Return the seconds of writing so far, and note them in the contents too."""
                times[0] = time.perf_counter() - started
                return float(times[0])

            write_bytes(path, file_image(final, noted_seconds))
        self._contents, self.file = final, path

    def _contents_now(self, seconds_write: float) -> Contents:
        """Return the contents of the result, after so many seconds of writing, which are noted in `rows`."""
        self.rows[0]["seconds_write"] = seconds_write
        attributes = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "complete": self.outcome.complete,
            "algorithm": self.planned.job.settings.algorithm,
            "verified": self.verdict.passed is True,
        }
        if self.outcome.cost is not None:
            attributes["cost"] = own_unit(self.outcome.cost, self.planned.instance.problem.scale)
        groups = {
            "job": columns(JOB_GROUP, {"toml": self.planned.job.text(), "hash": self.planned.hash}),
            "instance": instance_columns(self.planned.job, self.planned.instance),
            "solution": self.outcome.solution,
            **self.beside,
            **self.outcome.groups,
            "ranks": rank_table(self.rows),
            "provenance": self.sources,
        }
        return Contents(attributes, groups, self.tables)


def gpu_line(ranks: Mapping[str, Column]) -> str:
    """Return what the ranks' GPUs did during the run, as shares of its time, or "" if no rank has one.

    A GPU that neither computes nor copies waits for other ranks or for the host, which may compute meanwhile. Copies
    that the host waits for count even while later kernels run, so the shares may come to more than the whole.
    """
    names = ("uuid", "seconds_run", "seconds_kernel", "seconds_copy")
    uuid, *seconds = (np.asarray(ranks[name].values) for name in names)
    with_gpu: NDArray[np.bool_] = uuid != ""
    run, kernel, copy = (float(each[with_gpu].sum()) for each in seconds)
    if not run:
        return ""
    computed, copied = (min(100.0, 100 * part / run) for part in (kernel, copy))
    shares = f"computed {computed:.0f} %, copied {copied:.0f} % and waited {max(0.0, 100 - computed - copied):.0f} %"
    return f"{'GPUs:' if with_gpu.sum() > 1 else 'GPU: '}   {shares} of the run's time"


def rank_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Return `/ranks` with one row per rank. Numbers that an algorithm does not give are 0."""
    types = {"text": object, "int64": np.int64, "float64": np.float64}
    found = {name: [row.get(name, 0) for row in rows] for name in RANKS_GROUP}
    values = {name: np.array(found[name], types[dataset.types]) for name, dataset in RANKS_GROUP.items()}
    return columns(RANKS_GROUP, values)


def _with_tables(
    contents: Contents, tables: Mapping[str, DistanceTable], whole: Mapping[str, NDArray[Any] | None]
) -> Contents:
    """Return the contents with the values of the tables, those of all ranks, in `/solution`."""
    solution = dict(contents.groups["solution"])
    for name, values in whole.items():
        assert values is not None  # on rank 0
        solution[name] = Column(values, tables[name].dataset, tables[name].none)
    return replace(contents, groups={**contents.groups, "solution": solution})


def places_elsewhere(planned: PlannedRun, checkpoints: Path | None) -> list[Path]:
    """Return the folders for the result if its output cannot be written: the checkpoints', `TMPDIR`, the home."""
    if planned.output is None:
        return []
    named = [] if checkpoints is None else [checkpoints.parent]
    named += [Path(os.environ.get("TMPDIR") or "/tmp"), Path(os.path.expanduser("~"))]
    output = Path(planned.output).absolute().parent
    return [folder for folder in dict.fromkeys(folder.absolute() for folder in named) if folder != output]


def say_checked(planned: PlannedRun, contents: Contents, verdict: Verdict, log: Log, file: Path | None) -> None:
    """Print the answer and the verdict on it: lines, or JSON with the file that has the answer, None for no file."""
    for line in answer_lines(contents, str(planned.output)):
        log.answer(line)
    log.answer(f"check:  {verdict}")
    if log.as_json:
        log.values({"file": file, "passed": verdict.passed, "reason": verdict.reason,
                    "complete": bool(contents.attributes["complete"]),
                    "answer": answer_values(contents, str(planned.output))})


def say_answer(planned: PlannedRun, contents: Contents, verdict: Verdict, log: Log, file: Path | None) -> None:
    """Print the answer, the verdict on it, the time of each phase on its slowest rank, and the file.

    Called on rank 0.

    Parameters
    ----------
    file
        Where the result is, or None if it was not written.
    """
    kept = file is not None and planned.keeps_earlier(contents)
    say_checked(planned, contents, verdict, log, None if kept else file)
    slowest = [duration(max(contents.value("ranks", f"seconds_{phase}", [0.0]), default=0.0)) for phase in PHASES]
    log.say("time:   read {}, build {}, run {} (kernel {}, copy {}, wait {}), write {}".format(*slowest))
    if line := gpu_line(contents.groups["ranks"]):
        log.say(line)
    if file is None:
        return
    if kept:
        assert planned.earlier is not None
        log.answer(f"file:   {planned.output} keeps the result of an earlier run ({planned.earlier.in_words})")
    else:
        rest = "" if contents.attributes["complete"] else ", not complete: the same job will run again and replace it"
        log.answer(f"file:   {file}{rest if str(file) == planned.output else ''}")

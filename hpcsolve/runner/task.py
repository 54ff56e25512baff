"""Reads a job with its instance on rank 0, and looks whether its result is there already."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcsolve.answers.base import Verdict
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import Job
from hpcsolve.job.load import pinned
from hpcsolve.output.contents import Contents
from hpcsolve.output.hdf5 import has_seal
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import require_whole
from hpcsolve.runner.kinds import kind_of, read_instance, require_kind
from hpcsolve.runner.verify import checked


@dataclass(frozen=True)
class Task:
    """What a run needs, the same on every rank.

    Attributes
    ----------
    hash
        Of the job, see `Job.hash`.
    output
        Path of the result file; None: none is written.
    finished
        The result, if `output` holds that of this very job.
    verdict
        On that result.
    """

    job: Job
    instance: InstanceOf[Any]
    hash: str
    output: str | None
    finished: Contents | None = None
    verdict: Verdict | None = None


def make_task(job: Job, overwrite: bool = False) -> Task:
    """Return the task of a job, with the result if the output holds it already.

    Raises
    ------
    InputError
        The instance is bad, or the output is no name of a file, or exists and is not the result of this job.
    DamagedFileError
        The output exists and is damaged.
    """
    output = job.settings.output
    _require_file_name(output)
    task = task_of(job, read_instance(job), output)
    if os.path.exists(output) and not overwrite:
        finished = _finished(task)
        return replace(task, finished=finished, verdict=_verdict(task, finished))
    return task


def _require_file_name(output: str) -> None:
    if not output or "\0" in output:
        raise InputError(f"{output!r}: the output is not the name of a file; name one, with output or --output")
    if os.path.isdir(output) or output.endswith("/"):
        raise InputError(f"{output}: the output is a folder; name a file, with output or --output")


def _verdict(task: Task, finished: Contents) -> Verdict:
    """Return the run's verdict if nobody has opened the file to change it since, else a new one."""
    assert task.output is not None
    if not has_seal(task.output):
        return checked(task.job, task.output, finished, task.instance)
    infeasible = bool(finished.value("solution", "infeasible"))
    verified = bool(finished.attributes["verified"])
    return Verdict(True if verified else None if infeasible else False, "when it was solved")


def task_of(job: Job, instance: InstanceOf[Any], output: str | None) -> Task:
    """Return the task of a job whose instance has been read. Raises as `pinned`."""
    job = pinned(job)
    return Task(job, instance, job.hash(kind_of(job).identity(instance)), output)


def _finished(task: Task) -> Contents:
    """Return the result that the output holds already. Refuse that of another job."""
    way_out = "choose another --output, or replace it with --overwrite"
    assert task.output is not None
    try:
        contents = read_result(task.output, tables=False)
        require_whole(contents, task.output)
        require_kind(contents, task.job, task.output)
    except DamagedFileError as error:
        raise DamagedFileError(f"the output exists: {error}; {way_out}") from None
    except InputError as error:
        raise InputError(f"the output exists and cannot be read as a result ({error}); {way_out}") from None
    if contents.value("job", "hash") != task.hash:
        raise InputError(f"{Path(task.output)}: the output exists, of another job or instance; {way_out}")
    if not contents.attributes["complete"]:
        raise InputError(f"{Path(task.output)}: the output exists and is not complete; {way_out}")
    return contents

"""A job with its instance, read and checked on rank 0."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats.base import InstanceOf
from hpcsolve.job import Job
from hpcsolve.output.contents import Contents
from hpcsolve.output.reader import read_result
from hpcsolve.runner.kinds import kind_of, read_instance


@dataclass(frozen=True)
class Task:
    """All that a run needs; the same on every rank.

    Attributes
    ----------
    hash
        Of the job, see `Job.hash`.
    output
        Path of the result file; None: none is written.
    finished
        The result, if `output` holds that of this very job.
    """

    job: Job
    instance: InstanceOf[Any]
    hash: str
    output: str | None
    finished: Contents | None = None


def make_task(job: Job, overwrite: bool = False) -> Task:
    """Read the instance of a job, and look at the output.

    Raises
    ------
    InputError
        The instance is bad, or the output exists and is not the result of this job.
    """
    output = job.settings.output
    if os.path.isdir(output):
        raise InputError(f"{output}: the output is a folder; name a file, with output or --output")
    task = task_of(job, read_instance(job), output)
    if os.path.exists(output) and not overwrite:
        return replace(task, finished=_finished(task))
    return task


def task_of(job: Job, instance: InstanceOf[Any], output: str | None) -> Task:
    """The task of a job whose instance is read."""
    return Task(job, instance, job.hash(kind_of(job).identity(instance)), output)


def _finished(task: Task) -> Contents:
    """The result that is there already; refused if it is of another job."""
    way_out = "choose another --output, or replace it with --overwrite"
    assert task.output is not None
    try:
        contents = read_result(task.output, tables=False)
    except (InputError, DamagedFileError) as error:
        raise InputError(f"the output exists and cannot be read as a result ({error}); {way_out}") from None
    if contents.value("job", "hash") != task.hash:
        raise InputError(f"{Path(task.output)}: the output exists, of another job or instance; {way_out}")
    if not contents.attributes.get("complete"):
        raise InputError(f"{Path(task.output)}: the output exists and is not complete; {way_out}")
    return contents

"""Plans a run on rank 0: reads the instance of a job, and the result if the output holds it already."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcsolve.answers.base import Verdict
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import Job
from hpcsolve.job.load import with_file_hashes
from hpcsolve.output.contents import Contents
from hpcsolve.output.hdf5 import has_seal
from hpcsolve.output.heartbeat import Say, unsaid
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import require_whole
from hpcsolve.runner.kinds import kind_of, require_kind
from hpcsolve.runner.reading import read_aloud
from hpcsolve.runner.verify import verdict_on


@dataclass(frozen=True)
class PlannedRun:
    """A job with its instance, ready to run, the same on every rank.

    Attributes
    ----------
    hash
        `Job.hash` of job and instance.
    output
        Path of the result file, or None if none is written.
    existing
        The result of this very job, if `output` holds it already.
    existing_verdict
        The verdict on that result.
    """

    job: Job
    instance: InstanceOf[Any]
    hash: str
    output: str | None
    existing: Contents | None = None
    existing_verdict: Verdict | None = None


def plan_run(
    job: Job, overwrite: bool = False, say: Say = unsaid, instance: InstanceOf[Any] | None = None
) -> PlannedRun:
    """Return the planned run of a job, with its result if the output holds it already. Say how far reading is.

    Parameters
    ----------
    instance
        The job's instance, if it has been read already.

    Raises
    ------
    InputError
        The instance is bad, or the output is not the name of a file, or it exists and is not the result of this job.
    DamagedFileError
        The output exists and is damaged.
    """
    output = job.settings.output
    _require_file_name(output)
    planned = planned_run(job, instance or read_aloud(job, say), output)
    if os.path.exists(output) and not overwrite:
        existing = _existing_result(planned)
        return replace(planned, existing=existing, existing_verdict=_verdict(planned, existing))
    return planned


def _require_file_name(output: str) -> None:
    if not output or "\0" in output:
        raise InputError(f"{output!r}: the output is not the name of a file; name one, with output or --output")
    if os.path.isdir(output) or output.endswith("/"):
        raise InputError(f"{output}: the output is a folder; name a file, with output or --output")


def _verdict(planned: PlannedRun, existing: Contents) -> Verdict:
    """Return the stored verdict of an existing result, or that of a new check if the file may have been changed."""
    assert planned.output is not None
    if not has_seal(planned.output):
        return verdict_on(planned.job, planned.output, existing, planned.instance)
    infeasible = bool(existing.value("solution", "infeasible"))
    verified = bool(existing.attributes["verified"])
    return Verdict(True if verified else None if infeasible else False, "when it was solved")


def planned_run(job: Job, instance: InstanceOf[Any], output: str | None) -> PlannedRun:
    """Return the planned run of a job whose instance has been read. Raises as `with_file_hashes`."""
    job = with_file_hashes(job)
    return PlannedRun(job, instance, job.hash(kind_of(job).identity(instance)), output)


def _existing_result(planned: PlannedRun) -> Contents:
    """Return the result that the output holds already. Refuse the result of another job."""
    way_out = "choose another --output, or replace it with --overwrite"
    assert planned.output is not None
    try:
        contents = read_result(planned.output, tables=False)
        require_whole(contents, planned.output)
        if contents.value("job", "hash") == planned.hash:
            require_kind(contents, planned.job, planned.output)
    except DamagedFileError as error:
        raise DamagedFileError(f"the output exists: {error}; {way_out}") from None
    except InputError as error:
        raise InputError(f"the output exists and cannot be read as a result ({error}); {way_out}") from None
    if contents.value("job", "hash") != planned.hash:
        what = "the output exists and is the result of another job or instance"
        raise InputError(f"{Path(planned.output)}: {what}; {way_out}")
    if not contents.attributes["complete"]:
        raise InputError(f"{Path(planned.output)}: the output exists and is not complete; {way_out}")
    return contents

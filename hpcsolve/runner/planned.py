"""Plans a run on rank 0: reads the instance of a job, and the result if the output holds it already."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hpcsolve.algorithms.base import Algorithm, Statement
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.contents import Contents
from hpcsolve.errors import DamagedFileError, HpcsolveError, InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import Job
from hpcsolve.output.hdf5 import has_seal, require_result_name
from hpcsolve.output.log import Say, say_nothing
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import answer_lines, require_whole
from hpcsolve.runner.kinds import kind_of, require_kind
from hpcsolve.runner.reading import Judge, read_reporting
from hpcsolve.runner.verify import require_own_hash, verdict_on


@dataclass(frozen=True)
class Earlier:
    """A verified result of the same job that the output holds. `cost` is in the instance's own unit."""

    cost: float
    complete: bool

    @property
    def in_words(self) -> str:
        """Its cost, and whether it is complete."""
        return f"cost {self.cost:.10g}, {'complete' if self.complete else 'not complete'}"


@dataclass(frozen=True)
class PlannedRun:
    """A job with its instance, ready to run, the same on every rank.

    Attributes
    ----------
    statement
        What the job asks of the instance.
    hash
        `Job.hash` of job and instance.
    output
        Path of the result file, or None if none is written.
    existing
        The result of this very job, if `output` holds it already and completely.
    existing_verdict
        The verdict on that result.
    earlier
        A result of this very job in `output` that this run is to replace.
    """

    job: Job
    instance: InstanceOf[Any]
    statement: Statement
    hash: str
    output: str | None
    existing: Contents | None = None
    existing_verdict: Verdict | None = None
    earlier: Earlier | None = None

    @property
    def solver(self) -> Algorithm:
        """The algorithm of the job."""
        return algorithm(self.job.settings.algorithm)

    @property
    def has_partial_answers(self) -> bool:
        """Whether a run that is interrupted ends with the best answer so far."""
        return self.statement.may_end_early(self.job.settings.stop)

    def keeps_earlier(self, contents: Contents) -> bool:
        """Return whether the output keeps the earlier result, since this one is not complete and not better either."""
        if self.earlier is None or contents.attributes["complete"]:
            return False
        better = contents.attributes["verified"] and contents.cost < self.earlier.cost
        return self.earlier.complete or not better


def plan_run(
    job: Job, overwrite: bool = False, say: Say = say_nothing, instance: InstanceOf[Any] | None = None
) -> PlannedRun:
    """Return the planned run of a job, with its result if the output holds it already. `say` tells how far reading is.

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
    require_result_name(output)
    planned = read_planned(job, output, lambda judge: instance or read_reporting(job, say, judge.precision()))
    if not os.path.exists(output):
        return planned
    if overwrite:
        return with_earlier(planned)
    existing = _existing_result(planned)
    if not existing.attributes["complete"]:
        return replace(planned, earlier=_earlier(output, existing))
    return replace(planned, existing=existing, existing_verdict=_verdict(planned, existing))


def with_earlier(planned: PlannedRun) -> PlannedRun:
    """Return the planned run with a result of this job that the output holds, for a run that may be interrupted."""
    if planned.output is None or not planned.has_partial_answers:
        return planned
    with suppress(HpcsolveError):
        return replace(planned, earlier=_earlier(planned.output, _existing_result(planned)))
    return planned


def holds_answer(planned: PlannedRun) -> bool:
    """Return whether the output holds a complete result of this job, whoever has written it."""
    if planned.output is None:
        return False
    try:
        return bool(_existing_result(planned).attributes["complete"])
    except HpcsolveError:
        return False


def _earlier(output: str, contents: Contents) -> Earlier | None:
    """Return the cost and completeness of an earlier result, or None if it is not verified or was changed since."""
    if not contents.attributes["verified"] or not has_seal(output):
        return None
    return Earlier(contents.cost, bool(contents.attributes["complete"]))


def _verdict(planned: PlannedRun, existing: Contents) -> Verdict:
    """Return the stored verdict of an existing result, or that of a new check if the file may have been changed."""
    assert planned.output is not None
    if not has_seal(planned.output):
        return verdict_on(planned.job, planned.output, existing, planned.instance, planned.statement)
    infeasible = bool(existing.value("solution", "infeasible"))
    verified = bool(existing.attributes["verified"])
    return Verdict(True if verified else None if infeasible else False, "when it was solved")


def read_planned(
    job: Job, output: str | None, read: Callable[[Judge], InstanceOf[Any]]
) -> PlannedRun:
    """Return the planned run of a job. The output is not looked at.

    Parameters
    ----------
    read
        Returns the instance, whose costs the judge may be asked about.

    Raises
    ------
    InputError
        As `read`, and as `Algorithm.statement`.
    """
    judge = Judge(job)
    instance = read(judge)
    statement = judge.statement(instance.problem)
    job = job.with_sha256(statement.sha256)
    return PlannedRun(job, instance, statement, job.hash(kind_of(job).identity(instance)), output)


def _existing_result(planned: PlannedRun) -> Contents:
    """Return the result that the output holds already. Refuse the result of another job."""
    way_out = "choose another --output, or replace it with --overwrite"
    assert planned.output is not None
    try:
        contents = read_result(planned.output, tables=False)
        require_whole(contents, planned.output)
        require_own_hash(contents, planned.output)
        if contents.value("job", "hash") == planned.hash:
            require_kind(contents, planned.job, planned.output)
            answer_lines(contents, planned.output)  # raises here, not when they are printed
    except DamagedFileError as error:
        raise DamagedFileError(f"the output exists: {error}; {way_out}") from None
    except InputError as error:
        raise InputError(f"the output exists and cannot be read as a result ({error}); {way_out}") from None
    if contents.value("job", "hash") != planned.hash:
        what = "the output exists and is the result of another job or instance"
        raise InputError(f"{Path(planned.output)}: {what}; {way_out}")
    return contents

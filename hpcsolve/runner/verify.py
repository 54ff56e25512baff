"""`hpcsolve verify`: checks the answer in a result file against the instance that the file names."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from hpcsolve.algorithms.base import Algorithm, Statement
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.algorithms.tours.one_tree import bound_again
from hpcsolve.answers.base import AnswerType, Verdict
from hpcsolve.answers.contents import Column, Contents, datasets
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import FILES, IN_MEMORY, Job, hash_of, job_in
from hpcsolve.output.hdf5 import has_seal
from hpcsolve.output.reader import read_result, row_blocks
from hpcsolve.output.schema import require_whole
from hpcsolve.runner.kinds import instance_columns, kind_of, require_kind
from hpcsolve.runner.reading import instance_file, read_instance

COMPARED = (
    "label", "city_name", "vertex_name", "n", "vertices", "arcs", "symmetric", "directed", "scale", "rounded_to",
)
"""Datasets of `/instance` that must agree with the instance that is read now. Path, format and comment may differ."""


def verify_file(path: str, instance: str | None = None, again: bool = False) -> tuple[Contents, Verdict]:
    """Return the contents of a result file and the verdict on its answer, found in plain numpy.

    Parameters
    ----------
    instance
        The instance's file, if it has moved.
    again
        Whether to make a second search by other means, if the algorithm has one.

    Raises
    ------
    InputError
        The file is not a result, the instance is not the one that was solved, or `again` and the algorithm has
        no second search.
    DamagedFileError
        The file is damaged.
    """
    contents = read_result(path, tables=False)
    require_whole(contents, path)
    job = job_in(contents, path)
    kind = kind_of(job)
    require_kind(contents, job, path)
    solved = require_own_hash(contents, path)
    if instance_file(job) in ("-", IN_MEMORY) and instance is None:
        raise InputError(f"{path}: its instance came from standard input or a program; give its file with --instance")
    try:
        found = read_instance(job, instance)
    except InputError as error:
        hint = "" if instance else "; if it has moved, give it with --instance FILE"
        raise InputError(f"{path}: {_gone(job) or f'its instance cannot be read: {error}{hint}'}") from None
    problem = found.problem
    if solved not in (kind.identity(found), kind.content_hash(problem)) and solved != kind.former_hash(problem):
        where = found.path or "what its generator makes now"
        what = "is not the instance that was solved (another SHA-256); give the file of that instance with --instance"
        raise InputError(f"{path}: {where} {what}")
    try:
        statement = algorithm(job.settings.algorithm).statement(found.problem, job.parameters, to_check=True)
    except InputError as error:
        raise InputError(f"{path}: {_gone(job) or error}") from None
    verdict = verdict_on(job, path, contents, found, statement)
    if verdict.passed and (more := bound_again(contents, found.problem, statement.question)) is not None:
        verdict = Verdict(more.passed, f"{verdict.reason}; {more.reason}")
    if again and verdict.passed is not False:
        second = algorithm(job.settings.algorithm).again(statement, contents)
        if second is None:
            raise InputError(f"{path}: {job.settings.algorithm} has no second search; leave out --again")
        passed = verdict.passed if second.passed is None else second.passed
        verdict = Verdict(passed, f"{verdict.reason}; {second.reason}")
    if not contents.attributes["complete"]:
        verdict = replace(verdict, reason=f"{verdict.reason}; not complete, since the run was interrupted")
    return contents, verdict


def _gone(job: Job) -> str:
    """Return which file beside the instance's own the run had and there is no more, or ""."""
    named, own = job.settings.instance, job.settings.algorithm
    files = {f"instance.{key}": named[key] for key in FILES if key not in ("file", "batch") and key in named} \
        if isinstance(named, dict) else {}
    files |= {f"{own}.{key.replace('_', '-')}": file for key, file in job.named_files().items()}
    for key, file in files.items():
        if isinstance(file, str) and not os.path.exists(file):
            return f"{key}: there is no file {file}, which the run had; put it back"
    return ""


def require_own_hash(contents: Contents, path: str) -> str:
    """Return the SHA-256 of the solved instance. Raise `DamagedFileError` if the hash of the job does not fit it."""
    solved: str = contents.value("instance", "content_sha256", contents.value("instance", "sha256"))
    if hash_of(msgspec.toml.decode(contents.value("job", "toml")), solved) != contents.value("job", "hash"):
        raise DamagedFileError(f"{path}: damaged: /job/hash is not that of /job/toml and /instance")
    return solved


def verdict_on(job: Job, path: str, contents: Contents, found: InstanceOf[Any], statement: Statement) -> Verdict:
    """Return the verdict on the answer in a file. Its reason also says if the file has lost its seal."""
    verdict = _verdict_on(job, path, contents, found, statement)
    if has_seal(path):
        return verdict
    return replace(verdict, reason=f"{verdict.reason}; its seal is gone, since it was changed or cut off later")


def _verdict_on(
    job: Job, path: str, contents: Contents, found: InstanceOf[Any], statement: Statement
) -> Verdict:
    """Return the verdict on the answer. An error in the check itself means that the values are wrong."""
    now = instance_columns(job, found)
    for name in COMPARED:
        if not _same(contents, name, now.get(name)):
            return Verdict(False, f"/instance/{name} is not that of the instance")
    solver, answer = algorithm(job.settings.algorithm), require_whole(contents, path)
    if answer not in solver.answers:
        return Verdict(False, f"{solver.name} does not give an answer of this kind: {answer.name}")
    if (wrong := _wrong_scale_factor(contents, solver, answer)) is not None:
        return Verdict(False, wrong)
    try:
        return answer.verified(contents, found.problem, statement.question, partial(row_blocks, path))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Verdict(False, f"the answer cannot be checked: {' '.join(str(error).split()) or type(error).__name__}")


def _wrong_scale_factor(contents: Contents, solver: Algorithm, answer: AnswerType) -> str | None:
    """Return a message if a dataset lacks `scale_factor` though it is scaled, or has one though it is not, or None."""
    if contents.scale == 1:
        return None
    found = {f"/solution/{name}": table.dataset.scaled for name, table in contents.tables.items()}
    found |= {f"/{group}/{name}": column.dataset.scaled for group, members in contents.groups.items()
              for name, column in members.items()}
    solutions = [("solution", datasets(record)) for record in answer.records]
    groups = [*solutions, *answer.groups.items(), *solver.groups.items()]
    declared = {f"/{group}/{name}": dataset.scaled for group, members in groups for name, dataset in members.items()}
    wrong = [place for place in declared if found.get(place, declared[place]) != declared[place]]
    return f"{wrong[0]} has {'no' if declared[wrong[0]] else 'an'} attribute scale_factor" if wrong else None


def _same(contents: Contents, name: str, column: Column | None) -> bool:
    """Return whether `/instance` has these values. Names may be missing, since not every format has them."""
    stored = contents.value("instance", name)
    if stored is None or column is None:
        return name.endswith("_name") or (stored is None and column is None)
    return np.array_equal(np.asarray(stored), np.asarray(column.values))

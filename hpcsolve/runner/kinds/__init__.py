"""Kinds of problems: how an instance is read, named and described. An algorithm names its `kind`.

tsp.py      the travelling salesman: a matrix of costs
graph.py    a graph with weights
steiner.py  a graph with terminals
batch.py    many small travelling salesman problems
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers.contents import Column, Contents, columns
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import IN_MEMORY, Job
from hpcsolve.output.schema import INSTANCE_GROUPS
from hpcsolve.problems.generate import call_generator, makers
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.rounding import Precision, decimals_of
from hpcsolve.wording import did_you_mean

BATCH = "batch"
"""The key of the table `instance = { batch = ... }`, and the name of the kind of problem."""
MODULES = {name: f"hpcsolve.runner.kinds.{name}" for name in INSTANCE_GROUPS}
"""Name of a kind of problem -> its module, which has the record `KIND`."""


@dataclass(frozen=True)
class ProblemKind:
    """A kind of problem, with the functions that depend on it. Kinds of answers are in `hpcsolve.answers`.

    Attributes
    ----------
    size_unit
        What the size of a problem counts, in the plural: `cities`.
    read
        Reads the instance in a file, given (path, options, precision). Options are the other keys of the job's table
        `{ file = ..., ... }`.
    given
        Returns the problem that a Python program passed to `solve` as (problem, options, precision): our own type, a
        matrix, ...
    write
        Writes a file that `read` can read, given (problem, path).
    content_hash
        Returns the SHA-256 of everything in a problem that the answer depends on. It identifies a problem without file.
    identity
        Returns the SHA-256 that stands for an instance in the job's hash.
    size
        Returns the number of cities, vertices, ...
    headline
        Returns name, size and nature of a problem in a few words.
    values
        Returns the values of the datasets of `/instance`, which `output.contents.INSTANCE_GROUPS` declares.
    """

    size_unit: str
    read: Callable[[str, Mapping[str, Any], Precision], InstanceOf[Any]]
    given: Callable[[Any, Mapping[str, Any], Precision], Any]
    write: Callable[[Any, str], None]
    content_hash: Callable[[Any], str]
    identity: Callable[[InstanceOf[Any]], str]
    size: Callable[[Any], int]
    headline: Callable[[Any], str]
    values: Callable[[InstanceOf[Any]], dict[str, Any]]


def kind(name: str) -> ProblemKind:
    """Return the kind of problem with this name."""
    found: ProblemKind = importlib.import_module(MODULES[name]).KIND
    return found


def kind_of(job: Job) -> ProblemKind:
    """Return the kind of problem that a job's algorithm solves."""
    return kind(kind_name(job))


def kind_name(job: Job) -> str:
    """Return the name of the kind of problem that a job solves: its algorithm's, or that of a batch.

    Raises
    ------
    InputError
        The algorithm takes no batches.
    """
    solver, named = algorithm(job.settings.algorithm), job.settings.instance
    if not isinstance(named, dict) or BATCH not in named:
        return solver.kind
    if not solver.batches:
        raise InputError(f"instance.batch: {solver.name} takes no batches; choose held-karp")
    return BATCH


def precision_of(job: Job) -> Precision:
    """Return how costs become integers: by the limits of the job's algorithm, and by its keys `exact` and `round`."""
    solver, settings = algorithm(job.settings.algorithm), job.settings
    decimals = None if settings.round is None else decimals_of(settings.round)

    def fits(problem: Any) -> bool:
        return solver.fits(problem, job.parameters)

    return Precision(solver.name, solver.largest_cost, fits, settings.exact, decimals)


def instance_columns(job: Job, instance: InstanceOf[Any]) -> dict[str, Column]:
    """Return the content of `/instance`."""
    name, notes = kind_name(job), "\n".join(notes_on(instance.problem))
    return columns(INSTANCE_GROUPS[name], {**kind(name).values(instance), "kind": name, "notes": notes or None})


def require_kind(contents: Contents, job: Job, file: str) -> None:
    """Refuse a result that is of another kind of problem than the job.

    Raises
    ------
    InputError
        This version does not know the kind of the result.
    DamagedFileError
        The result is of another kind.
    """
    name = str(contents.value("instance", "kind", ""))
    if name not in MODULES:
        raise InputError(f"the result is of an unknown kind of problem, {name[:40]!r}", file)
    if name != kind_name(job):
        raise DamagedFileError(f"{file}: damaged: /instance/kind is of another kind of problem than the job")


def kind_of_generator(name: str) -> str:
    """Return the name of the kind of problem that a generator makes.

    Raises
    ------
    InputError
        There is no such generator.
    """
    kinds = {generator: kind for kind in MODULES for generator in makers(kind)}
    if name not in kinds:
        hint = did_you_mean(name, kinds, f"; the generators are {', '.join(kinds)}")
        raise InputError(f"unknown generator {name!r}{hint}")
    return kinds[name]


def read_instance(job: Job, file: str | None = None, precision: Precision | None = None) -> InstanceOf[Any]:
    """Return the instance that a job names: a file, a table with a file, or a table for a generator.

    Parameters
    ----------
    file
        Read this file instead of the one that the job names.
    precision
        By default that of the job.

    Raises
    ------
    InputError
        One line with file and line, or key.
    """
    named, own, precision = job.settings.instance, kind_of(job), precision or precision_of(job)
    if file is None and named in (IN_MEMORY, {BATCH: IN_MEMORY}):
        key = "instance" if named == IN_MEMORY else "instance.batch"
        raise InputError(f"the instance was in the memory of a Python program: name its file, --set {key}=FILE")
    if isinstance(named, str):
        return own.read(file or named, {}, precision)
    keys = dict(named)
    if BATCH in keys:
        source = keys.pop(BATCH)
        if keys:
            raise InputError(f"instance: no key {next(iter(keys))!r} beside batch; remove it")
        found: InstanceOf[Any] = importlib.import_module(MODULES[BATCH]).read_source(file or source, precision)
        return found
    path = keys.pop("file", None)
    if file is not None or isinstance(path, str):
        keys.pop("generate", None)
        return own.read(file or str(path), keys, precision)
    name = keys.pop("generate", None)
    if not isinstance(name, str):
        example = next(iter(makers(algorithm(job.settings.algorithm).kind)))
        text = f'a table needs generate, for example {{ generate = "{example}", n = 24, seed = 1 }}'
        raise job.error("instance", text)
    try:
        problem = own.given(generated(algorithm(job.settings.algorithm).kind, name, keys), {}, precision)
    except InputError as error:
        raise job.error("instance", str(error)) from None
    return InstanceOf(problem, "", own.content_hash(problem), "generated")


def generated(name: str, generator: str, keys: Mapping[str, Any]) -> Any:
    """Return the problem that a generator of this kind of problem makes.

    Raises
    ------
    InputError
        Unknown generator or key, a missing key, a bad value.
    """
    return call_generator(makers(name), generator, keys)

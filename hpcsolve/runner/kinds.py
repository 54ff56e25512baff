"""Kinds of problems: how an instance is read, described, checked and printed. An algorithm names its `kind`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, cast

from hpcsolve.algorithms.base import Algorithm, Column, Outcome
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.errors import InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import IN_MEMORY, Job
from hpcsolve.job.generators import makers
from hpcsolve.output.contents import Contents
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.generate.by_name import call_generator
from hpcsolve.runner.verdict import Verdict

KINDS = {"tsp": "hpcsolve.runner.tsp", "graph": "hpcsolve.runner.graph", "steiner": "hpcsolve.runner.steiner"}
"""Name -> the module that has what `Kind` says."""


class Kind(Protocol):
    """What a module of `KINDS` has. A problem is whatever its algorithms take."""

    SIZE: str
    """What its size counts, in the plural: `cities`."""

    def read(self, path: str, options: Mapping[str, Any]) -> InstanceOf[Any]:
        """The instance in a file; `options` are the other keys of the job's table `{ file = ..., ... }`."""

    def given(self, problem: Any, options: Mapping[str, Any]) -> Any:
        """The problem that a Python program gave: one of ours, a matrix, ...; `options` as of `read`."""

    def write(self, problem: Any, path: str) -> None:
        """Write a problem as a file that `read` reads."""

    def content_hash(self, problem: Any) -> str:
        """SHA-256 of all that an answer depends on: names a problem that no file holds."""

    def identity(self, instance: InstanceOf[Any]) -> str:
        """The part of the job's hash that stands for the instance."""

    def size(self, problem: Any) -> int:
        """Number of cities, vertices, ..."""

    def headline(self, problem: Any) -> str:
        """Name, size and nature in a few words."""

    def columns(self, instance: InstanceOf[Any]) -> dict[str, Column]:
        """The content of `/instance`."""

    def check(self, module: Algorithm, problem: Any, parameters: Any, outcome: Outcome, comm: Comm) -> Verdict:
        """Check a run's answer; collective, the verdict is the same on every rank."""

    def verify(self, path: str, contents: Contents, problem: Any, parameters: Any) -> Verdict:
        """Check all that a result file holds, in plain numpy."""

    def answer_lines(self, contents: Contents) -> Iterator[str]:
        """The answer for people."""


def kind(name: str) -> Kind:
    """The kind of that name."""
    return cast(Kind, importlib.import_module(KINDS[name]))


def kind_of(job: Job) -> Kind:
    """The kind of problem that a job's algorithm solves."""
    return kind(algorithm(job.settings.algorithm).kind)


def kind_in(contents: Contents) -> Kind:
    """The kind of problem that a result is of.

    Raises
    ------
    InputError
        One that this version does not know.
    """
    name = str(contents.value("instance", "kind", ""))
    if name not in KINDS:
        raise InputError(f"the result is of an unknown kind of problem, {name[:40]!r}")
    return kind(name)


def kind_of_generator(name: str) -> str:
    """The name of the kind that a generator makes; for an unknown generator the first kind, which will refuse it."""
    return next((kind for kind in KINDS if name in makers(kind)), "tsp")


def read_instance(job: Job, file: str | None = None) -> InstanceOf[Any]:
    """The instance that a job names: a file, a table with a file, or a table for a generator.

    Parameters
    ----------
    file
        Read this file instead of the job's.

    Raises
    ------
    InputError
        One line with file and line, or key.
    """
    named, own = job.settings.instance, kind_of(job)
    if isinstance(named, str):
        if file is None and named == IN_MEMORY:
            raise InputError("the instance was in the memory of a Python program: name its file, --set instance=FILE")
        return own.read(file or named, {})
    keys = dict(named)
    path = keys.pop("file", None)
    if file is not None or isinstance(path, str):
        keys.pop("generate", None)
        return own.read(file or str(path), keys)
    name = keys.pop("generate", None)
    if not isinstance(name, str):
        example = next(iter(makers(algorithm(job.settings.algorithm).kind)))
        text = f'a table needs generate, for example {{ generate = "{example}", n = 24, seed = 1 }}'
        raise InputError(f"instance: {text}")
    problem = generated(algorithm(job.settings.algorithm).kind, name, keys, "instance: ")
    return InstanceOf(problem, "", own.content_hash(problem), "generated")


def generated(kind_name: str, generator: str, keys: Mapping[str, Any], prefix: str = "") -> Any:
    """The problem that a generator makes.

    Raises
    ------
    InputError
        Unknown generator or key, a missing key, a bad value; the message begins with `prefix`.
    """
    try:
        return call_generator(makers(kind_name), generator, keys)
    except InputError as error:
        raise InputError(f"{prefix}{error}") from None

"""Reads the instance of a job, and reports what is read and how far reading is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hpcsolve.algorithms.base import Statement
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.errors import InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import IN_MEMORY, Job
from hpcsolve.output.log import Say, duration, heartbeat
from hpcsolve.problems.generate import generate, makers
from hpcsolve.problems.rounding import Precision, decimals_of
from hpcsolve.runner.kinds import BATCH, KINDS, kind_of
from hpcsolve.wording import did_you_mean, size


def say_source(job: Job, say: Say) -> None:
    """Say which file is read and how large it is, or what is generated. Nothing is said of an instance in memory."""
    file, named = instance_file(job), job.settings.instance
    if isinstance(named, dict) and not file:
        say(f"read:   generating {named.get('generate', 'the instance')}")
    elif file == "-":
        say("read:   standard input")
    elif file != IN_MEMORY:
        total = _file_size(file)
        say(f"read:   {os.path.basename(file)}{f', {size(total)}' if total else ''}")


def read_reporting(job: Job, say: Say, precision: Precision) -> InstanceOf[Any]:
    """Return the instance of a job, and report every few seconds how far reading is. Raises as `read_instance`."""
    with reporting_progress(instance_file(job), say):
        return read_instance(job, precision=precision)


@contextmanager
def reporting_progress(file: str, say: Say) -> Iterator[None]:
    """Report every few seconds, while the block runs, how much of a file has been read."""
    total, before = _file_size(file), _bytes_read()

    def line(seconds: float) -> str:
        share = min(1.0, (_bytes_read() - before) / total) if total else 1.0
        read = f"{100 * share:.0f} % of the file read" if share < 1 else "whole file read, processing it"
        return f"read:   {read if total else 'not finished'} after {duration(seconds)}"

    with heartbeat(say, line):
        yield


def instance_file(job: Job) -> str:
    """Return the path of the instance's file, "-" or `IN_MEMORY` as in the job, or "" if it is generated."""
    named = job.settings.instance
    return named if isinstance(named, str) else str(named.get("file", named.get("batch", "")))


def _file_size(path: str) -> int:
    """Return the size in bytes, 0 if it is not known."""
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):
        return 0


def _bytes_read() -> int:
    """Return the bytes that this process has read so far, 0 where the system does not say."""
    try:
        with open("/proc/self/io", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("rchar:"))
    except (OSError, StopIteration):
        return 0


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
    named, own, precision = job.settings.instance, kind_of(job), precision or Judge(job).precision()
    if file is None and named in (IN_MEMORY, {BATCH: IN_MEMORY}):
        key = "instance" if named == IN_MEMORY else "instance.batch"
        raise InputError(f"the instance was in the memory of a Python program: name its file, --set {key}=FILE")
    if isinstance(named, str):
        return own.read(file or named, {}, precision)
    keys = dict(named)
    if BATCH in keys:
        source = keys.pop(BATCH)
        return own.read(file or source, keys, precision)
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
        problem = own.given(generate(algorithm(job.settings.algorithm).kind, name, **keys), {}, precision)
    except InputError as error:
        raise job.error("instance", str(error)) from None
    return InstanceOf(problem, "", own.content_hash(problem), "generated")


class Judge:
    """Judges whether a job's algorithm takes the exact costs of a problem, by the statement of the job.

    The statement is kept, so that it is made once if the problem stays as it is.
    """

    def __init__(self, job: Job) -> None:
        self._job, self._solver = job, algorithm(job.settings.algorithm)
        self._statement: Statement | None = None

    def statement(self, problem: Any) -> Statement:
        """Return what the job asks of a problem. Raises as `Algorithm.statement`."""
        if self._statement is None or self._statement.problem is not problem:
            self._statement = self._solver.statement(problem, self._job.parameters)
        return self._statement

    def precision(self) -> Precision:
        """Return how costs become integers: by the limits of the algorithm, and by the keys `exact` and `round`."""
        settings = self._job.settings
        decimals = None if settings.round is None else decimals_of(settings.round)
        return Precision(self._solver.name, self._solver.largest_cost, self._fits, settings.exact, decimals)

    def _fits(self, problem: Any) -> bool:
        try:
            return self.statement(problem).fits()
        except InputError:
            return True  # nothing can be asked, whatever the costs; who asks for the statement is told why


def kind_of_generator(name: str) -> str:
    """Return the name of the kind of problem that a generator makes.

    Raises
    ------
    InputError
        There is no such generator.
    """
    kinds = {generator: kind for kind in KINDS for generator in makers(kind)}
    if name not in kinds:
        hint = did_you_mean(name, kinds, f"; the generators are {', '.join(kinds)}")
        raise InputError(f"unknown generator {name!r}{hint}")
    return kinds[name]

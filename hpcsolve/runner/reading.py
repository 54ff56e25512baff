"""Reads the instance of a job, and reports what is read and how far reading is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hpcsolve.formats import InstanceOf
from hpcsolve.job import IN_MEMORY, Job
from hpcsolve.output.log import Say, duration, heartbeat
from hpcsolve.runner.kinds import read_instance
from hpcsolve.wording import size


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


def read_reporting(job: Job, say: Say) -> InstanceOf[Any]:
    """Return the instance of a job, and report every few seconds how far reading is. Raises as `read_instance`."""
    with reporting_progress(instance_file(job), say):
        return read_instance(job)


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

"""The line that says how long a run took."""

from __future__ import annotations

from typing import Any

from hpcsolve.answers.contents import Contents
from hpcsolve.output.log import duration

PHASES = ("read", "build", "run", "kernel", "copy", "wait", "write")


def seconds_line(contents: Contents) -> str:
    """Return a line with the time of each phase, on the rank where that phase took longest."""
    read, build, run, kernel, copy, wait, write = (duration(_slowest(contents, f"seconds_{phase}")) for phase in PHASES)
    return f"time:   read {read}, build {build}, run {run} (kernel {kernel}, copy {copy}, wait {wait}), write {write}"


def _slowest(contents: Contents, name: str) -> float:
    values: Any = contents.value("ranks", name, [0.0])
    return float(max(values, default=0.0))

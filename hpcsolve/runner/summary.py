"""The answer for people, from what the file holds: the same after a run and when a finished run is asked for again."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

from hpcsolve.output.contents import Contents
from hpcsolve.output.progress import duration

PHASES = ("read", "build", "run", "kernel", "copy", "wait", "write")
LONGEST_TOUR = 200
"""Cities from which a tour is not printed in full."""


def answer_lines(contents: Contents) -> Iterator[str]:
    """Tour, cost, check and seconds; without the verdict, which is another's."""
    if contents.value("solution", "infeasible"):
        yield "tour:   there is none, proven"
        return
    optimal = ", proven optimal" if contents.value("solution", "optimal") else ""
    yield from textwrap.wrap(tour_text(contents), 118, initial_indent="tour:   ", subsequent_indent="        ",
                             break_long_words=False, break_on_hyphens=False)  # fmt: skip
    yield f"cost:   {contents.attributes['cost']}{optimal}"


def tour_text(contents: Contents) -> str:
    """The cities in order: names, else labels."""
    tour = np.asarray(contents.value("solution", "tour"))
    names = contents.value("instance", "city_name", contents.value("instance", "label"))
    if not ((tour >= 0) & (tour < len(names))).all():
        return "/solution/tour names cities that the instance has not"
    if len(tour) > LONGEST_TOUR:
        return f"{len(tour)} cities, /solution/tour in the file"
    named = contents.value("instance", "city_name") is not None
    return (" - " if named else " ").join(str(names[city]) for city in tour)


def seconds_line(contents: Contents) -> str:
    """Seconds by phase, of the slowest rank each."""
    read, build, run, kernel, copy, wait, write = (duration(_slowest(contents, f"seconds_{phase}")) for phase in PHASES)
    return f"time:   read {read}, build {build}, run {run} (kernel {kernel}, copy {copy}, wait {wait}), write {write}"


def _slowest(contents: Contents, name: str) -> float:
    values: Any = contents.value("ranks", name, [0.0])
    return float(max(values, default=0.0))

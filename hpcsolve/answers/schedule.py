"""When a tour with time windows is where: from the columns of a result file, in scaled integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Contents, Dataset
from hpcsolve.formats.tables import decimal
from hpcsolve.problems.clock import UNIT_OF, UNITS, clock_text
from hpcsolve.problems.rounding import LARGEST_SUM

_NEVER = f"; {LARGEST_SUM} stands for a window that never ends"
WINDOWS = {
    "earliest": Dataset("int64", "Time before which the service at a city does not begin, times /instance/scale",
                        "city", scaled=True),
    "latest": Dataset("int64", f"Time by which the service at a city begins, times /instance/scale{_NEVER}", "city",
                      scaled=True),
    "service": Dataset("int64", "How long the service at a city takes, times /instance/scale", "city", scaled=True),
}
"""The group `/windows`."""
TIMES = ("earliest", "latest", "service", "arrival", "begin", "departure", "end")
"""The columns of a table of stops, or of the tours of a batch, that are times."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """The stops of a tour in their order, of a cycle with the return to the first city, in scaled integers.

    Attributes
    ----------
    city
        Shape (stops,): positions of the cities.
    arrival, begin, departure
        Shape (stops,): when the traveller arrives, when the service begins, and when it ends.
    earliest, latest
        Shape (stops,): the windows. At the return only the end of the window counts, and there is no service.
    """

    city: NDArray[np.int64]
    arrival: NDArray[np.int64]
    begin: NDArray[np.int64]
    departure: NDArray[np.int64]
    earliest: NDArray[np.int64]
    latest: NDArray[np.int64]

    @property
    def waiting(self) -> NDArray[np.int64]:
        """How long the traveller waits at each stop. The tour begins when the first window does."""
        return self.begin - self.arrival


def schedule_in(contents: Contents) -> Schedule | None:
    """Return the schedule of a result's tour, or None if the result has no time windows, or columns that do not fit."""
    columns = [contents.value("legs", name) for name in ("cost", "departure")]
    windows = [contents.value("windows", name) for name in WINDOWS]
    tour = contents.value("solution", "tour")
    if tour is None or any(column is None for column in (*columns, *windows)):
        return None
    order = np.asarray(tour).astype(np.int64)
    costs, left = (np.asarray(column).astype(np.int64) for column in columns)
    earliest, latest, service = (np.asarray(column).astype(np.int64) for column in windows)
    n, cities = len(order), len(earliest)
    fits = len(latest) == len(service) == cities and len(costs) == len(left) in (n - 1, n)
    if not fits or n < 1 or not ((order >= 0) & (order < cities)).all():
        return None
    closed = len(costs) == n and n > 1
    city = np.append(order, order[:1]) if closed else order
    begin = np.append(left, 0)[: len(city)] - service[city]
    arrival = np.concatenate([earliest[order[:1]], left + costs])[: len(city)]
    last = arrival[-1] if closed else max(int(arrival[-1]), int(earliest[city[-1]]))
    begin[-1] = last
    departure = begin + service[city]
    departure[-1] = last if closed else departure[-1]
    first = np.append(earliest[order], 0) if closed else earliest[order]
    return Schedule(city, arrival, begin, departure, first, latest[city])


def time_text(contents: Contents, scaled: int) -> str:
    """Return a time of a result as a time of day if it is known what a unit of the costs is, else as a number."""
    unit = time_unit_of(contents)
    return decimal(scaled, contents.scale) if unit is None else clock_text(scaled, unit, contents.scale)


def window_text(contents: Contents, city: int) -> str:
    """Return a city's window, to stand behind its name: ` (08:00 to 11:00)`, or "" if it is always open."""
    columns = [contents.value("windows", name) for name in ("earliest", "latest")]
    if any(column is None or city >= len(column) for column in columns):
        return ""
    earliest, latest = (int(column[city]) for column in columns)
    if latest >= LARGEST_SUM:
        return f" (from {time_text(contents, earliest)})" if earliest else ""
    return f" ({time_text(contents, earliest)} to {time_text(contents, latest)})"


def with_clock_times(contents: Contents, rows: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return a table of stops or tours for people: times as times of day, and None where a window is open.

    Where it is not known what a unit of the costs is, times stay numbers.
    """
    def cell(name: str, value: float) -> object:
        if not math.isfinite(value) or (name == "earliest" and not value):
            return None
        return value if unit is None else time_text(contents, round(value * contents.scale))

    def cells(name: str, values: NDArray[Any]) -> NDArray[Any]:
        found = np.empty(len(values), object)
        found[:] = [cell(name, value) for value in values.tolist()]
        return found

    unit = time_unit_of(contents)
    return {name: cells(name, values) if name in TIMES else values for name, values in rows.items()}


def time_unit_of(contents: Contents) -> str | None:
    """Return which of `clock.UNITS` a unit of the costs is, as the job or the instance says, or None."""
    said = contents.keys.get("time-unit")  # results of format version 2 have it there alone
    return said if isinstance(said, str) and said in UNITS else UNIT_OF.get(contents.unit)


def schedule_line(contents: Contents, schedule: Schedule) -> str:
    """Return when a tour begins and ends, and how much of it is waiting and service."""
    spent = [(int(times.sum()), what) for times, what in (
        (schedule.waiting, "waiting"), (schedule.departure - schedule.begin, "service"))]
    within = ", ".join(f"{time_text(contents, time)} {what}" for time, what in spent if time)
    begin, end = (time_text(contents, int(time)) for time in (schedule.arrival[0], schedule.departure[-1]))
    return f"from {begin} to {end}" + (f", with {within}" if within else ", without waiting")

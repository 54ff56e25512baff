"""Files that a job about the order of cities names: time windows, costs that depend on the leg of a tour, and a tour.

Windows are a CSV table, with a line for each city: `city,earliest,latest`, optionally `service`. A city is its label or
name in the instance. An empty `earliest` is 0, an empty `latest` has no limit, an empty or missing `service` is 0.
Cities without a line may be served at any time. Times are numbers in the unit of the costs, between semicolons or tabs
perhaps with a decimal comma (`tables.with_points`), or, where it is known what that is, times of day such as 08:00,
which count from midnight, and services such as 0:15. Costs by leg are a `.npy` array of shape (legs, n, n), in that
unit too. A tour is a TSPLIB tour, or a list with a city on each line, by label or name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.npy import is_npy, npy_array
from hpcsolve.formats.tables import csv_line, decimal, listed, rows_of, shortest, with_points
from hpcsolve.formats.tsplib import read_tour_text
from hpcsolve.problems import rounding
from hpcsolve.problems.clock import UNITS, clock_seconds, scaled_clock
from hpcsolve.problems.libraries import is_data_frame
from hpcsolve.problems.questions import Windows
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import shown

_BLANK = re.compile(r"\s*$")
_NOISE = 2.0**-40
"""Difference of a float from a decimal, as a part of it, that comes from the arithmetic of floats."""
_LARGEST_FLOAT = 2.0**52
"""Below that floats are rounded by float arithmetic."""
COLUMNS = ("city", "earliest", "latest", "service")


def read_windows(file: InputFile, tsp: Tsp, unit: str | None = None) -> Windows:
    """Return the time windows of a table, in the instance's scaled integers.

    Parameters
    ----------
    unit
        What a unit of the costs is, one of `clock.UNITS`. Without it there are no times of day.

    Raises
    ------
    InputError
        With file and line: a column is missing, a city is unknown or there twice, a time is not a number of the
        costs' decimals, or a window ends before it begins.
    """
    file = file.as_text()
    rows, delimiter = rows_of(file, "a row of a CSV table", _BLANK, ",")
    if not rows:
        raise file.error("is empty; the first line must be city,earliest,latest")
    titles = [title.lower() for title in rows[0].cells]
    if not set(COLUMNS[:3]) <= set(titles) or set(titles) - set(COLUMNS) or len(set(titles)) < len(titles):
        what = f"the columns are {listed(titles)}; they must be city, earliest, latest and optionally service"
        raise file.error(what, rows[0].line)
    times = {name: np.full(tsp.n, rounding.LARGEST_SUM if name == "latest" else 0) for name in COLUMNS[1:]}
    seen: dict[int, int] = {}
    for line, row in rows[1:]:
        if len(row) != len(titles):
            raise file.error(f"{len(row)} cells, but the first line has {len(titles)}", line)
    numbers = [at for at, title in enumerate(titles) if title != "city"]
    for line, row in with_points(file, rows[1:], delimiter, numbers):
        cells = dict(zip(titles, row))
        city = _city(file, line, tsp, cells["city"])
        file.note_once(seen, city, f"city {cells['city']}", line)
        for name in titles:
            if name != "city" and cells[name]:
                times[name][city] = _scaled(file, line, cells[name], tsp.scale, unit)
        if times["earliest"][city] > times["latest"][city]:
            what = f"{cells['earliest']} is after {cells['latest']}; earliest must not be later than latest"
            raise file.error(f"the window of city {cells['city']} is empty: {what}", line)
    return Windows(**times)


def windows_given(given: Any, tsp: Tsp, unit: str | None = None) -> Windows:
    """Return the time windows that a program gave, in the instance's scaled integers.

    Parameters
    ----------
    given
        A DataFrame with the columns of a table, where the index has the cities if no column does; a mapping from cities
        to (earliest, latest) or (earliest, latest, service); or one of these for each city, in the order of the cities.
        None and NaN are empty cells. Times of day may be texts or `datetime.time`, services `datetime.timedelta`. The
        noise of floating-point arithmetic is taken away.
    unit
        As in `read_windows`.

    Raises
    ------
    InputError
        Something else is given, or as `read_windows`: line 2 is that of the first city.
    """
    if is_data_frame(given):
        titles = [str(title) for title in given.columns]
        columns = [given.iloc[:, at].tolist() for at in range(len(titles))]
        if "city" not in (title.lower() for title in titles):
            titles, columns = ["city", *titles], [given.index.tolist(), *columns]
        rows = [list(row) for row in zip(*columns)]
    else:
        mapping = isinstance(given, Mapping)
        pairs = list(given.values()) if mapping else given.tolist() if isinstance(given, np.ndarray) else given
        if not isinstance(pairs, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in pairs):
            what = "a DataFrame, a mapping from cities to (earliest, latest), or a list of these for all cities"
            raise InputError(f"windows: expected {what}, got {type(given).__name__}")
        width = max(map(len, pairs), default=2)
        if not {2, 3}.issuperset(map(len, pairs)) or (not mapping and len(pairs) != tsp.n):
            what = f"expected (earliest, latest) or (earliest, latest, service) for each of {tsp.n} cities"
            raise InputError(f"windows: {what}, got {len(pairs)} rows of {width}")
        cities = list(given) if mapping else tsp.labels.tolist()
        titles = list(COLUMNS[: 1 + width])
        rows = [[city, *row, *[None] * (width - len(row))] for city, row in zip(cities, pairs)]
    at = next(index for index, title in enumerate(titles) if title.lower() == "city")
    lines = [titles, *([str(value) if index == at else _cell(value, tsp.scale) for index, value in enumerate(row)]
                       for row in rows)]
    return read_windows(InputFile("windows", "".join(map(csv_line, lines)).encode(), ""), tsp, unit)


def _cell(value: Any, scale: int) -> str:
    """Return a time as the cell of a table."""
    if value is None or value != value:  # NaN, and pandas' NaT
        return ""
    if isinstance(value, float) and math.isfinite(value) and abs(value) < _LARGEST_FLOAT:
        nearest = round(value * scale)
        near = abs(value * scale - nearest) <= _NOISE * max(1.0, abs(value * scale))
        return decimal(nearest, scale) if near else shortest(value)
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        if seconds == int(seconds):
            return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"
    return value.isoformat() if isinstance(value, (time, datetime)) else str(value).strip()


def _city(file: InputFile, line: int, tsp: Tsp, cell: str) -> int:
    try:
        number = cell.lstrip("-").isdigit() and cell not in tsp.city_names
        return int(tsp.positions([int(cell) if number else cell])[0])
    except InputError as error:
        raise file.error(str(error), line) from None


def _scaled(file: InputFile, line: int, cell: str, scale: int, unit: str | None) -> int:
    """Return a time in scaled integers, at least 0 and at most `LARGEST_SUM`."""
    seconds = clock_seconds(cell)
    if seconds is not None:
        if unit is None:
            units = ", ".join(f'"{name}"' for name in UNITS)
            raise file.error(f"{cell} is a time of day; set time-unit to what a unit of the costs is ({units})", line)
        found = scaled_clock(seconds, unit, scale)
        if found is None:
            digits = f"with {len(str(scale)) - 1} decimals, as the costs have" if scale > 1 else "without decimals"
            raise file.error(f"{cell} is no number of {unit}s {digits}; round it, or the costs more finely", line)
        return min(found, rounding.LARGEST_SUM)
    if not rounding.is_number(cell):
        raise file.error(f"expected a time as a number, in the unit of the costs, found {shown(cell)}", line)
    with suppress(rounding.BadNumber):
        times = rounding.exact_from_texts([cell], rounding.LARGEST_SUM).at(scale, rounding.LARGEST_SUM)
        if times is not None and times[0] >= 0:
            return min(int(times[0]), rounding.LARGEST_SUM)
    what = f"{shown(cell)} is not a time of at least 0 with the costs' number of decimals"
    raise file.error(f"{what} (scale {scale})", line)


def read_leg_costs(file: InputFile, tsp: Tsp, legs: int) -> NDArray[np.int64]:
    """Return the costs of each leg, shape (legs, n, n), in the instance's scaled integers.

    `inf` (among integers the largest int64) is a forbidden arc; the diagonals are ignored.

    Raises
    ------
    InputError
        The file is no array of this shape, or an entry is too large or has more decimals than the instance's costs.
    """
    if not is_npy(file.content):
        raise file.error("is not a .npy file; numpy.save writes one")
    table = npy_array(file)
    if table.shape != (legs, tsp.n, tsp.n):
        what = f"has shape {table.shape}; a tour of this instance has {legs} legs among {tsp.n} cities"
        raise file.error(f"{what}, so it must have shape {(legs, tsp.n, tsp.n)}")
    costs = rounding.costs_of_table(table, None, file.name, "leg")
    values = costs.at(tsp.scale, rounding.largest_cost(tsp.n))
    if values is not None:
        return values
    if costs.scale > tsp.scale:
        raise file.error(f"a cost has more decimals than the instance's costs (scale {tsp.scale}); round the costs")
    what = f"a cost is too large: times the instance's scale it may be {rounding.largest_cost(tsp.n)} at most"
    raise file.error(what)


def read_order(file: InputFile, tsp: Tsp) -> NDArray[np.int64]:
    """Return the positions of the cities in the order of a file, shape (n,).

    Raises
    ------
    InputError
        The file has no such order: a city is unknown, missing or there twice.
    """
    file = file.as_text()
    if b"TOUR_SECTION" in file.content:
        asked: NDArray[np.int64] | list[int | str] = read_tour_text(file)
    else:
        lines = (line.strip() for line in file.content.decode(errors="replace").splitlines())
        cells = [cell for cell in lines if cell and not cell.startswith("#")]
        asked = [int(cell) if cell.lstrip("-").isdigit() and len(cell) < 19 else cell for cell in cells]
    try:
        order = tsp.positions(asked)
    except InputError as error:
        raise file.error(str(error)) from None
    visits = np.bincount(order, minlength=tsp.n)
    if len(order) != tsp.n or (visits != 1).any():
        times = "is missing" if visits.min() == 0 else "is there twice"
        city = tsp.labels[int(np.argmax(visits == 0 if visits.min() == 0 else visits > 1))]
        raise file.error(f"city {city} {times}; a tour has every city once")
    return order

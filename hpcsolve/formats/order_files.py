"""Files that a job about the order of cities names: time windows, travel times, costs by the leg of a tour, and a tour.

Windows are a CSV table, with a line for each city: `city,earliest,latest`, optionally `service`. A city is its label or
name in the instance. An empty `earliest` is 0, an empty `latest` has no limit, an empty or missing `service` is 0.
Cities without a line may be served at any time. Times are numbers in the unit of the costs, between semicolons or tabs
perhaps with a decimal comma (`tables.with_points`), or, where it is known what that is, times of day such as 08:00,
which count from midnight, and services such as 0:15. Tables of places may have windows too, where a speed makes
travel times of their distances (`windows_of_places`). Costs by leg are a `.npy` array of shape (legs, n, n), in that
unit too. Travel times by time of departure are a CSV table `time,factor`, by which all costs are multiplied, or a
`.npy` array of shape (times, n, n) beside the times of departure. A tour is a TSPLIB tour, or a list with a city on
each line, by label or name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.npy import is_npy, npy_array
from hpcsolve.formats.spreadsheets import cell_text
from hpcsolve.formats.tables import csv_line, decimal, listed, rows_of, with_points
from hpcsolve.formats.tsplib import read_tour_text
from hpcsolve.problems import rounding
from hpcsolve.problems.clock import UNITS, clock_seconds, unit_in_title
from hpcsolve.problems.geographic import time_columns, word_of
from hpcsolve.problems.libraries import is_data_frame
from hpcsolve.problems.questions import Windows
from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC, Tsp
from hpcsolve.wording import counted, shown

_BLANK = re.compile(r"\s*$")
_NOISE = Fraction(1, 2**40)
"""Difference of a float from a decimal that comes from the arithmetic of floats, as a part of the largest number."""
_DIGITS_OF_FLOATS = 15
"""Digits from which on a decimal may be a float with noise: 0.30000000000000004 has 17."""
_MAGNITUDES = range(-400, 20)
"""Powers of ten of times that are read."""
COLUMNS = ("city", "earliest", "latest", "service")
MOST_DEPARTURES = 1000
"""The most times of departure that travel times have: one for each minute of a day's rush hours."""
LARGEST_FACTOR = 1000
"""The largest factor of travel times."""


class Time(NamedTuple):
    """A cell of a table of windows.

    Attributes
    ----------
    line, city, column
        Where it stands: the line, the city's position, and the title of the column; of a time of departure no city.
    cell
        The text.
    value
        In units of the costs. None: no limit.
    digits
        Significant digits of the text; floats may have 17.
    """

    line: int | None
    city: int
    column: str
    cell: str
    value: Fraction | None
    digits: int

    def over(self, scale: int, noise: Fraction) -> int | None:
        """Return the scaled integer, or None if there is none.

        Parameters
        ----------
        noise
            How far from it, in units of the costs, a text may be that has so many digits as only floats have.
        """
        if self.value is None:
            return rounding.LARGEST_SUM
        exact = self.value * scale
        nearest = round(exact)
        if abs(exact - nearest) > (noise * scale if self.digits >= _DIGITS_OF_FLOATS else 0):
            return None
        return min(nearest, rounding.LARGEST_SUM)


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
    return _windows(file, _times(file, tsp, unit), tsp, unit)


def _times(file: InputFile, tsp: Tsp, unit: str | None) -> list[Time]:
    """Return the times of a table, those of a line one after the other. Raises as `read_windows`."""
    file = file.as_text()
    rows, delimiter = rows_of(file, "a row of a CSV table", _BLANK, ",")
    if not rows:
        raise file.error("is empty; the first line must be city,earliest,latest")
    titles = [title.lower() for title in rows[0].cells]
    if not set(COLUMNS[:3]) <= set(titles) or set(titles) - set(COLUMNS) or len(set(titles)) < len(titles):
        what = f"the columns are {listed(titles)}; they must be city, earliest, latest and optionally service"
        raise file.error(what, rows[0].line)
    for line, row in rows[1:]:
        if len(row) != len(titles):
            raise file.error(f"{len(row)} cells, but the first line has {len(titles)}", line)
    numbers = [at for at, title in enumerate(titles) if title != "city"]
    seen: dict[int, int] = {}
    times = []
    for line, row in with_points(file, rows[1:], delimiter, numbers):
        cells = dict(zip(titles, row))
        city = _city(file, line, tsp, cells["city"])
        file.note_once(seen, city, f"city {cells['city']}", line)
        for name in titles:
            if name != "city" and cells[name]:
                value, digits = _value(file, line, cells[name], unit)
                times.append(Time(line, city, name, cells[name], value, digits))
    return times


def _windows(file: InputFile, times: Sequence[Time], tsp: Tsp, unit: str | None) -> Windows:
    """Return times in the instance's scaled integers. Raises as `read_windows`."""
    noise = _noise(times, tsp)
    scaled = {name: np.full(tsp.n, rounding.LARGEST_SUM if name == "latest" else 0) for name in COLUMNS[1:]}
    texts: dict[tuple[int, str], str] = {}
    for entry in times:
        value = entry.over(tsp.scale, noise)
        if value is None:
            raise file.error(_not_scaled(entry, tsp.scale, unit), entry.line)
        scaled[entry.column][entry.city] = value
        texts[entry.city, entry.column] = entry.cell
    for line, city in {entry.line: entry.city for entry in times}.items():
        if scaled["earliest"][city] > scaled["latest"][city]:
            name = tsp.city_names[city] if tsp.city_names else tsp.labels[city]
            first, last = (texts[city, column] for column in ("earliest", "latest"))
            what = f"{first} is after {last}; earliest must not be later than latest"
            raise file.error(f"the window of city {name} is empty: {what}", line)
    return Windows(**scaled)


def windows_of_places(
    file: InputFile, rows: Iterable[tuple[int | None, Mapping[str, str]]], tsp: Tsp
) -> Windows:
    """Return the time windows in a table of places, whose costs are travel times in whole seconds.

    Numbers alone do not say whether they are minutes or seconds. So cells are times of day, services such as 0:05, or
    numbers of the unit in the title, as in `service (min)`.

    Parameters
    ----------
    rows
        Of each place the line, and by title its cells in columns of `geographic.WINDOW_COLUMNS`.

    Raises
    ------
    InputError
        With file and line: a cell has neither form or is no whole number of seconds, or a window ends before it begins.
    """
    times = []
    for city, (line, cells) in enumerate(rows):
        for title, cell in cells.items():
            if not cell:
                continue
            name, unit = word_of(title), unit_in_title(title)
            seconds, number = clock_seconds(cell), rounding.is_number(cell)
            if (seconds is None and not number) or (seconds is not None and unit is not None):
                form = "as in 08:00" if unit is None else f"as a number of {unit}s, as the title has it"
                raise file.error(f"the {name} {shown(cell)} is not a time; write it {form}", line)
            value, digits = _value(file, line, cell, "second")
            if seconds is None and value:
                if unit is None:
                    example = f"0:05, or call the column {name} (min)" if name == "service" else "08:00"
                    raise file.error(f"the {name} {shown(cell)} has no unit that is known; write it as in {example}",
                                     line)
                value *= UNITS[unit]
                if value.denominator > 1:
                    raise file.error(f"the {name} {shown(cell)} is no whole number of seconds; round it", line)
            times.append(Time(line, city, name, cell, value, digits))
    return _windows(file, times, tsp, "second")


def windows_of_frame(frame: Any, tsp: Tsp, speed: float) -> Windows | None:
    """Return the time windows in a DataFrame of places, in whole seconds, or None if it has no such columns.

    Raises as `windows_of_places`: line 2 is that of the first place, as if the frame were a file with a header.
    """
    columns = {title: frame.iloc[:, at].tolist() for title, at in time_columns(list(frame.columns), speed).items()}
    rows = [{title: cell_text(values[place]) for title, values in columns.items()} for place in range(tsp.n)]
    return windows_of_places(InputFile("DataFrame", b"", ""), enumerate(rows, 2), tsp) if columns else None


def with_windows(given: Any, tsp: Tsp, unit: str | None = None) -> Tsp:
    """Return the instance with the time windows that a program gave.

    If times have more decimals than exact costs, the costs get as many, so that all stay exact.

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
    file = _given_table(given, tsp)
    times = _times(file, tsp, unit)
    noise = _noise(times, tsp)
    if tsp.rounding is None and any(entry.over(tsp.scale, noise) is None for entry in times):
        tsp = _finer(tsp, times, noise)
    return replace(tsp, windows=_windows(file, times, tsp, unit))


def _noise(times: Sequence[Time], tsp: Tsp) -> Fraction:
    """Return the largest error of float arithmetic with such times and costs, in units of the costs."""
    largest = max((entry.value for entry in times if entry.value is not None), default=Fraction(0))
    return _NOISE * max(largest, Fraction(rounding.Costs(tsp.cost, tsp.scale).largest, tsp.scale))


def _finer(tsp: Tsp, times: Sequence[Time], noise: Fraction) -> Tsp:
    """Return the instance over the smallest scale that times and costs have, or unchanged if there is none."""
    costs, limit = rounding.Costs(tsp.cost, tsp.scale), rounding.largest_cost(tsp.n)
    scale = tsp.scale
    while scale < 10**rounding.MAXIMUM_DECIMALS:
        scale *= 10
        found = [entry.over(scale, noise) for entry in times]
        values = costs.at(scale, limit)
        if values is None:
            return tsp
        if all(entry.value is None or value not in (None, rounding.LARGEST_SUM) for entry, value in zip(times, found)):
            return tsp.with_costs(values, scale=scale)
    return tsp


def _given_table(given: Any, tsp: Tsp) -> InputFile:
    """Return what a program gave as a table. Raises as `with_windows`."""
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
    cells = ([str(cell) if index == at else cell_text(cell) for index, cell in enumerate(row)] for row in rows)
    lines = [titles, *cells]
    return InputFile("windows", "".join(map(csv_line, lines)).encode(), "")


def _city(file: InputFile, line: int, tsp: Tsp, cell: str) -> int:
    try:
        label = _label(cell)
        return int(tsp.positions([cell if label is None or label not in tsp.labels else label])[0])
    except InputError as error:
        raise file.error(str(error), line) from None


def _label(cell: str) -> int | None:
    """Return the whole number that a text is, or None."""
    return int(cell) if re.fullmatch(r"-?[0-9]{1,18}", cell) else None


def _value(file: InputFile, line: int | None, cell: str, unit: str | None) -> tuple[Fraction | None, int]:
    """Return a time in units of the costs, None if there is no limit, and the significant digits of its text."""
    seconds = clock_seconds(cell)
    if seconds is not None:
        if unit is None:
            units = ", ".join(f'"{name}"' for name in UNITS)
            raise file.error(f"{cell} is a time of day; set time-unit to what a unit of the costs is ({units})", line)
        return Fraction(seconds, UNITS[unit]), 0
    if not rounding.is_number(cell):
        raise file.error(f"expected a time as a number, in the unit of the costs, found {shown(cell)}", line)
    with suppress(rounding.BadNumber):
        number = rounding.exact_number(cell)
        if number is None:
            return None, 0
        if number == 0 or (number > 0 and number.adjusted() in _MAGNITUDES):
            return Fraction(number), len(number.as_tuple().digits)
    raise file.error(f"{shown(cell)} is not a time of at least 0 and below {float(rounding.LARGEST_SUM):.0e}", line)


def _departure(file: InputFile, line: int | None, cell: str, tsp: Tsp, unit: str | None) -> int:
    """Return a time of departure in the instance's scaled integers. Raises `InputError`."""
    value, digits = _value(file, line, cell, unit)
    entry = Time(line, -1, "", cell, value, digits)
    found = entry.over(tsp.scale, _noise([entry], tsp))
    if found is None:
        raise file.error(_not_scaled(entry, tsp.scale, unit), line)
    return found


def _not_scaled(entry: Time, scale: int, unit: str | None) -> str:
    """Return why a time is no integer over a scale."""
    if clock_seconds(entry.cell) is not None:
        digits = f"with {len(str(scale)) - 1} decimals, as the costs have" if scale > 1 else "without decimals"
        return f"{entry.cell} is no number of {unit}s {digits}; round it, or the costs more finely"
    costs = "costs" if scale == 1 else f"costs, which have {counted(len(str(scale)) - 1, 'decimal')}"
    return f"{shown(entry.cell)} has more decimals than the {costs}; round it"


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
    return _scaled_tables(file, table, tsp, "leg")


def _scaled_tables(file: InputFile, table: NDArray[Any], tsp: Tsp, several: str) -> NDArray[np.int64]:
    """Return tables of costs in the instance's scaled integers. Raises as `read_leg_costs`."""
    costs = rounding.costs_of_table(table, None, file.name, several)
    values = costs.at(tsp.scale, rounding.largest_cost(tsp.n))
    if values is not None:
        return values
    if costs.scale > tsp.scale:
        raise file.error(f"a cost has more decimals than the instance's costs (scale {tsp.scale}); round the costs")
    what = f"a cost is too large: times the instance's scale it may be {rounding.largest_cost(tsp.n)} at most"
    raise file.error(what)


def read_travel_times(
    file: InputFile, tsp: Tsp, departures: Sequence[int | float | str] | None, unit: str | None = None,
) -> TravelTimes:
    """Return the travel times of a file, in the instance's scaled integers.

    Parameters
    ----------
    departures
        The times of departure of the tables of a `.npy` file, of which `inf` is a missing arc; the diagonals are
        ignored. None for a CSV table of factors, by which the costs are multiplied and rounded to the nearest integer,
        half an integer up.
    unit
        As in `read_windows`.

    Raises
    ------
    InputError
        With file, and line or key: the file has neither form, or `departures` do not belong to it; a time, a factor or
        a travel time is wrong; or a later departure arrives earlier.
    """
    if is_npy(file.content):
        found = _travel_tables(file, tsp, departures, unit)
    elif departures is not None:
        raise InputError("held-karp.departures: the times of departure of a table of factors stand in its column time; "
                         "remove departures, or name a .npy file in travel-times")
    else:
        found = _by_factors(file, tsp, unit)
    if found.too_large():
        raise file.error("two times of departure are so far apart, in the last decimal of the costs, that products "
                         "exceed 62 bits; add times of departure between them, or round the costs")
    if (wrong := found.overtaking()) is not None:
        k, tail, head = wrong
        names = tsp.city_names or tsp.labels
        begins, takes = ([decimal(int(value), tsp.scale) for value in values] for values in (
            found.departures[k : k + 2], found.tables[k : k + 2, tail, head]))
        legs = " and ".join(f"at {begin} takes {time}" for begin, time in zip(begins, takes))
        raise file.error(f"a later departure arrives earlier from city {names[tail]} to {names[head]}: leaving {legs}; "
                         "travel times may fall by no more than the time between their departures")
    return found


def _travel_tables(file: InputFile, tsp: Tsp, departures: Sequence[int | float | str] | None, unit: str | None
                   ) -> TravelTimes:
    """Return the travel times of a `.npy` file, before their check."""
    if departures is None:
        raise InputError("held-karp.travel-times: a .npy file has tables alone; give the time of departure of each in "
                         'departures, such as ["06:00", "08:00"]')
    key = InputFile("held-karp.departures", b"", "")
    times = np.array([_departure(key, None, cell_text(value), tsp, unit) for value in departures], np.int64)
    table = npy_array(file)
    if table.shape != (len(times), tsp.n, tsp.n):
        what = f"has shape {table.shape}; {len(times)} departures among {tsp.n} cities"
        raise file.error(f"{what} need {(len(times), tsp.n, tsp.n)}")
    _require_ascending(key, times, [None] * len(times), list(map(str, departures)))
    tables = _scaled_tables(file, table, tsp, "departure")
    names = tsp.city_names or tsp.labels
    for wrong, what in (((tables == NO_ARC) != (tables[0] == NO_ARC), "is there at some times of departure alone"),
                        (tables < 0, "takes less than 0")):
        if wrong.any():
            _, tail, head = np.argwhere(wrong)[0].tolist()
            raise file.error(f"the arc from city {names[tail]} to {names[head]} {what}")
    return TravelTimes(times, tables)


def _by_factors(file: InputFile, tsp: Tsp, unit: str | None) -> TravelTimes:
    """Return the costs times the factors of a CSV table, before their check."""
    file = file.as_text()
    rows, delimiter = rows_of(file, "a row of a CSV table", _BLANK, ",")
    if not rows:
        raise file.error("is empty; the first line must be time,factor")
    titles = [title.lower() for title in rows[0].cells]
    if sorted(titles) != ["factor", "time"]:
        raise file.error(f"the columns are {listed(titles)}; they must be time and factor", rows[0].line)
    times, factors = list[int](), list[Fraction]()
    for line, row in rows[1:]:
        if len(row) != 2:
            raise file.error(f"{len(row)} cells, but the first line has 2", line)
    for line, row in with_points(file, rows[1:], delimiter):
        cells = dict(zip(titles, row))
        times.append(_departure(file, line, cells["time"], tsp, unit))
        factors.append(_factor(file, line, cells["factor"]))
    _require_ascending(file, np.array(times, np.int64), [line for line, _ in rows[1:]],
                       [row[titles.index("time")] for _, row in rows[1:]])
    most, known = rounding.largest_cost(tsp.n), tsp.cost != NO_ARC
    costs = np.where(known, tsp.cost, 0)
    if (costs < 0).any():
        raise file.error("a cost of the instance is negative; travel times must be at least 0")
    if int(costs.max(initial=0)) * max(factors) > most:
        raise file.error(f"a cost times its factor is too large: times the instance's scale it may be {most} at most")
    tables = np.stack([_multiplied(costs, factor) for factor in factors])
    tables[:, ~known] = NO_ARC
    return TravelTimes(np.array(times, np.int64), tables)


def _factor(file: InputFile, line: int, cell: str) -> Fraction:
    """Return a factor of travel times."""
    if rounding.is_number(cell):
        with suppress(ValueError):  # NaN and infinities
            factor = Fraction(cell)
            if 0 <= factor <= LARGEST_FACTOR:
                return factor
    raise file.error(f"expected a factor from 0 to {LARGEST_FACTOR}, found {shown(cell)}", line)


def _multiplied(costs: NDArray[np.int64], factor: Fraction) -> NDArray[np.int64]:
    """Return costs of at least 0 times a factor, rounded to the nearest integers, halves up."""
    double = 2 * factor
    if int(costs.max(initial=0)) * double.numerator + double.denominator < 2**63:
        return (costs * double.numerator // double.denominator + 1) // 2
    exact = [int((cost * double + 1) // 2) for cost in costs.reshape(-1).tolist()]
    return np.array(exact, np.int64).reshape(costs.shape)


def _require_ascending(file: InputFile, times: NDArray[np.int64], lines: Sequence[int | None], texts: Sequence[str]
                       ) -> None:
    """Check that there are times, not too many of them, each after the one before it."""
    if not 1 <= len(times) <= MOST_DEPARTURES:
        raise file.error(f"{len(times)} times of departure; there must be 1 to {MOST_DEPARTURES}")
    for at in np.flatnonzero(np.diff(times) <= 0).tolist():
        what = f"{texts[at + 1]} comes after {texts[at]}; times of departure must ascend, each time once"
        raise file.error(what, lines[at + 1])


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
        asked = [cell if (label := _label(cell)) is None else label for cell in cells]
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

"""Time windows in a CSV table: a line for each city with `city,earliest,latest`, optionally `service`.

A city is its label or name in the instance. An empty `earliest` is 0, an empty `latest` has no limit, an empty or
missing `service` is 0. Cities without a line may be served at any time. Times are in the unit of the costs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats.cells import cells_of, delimiter_of, listed
from hpcsolve.formats.files import InputFile, as_text, decode, open_file
from hpcsolve.problems.decimals import is_number, shown
from hpcsolve.problems.order import LARGEST_VALUE, Windows
from hpcsolve.problems.tsp import Tsp, positions

COLUMNS = ("city", "earliest", "latest", "service")


def read_windows(path: str, tsp: Tsp) -> Windows:
    """Return the time windows of a table, in the instance's scaled integers.

    Raises
    ------
    InputError
        With file and line: a column is missing, a city is unknown or there twice, a time is not a number of the
        costs' decimals, or a window ends before it begins.
    """
    file = as_text(open_file(path))
    rows = [(number, text) for number, text in enumerate(decode(file.content).split("\n"), 1) if text.strip()]
    if not rows:
        raise file.error("is empty; the first line must be city,earliest,latest")
    delimiter = delimiter_of(rows[0][1]) or ","
    titles = [title.lower() for title in cells_of(rows[0][1], delimiter)]
    if not set(COLUMNS[:3]) <= set(titles) or set(titles) - set(COLUMNS) or len(set(titles)) < len(titles):
        what = f"the columns are {listed(titles)}; they must be city, earliest, latest and optionally service"
        raise file.error(what, rows[0][0])
    times = {name: np.full(tsp.n, LARGEST_VALUE if name == "latest" else 0) for name in COLUMNS[1:]}
    seen: dict[int, int] = {}
    for line, text in rows[1:]:
        cells = dict(zip(titles, _cells(file, line, text, delimiter, len(titles))))
        city = _city(file, line, tsp, cells["city"])
        if city in seen:
            raise file.error(f"city {cells['city']} is given twice, first on line {seen[city]}", line)
        seen[city] = line
        for name in titles:
            if name != "city" and cells[name]:
                times[name][city] = _scaled(file, line, cells[name], tsp.scale)
        if times["earliest"][city] > times["latest"][city]:
            what = f"{cells['earliest']} is after {cells['latest']}; earliest must not be later than latest"
            raise file.error(f"the window of city {cells['city']} is empty: {what}", line)
    return Windows(**times)


def _cells(file: InputFile, line: int, text: str, delimiter: str, width: int) -> list[str]:
    cells = cells_of(text, delimiter)
    if len(cells) != width:
        raise file.error(f"{len(cells)} cells, but the first line has {width}", line)
    return cells


def _city(file: InputFile, line: int, tsp: Tsp, cell: str) -> int:
    try:
        number = cell.lstrip("-").isdigit() and cell not in tsp.city_names
        return int(positions(tsp, [int(cell) if number else cell])[0])
    except InputError as error:
        raise file.error(str(error), line) from None


def _scaled(file: InputFile, line: int, cell: str, scale: int) -> int:
    """Return a time in scaled integers, at least 0 and at most `LARGEST_VALUE`."""
    if not is_number(cell):
        raise file.error(f"expected a time as a number, in the unit of the costs, found {shown(cell)}", line)
    if cell.lower().lstrip("+").startswith("inf"):
        return LARGEST_VALUE
    value = Fraction(cell) * scale if cell.lower() != "nan" and len(cell) < 40 else None
    if value is None or value.denominator != 1 or not 0 <= value <= LARGEST_VALUE:
        what = f"{shown(cell)} is not a time of at least 0 with the costs' number of decimals"
        raise file.error(f"{what} (scale {scale})", line)
    return int(value)

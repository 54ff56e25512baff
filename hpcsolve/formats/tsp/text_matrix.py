"""Cost matrices as text: CSV, or numbers between blanks, one row of the matrix on each line.

A cost is from the row's city to the column's; `inf` or an empty CSV cell is a forbidden arc; the diagonal is ignored;
decimals are scaled exactly, or rounded if they are too many. Names of the cities may stand in the first row, or in the
first row and the first column.
"""

from __future__ import annotations

import csv
import re

import numpy as np

from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.formats.tsp.tsplib_sections import integers_only
from hpcsolve.problems.decimals import BadNumber, is_number, shown
from hpcsolve.problems.rounding import Costs, Precision, costs_from_texts
from hpcsolve.problems.tsp import Tsp, from_costs, largest_cost, require_memory

TableRow = tuple[int, list[str]]
"""The line that a row stands on, and its cells."""


def read_text_matrix(file: InputFile, precision: Precision | None = None) -> Tsp:
    """Return the problem of a table of numbers between commas, semicolons, tabs or blanks.

    Raises
    ------
    InputError
        With file and line: a row is too long or short, a cell is not a number, or the names disagree.
    """
    names, rows = _without_names(file, _rows(file))
    n = len(rows)
    for line, cells in rows:
        if len(cells) != n:
            what = f"{len(cells)} cells in a table of {n} rows; the matrix must be square"
            raise file.error(what, line)
    require_memory(n)
    cost, scale, error = _costs(file, rows, precision)

    def location(row: int, column: int) -> tuple[str, int]:
        return file.name, rows[row][0]

    name = file.stem or "matrix"
    return from_costs(
        cost.reshape(n, n), name, scale=scale, cost_error=error, city_names=names, location=location
    )


def looks_like_text_matrix(content: bytes) -> bool:
    """Return whether one of the first two lines that are neither blank nor comments has a number in it."""
    rows = _table_lines(content[: 1 << 20])[:2]
    try:
        return any(is_number(cell) for _, line in rows for cell in _cells(line, _delimiter(line)))
    except csv.Error:  # a cell of more than 100 KB
        return False


def _table_lines(content: bytes) -> list[tuple[int, str]]:
    lines = enumerate(decode(content).split("\n"), start=1)
    return [(number, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]


def _delimiter(line: str) -> str | None:
    """Return what separates the cells of a line: a semicolon, tab or comma, or None for blanks."""
    return next((mark for mark in (";", "\t", ",") if mark in line), None)


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return words(line)
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]


def _rows(file: InputFile) -> list[TableRow]:
    lines = _table_lines(file.content)
    if not lines:
        raise file.error("there are no rows, only comments", file.last_line)
    delimiter = _delimiter(lines[0][1])
    rows = []
    for number, line in lines:
        try:
            _refuse_decimal_commas(file, line, delimiter, number)
            rows.append((number, _cells(line, delimiter)))
        except csv.Error as problem:
            raise file.error(f"not a row of a CSV table: {problem}", number) from None
    return rows


def _refuse_decimal_commas(file: InputFile, line: str, delimiter: str | None, number: int) -> None:
    """Refuse 1,5 for one and a half, as spreadsheets in some languages write it."""
    found = re.search(r"(?<![\w,.])[+-]?\d+,\d+(?![\w,.])", line) if delimiter in (";", "\t") else None
    if found is not None:
        raise file.error(f"{shown(found[0])} is not a number; write decimals with a point", number)


def _without_names(file: InputFile, rows: list[TableRow]) -> tuple[tuple[str, ...], list[TableRow]]:
    """Return the names of the cities, empty if the table has none, and the rows without them."""
    first_line, first = rows[0]
    if not any(cell and not is_number(cell) for cell in first[1:]):
        _refuse_city_numbers(file, rows)
        return (), rows
    body = rows[1:]
    if len(first) == len(body):
        return tuple(first), body
    names = tuple(first[1:])
    if len(first) != len(body) + 1:
        message = f"a first row of {len(first)} names over {len(body)} rows; give each city one name"
        raise file.error(message, first_line)
    for (line, cells), name in zip(body, names, strict=True):
        if len(cells) != len(first):
            raise file.error(f"{len(cells)} cells under a first row of {len(first)} names; each city has one", line)
        if cells[0] != name:
            raise file.error(f"this row is named {shown(cells[0])}, its column {shown(name)}; order them alike", line)
    return names, [(line, cells[1:]) for line, cells in body]


def _refuse_city_numbers(file: InputFile, rows: list[TableRow]) -> None:
    """Refuse a first row and column that may be city numbers, as spreadsheets and pandas write them."""
    line, first = rows[0]
    column = [cells[0] if cells else "" for _, cells in rows[1:]]
    count = [str(i) for i in range(len(rows))]
    if first[0] == "" and len(rows) > 2 and first[1:] == column and first[1:] in (count[:-1], count[1:]):
        message = "the first row and column look like city numbers; remove them, or write 0 into the first cell"
        raise file.error(message, line)


def _costs(file: InputFile, rows: list[TableRow], precision: Precision | None) -> Costs:
    """Return the costs, n * n of them."""
    n = len(rows)
    cells = [cell for _, row in rows for cell in row]
    for index in range(0, n * n, n + 1):
        if is_number(cells[index]) or cells[index] in ("", "-"):
            cells[index] = "0"
    text = " ".join(cells).encode()
    if "" not in cells and integers_only(text):
        whole = np.fromstring(text, dtype=np.int64, sep=" ")
        if len(whole) == n * n:  # else a cell holds several numbers, which is refused below
            return Costs(whole, 1)
    try:
        return costs_from_texts(cells, n, largest_cost(n), precision, file.name)
    except BadNumber as problem:
        row, column = divmod(problem.index, n)
        message = f"the cost from city {row} to city {column} (cell {column + 1}) {problem.reason}"
        raise file.error(message, rows[row][0]) from None

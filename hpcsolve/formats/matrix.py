"""Cost matrices: numpy's .npy, and text tables (CSV, or numbers between blanks).

From row to column; `inf` or an empty CSV cell is a forbidden arc; the diagonal is ignored; decimals are scaled exactly.
A text table may have names: a first row of names, or a first row and a first column with the same names.
"""

from __future__ import annotations

import csv
import io
import math
import re
import tokenize
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.base import Source, decode, words
from hpcsolve.formats.tsplib_sections import integers_only
from hpcsolve.problems.decimals import BadNumber, exact_from_texts, is_number, shown
from hpcsolve.problems.tsp import Tsp, from_costs, from_matrix, largest_cost, require_memory

NPY_MAGIC = b"\x93NUMPY"

Row = tuple[int, list[str]]
"""Line and cells of a row."""


def read_npy(source: Source) -> Tsp:
    """Read a square matrix of integers or floats that `numpy.save` wrote.

    Raises
    ------
    InputError
        As `npy_array`, or as `from_matrix`.
    """
    # The path as its name first, so that errors begin with it.
    tsp = from_matrix(npy_array(source), source.name)
    return replace(tsp, name=_name_of(source))


def npy_array(source: Source) -> NDArray[Any]:
    """Read an array of integers or floats that `numpy.save` wrote; pickled objects are never loaded.

    Raises
    ------
    InputError
        The header is damaged or promises another number of bytes than there are.
    """
    file = io.BytesIO(source.content)
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"format version {version} is not for arrays of numbers")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's advice on files of Python 2
            shape, fortran_order, dtype = read(file)
    except (ValueError, TypeError, SyntaxError, KeyError, RecursionError, MemoryError, tokenize.TokenError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise source.error(f"damaged .npy header: {reason}") from None
    _require_numbers(source, shape, dtype, len(source.content) - file.tell())
    flat = np.frombuffer(source.content, dtype=dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if fortran_order else "C")


def read_text_matrix(source: Source) -> Tsp:
    """Read a table of numbers: comma, semicolon, tab or blanks between them, one row of the matrix a line.

    Parameters
    ----------
    source
        As `text_source` gives it.

    Raises
    ------
    InputError
        With file and line: a row too long or short, a cell that is no number, names that disagree.
    """
    rows = _rows(source)
    names, rows = _names(source, rows)
    n = len(rows)
    for line, cells in rows:
        if len(cells) != n:
            what = f"{len(cells)} cells in a table of {n} rows; the matrix must be square"
            raise source.error(what, line)
    require_memory(n)
    cost, scale = _costs(source, rows)

    def place(row: int, column: int) -> tuple[str, int]:
        return source.name, rows[row][0]

    return from_costs(cost, _name_of(source), scale=scale, city_names=names, place=place)


def looks_like_text_matrix(content: bytes) -> bool:
    """Whether there is a number in one of the first two lines that are not blank nor a comment."""
    rows = _table_lines(content[: 1 << 20])[:2]
    return any(is_number(cell) for _, line in rows for cell in _cells(line, _delimiter(line)))


def _name_of(source: Source) -> str:
    return source.stem or "matrix"


def _require_numbers(source: Source, shape: Sequence[int], dtype: np.dtype[Any], available: int) -> None:
    """Check a header against the bytes there are, before anything is allocated."""
    if dtype.kind not in "iuf":
        raise source.error(f"holds {dtype}; it must hold integers or floats")
    needed = math.prod(shape) * dtype.itemsize
    if needed != available or min(shape, default=0) < 0:
        raise source.error(f"the header says {needed} bytes (shape {tuple(shape)}, {dtype}), there are {available}")


def _table_lines(content: bytes) -> list[tuple[int, str]]:
    lines = enumerate(decode(content).split("\n"), start=1)
    return [(number, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]


def _delimiter(line: str) -> str | None:
    """The first of comma, semicolon, tab that the first line has; None for blanks."""
    return next((mark for mark in (";", "\t", ",") if mark in line), None)


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return words(line)
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]


def _rows(source: Source) -> list[Row]:
    lines = _table_lines(source.content)
    if not lines:
        raise source.error("there are no rows, only comments", source.last_line)
    delimiter = _delimiter(lines[0][1])
    rows = []
    for number, line in lines:
        try:
            _require_points(source, line, delimiter, number)
            rows.append((number, _cells(line, delimiter)))
        except csv.Error as problem:
            raise source.error(f"not a row of a CSV table: {problem}", number) from None
    return rows


def _require_points(source: Source, line: str, delimiter: str | None, number: int) -> None:
    """Refuse 1,5 for one and a half, as some languages' spreadsheets write it."""
    found = re.search(r"(?<![\w,.])[+-]?\d+,\d+(?![\w,.])", line) if delimiter in (";", "\t") else None
    if found is not None:
        raise source.error(f"{shown(found[0])} is not a number; write decimals with a point", number)


def _names(source: Source, rows: list[Row]) -> tuple[tuple[str, ...], list[Row]]:
    """Names of the cities, if the first row has them, and the rows of numbers alone."""
    first_line, first = rows[0]
    if not any(cell and not is_number(cell) for cell in first[1:]):
        _require_no_index(source, rows)
        return (), rows
    body = rows[1:]
    if len(first) == len(body):
        return tuple(first), body
    names = tuple(first[1:])
    if len(first) != len(body) + 1:
        message = f"a first row of {len(first)} names over {len(body)} rows; give one name a city"
        raise source.error(message, first_line)
    for (line, cells), name in zip(body, names, strict=True):
        if len(cells) != len(first):
            raise source.error(f"{len(cells)} cells under a first row of {len(first)} names; give one a city", line)
        if cells[0] != name:
            raise source.error(f"this row is named {shown(cells[0])}, its column {shown(name)}; order them alike", line)
    return names, [(line, cells[1:]) for line, cells in body]


def _require_no_index(source: Source, rows: list[Row]) -> None:
    """Refuse what may be city numbers in the first row and column, as spreadsheets and pandas write them."""
    line, first = rows[0]
    column = [cells[0] if cells else "" for _, cells in rows[1:]]
    count = [str(i) for i in range(len(rows))]
    if first[0] == "" and len(rows) > 2 and first[1:] == column and first[1:] in (count[:-1], count[1:]):
        message = "the first row and column look like city numbers; write them without (or 0 in the first cell)"
        raise source.error(message, line)


def _costs(source: Source, rows: list[Row]) -> tuple[NDArray[np.int64], int]:
    """Costs of shape (n, n) and their scale."""
    n = len(rows)
    cells = [cell for _, row in rows for cell in row]
    for index in range(0, n * n, n + 1):
        if is_number(cells[index]) or cells[index] in ("", "-"):
            cells[index] = "0"
    text = " ".join(cells).encode()
    if "" not in cells and integers_only(text):
        whole = np.fromstring(text, dtype=np.int64, sep=" ")
        if len(whole) == n * n:  # else a cell holds several numbers, which is refused below
            return whole.reshape(n, n), 1
    try:
        values, scale = exact_from_texts(cells, largest_cost(n))
    except BadNumber as problem:
        row, column = divmod(problem.index, n)
        message = f"the cost from city {row} to city {column} (cell {column + 1}) {problem.reason}"
        raise source.error(message, rows[row][0]) from None
    return values.reshape(n, n), scale

"""Names or numbers of cities in the margins of a table of costs: in its first row, perhaps in its first column too.

Numbers in the margins could be costs as well. They are labels if nothing else fits:

- In the first row and column: the first cell is empty, the row equals the column, all are different, and a cell of the
  diagonal is not empty. In a plain matrix, whose first cell is on the diagonal, all of the diagonal would be empty.
- Names in the first row alone: the diagonal is the same everywhere, which that of `id,x,y` with coordinates is not.
- Numbers in the first row alone: there is one row more than columns, the numbers are whole and different, and the
  diagonal below them is zero or empty, which a damaged matrix would hardly have.

Where both readings fit, the table is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import InputFile
from hpcsolve.problems.decimals import is_number, shown

TableRow = tuple[int, list[str]]
"""The line that a row stands on, and its cells."""

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_ZERO = re.compile(r"[+-]?0*(0|\.0|0\.)0*|-?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of costs without margins, and the cities' names (or none) and labels (None: 0..n-1)."""

    rows: list[TableRow]
    names: tuple[str, ...] = ()
    labels: NDArray[np.int64] | None = None


def without_margins(file: InputFile, rows: list[TableRow]) -> Table:
    """Return a table without its margins.

    Raises
    ------
    InputError
        With file and line: the names do not fit the rows, or numbers may be labels or costs.
    """
    if any(cell and not is_number(cell) for cell in rows[0][1][1:]):
        return _named(file, rows)
    if _has_both_margins(file, rows):
        return _labelled(rows[0][1][1:], [(line, cells[1:]) for line, cells in rows[1:]])
    if _has_numbered_columns(rows):
        return _labelled(rows[0][1], rows[1:])
    return Table(rows)


def _named(file: InputFile, rows: list[TableRow]) -> Table:
    (first_line, first), body = rows[0], rows[1:]
    if len(first) == len(body):
        _require_one_diagonal(file, body)
        return Table(body, tuple(first))
    names = tuple(first[1:])
    if len(first) != len(body) + 1:
        message = f"a first row of {len(first)} names over {len(body)} rows; give each city one name"
        if {"x", "y"} <= {cell.strip().lower() for cell in first}:
            message = "x and y in a plane are not read from tables; write TSPLIB (EDGE_WEIGHT_TYPE: EUC_2D), or costs"
            raise file.error(message, first_line)
        raise file.error(f"{message}, or write a header such as name,lat,lon over a table of places", first_line)
    for (line, cells), name in zip(body, names, strict=True):
        if len(cells) != len(first):
            raise file.error(f"{len(cells)} cells under a first row of {len(first)}; give each city one cell", line)
        if cells[0] != name:
            what = f"this row is named {shown(cells[0])}, but its column {shown(name)}"
            raise file.error(f"{what}; give rows and columns the same order", line)
    return Table([(line, cells[1:]) for line, cells in body], names)


def _require_one_diagonal(file: InputFile, body: list[TableRow]) -> None:
    """Refuse rows under names whose diagonal has different costs, as a table of coordinates `id,x,y` has."""
    found: set[str | float] = set()
    for index, (line, cells) in enumerate(body):
        cell = cells[index] if index < len(cells) else ""
        none = _ZERO.fullmatch(cell) or not is_number(cell)
        found.add(0.0 if none else float(cell))
        if len(found) > 1:
            cure = "write 0 into the diagonal of costs, or a header such as name,lat,lon over a table of places"
            message = f"the diagonal has {shown(cell)}, unlike the rows above, so that the columns may not be cities"
            raise file.error(f"{message}; {cure}", line)


def _labelled(texts: Sequence[str], body: list[TableRow]) -> Table:
    """Return a table whose cities have whole numbers as labels, or other numbers as names."""
    if all(map(_WHOLE.fullmatch, texts)):
        return Table(body, labels=np.array([int(text) for text in texts], dtype=np.int64))
    return Table(body, tuple(texts))


def _has_both_margins(file: InputFile, rows: list[TableRow]) -> bool:
    """Return whether the numbers of the first row and column are labels. Raises `InputError` if they may be costs."""
    line, first = rows[0]
    margin, size = first[1:], len(rows)
    if size < 3 or first[0] or "" in margin or any(len(cells) != size for _, cells in rows):
        return False
    if margin != [cells[0] for _, cells in rows[1:]]:
        return False
    has_diagonal = any(cells[index] for index, (_, cells) in enumerate(rows))
    if has_diagonal and len(_numbers(margin)) < len(margin):
        message = "the first row and column may be labels, but two of these are the same; make labels different, or"
        raise file.error(f"{message} write 0 into the first cell of costs", line)
    if not has_diagonal and len(_numbers(margin)) == len(margin):
        message = "the first row and column may be labels or costs; write 0 into every cell of the diagonal of costs"
        raise file.error(message, line)
    return has_diagonal


def _has_numbered_columns(rows: list[TableRow]) -> bool:
    """Return whether the first row has the labels of the columns."""
    first, body = rows[0][1], rows[1:]
    if len(body) < 2 or any(len(cells) != len(body) for _, cells in rows):
        return False
    if not all(map(_WHOLE.fullmatch, first)) or len(_numbers(first)) < len(first):
        return False
    return all(_ZERO.fullmatch(cells[index]) for index, (_, cells) in enumerate(body))


def _numbers(texts: Sequence[str]) -> set[float]:
    """Return the set of the numbers in these texts."""
    return {int(text) if _WHOLE.fullmatch(text) else float(text) for text in texts}

"""Cost matrices as text: CSV, or numbers between blanks, one row of the matrix on each line.

A cost is from the row's city to the column's; `inf` or an empty CSV cell is a forbidden arc; the diagonal is ignored;
decimals are scaled exactly, or rounded if they are too many; between semicolons or tabs they may have a comma
(`tables.with_points`). Names or numbers of the cities may stand in the first row, or in the first row and the first
column, as `DataFrame.to_csv` of pandas writes them.

Numbers in these margins could be costs as well. They are labels if nothing else fits:

- In the first row and column: the first cell is empty, the row equals the column, all are different, and a cell of the
  diagonal is not empty. In a plain matrix, whose first cell is on the diagonal, all of the diagonal would be empty.
- Names in the first row alone: the diagonal is the same everywhere, which that of `id,x,y` with coordinates is not.
- Numbers in the first row alone: there is one row more than columns, the numbers are whole and different, and the
  diagonal below them is zero or empty, which a damaged matrix would hardly have.

Where both readings fit, the table is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, words, write_text
from hpcsolve.formats.tables import Row, cells_of, decimal, delimiter_of, lines_of, with_point, with_points
from hpcsolve.problems.rounding import BadNumber, Costs, Precision, costs_of, is_number, whole_numbers
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs, require_memory
from hpcsolve.wording import shown

_SKIPPED = re.compile(r"\s*(?:#|$)")
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_ZERO = re.compile(r"[+-]?0*(0|\.0|0\.)0*|-?", re.ASCII)


def looks_like_text_matrix(content: bytes) -> bool:
    """Return whether one of the first two lines that are neither blank nor comments has a number in it."""
    try:
        return any(is_number(with_point(cell, delimiter_of(line)))
                   for _, line in islice(lines_of(content[: 1 << 20], _SKIPPED), 2)
                   for cell in _cells(line, delimiter_of(line)))
    except csv.Error:  # a cell of more than 100 KB
        return False


def read_text_matrix(file: InputFile, precision: Precision | None = None) -> Tsp:
    """Return the problem of a table of numbers between commas, semicolons, tabs or blanks.

    Raises
    ------
    InputError
        With file and line: a row is too long or short, a cell is not a number, or the names disagree.
    """
    table = Table(file, _rows(file)).without_margins()
    n = len(table.rows)
    for line, cells in table.rows:
        if len(cells) != n:
            raise file.error(f"{len(cells)} cells in a table of {n} rows; the matrix must be square", line)
    # All costs on one side of the diagonal, and empty cells on the other.
    above = {cell for index, (_, cells) in enumerate(table.rows) for cell in cells[index + 1 :]}
    below = {cell for index, (_, cells) in enumerate(table.rows) for cell in cells[:index]}
    if n > 2 and above != below and {""} in (above, below):
        side = "above" if above == {""} else "below"
        message = f"all cells {side} the diagonal are empty; write both costs of two cities, or inf where no arc is"
        raise file.error(message, table.rows[0].line)
    require_memory(n)
    cost, scale, rounding = _costs(file, table.rows, precision)
    return from_costs(cost.reshape(n, n), file.stem or "matrix", labels=table.labels, scale=scale, rounding=rounding,
                      city_names=table.names)


def _rows(file: InputFile) -> list[Row]:
    lines = list(lines_of(file.content, _SKIPPED))
    if not lines:
        raise file.error("there are no rows, only comments", file.last_line)
    delimiter = delimiter_of(lines[0][1])
    rows = []
    for number, line in lines:
        try:
            rows.append(Row(number, _cells(line, delimiter)))
        except csv.Error as problem:
            raise file.error(f"not a row of a CSV table: {problem}", number) from None
    return with_points(file, rows, delimiter)


def _cells(line: str, delimiter: str | None) -> list[str]:
    return words(line) if delimiter is None else cells_of(line, delimiter)  # no quotes between blanks


class Table(NamedTuple):
    """The rows of costs, and the cities' names (or none) and labels (None: 0..n-1) that margins gave.

    `file` is named in messages.
    """

    file: InputFile
    rows: list[Row]
    names: tuple[str, ...] = ()
    labels: NDArray[np.int64] | None = None

    def without_margins(self) -> Table:
        """Return the table without its margins.

        Raises
        ------
        InputError
            With file and line: the names do not fit the rows, or numbers may be labels or costs.
        """
        first, body = self.rows[0].cells, self.rows[1:]
        if any(cell and not is_number(cell) for cell in first[1:]):
            return self._named()
        if self._has_both_margins():
            return self._labelled(first[1:], [Row(line, cells[1:]) for line, cells in body])
        if self._has_numbered_columns():
            return self._labelled(first, body)
        return self

    def _named(self) -> Table:
        file, (first_line, first), body = self.file, self.rows[0], self.rows[1:]
        if len(first) == len(body):
            self._require_one_diagonal()
            return Table(file, body, tuple(first))
        names = tuple(first[1:])
        if len(first) != len(body) + 1:
            message = f"a first row of {len(first)} names over {len(body)} rows; give each city one name"
            if {"x", "y"} <= {cell.strip().lower() for cell in first}:
                message = "x and y in a plane are not read from tables"
                raise file.error(f"{message}; write TSPLIB (EDGE_WEIGHT_TYPE: EUC_2D), or costs", first_line)
            raise file.error(f"{message}, or write a header such as name,lat,lon over a table of places", first_line)
        for (line, cells), name in zip(body, names, strict=True):
            if len(cells) != len(first):
                raise file.error(f"{len(cells)} cells under a first row of {len(first)}; give each city one cell", line)
            if cells[0] != name:
                what = f"this row is named {shown(cells[0])}, but its column {shown(name)}"
                raise file.error(f"{what}; give rows and columns the same order", line)
        return Table(file, [Row(line, cells[1:]) for line, cells in body], names)

    def _require_one_diagonal(self) -> None:
        """Refuse rows under names whose diagonal has different costs, as a table of coordinates `id,x,y` has."""
        found: set[str | float] = set()
        for index, (line, cells) in enumerate(self.rows[1:]):
            cell = cells[index] if index < len(cells) else ""
            none = _ZERO.fullmatch(cell) or not is_number(cell)
            found.add(0.0 if none else float(cell))
            if len(found) > 1:
                cure = "write 0 into the diagonal of costs, or a header such as name,lat,lon over a table of places"
                message = f"the diagonal has {shown(cell)}, unlike the rows above"
                raise self.file.error(f"{message}, so that the columns may not be cities; {cure}", line)

    def _labelled(self, texts: Sequence[str], body: list[Row]) -> Table:
        """Return a table whose cities have whole numbers as labels, or other numbers as names."""
        if all(map(_WHOLE.fullmatch, texts)):
            return Table(self.file, body, labels=np.array([int(text) for text in texts], dtype=np.int64))
        return Table(self.file, body, tuple(texts))

    def _has_both_margins(self) -> bool:
        """Return whether the numbers of the first row and column are labels, and refuse those that may be costs."""
        rows, (line, first) = self.rows, self.rows[0]
        margin, size = first[1:], len(rows)
        if size < 3 or first[0] or "" in margin or any(len(cells) != size for _, cells in rows):
            return False
        if margin != [cells[0] for _, cells in rows[1:]]:
            return False
        has_diagonal = any(cells[index] for index, (_, cells) in enumerate(rows))
        if has_diagonal and len(_numbers(margin)) < len(margin):
            message = "the first row and column may be labels, but two of these are the same; make labels different, or"
            raise self.file.error(f"{message} write 0 into the first cell of costs", line)
        if not has_diagonal and len(_numbers(margin)) == len(margin):
            message = "the first row and column may be labels or costs"
            raise self.file.error(f"{message}; write 0 into every cell of the diagonal of costs", line)
        return has_diagonal

    def _has_numbered_columns(self) -> bool:
        """Return whether the first row has the labels of the columns."""
        first, body = self.rows[0].cells, self.rows[1:]
        if len(body) < 2 or any(len(cells) != len(body) for _, cells in self.rows):
            return False
        if not all(map(_WHOLE.fullmatch, first)) or len(_numbers(first)) < len(first):
            return False
        return all(_ZERO.fullmatch(cells[index]) for index, (_, cells) in enumerate(body))


def _numbers(texts: Sequence[str]) -> set[float]:
    """Return the set of the numbers in these texts."""
    return {int(text) if _WHOLE.fullmatch(text) else float(text) for text in texts}


def _costs(file: InputFile, rows: list[Row], precision: Precision | None) -> Costs:
    """Return the costs, n * n of them."""
    n = len(rows)
    cells = [cell for _, row in rows for cell in row]
    for index in range(0, n * n, n + 1):
        if is_number(cells[index]) or cells[index] in ("", "-"):
            cells[index] = "0"
    whole = None if "" in cells else whole_numbers(" ".join(cells).encode())
    several = whole is not None and len(whole) != len(cells)  # numbers in a cell, which are refused
    try:
        return costs_of(cells if whole is None or several else whole, n, precision, file.name)
    except BadNumber as problem:
        row, column = divmod(problem.index, n)
        message = f"the cost from city {row} to city {column} (cell {column + 1}) {problem.reason}"
        raise file.error(message, rows[row][0]) from None


def write_text_matrix(tsp: Tsp, path: str) -> None:
    """Write the cost matrix with the cities' names, or their labels unless these are 0..n-1, in both margins.

    Raises
    ------
    InputError
        The names are numbers or blank, which would be read as labels or costs.
    EnvironmentFault
        The file cannot be written.
    """
    if tsp.city_names and all(is_number(name) or not name.strip() for name in tsp.city_names):
        raise InputError("its cities' names are numbers, which a table cannot tell from labels", tsp.name)
    margin = ['"' + " ".join(name.split()).replace('"', '""') + '"' for name in tsp.city_names]
    if not margin and tsp.n > 1 and tsp.labels.tolist() != list(range(tsp.n)):
        margin = list(map(str, tsp.labels.tolist()))
    mark = "\t" if path.lower().endswith(".tsv") else ","
    lines = [mark.join(["", *margin])] if margin else []
    for row in range(tsp.n):
        costs = ["inf" if cost == NO_ARC else decimal(cost, tsp.scale) for cost in tsp.cost[row].tolist()]
        costs[row] = "0"
        lines.append(mark.join([*margin[row : row + 1], *costs]))
    write_text("\n".join([*lines, ""]), path)

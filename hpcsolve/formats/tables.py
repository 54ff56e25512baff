"""Tables of text: their lines as rows of cells, whatever separates these, lines of CSV, and exact decimal texts.

Spreadsheets in many languages write decimals with a comma, 1,5 for one and a half, and separate cells by semicolons or
tabs. `with_points` is the one place that decides what such numbers are, and that refuses tables of which two readings
are possible.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from hpcsolve.formats.files import InputFile, decode, words

_QUOTED = re.compile(r'[",\r\n]')
_FORMULA = re.compile(r"(?!-\d+(\.\d+)?\Z)[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that spreadsheets compute: also with the wide forms of `=+-@`. Negative numbers do no harm."""
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d{1,5})?", re.ASCII)
_POINT = re.compile(r"[+-]?\d*\.\d*(?:[eE][+-]?\d{1,5})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)


class Row(NamedTuple):
    """A line of a table: its number in the file, from 1, and its cells."""

    line: int
    cells: list[str]


def lines_of(content: bytes, skipped: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, but for those that match `skipped`: blank ones and comments."""
    for number, line in enumerate(decode(content).split("\n"), start=1):
        if not skipped.match(line):
            yield number, line


def rows_of(
    file: InputFile, what: str, skipped: re.Pattern[str], delimiter: str | None = None
) -> tuple[list[Row], str | None]:
    """Return the rows of a table, and what separates the cells of all of them, as its first line shows.

    Parameters
    ----------
    what
        What a line is, for messages.
    skipped
        As in `lines_of`.
    delimiter
        What separates cells if the first line has only one.

    Raises
    ------
    InputError
        With file and line: a cell has more than 128 KiB.
    """
    rows: list[Row] = []
    for number, line in lines_of(file.content, skipped):
        if not rows:
            delimiter = delimiter_of(line) or delimiter
        try:
            rows.append(Row(number, cells_of(line, delimiter)))
        except csv.Error as problem:
            raise file.error(f"not {what}: {problem}", number) from None
    return rows, delimiter


def delimiter_of(line: str) -> str | None:
    """Return what separates the cells of a line: a semicolon, tab or comma, or None for blanks."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    return next((mark for mark in (";", "\t", ",") if mark in unquoted), None)


def cells_of(line: str, delimiter: str | None) -> list[str]:
    """Return the cells of a line, without blanks around them. A quoted cell may contain the delimiter.

    Parameters
    ----------
    delimiter
        As `delimiter_of` returns it.

    Raises
    ------
    csv.Error
        A cell has more than 128 KiB.
    """
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)] if delimiter else words(line)
    text = line if delimiter else line.strip()
    return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter or " ", skipinitialspace=True))]


def with_point(cell: str, delimiter: str | None) -> str:
    """Return a cell that is a number with a decimal comma, where cells may have these, with a point, others as is."""
    return cell.replace(",", ".") if delimiter in (";", "\t") and _COMMA.fullmatch(cell) else cell


def with_points(
    file: InputFile, rows: Sequence[Row], delimiter: str | None, columns: Collection[int] | None = None,
    thousands: bool = True,
) -> list[Row]:
    """Return the rows of a table with a point in place of each decimal comma.

    Between semicolons or tabs a comma is a decimal one, as in 1,5. Elsewhere cells stay as they are.

    Parameters
    ----------
    delimiter
        What separates the cells, as `delimiter_of` returns it.
    columns
        The columns that have numbers. None: every cell that is a number counts.
    thousands
        Whether a comma or point may separate thousands. In degrees none does.

    Raises
    ------
    InputError
        With file and line: some decimals have a comma, others a point; or the comma or point may separate thousands.
    """
    if delimiter not in (";", "\t"):
        return list(rows)
    cells = [(line, cell) for line, row in rows for cell in (row if columns is None else (row[at] for at in columns))]
    commas = [(line, cell) for line, cell in cells if _COMMA.fullmatch(cell)]
    points = [(line, cell) for line, cell in cells if _POINT.fullmatch(cell)]
    if commas and points:
        (line, one), (other_line, other) = sorted((commas[0], points[0]), reverse=True)
        what = f"{one} beside {other} (line {other_line}): the comma or the point may be a mark of thousands"
        raise file.error(f"{what}; write all decimals with one of them, and thousands without a mark", line)
    marked = commas or (points if delimiter == ";" else [])  # programs in English write tabs, and points, too
    alone = delimiter == ";" and not any(_WHOLE.fullmatch(cell) for _, cell in cells)
    if thousands and marked and not alone and all(_THOUSANDS.fullmatch(cell) for _, cell in marked):
        line, cell = marked[0]
        plain, mark = re.sub("[.,]", "", cell), "comma" if commas else "point"
        either = f"{cell} may be {plain} or {float(cell.replace(',', '.')):g}"
        raise file.error(f"{either}; write {plain}, or {cell}0 if the {mark} is a decimal one", line)
    return [Row(line, [with_point(cell, delimiter) if columns is None or at in columns else cell
                       for at, cell in enumerate(row)]) for line, row in rows] if commas else list(rows)


def harmless(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula: `'=1+1` for `=1+1`."""
    return f"'{text}" if _FORMULA.match(text) else text


def csv_line(cells: Iterable[str]) -> str:
    """Return a line of CSV. Unlike Python's `csv`, it quotes a cell with a carriage return, which ends lines too."""
    quoted = ('"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell for cell in cells)
    return (",".join(quoted) or '""') + "\n"


def listed(titles: Iterable[str]) -> str:
    """Return titles as error messages list them, printable and short."""
    return repr(", ".join(titles)[:80])[1:-1]


def decimal(cost: int, scale: int) -> str:
    """Return `cost / scale` as an exact decimal text. The scale is a power of ten."""
    if scale == 1:
        return str(cost)
    whole, part = divmod(abs(cost), scale)
    digits = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return ("-" if cost < 0 else "") + str(whole) + ("." + digits if digits else "")


def shortest(x: float) -> str:
    """Return the shortest decimal text that reads back as the same float, without a final `.0`."""
    return repr(x).removesuffix(".0")

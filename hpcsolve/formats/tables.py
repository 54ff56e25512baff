"""Tables of text: their lines as rows of cells, whatever separates these, lines of CSV, and exact decimal texts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hpcsolve.formats.files import InputFile, decode, words

_QUOTED = re.compile(r'[",\r\n]')
_FORMULA = re.compile(r"(?!-\d+(\.\d+)?\Z)[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that spreadsheets compute: also with the wide forms of `=+-@`. Negative numbers do no harm."""


class Row(NamedTuple):
    """A line of a table: its number in the file, from 1, and its cells."""

    line: int
    cells: list[str]


def lines_of(content: bytes, skipped: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, but for those that match `skipped`: blank ones and comments."""
    for number, line in enumerate(decode(content).split("\n"), start=1):
        if not skipped.match(line):
            yield number, line


def rows_of(file: InputFile, what: str, skipped: re.Pattern[str], delimiter: str | None = None) -> Iterator[Row]:
    """Yield the rows of a table. Its first line shows what separates the cells of all.

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
    for index, (number, line) in enumerate(lines_of(file.content, skipped)):
        if index == 0:
            delimiter = delimiter_of(line) or delimiter
        try:
            yield Row(number, cells_of(line, delimiter))
        except csv.Error as problem:
            raise file.error(f"not {what}: {problem}", number) from None


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

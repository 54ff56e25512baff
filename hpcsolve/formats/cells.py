"""Splits lines of tables into cells, for all formats with several possible delimiters."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable

from hpcsolve.formats.files import words


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


def listed(titles: Iterable[str]) -> str:
    """Return titles as error messages list them, printable and short."""
    return repr(", ".join(titles)[:80])[1:-1]

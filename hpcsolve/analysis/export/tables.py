"""Answers as CSV: a header with the names of the columns, then a line for each row."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from hpcsolve.answers.base import Rows
from hpcsolve.answers.contents import Contents
from hpcsolve.formats.tables import csv_line, harmless, shortest
from hpcsolve.output.schema import require_whole


def no_rows(contents: Contents) -> str | None:
    """Return why an answer has no rows, or None if it has some."""
    return "the answer states that there is no tour" if contents.value("solution", "infeasible") else None


def csv_lines(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield the header, then blocks of lines. Unreached vertices and missing values are empty, paths are JSON lists."""
    header: list[str] = []
    for block in require_whole(contents).rows(contents):
        if not header:
            header = list(block)
            yield csv_line(map(cell, header))
        yield "".join(csv_line(map(cell, row.values())) for row in records(block))


def records(block: Rows) -> Iterator[dict[str, Any]]:
    """Yield the rows of a block with Python's own types. Infinities and NaN are None."""
    for values in zip(*(column.tolist() for column in block.values())):
        yield {name: None if isinstance(value, float) and not math.isfinite(value) else value
               for name, value in zip(block, values)}


def cell(value: Any) -> str:
    """Return a value as the text of a cell, a name so that no spreadsheet takes it for a formula."""
    if value is None:
        return ""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, float):
        return shortest(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)

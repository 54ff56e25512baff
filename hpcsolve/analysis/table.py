"""A table of runs or of statistics: rows with exact values, columns as numpy arrays, CSV, pandas."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.formats.tables import csv_line, harmless
from hpcsolve.replacing import require_new, write_bytes
from hpcsolve.wording import visible

if TYPE_CHECKING:
    import pandas

LARGEST_FLOAT_INTEGER = 2**53
"""Up to this absolute value every integer is exact in float64."""
NUMBERS = (int, float, Decimal)


@dataclass(frozen=True, repr=False)
class Table:
    """A table with named columns, all rows with the same names in the same order.

    Attributes
    ----------
    rows
        Column name -> value. Numbers are exact (`Decimal` where float64 would round), None is a missing value.
    """

    rows: tuple[Mapping[str, Any], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.rows[0]) if self.rows else ()

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """All columns, as `table[name]` gives them."""
        return {name: self[name] for name in self.names}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column, shape (rows,): int64, float64 with NaN for missing values, bool, or objects.

        Raises
        ------
        InputError
            There is no such column.
        """
        if name not in self.names:
            raise InputError(f"the table has no column {name!r}; it has {', '.join(self.names) or 'no rows'}")
        return _array([row[name] for row in self.rows])

    def where(self, name: str, *values: Any) -> Table:
        """Return the rows that have one of these values in a column. Raises as `table[name]`."""
        return Table(tuple(row for row, value in zip(self.rows, self[name].tolist()) if value in values))

    def varying(self) -> tuple[str, ...]:
        """Return the names of the columns whose value is not the same in all rows."""
        return tuple(name for name in self.names if len({_text(row[name]) for row in self.rows}) > 1)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a data frame.

        Raises
        ------
        EnvironmentFault
            pandas is not installed.
        """
        try:
            import pandas
        except ModuleNotFoundError:
            raise EnvironmentFault("pandas is not installed: pip install pandas") from None
        return pandas.DataFrame(self.columns)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the table as CSV, all numbers exact.

        Raises
        ------
        InputError
            The file exists, and `overwrite` is false.
        EnvironmentFault
            The file cannot be written.
        """
        require_new(path, overwrite)
        write_bytes(Path(path), self.csv().encode())

    def csv(self) -> str:
        """Return the table as CSV, the names in the first line. A missing value is empty.

        A text that begins as a formula (`=`, `+`, `-`, `@`, a tab) has an apostrophe before it.
        """
        lines = [self.names, *(row.values() for row in self.rows)]
        return "".join(csv_line(harmless(value) if isinstance(value, str) else _text(value) for value in line)
                       for line in lines)

    def __str__(self) -> str:
        """Return the table as aligned text, numbers shortened to 6 digits."""
        cells = [list(map(_short, self.names)), *([_short(value) for value in row.values()] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells)
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return one line with the size of the table and the columns that vary."""
        return f"<table of {len(self)} rows and {len(self.names)} columns; varying: {', '.join(self.varying())}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        rows = ["".join(f"<th>{html.escape(name)}</th>" for name in self.names)]
        rows += ["".join(f"<td>{html.escape(_short(value))}</td>" for value in row.values()) for row in self.rows]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def table_of(rows: Iterable[Mapping[str, Any]], names: Sequence[str] | None = None) -> Table:
    """Return the table of rows that may have different names. A value that a row lacks is None.

    Parameters
    ----------
    names
        Names that come first; the others follow as they appear.
    """
    found = list(rows)
    every = dict.fromkeys([*(names or ()), *(name for row in found for name in row)])
    return Table(tuple({name: row.get(name) for name in every} for row in found))


def _array(values: Sequence[Any]) -> NDArray[Any]:
    present = [value for value in values if value is not None]
    if len(present) == len(values) and all(isinstance(value, bool) for value in present):
        return np.array(values, dtype=bool)
    if any(isinstance(value, bool) or not isinstance(value, NUMBERS) for value in present):
        return _objects(values)
    whole = all(isinstance(value, int) for value in present)
    if whole and len(present) == len(values) and all(abs(value) < 2**63 for value in present):
        return np.array(values, dtype=np.int64)
    if any(isinstance(value, int) and abs(value) > LARGEST_FLOAT_INTEGER for value in present):
        return _objects(values)
    return np.array([math.nan if value is None else float(value) for value in values])


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _text(value: Any) -> str:
    """Return a value as the text that CSV has, numbers exact."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _short(value: Any) -> str:
    return f"{float(value):.6g}" if isinstance(value, (float, Decimal)) else visible(_text(value)).replace("\n", " ")

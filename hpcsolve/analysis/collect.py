"""`hpcsolve.collect`: many result files as one table, with a row per run.

A `Table` has rows with exact values, columns as numpy arrays, CSV, and a data frame of pandas.
"""

from __future__ import annotations

import glob
import html
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis import require_installed
from hpcsolve.analysis.load import Result
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.rounding import Worth, exact_text
from hpcsolve.errors import HpcsolveError, InputError, path_text
from hpcsolve.formats.tables import csv_line, harmless
from hpcsolve.job.convert import leaves
from hpcsolve.output.json_text import json_text
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import contradictions_refused, require_whole
from hpcsolve.output.toml import value_text
from hpcsolve.problems.rounding import EXACT
from hpcsolve.replacing import require_new, write_bytes
from hpcsolve.wording import visible

if TYPE_CHECKING:
    import pandas

GROUPS = ("job", "instance", "solution", "rounding", "colonies", "ranks")
"""The groups of a result file that are read."""
COLUMNS = {
    "file": "Path of the result file",
    "name": "Name of the instance",
    "n": "Number of cities or vertices",
    "cost": "Cost in the instance's own unit, exact, in the numbers before rounding; missing where an answer has none",
    "bound": "Proven lower bound, equal to the cost if that is proven optimal and nothing was rounded; missing without "
             "a proof",
    "prize": 'Sum of the prizes of a tour, of objective "prize"',
    "gap": "(cost - bound) / bound; without a bound, that of the best colony to the optimum which the job names",
    "optimal": "Whether the cost is proven to be optimal",
    "verified": "Whether the answer passed the independent check",
    "complete": "Whether the run came to its end, by itself or by a stop criterion, and was not interrupted",
    "seconds": "Time of the whole run on rank 0, from reading the instance to writing the result",
    "seconds_kernel": "Time in kernels, on the rank with the longest",
    "bytes": "Peak memory allocated on the devices, summed over the ranks",
    "bytes_resident": "Peak resident memory of the processes, summed over the ranks",
    "ranks": "Number of ranks",
    "host": "Names of the hosts",
    "hardware": "Names of the devices",
    "created": "When the file was written",
}
"""The columns before the job's keys, with their meaning."""

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
LARGEST_FLOAT_INTEGER = 2**53
"""Up to this absolute value every integer is exact in float64."""
NUMBERS = (int, float, Decimal)


def collect(files: Files) -> Table:
    """Return a table with a row per result file: the columns of `COLUMNS`, then all keys of the jobs.

    Keys inside tables have dotted names, `instance.n`. Files that are damaged or no results are left out with a
    warning each.

    Parameters
    ----------
    files
        One or several paths, patterns such as `results/*.h5`, or folders, of which all `*.h5` are taken. Rows are
        sorted by path, with numbers in the paths compared as numbers.

    Raises
    ------
    InputError
        A path does not exist, a pattern matches no file, or no file is a result.

    Examples
    --------
    >>> import hpcsolve
    >>> runs = hpcsolve.collect("results/sizes/*.h5")          # doctest: +SKIP
    >>> runs["seconds"][runs["instance.n"] == 20].mean()       # doctest: +SKIP
    """
    table, faults = collected(files)
    for fault in faults:
        warnings.warn(f"left out: {fault}", stacklevel=2)
    return table


def collected(files: Files) -> tuple[Table, list[HpcsolveError]]:
    """Return the table of `collect` and the errors of the files that were left out. Raises as `collect`."""
    rows, faults = [], []
    for path in found_files([files] if isinstance(files, (str, os.PathLike)) else files):
        try:
            rows.append(_row(path))
        except HpcsolveError as error:
            faults.append(error)
    if not rows:
        raise faults[0]
    return table_of(rows, list(COLUMNS)), faults


def found_files(names: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files that paths, patterns and folders stand for, each once. Raises as `collect`."""
    if not isinstance(names, Iterable):
        raise InputError(f"collect: expected names of files, got {type(names).__name__}")
    found: list[str] = []
    for name in (path_text(name, "collect") for name in names):
        if os.path.isdir(name):
            matches = glob.glob(os.path.join(glob.escape(name), "*.h5"))
            missing = "the folder has no result files (*.h5)"
        else:
            matches = [name] if os.path.exists(name) else glob.glob(name, recursive=True)
            missing = "there is no such file, and no file matches it as a pattern"
        if not matches:
            raise InputError(missing, name)
        found += matches
    if not found:
        raise InputError("no result file is given")
    numbers = re.compile("([0-9]+)")  # compared as numbers, so that `n=8` comes before `n=10`
    return sorted(dict.fromkeys(found), key=lambda path: [
        (int(part), "") if part.isdecimal() else (-1, part) for part in numbers.split(path)])


def _row(path: str) -> dict[str, Any]:
    """Return the row of a result file."""
    contents = read_result(path, GROUPS, tables=False)
    require_whole(contents, path)

    def reduced(name: str, reduce: Callable[[Any], Any], kind: type) -> Any:
        """Return a column of `/ranks` reduced to one number, or None if it is missing or empty."""
        values = contents.value("ranks", name, ())
        return kind(reduce(np.asarray(values))) if len(values) else None

    with contradictions_refused(path):
        result, worth = Result(contents), Worth(contents)
        cost, bound = _number(worth.cost()), _number(worth.bound())
        hosts, devices = (list(contents.value("ranks", name, ())) for name in ("host", "device"))
        keys = {".".join(names): value_text(value) if isinstance(value, list) else value
                for names, value in leaves(contents.job)}
        return {
            "file": path,
            "name": contents.value("instance", "name"),
            "n": result.n,
            "cost": cost,
            "bound": bound,
            "prize": contents.value("solution", "prize"),
            "gap": _gap(cost, bound, contents),
            "optimal": result.optimal,
            "verified": result.verified,
            "complete": result.complete,
            "seconds": result.seconds if len(hosts) else None,
            "seconds_kernel": reduced("seconds_kernel", np.max, float),
            "bytes": reduced("peak_bytes", np.sum, int),
            "bytes_resident": reduced("peak_resident_bytes", np.sum, int),
            "ranks": len(hosts),
            "host": " ".join(dict.fromkeys(hosts)),
            "hardware": ", ".join(dict.fromkeys(device.partition(": ")[0] for device in devices)),
            "created": contents.attributes["created"],
            **keys,
        }


def _number(exact: Decimal | None) -> int | Decimal | None:
    """Return a decimal without zeros at its end, as an int if it is whole."""
    if exact is None:
        return None
    return int(exact) if exact == exact.to_integral_value(context=EXACT) else Decimal(exact_text(exact))


def _gap(cost: int | Decimal | None, bound: int | Decimal | None, contents: Contents) -> float | None:
    if cost is not None and bound is not None:
        above = float(cost - Decimal(bound))
        return above / abs(float(bound)) if bound else math.inf if above else 0.0
    known = contents.value("colonies", "gap")
    return None if known is None or not len(known) else float(np.min(known))


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
        require_installed("pandas")
        import pandas

        return pandas.DataFrame(self.columns)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, json: bool = False) -> None:
        """Write the table as CSV, or as JSON, all numbers exact.

        Raises
        ------
        InputError
            The file exists, and `overwrite` is false.
        EnvironmentFault
            The file cannot be written.
        """
        require_new(path, overwrite)
        write_bytes(Path(path), f"{self.json()}\n".encode() if json else self.csv().encode())

    def json(self) -> str:
        """Return the table as JSON, a list of objects. A missing value is null, a decimal that no float has a text."""
        return json_text(self.rows)

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
    numbers = all(isinstance(value, NUMBERS) and not isinstance(value, bool) for value in present)
    whole = numbers and len(present) == len(values) and all(isinstance(value, int) for value in present)
    if whole and all(abs(value) < 2**63 for value in present):
        return np.array(values, dtype=np.int64)
    if numbers and not any(isinstance(value, int) and abs(value) > LARGEST_FLOAT_INTEGER for value in present):
        return np.array([math.nan if value is None else float(value) for value in values])
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

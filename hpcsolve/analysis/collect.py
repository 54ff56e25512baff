"""`hpcsolve.collect`: many result files as one table, with a row per run."""

from __future__ import annotations

import glob
import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np

from hpcsolve.analysis.load import Result
from hpcsolve.analysis.table import Table, table_of
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.rounding import bound_of, cost_of, exact_text
from hpcsolve.errors import HpcsolveError, InputError, path_text
from hpcsolve.output.reader import read_result
from hpcsolve.output.schema import contradictions_refused, require_whole
from hpcsolve.output.toml import value_text
from hpcsolve.problems.rounding import EXACT

GROUPS = ("job", "instance", "solution", "rounding", "colonies", "ranks")
"""The groups of a result file that are read."""
COLUMNS = {
    "file": "Path of the result file",
    "name": "Name of the instance",
    "n": "Number of cities or vertices",
    "cost": "Cost in the instance's own unit, exact, in the numbers before rounding; missing where an answer has none",
    "bound": "Proven lower bound, equal to the cost if that is proven optimal and nothing was rounded; missing without "
             "a proof",
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
    found = [path for name in names for path in _matches(path_text(name, "collect"))]
    if not found:
        raise InputError("no result file is given")
    return sorted(dict.fromkeys(found), key=_natural)


def _matches(name: str) -> list[str]:
    if os.path.isdir(name):
        matches = glob.glob(os.path.join(glob.escape(name), "*.h5"))
        if not matches:
            raise InputError("the folder has no result files (*.h5)", name)
        return matches
    matches = [name] if os.path.exists(name) else glob.glob(name, recursive=True)
    if not matches:
        raise InputError("there is no such file, and no file matches it as a pattern", name)
    return matches


def _natural(path: str) -> list[tuple[int, str]]:
    """Return a key that sorts `n=8` before `n=10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", path)]


def _row(path: str) -> dict[str, Any]:
    contents = read_result(path, GROUPS, tables=False)
    require_whole(contents, path)
    with contradictions_refused(path):
        return {"file": path, **_answer(contents), **_ranks(contents), "created": contents.attributes["created"],
                **_job_keys(contents)}


def _answer(contents: Contents) -> dict[str, Any]:
    result = Result(contents)
    cost, bound = (_number(found(contents)) for found in (cost_of, bound_of))
    return {
        "name": contents.value("instance", "name"),
        "n": result.n,
        "cost": cost,
        "bound": bound,
        "gap": _gap(cost, bound, contents),
        "optimal": result.optimal,
        "verified": result.verified,
        "complete": bool(contents.attributes["complete"]),
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


def _ranks(contents: Contents) -> dict[str, Any]:
    columns = {name: np.asarray(column.values) for name, column in contents.groups.get("ranks", {}).items()}
    hosts, devices = (list(columns.get(name, np.array([]))) for name in ("host", "device"))
    return {
        "seconds": Result(contents).seconds if len(hosts) else None,
        "seconds_kernel": _reduced(columns, "seconds_kernel", np.max, float),
        "bytes": _reduced(columns, "peak_bytes", np.sum, int),
        "bytes_resident": _reduced(columns, "peak_resident_bytes", np.sum, int),
        "ranks": len(hosts),
        "host": " ".join(dict.fromkeys(hosts)),
        "hardware": ", ".join(dict.fromkeys(device.partition(": ")[0] for device in devices)),
    }


def _reduced(columns: Mapping[str, Any], name: str, reduce: Any, kind: type) -> Any:
    """Return a column of `/ranks` reduced to one number, or None if it is missing or empty."""
    return kind(reduce(columns[name])) if len(columns.get(name, ())) else None


def _job_keys(contents: Contents) -> dict[str, Any]:
    return dict(_flat(msgspec.toml.decode(str(contents.value("job", "toml")))))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted key and the value of all keys. A list becomes its TOML text."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value_text(value) if isinstance(value, list) else value

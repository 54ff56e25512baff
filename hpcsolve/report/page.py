"""The whole page: a summary where there are several results, then a section for each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from string import Template

import hpcsolve
from hpcsolve.analysis.load import Result, load
from hpcsolve.analysis.plot.canvas import require_matplotlib
from hpcsolve.errors import InputError
from hpcsolve.output.reader import read_result
from hpcsolve.report.facts import HEADS, name_of, row_of
from hpcsolve.report.markup import Markup, element, escaped, joined, table
from hpcsolve.report.section import section
from hpcsolve.wording import size

LARGEST_TABLES = 1 << 29
"""Bytes of distance tables that are read for a report."""


def report(paths: Sequence[str]) -> str:
    """Return the page about these result files. It is the same for the same files.

    Raises
    ------
    InputError
        A file is not a result of hpcsolve, or its tables are too large to be drawn.
    DamagedFileError
        A file is damaged.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_matplotlib()
    results = [(path, _loaded(path)) for path in paths]
    title = f"{name_of(results[0][1])}, {results[0][1].algorithm}" if len(results) == 1 else f"{len(results)} results"
    sections = [section(path, result, f"r{number}") for number, (path, result) in enumerate(results, 1)]
    summary = [_summary(results)] if len(results) > 1 else []
    return Template(_own("page.html")).substitute(
        title=escaped(f"{title} | hpcsolve report"), style=_own("style.css"),
        version=escaped(hpcsolve.__version__), body=joined([*summary, *sections]),
    )


def _loaded(path: str) -> Result:
    tables = read_result(path, tables=False).tables.values()
    needed = sum(table.shape[0] * table.shape[1] * table.dtype.itemsize for table in tables)
    if needed > LARGEST_TABLES:
        what = f"its tables take {size(needed)}, and a report reads {size(LARGEST_TABLES)} at most"
        raise InputError(f"{what}; ask for fewer sources, or for targets", path)
    return load(path)


def _summary(results: Sequence[tuple[str, Result]]) -> Markup:
    rows = []
    for index, (path, result) in enumerate(results, 1):
        file, *rest = row_of(path, result)
        rows.append([element("a", file, href=f"#r{index}"), *rest])
    found = table(HEADS, rows, "The results of this report")
    return element("section", element("h2", "Summary"), found, id="summary", class_="named")


def _own(name: str) -> str:
    """Return a file of this package."""
    return files("hpcsolve.report").joinpath(name).read_text(encoding="utf-8")

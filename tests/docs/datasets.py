"""The tables of docs/result-file.md, from real results: `python -m tests.docs.datasets docs/result-file.md`.

`make docs` calls it. The files are read with h5py alone, so that nothing is taken from the code that wrote them.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import h5py

from hpcsolve.output.provenance import ENVIRONMENT
from tests.docs.samples import make_samples

BEGIN, END = "<!-- datasets: made by `make docs` -->", "<!-- end of datasets -->"
SECTIONS = {
    "job": "every result",
    "instance, cities": "a travelling salesman problem",
    "instance, graph": "a graph",
    "solution, tour": "a tour (`held-karp`, `ant-colony`)",
    "solution, distances": "distances (`shortest-paths` with `sources`)",
    "solution, paths": "paths (`shortest-paths` with `queries`)",
    "solution, tree": "a tree (`steiner-kmb`)",
    "layers": "`held-karp`",
    "colonies": "`ant-colony`",
    "history": "`ant-colony`",
    "searches": "`shortest-paths`",
    "prices": "`steiner-kmb`",
    "reductions": "`steiner-kmb`",
    "ranks": "every result",
    "provenance": "every result",
}
"""Sections of the page: a group, perhaps with a kind of content, and which results have it."""
HEADER = ["| dataset | type | dimension | unit | content |", "|---|---|---|---|---|"]


@dataclass(frozen=True)
class Row:
    """What is stated of a dataset."""

    section: str
    name: str
    types: frozenset[str]
    dimension: str
    unit: str
    content: str


def rows_of(path: Path) -> Iterator[Row]:
    """Return a row for each dataset of a result file."""
    with h5py.File(path, "r") as file:
        kinds = {"instance": "cities" if "n" in file["instance"] else "graph", "solution": _answer(file["solution"])}
        for group, members in file.items():
            section = f"{group}, {kinds[group]}" if group in kinds else group
            for name, dataset in members.items():
                if name not in ENVIRONMENT:  # there only where the variable is set
                    yield _row(section, f"/{group}/{name}", dataset)


def tables(paths: Iterable[Path]) -> str:
    """Return all sections as Markdown."""
    found: dict[tuple[str, str], Row] = {}
    for row in (row for path in paths for row in rows_of(path)):
        known = found.setdefault((row.section, row.name), row)
        found[row.section, row.name] = replace(known, types=known.types | row.types)
    assert {section for section, _ in found} == set(SECTIONS)
    lines = []
    for section, owner in SECTIONS.items():
        mine = sorted((row for row in found.values() if row.section == section), key=lambda row: row.name)
        lines += [f"### `/{section.split(',')[0]}` of {owner}", "", *HEADER, *map(_line, mine), ""]
    return "\n".join(lines)


def updated(text: str) -> str:
    """Return the text of the page with new tables between its marks."""
    before, rest = text.split(BEGIN)
    with tempfile.TemporaryDirectory() as folder:
        made = tables(make_samples(Path(folder)))
    return f"{before}{BEGIN}\n\n{made}\n{END}{rest.split(END)[1]}"


def _answer(solution: h5py.Group) -> str:
    kinds = {"tour": "tour", "infeasible": "tour", "path": "paths", "u": "tree", "distance": "distances"}
    return next(kind for name, kind in kinds.items() if name in solution)


def _row(section: str, name: str, dataset: h5py.Dataset) -> Row:
    content, unit = dataset.attrs["description"], dataset.attrs["units"]
    if kernel := re.match("/provenance/kernel_", name):  # one a kernel file
        name, content = f"{kernel[0]}FILE", "SHA-256 of FILE.cu and the headers"
    kind = "text" if dataset.dtype.kind == "O" else dataset.dtype.name
    return Row(section, name, frozenset({kind}), _dimension(dataset), "" if unit == "1" else unit, content)


def _dimension(dataset: h5py.Dataset) -> str:
    """Return the names of the dataset's dimensions, or for a dimension scale its own name."""
    if dataset.is_scale:
        return dataset.name.split("/")[-1]
    return ", ".join(dimension.keys()[0] for dimension in dataset.dims)


def _line(row: Row) -> str:
    cells = [f"`{row.name}`", " or ".join(sorted(row.types)), row.dimension, row.unit, row.content]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")

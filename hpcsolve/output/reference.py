"""The reference of all datasets of a result file: `python -m hpcsolve.output.reference docs/result-file.md`.

The list follows from the declarations that are used for writing and reading, and nothing is solved for it. A file that
has the two marker lines gets the tables between them (`make docs`). Tests compare the list with real results.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.answers import ANSWERS
from hpcsolve.answers.contents import Dataset, Group, datasets, required
from hpcsolve.errors import InputError
from hpcsolve.output.provenance import PROVENANCE_GROUP, kernel_dataset
from hpcsolve.output.schema import (
    FILL_VALUE,
    FORMAT_VERSION,
    INSTANCE_GROUPS,
    JOB_GROUP,
    RANKS_GROUP,
    SCALE_FACTOR,
    scale_of,
)

BEGIN, END = "<!-- datasets: made by `make docs` -->", "<!-- end of datasets -->"
HEADER = ["| dataset | type | dimension | unit | content |", "|---|---|---|---|---|"]
STORED_TYPES = {"bool": "uint8"}
"""What h5py and other readers see of types that HDF5 does not have."""


@dataclass(frozen=True)
class Row:
    """One dataset of the result file.

    Attributes
    ----------
    group, name
        `/group/name` in the file.
    dataset
        Its declaration.
    found_in
        The kind of answer, kind of problem or algorithm whose results have it; "" if every result may have it.
    always
        Whether every such result has it.
    """

    group: str
    name: str
    dataset: Dataset
    found_in: str = ""
    always: bool = True


def reference() -> Iterator[Row]:
    """Yield all datasets that a result file may have, except dimension scales that only number their dimension."""
    yield from _rows("job", JOB_GROUP)
    for kind, group in INSTANCE_GROUPS.items():
        yield from _rows("instance", group, kind)
    for answer in ANSWERS:
        for record in answer.records:
            rows = datasets(record).items()
            yield from (Row("solution", name, dataset, answer.name, name in required(record)) for name, dataset in rows)
    for answer in ANSWERS:
        for table, group in answer.groups.items():
            yield from _rows(table, group, answer.name)
    for name in NAMES:
        for table, group in algorithm(name).groups.items():
            yield from _rows(table, group, name)
    yield from _rows("ranks", RANKS_GROUP)
    yield from _rows("provenance", PROVENANCE_GROUP)
    files = sorted({file for name in NAMES for file in algorithm(name).kernel_files})
    yield from _rows("provenance", dict(map(kernel_dataset, files)))


def scales(rows: list[Row]) -> Iterator[Row]:
    """Yield the dimension scales that are written beside these datasets of one group."""
    names = {row.name for row in rows}
    dimensions = dict.fromkeys(dimension for row in rows for dimension in row.dataset.dimensions)
    yield from (Row(rows[0].group, name, scale_of(name), rows[0].found_in) for name in dimensions if name not in names)


def tables() -> str:
    """Return all datasets as Markdown tables, one for each group and what has it."""
    lines = []
    for (group, found_in), members in groupby(reference(), lambda row: (row.group, row.found_in)):
        rows = list(members)
        lines += [f"### `/{group}` of {_owner(found_in)}", "", *HEADER, *map(_line, [*rows, *scales(rows)]), ""]
    return "\n".join(lines)


def updated(text: str) -> str:
    """Return the text of a document with the tables between its markers. Raises as `with_generated`."""
    return with_generated(text, BEGIN, END, tables())


def _rows(name: str, group: Group, found_in: str = "") -> Iterator[Row]:
    yield from (Row(name, key, dataset, found_in, not dataset.optional) for key, dataset in group.items())


def _owner(found_in: str) -> str:
    """Return which results have a group, with the algorithms that write it."""
    if not found_in or found_in in NAMES:
        return f"`{found_in}`" if found_in else "every result"
    solvers = [algorithm(name) for name in NAMES]
    kinds = {solver.kind for solver in solvers}
    by = [solver.name for solver in solvers if found_in in (solver.kind, *(answer.name for answer in solver.answers))]
    what = f"a problem of kind {found_in}" if found_in in kinds else f"an answer of kind {found_in}"
    return f"{what} ({', '.join(f'`{name}`' for name in by)})"


def _line(row: Row) -> str:
    types = [STORED_TYPES.get(name, name) for name in row.dataset.types.split("|")]
    kinds = " or ".join(types) + (f", `{FILL_VALUE[FORMAT_VERSION]}`" if row.dataset.none else "")
    unit = f"`{SCALE_FACTOR}`" if row.dataset.scaled else row.dataset.unit.replace("1", "")
    cells = [f"`/{row.group}/{row.name}`", kinds, row.dataset.dimension, unit, row.dataset.description]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(updated(document.read_text(encoding="utf-8")), encoding="utf-8")


def with_generated(text: str, begin: str, end: str, content: str) -> str:
    """Return the text of a document with this content between its marker lines.

    Raises
    ------
    InputError
        The text has no such lines.
    """
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise InputError(f"there is no line {begin!r}, or none {end!r} after it")
    return f"{before}{begin}\n\n{content}\n{end}{after}"

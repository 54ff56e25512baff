"""The tables that documents have from the code: `python -m hpcsolve.reference FILE...` writes them (`make docs`).

A table stands between two marker lines of its document, whichever that is. The tables follow from the declarations that
are used for reading and writing, and nothing is solved for them. Tests check that they are up to date.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.analysis.collect import COLUMNS
from hpcsolve.answers import ANSWERS
from hpcsolve.answers.contents import Dataset, Group
from hpcsolve.answers.contents import datasets as declared
from hpcsolve.errors import InputError
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.job import Settings
from hpcsolve.job.convert import KEY_SECTIONS, described, in_words, keys_of
from hpcsolve.output import schema
from hpcsolve.output.provenance import PROVENANCE_GROUP, kernel_dataset
from hpcsolve.problems.generate import makers

KEY_HEADER = ["| key | type | default | meaning |", "|---|---|---|---|"]
DATASET_HEADER = ["| dataset | type | dimension | unit | content |", "|---|---|---|---|---|"]
STORED_TYPES = {"bool": "uint8"}
"""What h5py and other readers see of types that HDF5 does not have."""


def updated(text: str) -> str:
    """Return the text of a document with all tables that it has markers for.

    Raises
    ------
    InputError
        It has no markers, or one without the other.
    """
    there = [name for name in TABLES if _marks(name)[0] in text]
    if not there:
        raise InputError("there is no line such as " + repr(_marks("keys")[0]))
    for name in there:
        begin, end = _marks(name)
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise InputError(f"there is no line {end!r} after {begin!r}")
        text = f"{before}{begin}\n\n{TABLES[name]()}\n{end}{after}"
    return text


def _marks(table: str) -> tuple[str, str]:
    """Return the lines between which a table stands."""
    return f"<!-- {table}: made by `make docs` -->", f"<!-- end of {table} -->"


def keys() -> str:
    """Return all keys of a job file as Markdown tables."""
    lines = ["### Above the tables", "", *_struct_rows(Settings)]
    for name in NAMES:
        lines += ["", f"### `[{name}]`", "", *_struct_rows(algorithm(name).parameters)]
    honoured = {name: ", ".join(algorithm(name).parameters.STOPS) for name in NAMES}
    stopping = " and ".join(f"`{name}` ({keys})" for name, keys in honoured.items() if keys)
    lines += ["", "### `[stop]`", "", f"For {stopping}. Algorithms and modes without a partial answer refuse it.", ""]
    lines += _struct_rows(StopCriteria)
    for kind in ("tsp", "graph", "steiner"):
        meanings: dict[str, str] = {}
        for maker in makers(kind).values():  # one docstring may explain a parameter for all
            meanings |= {**described(inspect.getdoc(maker) or "", "Parameters"), **meanings}
        for name, maker in makers(kind).items():
            summary = " ".join((inspect.getdoc(maker) or "").split("\n\n")[0].split())
            lines += ["", f"### `instance = {{ generate = \"{name}\", ... }}`", "", summary, ""]
            lines += _generator_rows(maker, meanings)
    return "\n".join(lines) + "\n"


def _struct_rows(struct: type[msgspec.Struct]) -> Iterator[str]:
    """Yield the table of the keys, and below a heading that of the keys that are for study."""
    main, study = (described(inspect.getdoc(struct) or "", section) for section in KEY_SECTIONS)
    hints = get_type_hints(struct, include_extras=True)
    rows = {}
    for key, field in keys_of(struct).items():
        default = "required" if field.required else _shown(field.default)
        if key == "output":
            default = "`results/NAME.h5`"
        rows[field.name] = f"| `{key}` | {_type(hints[field.name])} | {default} |"
    yield from KEY_HEADER
    yield from (f"{row} {main[name]} |" for name, row in rows.items() if name in main or name not in study)
    if study:
        yield from ("", f"#### {KEY_SECTIONS[1]}", "", "To repeat what a source did, and to compare with it.", "")
        yield from KEY_HEADER
        for name, meaning in study.items():
            yield (f"| `{name}` | as above | as above |" if name in main else rows[name]) + f" {meaning} |"


def _generator_rows(maker: Callable[..., Any], known: Mapping[str, str]) -> Iterator[str]:
    yield from KEY_HEADER
    meanings = dict(known) | described(inspect.getdoc(maker) or "", "Parameters")
    for name, parameter in inspect.signature(maker).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        kind = str(parameter.annotation).removesuffix(" | None")
        row = [f"`{name}`", in_words(kind), "required" if required else _shown(parameter.default), meanings[name]]
        yield f"| {' | '.join(row)} |"


def _type(hint: Any) -> str:
    if get_origin(hint) is list:
        nouns = [kind.partition(",") for kind in _type(get_args(hint)[0]).split(" or ")]  # literal texts stay
        return f"list of {' or '.join(noun + 's' * (noun[0] != '`') + comma + rest for noun, comma, rest in nouns)}"
    if get_origin(hint) is tuple:
        return "pair"
    if get_origin(hint) is Literal:
        return " or ".join(f"`{json.dumps(choice)}`" for choice in get_args(hint))
    base = getattr(hint, "__origin__", hint)
    if isinstance(base, type) and issubclass(base, msgspec.Struct):
        return "table"
    alternatives = [_type(part) for part in get_args(hint) if part is not type(None)]
    if alternatives and hasattr(hint, "__args__") and not hasattr(hint, "__metadata__") and base is not dict:
        return " or ".join(alternatives)
    limits = "".join(f", at least {meta.ge}" for meta in getattr(hint, "__metadata__", ()) if meta.ge is not None)
    name: str = base.__name__ if isinstance(base, type) else str(base)
    return in_words(name.replace("dict", "object")) + limits


def _shown(default: Any) -> str:
    if default is None or isinstance(default, msgspec.Struct) or default is msgspec.NODEFAULT:
        return "none"
    return f"`{json.dumps(default)}`"


def formats() -> str:
    """Return the Markdown tables of all formats."""
    lines = []
    for title, known, directions in (("Travelling salesman problems", TSP_FORMATS, "costs"),
                                     ("Graphs and Steiner problems", GRAPH_FORMATS, "directed")):
        lines += ["", f"{title}:", "", f"| format | suffix | what a file looks like | {directions} | written |",
                  "|---|---|---|---|---|"]
        for format in known:
            suffixes = " ".join(f"`{suffix}`" for suffix in format.suffixes)
            written = "yes" if format.write else "no"
            lines.append(f"| {format.title} | {suffixes} | {format.description} | {format.directed} | {written} |")
    return "\n".join(lines[1:]) + "\n"


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
    """

    group: str
    name: str
    dataset: Dataset
    found_in: str = ""


def datasets() -> str:
    """Return all datasets as Markdown tables, one for each group and what has it."""
    lines = []
    for (group, found_in), members in groupby(dataset_rows(), lambda row: (row.group, row.found_in)):
        rows = list(members)
        lines += [f"### `/{group}` of {_owner(found_in)}", "", *DATASET_HEADER]
        lines += [*map(_dataset_line, [*rows, *scales(rows)]), ""]
    return "\n".join(lines)


def _owner(found_in: str) -> str:
    """Return which results have a group, with the algorithms that write it."""
    if not found_in or found_in in NAMES:
        return f"`{found_in}`" if found_in else "every result"
    solvers = [algorithm(name) for name in NAMES]
    kinds = {solver.kind for solver in solvers}
    by = [solver.name for solver in solvers if found_in in (solver.kind, *(answer.name for answer in solver.answers))]
    what = f"a problem of kind {found_in}" if found_in in kinds else f"an answer of kind {found_in}"
    return f"{what} ({', '.join(f'`{name}`' for name in by)})"


def _dataset_line(row: Row) -> str:
    types = [STORED_TYPES.get(name, name) for name in row.dataset.types.split("|")]
    kinds = " or ".join(types) + (f", `{schema.FILL_VALUE[schema.FORMAT_VERSION]}`" if row.dataset.none else "")
    unit = f"`{schema.SCALE_FACTOR}`" if row.dataset.scaled else row.dataset.unit.replace("1", "")
    cells = [f"`/{row.group}/{row.name}`", kinds, row.dataset.dimension, unit, row.dataset.description]
    return f"| {' | '.join(cells)} |"


def dataset_rows() -> Iterator[Row]:
    """Yield all datasets that a result file may have, except dimension scales that only number their dimension."""
    yield from _rows("job", schema.JOB_GROUP)
    for kind, group in schema.INSTANCE_GROUPS.items():
        yield from _rows("instance", group, kind)
    for answer in ANSWERS:
        for record in answer.records:
            yield from _rows("solution", declared(record), answer.name)
    for answer in ANSWERS:
        for table, group in answer.groups.items():
            yield from _rows(table, group, answer.name)
    for name in NAMES:
        for table, group in algorithm(name).groups.items():
            yield from _rows(table, group, name)
    yield from _rows("ranks", schema.RANKS_GROUP)
    yield from _rows("provenance", PROVENANCE_GROUP)
    files = sorted({file for name in NAMES for file in algorithm(name).kernel_files})
    yield from _rows("provenance", dict(map(kernel_dataset, files)))


def scales(rows: list[Row]) -> Iterator[Row]:
    """Yield the dimension scales that are written beside these datasets of one group."""
    names = {row.name for row in rows}
    dimensions = dict.fromkeys(dimension for row in rows for dimension in row.dataset.dimensions)
    yield from (Row(rows[0].group, name, schema.scale_of(name), rows[0].found_in)
                for name in dimensions if name not in names)


def _rows(name: str, group: Group, found_in: str = "") -> Iterator[Row]:
    yield from (Row(name, key, dataset, found_in) for key, dataset in group.items())


def columns() -> str:
    """Return the columns of `hpcsolve.collect` as a Markdown table."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in COLUMNS.items()]
    return "\n".join(["| column | meaning |", "|---|---|", *rows]) + "\n"


TABLES = {"keys": keys, "formats": formats, "datasets": datasets, "columns": columns}
"""Name in the markers -> the function that makes the table."""


if __name__ == "__main__":
    for document in map(Path, sys.argv[1:]):
        document.write_text(updated(document.read_text(encoding="utf-8")), encoding="utf-8")

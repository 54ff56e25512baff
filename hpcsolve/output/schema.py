"""Checks the attributes and datasets of a result file: types, dimensions, and whether all that must be there are.

All of it follows from what is declared for writing: the records of `hpcsolve.answers`, and the groups of contents.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hpcsolve.answers import ANSWERS, type_in
from hpcsolve.answers.base import AnswerType
from hpcsolve.answers.dataset import Dataset, Group, datasets
from hpcsolve.answers.tree import Prices
from hpcsolve.errors import DamagedFileError
from hpcsolve.output.contents import CITIES, GRAPH, INSTANCES, JOB, RANKS, Contents

TEXT, INTEGER, NUMBER = "a text", "an integer", "a number"
ATTRIBUTES = {
    "format": TEXT, "format_version": INTEGER, "created": TEXT, "complete": INTEGER, "algorithm": TEXT, "cost": NUMBER,
    "verified": INTEGER,
}
REQUIRED = {"job": JOB.keys(), "instance": ("name", "kind", "sha256", "scale", "label")}
A_LABEL = [name for name, dataset in {**CITIES, **GRAPH}.items() if dataset.dimension in ("city", "vertex")]
"""Columns of `/instance` with a value for each city or vertex, as many as labels."""


def known_datasets() -> dict[str, list[tuple[str, Dataset]]]:
    """Return the datasets that are checked, by group. One name may be declared several times, once an answer."""
    solution = [datasets(record) for answer in ANSWERS for record in answer.records]
    groups: dict[str, Iterable[Group]] = {
        "job": [JOB], "instance": INSTANCES.values(), "solution": solution, "prices": [datasets(Prices)],
        "ranks": [RANKS],
    }
    return {group: [pair for part in parts for pair in part.items()] for group, parts in groups.items()}


def check_attributes(attributes: Mapping[str, Any]) -> None:
    """Raise a `ValueError` if a root attribute is missing or of another type."""
    for name, kind in ATTRIBUTES.items():
        if name not in attributes:
            raise ValueError(f"the attribute {name} is missing")
        _require(np.asarray(attributes[name]), kind, 0, f"the attribute {name}")


def check_types(contents: Contents) -> None:
    """Raise a `ValueError` if a dataset is of another type or dimension than its name says."""
    for group, known in known_datasets().items():
        for name, column in contents.groups.get(group, {}).items():
            forms = [dataset for key, dataset in known if key == name and len(dataset.dimensions) < 2]
            if forms and not (group == "solution" and name in contents.tables):
                _require(np.asarray(column.values), _kind(forms[0]), len(forms[0].dimensions), f"/{group}/{name}")
    labels = contents.value("instance", "label")
    for name in A_LABEL:
        values = contents.value("instance", name)
        if labels is not None and values is not None and len(values) != len(labels):
            raise ValueError(f"/instance/{name} has {len(values)} values, /instance/label {len(labels)}")
    tables = {key: dataset for key, dataset in known_datasets()["solution"] if len(dataset.dimensions) == 2}
    for name, table in contents.tables.items():
        if name not in tables or not _is(table.dtype, _kind(tables[name])):
            raise ValueError(f"/solution/{name[:40]} is a table of {table.dtype}, which the format does not have")


def answer_in(contents: Contents) -> AnswerType | None:
    """Return the kind of answer in a result, or None if no answer is whole."""
    return type_in({*contents.groups.get("solution", {}), *contents.tables})


def require_whole(contents: Contents, file: str) -> AnswerType:
    """Return the kind of answer in a result that is whole: with job, instance and answer.

    Raises
    ------
    DamagedFileError
        Naming what is missing.
    """
    for group, names in REQUIRED.items():
        for name in names:
            if contents.value(group, name) is None:
                raise DamagedFileError(f"{file}: damaged: /{group}/{name} is missing")
    answer = answer_in(contents)
    if answer is None:
        there = ", ".join(sorted({*contents.groups.get("solution", {}), *contents.tables}))
        raise DamagedFileError(f"{file}: damaged: /solution is not a whole answer; it has {there}")
    return answer


def _kind(dataset: Dataset) -> str:
    """Return what the values of a dataset are, in words. Their width does not matter."""
    if dataset.types == "text":
        return TEXT
    return NUMBER if "float64" in dataset.types else INTEGER


def _require(values: Any, kind: str, dimensions: int, what: str) -> None:
    if values.ndim != dimensions or not _is(values.dtype, kind):
        wanted = kind if dimensions == 0 else f"a column, each value {kind}"
        raise ValueError(f"{what} is not {wanted}")


def _is(dtype: np.dtype[Any], kind: str) -> bool:
    return dtype.kind in {TEXT: "UO", INTEGER: "biu", NUMBER: "biuf"}[kind]

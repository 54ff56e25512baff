"""Checks types, dimensions and completeness of the attributes and datasets of a result file.

The checks follow from the declarations that are used for writing: the records of `hpcsolve.answers`, and the groups of
contents.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np

from hpcsolve.answers import ANSWERS, answer_type_of_names
from hpcsolve.answers.base import AnswerType
from hpcsolve.answers.dataset import Dataset, Group, datasets
from hpcsolve.answers.tree import Prices
from hpcsolve.errors import DamagedFileError
from hpcsolve.output.contents import GRAPH_GROUP, INSTANCE_GROUPS, JOB_GROUP, RANKS_GROUP, TSP_GROUP, Contents
from hpcsolve.output.toml import too_deep

TEXT, INTEGER, NUMBER = "a text", "an integer", "a number"
ATTRIBUTES = {
    "format": TEXT, "format_version": INTEGER, "created": TEXT, "complete": INTEGER, "algorithm": TEXT, "cost": NUMBER,
    "verified": INTEGER,
}
REQUIRED = {"job": JOB_GROUP.keys(), "instance": ("name", "kind", "sha256", "scale", "label")}
PER_LABEL = [name for name, dataset in {**TSP_GROUP, **GRAPH_GROUP}.items() if dataset.dimension in ("city", "vertex")]
"""Columns of `/instance` with one value per city or vertex, as many as there are labels."""


def known_datasets() -> dict[str, list[tuple[str, Dataset]]]:
    """Return name and declaration of the datasets that are checked, by group.

    A name may stand there several times, since several kinds of answers (or problems) declare it.
    """
    solution = [datasets(record) for answer in ANSWERS for record in answer.records]
    groups: dict[str, list[Group]] = {
        "job": [JOB_GROUP], "instance": [*INSTANCE_GROUPS.values()], "solution": solution, "prices": [datasets(Prices)],
        "ranks": [RANKS_GROUP],
    }
    for answer in ANSWERS:
        for name, group in answer.groups.items():
            groups.setdefault(name, []).append(group)
    return {group: [pair for part in parts for pair in part.items()] for group, parts in groups.items()}


def check_attributes(attributes: Mapping[str, Any]) -> None:
    """Raise a `ValueError` if a root attribute is missing or of another type."""
    for name, kind in ATTRIBUTES.items():
        if name not in attributes:
            raise ValueError(f"the attribute {name} is missing")
        _require(np.asarray(attributes[name]), kind, 0, f"the attribute {name}")


def check_types(contents: Contents) -> None:
    """Raise a `ValueError` if a dataset has another type or number of dimensions than declared, or the job is too deep.

    Many functions read the job later, and its reader may take all memory for a text that `too_deep` finds.
    """
    if too_deep(str(contents.value("job", "toml", ""))):
        raise ValueError("/job/toml is nested too deep")
    for group, known in known_datasets().items():
        for name, column in contents.groups.get(group, {}).items():
            forms = [dataset for key, dataset in known if key == name and len(dataset.dimensions) < 2]
            if forms and not (group == "solution" and name in contents.tables):
                expected, dimensions = _type_in_words(forms[0]), len(forms[0].dimensions)
                _require(np.asarray(column.values), expected, dimensions, f"/{group}/{name}")
    labels = contents.value("instance", "label")
    for name in PER_LABEL:
        values = contents.value("instance", name)
        if labels is not None and values is not None and len(values) != len(labels):
            raise ValueError(f"/instance/{name} has {len(values)} values, /instance/label {len(labels)}")
    tables = {key: dataset for key, dataset in known_datasets()["solution"] if len(dataset.dimensions) == 2}
    for name, table in contents.tables.items():
        if name not in tables or not _is(table.dtype, _type_in_words(tables[name])):
            raise ValueError(f"/solution/{name[:40]} is a table of {table.dtype}, which the format does not have")


def answer_in(contents: Contents) -> AnswerType | None:
    """Return the kind of answer in a result, or None if `/solution` is not one complete answer."""
    return answer_type_of_names({*contents.groups.get("solution", {}), *contents.tables})


def require_whole(contents: Contents, file: str = "the result") -> AnswerType:
    """Return the kind of answer in a result, which must have job, instance and a complete answer.

    Raises
    ------
    DamagedFileError
        A dataset is missing or the job is not TOML; the message names the dataset.
    """
    for group, names in REQUIRED.items():
        for name in names:
            if contents.value(group, name) is None:
                raise DamagedFileError(f"{file}: damaged: /{group}/{name} is missing")
    try:
        msgspec.toml.decode(str(contents.value("job", "toml")))
    except (msgspec.DecodeError, ValueError):  # as job/load.py has it
        raise DamagedFileError(f"{file}: damaged: /job/toml is not valid TOML") from None
    answer = answer_in(contents)
    if answer is None:
        names = ", ".join(sorted({*contents.groups.get("solution", {}), *contents.tables}))
        raise DamagedFileError(f"{file}: damaged: /solution is not a complete answer; it has {names}")
    return answer


def answer_lines(contents: Contents, file: str = "the result") -> list[str]:
    """Return the lines that are printed of the answer in a result. Raises as `require_whole`."""
    with contradictions_refused(file):
        return list(require_whole(contents, file).lines(contents))


@contextmanager
def contradictions_refused(file: str) -> Iterator[None]:
    """Raise a `DamagedFileError` where computing with a result fails, since its datasets do not fit together."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DamagedFileError(f"{file}: damaged: its datasets contradict each other: {reason}") from None


def _type_in_words(dataset: Dataset) -> str:
    """Return the type of a dataset's values in words, without the width."""
    if dataset.types == "text":
        return TEXT
    return NUMBER if "float64" in dataset.types else INTEGER


def _require(values: Any, kind: str, dimensions: int, what: str) -> None:
    if values.ndim != dimensions or not _is(values.dtype, kind):
        expected = kind if dimensions == 0 else f"a column, each value {kind}"
        raise ValueError(f"{what} is not {expected}")


def _is(dtype: np.dtype[Any], kind: str) -> bool:
    return dtype.kind in {TEXT: "UO", INTEGER: "biu", NUMBER: "biuf"}[kind]

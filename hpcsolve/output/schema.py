"""What the attributes and datasets of a result file are: their types and dimensions, and which must be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpcsolve.errors import DamagedFileError
from hpcsolve.output.contents import Contents

TEXT, INTEGER, NUMBER = "a text", "an integer", "a number"
ATTRIBUTES = {
    "format": TEXT, "format_version": INTEGER, "created": TEXT, "complete": INTEGER, "algorithm": TEXT, "cost": NUMBER,
    "verified": INTEGER,
}  # fmt: skip
SCALARS = {
    "job": {"toml": TEXT, "hash": TEXT},
    "instance": {
        **dict.fromkeys(("name", "kind", "comment", "path", "format", "sha256", "content_sha256"), TEXT),
        **dict.fromkeys(("n", "vertices", "arcs", "symmetric", "directed", "scale", "parallel_arcs", "loops"), INTEGER),
    },
    "solution": {
        **dict.fromkeys(("cost", "optimal", "infeasible", "lower_bound", "closure_mst", "closure_bottleneck"), INTEGER),
        "ratio": NUMBER,
    },
    "prices": {"root": INTEGER},
}
COLUMNS = {
    "instance": {"label": INTEGER, "city_name": TEXT, "vertex_name": TEXT, "x": NUMBER, "y": NUMBER, "z": NUMBER},
    "solution": {
        **dict.fromkeys(("tour", "source", "target", "offset", "path", "u", "v", "weight"), INTEGER),
        "distance": NUMBER,
    },
    "prices": {"terminal": INTEGER, "price": INTEGER},
}
TABLES = {"distance": NUMBER, "predecessor": INTEGER, "nearest": INTEGER, "matrix": INTEGER}
REQUIRED = {"job": ("toml", "hash"), "instance": ("name", "kind", "sha256", "scale", "label")}
TABLES_ANSWER, QUERIES_ANSWER = ("source", "distance"), ("source", "target", "distance", "offset", "path")
TREE_ANSWER = ("u", "v", "weight", "cost", "lower_bound", "ratio", "closure_mst", "closure_bottleneck")
ANSWERS = (("infeasible",), ("tour", "cost", "optimal"), TREE_ANSWER, TABLES_ANSWER, QUERIES_ANSWER)
"""What `/solution` may hold; one of these, whole."""


def check_attributes(attributes: Mapping[str, Any]) -> None:
    """Raise `ValueError` where a root attribute is missing or of another type."""
    for name, kind in ATTRIBUTES.items():
        if name not in attributes:
            raise ValueError(f"the attribute {name} is missing")
        _require(np.asarray(attributes[name]), kind, 0, f"the attribute {name}")


def check_types(contents: Contents) -> None:
    """Raise `ValueError` where a dataset that is there is not what its name says."""
    for name, columns in contents.groups.items():
        for key, column in columns.items():
            for dimensions, known in enumerate((SCALARS.get(name, {}), COLUMNS.get(name, {}))):
                if key in known and not (name == "solution" and key in contents.tables):
                    _require(np.asarray(column.values), known[key], dimensions, f"/{name}/{key}")
    labels = contents.value("instance", "label")
    for key in COLUMNS["instance"]:
        values = contents.value("instance", key)
        if labels is not None and values is not None and len(values) != len(labels):
            raise ValueError(f"/instance/{key} has {len(values)} values, /instance/label {len(labels)}")
    for key, table in contents.tables.items():
        if key not in TABLES or not _is(np.dtype(table.dtype), TABLES[key]):
            raise ValueError(f"/solution/{key[:40]} is a table of {table.dtype}, which the format has not")


def require_whole(contents: Contents, file: str) -> None:
    """See that a result is whole: what was asked, the instance and an answer are there.

    Raises
    ------
    DamagedFileError
        Naming what is missing.
    """
    for name, keys in REQUIRED.items():
        for key in keys:
            if contents.value(name, key) is None:
                raise DamagedFileError(f"{file}: damaged: /{name}/{key} is missing")
    there = {*contents.groups.get("solution", {}), *contents.tables}
    other = TABLES_ANSWER if there & {"offset", "path"} else QUERIES_ANSWER  # has the same names, and more or fewer
    begun = [answer for answer in ANSWERS if answer != other and not there.isdisjoint({*answer} - {"cost"})]
    if len(begun) != 1 or not there.issuperset(begun[0]):
        raise DamagedFileError(f"{file}: damaged: /solution is no whole answer; it has {', '.join(sorted(there))}")


def _require(values: Any, kind: str, dimensions: int, what: str) -> None:
    if values.ndim != dimensions or not _is(values.dtype, kind):
        wanted = kind if dimensions == 0 else f"a column, each value {kind}"
        raise ValueError(f"{what} is not {wanted}")


def _is(dtype: np.dtype[Any], kind: str) -> bool:
    return dtype.kind in {TEXT: "UO", INTEGER: "biu", NUMBER: "biuf"}[kind]

"""Travelling salesman problems in DataFrames of pandas, which is not imported here: a matrix, or a table of places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.geographic import from_places
from hpcsolve.problems.notes import not_used
from hpcsolve.problems.place_columns import has_place_columns, place_columns
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp
from hpcsolve.problems.tsp_matrix import from_matrix


def is_data_frame(problem: object) -> bool:
    """Return whether an object is a table with an index and columns, as pandas has it."""
    return hasattr(problem, "columns") and hasattr(problem, "index") and hasattr(problem, "to_numpy")


def from_data_frame(frame: Any, precision: Precision | None = None, name: str = "DataFrame") -> Tsp:
    """Return the problem of a DataFrame.

    Parameters
    ----------
    frame
        Either a square matrix of costs, from the row's city to the column's, whose index equals its columns: integers
        are the labels of the cities, other values their names. Or a table with columns of latitudes and longitudes, as
        in `formats.tsp.places`, where an index of texts gives the names if no column does.
    precision
        As in `from_matrix`.

    Raises
    ------
    InputError
        Index and columns differ, or as in `from_matrix` and `from_places`.
    """
    if has_place_columns(list(frame.columns)):
        return _places(frame, name)
    labels = _labels(frame, name)
    if _integers(labels):
        tsp = from_matrix(frame.to_numpy(), name, precision=precision)
        return replace(tsp, labels=np.array(labels, dtype=np.int64))
    return from_matrix(frame.to_numpy(), name, city_names=[str(label) for label in labels], precision=precision)


def _labels(frame: Any, name: str) -> list[Any]:
    """Return the labels of the rows, which must be those of the columns in the same order, each one once."""
    rows, columns = list(frame.index), list(frame.columns)
    if rows == columns:
        if _integers(rows) and len(set(rows)) < len(rows):
            raise InputError("two cities have the same number in the index of the DataFrame; give each its own", name)
        return rows
    if len(rows) != len(columns):
        raise InputError(f"the DataFrame has {len(rows)} rows and {len(columns)} columns; the matrix is square", name)
    first = next(i for i, (row, column) in enumerate(zip(rows, columns)) if row != column)
    what = f"row {first} of the DataFrame is {shown(str(rows[first]))}, column {first} {shown(str(columns[first]))}"
    cure = "order them with df.loc[df.columns]" if set(rows) == set(columns) else "set df.index = df.columns"
    raise InputError(f"{what}; the cities must be the same in both: {cure}", name)


def _integers(labels: Sequence[Any]) -> bool:
    return all(isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels)


def _places(frame: Any, name: str) -> Tsp:
    try:
        columns = place_columns(list(frame.columns))
    except ValueError as problem:
        raise InputError(str(problem), name) from None
    latitude, longitude = (frame.iloc[:, column].to_numpy() for column in (columns.latitude, columns.longitude))
    index = frame.index.tolist()
    names = index if all(isinstance(label, str) for label in index) else []
    if columns.name is not None:
        names = frame.iloc[:, columns.name].tolist()
    ids = [] if columns.label is None else frame.iloc[:, columns.label].tolist()
    for position, text in enumerate(names):
        if text is None or text != text or not str(text).strip():
            raise InputError(f"place {position} has no name", name)
    return from_places(
        latitude, longitude, name, city_names=[str(text) for text in names],
        labels=ids if ids and _integers(ids) else None, notes=not_used(columns.unused(list(frame.columns))),
    )

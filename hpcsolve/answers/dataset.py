"""What a dataset of the result file is, said once: its type, dimension, unit and meaning, with or without its values.

An answer is a dataclass whose fields are annotated with their `Dataset`; other groups map names to `Dataset`. What is
written, what is required of a file that is read, and the documentation all come from these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

SCALARS = {"text": "O", "bool": "?"}


@dataclass(frozen=True)
class Dataset:
    """A dataset without its values.

    Attributes
    ----------
    types
        numpy's name of the type, "text" or "bool"; several, of which the values have one, are separated by "|".
    description, unit
        Kept as attributes in the file; the unit of what has none is "1".
    dimension
        Name of the dimension of a column, "" for a single value; of a table "row, column".
    none
        What stands for "none" (unreached) among the values, in words; "" if there is no such thing.
    optional
        Whether it may be missing from its group.
    """

    types: str
    description: str
    dimension: str = ""
    unit: str = "1"
    none: str = ""
    optional: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the dimensions: none of a single value, one of a column, two of a table."""
        return tuple(self.dimension.split(", ")) if self.dimension else ()

    def column(self, values: Any, none: float | None = None) -> Column:
        """Return the dataset with values, which must be of its type and dimension.

        Raises
        ------
        TypeError
            They are not.
        """
        names = self.types.split("|")
        if names == ["text"] or names == ["bool"]:
            found = values if not self.dimension else np.asarray(values, SCALARS[names[0]])
        else:
            found = np.asarray(values, None if len(names) > 1 or isinstance(values, np.ndarray) else names[0])
            if found.dtype.name not in names:
                raise TypeError(f"{self.description!r} takes {self.types}, not {found.dtype.name}")
        if np.ndim(found) != len(self.dimensions):
            raise TypeError(f"{self.description!r} has {len(self.dimensions)} dimensions, not {np.ndim(found)}")
        return Column(found, self.description, self.unit, self.dimension, none)


Group = Mapping[str, Dataset]
"""The datasets of a group of the result file, by name."""


@dataclass(frozen=True)
class Column:
    """One dataset of the result file: values with their unit and meaning."""

    values: NDArray[Any] | int | float | bool | str
    description: str
    unit: str = "1"
    dimension: str = ""
    """Name of the dimension, for one-dimensional columns of a table."""
    none: int | float | None = None
    """What stands for "none" (unreached) among numbers, or None; kept as an attribute."""


def columns(group: Group, values: Mapping[str, Any]) -> dict[str, Column]:
    """Return datasets of a group with their values. Those whose value is None are left out.

    Raises
    ------
    KeyError
        The group has no dataset of that name.
    TypeError
        Values are of another type or dimension.
    """
    return {name: group[name].column(found) for name, found in values.items() if found is not None}


@cache
def datasets(record: type) -> Group:
    """Return the datasets that the fields of a dataclass are annotated with, by name."""
    hints = get_type_hints(record, include_extras=True)
    found = {field.name: getattr(hints[field.name], "__metadata__", ()) for field in dataclasses.fields(record)}
    return {name: extra[0] for name, extra in found.items() if extra and isinstance(extra[0], Dataset)}


@cache
def required(record: type) -> frozenset[str]:
    """Return the names of the datasets that a dataclass always has: those of the fields without a default."""
    without = {field.name for field in dataclasses.fields(record) if field.default is dataclasses.MISSING}
    return frozenset(without & datasets(record).keys())


def own_unit(cost: int | None, scale: int) -> int | float:
    """Return a cost in the instance's own unit, or NaN if there is no cost."""
    return float("nan") if cost is None else cost if scale == 1 else cost / scale

"""Declares the datasets of the result file: types, dimensions, unit and meaning.

A `Dataset` is a declaration, a `Column` a dataset with its values. An answer is a dataclass whose fields are annotated
with their `Dataset`; other groups of the file map names to `Dataset`. Writing, the check of a file that is read, and
the documentation (output/reference.py) all follow from these declarations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

NUMPY_TYPES = {"text": "O", "bool": "?"}
"""numpy's types for the values that are not numbers."""


@dataclass(frozen=True)
class Dataset:
    """The declaration of a dataset.

    Attributes
    ----------
    types
        numpy's name of the type, "text" or "bool". "uint32|uint64" allows either.
    description, unit
        Attributes of the dataset in the file. The unit of pure numbers is "1".
    dimension
        Name of the dimension of a column; "" for a single value; of a table both names, such as "search, vertex".
    none
        Which value stands for "none" (unreached, no vertex), in words; "" if none does.
    optional
        Whether the dataset may be missing from its group.
    scaled
        Whether the values are costs or weights in scaled integers: the instance's own unit times /instance/scale.
    """

    types: str
    description: str
    dimension: str = ""
    unit: str = "1"
    none: str = ""
    optional: bool = False
    scaled: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the dimensions: an empty tuple for a single value, one name for a column, two for a table."""
        return tuple(self.dimension.split(", ")) if self.dimension else ()

    def column(self, values: Any, none: float | None = None) -> Column:
        """Return the dataset with these values.

        Parameters
        ----------
        none
            The value that stands for "none", or None if no value does.

        Raises
        ------
        TypeError
            The values are of another type or number of dimensions than declared.
        """
        names = self.types.split("|")
        if names == ["text"] or names == ["bool"]:
            found = values if not self.dimension else np.asarray(values, NUMPY_TYPES[names[0]])
        else:
            found = np.asarray(values, None if len(names) > 1 or isinstance(values, np.ndarray) else names[0])
            if found.dtype.name not in names:
                raise TypeError(f"{self.description!r} takes {self.types}, not {found.dtype.name}")
        if np.ndim(found) != len(self.dimensions):
            raise TypeError(f"{self.description!r} has {len(self.dimensions)} dimensions, not {np.ndim(found)}")
        return Column(found, self.description, self.unit, self.dimension, none, self.scaled)


Group = Mapping[str, Dataset]
"""The datasets of a group of the result file, by name."""


@dataclass(frozen=True)
class Column:
    """A dataset of the result file with its values: a single value, a column, or a whole table."""

    values: NDArray[Any] | int | float | bool | str
    description: str
    unit: str = "1"
    dimension: str = ""
    """As in `Dataset`."""
    none: int | float | None = None
    """The value that stands for "none" (unreached, no vertex), `_FillValue` in the file, or None if no value does."""
    scaled: bool = False
    """As in `Dataset`: whether the file gives the dataset the attribute `scale_factor`."""


def columns(group: Group, values: Mapping[str, Any]) -> dict[str, Column]:
    """Return datasets of a group with these values. A dataset whose value is None is left out.

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
    """Return the names of the datasets that a dataclass always has, which are its fields without a default."""
    without = {field.name for field in dataclasses.fields(record) if field.default is dataclasses.MISSING}
    return frozenset(without & datasets(record).keys())


def own_unit(cost: int | None, scale: int) -> int | float:
    """Return a cost in the instance's own unit, or NaN if there is no cost."""
    return float("nan") if cost is None else cost if scale == 1 else cost / scale

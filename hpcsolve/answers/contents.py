"""The content of a result: the declaration of its datasets, their values, tables over ranks, and the whole, `Contents`.

A `Dataset` is a declaration: types, dimensions, unit and meaning. A `Column` is a dataset with its values. An answer is
a dataclass whose fields are `stored`; other groups of the file map names to `Dataset`. Writing, the check of a file
that is read, and the documentation all follow from these declarations.

A `DistanceTable` is a two-dimensional table of `/solution` whose rows are distributed over the ranks.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.check_distances import no_path_of
from hpcsolve.problems.geographic import DEGREES_MINUTES

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
        return Column(found, self, none)


Group = Mapping[str, Dataset]
"""The datasets of a group of the result file, by name."""


@dataclass(frozen=True)
class Column:
    """A dataset of the result file with its values: a single value, a column, or a whole table."""

    values: NDArray[Any] | int | float | bool | str
    dataset: Dataset
    none: int | float | None = None
    """The value that stands for "none" (unreached, no vertex), `_FillValue` in the file, or None if no value does."""


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


def stored(types: str, description: str, dimension: str = "", *, optional: bool = False, **more: Any) -> Any:
    """Return a field of a dataclass that is stored as a `Dataset`. The default of an optional one is None."""
    dataset = Dataset(types, description, dimension, optional=optional, **more)
    return field(default=None if optional else dataclasses.MISSING, metadata={"dataset": dataset})


@cache
def datasets(record: type) -> Group:
    """Return the datasets of a dataclass, which are its fields that `stored` has made, by name."""
    return {field.name: field.metadata["dataset"] for field in dataclasses.fields(record) if field.metadata}


def own_unit(cost: int, scale: int) -> int | float:
    """Return a cost in the instance's own unit."""
    return cost if scale == 1 else cost / scale


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """A table of which each rank has some rows. Algorithms make it, the output writes it, the reader returns it.

    Attributes
    ----------
    values
        Shape (rows of this rank, columns); no rows if the values are still in the result file.
    first, total
        Number of the first of these rows, and number of rows of the whole table.
    dataset
        The declaration: description, unit and dimensions.
    none
        The value that stands for "none" (unreached, no vertex), or None if no value does.
    row_ranges
        For each rank (first row, last row + 1); empty until `with_row_ranges` has filled it in.
    """

    values: NDArray[Any]
    first: int
    total: int
    dataset: Dataset
    none: int | float | None = None
    row_ranges: tuple[tuple[int, int], ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole table."""
        return self.total, self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    def own_rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from `start` up to, not including, `stop`, all of which this rank must have."""
        return self.values[start - self.first : stop - self.first]

    def with_row_ranges(self, comm: Comm) -> DistanceTable:
        """Return the table with `row_ranges` of all ranks. Collective.

        Raises
        ------
        ValueError
            The ranks together do not have each row once, in the order of the ranks.
        """
        row_ranges = tuple(comm.allgather((self.first, self.first + len(self.values))))
        behind = [0, *(stop for _, stop in row_ranges)]
        if [start for start, _ in row_ranges] != behind[:-1] or behind[-1] != self.total:
            raise ValueError(f"{self.dataset.description!r}: the ranks have {row_ranges} of {self.total} rows")
        return replace(self, row_ranges=row_ranges)

    def gathered(self, comm: Comm) -> NDArray[Any] | None:
        """Return all rows of a table on rank 0, and None on other ranks. Collective.

        The table must have its `row_ranges`.
        """
        if comm.rank != 0:
            comm.send(np.ascontiguousarray(self.values), 0).wait()
            return None
        whole = np.empty(self.shape, self.dtype)
        for rank, (start, stop) in enumerate(self.row_ranges):
            if rank == 0:
                whole[start:stop] = self.values
            else:
                comm.receive(whole[start:stop], rank).wait()
        return whole


@dataclass(frozen=True)
class Contents:
    """The content of a result file: root attributes, and datasets by group.

    Attributes
    ----------
    attributes
        Of the root: `format`, `format_version`, `created`, `complete`, `algorithm`, `cost` (if there is one),
        `verified`.
    groups
        Group name -> dataset name -> column.
    tables
        The two-dimensional tables of `/solution`, by dataset name. Their values may still be in the file.
    """

    attributes: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Column]]
    tables: Mapping[str, DistanceTable] = field(default_factory=dict)

    @property
    def job(self) -> dict[str, Any]:
        """The effective job as a table."""
        table: dict[str, Any] = msgspec.toml.decode(str(self.value("job", "toml")))
        return table

    @property
    def keys(self) -> dict[str, Any]:
        """The table of the job's algorithm."""
        own: dict[str, Any] = self.job.get(self.attributes["algorithm"], {})
        return own

    @property
    def speed(self) -> float | None:
        """The speed, in km/h, with which the job makes travel times of metres, or None."""
        instance = self.job.get("instance")
        return instance.get("speed") if isinstance(instance, dict) else None

    @property
    def names(self) -> set[str]:
        """The names of the datasets of `/solution`, tables included."""
        return {*self.groups.get("solution", {}), *self.tables}

    @property
    def scale(self) -> int:
        """The scale of all scaled integers, `/instance/scale`, or 1 if there is no instance."""
        return int(self.value("instance", "scale", 1))

    @property
    def unit(self) -> str:
        """The unit of all scaled integers, `/instance/unit`, such as m or s, or "" if it is not known."""
        return str(self.value("instance", "unit", ""))

    @property
    def cost(self) -> float:
        """Cost of the answer in the instance's own unit, an int if all costs are. NaN if the answer has no cost."""
        cost: float = self.attributes.get("cost", math.nan)
        return cost

    def own(self, group: str, name: str) -> Any:
        """Return the values of one dataset in the instance's own unit, or None if there is no such dataset."""
        column = self.groups.get(group, {}).get(name)
        if column is None:
            return None
        return self.in_own_unit(np.asarray(column.values)) if column.dataset.scaled else column.values

    def in_own_unit(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return scaled integers in the instance's own unit, as they are if the scale is 1."""
        return values if self.scale == 1 else values / self.scale

    def own_distances(self, distance: NDArray[Any]) -> NDArray[np.float64]:
        """Return stored distances in the instance's own unit, `inf` where no path leads."""
        return np.where(distance == no_path_of(distance.dtype), np.inf, distance / self.scale)

    def value(self, group: str, name: str, default: Any = None) -> Any:
        """Return the values of one dataset, or the default."""
        column = self.groups.get(group, {}).get(name)
        return default if column is None else column.values

    def shown_names(self) -> NDArray[Any]:
        """Return the names of the cities or vertices, not always unique, or else their numbers, shape (n,)."""
        names = self.value("instance", "city_name", self.value("instance", "vertex_name"))
        return np.asarray(self.value("instance", "label")) if names is None else np.asarray(names, object)

    def unique_names(self) -> NDArray[Any]:
        """Return a name for each city or vertex, shape (n,): its name if all have different ones, else its number."""
        names, numbers = self.shown_names(), np.asarray(self.value("instance", "label"))
        return names if len(set(names.tolist())) == len(numbers) else numbers

    def coordinates(self, kind: str | None = None) -> dict[str, NDArray[np.float64]]:
        """Return the coordinates of all cities or vertices as columns.

        Latitudes and longitudes are `lat` and `lon`, in decimal degrees, to 9 decimals (a tenth of a millimetre).
        Others are `x`, `y` and `z`. Without coordinates there is no column.

        Parameters
        ----------
        kind
            Kind of the coordinates, as in `/instance/coordinates_kind`, which is the default.
        """
        axes = {axis: self.value("instance", axis) for axis in "xyz"}
        known = {axis: np.asarray(values) for axis, values in axes.items() if values is not None}
        kind = self.value("instance", "coordinates_kind", "") if kind is None else kind
        if not kind or not known:
            return known
        if kind == DEGREES_MINUTES:  # degrees.minutes, as TSPLIB has them
            for axis in "xy":
                minutes, degrees = np.modf(known[axis])
                known[axis] = np.round(degrees + minutes * 5 / 3, 9)
        return {"lat": known["x"], "lon": known["y"]}

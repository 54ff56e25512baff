"""A two-dimensional table of `/solution` whose rows are distributed over the ranks, such as a table of distances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.dataset import Dataset

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm


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


def with_row_ranges(table: DistanceTable, comm: Comm) -> DistanceTable:
    """Return the table with `row_ranges` of all ranks. Collective.

    Raises
    ------
    ValueError
        The ranks together do not have each row once, in the order of the ranks.
    """
    row_ranges = tuple(comm.allgather((table.first, table.first + len(table.values))))
    behind = [0, *(stop for _, stop in row_ranges)]
    if [start for start, _ in row_ranges] != behind[:-1] or behind[-1] != table.total:
        raise ValueError(f"{table.dataset.description!r}: the ranks have {row_ranges} of {table.total} rows")
    return replace(table, row_ranges=row_ranges)


def gathered(table: DistanceTable, comm: Comm) -> NDArray[Any] | None:
    """Return all rows of a table on rank 0, and None on other ranks. Collective.

    The table must have its `row_ranges`.
    """
    if comm.rank != 0:
        comm.send(np.ascontiguousarray(table.values), 0).wait()
        return None
    whole = np.empty(table.shape, table.dtype)
    for rank, (start, stop) in enumerate(table.row_ranges):
        if rank == 0:
            whole[start:stop] = table.values
        else:
            comm.receive(whole[start:stop], rank).wait()
    return whole

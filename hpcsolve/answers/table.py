"""A table of `/solution` with two dimensions, too large for one rank: distances, predecessors, nearest sources."""

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
    """A table of which each rank has some rows. This one record goes from the device to the file, and back.

    Attributes
    ----------
    values
        Shape (own rows, columns): the rows of this rank; no rows of a table that is still in its file.
    first, total
        Number of the first of them; how many rows the whole table has.
    dataset
        Its description, unit and dimensions.
    none
        What stands for "none" (unreached, no vertex), or None.
    owned
        Of each rank the first of its rows and the one behind its last; empty before `spread`.
    """

    values: NDArray[Any]
    first: int
    total: int
    dataset: Dataset
    none: int | float | None = None
    owned: tuple[tuple[int, int], ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole table."""
        return self.total, self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    def own(self, start: int, stop: int) -> NDArray[Any]:
        """Return these rows, which this rank must have."""
        return self.values[start - self.first : stop - self.first]


def spread(table: DistanceTable, comm: Comm) -> DistanceTable:
    """Return the table with the rows that each rank has. Collective.

    Raises
    ------
    ValueError
        The ranks' rows are not all rows, once each, in the order of the ranks.
    """
    owned = tuple(comm.allgather((table.first, table.first + len(table.values))))
    behind = [0, *(stop for _, stop in owned)]
    if [start for start, _ in owned] != behind[:-1] or behind[-1] != table.total:
        raise ValueError(f"{table.dataset.description!r}: the ranks have {owned} of {table.total} rows")
    return replace(table, owned=owned)


def gathered(table: DistanceTable, comm: Comm) -> NDArray[Any] | None:
    """Return all rows of a spread table on rank 0, and None on other ranks. Collective."""
    if comm.rank != 0:
        comm.send(np.ascontiguousarray(table.values), 0).wait()
        return None
    whole = np.empty(table.shape, table.dtype)
    for rank, (start, stop) in enumerate(table.owned):
        if rank == 0:
            whole[start:stop] = table.values
        else:
            comm.receive(whole[start:stop], rank).wait()
    return whole

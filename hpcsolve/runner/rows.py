"""Tables spread over the ranks: their rows come to rank 0 in order, in pieces, and are written as they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Column, Rows
from hpcsolve.output.contents import TableShape
from hpcsolve.output.tables import Table, block_rows
from hpcsolve.parallel.comm import Comm


@dataclass(frozen=True)
class Spread:
    """A table of which every rank has some rows.

    Attributes
    ----------
    owned
        Of each rank the first of its rows and the one behind its last.
    """

    name: str
    rows: Rows
    owned: tuple[tuple[int, int], ...]

    @property
    def shape(self) -> TableShape:
        """Of the whole."""
        values = self.rows.values
        return TableShape((self.rows.total, values.shape[1]), values.dtype.name, self.rows.fill)

    def pieces(self) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
        """First and last + 1 row of each block, with the ranks that have a part of it: (rank, first, last + 1)."""
        shape = self.shape
        step = block_rows(shape.shape, self.rows.values.itemsize)
        for start in range(0, self.rows.total, step):
            stop = min(start + step, self.rows.total)
            parts = [(rank, max(a, start), min(b, stop)) for rank, (a, b) in enumerate(self.owned)]
            yield start, stop, [(rank, a, b) for rank, a, b in parts if a < b]


def spread_tables(rows: Mapping[str, Rows], comm: Comm) -> list[Spread]:
    """The tables of a run with who has what; collective.

    Raises
    ------
    ValueError
        The ranks' rows are not all rows, once each, in the order of the ranks.
    """
    found = []
    for name, mine in rows.items():
        owned = tuple(comm.allgather((mine.first, mine.first + len(mine.values))))
        behind = [0, *(stop for _, stop in owned)]
        if [start for start, _ in owned] != behind[:-1] or behind[-1] != mine.total:
            raise ValueError(f"rows of {name}: the ranks have {owned} of {mine.total}")
        found.append(Spread(name, mine, owned))
    return found


def send(table: Spread, comm: Comm) -> None:
    """Send this rank's rows, piece by piece, to rank 0, which is in `Arriving.blocks`."""
    for _, _, parts in table.pieces():
        for rank, start, stop in parts:
            if rank == comm.rank:
                first = table.rows.first
                piece = np.ascontiguousarray(table.rows.values[start - first : stop - first])
                comm.send(piece, 0).wait()


@dataclass
class Arriving:
    """Rank 0's side of `send`.

    Attributes
    ----------
    keep
        Keep all that comes, for `column`.
    """

    table: Spread
    comm: Comm
    keep: bool = False
    kept: list[NDArray[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """The one way through the rows."""
        self.blocks = self._blocks()

    def as_table(self) -> Table:
        """For the writer."""
        rows = self.table.rows
        return Table(self.table.name, self.table.shape, rows.description, rows.unit, rows.dimensions, self.blocks)

    def drain(self) -> None:
        """Take what nobody has taken: the other ranks must not wait for ever."""
        for _ in self.blocks:
            pass

    def column(self) -> Column:
        """The whole table, if it was kept."""
        rows = self.table.rows
        values = np.concatenate(self.kept) if self.kept else rows.values
        return Column(values, rows.description, rows.unit)

    def _blocks(self) -> Iterator[NDArray[Any]]:
        values, first = self.table.rows.values, self.table.rows.first
        for start, stop, parts in self.table.pieces():
            block = np.empty((stop - start, values.shape[1]), dtype=values.dtype)
            for rank, a, b in parts:
                if rank == 0:
                    block[a - start : b - start] = values[a - first : b - first]
                else:
                    self.comm.receive(block[a - start : b - start], rank).wait()
            if self.keep:
                self.kept.append(block)
            yield block

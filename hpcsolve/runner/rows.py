"""Tables spread over the ranks: each compresses the chunks of its own rows, rank 0 writes all of them in order.

A band is the rows of one chunk. The rank that has all of them compresses it; where several ranks have a part of them,
rank 0 puts them together. So the chunks, and their order, are the same however the rows are spread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Column, Rows
from hpcsolve.output.contents import TableShape
from hpcsolve.output.tables import Chunk, Table, chunk_shape, stored_chunk
from hpcsolve.parallel.comm import Comm, Request

T = TypeVar("T")
U = TypeVar("U")

AHEAD_BYTES = 1 << 28
"""Most bytes that a rank has ready and rank 0 has not taken yet."""


@dataclass(frozen=True)
class Band:
    """Rows that stand in one row of chunks.

    Attributes
    ----------
    start, stop
        The first of its rows and the one behind its last.
    parts
        Which ranks have which of its rows: (rank, first, last + 1), in order.
    """

    start: int
    stop: int
    parts: tuple[tuple[int, int, int], ...]

    @property
    def owner(self) -> int | None:
        """The rank that has all of its rows, None if several have a part."""
        return self.parts[0][0] if len(self.parts) == 1 else None


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

    @property
    def chunk(self) -> tuple[int, int]:
        """The shape of a chunk."""
        return chunk_shape(self.shape.shape, self.rows.values.itemsize)

    def bands(self) -> Iterator[Band]:
        """All bands, from the first row to the last."""
        step = self.chunk[0]
        for start in range(0, self.rows.total, step):
            stop = min(start + step, self.rows.total)
            parts = ((rank, max(a, start), min(b, stop)) for rank, (a, b) in enumerate(self.owned))
            yield Band(start, stop, tuple(part for part in parts if part[1] < part[2]))

    def mine(self, start: int, stop: int) -> NDArray[Any]:
        """These rows, which this rank has."""
        return self.rows.values[start - self.rows.first : stop - self.rows.first]

    def pieces(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows of a band, cut into chunks."""
        width = self.chunk[1]
        return [rows[:, column : column + width] for column in range(0, rows.shape[1], width)]

    def stored(self, piece: NDArray[Any]) -> bytes:
        """A chunk as the file holds it."""
        return stored_chunk(piece, self.chunk, self.rows.fill)

    def stored_by(self, rank: int, threads: int) -> Iterator[bytes]:
        """The chunks of all bands that this rank owns, in order."""
        own = (self.mine(band.start, band.stop) for band in self.bands() if band.owner == rank)
        return in_order(self.stored, (piece for rows in own for piece in self.pieces(rows)), threads)


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


def gathered(table: Spread, comm: Comm) -> Column | None:
    """The whole table, on rank 0, elsewhere None; collective."""
    if comm.rank != 0:
        comm.send(np.ascontiguousarray(table.rows.values), 0).wait()
        return None
    whole = np.empty(table.shape.shape, table.rows.values.dtype)
    for rank, (start, stop) in enumerate(table.owned):
        if rank == 0:
            whole[start:stop] = table.rows.values
        else:
            comm.receive(whole[start:stop], rank).wait()
    return Column(whole, table.rows.description, table.rows.unit)


def send(table: Spread, comm: Comm, threads: int) -> None:
    """Send what this rank has to rank 0, which is in `Arriving.chunks`; compressed ahead while rank 0 is not there yet.

    Parameters
    ----------
    threads
        That compress.
    """
    waiting: deque[tuple[Request, int]] = deque()
    ahead = 0
    for message in _messages(table, comm.rank, threads):
        waiting.append((comm.send(message, 0), message.nbytes))
        ahead += message.nbytes
        while ahead > AHEAD_BYTES:
            request, nbytes = waiting.popleft()
            request.wait()
            ahead -= nbytes
    for request, _ in waiting:
        request.wait()


def _messages(table: Spread, rank: int, threads: int) -> Iterator[NDArray[Any]]:
    """For each band that a rank owns the lengths of its chunks and the chunks; for others its part of the rows."""
    stored = table.stored_by(rank, threads)
    for band in table.bands():
        if band.owner == rank:
            chunks = [next(stored) for _ in table.pieces(table.mine(band.start, band.stop))]
            yield np.array([len(chunk) for chunk in chunks], dtype=np.int64)
            yield np.frombuffer(b"".join(chunks), dtype=np.uint8)
        else:
            yield from (np.ascontiguousarray(table.mine(a, b)) for owner, a, b in band.parts if owner == rank)


@dataclass
class Arriving:
    """Rank 0's side of `send`."""

    table: Spread
    comm: Comm
    threads: int
    chunks: Iterator[Chunk] = field(init=False)

    def __post_init__(self) -> None:
        """The one way through the chunks."""
        self.chunks = self._chunks()

    def as_table(self) -> Table:
        """For the writer."""
        rows = self.table.rows
        return Table(self.table.name, self.table.shape, rows.description, rows.unit, rows.dimensions, self.chunks)

    def drain(self) -> None:
        """Take what nobody has taken: the other ranks must not wait for ever."""
        for _ in self.chunks:
            pass

    def _chunks(self) -> Iterator[Chunk]:
        own = self.table.stored_by(0, self.threads)
        columns = range(0, self.table.shape.shape[1], self.table.chunk[1])
        for band in self.table.bands():
            if band.owner == 0:
                stored: Iterable[bytes] = (next(own) for _ in columns)
            elif band.owner is not None:
                stored = self._received(band.owner, len(columns))
            else:
                stored = map(self.table.stored, self.table.pieces(self._assembled(band)))
            yield from (((band.start, column), chunk) for column, chunk in zip(columns, stored))

    def _received(self, rank: int, count: int) -> list[bytes]:
        """The chunks of a band that another rank owns."""
        lengths = np.empty(count, dtype=np.int64)
        self.comm.receive(lengths, rank).wait()
        chunks = np.empty(int(lengths.sum()), dtype=np.uint8)
        self.comm.receive(chunks, rank).wait()
        return [part.tobytes() for part in np.split(chunks, np.cumsum(lengths)[:-1])]

    def _assembled(self, band: Band) -> NDArray[Any]:
        """The rows of a band that nobody has whole."""
        values = self.table.rows.values
        rows = np.empty((band.stop - band.start, values.shape[1]), dtype=values.dtype)
        for rank, start, stop in band.parts:
            part = rows[start - band.start : stop - band.start]
            if rank == 0:
                part[...] = self.table.mine(start, stop)
            else:
                self.comm.receive(part, rank).wait()
        return rows


def in_order(function: Callable[[T], U], items: Iterable[T], threads: int) -> Iterator[U]:
    """What `function` makes of each item, in their order, computed by threads a few items ahead."""
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[U]] = deque()
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

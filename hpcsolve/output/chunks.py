"""Brings a table whose rows are distributed over the ranks to rank 0, as the compressed chunks of the result file.

Chunks have the format of HDF5's own filters shuffle and gzip, but are made by deflate.py. So any rank and any thread
can make them, and libhdf5 only writes them to the file.

A band is a group of rows as high as one chunk, so one row of chunks. The rank that has all rows of a band compresses
it. Where several ranks have some of its rows, rank 0 collects and compresses them. Therefore the chunks and their order
do not depend on the distribution of the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.table import DistanceTable
from hpcsolve.output.deflate import deflated
from hpcsolve.parallel.comm import Comm, Request

T = TypeVar("T")
U = TypeVar("U")

AHEAD_BYTES = 1 << 28
"""Most bytes that a rank has sent and rank 0 has not received yet."""
CHUNK_BYTES = 1 << 20
"""Most bytes of a chunk before compression."""

Chunk = tuple[tuple[int, int], bytes]
"""Row and column where a chunk begins, and its compressed bytes."""


@dataclass(frozen=True)
class Band:
    """The rows of one row of chunks.

    Attributes
    ----------
    start, stop
        First row, and last row + 1.
    parts
        Which rank has which of its rows: (rank, first row, last row + 1), in the order of the rows.
    """

    start: int
    stop: int
    parts: tuple[tuple[int, int, int], ...]

    @property
    def owner(self) -> int | None:
        """The rank that has all of its rows, or None if its rows are on several ranks."""
        return self.parts[0][0] if len(self.parts) == 1 else None


def chunk_shape(shape: tuple[int, int], itemsize: int) -> tuple[int, int]:
    """Return the shape of a chunk of at most a mebibyte: some whole rows, or an equal part of one row."""
    parts = max(1, -(-shape[1] * itemsize // CHUNK_BYTES))
    wide = max(1, -(-shape[1] // parts))
    return max(1, min(shape[0], CHUNK_BYTES // (wide * itemsize))), wide


def stored_chunk(piece: NDArray[Any], shape: tuple[int, int], none: float | None) -> bytes:
    """Return the bytes of a chunk in the file.

    Parameters
    ----------
    piece
        Two-dimensional part of the table, smaller than a chunk at the table's edges.
    shape
        Shape of the chunk.
    none
        Pads a smaller piece; 0 if None.
    """
    whole = piece
    if piece.shape != shape:
        whole = np.full(shape, 0 if none is None else none, piece.dtype)
        whole[: piece.shape[0], : piece.shape[1]] = piece
    return deflated(whole)


def chunk_of(table: DistanceTable) -> tuple[int, int]:
    """Return the shape of a table's chunks."""
    return chunk_shape(table.shape, table.dtype.itemsize)


def bands(table: DistanceTable) -> Iterator[Band]:
    """Yield all bands of a table, which must have its `row_ranges`, from the first row to the last."""
    step = chunk_of(table)[0]
    for start in range(0, table.total, step):
        stop = min(start + step, table.total)
        parts = ((rank, max(a, start), min(b, stop)) for rank, (a, b) in enumerate(table.row_ranges))
        yield Band(start, stop, tuple(part for part in parts if part[1] < part[2]))


def _columns(table: DistanceTable) -> range:
    """Return the first columns of the chunks of a band."""
    return range(0, table.shape[1], chunk_of(table)[1])


def _pieces(table: DistanceTable, rows: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the rows of a band, cut into chunks."""
    return [rows[:, column : column + chunk_of(table)[1]] for column in _columns(table)]


def _stored(table: DistanceTable, piece: NDArray[Any]) -> bytes:
    return stored_chunk(piece, chunk_of(table), table.none)


def _stored_by(table: DistanceTable, rank: int, threads: int) -> Iterator[bytes]:
    """Yield the chunks of all bands that a rank owns, in order."""
    own = (table.own_rows(band.start, band.stop) for band in bands(table) if band.owner == rank)
    return map_in_order(partial(_stored, table), (piece for rows in own for piece in _pieces(table, rows)), threads)


def send(table: DistanceTable, comm: Comm, threads: int) -> None:
    """Send this rank's rows to rank 0, which calls `chunks`. Bands that this rank has whole are sent compressed.

    Parameters
    ----------
    threads
        Number of threads that compress.
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


def _messages(table: DistanceTable, rank: int, threads: int) -> Iterator[NDArray[Any]]:
    """Yield the messages of a rank, band by band.

    Of a band that it has whole: the lengths of the chunks, then the chunks. Of another one: its rows.
    """
    stored = _stored_by(table, rank, threads)
    for band in bands(table):
        if band.owner == rank:
            own = [next(stored) for _ in _columns(table)]
            yield np.array([len(chunk) for chunk in own], dtype=np.int64)
            yield np.frombuffer(b"".join(own), dtype=np.uint8)
        else:
            yield from (np.ascontiguousarray(table.own_rows(a, b)) for owner, a, b in band.parts if owner == rank)


def chunks(table: DistanceTable, comm: Comm, threads: int) -> Iterator[Chunk]:
    """Yield all chunks of a table row by row, on rank 0, while the other ranks call `send`.

    The caller must take all chunks, else the other ranks wait for ever.
    """
    own, columns = _stored_by(table, 0, threads), _columns(table)
    for band in bands(table):
        if band.owner == 0:
            stored: Iterable[bytes] = (next(own) for _ in columns)
        elif band.owner is not None:
            stored = _received(comm, band.owner, len(columns))
        else:
            stored = map(partial(_stored, table), _pieces(table, _assembled(table, band, comm)))
        yield from (((band.start, column), chunk) for column, chunk in zip(columns, stored))


def _received(comm: Comm, rank: int, count: int) -> list[bytes]:
    """Return the chunks of a band that another rank owns."""
    lengths = np.empty(count, dtype=np.int64)
    comm.receive(lengths, rank).wait()
    whole = np.empty(int(lengths.sum()), dtype=np.uint8)
    comm.receive(whole, rank).wait()
    return [part.tobytes() for part in np.split(whole, np.cumsum(lengths)[:-1])]


def _assembled(table: DistanceTable, band: Band, comm: Comm) -> NDArray[Any]:
    """Return the rows of a band of which several ranks have a part."""
    rows = np.empty((band.stop - band.start, table.shape[1]), dtype=table.dtype)
    for rank, start, stop in band.parts:
        part = rows[start - band.start : stop - band.start]
        if rank == 0:
            part[...] = table.own_rows(start, stop)
        else:
            comm.receive(part, rank).wait()
    return rows


def map_in_order(function: Callable[[T], U], items: Iterable[T], threads: int) -> Iterator[U]:
    """Yield what a function returns for each item, in the order of the items. Threads compute a few items ahead."""
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[U]] = deque()
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

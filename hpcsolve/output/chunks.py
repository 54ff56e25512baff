"""Brings a table that is spread over the ranks to rank 0, as the compressed chunks of the result file.

The chunks are compressed as HDF5's own filters (shuffle, gzip) would have stored them: any rank and any thread can make
them, libhdf5 only puts them in their places.

A band is the rows of one chunk. The rank that has all of them compresses it; where several ranks have a part of them,
rank 0 puts them together. So the chunks, and their order, are the same however the rows are spread.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.table import DistanceTable
from hpcsolve.parallel.comm import Comm, Request

T = TypeVar("T")
U = TypeVar("U")

AHEAD_BYTES = 1 << 28
"""Most bytes that a rank has ready and rank 0 has not taken yet."""
CHUNK_BYTES = 1 << 20
LEVEL = 1
"""Of compression."""

Chunk = tuple[tuple[int, int], bytes]
"""Row and column where a chunk begins, and its bytes in the file."""


@dataclass(frozen=True)
class Band:
    """The rows of one row of chunks.

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
        """The rank that has all of its rows, None if several ranks have a part of them."""
        return self.parts[0][0] if len(self.parts) == 1 else None


def chunk_shape(shape: tuple[int, int], itemsize: int) -> tuple[int, int]:
    """Return the shape of a chunk of at most a megabyte: some whole rows, or one of equal parts of a row."""
    parts = max(1, -(-shape[1] * itemsize // CHUNK_BYTES))
    wide = max(1, -(-shape[1] // parts))
    return max(1, min(shape[0], CHUNK_BYTES // (wide * itemsize))), wide


def stored_chunk(piece: NDArray[Any], shape: tuple[int, int], none: float | None) -> bytes:
    """Return a chunk as it is in the file: the first bytes of all numbers, then the second bytes, ..., compressed.

    Only runs of equal bytes are looked for (Z_RLE): on distances and predecessors of roads that takes 5 to 6 ms a
    megabyte, for 1 to 6 % more bytes than the 11 to 15 ms of zlib's search for any repetition (libhdf5: 13 to 16 ms).

    Parameters
    ----------
    piece
        Of the table, two-dimensional; smaller than a chunk at the table's edges, where `none` (or 0) stands beyond.
    """
    whole = piece
    if piece.shape != shape:
        whole = np.full(shape, 0 if none is None else none, piece.dtype)
        whole[: piece.shape[0], : piece.shape[1]] = piece
    by_place = np.ascontiguousarray(whole).view(np.uint8).reshape(-1, whole.itemsize).T
    packer = zlib.compressobj(LEVEL, strategy=zlib.Z_RLE)
    return packer.compress(by_place.tobytes()) + packer.flush()


def chunk_of(table: DistanceTable) -> tuple[int, int]:
    """Return the shape of a table's chunks."""
    return chunk_shape(table.shape, table.dtype.itemsize)


def bands(table: DistanceTable) -> Iterator[Band]:
    """Yield all bands of a spread table, from the first row to the last."""
    step = chunk_of(table)[0]
    for start in range(0, table.total, step):
        stop = min(start + step, table.total)
        parts = ((rank, max(a, start), min(b, stop)) for rank, (a, b) in enumerate(table.owned))
        yield Band(start, stop, tuple(part for part in parts if part[1] < part[2]))


def _columns(table: DistanceTable) -> range:
    """Return the columns where the chunks of a band begin."""
    return range(0, table.shape[1], chunk_of(table)[1])


def _pieces(table: DistanceTable, rows: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the rows of a band, cut into chunks."""
    return [rows[:, column : column + chunk_of(table)[1]] for column in _columns(table)]


def _stored(table: DistanceTable, piece: NDArray[Any]) -> bytes:
    return stored_chunk(piece, chunk_of(table), table.none)


def _stored_by(table: DistanceTable, rank: int, threads: int) -> Iterator[bytes]:
    """Yield the chunks of all bands that a rank owns, in order."""
    own = (table.own(band.start, band.stop) for band in bands(table) if band.owner == rank)
    return in_order(partial(_stored, table), (piece for rows in own for piece in _pieces(table, rows)), threads)


def send(table: DistanceTable, comm: Comm, threads: int) -> None:
    """Send this rank's rows to rank 0, which calls `chunks`. Some are compressed before rank 0 receives them.

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


def _messages(table: DistanceTable, rank: int, threads: int) -> Iterator[NDArray[Any]]:
    """Yield the lengths of the chunks and the chunks of each band that a rank owns, and its rows of other bands."""
    stored = _stored_by(table, rank, threads)
    for band in bands(table):
        if band.owner == rank:
            own = [next(stored) for _ in _columns(table)]
            yield np.array([len(chunk) for chunk in own], dtype=np.int64)
            yield np.frombuffer(b"".join(own), dtype=np.uint8)
        else:
            yield from (np.ascontiguousarray(table.own(a, b)) for owner, a, b in band.parts if owner == rank)


def chunks(table: DistanceTable, comm: Comm, threads: int) -> Iterator[Chunk]:
    """Yield all chunks of a table row by row, on rank 0, while the other ranks call `send`.

    All of them must be taken, or the other ranks wait for ever.
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
            part[...] = table.own(start, stop)
        else:
            comm.receive(part, rank).wait()
    return rows


def in_order(function: Callable[[T], U], items: Iterable[T], threads: int) -> Iterator[U]:
    """Yield what a function returns for each item, in the order of the items. Threads compute a few items ahead."""
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[U]] = deque()
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

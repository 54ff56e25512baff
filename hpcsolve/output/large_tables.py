"""Writes result files with tables that are too large for memory: chunks go to the disk as they arrive from the ranks.

Chunks have the format of HDF5's own filters shuffle and gzip, but are made here (`deflated`). So any rank and any
thread can make them, and libhdf5 only writes them to the file.

The rows of a table are distributed over the ranks. A band is a group of rows as high as one chunk, so one row of
chunks. The rank that has all rows of a band compresses it. Where several ranks have some of its rows, rank 0 collects
and compresses them. Therefore the chunks and their order do not depend on the distribution of the rows.

On a full disk libhdf5 may crash, or close a file with data missing without an error. Therefore libhdf5 writes through
a Python file that remembers the first failure and then pretends to succeed. When libhdf5 has closed the file, the
failure is raised and the incomplete file is removed. libhdf5 also swallows what is raised while it calls that file,
such as Ctrl-C between two lines of Python. Therefore the file is read back, and compared with what was to be written,
before it gets its seal and its name.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Contents, DistanceTable
from hpcsolve.errors import DamagedFileError, EnvironmentFault
from hpcsolve.output.hdf5 import SEAL, digest_of, write_contents, write_meaning, write_unit
from hpcsolve.output.reader import read_own
from hpcsolve.parallel.comm import Comm, Request
from hpcsolve.replacing import replacing

if TYPE_CHECKING:
    import h5py

T = TypeVar("T")
U = TypeVar("U")
AHEAD_BYTES = 1 << 28
"""Most bytes that a rank has sent and rank 0 has not received yet."""
CHUNK_BYTES = 1 << 20
"""Most bytes of a chunk before compression."""
Chunk = tuple[tuple[int, int], bytes]
"""Row and column where a chunk begins, and its compressed bytes."""
ChunkedTable = tuple[DistanceTable, Iterator[Chunk]]
"""A table, and its chunks in the order of its rows."""
Sums = list[tuple[tuple[int, int], int]]
"""For each chunk of a table the row and column where it begins, and the CRC-32 of its compressed bytes."""
LEVEL = 1
"""Level of compression, where there is any."""
SAMPLES, SAMPLE_BYTES = 16, 256
"""Whether a plane gets shorter is tried on so many samples of so many bytes."""
WORTH = 0.95
"""A plane is compressed if its samples shrink to less than this part of their length."""
STORED_BYTES = 2**16 - 1
"""The most bytes of a stored block, as the format calls one that is not compressed."""


def deflated(values: NDArray[Any]) -> bytes:
    """Return the shuffled bytes of numbers as a zlib stream, which depends on the values alone.

    Shuffled, the first bytes of all numbers stand together, then the second bytes, and so on: the planes. Of distances
    in a road network the high planes are full of runs, and the low ones are noise. A plane that does not get shorter is
    stored as it is, which the format (RFC 1951) allows for any part. On distances of New York this takes 1.8 ms a
    megabyte, where compressing all planes for runs takes 4.7 ms and `zlib.compress` 12.4 ms, and has as many bytes,
    within 1 %.

    A table of distances of 32 bits does not shrink below half, since its two low planes are stored as they are. HDF5
    has no filter that stores differences between neighbours. Its filter scaleoffset would get to half only with chunks
    of some hundred vertices, and a table would have a million of them.
    """
    whole = np.ascontiguousarray(values).view(np.uint8).reshape(-1, values.itemsize).T.tobytes()
    length = max(1, len(whole) // values.itemsize)
    planes = [memoryview(whole)[start : start + length] for start in range(0, len(whole), length)]
    blocks = (_compressed(plane) if _gets_shorter(plane) else b"".join(_stored_blocks(plane)) for plane in planes)
    # A zlib stream (RFC 1950): its head, blocks, an empty last block, the checksum of all bytes.
    return b"".join([b"\x78\x01", *blocks, b"\x03\x00", struct.pack(">I", zlib.adler32(whole))])


def _gets_shorter(plane: memoryview) -> bool:
    step = max(1, len(plane) // SAMPLES)
    sample = b"".join(plane[start : start + SAMPLE_BYTES] for start in range(0, len(plane), step))
    return len(_compressed(sample)) < WORTH * len(sample)


def _compressed(data: bytes | memoryview) -> bytes:
    """Return data as compressed blocks, of which more may follow.

    Only runs of equal bytes are looked for (Z_RLE). The search for any repetition takes two to three times as long and
    saves 1 to 6 %.
    """
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, strategy=zlib.Z_RLE)
    return compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)


def _stored_blocks(data: memoryview) -> Iterator[bytes | memoryview]:
    for start in range(0, len(data), STORED_BYTES):
        block = data[start : start + STORED_BYTES]
        yield struct.pack("<BHH", 0, len(block), len(block) ^ 0xFFFF)
        yield block


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


@dataclass(frozen=True)
class Chunks:
    """The chunks of a table, which go to rank 0. The table must have its `row_ranges`."""

    table: DistanceTable

    def shape(self) -> tuple[int, int]:
        """Return the shape of a table's chunks."""
        return chunk_shape(self.table.shape, self.table.dtype.itemsize)

    def bands(self) -> Iterator[Band]:
        """Yield all bands of a table, which must have its `row_ranges`, from the first row to the last."""
        step = self.shape()[0]
        for start in range(0, self.table.total, step):
            stop = min(start + step, self.table.total)
            parts = ((rank, max(a, start), min(b, stop)) for rank, (a, b) in enumerate(self.table.row_ranges))
            yield Band(start, stop, tuple(part for part in parts if part[1] < part[2]))

    def _columns(self) -> range:
        """Return the first columns of the chunks of a band."""
        return range(0, self.table.shape[1], self.shape()[1])

    def _stored(self, bands_of_rows: Iterable[NDArray[Any]], threads: int = 0) -> Iterator[bytes]:
        """Return the chunks of bands, given the rows of each. Without threads they are made when they are asked for."""
        pieces = (rows[:, first : first + self._columns().step] for rows in bands_of_rows for first in self._columns())
        store = partial(stored_chunk, shape=self.shape(), none=self.table.none)
        return map_in_order(store, pieces, threads) if threads else map(store, pieces)

    def _stored_by(self, rank: int, threads: int) -> Iterator[bytes]:
        """Return the chunks of all bands that a rank owns, in order."""
        own = (self.table.own_rows(band.start, band.stop) for band in self.bands() if band.owner == rank)
        return self._stored(own, threads)

    def send(self, comm: Comm, threads: int) -> None:
        """Send this rank's rows to rank 0, which calls `receive`. Bands that it has whole are sent compressed.

        Parameters
        ----------
        threads
            Number of threads that compress.
        """
        waiting: deque[tuple[Request, int]] = deque()
        ahead = 0
        for message in self._messages(comm.rank, threads):
            waiting.append((comm.send(message, 0), message.nbytes))
            ahead += message.nbytes
            while ahead > AHEAD_BYTES:
                request, nbytes = waiting.popleft()
                request.wait()
                ahead -= nbytes
        for request, _ in waiting:
            request.wait()

    def _messages(self, rank: int, threads: int) -> Iterator[NDArray[Any]]:
        """Yield the messages of a rank, band by band.

        Of a band that it has whole: the lengths of the chunks, then the chunks. Of another one: its rows.
        """
        stored = self._stored_by(rank, threads)
        for band in self.bands():
            if band.owner == rank:
                own = [next(stored) for _ in self._columns()]
                yield np.array([len(chunk) for chunk in own], dtype=np.int64)
                yield np.frombuffer(b"".join(own), dtype=np.uint8)
            else:
                own_parts = (self.table.own_rows(a, b) for owner, a, b in band.parts if owner == rank)
                yield from map(np.ascontiguousarray, own_parts)

    def receive(self, comm: Comm, threads: int) -> Iterator[Chunk]:
        """Yield all chunks of a table row by row, on rank 0, while the other ranks call `send`.

        The caller must take all chunks, else the other ranks wait for ever.
        """
        own, columns = self._stored_by(0, threads), self._columns()
        for band in self.bands():
            if band.owner == 0:
                stored: Iterable[bytes] = (next(own) for _ in columns)
            elif band.owner is not None:
                lengths = np.empty(len(columns), dtype=np.int64)
                comm.receive(lengths, band.owner).wait()
                whole = np.empty(int(lengths.sum()), dtype=np.uint8)
                comm.receive(whole, band.owner).wait()
                stored = [part.tobytes() for part in np.split(whole, np.cumsum(lengths)[:-1])]
            else:
                stored = self._stored([self._assembled(band, comm)])
            yield from (((band.start, column), chunk) for column, chunk in zip(columns, stored))

    def _assembled(self, band: Band, comm: Comm) -> NDArray[Any]:
        """Return the rows of a band of which several ranks have a part."""
        rows = np.empty((band.stop - band.start, self.table.shape[1]), dtype=self.table.dtype)
        for rank, start, stop in band.parts:
            part = rows[start - band.start : stop - band.start]
            if rank == 0:
                part[...] = self.table.own_rows(start, stop)
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


def write_with_tables(path: Path, tables: Mapping[str, ChunkedTable], contents: Callable[[], Contents]) -> Contents:
    """Write a result file whose tables arrive in chunks. A failure leaves no incomplete file.

    Parameters
    ----------
    tables
        Tables and their chunks, by dataset name.
    contents
        Returns everything except the tables. It is called when the tables have been written.

    Returns
    -------
    Contents
        What `contents` returned.

    Raises
    ------
    EnvironmentFault
        The disk is full, read-only, ... An older file of that name is left as it was.
    """
    with replacing(path) as part, open(part, "x+b") as raw:
        made, sums = _write_hdf5(raw, tables, contents)
        if not _reads_back(part, made, sums):
            raise EnvironmentFault(f"{path}: cannot be written: what was written reads back differently; try again")
        raw.write(SEAL + digest_of(raw, raw.seek(0, os.SEEK_END)))
    return made


def _write_hdf5(
    raw: io.BufferedRandom, tables: Mapping[str, ChunkedTable], contents: Callable[[], Contents]
) -> tuple[Contents, dict[str, Sums]]:
    """Write an HDF5 file, and return what `contents` returned, and the check sums of each table."""
    import h5py

    file = FailureKeeper(raw)
    with h5py.File(file, "w", libver=("earliest", "v110")) as opened:
        group = opened.create_group("solution")
        sums = {name: _write_table(group, name, table, chunks) for name, (table, chunks) in tables.items()}
        lengths: dict[str, int] = {}
        for table, _ in tables.values():
            lengths |= zip(table.dataset.dimensions, table.shape, strict=True)
        made = contents()
        write_contents(opened, made, lengths)
        for name, (table, _) in tables.items():  # whose axes the file has by now
            for axis, dimension in enumerate(table.dataset.dimensions):
                group[name].dims[axis].attach_scale(group[dimension])
            if table.dataset.scaled:
                write_unit(group[name], made)
    file.raise_failure()
    raw.flush()
    return made, sums


def _write_table(group: h5py.Group, name: str, table: DistanceTable, chunks: Iterator[Chunk]) -> Sums:
    """Write a table, and return the check sums of its chunks."""
    options: dict[str, Any] = {"compression": "gzip", "compression_opts": LEVEL, "shuffle": True}
    if table.none is not None:
        options["fillvalue"] = table.dtype.type(table.none)
    dataset = group.create_dataset(name, table.shape, table.dtype, chunks=Chunks(table).shape(), **options)
    write_meaning(dataset, table.dataset, table.none)
    sums = []
    for place, stored in chunks:
        dataset.id.write_direct_chunk(place, stored)
        sums.append((place, zlib.crc32(stored)))
    return sums


def _reads_back(path: Path, contents: Contents, sums: Mapping[str, Sums]) -> bool:
    """Return whether a file holds these attributes and columns, and tables with these check sums."""
    import h5py

    try:
        with h5py.File(path, locking="best-effort") as file:
            tables = {name: file["solution"][name].id for name in sums}
            same = all(zlib.crc32(tables[name].read_direct_chunk(place)[1]) == expected
                       for name, chunks in sums.items() for place, expected in chunks)
        return same and _holds(read_own(path), contents)
    except (DamagedFileError, KeyError, OSError, RuntimeError, ValueError):
        return False


def _holds(found: Contents, contents: Contents) -> bool:
    """Return whether the contents that were read are those that were written, plus scales that count from 0."""
    pairs = [(found.attributes[name], value) for name, value in contents.attributes.items()]
    for group, members in found.groups.items():
        pairs += [(column.values, contents.value(group, name, np.arange(np.size(column.values))))
                  for name, column in members.items()]
    arrays = [(np.asarray(stored), np.asarray(value)) for stored, value in pairs]
    same = all(np.array_equal(stored, value, equal_nan=stored.dtype.kind == value.dtype.kind == "f")
               for stored, value in arrays)
    count = sum(len(found.groups[group].keys() & members.keys()) for group, members in contents.groups.items())
    return same and count == sum(map(len, contents.groups.values()))


class FailureKeeper:
    """A buffered binary file that remembers its first failure, to be raised later, and then pretends to succeed."""

    def __init__(self, raw: io.BufferedRandom) -> None:
        self._raw = raw
        self._failure: BaseException | None = None

    def raise_failure(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failure:
            raise self._failure

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As of any file. What is buffered is written before, and that may fail."""
        self.attempt(self._raw.flush)
        return (self._raw.raw if self._failure else self._raw).seek(offset, whence)

    def tell(self) -> int:
        """As of any file."""
        return (self._raw.raw if self._failure else self._raw).tell()

    def read(self, count: int) -> bytes:
        """As of any file. h5py takes objects with this method for files."""
        data = bytearray(count)
        self.readinto(memoryview(data))
        return bytes(data)

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, with zeros where nothing could be written."""
        count = self.attempt(self._raw.readinto, buffer)
        memoryview(buffer)[count:] = bytes(len(buffer) - count)  # h5py before 3.12 passes its own type of buffer
        return len(buffer)

    def write(self, data: Any) -> int:
        """Write the data, or after a failure pretend to."""
        self.attempt(self._raw.write, data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """As of any file."""
        self.attempt(self._raw.truncate, size)
        return size or 0

    def flush(self) -> None:
        """As of any file."""
        self.attempt(self._raw.flush)

    def attempt(self, function: Callable[..., Any], *arguments: Any) -> int:
        """Call a function and return its number, or 0 if it fails. After a failure, which is kept, call nothing."""
        if self._failure:
            return 0
        try:
            return int(function(*arguments) or 0)
        except BaseException as error:  # noqa: BLE001 (libhdf5 would lose it)
            self._failure = error
            return 0

"""Tables of `/solution` too large to compose in memory: the file is written to disk as their chunks come.

The chunks come compressed, as HDF5's own filters (shuffle, gzip) would have stored them: any rank and any thread can
make them, libhdf5 only puts them in their places.

libhdf5 does not survive a full disk well: it may crash, or close a file with data missing as if nothing were. So it
writes through a Python file that notes the first failure and goes on as if it had succeeded; the failure is raised once
libhdf5 is done, and the part of the file that there is goes away.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.output.contents import Contents, TableShape
from hpcsolve.output.hdf5 import SEAL, replaced, write_contents

if TYPE_CHECKING:
    import h5py  # else only where a file is made: ranks beside rank 0 never load it

CHUNK_BYTES = 1 << 20
LEVEL = 1

Chunk = tuple[tuple[int, int], bytes]
"""Row and column where a chunk begins, and its bytes in the file."""


@dataclass(frozen=True)
class Table:
    """A table with the source of its chunks.

    Attributes
    ----------
    dimensions
        Of rows and columns; their scales stand in `/solution`.
    chunks
        All chunks, of `chunk_shape` and as `stored_chunk` makes them, row by row.
    """

    name: str
    shape: TableShape
    description: str
    unit: str
    dimensions: tuple[str, str]
    chunks: Iterator[Chunk]


def chunk_shape(shape: tuple[int, int], itemsize: int) -> tuple[int, int]:
    """At most a megabyte: some whole rows, or one of equal parts of a row."""
    parts = max(1, -(-shape[1] * itemsize // CHUNK_BYTES))
    wide = max(1, -(-shape[1] // parts))
    return max(1, min(shape[0], CHUNK_BYTES // (wide * itemsize))), wide


def stored_chunk(piece: NDArray[Any], shape: tuple[int, int], fill: float | None) -> bytes:
    """A chunk in the file: the first bytes of all numbers, then the second bytes, ..., compressed.

    Runs of equal bytes alone are looked for (Z_RLE): on distances and predecessors of roads that takes 5 to 6 ms a
    megabyte, for 1 to 6 % more bytes than the 11 to 15 ms of zlib's search for any repetition (libhdf5: 13 to 16 ms).

    Parameters
    ----------
    piece
        Of the table, two-dimensional; smaller than a chunk at the table's edges, where `fill` (or 0) stands beyond.
    """
    whole = piece
    if piece.shape != shape:
        whole = np.full(shape, 0 if fill is None else fill, piece.dtype)
        whole[: piece.shape[0], : piece.shape[1]] = piece
    by_place = np.ascontiguousarray(whole).view(np.uint8).reshape(-1, whole.itemsize).T
    packer = zlib.compressobj(LEVEL, strategy=zlib.Z_RLE)
    return packer.compress(by_place.tobytes()) + packer.flush()


def write_with_tables(path: Path, tables: Sequence[Table], contents: Callable[[], Contents]) -> Contents:
    """Write a result file whose tables come in pieces, whole or not at all.

    Parameters
    ----------
    contents
        All but the tables; called once these are written.

    Returns
    -------
    Contents
        What `contents` made.

    Raises
    ------
    EnvironmentFault
        The disk is full, read-only, ...; an older file of that name is intact.
    """
    import h5py

    with replaced(path) as part, open(part, "x+b") as raw:
        file = _Noting(raw)
        with h5py.File(file, "w", libver=("earliest", "v110")) as opened:
            group = opened.create_group("solution")
            for table in tables:
                _write_table(group, table)
            lengths = {name: length for t in tables for name, length in zip(t.dimensions, t.shape.shape, strict=True)}
            made = contents()
            write_contents(opened, made, lengths)
            for table in tables:
                for axis, name in enumerate(table.dimensions):
                    group[table.name].dims[axis].attach_scale(group[name])
        file.raise_failure()
        raw.seek(0)
        seal = _digest(raw)
        raw.seek(0, os.SEEK_END)
        raw.write(SEAL + seal)
        raw.flush()
        os.fsync(raw.fileno())
    return made


def _write_table(group: h5py.Group, table: Table) -> None:
    shape, dtype = table.shape.shape, np.dtype(table.shape.dtype)
    chunks = chunk_shape(shape, dtype.itemsize)
    options: dict[str, Any] = {"chunks": chunks, "compression": "gzip", "compression_opts": LEVEL, "shuffle": True}
    if table.shape.none is not None:
        options["fillvalue"] = dtype.type(table.shape.none)
    dataset = group.create_dataset(table.name, shape, dtype, **options)
    dataset.attrs["units"] = table.unit
    dataset.attrs["description"] = table.description
    if table.shape.none is not None:
        dataset.attrs["none"] = dtype.type(table.shape.none)
    for place, stored in table.chunks:
        dataset.id.write_direct_chunk(place, stored)


def _digest(file: Any) -> bytes:
    """SHA-256 of a file from where it stands."""
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.digest()


class _Noting:
    """A binary file whose first failure is noted, and raised later."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._failure: OSError | None = None

    def raise_failure(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failure:
            raise self._failure

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As of any file."""
        return int(self._raw.seek(offset, whence))

    def tell(self) -> int:
        """As of any file."""
        return int(self._raw.tell())

    def read(self, count: int) -> bytes:
        """As of any file; h5py knows files by this name."""
        data = bytearray(count)
        self.readinto(memoryview(data))
        return bytes(data)

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; zeros where nothing could be written."""
        count = 0
        if not self._failure:
            count = self._noting(self._raw.readinto, buffer)
        memoryview(buffer)[count:] = bytes(len(buffer) - count)  # h5py before 3.12 has its own kind of buffer
        return len(buffer)

    def write(self, data: Any) -> int:
        """Write, or say so."""
        if not self._failure:
            self._noting(self._raw.write, data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """As of any file."""
        if not self._failure:
            self._noting(self._raw.truncate, size)
        return size or 0

    def flush(self) -> None:
        """As of any file."""
        if not self._failure:
            self._noting(self._raw.flush)

    def _noting(self, function: Callable[..., Any], *arguments: Any) -> int:
        try:
            return int(function(*arguments) or 0)
        except OSError as error:
            self._failure = error
            return 0

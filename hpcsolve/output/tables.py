"""Tables of `/solution` too large to compose in memory: the file is written to disk as their rows come.

libhdf5 does not survive a full disk well: it may crash, or close a file with data missing as if nothing were. So it
writes through a Python file that notes the first failure and goes on as if it had succeeded; the failure is raised once
libhdf5 is done, and the part of the file that there is goes away.
"""

from __future__ import annotations

import hashlib
import os
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
BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class Table:
    """A table with the source of its rows.

    Attributes
    ----------
    dimensions
        Of rows and columns; their scales stand in `/solution`.
    blocks
        Consecutive rows, `block_rows(...)` at a time, the last block perhaps fewer.
    """

    name: str
    shape: TableShape
    description: str
    unit: str
    dimensions: tuple[str, str]
    blocks: Iterator[NDArray[Any]]


def block_rows(shape: tuple[int, int], itemsize: int) -> int:
    """Rows that travel, and are written, at a time: a multiple of a chunk's, the same however rows are spread."""
    rows, _ = chunk_shape(shape, itemsize)
    return rows * max(1, BLOCK_BYTES // max(1, rows * shape[1] * itemsize))


def chunk_shape(shape: tuple[int, int], itemsize: int) -> tuple[int, int]:
    """At most a megabyte: some whole rows, or one of equal parts of a row."""
    parts = max(1, -(-shape[1] * itemsize // CHUNK_BYTES))
    wide = max(1, -(-shape[1] // parts))
    return max(1, min(shape[0], CHUNK_BYTES // (wide * itemsize))), wide


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
    options: dict[str, Any] = {"chunks": chunks, "compression": "gzip", "compression_opts": 1, "shuffle": True}
    if table.shape.none is not None:
        options["fillvalue"] = dtype.type(table.shape.none)
    dataset = group.create_dataset(table.name, shape, dtype, **options)
    dataset.attrs["units"] = table.unit
    dataset.attrs["description"] = table.description
    if table.shape.none is not None:
        dataset.attrs["none"] = dtype.type(table.shape.none)
    row = 0
    for block in table.blocks:
        for start in range(0, len(block), chunks[0]):  # whole chunks, always in this order
            rows = block[start : start + chunks[0]]
            for column in range(0, shape[1], chunks[1]):
                piece = rows[:, column : column + chunks[1]]
                dataset[row : row + len(rows), column : column + piece.shape[1]] = piece
            row += len(rows)


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
        buffer[count:] = bytes(len(buffer) - count)
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

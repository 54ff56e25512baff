"""Writes result files with tables that are too large for memory: chunks go to the disk as they arrive.

On a full disk libhdf5 may crash, or close a file with data missing without an error. Therefore libhdf5 writes through
a Python file that remembers the first failure and then pretends to succeed. When libhdf5 has closed the file, the
failure is raised and the incomplete file is removed.

libhdf5 also swallows what is raised while it calls that file, such as Ctrl-C between two lines of Python. Therefore the
file is read back, and compared with what was to be written, before it gets its seal and its name.
"""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcsolve.answers.table import DistanceTable
from hpcsolve.errors import DamagedFileError, EnvironmentFault
from hpcsolve.output.chunks import Chunk, chunk_of
from hpcsolve.output.contents import Contents
from hpcsolve.output.deflate import LEVEL
from hpcsolve.output.hdf5 import SEAL, write_contents, write_meaning, write_scale_factor
from hpcsolve.output.reader import read_own
from hpcsolve.replacing import replacing

if TYPE_CHECKING:
    import h5py  # else only where a file is made: ranks beside rank 0 never load it

ChunkedTable = tuple[DistanceTable, Iterator[Chunk]]
"""A table, and its chunks in the order of its rows."""
Sums = list[tuple[tuple[int, int], int]]
"""For each chunk of a table the row and column where it begins, and the CRC-32 of its compressed bytes."""


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
        _append_seal(raw)
    return made


def _write_hdf5(
    raw: io.BufferedRandom, tables: Mapping[str, ChunkedTable], contents: Callable[[], Contents]
) -> tuple[Contents, dict[str, Sums]]:
    """Write an HDF5 file, and return what `contents` returned, and the check sums of each table."""
    import h5py

    file = _FailureKeeper(raw)
    with h5py.File(file, "w", libver=("earliest", "v110")) as opened:
        group = opened.create_group("solution")
        sums = {name: _write_table(group, name, table, chunks) for name, (table, chunks) in tables.items()}
        lengths: dict[str, int] = {}
        for table, _ in tables.values():
            lengths |= zip(table.dataset.dimensions, table.shape, strict=True)
        made = contents()
        write_contents(opened, made, lengths)
        for name, (table, _) in tables.items():
            _describe_table(group, name, table, made)
    file.raise_failure()
    raw.flush()
    return made, sums


def _write_table(group: h5py.Group, name: str, table: DistanceTable, chunks: Iterator[Chunk]) -> Sums:
    """Write a table, and return the check sums of its chunks."""
    options: dict[str, Any] = {"compression": "gzip", "compression_opts": LEVEL, "shuffle": True}
    if table.none is not None:
        options["fillvalue"] = table.dtype.type(table.none)
    dataset = group.create_dataset(name, table.shape, table.dtype, chunks=chunk_of(table), **options)
    write_meaning(dataset, table.dataset, table.none)
    sums = []
    for place, stored in chunks:
        dataset.id.write_direct_chunk(place, stored)
        sums.append((place, zlib.crc32(stored)))
    return sums


def _describe_table(group: h5py.Group, name: str, table: DistanceTable, contents: Contents) -> None:
    """Attach a table's axes, which the file has by now, and write its scale factor."""
    for axis, dimension in enumerate(table.dataset.dimensions):
        group[name].dims[axis].attach_scale(group[dimension])
    if table.dataset.scaled:
        write_scale_factor(group[name], contents.scale)


def _reads_back(path: Path, contents: Contents, sums: Mapping[str, Sums]) -> bool:
    """Return whether a file holds these attributes and columns, and tables with these check sums."""
    try:
        return _holds_chunks(path, sums) and _holds(read_own(path), contents)
    except (DamagedFileError, KeyError, OSError, RuntimeError, ValueError):
        return False


def _holds_chunks(path: Path, sums: Mapping[str, Sums]) -> bool:
    import h5py

    with h5py.File(path, locking="best-effort") as file:
        tables = {name: file["solution"][name].id for name in sums}
        return all(zlib.crc32(tables[name].read_direct_chunk(place)[1]) == expected
                   for name, chunks in sums.items() for place, expected in chunks)


def _holds(found: Contents, contents: Contents) -> bool:
    """Return whether the contents that were read are those that were written, plus scales that count from 0."""
    pairs = [(found.attributes[name], value) for name, value in contents.attributes.items()]
    for group, members in found.groups.items():
        pairs += [(column.values, contents.value(group, name, np.arange(np.size(column.values))))
                  for name, column in members.items()]
    count = sum(len(found.groups[group].keys() & members.keys()) for group, members in contents.groups.items())
    return count == sum(map(len, contents.groups.values())) and all(_same(stored, value) for stored, value in pairs)


def _same(stored: Any, value: Any) -> bool:
    stored, value = np.asarray(stored), np.asarray(value)
    return np.array_equal(stored, value, equal_nan=stored.dtype.kind == value.dtype.kind == "f")


def _append_seal(file: io.BufferedRandom) -> None:
    """Append the seal, which is the SHA-256 of all that the file has before it."""
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    file.write(SEAL + digest.digest())


class _FailureKeeper:
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
        if not self._failure:
            self._attempt(self._raw.flush)
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
        count = 0
        if not self._failure:
            count = self._attempt(self._raw.readinto, buffer)
        memoryview(buffer)[count:] = bytes(len(buffer) - count)  # h5py before 3.12 passes its own type of buffer
        return len(buffer)

    def write(self, data: Any) -> int:
        """Write the data, or after a failure pretend to."""
        if not self._failure:
            self._attempt(self._raw.write, data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """As of any file."""
        if not self._failure:
            self._attempt(self._raw.truncate, size)
        return size or 0

    def flush(self) -> None:
        """As of any file."""
        if not self._failure:
            self._attempt(self._raw.flush)

    def _attempt(self, function: Callable[..., Any], *arguments: Any) -> int:
        try:
            return int(function(*arguments) or 0)
        except BaseException as error:  # noqa: BLE001 (libhdf5 would lose it)
            self._failure = error
            return 0

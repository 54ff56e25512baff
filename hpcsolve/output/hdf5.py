"""Writes the result file: HDF5 with one dataset a column, dimension scales, `units` and `description`.

Written by one process. The file is made in memory, written as plain bytes to `NAME.<random>.part`, synced and renamed:
a kill leaves the old file or the new one, and a full disk is an ordinary error (libhdf5, met by one, leaves files
that open with data missing). Booleans are stored as 0 and 1 (uint8), texts as variable-length UTF-8: what netCDF,
xarray and pandas read.

Behind the HDF5 bytes stands a seal, their SHA-256: libhdf5 may crash on damaged bytes, so they are not shown to it.
HDF5 ignores what stands behind its end, and cuts it off when a user opens the file to change it: then there is no seal.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hpcsolve.answers.dataset import Column
from hpcsolve.errors import EnvironmentFault
from hpcsolve.output.contents import GROUPS, Contents

if TYPE_CHECKING:
    import h5py  # else only where a file is made: ranks beside rank 0 never load it

MAGIC = b"\x89HDF\r\n\x1a\n"
SEAL = b"hpcsolve-sha256:"
"""Begins the seal; 32 bytes follow."""
COMPRESSED_FROM = 1 << 16
"""Bytes from which a column is chunked and compressed."""


def is_hdf5(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is HDF5."""
    return head.startswith(MAGIC)


def write_result(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write a result file, whole or not at all.

    Raises
    ------
    EnvironmentFault
        The disk is full, read-only, ...; an older file of that name is intact.
    """
    write_bytes(Path(path), file_image(contents))


def file_image(contents: Contents) -> bytes:
    """Return the bytes of the result file."""
    import h5py

    file = h5py.File("result", "w", driver="core", backing_store=False, libver=("earliest", "v110"))
    with file:
        write_contents(file, contents)
        file.flush()
        return sealed(bytes(file.id.get_file_image()))


def write_contents(file: h5py.File, contents: Contents, lengths: Mapping[str, int] | None = None) -> None:
    """Write attributes and groups into an open file.

    Parameters
    ----------
    lengths
        Dimensions that `/solution` must have scales for, with their lengths.
    """
    for name, value in contents.attributes.items():
        file.attrs[name] = _plain(value)
    for name, columns in contents.groups.items():
        group = file[name] if name in file else file.create_group(name)
        _write_group(group, columns, GROUPS[name], lengths or {} if name == "solution" else {})


def sealed(image: bytes) -> bytes:
    """Return the bytes of a file with its seal."""
    return image + SEAL + hashlib.sha256(image).digest()


def has_seal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file ends in a seal. If it does not, somebody has opened it to change it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(SEAL) - 32))
        return file.read().startswith(SEAL)


def seal_broken(file: BinaryIO) -> bool:
    """Return whether an open file has a seal that does not match its bytes."""
    length = len(SEAL) + 32
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - length))
    seal = file.read(length)
    if not seal.startswith(SEAL) or len(seal) < length:
        return False
    file.seek(0)
    digest, left = hashlib.sha256(), size - length
    while left and (piece := file.read(min(left, 1 << 20))):
        digest.update(piece)
        left -= len(piece)
    return seal[len(SEAL) :] != digest.digest()


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file at once. Raises as `write_result`."""
    with replaced(path) as part, open(part, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a path to write to, which replaces the file in the end. Raises as `write_result`."""
    part = _part(path)
    try:
        with _removed_on_error(part):
            yield part
            os.replace(part, path)
    except OSError as error:
        way_out = "free space or choose another --output"
        raise EnvironmentFault(f"{path}: cannot be written: {error.strerror}; {way_out}") from None


def make_folder(path: Path) -> None:
    """Make the folder of an output, and try whether files can be made there.

    Raises
    ------
    EnvironmentFault
        It cannot be made or written to.
    """
    probe = _part(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _removed_on_error(probe):
            probe.touch(exist_ok=False)
            probe.unlink()
    except OSError as error:
        what = f"no file can be made there: {error.strerror}; choose another --output"
        raise EnvironmentFault(f"{path.parent}: {what}") from None


def read_job_text(path: str) -> str:
    """Return the effective job in a result file. Raises as `read_result`."""
    from hpcsolve.output.reader import read_result

    text = read_result(path, ("job",), tables=False).value("job", "toml", "")
    return str(text)


def _write_group(group: h5py.Group, columns: Mapping[str, Column], meaning: str, more: Mapping[str, int]) -> None:
    group.attrs["description"] = meaning
    lengths = {column.dimension: len(np.asarray(column.values)) for column in columns.values() if column.dimension}
    lengths |= {name: length for name, length in more.items() if name not in lengths}
    for name, length in lengths.items():
        if name not in columns:
            scale = _write_column(group, name, Column(np.arange(length, dtype=np.int32), "Number, from 0", "1"))
            scale.make_scale(name)
    for name, column in columns.items():
        dataset = _write_column(group, name, column)
        if name == column.dimension:
            dataset.make_scale(name)
        elif column.dimension:
            dataset.dims[0].attach_scale(group[column.dimension])


def _write_column(group: h5py.Group, name: str, column: Column) -> h5py.Dataset:
    import h5py

    data = np.asarray(_plain(column.values))
    text = data.dtype.kind in "UO"
    options: dict[str, Any] = {"dtype": h5py.string_dtype()} if text else {}
    if data.nbytes >= COMPRESSED_FROM and data.ndim:
        options |= {"chunks": True, "compression": "gzip", "shuffle": not text}
    dataset = group.create_dataset(name, data=data.astype(object) if text else data, **options)
    dataset.attrs["units"] = column.unit
    dataset.attrs["description"] = column.description
    if column.none is not None:
        dataset.attrs["none"] = data.dtype.type(column.none)
    return dataset


def _plain(value: Any) -> Any:
    """Return booleans as numbers. HDF5 would make enumerations of them, which netCDF does not read."""
    array = np.asarray(value)
    return array.astype(np.uint8) if array.dtype == bool else value


def _part(path: Path) -> Path:
    """Return a path beside the file that no other process uses, so that it may be removed."""
    return path.with_name(f"{path.name}.{secrets.token_hex(6)}.part")


@contextmanager
def _removed_on_error(part: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        part.unlink(missing_ok=True)
        raise

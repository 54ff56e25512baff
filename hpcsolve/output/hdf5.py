"""Writes the result file: HDF5 with dimension scales and the attributes that the CF conventions name (schema.py).

One process makes the file in memory and writes it as plain bytes (`hpcsolve.replacing`). So a kill leaves the old file
or the new one, and a full disk is an ordinary error. (On a full disk libhdf5 itself would leave a file that opens with
data missing.) Booleans are stored as 0 and 1 (uint8) and texts as variable-length UTF-8, which netCDF, xarray and
pandas can read.

The HDF5 bytes are followed by a seal, their SHA-256. libhdf5 may crash on damaged bytes, so the seal is compared before
libhdf5 opens the file. HDF5 ignores bytes behind its end, and drops them when a user opens the file to change it; such
a file has no seal.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hpcsolve.answers.contents import Column, Contents, Dataset
from hpcsolve.errors import InputError
from hpcsolve.output.schema import FILL_VALUE, FORMAT_VERSION, GROUPS, SCALE_FACTOR, scale_of
from hpcsolve.replacing import require_replaceable, write_bytes

if TYPE_CHECKING:
    import h5py  # else only where a file is made: ranks beside rank 0 never load it

MAGIC = b"\x89HDF\r\n\x1a\n"
SEAL = b"hpcsolve-sha256:"
"""The seal begins with these bytes, which the 32 bytes of the SHA-256 follow."""
COMPRESSED_FROM = 1 << 16
"""Columns of at least so many bytes are chunked and compressed."""
OTHER_FILES = {
    **dict.fromkeys((".csv", ".geojson", ".dot", ".tour", ".pace"), "export"), ".html": "report",
    **dict.fromkeys((".toml", ".tsp", ".txt", ".json", ".npy", ".npz", ".gr", ".stp", ".xlsx", ".png", ".pdf"), ""),
}
"""Suffixes that are not those of result files -> the command that makes such a file of a result, or ""."""


def require_result_name(output: str) -> None:
    """Raise an `InputError` if the output is not the name of a file, or one of a file that other commands write."""
    if not output or "\0" in output:
        raise InputError(f"{output!r}: the output is not the name of a file; name one, with output or --output")
    if os.path.isdir(output) or output.endswith("/"):
        raise InputError(f"{output}: the output is a folder; name a file, with output or --output")
    stem, suffix = os.path.splitext(output)
    if suffix.lower() in OTHER_FILES:
        command = OTHER_FILES[suffix.lower()]
        after = f"; then hpcsolve {command} {stem}.h5 -o {output}" if command else ""
        raise InputError(f"{output}: a result is an HDF5 file: name it {stem}.h5{after}")
    require_replaceable(output)


def is_hdf5(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is HDF5."""
    return head.startswith(MAGIC)


def write_result(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write a result file, whole or not at all.

    Raises
    ------
    EnvironmentFault
        The disk is full, read-only, ... An older file of that name is left as it was.
    """
    write_bytes(Path(path), file_image(contents))


def file_image(contents: Contents, seconds: Callable[[], float] | None = None) -> bytes:
    """Return the bytes of the result file.

    Parameters
    ----------
    seconds
        Returns what is stored at last as the first value of `/ranks/seconds_write`: how long making the file took.
    """
    import h5py

    file = h5py.File("result", "w", driver="core", backing_store=False, libver=("earliest", "v110"))
    with file:
        write_contents(file, contents)
        if seconds is not None:
            file["ranks/seconds_write"][0] = seconds()
        file.flush()
        return sealed(bytes(file.id.get_file_image()))


def write_contents(file: h5py.File, contents: Contents, lengths: Mapping[str, int] | None = None) -> None:
    """Write attributes and groups into an open file.

    Parameters
    ----------
    lengths
        Lengths of further dimensions that `/solution` needs scales for, by name.
    """
    for name, value in contents.attributes.items():
        file.attrs[name] = _plain(value)
    for name, columns in contents.groups.items():
        group = file[name] if name in file else file.create_group(name)
        _write_group(group, columns, GROUPS[name], lengths or {} if name == "solution" else {})
        for key, column in columns.items():
            if column.dataset.scaled:
                write_unit(group[key], contents)


def write_meaning(dataset: h5py.Dataset, meaning: Dataset, none: float | None) -> None:
    """Write the attributes of a dataset, except those of `write_unit`.

    `none` is the value that stands for "none", or None.
    """
    dataset.attrs["units"] = meaning.unit
    dataset.attrs["description"] = meaning.description
    if none is not None:
        dataset.attrs[FILL_VALUE[FORMAT_VERSION]] = dataset.dtype.type(none)


def write_unit(dataset: h5py.Dataset, contents: Contents) -> None:
    """Write unit and scale of a dataset of scaled integers. Without a scale (1) readers keep integers as they are."""
    dataset.attrs["units"] = contents.unit or dataset.attrs["units"]
    if contents.scale != 1:
        dataset.attrs[SCALE_FACTOR] = 1 / contents.scale


def sealed(image: bytes) -> bytes:
    """Return the bytes of a file followed by their seal."""
    return image + SEAL + hashlib.sha256(image).digest()


class Seal(Enum):
    """What the end of a file says about its bytes."""

    WHOLE = "they are those that were written"
    BROKEN = "they are not those that were written"
    MISSING = "nothing: the file was opened to be changed, or its end is cut off"


def has_seal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file ends in a seal. A file without one was opened by somebody to change it, or cut off."""
    with open(path, "rb") as file:
        return bool(_digest_in_seal(file))


def seal_of(file: BinaryIO) -> Seal:
    """Return whether an open file has a seal, and whether it matches its bytes."""
    expected = _digest_in_seal(file)
    if not expected:
        return Seal.MISSING
    return Seal.WHOLE if digest_of(file, file.tell() - len(SEAL) - len(expected)) == expected else Seal.BROKEN


def digest_of(file: BinaryIO, size: int) -> bytes:
    """Return the SHA-256 of the first `size` bytes of an open file, which is behind them then."""
    file.seek(0)
    digest = hashlib.sha256()
    while size and (piece := file.read(min(size, 1 << 20))):
        digest.update(piece)
        size -= len(piece)
    return digest.digest()


def _digest_in_seal(file: BinaryIO) -> bytes:
    """Return the SHA-256 at the end of a file, or nothing if there is no seal. The file is at its end then."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(SEAL) - 32))
    seal = file.read()
    return seal[len(SEAL) :] if seal.startswith(SEAL) and len(seal) == len(SEAL) + 32 else b""


def _write_group(group: h5py.Group, columns: Mapping[str, Column], meaning: str, more: Mapping[str, int]) -> None:
    """Write columns with their dimension scales. `more` has the lengths of further dimensions."""
    group.attrs["description"] = meaning
    dimensions = {name: column.dataset.dimension for name, column in columns.items()}
    lengths = {dimension: len(np.asarray(columns[name].values)) for name, dimension in dimensions.items() if dimension}
    lengths |= {name: length for name, length in more.items() if name not in lengths}
    for name, length in lengths.items():
        if name not in columns:
            numbers = scale_of(name).column(np.arange(length, dtype=np.int32))
            _write_column(group, name, numbers).make_scale(name)
    for name, column in columns.items():
        dataset = _write_column(group, name, column)
        if name == dimensions[name]:
            dataset.make_scale(name)
    for name, dimension in dimensions.items():
        if dimension not in ("", name):
            group[name].dims[0].attach_scale(group[dimension])


def _write_column(group: h5py.Group, name: str, column: Column) -> h5py.Dataset:
    import h5py

    data = np.asarray(_plain(column.values))
    text = data.dtype.kind in "UO"
    options: dict[str, Any] = {"dtype": h5py.string_dtype()} if text else {}
    if data.nbytes >= COMPRESSED_FROM and data.ndim:
        options |= {"chunks": True, "compression": "gzip", "shuffle": not text}
    dataset = group.create_dataset(name, data=data.astype(object) if text else data, **options)
    write_meaning(dataset, column.dataset, column.none)
    return dataset


def _plain(value: Any) -> Any:
    """Return booleans as numbers. HDF5 would make enumerations of them, which netCDF does not read."""
    array = np.asarray(value)
    return array.astype(np.uint8) if array.dtype == bool else value

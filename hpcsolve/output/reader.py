"""Reads result files that anybody may have made. The layout is checked before any data are read.

libhdf5 follows links and file names that a file holds, and reserves what a header promises. So only hard links, no
external and no virtual datasets, only numbers and texts, only gzip and shuffle, and no more bytes than the file can
hold. Tables of two dimensions may be large: their shape must be that of their scales, and `tables=False` leaves their
values in the file, for `row_blocks` to read in pieces.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.dataset import Column, Dataset
from hpcsolve.answers.table import DistanceTable
from hpcsolve.errors import DamagedFileError, HpcsolveError, InputError
from hpcsolve.output.contents import FORMAT, FORMAT_VERSION, GROUPS, Contents
from hpcsolve.output.hdf5 import is_hdf5, seal_broken
from hpcsolve.output.schema import ATTRIBUTES, check_attributes, check_types

if TYPE_CHECKING:
    import h5py  # else only where a file is read: ranks beside rank 0 never load it

MOST_DATASETS = 64
LARGEST = 8 * 2**30
"""Bytes of one dataset that is read whole."""
DEFLATE = 1032
"""No gzip stream grows more than so many times."""
FILTERS = {1, 2}
"""HDF5's numbers of gzip and shuffle."""
BLOCK = 1 << 26
"""Bytes of the rows that are read at a time."""


def read_result(
    path: str | os.PathLike[str], groups: Sequence[str] = tuple(GROUPS), *, tables: bool = True
) -> Contents:
    """Read a result file, or some of its groups.

    Parameters
    ----------
    tables
        Read the two-dimensional tables too; their shapes are read in any case.

    Raises
    ------
    InputError
        It cannot be read, is no result file, or of a newer format.
    DamagedFileError
        It is damaged, or holds what no result file of ours holds.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            if not is_hdf5(file.read(8)):
                raise InputError("is not an HDF5 file, so not a result of hpcsolve", name)
            if seal_broken(file):
                raise DamagedFileError(f"{name}: damaged: its bytes are not those that were written (SHA-256)")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", name) from None
    with _opened(name) as file_of_hdf5:
        return _contents(file_of_hdf5, groups, name, tables)


def row_blocks(path: str | os.PathLike[str], names: Sequence[str]) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """Yield rows of tables of `/solution`, some at a time. `read_result` must have checked the file before.

    Yields
    ------
    int, list of arrays
        The first row's number, and the same rows of each table.

    Raises
    ------
    DamagedFileError
        The file is damaged.
    """
    with _opened(os.fspath(path)) as file:
        datasets = [file["solution"][name] for name in names]
        rows = min(len(dataset) for dataset in datasets)
        step = max(1, BLOCK // max(1, max(d.shape[1] * d.dtype.itemsize for d in datasets)))
        for first in range(0, rows, step):
            yield first, [dataset[first : first + step] for dataset in datasets]


@contextmanager
def _opened(name: str) -> Iterator[h5py.File]:
    import h5py

    try:
        with h5py.File(name, "r", locking="best-effort") as opened:
            yield opened
    except HpcsolveError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedFileError(f"{name}: damaged: {first}") from None


def _contents(file: h5py.File, wanted: Sequence[str], name: str, tables: bool) -> Contents:
    attributes = {key: _attribute(file, key) for key in ATTRIBUTES if key in file.attrs}
    if attributes.get("format") != FORMAT:
        raise InputError("is HDF5, but not a result of hpcsolve", name)
    version = attributes.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(f"is of format version {version}; this hpcsolve reads version {FORMAT_VERSION}", name)
    check_attributes(attributes)
    import h5py

    found = [str(key) for key in file]
    groups: dict[str, dict[str, Column]] = {}
    shapes: dict[str, DistanceTable] = {}
    for key in found:
        if key not in GROUPS or not isinstance(_linked(file, key), h5py.Group):
            raise ValueError(f"/{key[:40]} is not part of the format")
        if key in wanted:
            datasets = _datasets(file[key], os.path.getsize(name))
            found_tables = {key: dataset for key, dataset in datasets.items() if dataset.ndim == 2}
            shapes |= {name: _table(dataset, tables) for name, dataset in found_tables.items()}
            groups[key] = {k: _column(k, d) for k, d in datasets.items() if tables or k not in found_tables}
    contents = Contents(attributes, groups, shapes)
    check_types(contents)
    return contents


def _datasets(group: h5py.Group, file_size: int) -> dict[str, h5py.Dataset]:
    if len(group) > MOST_DATASETS:
        raise ValueError(f"{group.name} has {len(group)} datasets")
    return {str(key): _dataset(group, str(key), file_size) for key in group}


def _dataset(group: h5py.Group, key: str, file_size: int) -> h5py.Dataset:
    import h5py

    place = f"{group.name}/{key[:40]}"
    dataset = _linked(group, key)
    if not isinstance(dataset, h5py.Dataset) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", key):
        raise ValueError(f"{place} is not part of the format")
    _check_layout(dataset, place, file_size)
    return dataset


def _column(key: str, dataset: h5py.Dataset) -> Column:
    values = dataset.asstr()[()] if _is_text(dataset) else dataset[()]
    dimension = ""
    if dataset.ndim == 1:
        scales = list(dataset.dims[0].keys())
        dimension = key if dataset.is_scale else str(scales[0]) if scales else ""
    return Column(values, _attribute(dataset, "description"), _attribute(dataset, "units"), dimension, _none(dataset))


def _none(dataset: h5py.Dataset) -> int | float | None:
    """Return the value that stands for "none" in a dataset."""
    value = _attribute(dataset, "none")
    return value if isinstance(value, (int, float)) else None


def _table(dataset: h5py.Dataset, whole: bool) -> DistanceTable:
    """Return a table without its values. Its shape must be that of its scales, which are stored in full."""
    name, shape = str(dataset.name)[:60], dataset.shape
    if dataset.parent.name != "/solution":
        raise ValueError(f"{name} has two dimensions, which the format has in /solution only")
    for axis, length in enumerate(shape):
        scales = list(dataset.dims[axis].values())
        if len(scales) != 1 or scales[0].parent != dataset.parent or scales[0].shape != (length,):
            raise ValueError(f"{name} has no scale of length {length}")
    if whole and dataset.size * dataset.dtype.itemsize > LARGEST:
        raise InputError(f"{dataset.file.filename}: {name} is too large to be read at once; read its rows with h5py")
    names = ", ".join(str(next(iter(axis.keys()))) for axis in dataset.dims)
    meaning = Dataset(str(dataset.dtype), _attribute(dataset, "description"), names, _attribute(dataset, "units"))
    return DistanceTable(np.empty((0, shape[1]), dataset.dtype), 0, shape[0], meaning, _none(dataset))


def _linked(group: h5py.Group, key: str) -> Any:
    """Return the object behind a hard link. Other links, which may lead to any file, are refused."""
    import h5py

    if not isinstance(group.get(key, getlink=True), h5py.HardLink):
        raise ValueError(f"{group.name}{key[:40]} is a link")
    return group[key]


def _check_layout(dataset: h5py.Dataset, place: str, file_size: int) -> None:
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{place} takes its data from elsewhere")
    if dataset.shape is None or dataset.ndim > 2 or not (_is_text(dataset) or dataset.dtype.kind in "iuf"):
        raise ValueError(f"{place} holds {dataset.dtype} of {dataset.ndim} dimensions, which the format does not have")
    creation = dataset.id.get_create_plist()
    filters = {creation.get_filter(number)[0] for number in range(creation.get_nfilters())}
    if not filters <= FILTERS:
        raise ValueError(f"{place} needs the filters {sorted(filters)}; the format has gzip and shuffle")
    size = int(np.prod(dataset.shape, dtype=object)) * dataset.dtype.itemsize
    stored = dataset.id.get_storage_size()
    if (size > LARGEST and dataset.ndim < 2) or stored > file_size or size > stored * (DEFLATE if filters else 1):
        raise ValueError(f"{place} claims {size} bytes of {stored} stored")


def _is_text(dataset: h5py.Dataset) -> bool:
    import h5py

    return h5py.check_string_dtype(dataset.dtype) is not None


def _attribute(item: Any, key: str) -> Any:
    """Return a scalar attribute as a Python value. Long texts are refused."""
    if key not in item.attrs:
        return ""
    identifier = item.attrs.get_id(key)
    if identifier.shape != () or identifier.get_storage_size() > 1 << 16:
        raise ValueError(f"the attribute {key} is not a single value")
    value = item.attrs[key]
    return value.item() if isinstance(value, np.generic) else value

"""Reads result files, which anybody may have made, so the layout is checked before any data are read.

libhdf5 follows links and file names that a file holds, and allocates what a header promises. Therefore this reader
accepts only hard links, no external and no virtual datasets, only numbers and texts, only the filters gzip and shuffle,
no more bytes than the file can hold, and at once no more than half of the free memory (storage.py). Two-dimensional
tables may be large. Their shape must be that of their dimension scales, and `tables=False` leaves their values in the
file, for `row_blocks` to read in blocks.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.dataset import Column, Dataset
from hpcsolve.answers.table import DistanceTable
from hpcsolve.errors import DamagedFileError, HpcsolveError, InputError
from hpcsolve.output.contents import FORMAT, GROUPS, Contents
from hpcsolve.output.hdf5 import Seal, is_hdf5, seal_of
from hpcsolve.output.schema import ATTRIBUTES, check_attributes, check_types
from hpcsolve.output.storage import LARGEST_DATASET, Budget, budget_of, linked, require_sound, scales_of, values_of
from hpcsolve.output.trial import require_readable
from hpcsolve.output.versions import FILL_VALUE, SCALE_FACTOR, SCALED_IN_VERSION_1
from hpcsolve.replacing import KINDS
from hpcsolve.wording import unreadable

if TYPE_CHECKING:
    import h5py  # else only where a file is read: ranks beside rank 0 never load it

MOST_DATASETS = 64
"""Most datasets of one group."""
BLOCK_BYTES = 1 << 26
"""About how many bytes of rows `row_blocks` reads at a time."""


def read_result(
    path: str | os.PathLike[str], groups: Sequence[str] = tuple(GROUPS), *, tables: bool = True
) -> Contents:
    """Read a result file, or some of its groups.

    Parameters
    ----------
    tables
        Whether to read the values of two-dimensional tables too. Their shapes are always read.

    Raises
    ------
    InputError
        The file cannot be read, is not a result file, or has a newer format version.
    DamagedFileError
        The file is damaged, or holds something that no result file holds.
    """
    name = os.fspath(path)
    _require_undamaged(name)
    with _opened(name) as file:
        return _contents(file, groups, budget_of(name), tables)


def read_own(path: str | os.PathLike[str]) -> Contents:
    """Read a file that this process has written, without its seal and its tables. Raises as `read_result`."""
    with _opened(os.fspath(path)) as file:
        own = Budget(os.fspath(path), os.path.getsize(path), math.inf)
        return _contents(file, tuple(GROUPS), own, False)


def read_all(name: str) -> None:
    """Read all that a result file holds, in the child process that trial.py starts. Raises as `read_result`."""
    with _opened(name) as file:
        tables = _contents(file, tuple(GROUPS), budget_of(name), False).tables
    for table in tables:
        for _ in row_blocks(name, [table]):
            pass


def row_blocks(path: str | os.PathLike[str], names: Sequence[str]) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """Yield the rows of tables of `/solution` in blocks. `read_result` must have checked the file before.

    Yields
    ------
    int, list of arrays
        Number of the block's first row, and the block of each table.

    Raises
    ------
    DamagedFileError
        The file is damaged.
    """
    with _opened(os.fspath(path)) as file:
        datasets = [file["solution"][name] for name in names]
        rows = min(len(dataset) for dataset in datasets)
        step = max(1, BLOCK_BYTES // max(1, max(d.shape[1] * d.dtype.itemsize for d in datasets)))
        for first in range(0, rows, step):
            yield first, [dataset[first : first + step] for dataset in datasets]


def _require_undamaged(name: str) -> None:
    """Raise the errors of `read_result` that can be found before this process lets libhdf5 open the file."""
    try:
        if kind := KINDS.get(stat.S_IFMT(os.stat(name).st_mode)):  # before a pipe without another end is opened
            raise InputError(f"is {kind}; a result is the .h5 file that hpcsolve run wrote", name)
        with open(name, "rb") as file:
            if not is_hdf5(file.read(8)):
                raise InputError("is not an HDF5 file; a result is the .h5 file that hpcsolve run wrote", name)
            seal = seal_of(file)
    except OSError as error:
        raise InputError(unreadable(name, error), name) from None
    if seal is Seal.BROKEN:
        raise DamagedFileError(f"{name}: damaged: its bytes are not those that were written (SHA-256)")
    if seal is Seal.MISSING:
        require_readable(name)


@contextmanager
def _opened(name: str) -> Iterator[h5py.File]:
    import h5py

    try:
        with h5py.File(name, "r", locking="best-effort") as opened:
            yield opened
    except HpcsolveError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise DamagedFileError(f"{name}: damaged: {reason}") from None


def _contents(file: h5py.File, names: Sequence[str], budget: Budget, tables: bool) -> Contents:
    attributes = {key: _attribute(file, key) for key in ATTRIBUTES if key in file.attrs}
    if attributes.get("format") != FORMAT:
        raise InputError("is an HDF5 file, but not a result of hpcsolve", budget.path)
    version = attributes.get("format_version")
    if version not in FILL_VALUE:
        known = " and ".join(map(str, FILL_VALUE))
        said = version if isinstance(version, int) else repr(str(version)[:40])
        raise InputError(f"is of format version {said}; this hpcsolve reads versions {known}", budget.path)
    check_attributes(attributes)
    import h5py

    found = [str(key) for key in file]
    groups: dict[str, dict[str, Column]] = {}
    shapes: dict[str, DistanceTable] = {}
    for key in found:
        if key not in GROUPS or not isinstance(linked(file, key), h5py.Group):
            raise ValueError(f"/{key[:40]} is not part of the format")
        if key in names:
            datasets = _datasets(file[key], budget)
            found_tables = {key: dataset for key, dataset in datasets.items() if dataset.ndim == 2}
            shapes |= {name: _table(dataset, tables, version) for name, dataset in found_tables.items()}
            read = {name: dataset for name, dataset in datasets.items() if tables or name not in found_tables}
            groups[key] = {name: _column(name, dataset, version, budget) for name, dataset in read.items()}
    contents = Contents(attributes, groups, shapes)
    check_types(contents)
    _check_scale_factors(file, contents)
    return contents


def _check_scale_factors(file: h5py.File, contents: Contents) -> None:
    """Raise a `ValueError` if a dataset that was read has another `scale_factor` than 1 / scale."""
    if "instance" not in contents.groups:
        return
    columns = [f"/{group}/{name}" for group, members in contents.groups.items() for name in members]
    for place in [*columns, *(f"/solution/{name}" for name in contents.tables)]:
        factor = _attribute(file[place], SCALE_FACTOR)
        if factor != "" and not (contents.scale > 0 and factor == 1 / contents.scale):
            raise ValueError(f"the attribute {SCALE_FACTOR} of {place} is not 1 / scale")


def _datasets(group: h5py.Group, budget: Budget) -> dict[str, h5py.Dataset]:
    if len(group) > MOST_DATASETS:
        raise ValueError(f"{group.name} has {len(group)} datasets")
    return {str(key): _dataset(group, str(key), budget) for key in group}


def _dataset(group: h5py.Group, key: str, budget: Budget) -> h5py.Dataset:
    import h5py

    place = f"{group.name}/{key[:40]}"
    dataset = linked(group, key)
    if not isinstance(dataset, h5py.Dataset) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", key):
        raise ValueError(f"{place} is not part of the format")
    require_sound(dataset, place, budget)
    return dataset


def _column(key: str, dataset: h5py.Dataset, version: int, budget: Budget) -> Column:
    values = values_of(dataset, budget)
    dimension = ""
    if dataset.ndim == 1:
        scales = [name for name, _ in scales_of(dataset, 0)]
        dimension = key if dataset.is_scale else scales[0] if scales else ""
    unit, none = _attribute(dataset, "units"), _none(dataset, version)
    return Column(values, _attribute(dataset, "description"), unit, dimension, none, _is_scaled(dataset, version))


def _none(dataset: h5py.Dataset, version: int) -> int | float | None:
    """Return the value of a dataset that stands for "none", or None if no attribute says so."""
    value = _attribute(dataset, FILL_VALUE[version])
    return value if isinstance(value, (int, float)) else None


def _is_scaled(dataset: h5py.Dataset, version: int) -> bool:
    """Return whether a dataset holds scaled integers, by its attribute or in version 1 by its name."""
    return str(dataset.name) in SCALED_IN_VERSION_1 if version == 1 else SCALE_FACTOR in dataset.attrs


def _table(dataset: h5py.Dataset, whole: bool, version: int) -> DistanceTable:
    """Return a table without its values. Its shape must be that of its dimension scales, which are stored in full."""
    name, shape = str(dataset.name)[:60], dataset.shape
    if dataset.parent.name != "/solution":
        raise ValueError(f"{name} has two dimensions, which only datasets of /solution may have")
    for axis, length in enumerate(shape):
        scales = [scale for _, scale in scales_of(dataset, axis)]
        if len(scales) != 1 or scales[0].parent != dataset.parent or scales[0].shape != (length,):
            raise ValueError(f"{name} has no dimension scale of length {length}")
    if whole and dataset.size * dataset.dtype.itemsize > LARGEST_DATASET:
        raise InputError(f"{dataset.file.filename}: {name} is too large to be read at once; read its rows with h5py")
    names = ", ".join(scales_of(dataset, axis)[0][0] for axis in range(dataset.ndim))
    description, unit = _attribute(dataset, "description"), _attribute(dataset, "units")
    meaning = Dataset(str(dataset.dtype), description, names, unit, scaled=_is_scaled(dataset, version))
    return DistanceTable(np.empty((0, shape[1]), dataset.dtype), 0, shape[0], meaning, _none(dataset, version))


def _attribute(item: Any, key: str) -> Any:
    """Return a scalar attribute as a Python value, or "" if there is none. Long texts are refused."""
    if key not in item.attrs:
        return ""
    identifier = item.attrs.get_id(key)
    if identifier.shape != () or identifier.get_storage_size() > 1 << 16:
        raise ValueError(f"the attribute {key} is not a single value")
    value = item.attrs[key]
    return value.item() if isinstance(value, np.generic) else value

"""Checks how an object of a result file is stored, before h5py makes an object of it and before its data are read.

A file says where the data of a dataset are, and how much they expand: a virtual dataset or an external one takes them
from any file, a chunk of some kilobytes may inflate to gigabytes whatever its dataset claims, and many entries may
share one long text. libhdf5 believes all of that. It even crashes at the end of a process in which the properties of a
virtual dataset are still open, and each h5py object, such as one in a traceback, keeps them open.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcsolve.errors import ResourceError
from hpcsolve.memory import available_memory

if TYPE_CHECKING:
    import h5py  # else only where a file is read: ranks beside rank 0 never load it

LARGEST_DATASET = 8 * 2**30
"""Most bytes of a dataset that is read whole."""
LARGEST_PART = 1 / 2
"""What is read at once may take this part of the free memory."""
MOST_EXPANSION = 1032
"""Most bytes that one byte of a gzip stream can expand to."""
FILTERS = {1, 2}
"""HDF5's numbers for gzip and shuffle."""
TEXTS_AT_ONCE = 64
"""Least number of texts that are read at a time. Each may be as long as the file."""
MOST_SCALES = 64
"""Most dimension scales that an axis may list."""


@dataclass
class Budget:
    """How much may be read of a file.

    Attributes
    ----------
    path, file_size
        The file, and its size in bytes.
    free
        Bytes that may still be read of it at once.
    """

    path: str
    file_size: int
    free: float

    def take(self, size: int) -> None:
        """Count bytes that will be read. Raises `ResourceError` if they are too many."""
        self.free -= size
        if self.free < 0:
            what = f"all that is to be read of it at once takes more than {LARGEST_PART:.0%} of the free memory"
            raise ResourceError(f"{self.path}: {what}; read it where more is free, or its rows with h5py")


def budget_of(path: str) -> Budget:
    """Return the budget of a file that anybody may have made."""
    return Budget(path, os.path.getsize(path), available_memory() * LARGEST_PART)


def linked(group: h5py.Group, key: str) -> Any:
    """Return the object behind a hard link.

    Raises
    ------
    ValueError
        It is another link, which may lead to any file, or a dataset whose data are elsewhere.
    """
    import h5py

    place = f"{group.name.rstrip('/')}/{key[:40]}"
    if not isinstance(group.get(key, getlink=True), h5py.HardLink):
        raise ValueError(f"{place} is a link")
    _require_own_data(h5py.h5o.open(group.id, key.encode()), place)
    return group[key]


def scales_of(dataset: h5py.Dataset, axis: int) -> list[tuple[str, h5py.Dataset]]:
    """Return the dimension scales of an axis, each with its name.

    libhdf5 takes for granted that the attribute which lists them has the right type, and may crash if it has not.
    """
    import h5py

    if "DIMENSION_LIST" in dataset.attrs:
        lists, name = dataset.attrs.get_id("DIMENSION_LIST"), str(dataset.name)[:60]
        kind = h5py.check_vlen_dtype(lists.dtype)
        if lists.shape != (dataset.ndim,) or kind is None or h5py.check_ref_dtype(kind) is not h5py.Reference:
            raise ValueError(f"the attribute DIMENSION_LIST of {name} does not list dimension scales")
        listed = dataset.attrs["DIMENSION_LIST"][axis]
        if len(listed) > MOST_SCALES:
            raise ValueError(f"{name} has {len(listed)} dimension scales")
        for reference in listed:
            _require_own_data(h5py.h5r.dereference(reference, dataset.id), f"a dimension scale of {name}")
    return [(str(name), scale) for name, scale in dataset.dims[axis].items()]


def _require_own_data(identifier: Any, place: str) -> None:
    import h5py

    if isinstance(identifier, h5py.h5d.DatasetID) and _properties(identifier)[0]:
        raise ValueError(f"{place} takes its data from another file or dataset")


def _properties(identifier: Any) -> tuple[bool, set[int]]:
    """Return whether the data of a dataset are elsewhere, and the numbers of its filters. No property stays open."""
    import h5py

    creation = identifier.get_create_plist()
    elsewhere = creation.get_layout() == h5py.h5d.VIRTUAL or creation.get_external_count() > 0
    return elsewhere, {creation.get_filter(number)[0] for number in range(creation.get_nfilters())}


def require_sound(dataset: h5py.Dataset, place: str, budget: Budget) -> None:
    """Check type, filters and sizes of a dataset.

    Raises
    ------
    ValueError
        The format has no such dataset, or it claims to hold more than the file can.
    ResourceError
        A chunk takes more memory than may be read at once.
    """
    if dataset.shape is None or dataset.ndim > 2 or not (is_text(dataset) or dataset.dtype.kind in "iuf"):
        raise ValueError(f"{place} holds {dataset.dtype} of {dataset.ndim} dimensions, which the format does not have")
    _, filters = _properties(dataset.id)
    if not filters <= FILTERS:
        raise ValueError(f"{place} needs the filters {sorted(filters)}; the format has gzip and shuffle")
    size, stored = bytes_of(dataset), dataset.id.get_storage_size()
    largest = stored * (MOST_EXPANSION if filters else 1)
    if size > LARGEST_DATASET and dataset.ndim < 2:
        raise ValueError(f"{place} claims to hold {size} bytes, more than the {LARGEST_DATASET} that are read at once")
    if stored > budget.file_size:
        raise ValueError(f"{place} claims {stored} stored bytes, more than the whole file has ({budget.file_size})")
    if size > largest:
        raise ValueError(f"{place} claims to hold {size} bytes, but the {stored} stored ones hold at most {largest}")
    if dataset.chunks:
        _require_chunks(dataset, place, budget)


def _require_chunks(dataset: h5py.Dataset, place: str, budget: Budget) -> None:
    """Check that no chunk takes too much memory: libhdf5 inflates all of it, even beyond its size.

    Raises
    ------
    ValueError
        Chunks are larger than a dataset may be, or one inflates to more than its size.
    ResourceError
        Chunks are larger than what may be read at once.
    """
    whole = int(np.prod(dataset.chunks, dtype=object)) * dataset.dtype.itemsize
    if whole > LARGEST_DATASET:
        raise ValueError(f"{place} has chunks of {whole} bytes, more than the {LARGEST_DATASET} that are read at once")
    if whole > budget.free:
        what = f"{place} has chunks of {whole} bytes, which take more memory than may be read at once"
        raise ResourceError(f"{budget.path}: {what}; read it where more is free")
    if dataset.id.get_storage_size() * MOST_EXPANSION <= budget.free:
        return
    doubtful: list[tuple[int, ...]] = []

    def note(chunk: Any) -> None:
        if chunk.size * MOST_EXPANSION > budget.free:
            doubtful.append(chunk.chunk_offset)

    dataset.id.chunk_iter(note)
    for offset in doubtful:
        mask, stored = dataset.id.read_direct_chunk(offset)
        if not mask and len(zlib.decompressobj().decompress(stored, whole + 1)) > whole:
            raise ValueError(f"{place}: a chunk expands to more than the {whole} bytes that it has")


def bytes_of(dataset: h5py.Dataset) -> int:
    """Return the bytes of a dataset in memory, of texts those of the references to them."""
    return int(np.prod(dataset.shape, dtype=object)) * int(dataset.dtype.itemsize)


def is_text(dataset: h5py.Dataset) -> bool:
    """Return whether a dataset holds texts."""
    import h5py

    return h5py.check_string_dtype(dataset.dtype) is not None


def values_of(dataset: h5py.Dataset, budget: Budget) -> Any:
    """Return the values of a dataset, which `require_sound` has checked.

    Raises
    ------
    ResourceError
        They take too much memory.
    """
    budget.take(bytes_of(dataset))
    if not is_text(dataset):
        return dataset[()]
    if dataset.ndim != 1:
        return dataset.asstr()[()]
    step = int(min(len(dataset), max(TEXTS_AT_ONCE, budget.free // max(1, budget.file_size)))) or 1
    blocks = [np.empty(0, object)]
    for first in range(0, len(dataset), step):  # many of the texts may be one and the same in the file
        blocks.append(dataset.asstr()[first : first + step])
        budget.take(sum(map(len, blocks[-1])))
    return np.concatenate(blocks)

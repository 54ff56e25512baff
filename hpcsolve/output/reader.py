"""Reads result files, which anybody may have made, so the layout is checked before any data are read.

libhdf5 follows links and file names that a file holds, and allocates what a header promises: a virtual dataset or an
external one takes its data from any file, a chunk of some kilobytes may inflate to gigabytes whatever its dataset
claims, and many entries may share one long text. Therefore this reader accepts only hard links, no external and no
virtual datasets, only numbers and texts, only the filters gzip and shuffle, no more bytes than the file can hold, and
at once no more than half of the free memory. How an object is stored is checked before h5py makes an object of it:
libhdf5 even crashes at the end of a process in which the properties of a virtual dataset are still open, and each h5py
object, such as one in a traceback, keeps them open.

Damaged bytes can crash libhdf5, and the process with it, so a file whose bytes do not match its seal is refused. A
file loses its seal when another tool opens it to change it, or when its end is cut off, and files of early versions of
hpcsolve have none. A file without a seal is read all the same, if libhdf5 survives that in a child process.

Two-dimensional tables may be large. Their shape must be that of their dimension scales, and `tables=False` leaves
their values in the file, for `row_blocks` to read in blocks.
"""

from __future__ import annotations

import math
import os
import re
import signal
import stat
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Column, Contents, Dataset, DistanceTable
from hpcsolve.errors import DamagedFileError, HpcsolveError, InputError, ResourceError
from hpcsolve.isolated import python_command
from hpcsolve.memory import available_memory
from hpcsolve.output import schema
from hpcsolve.output.hdf5 import Seal, is_hdf5, seal_of
from hpcsolve.replacing import KINDS
from hpcsolve.wording import unreadable

if TYPE_CHECKING:
    import h5py

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
TRIAL = """
import resource, sys, time
name, seconds = sys.argv[1:]
from hpcsolve.output.reader import read_all
end = int(time.process_time()) + int(seconds)
resource.setrlimit(resource.RLIMIT_CPU, (end, end + 1))
read_all(name)
"""
"""What the child runs."""
TRIAL_SECONDS = 60.0
"""Time that the child has for a small file, whose disk may be slow."""
TRIAL_CPU_SECONDS = 2
"""CPU time that it has for a small file, imports apart. A damaged file may keep libhdf5 busy for ever."""
BYTES_A_SECOND = 1 << 24
"""Pace at which the child reads a large file, at least."""
MOST_DATASETS = 64
"""Most datasets of one group."""
BLOCK_BYTES = 1 << 26
"""About how many bytes of rows `row_blocks` reads at a time."""


def read_result(
    path: str | os.PathLike[str], groups: Sequence[str] = tuple(schema.GROUPS), *, tables: bool = True
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
        return _Reading(name, file).contents(groups, tables)


def read_job_text(path: str) -> str:
    """Return the TOML text of the effective job in a result file. Raises as `read_result`."""
    text = read_result(path, ("job",), tables=False).value("job", "toml", "")
    return str(text)


def read_own(path: str | os.PathLike[str]) -> Contents:
    """Read a file that this process has written, without its seal and its tables. Raises as `read_result`."""
    with _opened(os.fspath(path)) as file:
        return _Reading(os.fspath(path), file, math.inf).contents(tuple(schema.GROUPS), False)


def read_all(name: str) -> None:
    """Read all that a result file holds, in a child process (`require_readable`). Raises as `read_result`."""
    with _opened(name) as file:
        tables = _Reading(name, file).contents(tuple(schema.GROUPS), False).tables
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


def _check_scale_factors(file: h5py.File, contents: Contents) -> None:
    """Raise a `ValueError` if a dataset that was read has another `scale_factor` than 1 / scale."""
    if "instance" not in contents.groups:
        return
    columns = [f"/{group}/{name}" for group, members in contents.groups.items() for name in members]
    for place in [*columns, *(f"/solution/{name}" for name in contents.tables)]:
        factor = _attribute(file[place], schema.SCALE_FACTOR)
        if factor != "" and not (contents.scale > 0 and factor == 1 / contents.scale):
            raise ValueError(f"the attribute {schema.SCALE_FACTOR} of {place} is not 1 / scale")


def _attribute(item: Any, key: str) -> Any:
    """Return a scalar attribute as a Python value, or "" if there is none. Long texts are refused."""
    if key not in item.attrs:
        return ""
    identifier = item.attrs.get_id(key)
    if identifier.shape != () or identifier.get_storage_size() > 1 << 16:
        raise ValueError(f"the attribute {key} is not a single value")
    value = item.attrs[key]
    return value.item() if isinstance(value, np.generic) else value


def require_readable(name: str) -> None:
    """Make sure that libhdf5 can read a file without a crash, by letting a child process read it.

    Raises
    ------
    DamagedFileError
        libhdf5 crashes when it reads this file, or does not come to an end. Errors that it reports are ignored, since
        the caller meets them again.
    """
    state = os.stat(name)
    if said := _failure(os.path.abspath(name), state.st_size, state.st_mtime_ns):
        raise DamagedFileError(f"{name}: damaged: {said}")


@lru_cache(maxsize=1000)  # a command opens a file several times, and one trial of the same bytes is enough
def _failure(path: str, size: int, changed: int) -> str:
    """Return what went wrong in the child, or an empty text. `changed` is the time of the last change."""
    timeout, cpu_seconds = TRIAL_SECONDS + size / BYTES_A_SECOND, TRIAL_CPU_SECONDS + size // BYTES_A_SECOND
    command = python_command(TRIAL, path, str(cpu_seconds))
    try:
        code = subprocess.run(command, capture_output=True, timeout=timeout, check=False).returncode
    except subprocess.TimeoutExpired:
        return f"libhdf5 did not read it within {timeout:.0f} s"
    if code == -signal.SIGXCPU:
        return f"libhdf5 did not read it within {cpu_seconds} s of CPU time"
    return f"libhdf5 crashes when it reads it ({signal.Signals(-code).name})" if code < 0 else ""


class _Reading:
    """The reading of a result file, of which only so much may be read at once.

    Parameters
    ----------
    path, file
        The file, and its content as h5py has it.
    free
        Bytes that may still be read of it at once; by default a part of the free memory, for a file that anybody may
        have made.
    """

    def __init__(self, path: str, file: h5py.File, free: float | None = None) -> None:
        self.path, self.file, self.file_size = path, file, os.path.getsize(path)
        self.free = available_memory() * LARGEST_PART if free is None else free
        self.version = schema.FORMAT_VERSION

    def take(self, size: int) -> None:
        """Count bytes that will be read. Raises `ResourceError` if they are too many."""
        self.free -= size
        if self.free < 0:
            what = f"all that is to be read of it at once takes more than {LARGEST_PART:.0%} of the free memory"
            raise ResourceError(f"{self.path}: {what}; read it where more is free, or its rows with h5py")

    def contents(self, names: Sequence[str], tables: bool) -> Contents:
        """Return the groups of these names. Of tables the values are left out, unless they are asked for."""
        import h5py

        file = self.file
        attributes = {key: _attribute(file, key) for key in schema.ATTRIBUTES if key in file.attrs}
        if attributes.get("format") != schema.FORMAT:
            raise InputError("is an HDF5 file, but not a result of hpcsolve", self.path)
        version = attributes.get("format_version")
        if version not in schema.FILL_VALUE:
            *most, newest = map(str, schema.FILL_VALUE)
            known = f"{', '.join(most)} and {newest}"
            said = version if isinstance(version, int) else repr(str(version)[:40])
            raise InputError(f"is of format version {said}; this hpcsolve reads versions {known}", self.path)
        self.version = version
        schema.check_attributes(attributes)
        if attributes.get("cost") != attributes.get("cost"):  # NaN, which later versions leave out
            del attributes["cost"]
        groups: dict[str, dict[str, Column]] = {}
        shapes: dict[str, DistanceTable] = {}
        for key in map(str, file):
            if key not in schema.GROUPS or not isinstance(_linked(file, key), h5py.Group):
                raise ValueError(f"/{key[:40]} is not part of the format")
            if key in names:
                if len(file[key]) > MOST_DATASETS:
                    raise ValueError(f"/{key} has {len(file[key])} datasets")
                datasets = {str(name): self._dataset(file[key], str(name)) for name in file[key]}
                shapes |= {name: self._table(dataset, tables) for name, dataset in datasets.items()
                           if dataset.ndim == 2}
                groups[key] = {name: self._column(name, dataset) for name, dataset in datasets.items()
                               if tables or dataset.ndim != 2}
        contents = Contents(attributes, groups, shapes)
        schema.check_types(contents)
        _check_scale_factors(file, contents)
        return contents

    def _dataset(self, group: h5py.Group, key: str) -> h5py.Dataset:
        import h5py

        place = f"{group.name}/{key[:40]}"
        dataset = _linked(group, key)
        if not isinstance(dataset, h5py.Dataset) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", key):
            raise ValueError(f"{place} is not part of the format")
        self._require_sound(dataset, place)
        return dataset

    def _table(self, dataset: h5py.Dataset, whole: bool) -> DistanceTable:
        """Return a table without its values. Its shape must be that of its dimension scales, stored in full."""
        name, shape = str(dataset.name)[:60], dataset.shape
        if dataset.parent.name != "/solution":
            raise ValueError(f"{name} has two dimensions, which only datasets of /solution may have")
        names = []
        for axis, length in enumerate(shape):
            scales = _scales_of(dataset, axis)
            if len(scales) != 1 or scales[0][1].parent != dataset.parent or scales[0][1].shape != (length,):
                raise ValueError(f"{name} has no dimension scale of length {length}")
            names.append(_by_source(dataset, scales[0][0]))
        if whole and dataset.size * dataset.dtype.itemsize > LARGEST_DATASET:
            raise InputError(f"{self.path}: {name} is too large to be read at once; read its rows with h5py")
        meaning, none = self._meaning(dataset, ", ".join(names))
        return DistanceTable(np.empty((0, shape[1]), dataset.dtype), 0, shape[0], meaning, none)

    def _column(self, key: str, dataset: h5py.Dataset) -> Column:
        values, dimension = self._values_of(dataset), ""
        if dataset.ndim == 1:
            scales = [name for name, _ in _scales_of(dataset, 0)]
            dimension = key if dataset.is_scale else _by_source(dataset, scales[0]) if scales else ""
        return Column(values, *self._meaning(dataset, dimension))

    def _meaning(self, dataset: h5py.Dataset, dimension: str) -> tuple[Dataset, int | float | None]:
        """Return what the attributes of a dataset say of it, and the value that stands for "none", or None."""
        if self.version == 1:  # by name, without an attribute
            scaled = str(dataset.name) in schema.SCALED_IN_VERSION_1
        else:
            scaled = schema.SCALE_FACTOR in dataset.attrs
        none = _attribute(dataset, schema.FILL_VALUE[self.version])
        description, unit = _attribute(dataset, "description"), _attribute(dataset, "units")
        return (Dataset(str(dataset.dtype), description, dimension, unit, scaled=scaled),
                none if isinstance(none, (int, float)) else None)

    def _require_sound(self, dataset: h5py.Dataset, place: str) -> None:
        """Check type, filters and sizes of a dataset.

        Raises
        ------
        ValueError
            The format has no such dataset, or it claims to hold more than the file can.
        ResourceError
            A chunk takes more memory than may be read at once.
        """
        if dataset.shape is None or dataset.ndim > 2 or not (_is_text(dataset) or dataset.dtype.kind in "iuf"):
            what = f"{dataset.dtype} of {dataset.ndim} dimensions"
            raise ValueError(f"{place} holds {what}, which the format does not have")
        _, filters = _properties(dataset.id)
        if not filters <= FILTERS:
            raise ValueError(f"{place} needs the filters {sorted(filters)}; the format has gzip and shuffle")
        size, stored = _bytes_of(dataset), dataset.id.get_storage_size()
        largest = stored * (MOST_EXPANSION if filters else 1)
        if size > LARGEST_DATASET and dataset.ndim < 2:
            most = f"more than the {LARGEST_DATASET} that are read at once"
            raise ValueError(f"{place} claims to hold {size} bytes, {most}")
        if stored > self.file_size:
            raise ValueError(f"{place} claims {stored} stored bytes, more than the whole file has ({self.file_size})")
        if size > largest:
            most = f"the {stored} stored ones hold at most {largest}"
            raise ValueError(f"{place} claims to hold {size} bytes, but {most}")
        if dataset.chunks:
            self._require_chunks(dataset, place)

    def _require_chunks(self, dataset: h5py.Dataset, place: str) -> None:
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
            most = f"more than the {LARGEST_DATASET} that are read at once"
            raise ValueError(f"{place} has chunks of {whole} bytes, {most}")
        if whole > self.free:
            what = f"{place} has chunks of {whole} bytes, which take more memory than may be read at once"
            raise ResourceError(f"{self.path}: {what}; read it where more is free")
        if dataset.id.get_storage_size() * MOST_EXPANSION <= self.free:
            return
        doubtful: list[tuple[int, ...]] = []

        def note(chunk: Any) -> None:
            if chunk.size * MOST_EXPANSION > self.free:
                doubtful.append(chunk.chunk_offset)

        dataset.id.chunk_iter(note)
        for offset in doubtful:
            mask, stored = dataset.id.read_direct_chunk(offset)
            if not mask and len(zlib.decompressobj().decompress(stored, whole + 1)) > whole:
                raise ValueError(f"{place}: a chunk expands to more than the {whole} bytes that it has")

    def _values_of(self, dataset: h5py.Dataset) -> Any:
        """Return the values of a dataset, which `_require_sound` has checked.

        Raises
        ------
        ResourceError
            They take too much memory.
        """
        self.take(_bytes_of(dataset))
        if not _is_text(dataset):
            return dataset[()]
        if dataset.ndim != 1:
            return dataset.asstr()[()]
        step = int(min(len(dataset), max(TEXTS_AT_ONCE, self.free // max(1, self.file_size)))) or 1
        blocks = [np.empty(0, object)]
        for first in range(0, len(dataset), step):  # many of the texts may be one and the same in the file
            blocks.append(dataset.asstr()[first : first + step])
            self.take(sum(map(len, blocks[-1])))
        return np.concatenate(blocks)


def _linked(group: h5py.Group, key: str) -> Any:
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


def _scales_of(dataset: h5py.Dataset, axis: int) -> list[tuple[str, h5py.Dataset]]:
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


def _by_source(dataset: h5py.Dataset, dimension: str) -> str:
    """Return the name of a dimension. The searches of version 2 that have one source each are sources since then."""
    group = dataset.parent
    if dimension != "search" or group.name != "/solution" or "source" not in list(group):
        return dimension
    source = _linked(group, "source")
    return "source" if isinstance(source, type(dataset)) and source.shape == dataset.shape[:1] else dimension


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


def _bytes_of(dataset: h5py.Dataset) -> int:
    """Return the bytes of a dataset in memory, of texts those of the references to them."""
    return int(np.prod(dataset.shape, dtype=object)) * int(dataset.dtype.itemsize)


def _is_text(dataset: h5py.Dataset) -> bool:
    """Return whether a dataset holds texts."""
    import h5py

    return h5py.check_string_dtype(dataset.dtype) is not None

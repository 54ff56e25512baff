"""Batches of small instances: an array of matrices in a `.npz` or `.npy` file, a folder of instances, or a list."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.base import Instance
from hpcsolve.formats.files import InputFile, memory_checked, open_file
from hpcsolve.formats.npy import Archive, is_npy, is_zip, npy_array
from hpcsolve.problems.decimals import BadNumber
from hpcsolve.problems.rounding import Costs, Precision, costs_from_floats
from hpcsolve.problems.tsp import FORBIDDEN, largest_cost
from hpcsolve.problems.tsp_batch import TspBatch, at_scale, batch_of, roundings_by_instance, roundings_of

Read = Callable[[str], Instance]


def read_batch(source: str | Sequence[str], read: Read, precision: Precision | None = None) -> tuple[TspBatch, str]:
    """Return a batch, and the SHA-256 of all its files.

    Parameters
    ----------
    source
        A `.npz` or `.npy` file of arrays of shape (instances, n, n), a folder, or a list of files.
    read
        Reads one instance from a file of a folder or list.
    precision
        How to round floats in arrays that are no exact integers; by default they are refused.

    Raises
    ------
    InputError
        There is no instance, an array has another shape, or as `read`.
    ResourceError
        It takes more memory than is free.
    """
    if isinstance(source, str) and not os.path.isdir(source):
        with memory_checked(source):
            return _arrays(open_file(source), precision)
    files = source if not isinstance(source, str) else sorted(
        os.path.join(source, name) for name in os.listdir(source) if not name.startswith("."))
    if not files:
        raise InputError(f"instance.batch: {source or 'the list'} has no files; give a folder or a list of instances")
    found = [read(file) for file in files]
    name = os.path.basename(os.path.normpath(source)) if isinstance(source, str) else f"{len(files)} files"
    digest = hashlib.sha256("".join(instance.sha256 for instance in found).encode()).hexdigest()
    return batch_of([instance.problem for instance in found], name), digest


def _arrays(file: InputFile, precision: Precision | None) -> tuple[TspBatch, str]:
    if is_npy(file.content):
        arrays = [npy_array(file)]
    else:
        if not is_zip(file.content):
            raise file.error("is no .npz file of numpy.savez, no .npy file and no folder")
        archive = Archive(file)
        arrays = [archive.array(name) for name in archive.names]
    return batch_of_arrays(file, arrays, precision), file.sha256


def batch_of_arrays(
    file: InputFile, arrays: Sequence[NDArray[np.generic]], precision: Precision | None = None
) -> TspBatch:
    """Return the batch of arrays of shape (instances, n, n). `file` is named in the messages.

    Parameters
    ----------
    precision
        As in `read_batch`.

    Raises
    ------
    InputError
        There is no instance, an array has another shape, or a cost is too large or no number.
    """
    if not sum(map(len, arrays)):
        raise file.error("has no instance; an array must have shape (instances, n, n)")
    for array in arrays:
        if array.ndim != 3 or array.shape[1] != array.shape[2] or not array.shape[1]:
            raise file.error(f"an array has shape {array.shape}; it must be (instances, n, n), from row to column")
    made = [_integers(file, array, precision) for array in arrays if len(array)]
    scale = max(found.scale for found in made)
    costs = tuple(at_scale(found.values, found.scale, scale, file.name) for found in made)
    roundings = [one for found in made for one in roundings_by_instance(found)]
    return TspBatch(file.stem or "batch", costs, scale, roundings_of(roundings))


def _integers(file: InputFile, array: NDArray[np.generic], precision: Precision | None) -> Costs:
    """Return an array as integers, in its own shape. The diagonals are ignored."""
    n, limit = array.shape[1], largest_cost(array.shape[1])
    if array.dtype.kind == "f":
        floats = array.astype(np.float64)
        floats[:, np.arange(n), np.arange(n)] = np.inf
        flat = floats.reshape(-1)
        try:
            found = costs_from_floats(flat, n, limit, precision, file.name)
        except BadNumber as problem:
            number, row, column = np.unravel_index(problem.index, array.shape)
            what = f"the cost from city {row} to city {column} of instance {number} {problem.reason}"
            raise file.error(what) from None
        return found._replace(values=found.values.reshape(array.shape))
    cost = array.astype(np.int64)
    cost[:, np.arange(n), np.arange(n)] = FORBIDDEN
    beyond = (np.abs(cost) > limit) & (cost != FORBIDDEN)
    if beyond.any():
        raise file.error(f"a cost of instance {int(np.argmax(beyond.any(axis=(1, 2))))} exceeds {limit}")
    return Costs(cost, 1)

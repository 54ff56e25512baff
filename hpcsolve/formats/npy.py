"""Arrays that numpy and scipy wrote: cost matrices, batches of them, sparse matrices. No code from a file is ever run.

A cost matrix is a `.npy` file. An entry is the cost from the row's city to the column's, or `inf` if there is no arc.
The diagonal is ignored. A batch of instances is an array of matrices in a `.npz` or `.npy` file, a folder of
instances, or a list. A graph is what `scipy.sparse.save_npz` wrote: a zip file of arrays, with an arc from u to v for
each entry.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats import Instance
from hpcsolve.formats.files import InputFile, memory_checked, open_file, read_bounded, write_file
from hpcsolve.formats.records import require_plausible
from hpcsolve.problems.graph import Graph, assembled, require_in_range
from hpcsolve.problems.rounding import BadNumber, Precision, costs_of_table, exact_weights
from hpcsolve.problems.tsp import NO_ARC, Tsp, TspBatch, batch_of, from_matrix, part_of_costs, require_common_scale


def is_npy(content: bytes) -> bool:
    """Return whether some content is an array that numpy wrote."""
    return content.startswith(b"\x93NUMPY")


def is_zip(content: bytes) -> bool:
    """Return whether some content is a zip file."""
    return content.startswith(b"PK\x03\x04")


class Archive:
    """The arrays in a zip file, such as `numpy.savez` writes.

    Raises
    ------
    InputError
        The file is no zip file, or damaged.
    """

    def __init__(self, file: InputFile) -> None:
        self.file, self._read = file, 0
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(file.content))
            self.names = self._zip.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
            raise file.error(f"is a damaged zip file: {problem}") from None

    def content(self, name: str) -> bytes:
        """Return the bytes of a member.

        The limits of `read_bounded` hold for all members together that were read so far, and its errors are raised.

        Raises
        ------
        InputError
            There is no such member, or it is damaged.
        """
        try:
            with self._zip.open(name) as stream:
                content = read_bounded(stream, f"{self.file.name}: {name}", self._read)
        except KeyError:
            known = name.removesuffix(".npy")
            raise self.file.error(f"has no array {known!r}; save it with scipy.sparse.save_npz") from None
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError) as problem:
            raise self.file.error(f"is damaged, {name} cannot be read: {problem}") from None
        self._read += len(content)
        return content

    def array(self, name: str) -> NDArray[Any]:
        """Return the array in a member. Raises as `content` and `npy_array`."""
        return npy_array(InputFile(f"{self.file.name}: {name}", self.content(name), ""))

    def integers(self, name: str) -> NDArray[np.int64]:
        """Return the list of integers in a member. Raises `InputError` if it is another array."""
        table = self.array(f"{name}.npy")
        if table.ndim != 1 or table.dtype.kind not in "iu":
            raise self.file.error(f"{name} is {table.dtype} of shape {table.shape}; it must be a list of integers")
        return table.astype(np.int64)


def npy_array(file: InputFile) -> NDArray[Any]:
    """Return the array of integers or floats in a file. Pickled objects are never loaded.

    Raises
    ------
    InputError
        The header is damaged, or its number of bytes is not that of the file, or the array holds no numbers.
    """
    stream = io.BytesIO(file.content)
    try:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"format version {version} is not for arrays of numbers")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's advice on files of Python 2
            shape, fortran_order, dtype = read(stream)
    except (ValueError, TypeError, SyntaxError, KeyError, RecursionError, MemoryError, tokenize.TokenError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise file.error(f"damaged .npy header: {reason}") from None
    # The header is checked against the bytes that there are, before anything is allocated.
    if dtype.kind not in "iuf":
        raise file.error(f"holds {dtype}; it must hold integers or floats")
    needed, available = math.prod(shape) * dtype.itemsize, len(file.content) - stream.tell()
    if needed != available or min(shape, default=0) < 0:
        raise file.error(f"the header says {needed} bytes (shape {tuple(shape)}, {dtype}), but there are {available}")
    flat = np.frombuffer(file.content, dtype=dtype, offset=stream.tell())
    return flat.reshape(shape, order="F" if fortran_order else "C")


def read_npy(file: InputFile, precision: Precision | None = None) -> Tsp:
    """Return the problem of a square matrix of integers or floats, with the errors of `npy_array` and `from_matrix`."""
    # With the path as its name, so that errors begin with the path.
    tsp = from_matrix(npy_array(file), file.name, precision=precision)
    return replace(tsp, name=file.stem or "matrix")


def write_npy(tsp: Tsp, path: str) -> None:
    """Write the cost matrix with zeros on the diagonal, as floats if costs have decimals, else as integers.

    Raises
    ------
    EnvironmentFault
        The file cannot be written.
    """
    stream, cost = io.BytesIO(), tsp.cost.copy()
    if tsp.scale != 1:
        cost = np.where(cost == NO_ARC, np.inf, cost / tsp.scale)
    np.fill_diagonal(cost, 0)
    np.save(stream, cost)
    write_file(stream.getvalue(), path)


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
            file = open_file(source)
            if is_npy(file.content):
                arrays = [npy_array(file)]
            elif is_zip(file.content):
                archive = Archive(file)
                arrays = [archive.array(name) for name in archive.names]
            else:
                raise file.error("is no .npz file of numpy.savez, no .npy file and no folder")
            return batch_of_arrays(file, arrays, precision), file.sha256
    files = source if not isinstance(source, str) else sorted(
        os.path.join(source, name) for name in os.listdir(source) if not name.startswith("."))
    if not files:
        raise InputError(f"instance.batch: {source or 'the list'} has no files; give a folder or a list of instances")
    found = [read(file) for file in files]
    name = os.path.basename(os.path.normpath(source)) if isinstance(source, str) else f"{len(files)} files"
    digest = hashlib.sha256("".join(instance.sha256 for instance in found).encode()).hexdigest()
    folder = os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])
    names = tuple(os.path.relpath(file, folder) for file in files)
    return batch_of([instance.problem for instance in found], name, names), digest


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
        if array.dtype.kind not in "iuf":  # objects would lose their decimals
            raise file.error(f"holds {array.dtype}; it must hold integers or floats")
    made = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays if len(array)]
    parts = (part_of_costs(costs_of_table(table, precision, file.name), file.name) for table in made)
    return require_common_scale(TspBatch(file.stem or "batch", tuple(parts)))


_FORMATS = {b"csr": ("indptr", "indices"), b"csc": ("indptr", "indices"), b"coo": ("row", "col")}


def read_sparse_npz(file: InputFile, directed: bool | None = None) -> Graph:
    """Return the graph of a matrix in the format csr, csc or coo, with the labels 0..n-1.

    Parameters
    ----------
    directed
        False takes each entry as an edge; by default True.

    Raises
    ------
    InputError
        The file is damaged, the matrix has another format or is not square, an index is out of range, or a weight is
        one that `exact_weights` refuses.
    """
    archive = Archive(file)
    # A word that numpy saved as bytes (scipy before 1.0: four bytes for each letter).
    kind = archive.content("format.npy").split(b"\n", 1)[-1].replace(b"\0", b"")
    if kind not in _FORMATS:
        text = kind[:20].decode("latin-1")
        raise file.error(f"the sparse format is {text!r}; save csr, csc or coo, for example matrix.tocsr()")
    shape = archive.integers("shape")[:3].tolist()
    values = archive.array("data.npy")
    first, second = (archive.integers(name) for name in _FORMATS[kind])
    if len(shape) != 2 or shape[0] != shape[1]:
        raise file.error(f"the matrix has shape {tuple(shape)}; a graph needs a square one")
    n = shape[0]
    require_plausible(file, n, None, 8 * (len(first) + len(second)))
    if kind != b"coo":  # the row of each entry, from the offsets of the rows
        if len(first) != n + 1 or first[0] != 0 or first[-1] != len(second) or (np.diff(first) < 0).any():
            raise file.error(f"indptr does not divide {len(second)} entries into {n} rows; the file is damaged")
        first = np.repeat(np.arange(n), np.diff(first))
    rows, columns = (second, first) if kind == b"csc" else (first, second)
    if not rows.shape == columns.shape == values.shape:
        raise file.error(f"indices and data have shapes {rows.shape}, {columns.shape}, {values.shape}")
    for ends in (rows, columns):
        require_in_range(ends, n, file.name, f"entry {{index}}: vertex {{value}} is out of range 0 to {n - 1}")
    try:
        weights, scale = exact_weights(values, n)
    except BadNumber as problem:
        raise file.error(f"the weight of entry {problem.index} {problem.reason}") from None
    return assembled(file.stem or "graph", n, rows, columns, weights, directed=directed is not False, scale=scale)

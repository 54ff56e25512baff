"""Sparse matrices that `scipy.sparse.save_npz` wrote: a zip file of arrays, with an arc from u to v for each entry."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import MAXIMUM_BYTES, InputFile
from hpcsolve.formats.graph.columns import require_plausible
from hpcsolve.formats.npy import npy_array
from hpcsolve.problems.decimals import BadNumber
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled
from hpcsolve.problems.weights import exact_weights

_FORMATS = {b"csr": ("indptr", "indices"), b"csc": ("indptr", "indices"), b"coo": ("row", "col")}


def is_zip(content: bytes) -> bool:
    """Return whether some content is a zip file."""
    return content.startswith(b"PK\x03\x04")


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
    with _opened(file) as archive:
        kind = _kind(file, archive)
        shape = [int(size) for size in _integers(file, archive, "shape")]
        values = _member(file, archive, "data")
        first, second = (_integers(file, archive, name) for name in _FORMATS[kind])
    if len(shape) != 2 or shape[0] != shape[1]:
        raise file.error(f"the matrix has shape {tuple(shape)}; a graph needs a square one")
    n = shape[0]
    require_plausible(file, n, None, 8 * (len(first) + len(second)))
    try:
        if kind != b"coo":
            first = _expanded(file, first, n, len(second))
        rows, columns = (second, first) if kind == b"csc" else (first, second)
        _require_indices(file, n, rows, columns, values)
        weights, scale = exact_weights(values, n)
    except BadNumber as problem:
        raise file.error(f"the weight of entry {problem.index} {problem.reason}") from None
    return assembled(file.stem or "graph", n, rows, columns, weights, directed=directed is not False, scale=scale)


def _opened(file: InputFile) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(file.content))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
        raise file.error(f"is a damaged zip file: {problem}") from None


def _member(file: InputFile, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    return npy_array(InputFile(f"{file.name}: {name}.npy", _bytes(file, archive, name), ""))


def _bytes(file: InputFile, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        with archive.open(f"{name}.npy") as stream:
            content = stream.read(MAXIMUM_BYTES + 1)
    except KeyError:
        raise file.error(f"has no array {name!r}; save it with scipy.sparse.save_npz") from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError) as problem:
        raise file.error(f"is damaged, {name}.npy cannot be read: {problem}") from None
    if len(content) > MAXIMUM_BYTES:
        raise file.error(f"{name}.npy holds more than {MAXIMUM_BYTES // 2**30} GiB")
    return content


def _kind(file: InputFile, archive: zipfile.ZipFile) -> bytes:
    """Return the matrix format, a word that numpy saved as bytes (scipy before 1.0: four bytes for each letter)."""
    word = _bytes(file, archive, "format").split(b"\n", 1)[-1].replace(b"\0", b"")
    if word not in _FORMATS:
        text = word[:20].decode("latin-1")
        raise file.error(f"the sparse format is {text!r}; save csr, csc or coo, for example matrix.tocsr()")
    return word


def _integers(file: InputFile, archive: zipfile.ZipFile, name: str) -> NDArray[np.int64]:
    table = _member(file, archive, name)
    if table.ndim != 1 or table.dtype.kind not in "iu":
        raise file.error(f"{name} is {table.dtype} of shape {table.shape}; it must be a list of integers")
    return table.astype(np.int64)


def _expanded(file: InputFile, offsets: NDArray[np.int64], n: int, entries: int) -> NDArray[np.int64]:
    """Return the row of each entry, from the offsets of the rows."""
    ends = (offsets[0], offsets[-1]) if len(offsets) else (None, None)
    if len(offsets) != n + 1 or ends != (0, entries) or (np.diff(offsets) < 0).any():
        raise file.error(f"indptr does not divide {entries} entries into {n} rows; the file is damaged")
    return np.repeat(np.arange(n), np.diff(offsets))


def _require_indices(file: InputFile, n: int, *arrays: NDArray[Any]) -> None:
    rows, columns, values = arrays
    if not rows.shape == columns.shape == values.shape:
        raise file.error(f"indices and data have shapes {rows.shape}, {columns.shape}, {values.shape}")
    for ends in (rows, columns):
        if ends.size and (ends.min() < 0 or ends.max() >= n):
            index = int(np.argmax((ends < 0) | (ends >= n)))
            raise InputError(f"entry {index}: vertex {ends[index]} is out of range 0 to {n - 1}", file.name)

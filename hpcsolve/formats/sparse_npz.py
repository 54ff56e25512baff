"""scipy's sparse matrices (`scipy.sparse.save_npz`): a zip file of arrays; entry (u, v) is the arc from u to v."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.base import MAXIMUM_BYTES, Source
from hpcsolve.formats.lines import require_plausible
from hpcsolve.formats.matrix import npy_array
from hpcsolve.problems.decimals import BadNumber
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled
from hpcsolve.problems.weights import exact_weights

ZIP_MAGIC = b"PK\x03\x04"
_FORMATS = {b"csr": ("indptr", "indices"), b"csc": ("indptr", "indices"), b"coo": ("row", "col")}


def read_sparse_npz(source: Source, directed: bool | None = None) -> Graph:
    """Read a sparse matrix in the format csr, csc or coo; labels are 0..n-1.

    Parameters
    ----------
    directed
        False takes each entry as an edge; default True.

    Raises
    ------
    InputError
        Damaged, another format, not square, indices out of range, weights as `exact_weights` refuses.
    """
    with _opened(source) as archive:
        kind = _kind(source, archive)
        shape = [int(size) for size in _integers(source, archive, "shape")]
        values = _member(source, archive, "data")
        first, second = (_integers(source, archive, name) for name in _FORMATS[kind])
    if len(shape) != 2 or shape[0] != shape[1]:
        raise source.error(f"the matrix has shape {tuple(shape)}; a graph's is square")
    n = shape[0]
    require_plausible(source, n, None, 8 * (len(first) + len(second)))
    try:
        if kind != b"coo":
            first = _expanded(source, first, n, len(second))
        rows, columns = (second, first) if kind == b"csc" else (first, second)
        _require_indices(source, n, rows, columns, values)
        weights, scale = exact_weights(values, n)
    except BadNumber as problem:
        raise source.error(f"the weight of entry {problem.index} {problem.reason}") from None
    return assembled(source.stem or "graph", n, rows, columns, weights, directed=directed is not False, scale=scale)


def _opened(source: Source) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(source.content))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
        raise source.error(f"is a damaged zip file: {problem}") from None


def _member(source: Source, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    return npy_array(Source(f"{source.name}: {name}.npy", _bytes(source, archive, name), ""))


def _bytes(source: Source, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        with archive.open(f"{name}.npy") as file:
            content = file.read(MAXIMUM_BYTES + 1)
    except KeyError:
        raise source.error(f"has no array {name!r}; save it with scipy.sparse.save_npz") from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError) as problem:
        raise source.error(f"is damaged, {name}.npy cannot be read: {problem}") from None
    if len(content) > MAXIMUM_BYTES:
        raise source.error(f"{name}.npy holds more than {MAXIMUM_BYTES // 2**30} GiB")
    return content


def _kind(source: Source, archive: zipfile.ZipFile) -> bytes:
    """The format's name, a text of one word, which numpy saved as bytes (or, scipy before 1.0, in four a letter)."""
    word = _bytes(source, archive, "format").split(b"\n", 1)[-1].replace(b"\0", b"")
    if word not in _FORMATS:
        text = word[:20].decode("latin-1")
        raise source.error(f"the sparse format is {text!r}; save csr, csc or coo, for example matrix.tocsr()")
    return word


def _integers(source: Source, archive: zipfile.ZipFile, name: str) -> NDArray[np.int64]:
    table = _member(source, archive, name)
    if table.ndim != 1 or table.dtype.kind not in "iu":
        raise source.error(f"{name} is {table.dtype} of shape {table.shape}; it must be a list of integers")
    return table.astype(np.int64)


def _expanded(source: Source, offsets: NDArray[np.int64], n: int, entries: int) -> NDArray[np.int64]:
    """The row of each entry, from the offsets of rows."""
    ends = (offsets[0], offsets[-1]) if len(offsets) else (None, None)
    if len(offsets) != n + 1 or ends != (0, entries) or (np.diff(offsets) < 0).any():
        raise source.error(f"indptr does not divide {entries} entries into {n} rows; the file is damaged")
    return np.repeat(np.arange(n), np.diff(offsets))


def _require_indices(source: Source, n: int, *arrays: NDArray[Any]) -> None:
    rows, columns, values = arrays
    if not rows.shape == columns.shape == values.shape:
        raise source.error(f"indices and data have shapes {rows.shape}, {columns.shape}, {values.shape}")
    for ends in (rows, columns):
        if ends.size and (ends.min() < 0 or ends.max() >= n):
            index = int(np.argmax((ends < 0) | (ends >= n)))
            raise InputError(f"entry {index}: vertex {ends[index]} is out of range 0 to {n - 1}", source.name)

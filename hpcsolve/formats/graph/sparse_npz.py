"""Sparse matrices that `scipy.sparse.save_npz` wrote: a zip file of arrays, with an arc from u to v for each entry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.graph.columns import require_plausible
from hpcsolve.formats.npy import Archive
from hpcsolve.problems.decimals import BadNumber
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled
from hpcsolve.problems.weights import exact_weights

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
    kind = _kind(archive)
    shape = _integers(archive, "shape")[:3].tolist()
    values = archive.array("data.npy")
    first, second = (_integers(archive, name) for name in _FORMATS[kind])
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


def _kind(archive: Archive) -> bytes:
    """Return the matrix format, a word that numpy saved as bytes (scipy before 1.0: four bytes for each letter)."""
    word = archive.content("format.npy").split(b"\n", 1)[-1].replace(b"\0", b"")
    if word not in _FORMATS:
        text = word[:20].decode("latin-1")
        raise archive.file.error(f"the sparse format is {text!r}; save csr, csc or coo, for example matrix.tocsr()")
    return word


def _integers(archive: Archive, name: str) -> NDArray[np.int64]:
    table = archive.array(f"{name}.npy")
    if table.ndim != 1 or table.dtype.kind not in "iu":
        raise archive.file.error(f"{name} is {table.dtype} of shape {table.shape}; it must be a list of integers")
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

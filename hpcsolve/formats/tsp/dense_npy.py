"""Cost matrices in numpy's `.npy` files.

An entry is the cost from the row's city to the column's, or `inf` if there is no arc. The diagonal is ignored.
"""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np

from hpcsolve.formats.files import InputFile, write_file
from hpcsolve.formats.npy import npy_array
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import FORBIDDEN, Tsp
from hpcsolve.problems.tsp_matrix import from_matrix


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
        cost = np.where(cost == FORBIDDEN, np.inf, cost / tsp.scale)
    np.fill_diagonal(cost, 0)
    np.save(stream, cost)
    write_file(stream.getvalue(), path)

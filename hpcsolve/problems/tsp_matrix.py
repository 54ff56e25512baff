"""Travelling salesman problems from a matrix of costs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.decimals import FORBIDDEN, BadNumber, too_large
from hpcsolve.problems.rounding import Costs, Precision, costs_from_floats, costs_from_texts
from hpcsolve.problems.tsp import BYTES_A_COST, Tsp, from_costs, largest_cost, require_memory
from hpcsolve.wording import counted

BYTES_BY_KIND = {"i": BYTES_A_COST, "u": BYTES_A_COST, "f": 40, "O": 100}
"""Bytes for each entry that an instance takes beside the matrix that it is made of, by the kind of its numbers.

Decimals are scaled and compared, and Python objects become texts before.
"""


def from_matrix(
    matrix: ArrayLike, name: str = "matrix", *, city_names: Sequence[str] = (), precision: Precision | None = None
) -> Tsp:
    """Build an instance from a square table of integers, floats or decimals.

    Parameters
    ----------
    matrix
        Shape (n, n): costs from row to column. `inf`, or `FORBIDDEN` among integers, is a forbidden arc. The diagonal
        is ignored. Decimals are scaled exactly by a power of ten. Cities are labelled 0..n-1.
    precision
        How to round decimals that are too many for that; by default they are refused.

    Raises
    ------
    InputError
        If the table is not square, or an entry is not a number, is NaN, is too large or has too many digits.
    """
    table = _square(matrix, name)
    n = len(table)
    require_memory(n, BYTES_BY_KIND[table.dtype.kind])
    if len(city_names) not in (0, n):
        what = f"{counted(len(city_names), 'city name')} for {counted(n, 'city')}"
        raise InputError(f"{what}; give one name for each city", name)
    try:
        cost, scale, rounding = _costs(table, precision, name)
    except BadNumber as problem:
        row, column = divmod(problem.index, n)
        raise InputError(f"the cost from city {row} to city {column} {problem.reason}", name) from None
    return from_costs(cost.reshape(n, n), name, scale=scale, rounding=rounding, city_names=city_names)


def _no_square(given: Any, shape: tuple[int, ...]) -> str:
    """Return what is wrong with something that is not a square table, and what may have been meant."""
    if hasattr(given, "is_directed"):
        return "a graph of networkx has no tours; take networkx.to_numpy_array(graph, nonedge=numpy.inf) as the costs"
    if shape in ((), (0,)):
        shown = "an empty list" if shape else type(given).__name__
        return f"{shown} is no problem; give costs from row to column, a DataFrame with lat and lon, a graph, or a file"
    several = ", a batch a numpy array of shape (instances, n, n)" if len(shape) == 3 else ""
    if len(shape) == 2 and shape[1] in (2, 3):
        several = "; of points take scipy.spatial.distance.cdist(points, points)"
    return f"the cost matrix has shape {shape}; it must be (n, n), from row to column{several}"


def _square(matrix: ArrayLike, name: str) -> NDArray[Any]:
    if isinstance(matrix, np.ma.MaskedArray):
        raise InputError("the cost matrix is a masked array; fill it with numpy.inf where there is no arc", name)
    try:
        table = np.asarray(matrix)
    except (ValueError, TypeError) as problem:
        raise InputError(f"the cost matrix is not a table of numbers: {problem}", name) from None
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.shape[0] == 0:
        raise InputError(_no_square(matrix, table.shape), name)
    if table.dtype.kind not in "iufO":
        raise InputError(f"the cost matrix holds {table.dtype}; it must hold integers or floats", name)
    return table


def _costs(table: NDArray[Any], precision: Precision | None, name: str) -> Costs:
    """Return the flattened table as integers, whatever its diagonal holds."""
    n = len(table)
    limit = largest_cost(n)
    if table.dtype.kind in "iu":
        # These alone would change sign as int64; from_costs checks the others.
        beyond = np.flatnonzero(table > np.asarray(FORBIDDEN, dtype=np.uint64)) if table.dtype == np.uint64 else ()
        for index in beyond:
            if index % (n + 1):
                raise BadNumber(int(index), too_large(str(table.flat[index]), limit))
        return Costs(table.astype(np.int64, order="C").reshape(-1), 1)
    flat = table.flatten()
    flat[:: n + 1] = np.inf
    if table.dtype.kind == "f":
        return costs_from_floats(flat, n, limit, precision, name)
    texts = [_text_of(value, index) for index, value in enumerate(flat)]
    return costs_from_texts(texts, n, limit, precision, name)


def _text_of(value: object, index: int) -> str:
    """Return the decimal form of a Python number in an array of objects."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if abs(int(value)) > FORBIDDEN:
            raise BadNumber(index, "is too large: it does not fit 64 bits")
        return "inf" if value == FORBIDDEN else str(value)
    if isinstance(value, (float, np.floating, Decimal)):
        return str(value)
    raise BadNumber(index, f"is not a number: {type(value).__name__}")

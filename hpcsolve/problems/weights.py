"""Weights of arcs as the engines take them: exact unsigned integers wherever that is possible, else doubles.

Integers stay what they are, up to 2 ** 64 - 2. Decimals of at most nine places become integers with one power of ten as
their scale, if no path's sum can then overflow; all other numbers stay doubles, whose order is that of their bit
patterns. What comes out follows from the instance alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.problems.decimals import BadNumber, few_decimals

Weights = NDArray[np.uint32] | NDArray[np.uint64] | NDArray[np.float64]

LARGEST_WEIGHT = 2**64 - 2
"""2 ** 64 - 1 stands for `unreached`."""

_EXACT_FLOATS = 2.0**53


def exact_weights(values: ArrayLike, n: int) -> tuple[Weights, int]:
    """Check the weights of a graph's arcs and bring them into their final form.

    Parameters
    ----------
    values
        Shape (m,), integers, floats or truth values, at least 0; of float32 the exact value counts.
    n
        Number of vertices: a path has fewer arcs.

    Returns
    -------
    weights, scale
        uint32 where all fit, else uint64, or float64 (then without -0.0); `weights / scale` are the values, and the
        scale, a power of ten, is 1 for float64.

    Raises
    ------
    BadNumber
        Naming the first value that is negative, NaN, infinite, too large or no number.
    """
    table = number_table(values)
    if table.dtype.kind == "f":
        return _of_floats(table.astype(np.float64, copy=False), n)
    if table.dtype.kind == "i":
        _refuse(table < 0, table, "is negative")
    whole = table.astype(np.uint64, copy=False)
    _refuse(whole > np.uint64(LARGEST_WEIGHT), table, f"is too large, beyond {LARGEST_WEIGHT}")
    return narrowed(whole), 1


def number_table(values: ArrayLike) -> NDArray[Any]:
    """The array of integers or floats that numpy would make, but with Python's integers exact.

    Raises
    ------
    BadNumber
        Other things than numbers, or an integer beyond 64 bits.
    """
    try:
        table = np.asarray(values)
        items = np.asarray(values, dtype=object) if table.dtype.kind in "fO" and table is not values else table
    except (ValueError, TypeError):
        raise BadNumber(0, "is no number: the weights are no table of numbers") from None
    if items.dtype == object and all(isinstance(item, int) for item in items.flat):
        # numpy makes floats of lists with an integer beyond 2 ** 63.
        table = _of_integers(items)
    if table.dtype.kind not in "biuf":
        raise BadNumber(0, f"is no number: the weights are {table.dtype}; give integers or floats")
    return table.astype(np.uint8) if table.dtype.kind == "b" else table


def _of_integers(items: NDArray[Any]) -> NDArray[np.uint64]:
    _refuse(np.asarray(items < 0, dtype=bool), items, "is negative")
    _refuse(np.asarray(items > LARGEST_WEIGHT, dtype=bool), items, f"is too large, beyond {LARGEST_WEIGHT}")
    return items.astype(np.uint64)


def _of_floats(values: NDArray[np.float64], n: int) -> tuple[Weights, int]:
    _refuse(np.isnan(values), values, "is NaN; give a number")
    _refuse(values < 0, values, "is negative")
    _refuse(np.isinf(values), values, "is infinite; leave arcs out that do not exist")
    if values.size == 0 or (values.max() < _EXACT_FLOATS and np.array_equal(np.rint(values), values)):
        return narrowed(values.astype(np.uint64)), 1
    scaled = few_decimals(values, (2**63 - 1) // max(n, 1))
    if scaled is None:
        return values + 0.0, 1
    return narrowed(scaled[0].astype(np.uint64)), scaled[1]


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], reason: str) -> None:
    if bad.any():
        index = int(np.argmax(bad))
        value = values[index]
        raise BadNumber(index, f"{reason}: {value:.17g}" if values.dtype.kind == "f" else f"{reason}: {value}")


def narrowed(values: Weights) -> Weights:
    """Integers as uint32 if all fit; floats as they are."""
    if values.dtype != np.uint64 or (values.size and values.max() >= 2**32):
        return values
    return values.astype(np.uint32)

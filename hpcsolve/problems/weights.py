"""Weights of arcs in the form that the engines take: exact unsigned integers where possible, else doubles.

Integers up to 2 ** 64 - 2 are kept. Decimals of at most nine places become integers with one power of ten as their
scale, unless the length of a path could then overflow. All other numbers become doubles, whose order is that of their
bit patterns. The form depends on the instance alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.problems.decimals import BadNumber, few_decimals
from hpcsolve.problems.rounding import Precision, Rounding, exact_floats, exact_integers, rounded

Weights = NDArray[np.uint32] | NDArray[np.uint64] | NDArray[np.float64]

LARGEST_WEIGHT = 2**64 - 2
"""2 ** 64 - 1 marks vertices that are not reached."""

_EXACT_FLOATS = 2.0**53


def exact_weights(values: ArrayLike, n: int) -> tuple[Weights, int]:
    """Check the weights of a graph's arcs and bring them into their final form.

    Parameters
    ----------
    values
        Shape (m,): integers, floats or booleans of at least 0. The exact value of a float32 counts.
    n
        Number of vertices, which bounds the number of arcs of a path.

    Returns
    -------
    weights, scale
        uint32 where all weights fit, else uint64, or float64 without -0.0, and a power of ten, which is 1 for float64.
        The values are `weights / scale`.

    Raises
    ------
    BadNumber
        For the first value that is negative, NaN, infinite, too large or not a number.
    """
    table = number_table(values)
    if table.dtype.kind == "f":
        return _of_floats(table.astype(np.float64, copy=False), n)
    if table.dtype.kind == "i":
        _refuse(table < 0, table, "is negative")
    whole = table.astype(np.uint64, copy=False)
    _refuse(whole > np.uint64(LARGEST_WEIGHT), table, f"is too large, above {LARGEST_WEIGHT}")
    return narrowed(whole), 1


def rounded_weights(
    weights: Weights, scale: int, size: tuple[int, int], precision: Precision, name: str
) -> tuple[Weights, int, Rounding | None]:
    """Return weights rounded to fewer decimals, their scale, and how they were rounded, None if they are exact.

    Parameters
    ----------
    weights, scale
        As `exact_weights` returns them.
    size
        The numbers of vertices and of edges (arcs, if the graph is directed).

    Raises
    ------
    InputError
        As `rounding.rounded`.
    """
    if weights.dtype.kind == "u":
        found = rounded(weights / scale, exact_integers(weights, scale), size, precision, name)
    else:
        numbers = weights.astype(np.float64, copy=False)
        found = rounded(numbers, exact_floats(numbers), size, precision, name)
        if (found.values < _EXACT_FLOATS).all() and np.array_equal(found.values / float(found.scale), numbers):
            found = found._replace(rounding=None)  # exact after all: floats only since they have ten decimals or more
    return narrowed(found.values.astype(np.uint64)), found.scale, found.rounding


def number_table(values: ArrayLike) -> NDArray[Any]:
    """Return the array of integers or floats that numpy would make, but with Python's integers kept exact.

    Raises
    ------
    BadNumber
        For anything but numbers, and for integers that do not fit 64 bits.
    """
    try:
        table = np.asarray(values)
        items = np.asarray(values, dtype=object) if table.dtype.kind in "fO" and table is not values else table
    except (ValueError, TypeError):
        raise BadNumber(0, "is not a number: the weights are not a table of numbers") from None
    if items.dtype == object and all(isinstance(item, int) for item in items.flat):
        # numpy turns lists with an integer of 2 ** 63 or more into floats.
        table = _of_integers(items)
    if table.dtype.kind not in "biuf":
        raise BadNumber(0, f"is not a number: the weights are {table.dtype}; give integers or floats")
    return table.astype(np.uint8) if table.dtype.kind == "b" else table


def _of_integers(items: NDArray[Any]) -> NDArray[np.uint64]:
    _refuse(np.asarray(items < 0, dtype=bool), items, "is negative")
    _refuse(np.asarray(items > LARGEST_WEIGHT, dtype=bool), items, f"is too large, above {LARGEST_WEIGHT}")
    return items.astype(np.uint64)


def _of_floats(values: NDArray[np.float64], n: int) -> tuple[Weights, int]:
    _refuse(np.isnan(values), values, "is NaN; give a number")
    _refuse(values < 0, values, "is negative")
    _refuse(np.isinf(values), values, "is infinite; leave out arcs that do not exist")
    if values.size == 0 or (values.max() < _EXACT_FLOATS and np.array_equal(np.rint(values), values)):
        return narrowed(values.astype(np.uint64)), 1
    scaled = few_decimals(values, (2**63 - 1) // max(n, 1))
    if scaled is None:
        return values + 0.0, 1
    return narrowed(scaled[0].astype(np.uint64)), scaled[1]


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], reason: str) -> None:
    """Raise a BadNumber for the first bad value, if there is any."""
    if bad.any():
        index = int(np.argmax(bad))
        value = values[index]
        raise BadNumber(index, f"{reason}: {value:.17g}" if values.dtype.kind == "f" else f"{reason}: {value}")


def narrowed(values: Weights) -> Weights:
    """Return integers as uint32 if all of them fit, other values unchanged."""
    if values.dtype != np.uint64 or (values.size and values.max() >= 2**32):
        return values
    return values.astype(np.uint32)

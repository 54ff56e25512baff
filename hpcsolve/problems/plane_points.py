"""Points in a plane, whose costs are the straight distances between them, and the columns of tables for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import BYTES_BY_KIND, Tsp, from_matrix, require_memory

AXES = ("x", "y")
"""Titles of columns, in any case."""
_LARGEST = 1e150
"""Larger coordinates have squares that floats do not have."""


def has_plane_columns(titles: Sequence[object]) -> bool:
    """Return whether a table with these titles has one column x and one column y, in either case."""
    words = [str(title).strip().lower() for title in titles]
    return all(words.count(axis) == 1 for axis in AXES)


def is_points(problem: Any) -> bool:
    """Return whether something is an array, or lists, of shape (n, 2): points. Of two rows it is a matrix of costs."""
    try:
        shape = np.shape(problem)
    except (ValueError, TypeError):
        return False
    return len(shape) == 2 and shape[1] == 2 and shape[0] not in (0, 2)


def from_points_in_plane(
    points: ArrayLike, name: str = "points", *, city_names: Sequence[str] = (), labels: ArrayLike | None = None,
    precision: Precision | None = None, notes: tuple[str, ...] = (),
) -> Tsp:
    """Return the instance of points in a plane. Costs are distances as floats, which are rounded as other floats are.

    Parameters
    ----------
    points
        Shape (n, 2), finite.
    labels
        Shape (n,), different integers, by default 0..n-1.
    precision
        As in `from_matrix`.
    notes
        As in `Tsp`.

    Raises
    ------
    InputError
        A coordinate is missing, no number or too large; or as in `from_matrix`.
    ResourceError
        The matrix of distances would not fit this machine.
    """
    places = _numbers(points, name)
    require_memory(len(places), BYTES_BY_KIND["f"])
    apart = places[:, None] - places[None]
    costs = np.sqrt(apart[..., 0] * apart[..., 0] + apart[..., 1] * apart[..., 1])
    tsp = from_matrix(costs, name, city_names=city_names, precision=precision)
    numbers = tsp.labels if labels is None else np.asarray(labels, dtype=np.int64)
    if len(np.unique(numbers)) < tsp.n:
        raise InputError("two points have the same number; give each its own", name)
    return replace(tsp, coordinates=places, labels=numbers, notes=notes + _maybe_degrees(places))


def _numbers(points: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return the points as floats. Raises `InputError`."""
    try:
        table = np.asarray(points)
        places = table.astype(np.float64) if table.dtype.kind in "iufO" else None
    except (ValueError, TypeError):
        places = None
    if places is None:
        raise InputError("the coordinates are not numbers; give x and y of each point", name)
    for index, axis in np.argwhere(~(np.abs(places) <= _LARGEST)).tolist():
        value = places[index, axis]
        what = "is missing" if np.isnan(value) else f"is too large: {value:g}"
        raise InputError(f"{AXES[axis]} of point {index} {what}", name)
    return places


def _maybe_degrees(places: NDArray[np.float64]) -> tuple[str, ...]:
    """Return the note on points that may be degrees, if all are in their range and some are beyond a unit square."""
    largest = np.abs(places).max(axis=0)
    if 1 < largest.max() <= 180 and largest.min() <= 90 and (places != np.rint(places)).any():
        return ("read:   costs are distances in the plane; if x and y are degrees, give columns lat and lon",)
    return ()

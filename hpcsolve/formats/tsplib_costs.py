"""What TSPLIB 95 says of costs: its distance functions, for whole matrices, and its orders of a matrix's entries.

Source: G. Reinelt, TSPLIB 95 (documentation of the library, section 2), and its list of frequent questions for GEO:
degrees are truncated, not rounded, and PI is 3.141592. `nint(x)` is floor(x + 1/2); all distances are double precision.
Each function takes one block of cities and all cities, shapes (b, 1, d) and (1, n, d), and gives float64 (b, n)
whose values are integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Distance = Callable[[Points, Points], NDArray[np.float64]]

_BLOCK_ENTRIES = 1 << 20
"""Number of matrix entries that are computed at a time, so that temporary arrays take some 8 MiB each."""


def dimensions(edge_weight_type: str) -> int:
    """Return the number of coordinates of a city for an EDGE_WEIGHT_TYPE: 2 or 3."""
    return 3 if edge_weight_type.endswith("3D") or edge_weight_type.startswith("XRAY") else 2


def distance_matrix(points: Points, edge_weight_type: str, largest: int) -> NDArray[np.int64] | None:
    """Return the distances between all cities.

    Parameters
    ----------
    points
        Shape (n, 2 or 3), finite.
    edge_weight_type
        A key of `distance_functions()`.
    largest
        The largest distance that is allowed.

    Returns
    -------
    cost
        Shape (n, n), int64, diagonal included. None if a distance is too large.
    """
    distance = distance_functions()[edge_weight_type]
    n = len(points)
    cost = np.empty((n, n), dtype=np.int64)
    step = max(_BLOCK_ENTRIES // n, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        points = _radians(points) if edge_weight_type == "GEO" else points
        for begin in range(0, n, step):
            block = distance(points[begin : begin + step, None], points[None])
            if not (block <= float(largest)).all():
                return None
            cost[begin : begin + step] = block
    return cost


def distance_functions() -> Mapping[str, Distance]:
    """Return the function of every EDGE_WEIGHT_TYPE that is a function of coordinates."""
    return {
        "EUC_2D": _euclidean,
        "EUC_3D": _euclidean,
        "MAN_2D": _manhattan,
        "MAN_3D": _manhattan,
        "MAX_2D": _maximum,
        "MAX_3D": _maximum,
        "CEIL_2D": _euclidean_up,
        "GEO": _geographical,
        "ATT": _pseudo_euclidean,
        "XRAY1": _diffractometer_1,
        "XRAY2": _diffractometer_2,
    }


def _nint(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.floor(x + 0.5)


def _squares(a: Points, b: Points) -> NDArray[np.float64]:
    """Return sums of squared differences, added in the order x, y, z."""
    total = np.square(a[..., 0] - b[..., 0])
    for axis in range(1, a.shape[-1]):
        total += np.square(a[..., axis] - b[..., axis])
    return total


def _euclidean(a: Points, b: Points) -> NDArray[np.float64]:
    return _nint(np.sqrt(_squares(a, b)))


def _euclidean_up(a: Points, b: Points) -> NDArray[np.float64]:
    return np.ceil(np.sqrt(_squares(a, b)))


def _pseudo_euclidean(a: Points, b: Points) -> NDArray[np.float64]:
    root = np.sqrt(_squares(a, b) / 10.0)
    rounded = _nint(root)
    return np.where(rounded < root, rounded + 1.0, rounded)


def _manhattan(a: Points, b: Points) -> NDArray[np.float64]:
    total = np.abs(a[..., 0] - b[..., 0])
    for axis in range(1, a.shape[-1]):
        total += np.abs(a[..., axis] - b[..., axis])
    return _nint(total)


def _maximum(a: Points, b: Points) -> NDArray[np.float64]:
    largest = _nint(np.abs(a[..., 0] - b[..., 0]))
    for axis in range(1, a.shape[-1]):
        np.maximum(largest, _nint(np.abs(a[..., axis] - b[..., axis])), out=largest)
    return largest


def _radians(points: Points) -> Points:
    """Return latitudes and longitudes in radians. In the file 38.24 stands for 38 degrees 24 minutes."""
    degrees = np.trunc(points)
    minutes = points - degrees
    return 3.141592 * (degrees + 5.0 * minutes / 3.0) / 180.0


def first_decimal_degrees(points: Points) -> tuple[int, int] | None:
    """Return city and axis of the first coordinate with 60 minutes or more, or None if up to 2 % have as many.

    Of random decimal degrees 40 % have such a fraction. Published files have a few by mistake (3 of the 1070 in
    TSPLIB's ali535), and their published optima count on them.
    """
    minutes = 100.0 * np.abs(points - np.trunc(points))
    wrong = minutes >= 60.0 - 1e-7  # 10.6 is read as a float below 10.60
    if np.count_nonzero(wrong) <= points.size / 50:
        return None
    city, axis = np.argwhere(wrong)[0]
    return int(city), int(axis)


def _geographical(a: Points, b: Points) -> NDArray[np.float64]:
    """Return kilometres on the idealised sphere. By the formula even two cities at the same point are 1 km apart."""
    q1 = np.cos(a[..., 1] - b[..., 1])
    q2 = np.cos(a[..., 0] - b[..., 0])
    q3 = np.cos(a[..., 0] + b[..., 0])
    cosine = np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0)
    return np.trunc(6378.388 * np.arccos(cosine) + 1.0)


def _angles(a: Points, b: Points) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the angles by which the three motors of an X-ray diffractometer turn, the first one the shorter way."""
    phi = np.abs(a[..., 0] - b[..., 0])
    return np.minimum(phi, np.abs(phi - 360.0)), np.abs(a[..., 1] - b[..., 1]), np.abs(a[..., 2] - b[..., 2])


def _diffractometer_1(a: Points, b: Points) -> NDArray[np.float64]:
    phi, chi, theta = _angles(a, b)
    return _nint(100.0 * np.maximum(phi, np.maximum(chi, theta)))


def _diffractometer_2(a: Points, b: Points) -> NDArray[np.float64]:
    phi, chi, theta = _angles(a, b)
    return _nint(100.0 * np.maximum(phi / 1.25, np.maximum(chi / 1.5, theta / 1.15)))


@dataclass(frozen=True)
class EntryOrder:
    """The part of a matrix that a file lists, row by row.

    Attributes
    ----------
    part
        "full", "upper" or "lower".
    diagonal
        Whether a triangle includes the diagonal.
    """

    part: str
    diagonal: bool = True

    def count(self, n: int) -> int:
        """Return how many numbers are listed for n cities."""
        return n * n if self.part == "full" else n * (n + 1) // 2 if self.diagonal else n * (n - 1) // 2

    def span(self, n: int, row: int) -> tuple[int, int]:
        """Return the first listed column of a row, and the one after the last."""
        if self.part == "full":
            return 0, n
        if self.part == "upper":
            return row + (not self.diagonal), n
        return 0, row + self.diagonal

    def index(self, n: int, row: int, column: int) -> int:
        """Return the place (from 0) at which an entry is listed. The diagonal must be listed if the entry is on it."""
        if self.part != "full" and (row < column) != (self.part == "upper"):
            row, column = column, row
        if self.part == "full":
            return row * n + column
        without = row * (not self.diagonal)
        before = row * (2 * n - row + 1) // 2 - without if self.part == "upper" else row * (row + 1) // 2 - without
        return before + column - self.span(n, row)[0]

    def entry(self, n: int, index: int) -> tuple[int, int]:
        """Return the row and column of the entry at a place in the list. This is the inverse of `index`."""
        for row in range(n):
            first, last = self.span(n, row)
            if index < last - first:
                return row, first + index
            index -= last - first
        raise IndexError(index)

    def matrix(self, values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Return the whole matrix, shape (n, n): triangles are mirrored, a diagonal that is not listed is 0."""
        if self.part == "full":
            return values.reshape(n, n)
        cost = np.zeros((n, n), dtype=np.int64)
        begin = 0
        for row in range(n):
            first, last = self.span(n, row)
            piece = values[begin : begin + last - first]
            cost[row, first:last] = piece
            cost[first:last, row] = piece
            begin += last - first
        return cost


def entry_orders() -> Mapping[str, EntryOrder]:
    """Return the order of every EDGE_WEIGHT_FORMAT of explicit costs."""
    return {
        "FULL_MATRIX": EntryOrder("full"),
        "UPPER_ROW": EntryOrder("upper", False),
        "LOWER_ROW": EntryOrder("lower", False),
        "UPPER_DIAG_ROW": EntryOrder("upper"),
        "LOWER_DIAG_ROW": EntryOrder("lower"),
        "UPPER_COL": EntryOrder("lower", False),
        "LOWER_COL": EntryOrder("upper", False),
        "UPPER_DIAG_COL": EntryOrder("lower"),
        "LOWER_DIAG_COL": EntryOrder("upper"),
    }

"""Distances between points: the functions of TSPLIB 95, for whole matrices, and great circles in metres.

Source: G. Reinelt, TSPLIB 95 (documentation of the library, section 2), and its list of frequent questions for GEO:
degrees are truncated, not rounded, and PI is 3.141592. `nint(x)` is floor(x + 1/2); all distances are double precision.
Each function takes one block of cities and all cities, shapes (b, 1, d) and (1, n, d), and gives float64 (b, n)
whose values are integers.

Source of the great circles: R. W. Sinnott, Virtues of the Haversine, Sky and Telescope 68 (1984), page 159. Such a
distance differs from the distance on the Earth's ellipsoid by at most about 0.6 per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.rounding import largest_cost

Points = NDArray[np.float64]
Distance = Callable[[Points, Points], NDArray[np.float64]]

EARTH_RADIUS = 6_371_008.7714
"""Mean radius of the Earth in metres, (2 a + b) / 3 of the Geodetic Reference System 1980.

Source: H. Moritz, Geodetic Reference System 1980, Journal of Geodesy 74 (2000), pages 128 to 133.
"""
_BLOCK_ENTRIES = 1 << 17
"""Number of matrix entries that are computed at a time, so that temporary arrays take 1 MiB each."""


def distance_matrix(points: Points, distance: Distance) -> NDArray[np.int64]:
    """Return the distances between all cities.

    Parameters
    ----------
    points
        Shape (n, 2 or 3), finite.
    distance
        `metres`, or one of `distance_functions()`.

    Returns
    -------
    cost
        Shape (n, n), int64, diagonal included.

    Raises
    ------
    OverflowError
        A distance is above `largest_cost(n)`, as distances in metres never are.
    """
    n, largest = len(points), float(largest_cost(len(points)))
    cost = np.empty((n, n), dtype=np.int64)
    step = max(_BLOCK_ENTRIES // max(n, 1), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, n, step):
            block = distance(points[begin : begin + step, None], points[None])
            if not (block <= largest).all():
                raise OverflowError
            cost[begin : begin + step] = block
    return cost


def dimensions(edge_weight_type: str) -> int:
    """Return the number of coordinates of a city for an EDGE_WEIGHT_TYPE: 2 or 3."""
    return 3 if edge_weight_type.endswith("3D") or edge_weight_type.startswith("XRAY") else 2


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


def _geographical(a: Points, b: Points) -> NDArray[np.float64]:
    """Return kilometres on the idealised sphere. By the formula even two cities at the same point are 1 km apart."""
    a, b = (3.141592 * (np.trunc(points) + 5.0 * (points - np.trunc(points)) / 3.0) / 180.0 for points in (a, b))
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


def great_circle(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return great-circle distances in metres, the same in both directions, by the haversine formula.

    Parameters
    ----------
    a, b
        Shapes (..., 2), which are broadcast: latitudes and longitudes in decimal degrees.
    """
    (latitude, longitude), (latitude_b, longitude_b) = (np.moveaxis(np.radians(points), -1, 0) for points in (a, b))
    north, east = np.sin((latitude_b - latitude) / 2) ** 2, np.sin((longitude_b - longitude) / 2) ** 2
    haversine = north + np.cos(latitude) * np.cos(latitude_b) * east
    metres: NDArray[np.float64] = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(haversine, 1.0)))
    return metres


def metres(a: Points, b: Points) -> NDArray[np.float64]:
    """Return great-circle distances in whole metres."""
    return np.floor(great_circle(a, b) + 0.5)

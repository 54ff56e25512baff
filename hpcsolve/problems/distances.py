"""Distances between points: the functions of TSPLIB 95, and great circles in metres.

Source: G. Reinelt, TSPLIB 95 (documentation of the library, section 2), and its list of frequent questions for GEO:
degrees are truncated, not rounded, and PI is 3.141592. `nint(x)` is floor(x + 1/2); all distances are double precision.
Each function takes points of shapes (..., d), which are broadcast, and gives float64 (...) whose values are integers,
the same in both directions.

Source of the great circles: R. W. Sinnott, Virtues of the Haversine, Sky and Telescope 68 (1984), page 159. Such a
distance differs from the distance on the Earth's ellipsoid by at most about 0.6 per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Distance = Callable[[Points, Points], NDArray[np.float64]]

EARTH_RADIUS = 6_371_008.7714
"""Mean radius of the Earth in metres, (2 a + b) / 3 of the Geodetic Reference System 1980.

Source: H. Moritz, Geodetic Reference System 1980, Journal of Geodesy 74 (2000), pages 128 to 133.
"""
def dimensions(edge_weight_type: str) -> int:
    """Return the number of coordinates of a city for an EDGE_WEIGHT_TYPE: 2 or 3."""
    return 3 if edge_weight_type.endswith("3D") or edge_weight_type.startswith("XRAY") else 2


def _nint(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.floor(x + 0.5)


def _apart(a: Points, b: Points) -> list[NDArray[np.float64]]:
    """Return the differences of coordinates, an array for each axis. Sums are formed in the order of the axes."""
    return [a[..., axis] - b[..., axis] for axis in range(a.shape[-1])]


def _added(a: Points, b: Points) -> NDArray[np.float64]:
    return _nint(reduce(np.add, map(np.abs, _apart(a, b))))


def _largest(a: Points, b: Points) -> NDArray[np.float64]:
    return reduce(np.maximum, (_nint(np.abs(apart)) for apart in _apart(a, b)))


def _squares(a: Points, b: Points) -> NDArray[np.float64]:
    total, *others = map(np.square, _apart(a, b))
    for square in others:
        total += square  # in place, which is quicker
    return total


def _euclidean(a: Points, b: Points) -> NDArray[np.float64]:
    return _nint(np.sqrt(_squares(a, b)))


def _pseudo_euclidean(a: Points, b: Points) -> NDArray[np.float64]:
    root = np.sqrt(_squares(a, b) / 10.0)
    rounded = _nint(root)
    return np.where(rounded < root, rounded + 1.0, rounded)


def _geographical(a: Points, b: Points) -> NDArray[np.float64]:
    """Return kilometres on the idealised sphere. By the formula even two cities at the same point are 1 km apart."""
    a, b = (3.141592 * (np.trunc(points) + 5.0 * (points - np.trunc(points)) / 3.0) / 180.0 for points in (a, b))
    q1 = np.cos(a[..., 1] - b[..., 1])
    q2 = np.cos(a[..., 0] - b[..., 0])
    q3 = np.cos(a[..., 0] + b[..., 0])
    cosine = np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0)
    return np.trunc(6378.388 * np.arccos(cosine) + 1.0)


def _diffractometer(a: Points, b: Points, speeds: tuple[float, float, float]) -> NDArray[np.float64]:
    """Return 100 times the time of the slowest of the three motors of an X-ray diffractometer, rounded.

    The first motor turns the shorter way. `speeds` are those of the motors, in degrees per unit of time.
    """
    phi, chi, theta = map(np.abs, _apart(a, b))
    turned = (np.minimum(phi, np.abs(phi - 360.0)), chi, theta)
    return _nint(100.0 * reduce(np.maximum, (angle / speed for angle, speed in zip(turned, speeds))))


FUNCTIONS: Mapping[str, Distance] = {
    "EUC_2D": _euclidean,
    "EUC_3D": _euclidean,
    "MAN_2D": _added,
    "MAN_3D": _added,
    "MAX_2D": _largest,
    "MAX_3D": _largest,
    "CEIL_2D": lambda a, b: np.ceil(np.sqrt(_squares(a, b))),
    "GEO": _geographical,
    "ATT": _pseudo_euclidean,
    "XRAY1": lambda a, b: _diffractometer(a, b, (1.0, 1.0, 1.0)),
    "XRAY2": lambda a, b: _diffractometer(a, b, (1.25, 1.5, 1.15)),
}
"""The function of every EDGE_WEIGHT_TYPE that is a function of coordinates."""


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


GREAT_CIRCLE = "GREAT_CIRCLE"
METRICS: Mapping[str, Distance] = {**FUNCTIONS, GREAT_CIRCLE: metres}
"""The function of every metric: an EDGE_WEIGHT_TYPE of coordinates, or `GREAT_CIRCLE` of degrees."""
ON_THE_GLOBE = ("GEO", GREAT_CIRCLE)
"""The metrics whose functions have sines and cosines, whose last bits differ between machines."""


def bounded_distance(points: Points, metric: str) -> float:
    """Return a number that no distance between the points is above, at most some hundred times the largest one."""
    if metric in ON_THE_GLOBE:
        return 4 * EARTH_RADIUS
    with np.errstate(over="ignore"):
        extent = float(np.ptp(points, axis=0).sum())
    return 1.01 * (100 if metric.startswith("XRAY") else 1) * extent + 2

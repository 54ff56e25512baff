"""Distances between points: the functions of TSPLIB 95, and great circles in metres.

Source: G. Reinelt, TSPLIB 95 (documentation of the library, section 2), and its list of frequent questions for GEO:
degrees are truncated, not rounded, and PI is 3.141592. `nint(x)` is floor(x + 1/2); all distances are double precision.
Each function takes points of shapes (..., d), which are broadcast, and gives float64 (...) whose values are integers,
the same in both directions.

On the globe, places are unit vectors, and half the distance between two of them is the sine of half the angle
(`globe`). Great-circle distances differ from those on the Earth's ellipsoid by at most about 0.6 per cent. The
distances of all metrics come from sums, products, quotients and square roots alone, so they are the same on every
machine, and kernels compute the same ones (cuda_src/tours/costs.cuh).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.globe import angle_between, unit_vectors

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
    return np.trunc(6378.388 * angle_between(*(on_the_globe(points, "GEO") for points in (a, b))) + 1.0)


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
    """Return great-circle distances in metres, the same in both directions.

    Parameters
    ----------
    a, b
        Shapes (..., 2), which are broadcast: latitudes and longitudes in decimal degrees.
    """
    return EARTH_RADIUS * angle_between(*(on_the_globe(points, GREAT_CIRCLE) for points in (a, b)))


def metres(a: Points, b: Points) -> NDArray[np.float64]:
    """Return great-circle distances in whole metres."""
    return np.floor(great_circle(a, b) + 0.5)


GREAT_CIRCLE = "GREAT_CIRCLE"
METRICS: Mapping[str, Distance] = {**FUNCTIONS, GREAT_CIRCLE: metres}
"""The function of every metric: an EDGE_WEIGHT_TYPE of coordinates, or `GREAT_CIRCLE` of degrees."""
ON_THE_GLOBE = ("GEO", GREAT_CIRCLE)
"""The metrics of latitudes and longitudes."""


def on_the_globe(points: Points, metric: str) -> Points:
    """Return the unit vectors, shape (..., 3), of latitudes and longitudes as GEO or GREAT_CIRCLE has them."""
    if metric == "GEO":
        degrees = np.trunc(points)
        return unit_vectors(3.141592 * (degrees + 5.0 * (points - degrees) / 3.0) / 180.0)
    return unit_vectors(points * (np.pi / 180))


def bounded_distance(points: Points, metric: str) -> float:
    """Return a number that no distance between the points is above, at most some hundred times the largest one."""
    if metric in ON_THE_GLOBE:
        return 4 * EARTH_RADIUS
    with np.errstate(over="ignore"):
        extent = float(np.ptp(points, axis=0).sum())
    return 1.01 * (100 if metric.startswith("XRAY") else 1) * extent + 2

"""The edges of an answer as arrays, and what several kinds of answers need for their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.geographic import DEGREES_MINUTES

if TYPE_CHECKING:
    from hpcsolve.output.contents import Contents

Rows = Mapping[str, NDArray[Any]]
"""Rows of a table: column name -> values, all of one length."""


@dataclass(frozen=True)
class Edges:
    """The edges of a tour or tree, or the arcs of a shortest-path tree.

    Attributes
    ----------
    tails, heads
        Shape (edges,): positions of the ends. A tour's are in the order of travel.
    weights
        Shape (edges,), in the instance's own unit, or None if the result does not say them.
    directed
        Whether an edge leads from tail to head only.
    vertices
        Positions of the vertices that the answer has, with or without an edge.
    """

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    weights: NDArray[Any] | None
    directed: bool
    vertices: NDArray[np.int64]


def names_of(contents: Contents) -> NDArray[Any]:
    """Return a name for each city or vertex, shape (n,): its name if all have different ones, else its number."""
    names, numbers = shown_names(contents), np.asarray(contents.value("instance", "label"))
    return names if len(set(names.tolist())) == len(numbers) else numbers


def shown_names(contents: Contents) -> NDArray[Any]:
    """Return the names of the cities or vertices, not always unique, or else their numbers, shape (n,)."""
    names = contents.value("instance", "city_name", contents.value("instance", "vertex_name"))
    return np.asarray(contents.value("instance", "label")) if names is None else np.asarray(names, object)


def places_of(contents: Contents, kind: str | None = None) -> dict[str, NDArray[np.float64]]:
    """Return the coordinates of all cities or vertices as columns.

    Latitudes and longitudes are `lat` and `lon`, in decimal degrees. Others are `x`, `y` and `z`. Without coordinates
    there is no column.

    Parameters
    ----------
    kind
        Kind of the coordinates, as in `/instance/coordinates_kind`, which is the default.
    """
    axes = {axis: contents.value("instance", axis) for axis in "xyz"}
    known = {axis: np.asarray(values) for axis, values in axes.items() if values is not None}
    kind = contents.value("instance", "coordinates_kind", "") if kind is None else kind
    if not kind or not known:
        return known
    decimal = decimal_degrees if kind == DEGREES_MINUTES else np.asarray
    return {"lat": decimal(known["x"]), "lon": decimal(known["y"])}


def decimal_degrees(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return degrees.minutes, as TSPLIB has them, in decimal degrees, to 9 decimals (a tenth of a millimetre)."""
    minutes, degrees = np.modf(values)
    return np.round(degrees + minutes * 5 / 3, 9)

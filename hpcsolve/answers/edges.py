"""The edges of an answer as arrays, and what several kinds of answers need for their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    numbers = np.asarray(contents.value("instance", "label"))
    names = contents.value("instance", "city_name", contents.value("instance", "vertex_name"))
    return numbers if names is None or len(set(names)) < len(numbers) else np.asarray(names, object)


def places_of(contents: Contents) -> dict[str, NDArray[np.float64]]:
    """Return the coordinates of all cities or vertices as columns.

    Latitudes and longitudes are `lat` and `lon`, in decimal degrees. Others are `x`, `y` and `z`. Without coordinates
    there is no column.
    """
    axes = {axis: contents.value("instance", axis) for axis in "xyz"}
    known = {axis: np.asarray(values) for axis, values in axes.items() if values is not None}
    kind = contents.value("instance", "coordinates_kind", "")
    if not kind:
        return known
    whole = {axis: np.trunc(values) if kind == "degrees.minutes" else values for axis, values in known.items()}
    degrees = {axis: whole[axis] + (values - whole[axis]) * 5 / 3 for axis, values in known.items()}
    return {"lat": degrees["x"], "lon": degrees["y"]}

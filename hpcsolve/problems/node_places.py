"""Coordinates in the attributes of nodes, as networkx and OSMnx have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.geographic import DEGREES, out_of_range
from hpcsolve.problems.place_columns import LATITUDE, LONGITUDE


def node_places(graph: Any) -> tuple[NDArray[np.float64] | None, str]:
    """Return the coordinates of the nodes of a graph of networkx, shape (n, 2 or 3), and their kind.

    They are `lat` and `lon`; or `x` and `y`, which are degrees if the attribute `crs` of the graph says so, as OSMnx
    writes it; or `pos`. The coordinates are None if a node has none.

    Raises
    ------
    InputError
        Latitudes or longitudes are out of range.
    """
    nodes = [data for _, data in graph.nodes(data=True)]
    for north in LATITUDE:
        for east in LONGITUDE:
            places = _table([[data.get(north), data.get(east)] for data in nodes])
            if places is not None:
                return _degrees(places), DEGREES
    places = _table([[data.get("x"), data.get("y")] for data in nodes])
    if places is not None:
        degrees = any(mark in str(graph.graph.get("crs", "")).lower() for mark in ("4326", "crs84"))
        return (_degrees(places[:, ::-1].copy()), DEGREES) if degrees else (places, "")
    return _table([data.get("pos") for data in nodes]), ""


def _table(rows: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return numbers as an array, or None if one is missing or something else."""
    if not rows or not all(isinstance(row, (list, tuple, np.ndarray)) and len(row) in (2, 3) for row in rows):
        return None
    if len({len(row) for row in rows}) > 1 or not all(_is_number(cell) for row in rows for cell in row):
        return None
    table = np.array([[float(cell) for cell in row] for row in rows])
    return table if np.isfinite(table).all() else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _degrees(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return latitudes and longitudes. Raises `InputError` if they cannot be degrees."""
    for place in places.tolist():
        for value, what in zip(place, ("latitude", "longitude")):
            wrong = out_of_range(value, what)
            if wrong:
                raise InputError(wrong)
    return places

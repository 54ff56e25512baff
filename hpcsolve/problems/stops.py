"""Tours between vertices of a graph: the stops are cities, and costs are the shortest distances between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.check_distances import no_path_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.search_again import distance_rows
from hpcsolve.problems.snapping import Snapped
from hpcsolve.problems.tsp import Tsp, from_matrix

AT_ONCE = 16
"""Searches whose rows are held at a time."""


def tour_of_stops(graph: Graph, stops: Iterable[Any], precision: Precision | None = None) -> Tsp:
    """Return the cities at some vertices of a graph, given by names or labels, as `tour_at`.

    Raises
    ------
    InputError
        A stop is no vertex; or as `tour_at`.
    """
    try:
        vertices = graph.positions(list(stops))
    except InputError as error:
        raise InputError(f"stops: {error}") from None
    return tour_at(graph, vertices, precision)


def tour_at(graph: Graph, vertices: NDArray[np.int64], precision: Precision | None = None) -> Tsp:
    """Return the cities at some vertices of a graph, given by positions, with their names and labels.

    Each cost is the weight of a shortest path, `inf` where none leads, in the unit of the graph. Searches are scipy's.

    Parameters
    ----------
    precision
        As in `from_matrix`.

    Raises
    ------
    InputError
        There is no stop, or one stands there twice; or as in `from_matrix`.
    """
    names = tuple(graph.vertex_names[vertex] for vertex in vertices.tolist()) if graph.vertex_names else ()
    repeated = np.flatnonzero(np.bincount(vertices, minlength=graph.n) > 1)
    if len(repeated):
        name = repr(graph.vertex_names[repeated[0]]) if names else graph.labels[repeated[0]]
        raise InputError(f"stops: {name} is listed twice; list it once", graph.name)
    if not len(vertices):
        raise InputError("stops: the list is empty; name at least one vertex", graph.name)
    return replace(_between(graph, vertices, names, precision), labels=graph.labels[vertices])


def tour_at_places(graph: Graph, places: Snapped, precision: Precision | None = None) -> Tsp:
    """Return a city for each place, with its name and numbered from 1, at the vertex that the place stands for.

    Several places may stand for one vertex; between these the costs are 0. Else as `tour_at`.
    """
    cities = _between(graph, places.vertices, places.names, precision)
    return replace(cities, labels=np.arange(1, cities.n + 1), places=(places,))


def _between(graph: Graph, vertices: NDArray[np.int64], names: tuple[str, ...], precision: Precision | None) -> Tsp:
    rows = [_costs(graph, vertices[first : first + AT_ONCE], vertices) for first in range(0, len(vertices), AT_ONCE)]
    cities = from_matrix(np.concatenate(rows), graph.name, city_names=names, precision=precision)
    points = None if graph.coordinates is None else graph.coordinates[vertices]
    return replace(cities, coordinates=points, coordinates_kind=graph.coordinates_kind, notes=graph.notes,
                   network=graph.name, unit=graph.unit)


def _costs(graph: Graph, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distances from sources to targets, in the unit of the graph."""
    found = distance_rows(graph, sources)[:, targets]
    return np.where(found == no_path_of(found.dtype), np.inf, found / graph.scale)

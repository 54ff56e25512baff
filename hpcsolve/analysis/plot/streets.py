"""The streets behind a tour between vertices of a graph, and the tour's way along them.

The result has neither, since its instance is a table of costs. The graph is read again (`maps.network_of`) and must
have the stops at their places. The way of each leg is found again by a search, which must give the cost of the leg.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.maps import Points
from hpcsolve.answers.edges import AnswerEdges, edges_group
from hpcsolve.problems.check_distances import NO_VERTEX
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.search_again import distance_rows, smallest_predecessors

if TYPE_CHECKING:
    from hpcsolve.analysis.load import Result

LARGEST_SEARCH = 20_000_000
"""Vertices times stops up to which the ways are searched: some ten seconds."""


@dataclass(frozen=True, eq=False)
class Streets:
    """The graph that a tour's costs are from.

    Attributes
    ----------
    points
        Shape (vertices, 2): where the vertices are drawn, as `Places.points`.
    stops
        Shape (cities,): the vertex of each city.
    """

    graph: Graph
    points: Points
    stops: NDArray[np.int64]


def has_streets(result: Result) -> bool:
    """Return whether a result is a tour between vertices of a graph with coordinates."""
    return result.contents.value("instance", "network") is not None and result.coordinates is not None


def streets_of(result: Result, graph: Graph | None) -> Streets | None:
    """Return the streets of a tour for which `has_streets`, None without the graph or with another one."""
    places = result.coordinates
    if graph is None or graph.coordinates is None or places is None:
        return None
    stops = result.contents.value("places", "vertex")
    if stops is None:
        known = {label: vertex for vertex, label in enumerate(graph.labels.tolist())}
        stops = [known.get(label, graph.n) for label in result.contents.value("instance", "label").tolist()]
    vertices = np.asarray(stops, np.int64)
    there = len(vertices) == result.n and bool(((vertices >= 0) & (vertices < graph.n)).all())
    if not there or not np.array_equal(graph.coordinates[vertices], places):
        return None  # another graph
    axes = [1, 0] if graph.coordinates_kind == DEGREES else [0, 1]
    return Streets(graph, graph.coordinates[:, axes], vertices)


def ways_of(result: Result, streets: Streets, order: NDArray[np.int64]) -> list[Points] | None:
    """Return the line of each leg along the streets, None if a leg costs something else, or a search takes too long.

    Parameters
    ----------
    order
        The cities of the tour, of a cycle with the first one at the end.
    """
    graph, costs = streets.graph, result.contents.own("legs", "cost")
    if costs is None or len(costs) != len(order) - 1 or graph.n * len(order) > LARGEST_SEARCH:
        return None
    speed = result.contents.speed
    factor, error = (1, result.contents.value("instance", "rounded_to") or 0) if speed is None else (3.6 / speed, 1)
    paths = []
    for path, found in _paths(graph, streets.stops[order].tolist()):
        paths.append(path)
        if abs(found * factor - costs[len(paths) - 1]) > error:
            return None
    steps = [np.array(list(pairwise(path)), np.int64).reshape(-1, 2) for path in paths]
    tails, heads = np.concatenate([np.empty((0, 2), np.int64), *steps]).T
    groups = {} if graph.edge_texts is None else edges_group(graph, tails, heads)
    known = AnswerEdges(replace(result.contents, groups={**result.contents.groups, **groups}))
    return [known.line_of_path(np.array(path), streets.points) for path in paths]


def _paths(graph: Graph, stops: list[int]) -> Iterator[tuple[list[int], Any]]:
    """Yield the vertices of a shortest path from each stop to the next, and its length in the unit of the graph."""
    tails = graph.tails()
    for source, target in pairwise(stops):
        (row,) = distance_rows(graph, np.array([source]))
        before, path = smallest_predecessors(graph, tails, np.array([source]), row), [target]
        while path[-1] not in (source, NO_VERTEX):
            path.append(int(before[path[-1]]))
        yield path[::-1], row[target] / graph.scale

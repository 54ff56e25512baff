"""The graph behind a result, and the way of a tour between its vertices along its streets.

A result has no graph, and a tour between vertices no way, since its instance is a table of costs. The graph is read
again, and must have the stops at their places. The way of each leg is found again by a search, which must give the cost
of the leg.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Contents
from hpcsolve.answers.edges import edges_of
from hpcsolve.errors import HpcsolveError
from hpcsolve.job import IN_MEMORY, job_from_table
from hpcsolve.problems.check_distances import NO_VERTEX
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.search_again import distance_rows, smallest_predecessors
from hpcsolve.runner.kinds import STOPS, kind_of, network_of_stops
from hpcsolve.runner.reading import read_instance

Points = NDArray[np.float64]
"""Shape (points, 2): longitudes and latitudes, or x and y."""
LARGEST_NETWORK = 2_000_000
"""Largest number of vertices of a network that is read again."""
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


def network_of(contents: Contents) -> Graph | None:
    """Return the graph that was solved, or None if it cannot be read or generated again.

    It is read from its file or generated again, as the result's job says, and must have the SHA-256 of the instance
    that was solved. So it is None if the instance was in a program's memory, if its file is gone or has changed, and if
    it has more than two million vertices. Of a tour between vertices of a graph it is that graph as it is read now.
    """
    if contents.value("instance", "vertices", 0) > LARGEST_NETWORK:
        return None
    try:
        job = job_from_table(msgspec.toml.decode(str(contents.value("job", "toml"))))
        named = job.settings.instance
        if isinstance(named, dict) and STOPS in named:
            graph = network_of_stops(named["file"], {key: named[key] for key in named if key != "file"}).problem
            return graph if graph.n <= LARGEST_NETWORK else None
        found: Any = None if named in ("-", IN_MEMORY) else read_instance(job)
    except HpcsolveError:
        return None
    solved = contents.value("instance", "content_sha256")
    same = found is not None and kind_of(job).content_hash(found.problem) == solved
    return found.problem if same and isinstance(found.problem, Graph) else None


def has_streets(contents: Contents) -> bool:
    """Return whether a result is a tour between vertices of a graph with coordinates."""
    return contents.value("instance", "network") is not None and bool(contents.coordinates())


def streets_of(contents: Contents, graph: Graph | None) -> Streets | None:
    """Return the streets of a tour for which `has_streets`, None without the graph or with another one."""
    places = list(contents.coordinates("").values())
    if graph is None or graph.coordinates is None or not places:
        return None
    stops = contents.value("places", "vertex")
    if stops is None:
        known = {label: vertex for vertex, label in enumerate(graph.labels.tolist())}
        stops = [known.get(label, graph.n) for label in contents.value("instance", "label").tolist()]
    vertices = np.asarray(stops, np.int64)
    there = len(vertices) == len(places[0]) and bool(((vertices >= 0) & (vertices < graph.n)).all())
    if not there or not np.array_equal(graph.coordinates[vertices], np.stack(places, axis=1)):
        return None  # another graph
    axes = [1, 0] if graph.coordinates_kind == DEGREES else [0, 1]
    return Streets(graph, graph.coordinates[:, axes], vertices)


def ways_of(contents: Contents, streets: Streets, order: NDArray[np.int64]) -> list[Points] | None:
    """Return the line of each leg along the streets, None if a leg costs something else, or a search takes too long.

    Parameters
    ----------
    order
        The cities of the tour, of a cycle with the first one at the end.
    """
    graph, costs = streets.graph, contents.own("legs", "cost")
    if costs is None or len(costs) != len(order) - 1 or graph.n * len(order) > LARGEST_SEARCH:
        return None
    speed = contents.speed
    factor, error = (1, contents.value("instance", "rounded_to") or 0) if speed is None else (3.6 / speed, 1)
    paths = []
    for path, found in _paths(graph, streets.stops[order].tolist()):
        paths.append(path)
        if abs(found * factor - costs[len(paths) - 1]) > error:
            return None
    steps = [np.array(list(pairwise(path)), np.int64).reshape(-1, 2) for path in paths]
    tails, heads = np.concatenate([np.empty((0, 2), np.int64), *steps]).T
    known = edges_of(graph, tails, heads)
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

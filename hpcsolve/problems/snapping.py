"""Places at vertices of a graph: each place stands for the nearest vertex, of several at one distance the first one.

On the globe distances are great circles in metres, in a plane straight lines in the unit of the coordinates. A tree of
scipy names the vertices that may be nearest. Which of them is, is decided by the same sums on every machine.

A place that is farther from every vertex than the graph is wide is refused as a mistake: all such places would stand
for one vertex, and a tour between them would cost 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.distances import EARTH_RADIUS, GREAT_CIRCLE, on_the_globe
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.globe import angle_between
from hpcsolve.problems.graph import Graph
from hpcsolve.wording import shown

NEARLY = 1 + 1e-9
"""Vertices up to this many times as far as the nearest one of scipy are compared."""


@dataclass(frozen=True, eq=False)
class Snapped:
    """Places that stand for vertices.

    Attributes
    ----------
    role
        What they are in the problem: "terminal", "source", "target" or "stop".
    names
        A name for each of the m places.
    vertices
        Shape (m,), int64: positions of the nearest vertices.
    distances
        Shape (m,): metres on the globe, in a plane in the unit of the coordinates.
    """

    role: str
    names: tuple[str, ...]
    vertices: NDArray[np.int64]
    distances: NDArray[np.float64]

    def once(self) -> NDArray[np.int64]:
        """Return the vertices in the order of the places, each one once."""
        first = np.sort(np.unique(self.vertices, return_index=True)[1])
        return self.vertices[first]

    def added_up(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each vertex of `once` the sum of the values of its places."""
        _, first, group = np.unique(self.vertices, return_index=True, return_inverse=True)
        sums = np.zeros(len(first), np.int64)
        np.add.at(sums, group, values)
        return sums[np.argsort(first)]


def snapped(graph: Graph, points: NDArray[np.float64], degrees: bool, names: tuple[str, ...], role: str) -> Snapped:
    """Return the vertices that are nearest to places.

    Parameters
    ----------
    points
        Shape (m, 2): latitudes and longitudes (`degrees`), or x and y in a plane.

    Raises
    ------
    InputError
        The graph has no coordinates, or coordinates of another kind; or a place is farther from every vertex than
        the graph is wide.
    """
    if graph.coordinates is None or not graph.n:
        raise InputError(f"its vertices have no coordinates, so no place is near one; name vertices as {role}s",
                         graph.name)
    globe = graph.coordinates_kind == DEGREES
    if globe != degrees:
        kinds = ("x and y in a plane", "latitudes and longitudes")
        what = f"the places have {kinds[degrees]}, the graph {kinds[globe]}"
        raise InputError(f"{what}; give both in the same coordinates", graph.name)
    own, asked, exchanged = graph.coordinates[:, :2], points, points[:, ::-1]
    if globe:
        own, asked, exchanged = (on_the_globe(each, GREAT_CIRCLE) for each in (own, asked, exchanged))
    from scipy.spatial import KDTree

    tree = KDTree(own)
    near, _ = tree.query(asked)
    vertices, distances = np.empty(len(asked), np.int64), np.empty(len(asked))
    for place, candidates in enumerate(tree.query_ball_point(asked, near * NEARLY + 1e-15)):
        among = np.sort(np.array(candidates, np.int64))
        squares = ((own[among] - asked[place]) ** 2).sum(axis=1)
        vertices[place] = among[np.argmin(squares)]
        distances[place] = np.sqrt(squares.min())
    width = float(np.sqrt((np.ptp(own, axis=0) ** 2).sum()))
    far = np.flatnonzero(distances > width).tolist() if width > 0 else []
    if globe:
        distances = EARTH_RADIUS * angle_between(own[vertices], asked)
    if far:
        place = far[0]
        away = f"{distances[place]:.1f} m" if globe else f"{distances[place]:.6g}"
        what = f"{role} {shown(names[place])} is {away} from the nearest vertex, farther than the graph is wide"
        swapped = tree.query(exchanged[place])[0] <= width
        hint = f"are {'latitude and longitude' if globe else 'x and y'} exchanged?" if swapped else \
            "correct its coordinates, remove it, or take a graph that reaches it"
        raise InputError(f"{what}; {hint}", graph.name)
    return Snapped(role, names, vertices, distances)

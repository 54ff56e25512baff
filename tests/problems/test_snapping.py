"""Places at the nearest vertices: by brute force over all vertices, of several at one distance the first."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.problems.distances import great_circle
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.snapping import snapped

GRID = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=12)  # with many ties


def graph_at(points, kind=""):
    graph = from_edges([], [], n=len(points), coordinates=np.array(points, float))
    return replace(graph, coordinates_kind=kind)


@settings(max_examples=60, deadline=None)
@given(GRID, GRID)
def test_in_a_plane(vertices, places):
    vertices = [*vertices, (-9, -9), (9, 9)]  # no place is farther away than the graph is wide
    found = snapped(graph_at(vertices), np.array(places, float), False, ("",) * len(places), "source")
    for number, (x, y) in enumerate(places):
        squares = [(a - x) ** 2 + (b - y) ** 2 for a, b in vertices]
        assert found.vertices[number] == squares.index(min(squares))
        assert found.distances[number] == min(squares) ** 0.5
    assert found.once().tolist() == list(dict.fromkeys(found.vertices.tolist()))
    beds = [3 ** number for number in range(len(places))]
    sums = [sum(bed for bed, at in zip(beds, found.vertices) if at == vertex) for vertex in found.once()]
    assert found.added_up(np.array(beds)).tolist() == sums


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_on_the_globe(seed):
    """Across the 180th meridian and at the poles, too."""
    numbers = np.random.default_rng(seed)
    vertices, places = (np.column_stack([numbers.uniform(-90, 90, n), numbers.uniform(-180, 180, n)]) for n in (40, 9))
    vertices[:3] = (90, 17), (0, 179.9), (-90, 0)
    places[:3] = (89, -170), (0, -179.9), (-89.5, 100)
    found = snapped(graph_at(vertices, DEGREES), places, True, ("",) * 9, "source")
    for place, vertex, distance in zip(places, found.vertices, found.distances, strict=True):
        metres = great_circle(vertices, place)
        assert distance == metres[vertex] == metres.min()


def test_equal_places_on_the_globe():
    graph = graph_at([(48, 16), (47, 15), (47, 15), (48, 16)], DEGREES)
    assert snapped(graph, np.array([[47.1, 15], [47, 15], [48.9, 16]]), True, ("", "", ""), "x").vertices.tolist() == [
        1, 1, 0]


@pytest.mark.parametrize(("kind", "place", "message"), [
    (DEGREES, (16, 48), r"stop 'Home' is 4\d+\.\d m from the nearest vertex, farther than the graph is wide; are "
     r"latitude and longitude exchanged\?"),
    (DEGREES, (-48, 16), "correct its coordinates, remove it, or take a graph that reaches it"),
    ("", (15, 48), r"stop 'Home' is 45.9674 from the nearest vertex, .*; are x and y exchanged\?"),
])
def test_a_place_farther_than_the_graph_is_wide_is_refused(kind, place, message):
    """All such places would stand for one vertex, and a tour between them would cost 0."""
    graph = graph_at([(48, 16), (47, 15)], kind)
    near = snapped(graph, np.array([[48, 17.0]]), bool(kind), ("Home",), "stop")
    assert near.vertices.tolist() == [0]
    with pytest.raises(InputError, match=message):
        snapped(graph, np.array([[48, 16], place]), bool(kind), ("Hall", "Home"), "stop")


def test_what_has_no_nearest_vertex():
    for graph, degrees, what in (
        (from_edges([0], [1]), False, "graph: its vertices have no coordinates, so no place is near one; "),
        (graph_at([(1, 2)]), True, "the places have latitudes and longitudes, the graph x and y in a plane; give both"),
        (graph_at([(1, 2)], DEGREES), False, "the places have x and y in a plane, the graph latitudes and longitudes"),
    ):
        with pytest.raises(InputError, match=what):
            snapped(graph, np.zeros((1, 2)), degrees, ("a",), "source")

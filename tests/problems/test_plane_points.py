"""Points in a plane and GeoJSON points become tours: costs are distances, names and numbers come back."""

import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_graph, read_object
from hpcsolve.problems.geographic import DEGREES, from_places
from hpcsolve.problems.libraries import from_data_frame
from hpcsolve.problems.plane_points import from_points_in_plane, is_points
from hpcsolve.problems.tsp import NO_ARC
from tests.formats.reading import names, refusal
from tests.oracles import brute_force

whole = st.integers(-1000, 1000)


@given(st.lists(st.tuples(whole, whole), min_size=3, max_size=8))
def test_squares_of_distances(points):
    """Of points (3 a, 4 a) on a line through the origin distances are whole: 5 times the difference."""
    steps = [x for x, _ in points]
    tsp = from_points_in_plane([(3 * a, 4 * a) for a in steps])
    assert tsp.scale == 1 and tsp.labels.tolist() == list(range(len(points)))
    for i, a in enumerate(steps):
        for j, b in enumerate(steps):
            assert tsp.cost[i, j] == (NO_ARC if i == j else 5 * abs(a - b))
    assert tsp.coordinates.tolist() == [[3 * a, 4 * a] for a in steps]


def test_arrays_lists_and_frames_give_the_same_tour():
    points = np.random.default_rng(4).random((7, 2))
    costs = np.array([[np.hypot(*(a - b)) for b in points] for a in points])
    results = [hpcsolve.solve(given_points, device="cpu") for given_points in (points, points.tolist())]
    assert [result.tour.tolist() for result in results] == [results[0].tour.tolist()] * 2
    assert abs(float(results[0].exact_cost) - brute_force(np.rint(costs * 1e9).astype(np.int64)) / 1e9) < 1e-8
    assert isinstance(results[0].exact_cost, Decimal) and results[0].coordinates.tolist() == points.tolist()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(points, columns=["X", "y"], index=list("abcdefg"))
    named = hpcsolve.solve(frame, device="cpu")
    assert named.tour.tolist() == results[0].tour.tolist() and named.tour_labels[0] == "a"


def test_frames_of_points():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [7, 5, 9], "y": [0, 4, 0], "Name": ["A", "B", "C"], "x": [0, 3, 3.0], "demand": 1})
    tsp = from_data_frame(frame)
    assert tsp.city_names == ("A", "B", "C") and tsp.labels.tolist() == [7, 5, 9]
    assert tsp.cost[0].tolist()[1:] == [5, 3] and tsp.cost[1, 2] == 4
    assert tsp.notes[0].startswith("note:   not used: the column demand")
    costs = pandas.DataFrame([[0, 1], [2, 0]], index=["x", "y"], columns=["x", "y"])
    assert from_data_frame(costs).cost[1, 0] == 2, "a table of costs between the cities x and y"
    assert from_data_frame(frame[["x", "y"]]).labels.tolist() == [1, 2, 3]


def test_two_rows_of_two_are_costs():
    assert not any(map(is_points, ([[0, 1], [2, 0]], [], [[1], [1, 2]]))) and is_points([[0, 1]])
    assert hpcsolve.solve([[0, 1], [2, 0]], device="cpu").cost == 3


@pytest.mark.parametrize(("points", "message"), [
    ([[0, 0], [1, float("nan")], [2, 2]], "points: y of point 1 is missing"),
    ([[0, 0], [1e200, 1], [2, 2]], "points: x of point 1 is too large: 1e\\+200"),
    ([[0, 0], [float("inf"), 1], [2, 2]], "points: x of point 1 is too large: inf"),
    ([["a", "b"]] * 3, "points: the coordinates are not numbers"),
    ([[0, 0, 0]] * 4, r"the cost matrix has shape \(4, 3\)"),
])
def test_points_that_are_refused(points, message):
    with pytest.raises(InputError, match=message):
        hpcsolve.solve(points, device="cpu")


def test_points_that_may_be_degrees():
    assert "give columns lat and lon" in from_points_in_plane([[48.2, 16.4], [47.1, 15.4], [48.3, 14.3]]).notes[0]
    assert from_points_in_plane(np.random.default_rng(1).random((9, 2))).notes == ()
    assert from_points_in_plane([[1, 2], [3, 4], [7, 8]]).notes == ()


def point(place, **properties):
    return {"type": "Feature", "properties": properties, "geometry": {"type": "Point", "coordinates": list(place)}}


def collection(features):
    return {"type": "FeatureCollection", "features": features}


@given(st.lists(st.tuples(st.floats(-180, 180), st.floats(-90, 90), names()), min_size=1, max_size=8),
       st.sampled_from(["p.geojson", "p.json", "p.txt"]), st.booleans())
def test_points_of_geojson(tmp_path_factory, rows, file, named):
    content = collection([point([x, y, 170], **({"Name": name} if named else {})) for x, y, name in rows])
    path = tmp_path_factory.mktemp("g") / file
    path.write_text(json.dumps(content))
    instance, expected = read(path), from_places([y for _, y, _ in rows], [x for x, _, _ in rows])
    for tsp in (instance.problem, read_object(content)):
        assert np.array_equal(tsp.cost, expected.cost) and tsp.coordinates_kind == DEGREES
        assert tsp.city_names == (tuple(name for *_, name in rows) if named else ())
        assert np.array_equal(tsp.coordinates, expected.coordinates)
    assert instance.format == "geojson points"


def test_a_dict_is_solved():
    places = [(16.37, 48.21), (15.44, 47.07), (14.29, 48.31)]
    result = hpcsolve.solve(collection([point(place, name=str(i)) for i, place in enumerate(places)]), device="cpu")
    assert sorted(result.tour_labels) == ["0", "1", "2"]
    alone = hpcsolve.solve({"type": "FeatureCollection", "features": [point((1, 2))]}, device="cpu")
    assert alone.cost == 0


LINE = {"type": "LineString", "coordinates": [[16, 48], [17, 47]]}


@pytest.mark.parametrize(("content", "message"), [
    (collection([point((16, 48), name="a"), point((17, 48))]), ":1: the point has no name, but others have one"),
    (collection([point((16, 98))]), ":1: the latitude 98 is outside of -90 to 90"),
    (collection([point((16,))]), ":1: expected [longitude, latitude], found '[16]'"),
    (collection([point((16, 48)), {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": []}}]),
     ":1: a feature is 'Polygon', not a Point; keep the points that a tour visits"),
    (collection([point((16, 48)), {"type": "Feature", "geometry": None}]), ":1: a feature is 'None', not a Point"),
    (collection([point((16, 48)), {"type": "Feature", "geometry": LINE}]), ":1: is a graph (GeoJSON), not a tr"),
    ({**collection([point((16, 48))]), "crs": {"properties": {"name": "EPSG:3857"}}}, ":1: its coordinates are of the"),
])
def test_points_of_geojson_that_are_refused(tmp_path, content, message):
    (tmp_path / "p.json").write_text(json.dumps(content))
    assert refusal(read, tmp_path / "p.json").startswith(f"{tmp_path / 'p.json'}{message}")


def test_points_are_no_graph(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(collection([point((16, 48))])))
    assert "is a travelling salesman problem (GeoJSON points), not a graph" in refusal(read_graph, tmp_path / "p.json")
    with pytest.raises(InputError, match=r"a dict with the keys a is no problem"):
        hpcsolve.solve({"a": 1}, device="cpu")
    with pytest.raises(InputError, match="the dict is not JSON"):
        hpcsolve.solve({"a": object()}, device="cpu")

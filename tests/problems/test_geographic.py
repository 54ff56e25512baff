"""Great-circle distances agree with another formula, and DataFrames of places and of costs are read."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.problems.distances import EARTH_RADIUS, great_circle
from hpcsolve.problems.geographic import DEGREES, from_places
from hpcsolve.problems.libraries import from_data_frame, is_data_frame
from hpcsolve.problems.tsp import NO_ARC

latitudes, longitudes = st.floats(-90, 90), st.floats(-180, 180)
places = st.tuples(latitudes, longitudes)


def by_vectors(a, b):
    """Return the distance by the angle between two unit vectors, from their cross and dot products."""
    def vector(place):
        north, east = (math.radians(angle) for angle in place)
        return np.array([math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)])

    u, v = vector(a), vector(b)
    return EARTH_RADIUS * math.atan2(float(np.linalg.norm(np.cross(u, v))), float(u @ v))


@given(places, places)
def test_distances_by_another_formula(a, b):
    found = float(great_circle(np.array(a), np.array(b)))
    assert abs(found - by_vectors(a, b)) < 0.5
    assert found == float(great_circle(np.array(b), np.array(a)))


def test_known_distances():
    """A degree along a meridian, a quarter of the equator, antipodes, and airports as published (great-circle mapper).

    The published distance from Vienna to New York is on the ellipsoid, so that it may differ by 0.6 per cent.
    """
    cost = from_places([0, 1, 0, 0, 48.110278, 40.639722], [0, 0, 90, 180, 16.569722, -73.778889]).cost
    degree = math.pi * EARTH_RADIUS / 180
    assert cost[0, 1:4].tolist() == [round(degree), round(90 * degree), round(180 * degree)]
    assert abs(cost[4, 5] / 6_810_000 - 1) < 0.006


@given(st.lists(places, min_size=1, max_size=12))
def test_matrix_of_places(points):
    tsp = from_places([a for a, _ in points], [b for _, b in points])
    assert tsp.symmetric and tsp.labels.tolist() == list(range(1, len(points) + 1))
    assert tsp.coordinates_kind == DEGREES and tsp.coordinates.tolist() == [list(point) for point in points]
    for i, a in enumerate(points):
        for j, b in enumerate(points):
            assert tsp.cost[i, j] == NO_ARC if i == j else abs(tsp.cost[i, j] - by_vectors(a, b)) <= 1


@pytest.mark.parametrize(("latitude", "longitude", "message"), [
    ([48, 91], [16, 17], "place 1: the latitude 91 is outside of -90 to 90 decimal degrees; are latitude and longitud"),
    ([48, 5e6], [16, 17], "place 1: the latitude 5e+06 is outside of -90 to 90 decimal degrees"),
    ([48, 47], [16, 181], "place 1: the longitude 181 is outside of -180 to 180"),
    ([48, np.nan], [16, 17], "place 1: the latitude nan is outside"),
    ([48, 47], [16], "2 latitudes and 1 longitudes"),
    ([], [], "the latitudes have shape (0,)"),
    (["a"], [1], "the latitudes are not numbers"),
])
def test_wrong_places(latitude, longitude, message):
    with pytest.raises(InputError) as caught:
        from_places(latitude, longitude)
    assert str(caught.value).startswith(f"places: {message}")


def test_names_and_labels_of_places():
    with pytest.raises(InputError, match="2 places need 2 city names"):
        from_places([1, 2], [3, 4], city_names=["a"])
    with pytest.raises(InputError, match="2 different labels"):
        from_places([1, 2], [3, 4], labels=[7, 7])


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


def test_a_frame_of_costs(pandas):
    cost = np.array([[0, 1.5, 2], [3, 0, np.inf], [5, 6, 0]])
    names = ["Oslo", "Rome", "Bonn"]
    tsp = from_data_frame(pandas.DataFrame(cost, index=names, columns=names))
    assert tsp.city_names == ("Oslo", "Rome", "Bonn") and tsp.labels.tolist() == [0, 1, 2] and tsp.scale == 10
    assert tsp.cost.tolist() == [[NO_ARC, 15, 20], [30, NO_ARC, NO_ARC], [50, 60, NO_ARC]]
    tsp = from_data_frame(pandas.DataFrame(cost, index=[7, -2, 9], columns=[7, -2, 9]))
    assert tsp.city_names == () and tsp.labels.tolist() == [7, -2, 9]
    assert from_data_frame(pandas.DataFrame(cost)).labels.tolist() == [0, 1, 2]
    assert from_data_frame(pandas.DataFrame(cost, [1, "a", 2.5], [1, "a", 2.5])).city_names == ("1", "a", "2.5")
    assert is_data_frame(pandas.DataFrame(cost)) and not is_data_frame(cost)


@pytest.mark.parametrize(("index", "columns", "message"), [
    ([0, 1], ["a", "b"], "row 0 of the DataFrame is '0', column 0 'a'; the cities must be the same in both: set df.i"),
    (["a", "b"], ["b", "a"], "row 0 of the DataFrame is 'a', column 0 'b'; the cities must be the same in both: order"),
    ([3, 3], [3, 3], "two cities have the same number"),
    (["a", "b"], ["a", "b", "c"], "the DataFrame has 2 rows and 3 columns"),
])
def test_wrong_frames(pandas, index, columns, message):
    with pytest.raises(InputError) as caught:
        from_data_frame(pandas.DataFrame(np.ones((len(index), len(columns))), index, columns))
    assert str(caught.value).startswith(f"DataFrame: {message}")


def test_a_frame_of_places(pandas):
    frame = pandas.DataFrame({"lon": [16.37, 15.44], "Latitude": [48.21, 47.07], "id": [5, 9]})
    frame["city"] = ["Wien", "Graz"]
    tsp = from_data_frame(frame)
    assert (tsp.city_names, tsp.labels.tolist()) == (("Wien", "Graz"), [5, 9])
    assert tsp.coordinates.tolist() == [[48.21, 16.37], [47.07, 15.44]]
    assert from_data_frame(frame.drop(columns="city").set_index(pandas.Index(["a", "b"]))).city_names == ("a", "b")
    with pytest.raises(InputError, match="place 1 has no name"):
        from_data_frame(frame.assign(city=["Wien", None]))
    with pytest.raises(InputError, match="two columns mean the same, latitude and lat"):
        from_data_frame(frame.assign(lat=1))

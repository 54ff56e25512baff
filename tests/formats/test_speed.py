"""A speed makes travel times of the distances between places, and time windows of columns beside them."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.problems.geographic import at_speed, from_places
from hpcsolve.problems.libraries import from_networkx
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_matrix

TABLE = """name,lat,lon,earliest,latest,service (min)
depot,48.10,11.50,08:00,18:00,
a,48.15,11.50,,9:00,7
b,48.10,11.60,10:30,,5
"""


def read_text(folder: Path, text: str, name: str = "stops.csv", speed: Any = 30) -> Tsp:
    """Return the instance of a file with this text."""
    (folder / name).write_text(text)
    return read(folder / name, speed=speed).problem


@given(speed=st.integers(100, 10_000_000).map(lambda thousandths: thousandths / 1000),
       metres=st.integers(0, 30_000_000))
def test_seconds_are_exact(speed: float, metres: int) -> None:
    """A travel time is the distance over the speed, rounded to whole seconds, halves up."""
    tsp = from_matrix(np.array([[0, metres], [5, 0]]), "m")
    found = at_speed(Tsp(**{**vars(tsp), "unit": "m"}), speed)
    exact = Fraction(metres, 1000) / Fraction(repr(speed)) * 3600
    assert (int(found.cost[0, 1]), found.unit, found.scale) == (int((2 * exact + 1) // 2), "s", 1)


def test_large_numbers_of_metres() -> None:
    """Products of more than 63 bits are exact, and sums of seconds that would be too large are refused."""
    def seconds(metres: object) -> int:
        tsp = from_matrix(np.array([[0, metres], [metres, 0]]), "m")
        return int(at_speed(Tsp(**{**vars(tsp), "unit": "m"}), 0.1).cost[0, 1])

    assert seconds(5 * 10**16 + 1) == 36 * (5 * 10**16 + 1)
    with pytest.raises(InputError, match="the costs of m are too large for sums of seconds"):
        seconds(10**17)


def test_missing_arcs_stay_missing() -> None:
    """No arc becomes a travel time."""
    tsp = from_matrix(np.array([[0, np.inf], [1500, 0]]), "m")
    assert at_speed(Tsp(**{**vars(tsp), "unit": "m"}), 5.4).cost.tolist() == [[NO_ARC, NO_ARC], [1000, NO_ARC]]


@pytest.mark.parametrize("speed", [0, -3, 0.05, 10_001, float("nan"), True, "30", 0.1234])
def test_other_speeds_are_refused(speed: Any) -> None:
    """A speed is a number of some km/h."""
    with pytest.raises(InputError, match=r"instance\.speed: "):
        at_speed(from_places([48, 49], [11, 12]), speed)


def test_only_metres_have_a_speed() -> None:
    """Costs of another unit, or of none, are refused."""
    with pytest.raises(InputError, match="the costs of matrix have no known unit; give places with lat and lon"):
        hpcsolve.solve([[0, 1], [1, 0]], "held-karp", device="cpu", speed=30)
    with pytest.raises(InputError, match="the costs of dict are in s; remove speed"):
        hpcsolve.solve({"durations": [[0, 1], [1, 0]]}, "held-karp", device="cpu", speed=30)


def test_windows_of_a_table(tmp_path: Path) -> None:
    """Times of day are seconds, an empty cell is no limit, and numbers have the unit in the title."""
    tsp = read_text(tmp_path, TABLE)
    assert tsp.windows is not None and (tsp.unit, tsp.notes) == ("s", ())
    assert tsp.windows.earliest.tolist() == [28800, 0, 37800]
    assert tsp.windows.latest.tolist() == [64800, 32400, LARGEST_SUM]
    assert tsp.windows.service.tolist() == [0, 420, 300]
    assert tsp.cost[0, 1] == round(from_places([48.1, 48.15], [11.5, 11.5]).cost[0, 1] * 3.6 / 30)


def test_windows_of_a_german_table(tmp_path: Path) -> None:
    """Between semicolons degrees and minutes have decimal commas."""
    tsp = read_text(tmp_path, TABLE.replace(",", ";").replace(".", ",").replace(";7\n", ";7,5\n"))
    assert tsp.windows is not None and tsp.windows.service.tolist() == [0, 450, 300]


@pytest.mark.parametrize("time", ["8.00", "8,00"])
def test_times_with_a_point_or_a_comma_are_no_numbers(tmp_path: Path, time: str) -> None:
    """The message is about the time of day, and not about degrees with another mark."""
    text = TABLE.replace(",", ";").replace(".", ",").replace("08:00", time)
    with pytest.raises(InputError, match=r"csv:2: the earliest '8\.00' has no unit .*; write it as in 08:00"):
        read_text(tmp_path, text)


def test_without_a_speed_windows_are_not_used(tmp_path: Path) -> None:
    """Distances are no times, and the note says what would make them times."""
    tsp = read_text(tmp_path, TABLE, speed=None)
    assert tsp.windows is None and tsp.unit == "m"
    assert tsp.notes == ("note:   not used: the columns earliest, latest, service (min); with instance.speed, in km/h, "
                         "they are time windows",)


@pytest.mark.parametrize(("old", "new", "message"), [
    (",7\n", ",a\n", "stops.csv:3: the service 'a' is not a time; write it as a number of minutes, as the title"),
    (",7\n", ",0:07\n", "stops.csv:3: the service '0:07' is not a time; write it as a number of minutes"),
    ("9:00", "nine", "stops.csv:3: the latest 'nine' is not a time; write it as in 08:00"),
    ("service (min)", "service (moons)", "stops.csv:3: the service '7' has no unit that is known; write it as in 0:05"),
    ("service (min)", "service", r"stops.csv:3: the service '7' has no unit that is known; write it as in 0:05, or "
                                 r"call the column service \(min\)"),
    ("9:00", "9", "stops.csv:3: the latest '9' has no unit that is known; write it as in 08:00"),
    ("08:00,18:00", "18:00,08:00", "stops.csv:2: the window of city depot is empty: 18:00 is after 08:00"),
    ("latest", "Earliest", "stops.csv:1: two columns mean the same, earliest and earliest"),
    (",7\n", ",0.001\n", "stops.csv:3: the service '0.001' is no whole number of seconds; round it"),
])
def test_bad_times(tmp_path: Path, old: str, new: str, message: str) -> None:
    """What may be misread is refused with its line."""
    with pytest.raises(InputError, match=message):
        read_text(tmp_path, TABLE.replace(old, new, 1))


def test_geojson_and_data_frames_have_windows_too(tmp_path: Path) -> None:
    """Properties of points, and columns of a DataFrame with times of Python, are read like cells of a table."""
    pandas = pytest.importorskip("pandas")
    from datetime import time, timedelta

    rows = [("depot", 48.10, 11.50, time(8), time(18), None), ("a", 48.15, 11.50, None, time(9), timedelta(minutes=7)),
            ("b", 48.10, 11.60, time(10, 30), None, timedelta(minutes=5))]
    frame = pandas.DataFrame(rows, columns=["name", "lat", "lon", "earliest", "latest", "service"])
    texts = [("08:00", "18:00", ""), ("", "9:00", "0:07"), ("10:30", None, "0:05")]
    points = {"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [lon, lat]},
         "properties": {"name": name, "earliest": early, "latest": late, "service": service}}
        for (name, lat, lon, *_), (early, late, service) in zip(rows, texts)]}
    wanted = read_text(tmp_path, TABLE)
    (tmp_path / "points.geojson").write_text(json.dumps(points))
    answers = [hpcsolve.solve(problem, device="cpu", speed=30)
               for problem in (tmp_path / "stops.csv", frame, points, tmp_path / "points.geojson")]
    assert wanted.windows is not None
    for answer in answers:
        for name in ("earliest", "latest", "service"):
            found = answer.contents.value("windows", name)
            assert np.array_equal(found, getattr(wanted.windows, name)), name
        assert answer.contents.unit == "s"
    assert len({answer.cost for answer in answers}) == 1


def test_a_job_with_a_speed(tmp_path: Path) -> None:
    """The result has times of day, verifies, and another speed is another instance."""
    (tmp_path / "stops.csv").write_text(TABLE)
    first = hpcsolve.solve(tmp_path / "stops.csv", device="cpu", speed=30, output=tmp_path / "r.h5")
    second = hpcsolve.solve(tmp_path / "stops.csv", device="cpu", speed=60)
    assert first.cost > second.cost
    assert first.contents.value("instance", "sha256") != second.contents.value("instance", "sha256")


def test_a_unit_that_contradicts_the_instance(tmp_path: Path) -> None:
    """Metres and seconds are no minutes."""
    (tmp_path / "w.csv").write_text("city,earliest,latest\na,08:00,9:00\n")
    (tmp_path / "stops.csv").write_text(TABLE)
    for speed, text in ((None, "are in m; remove time-unit, and set instance.speed for"),
                        (30, "are in s; remove time-unit")):
        with pytest.raises(InputError, match=f"held-karp.time-unit: the costs of the instance {text}"):
            hpcsolve.solve(tmp_path / "stops.csv", "held-karp", device="cpu", speed=speed, time_unit="minute",
                           windows=tmp_path / "w.csv")


def test_visits_along_streets(tmp_path: Path) -> None:
    """Places that stand for vertices of a graph keep their windows, and legs are the times along its streets."""
    line = [[11.50, 48.10], [11.55, 48.10], [11.60, 48.10]]
    streets = [{"type": "Feature", "properties": {}, "geometry": {"type": "LineString", "coordinates": list(pair)}}
               for pair in itertools.pairwise(line)]
    (tmp_path / "streets.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": streets}))
    visits = "name,lat,lon,earliest,latest\n" + "".join(
        f"{name},48.1001,{lon},{early},\n" for name, lon, early in (("a", 11.50, "8:00"), ("b", 11.55, "9:00"),
                                                                    ("c", 11.60, "8:10")))
    (tmp_path / "visits.csv").write_text(visits)
    answer = hpcsolve.solve(tmp_path / "streets.geojson", "held-karp", device="cpu", stops=str(tmp_path / "visits.csv"),
                            speed=30, objective="finish")
    leg = round(from_places([48.1, 48.1], [11.5, 11.55]).cost[0, 1] * 3.6 / 30)
    assert list(answer.tour_labels) == ["a", "c", "b"]
    assert answer.contents.value("windows", "earliest").tolist() == [28800, 32400, 29400]
    assert abs(answer.cost - (32400 + leg)) <= 1 and answer.contents.unit == "s"


def osmnx_graph(*streets: tuple[int, int, float], mark: str = "crs") -> networkx.MultiDiGraph:
    """Return a graph with what OSMnx gives graphs and edges, but for another name of its `crs`."""
    graph = networkx.MultiDiGraph(**{mark: "epsg:4326"})
    for way, (tail, head, length) in enumerate(streets):
        graph.add_edge(tail, head, osmid=way, length=length, travel_time=length / 5, lanes=2)
    return graph


def test_units_of_osmnx() -> None:
    """Lengths are in metres and travel times in seconds, if the graph is certainly one of OSMnx."""
    graph = osmnx_graph((1, 2, 10.0), (2, 1, 20.0))
    found = {weight: from_networkx(graph, weight).unit for weight in ("length", "travel_time", "lanes", None)}
    assert found == {"length": "m", "travel_time": "s", "lanes": "", None: ""}
    assert from_networkx(osmnx_graph((1, 2, 10.0), mark="name"), "length").unit == ""
    graph.add_edge(1, 2, length=5.0)
    assert from_networkx(graph, "length").unit == "", "an edge has no osmid"


def test_a_speed_in_streets_of_osmnx(tmp_path: Path) -> None:
    """Lengths of full precision become the seconds of the given numbers, though as costs they had to be rounded."""
    lengths = (12.5, 12.499999999999998, 1e5 / 3, 1 / 3)  # too far apart for integers with the same scale
    graph = osmnx_graph(*((way, way % 4 + 1, length) for way, length in enumerate(lengths, 1)))
    keys = {"device": "cpu", "stops": [1, 2, 3, 4], "weight": "length"}
    answer = hpcsolve.solve(graph, "held-karp", **keys, speed=18)
    assert answer.to_pandas()["leg"].tolist() == [3, 2, 6667, 0] and answer.contents.unit == "s"
    networkx.write_graphml(graph, tmp_path / "town.graphml")
    keys["weight"] = "travel_time"
    assert hpcsolve.solve(tmp_path / "town.graphml", "held-karp", **keys).contents.unit == "s"
    with pytest.raises(InputError, match="the costs of graph are in s; remove speed"):
        hpcsolve.solve(graph, "held-karp", speed=18, **keys)


GEO = "NAME: g\nTYPE: {}\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n" \
      "1 48.12 16.22\n2 47.04 15.26\n{}EOF\n"


def test_kilometres_of_tsplib(tmp_path: Path) -> None:
    """GEO is kilometres, also under a speed. Costs with time windows are times of an unknown unit."""
    (tmp_path / "g.tsp").write_text(GEO.format("TSP", ""))
    tsp = read(tmp_path / "g.tsp").problem
    assert (tsp.unit, tsp.cost[0, 1]) == ("km", 145)
    assert read(tmp_path / "g.tsp", speed=72.5).problem.cost[0, 1] == 7200
    (tmp_path / "g.tsp").write_text(GEO.format("TSPTW", "TIME_WINDOW_SECTION\n1 0 900\n2 0 900\n"))
    assert read(tmp_path / "g.tsp").problem.unit == ""

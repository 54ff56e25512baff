"""`hpcsolve export`: every format reads back, and what an answer cannot be written as is refused."""

import csv
import json
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import h5py
import networkx as nx
import numpy as np
import pytest

from hpcsolve import load, solve
from hpcsolve.analysis.export import EXPORTERS, _with_numbers
from hpcsolve.analysis.export import export as write
from hpcsolve.answers.tour import TOUR
from hpcsolve.errors import InputError
from hpcsolve.formats import read_tour
from tests.cli.seen import error_line

HERE = {"device": "cpu", "threads": 1}
PLACES = """\
id,name,lat,lon
7,"Suva, Fiji",-18.14,178.44
8,"Apia ""old"" town",-13.83,-171.76
9,Auckland,-36.85,174.76
11,Nuku\\alofa,-21.14,-175.2
"""
COSTS = [[0, 1000, 2000], [1500, 0, 300], [2500, 700, 0]]
TEXTS = (".csv", ".geojson", ".dot", ".tour", ".pace")
ROADS = nx.DiGraph()
ROADS.add_weighted_edges_from([("Ann", "Bob", 1.5), ("Bob", "Cleo", 2.25), ("Dan", "Ann", 1.125), ("Ann", "Cleo", 4)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a result of each kind of answer."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "places.csv").write_text(PLACES)
    solve(folder / "places.csv", output=folder / "tour.h5", **HERE)
    solve(folder / "places.csv", path="open", output=folder / "open.h5", **HERE)
    solve(folder / "places.csv", best=3, output=folder / "best.h5", **HERE)
    windows = {2: (3_000, 9**9, 500)}
    solve(COSTS, objective="prize", prizes=[0, 5, 7], windows=windows, output=folder / "curve.h5", **HERE)
    solve([[0, 1, np.inf], [1, 0, np.inf], [np.inf, 1, 0]], output=folder / "none.h5", **HERE)
    paths = {"algorithm": "shortest-paths", **HERE}
    solve(ROADS, sources=[0, 1], predecessors=True, output=folder / "rows.h5", **paths)
    solve(ROADS, sources=[0], targets=[2, 3], output=folder / "targets.h5", **paths)
    solve(ROADS, queries=[[0, 2], [0, 3]], output=folder / "pairs.h5", **paths)
    tree = {"terminals": ["Ann", "Cleo"], "mode": "kmb"}
    solve(ROADS.to_undirected(), "steiner-kmb", output=folder / "tree.h5", **tree, **HERE)
    solve(ROADS, "shortest-paths", sources=[0, 1], reduce=["sum"], output=folder / "sums.h5", **HERE)
    for name in ("rows", "pairs", "tree", "sums"):  # as if the graph had places on the globe
        (folder / f"{name}-globe.h5").write_bytes((folder / f"{name}.h5").read_bytes())
        with h5py.File(folder / f"{name}-globe.h5", "r+") as file:
            for axis, values in {"x": [48.3, 48.6, 49.0, 50.0], "y": [16.0, 179.0, -179.0, 17.0]}.items():
                file[f"instance/{axis}"] = np.array(values)
            del file["instance/coordinates_kind"]
            file["instance/coordinates_kind"] = "degrees"
    return folder


@pytest.fixture
def export(folder, tmp_path, hpcsolve):
    """Return a function that exports a result and returns the text of the file."""

    def written(name, suffix, *options):
        path = tmp_path / f"{name}{suffix}"
        done = hpcsolve("export", folder / f"{name}.h5", "-o", path, *options)
        assert done.returncode == 0 and done.stdout == "", done.stderr
        return path.read_text(encoding="utf-8") if suffix in TEXTS else path

    return written


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_a_tour_in_every_format(export, folder, tmp_path):
    tour = load(folder / "tour.h5")
    rows = rows_of(export("tour", ".csv"))
    assert list(rows[0]) == ["order", "label", "name", "lat", "lon", "leg", "cumulative"]
    assert [row["name"] for row in rows] == tour.tour_labels and "Suva, Fiji" in tour.tour_labels
    assert sum(int(row["leg"]) for row in rows) == int(rows[-1]["cumulative"]) == tour.cost
    export("tour", ".tour")
    assert read_tour(tmp_path / "tour.tour").tolist() == [int(row["label"]) for row in rows]
    line, *points = json.loads(export("tour", ".geojson"))["features"]
    assert [point["properties"]["name"] for point in points] == tour.tour_labels
    assert all(-180 <= point["geometry"]["coordinates"][0] <= 180 for point in points)
    assert points[0]["geometry"]["coordinates"] == [float(rows[0]["lon"]), float(rows[0]["lat"])]
    parts = line["geometry"]["coordinates"]
    assert line["geometry"]["type"] == "MultiLineString" and line["properties"]["cost"] == tour.cost
    assert all(abs(a[0] - b[0]) < 180 for part in parts for a, b in pairwise(part))
    for left, right in pairwise(parts):
        assert abs(left[-1][0]) == 180 and left[-1][0] == -right[0][0] and left[-1][1] == right[0][1]
    edges, names = dot_of(export("tour", ".dot"))
    assert names[tour.tour[0]] == tour.tour_labels[0] and set(names.values()) == set(tour.tour_labels)
    assert sum(edges.values()) == tour.cost and len(edges) == 4


def test_all_of_several_tours(export, folder, tmp_path):
    several, rows = load(folder / "best.h5"), rows_of(export("best", ".csv"))
    assert [(row["tour"], row["order"]) for row in rows] == [(t, k) for t in "012" for k in "1234"]
    for number, (cost, tour) in enumerate(zip(several.best_costs.tolist(), several.best_tours.tolist())):
        own = rows[4 * number : 4 * number + 4]
        assert {int(row["cost"]) for row in own} == {sum(int(row["leg"]) for row in own)} == {cost}
        labels = [int(row["label"]) for row in own]
        export("best", ".tour", "--number", number, "--overwrite")
        assert [[7, 8, 9, 11].index(label) for label in labels] == tour
        assert read_tour(tmp_path / "best.tour").tolist() == labels
    assert list(several.to_pandas()["leg"]) == [int(row["leg"]) for row in rows]
    with h5py.File(folder / "best.h5") as file:  # as a reader without hpcsolve adds them up
        sums = np.bincount(file["tour_legs/tour"][()], file["tour_legs/cost"][()])
        assert sums.tolist() == file["solution/best_costs"][()].tolist()


def test_the_tours_of_a_curve_with_their_times(export):
    """By hand: the round trips over city 1, over city 2, which opens at 3000 and takes 500, and over both."""
    rows = rows_of(export("curve", ".csv"))
    told = [[row[name] for name in ("tour", "cost", "prize", "label", "arrival", "departure", "leg")] for row in rows]
    assert told == [
        ["0", "0", "0", "0", "", "0", ""],
        ["1", "2500", "5", "0", "", "0", "1000"], ["1", "2500", "5", "1", "1000", "1000", "1500"],
        ["2", "5700", "12", "0", "", "0", "2000"], ["2", "5700", "12", "2", "2000", "3500", "700"],
        ["2", "5700", "12", "1", "4200", "4200", "1500"],
    ]


DAY = """\
name,lat,lon,earliest,latest,service
Depot,48,16,07:00,,
Ann,48,16.01,,25:59,0:10
Bob,48.01,16,08:00:30,23:59,0:05
"""


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_times_of_day_are_read_as_they_were_written(suffix, tmp_path):
    """Legs of 744, 1338 and 1112 s at 3.6 km/h. The cost is when the tour ends, in seconds from midnight."""
    (tmp_path / "day.csv").write_text(DAY)
    asked = {"speed": 3.6, "objective": "finish", **HERE}
    found = solve(tmp_path / "day.csv", **asked)
    assert found.to_pandas()["earliest"].tolist() == [25200, 0, 28830], "numbers to compute with"
    write(found.contents, "day", str(tmp_path / f"trip{suffix}"))
    if suffix == ".csv":
        columns = ("name", "earliest", "latest", "service", "arrival", "begin", "departure")
        told = [[row[column] for column in columns] for row in rows_of((tmp_path / "trip.csv").read_text())]
        assert told == [["Depot", "07:00", "", "00:00", "", "07:00", "07:00"],
                        ["Ann", "", "25:59", "00:10", "07:12:24", "07:12:24", "07:22:24"],
                        ["Bob", "08:00:30", "23:59", "00:05", "07:44:42", "08:00:30", "08:05:30"]]
    again = solve(tmp_path / f"trip{suffix}", **asked)
    assert again.cost == found.cost == 8 * 3600 + 330 + 1112 and again.tour_labels == found.tour_labels


def test_each_of_several_tours_has_its_own_numbers():
    """What is known of the first tour alone is missing of the others: how late it is, and its legs before rounding."""
    costs = np.array([[0, 1.26, 2.24, 3.31], [4.18, 0, 1.28, 2.22], [4.16, 3.36, 0, 1.23], [4.21, 2.25, 3.37, 0]])
    for objective, keys in (("lexicographic", {}), ("finish", {"windows": {1: (0, 90)}})):
        several = solve(costs, objective=objective, best=3, round=0.1, **keys, **HERE).contents
        assert TOUR.count(several) == 3
        for number in range(3):
            one = TOUR.one_of(several, number)
            legs = one.value("legs", "cost").tolist()
            order = [*one.value("solution", "tour").tolist(), 0]
            assert one.value("rounding", "cost") == several.value("rounding", "best_costs")[number]
            if objective == "lexicographic":
                assert float(one.value("rounding", "cost")) == pytest.approx(sum(costs[order[:-1], order[1:]]))
                assert one.value("rounding", "dearest") == (str(costs[order[-2], 0]) if number == 0 else None)
                assert one.value("solution", "dearest") == max(legs) == 42
            assert (one.value("rounding", "slack") is None) == (objective == "lexicographic")
            assert (one.value("rounding", "error") is None) == (objective == "lexicographic" and number > 0)


def test_a_tour_and_paths_as_routes(export, folder):
    tour, points = load(folder / "tour.h5"), rows_of(export("tour", ".csv"))
    (name, way), = routes_of(export("tour", ".gpx"))
    assert name == "places" and [stop for stop, *_ in way] == [*tour.tour_labels, tour.tour_labels[0]]
    assert way[0] == (points[0]["name"], float(points[0]["lat"]), float(points[0]["lon"]))
    assert len(routes_of(export("open", ".gpx"))[0][1]) == 4
    ways = routes_of(export("pairs-globe", ".gpx"))
    assert [name for name, _ in ways] == ["Ann - Cleo"]
    assert [stop for stop, *_ in ways[0][1]] == ["Ann", "Bob", "Cleo"]


def routes_of(path):
    """Return the routes of a GPX file: the name of each, and the name, latitude and longitude of its points."""
    space = "{http://www.topografix.com/GPX/1/1}"
    return [(route.find(f"{space}name").text, [
        (point.find(f"{space}name").text, float(point.get("lat")), float(point.get("lon")))
        for point in route.iter(f"{space}rtept")]) for route in ElementTree.parse(path).getroot().iter(f"{space}rte")]


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
@pytest.mark.parametrize("name", ["tour", "tree", "rows", "pairs", "sums"])
def test_a_table_by_pandas(name, suffix, export, folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl" if suffix == ".xlsx" else "pyarrow")
    path, expected = export(name, suffix), load(folder / f"{name}.h5").to_pandas()
    found = pandas.read_excel(path) if suffix == ".xlsx" else pandas.read_parquet(path)
    if suffix == ".xlsx" and name == "pairs":
        expected["path"] = [json.dumps(path, ensure_ascii=False) for path in expected["path"]]
    if suffix == ".xlsx":  # whose cells hold no infinity
        expected = expected.replace(np.inf, np.nan)
    pandas.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_no_cell_of_a_sheet_is_a_formula(folder, tmp_path, hpcsolve):
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "names.csv").write_text("id,name,lat,lon\n1,=1+1,48,16\n2,+a,48,180\n3,b\u202e,0.00001,-180\n")
    solve(tmp_path / "names.csv", output=tmp_path / "names.h5", **HERE)
    assert hpcsolve("export", tmp_path / "names.h5", "-o", tmp_path / "names.xlsx").returncode == 0
    cells = [cell for row in openpyxl.load_workbook(tmp_path / "names.xlsx").active.iter_rows() for cell in row]
    assert {"'=1+1", "'+a", "b\\u202e"} <= {cell.value for cell in cells}
    assert all(cell.data_type != "f" for cell in cells)
    for suffix in ("gpx", "geojson"):  # with a leg along the 180th meridian, and a latitude of 1e-05
        done = hpcsolve("export", tmp_path / "names.h5", "-o", tmp_path / f"names.{suffix}")
        assert done.returncode == 0, done.stderr
    points = {name: point for name, *point in routes_of(tmp_path / "names.gpx")[0][1]}
    assert points["b\\u202e"] == [0.00001, -180] and points["+a"] == [48, -180]
    assert "e-" not in (tmp_path / "names.gpx").read_text()


def test_a_sheet_has_only_so_many_rows(folder, monkeypatch):
    monkeypatch.setitem(EXPORTERS, ".xlsx", replace(EXPORTERS[".xlsx"], most=7))
    with pytest.raises(InputError, match=r"has \d+ rows, more than the 7 that a sheet holds; hpcsolve export can "):
        list(EXPORTERS[".xlsx"].checked_pieces(load(folder / "rows.h5").contents, "rows.h5"))


def test_a_table_of_distances_as_an_array(export, folder):
    for name in ("rows", "targets"):
        np.testing.assert_array_equal(np.load(export(name, ".npy")), load(folder / f"{name}.h5").distance)
    assert np.isinf(load(folder / "rows.h5").distance).any()


def dot_of(text):
    """Return the edges with their weights, and the names, of a file for Graphviz."""
    found = re.findall(r'^  (\d+) \[label="((?:[^"\\]|\\.)*)"', text, re.M)
    names = {int(a): b.replace('\\"', '"').replace("\\\\", "\\") for a, b in found}
    edges = re.findall(r'^  (\d+) -[->] (\d+)(?: \[label="([\d.]+)"\])?;$', text, re.M)
    assert text.count("\n") == len(names) + len(edges) + 2
    return {(int(a), int(b)): float(c or 1) for a, b, c in edges}, names


def test_an_open_path(export, folder):
    rows = rows_of(export("open", ".csv"))
    assert rows[-1]["leg"] == "" and int(rows[-1]["cumulative"]) == load(folder / "open.h5").cost
    line = json.loads(export("open", ".geojson"))["features"][0]["geometry"]["coordinates"]
    ends = [row["lon"] for row in (rows[0], rows[-1])]
    flat = line if isinstance(line[0][0], float) else [point for part in line for point in part]
    assert [flat[0][0], flat[-1][0]] == [float(end) for end in ends]


def test_a_tree(export, folder):
    rows = rows_of(export("tree", ".csv"))
    assert {(r["u"], r["v"], r["weight"]) for r in rows} == {("Ann", "Bob", "1.5"), ("Bob", "Cleo", "2.25")}
    assert export("tree", ".pace").splitlines() == ["VALUE 3.75", "Ann Bob", "Bob Cleo"]
    edges, names = dot_of(export("tree", ".dot"))
    assert sum(edges.values()) == 3.75 and set(names.values()) == {"Ann", "Bob", "Cleo"}
    features = json.loads(export("tree-globe", ".geojson"))["features"]
    kinds = [feature["geometry"]["type"] for feature in features]
    assert kinds == ["LineString", "MultiLineString", "Point", "Point"], "Bob - Cleo crosses the 180th meridian"
    assert features[1]["geometry"]["coordinates"] == [[[179, 48.6], [180, 48.8]], [[-180, 48.8], [-179, 49]]]


def test_texts_of_numbers_are_numbers_where_all_of_a_name_are():
    """OSMnx writes GraphML so, and a GIS can add these up. A text with leading zeros stays a text."""
    given = [{"length": "167.852", "osmid": "12", "ref": "7", "code": "07", "oneway": "False", "lanes": None},
             {"length": "9", "osmid": "[13, 14]", "code": "11", "oneway": "True", "lanes": "2"}]
    first, second = _with_numbers(given)
    assert first == {**given[0], "length": 167.852, "ref": 7}
    assert second == {**given[1], "length": 9, "lanes": 2} and type(second["length"]) is int


def test_distances_and_paths(export, folder):
    rows = rows_of(export("rows", ".csv"))
    assert list(rows[0]) == ["source", "vertex", "distance", "predecessor"] and len(rows) == 8
    found = {(row["source"], row["vertex"]): row["distance"] for row in rows}
    expected = {name: nx.single_source_dijkstra_path_length(ROADS, name) for name in ("Ann", "Bob")}
    assert {pair: float(text) for pair, text in found.items() if text} == {
        (a, b): length for a, lengths in expected.items() for b, length in lengths.items()}
    edges, _ = dot_of(export("rows", ".dot", "--number", "1"))
    assert edges == {(1, 2): 2.25}
    points = json.loads(export("rows-globe", ".geojson"))["features"]
    assert len(points) == 5 and points[1]["properties"] == {
        "source": "Ann", "vertex": "Bob", "distance": 1.5, "predecessor": "Ann"}
    pairs = rows_of(export("pairs", ".csv"))
    assert [json.loads(row["path"]) for row in pairs] == [["Ann", "Bob", "Cleo"], []]
    assert [row["distance"] for row in pairs] == ["3.75", ""]
    (line,) = json.loads(export("pairs-globe", ".geojson"))["features"]
    assert line["properties"] == {"query": 0, "source": "Ann", "target": "Cleo", "distance": 3.75}
    assert [row["target"] for row in rows_of(export("targets", ".csv"))] == ["Cleo", "Dan"]


def test_reductions_are_points_at_their_sources(export):
    """By hand: from Ann to Bob 1.5 and to Cleo 3.75, from Bob to Cleo 2.25."""
    rows = rows_of(export("sums-globe", ".csv"))
    assert [(row["source"], row["lat"], row["lon"], row["sum"]) for row in rows] == [
        ("Ann", "48.3", "16", "5.25"), ("Bob", "48.6", "179", "2.25")]
    points = json.loads(export("sums-globe", ".geojson"))["features"]
    assert [(point["geometry"]["coordinates"], point["properties"]["source"], point["properties"]["sum"])
            for point in points] == [([16, 48.3], "Ann", 5.25), ([179, 48.6], "Bob", 2.25)]
    assert "lat" not in points[0]["properties"]


@pytest.mark.parametrize(("name", "suffix", "message"), [
    ("tour", ".pace", "of kind tour, not a Steiner tree; hpcsolve export can write it as .csv, .geojson, .dot, .tour"),
    ("open", ".tour", "the answer is an open path, and a TSPLIB tour is closed; hpcsolve export can write it as "),
    ("tree", ".tour", "the answer is not a tour; hpcsolve export can write it as .csv, .dot, .pace"),
    ("sums", ".dot", "reductions of distances have no graph of their own; export them as .csv; hpcsolve export can w"),
    ("tree", ".geojson", "the instance has no coordinates; hpcsolve export can write it as .csv, .dot, .pace"),
    ("targets", ".dot", "solve it with predecessors = true; hpcsolve export can write it as .csv"),
    ("rows", ".dot", "2 searches, numbered from 0: choose one, with number=0 or --number 0"),
    ("none", ".csv", "the answer states that there is no tour; there is nothing to write"),
    ("tour", ".kml", "no format has the suffix '.kml'; there are .csv, .geojson, .dot, .tour, .pace"),
    ("tour", "", "no format has the suffix ''"),
])
def test_what_cannot_be_written_is_refused(name, suffix, message, folder, tmp_path, hpcsolve):
    done = hpcsolve("export", folder / f"{name}.h5", "-o", tmp_path / f"out{suffix}")
    assert done.returncode == 2 and message in error_line(done), done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_a_plane_is_not_the_globe(folder, tmp_path, hpcsolve):
    (tmp_path / "a.h5").write_bytes((folder / "tour.h5").read_bytes())
    for kind, message in (("", "its coordinates are not latitudes"), (None, "the file does not say whether")):
        with h5py.File(tmp_path / "a.h5", "r+") as file:
            del file["instance/coordinates_kind"]
            if kind is not None:
                file["instance/coordinates_kind"] = kind
        done = hpcsolve("export", tmp_path / "a.h5", "-o", tmp_path / "a.geojson")
        assert done.returncode == 2 and message in error_line(done)


def test_degrees_and_minutes_become_decimal_degrees(folder, tmp_path, hpcsolve):
    (tmp_path / "a.h5").write_bytes((folder / "tour.h5").read_bytes())
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["instance/x"][:], file["instance/y"][:] = [-18.30, -13.45, -36, 21.15], [178.15, -171.30, 174, 5]
        del file["instance/coordinates_kind"]
        file["instance/coordinates_kind"] = "degrees.minutes"
    assert hpcsolve("export", tmp_path / "a.h5", "-o", tmp_path / "a.csv").returncode == 0
    found = {row["label"]: (float(row["lat"]), float(row["lon"])) for row in rows_of((tmp_path / "a.csv").read_text())}
    assert found["7"] == pytest.approx((-18.5, 178.25)) and found["8"] == pytest.approx((-13.75, -171.5))


def test_an_existing_file_and_an_altered_result(folder, tmp_path, hpcsolve):
    (tmp_path / "a.csv").write_text("mine")
    command = ["export", folder / "tree.h5", "-o", tmp_path / "a.csv"]
    assert "exists" in error_line(hpcsolve(*command)) and (tmp_path / "a.csv").read_text() == "mine"
    assert hpcsolve(*command, "--overwrite").returncode == 0
    (tmp_path / "a.h5").write_bytes((folder / "tree.h5").read_bytes())
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["solution/u"][0] = 99
    done = hpcsolve("export", tmp_path / "a.h5", "-o", tmp_path / "b.csv")
    assert done.returncode == 5 and "does not fit the instance" in error_line(done)
    assert not (tmp_path / "b.csv").exists()

"""Places as sources, targets and terminals: files, messages, and what the answer says of them."""

import json
import re
import shutil

import h5py
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.answers.snaps import place_lines
from hpcsolve.errors import InputError
from hpcsolve.formats.vertex_lists import read_vertices
from hpcsolve.problems.graph import from_edges
from hpcsolve.runner.verify import verify_file
from tests.answers.test_edges import streets

HERE = {"device": "cpu", "threads": 1}
ON_STREETS = {"weight": "length", **HERE}
HOMES = "name,lat,lon,rooms\nAnn,48.0001,16,3\nBob,48.009,16.019,2\nCleo,48,16.0001,9\n"
SCHOOL = {"type": "FeatureCollection", "features": [
    {"type": "Feature", "properties": {"name": "School"}, "geometry": {"type": "Point", "coordinates": [16, 48.0101]}}]}
JOB = """\
algorithm = "shortest-paths"
instance = { generate = "road-graph", n = 30, seed = 2 }
output = "out.h5"

[shortest-paths]
sources = "homes.csv"
targets = "shops.csv"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "homes.csv").write_text(HOMES)
    (tmp_path / "school.geojson").write_text(json.dumps(SCHOOL))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sources_and_targets(folder):
    """Two homes stand for one vertex, which is one source. Distances by hand, on the sphere 111195 m to a degree."""
    found = package.solve(streets(), sources="homes.csv", targets="school.geojson", **ON_STREETS)
    assert (found.sources, found.targets) == ([101, 103], [104])
    assert found.distance.tolist() == [[750.5 + 1200.25 + 1500], [1500]]
    places = found.table("places")
    assert list(zip(*(places[name].tolist() for name in ("role", "name", "vertex")))) == [
        ("source", "Ann", 0), ("source", "Bob", 2), ("source", "Cleo", 0), ("target", "School", 3)]
    assert places["distance"] == pytest.approx([11.12, 133.78, 7.44, 11.12], abs=0.01)
    assert "place:  source 'Bob' is vertex 103, 133.8 m away" in list(place_lines(found.contents))
    plain = package.solve(streets(), sources=[101, 103], targets=[104], **ON_STREETS)
    assert "places" not in plain.contents.groups and np.array_equal(plain.distance, found.distance)


def test_terminals(folder):
    tree = package.solve(streets(), terminals=folder / "homes.csv", directed=False, **ON_STREETS)
    assert tree.terminals == [101, 103] and tree.cost == 1950.75
    assert tree.table("places")["role"].tolist() == ["terminal"] * 3
    with pytest.raises(InputError, match=r"terminals='none.csv': give a list, as in terminals=\['none.csv'\], or a f"):
        package.solve(streets(), terminals="none.csv", **ON_STREETS)


def test_stops(folder, hpcsolve):
    """Two homes at one vertex are two stops with no way between them. Costs by hand: there over Bob, back by 104."""
    graph = streets()
    graph.add_edge(104, 101, key=0, length=10.125)
    found = package.solve(graph, stops="homes.csv", **ON_STREETS)
    assert sorted(found.tour_labels) == ["Ann", "Bob", "Cleo"] and found.contents.value("instance", "label")[2] == 3
    assert found.cost == 750.5 + 1200.25 + 1500 + 10.125 and sorted(found.table("legs")["cost"])[0] == 0
    places = found.table("places")
    assert (places["role"].tolist(), places["vertex"].tolist()) == (["stop"] * 3, [0, 2, 0])
    assert places["distance"] == pytest.approx([11.12, 133.78, 7.44], abs=0.01)
    assert found.coordinates.tolist() == [[48, 16], [48.01, 16.02], [48, 16]]
    (folder / "two.csv").write_text("source,target,weight\n7,8,2.5\n8,9,1\n")
    (folder / "some.txt").write_text("9\n7\n")
    (folder / "two.toml").write_text(
        'algorithm = "held-karp"\ninstance = { file = "two.csv", stops = "some.txt" }\noutput = "two.h5"\n')
    assert "cost:   7" in hpcsolve("run", "two.toml", "--device", "cpu", cwd=folder).stdout
    (folder / "some.txt").unlink()
    assert "two.h5: instance.stops: there is no file" in hpcsolve("verify", "two.h5", cwd=folder).stderr
    (folder / "some.txt").write_text("9\n8\n")
    assert "is not the instance that was solved" in hpcsolve("verify", "two.h5", cwd=folder).stderr
    with pytest.raises(InputError, match=r"stops='none.csv': give a list, as in stops=\['none.csv'\], or a file"):
        package.solve(graph, stops="none.csv", **ON_STREETS)


def test_a_job_with_places_in_a_plane(folder, hpcsolve):
    """Two ranks give the same file as one, verify finds what was altered, and another file is another job."""
    (folder / "homes.csv").write_text("id;X;y\n7;10,5;20\n8;900;1000\n")
    (folder / "shops.csv").write_text("\n".join(["x,y", *(f"{100 * k},{k * k}" for k in range(14))]))
    (folder / "job.toml").write_text(JOB)
    done = hpcsolve("run", "job.toml", "--device", "cpu", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "place:  source '7' is vertex " in done.stdout and "place:  14 targets are " in done.stdout
    verdict = hpcsolve("verify", "out.h5", cwd=folder)
    assert verdict.returncode == 0 and "PASS" in verdict.stdout and "place:  14 targets are " in verdict.stdout
    assert "this job is done already" in hpcsolve("run", "job.toml", "--device", "cpu", cwd=folder).stdout
    shutil.copy(folder / "out.h5", folder / "wrong.h5")
    with h5py.File(folder / "wrong.h5", "r+") as file:
        file["places/distance"][0] += 1
    reason = verify_file(str(folder / "wrong.h5"))[1].reason
    assert "/places/distance does not follow from answer and instance" in reason
    (folder / "shops.csv").rename(folder / "moved.csv")
    gone = hpcsolve("verify", "out.h5", cwd=folder).stderr
    assert re.search("out.h5: shortest-paths.targets: there is no file .*shops.csv, which the run had; put it b", gone)
    (folder / "shops.csv").write_text("x,y\n5,5\n")
    again = hpcsolve("run", "out.h5", "--device", "cpu", "--output", "other.h5", cwd=folder)
    assert again.returncode == 2
    assert "shops.csv: has other targets than the job (its SHA-256 differs); --set shortest-paths.t" in again.stderr
    taken = hpcsolve("run", "out.h5", "--device", "cpu", "--output", "other.h5", "--set",
                     "shortest-paths.targets=shops.csv", cwd=folder)
    assert taken.returncode == 0 and "place:  target '1' is vertex " in taken.stdout, taken.stderr


def test_opportunities_at_places(folder):
    """Those of two homes at one vertex are added up. Tables and points have them. By hand, of one-way streets."""
    keys = {"reduce": ["access"], "decays": [1000, {"linear": 2000}], "opportunities": "rooms", **ON_STREETS}
    found = package.solve(streets(), sources=[101, 103], targets="homes.csv", **keys)
    assert (found.targets, found.contents.value("solution", "opportunities").tolist()) == ([101, 103], [12, 2])
    assert found.access.tolist() == [[12, 12.04925], [2, 2.2955]]
    school = {**SCHOOL["features"][0], "properties": {"rooms": 0.5}}
    (folder / "school.geojson").write_text(json.dumps({**SCHOOL, "features": [school]}))
    assert package.solve(streets(), sources=[103, 104], targets="school.geojson", **keys).access.tolist() == [
        [0, 0.125], [0.5, 0.5]]
    (folder / "homes.csv").write_text("lat;lon;rooms\n48,0001;16,0;1,5\n48,009;16,019;2,25\n")
    assert package.solve(streets(), sources=[103], targets="homes.csv", **{**keys, "decays": [9999]}).access == 3.75


@pytest.mark.parametrize(("targets", "text", "message"), [
    ("a.csv", HOMES.replace("2\n", "few\n"), r"a.csv:3: rooms: 'few' is not a number"),
    ("a.csv", HOMES.replace("2\n", "-2\n"), r"a.csv:3: rooms: '-2' is negative"),
    ("a.csv", HOMES.replace("2\n", "\n"), r"a.csv:3: rooms: '' is missing or infinite"),
    ("a.csv", "lat,lon,beds\n48,16,1\n", r"a.csv:1: there is no column 'rooms'; the columns are lat, lon, beds"),
    ("a.geojson", json.dumps(SCHOOL), r"a.geojson:1: the point has no property 'rooms'; it has name"),
    ("a.txt", "103\n", r"a.txt:1: the column 'rooms' needs places, with lat and lon or x and y; or give the opp"),
])
def test_mistakes_in_opportunities(targets, text, message, folder):
    (folder / targets).write_text(text)
    with pytest.raises(InputError, match=message):
        package.solve(streets(), sources=[101], targets=targets, reduce=["access"], decays=[9], opportunities="rooms",
                      **ON_STREETS)


def test_a_file_of_vertices(folder):
    (folder / "some.txt").write_text("# of the city\n103\n101\n")
    found = package.solve(streets(), sources="some.txt", targets=[104], **ON_STREETS)
    assert found.sources == [103, 101] and "places" not in found.contents.groups


@pytest.mark.parametrize(("sources", "text", "message"), [
    ("gone.csv", None, r"shortest-paths.sources: there is no file .*gone.csv; a list of vertices is written"),
    ("a.csv", "lat,lon\n16,48\n95,16\n", "a.csv:3: the latitude 95 is outside of -90 to 90 decimal degrees"),
    ("a.csv", "x,y\n1,2\n", "shortest-paths.sources: .*the places have x and y in a plane, the graph latitudes and "),
    ("a.csv", "x,y\n1,b\n", r"a.csv:2: the coordinate y 'b' is not a number"),
    ("a.csv", "x,y\n1,2,3\n", r"a.csv:2: 3 cells under a header of 2"),
    ("a.csv", "name,x,y\n", r"a.csv:1: there are no places below the header"),
    ("a.txt", "103\n103\n", r"shortest-paths.sources: vertex 103 is listed twice; list it once"),
    ("a.txt", "", r"a.txt: is empty"),
    ("a.txt", "# none\n", r"a.txt:1: there is no source; write a vertex on each line"),
])
def test_mistakes(sources, text, message, folder):
    if text is not None:
        (folder / sources).write_text(text)
    with pytest.raises(InputError, match=message):
        package.solve(streets(), sources=sources, **ON_STREETS)


def test_targets_are_not_all(folder):
    with pytest.raises(InputError, match=r'targets: remove "all": without targets distances are found at all vertices'):
        package.solve(streets(), sources=[101], targets="all", **ON_STREETS)


def test_places_need_coordinates(folder):
    with pytest.raises(InputError, match=r"graph: its vertices have no coordinates, so no place is near one;"):
        read_vertices("homes.csv").placed(from_edges([0], [1]), "terminal")

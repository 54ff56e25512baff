"""Tours between vertices of a graph: costs are those of networkx's shortest paths, the order by brute force."""

import json
import re
from itertools import pairwise, permutations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hpcsolve as package
from hpcsolve.analysis.export import export
from hpcsolve.errors import InputError
from hpcsolve.problems.libraries import from_networkx, to_scipy
from hpcsolve.problems.stops import tour_of_stops
from hpcsolve.problems.tsp import NO_ARC
from hpcsolve.report.words import unit_of
from tests.answers.test_edges import CURVE, PLACES, as_text, streets

HERE = {"device": "cpu", "threads": 1}
ENDS = st.integers(0, 7)
ARCS = st.lists(st.tuples(ENDS, ENDS, st.sampled_from([0, 1, 2.5, 3.125, 7])), max_size=20)


@settings(max_examples=40, deadline=None)
@given(ARCS, st.permutations(range(8)), st.booleans())
def test_costs_are_shortest_distances(arcs, stops, directed):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(8))
    for tail, head, weight in arcs:
        graph.add_edge(tail, head, weight=weight)
    cities = tour_of_stops(from_networkx(graph), stops[:5])
    for row, source in enumerate(stops[:5]):
        lengths = nx.single_source_dijkstra_path_length(graph, source)
        for column, target in enumerate(stops[:5]):
            expected = lengths[target] * cities.scale if target in lengths else NO_ARC
            assert row == column or cities.cost[row, column] == expected
    assert cities.labels.tolist() == list(stops[:5]) and (cities.symmetric or directed)


def network():
    """Return 6 streets with names, both ways, of which one way takes longer."""
    graph = nx.DiGraph()
    for a, b, there, back in (("Mill", "Dock", 2.5, 4), ("Dock", "Park", 3, 3), ("Park", "Mill", 9, 1.25),
                              ("Park", "Fair", 1, 2), ("Fair", "Mill", 5, 5.5)):
        graph.add_edge(a, b, minutes=there)
        graph.add_edge(b, a, minutes=back)
    return graph


def test_a_tour_of_named_nodes(tmp_path):
    graph, stops = network(), ["Fair", "Mill", "Dock"]
    found = package.solve(graph, stops=stops, weight="minutes", output=tmp_path / "tour.h5", **HERE)

    def length(order):
        return sum(nx.dijkstra_path_length(graph, a, b, "minutes") for a, b in pairwise([*order, order[0]]))

    assert sorted(found.tour_labels) == sorted(stops) and found.optimal
    assert found.cost == length(found.tour_labels) == min(map(length, permutations(stops)))
    again = package.solve(to_scipy(from_networkx(graph, "minutes")), "held-karp", stops=[3, 0, 1], **HERE)
    assert again.cost == found.cost


def test_a_job_with_stops(tmp_path, hpcsolve):
    nx.write_graphml(network(), tmp_path / "city.graphml")
    (tmp_path / "job.toml").write_text(
        'algorithm = "held-karp"\noutput = "tour.h5"\n'
        'instance = { file = "city.graphml", weight = "minutes", stops = ["Fair", "Mill", "Dock"] }\n')
    done = hpcsolve("run", "job.toml", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 cities, asymmetric, costs along shortest paths in city" in done.stdout
    verified = hpcsolve("verify", "tour.h5", cwd=tmp_path)
    assert verified.returncode == 0 and "PASS" in verified.stdout, verified.stderr
    named = package.solve(network(), stops=["Fair", "Mill", "Dock"], weight="minutes", **HERE)
    assert package.load(tmp_path / "tour.h5").cost == named.cost
    solved = hpcsolve("solve", "city.graphml", "--set", "instance.weight=minutes", "--set",
                      'instance.stops=["Fair", "Mill"]', "--output", "two.h5", "--device", "cpu", cwd=tmp_path)
    assert solved.returncode == 0 and "cost:   7.25" in solved.stdout, solved.stderr
    both = hpcsolve("run", "job.toml", "--set", "instance.terminals=[1]", "--output", "no.h5", cwd=tmp_path)
    assert both.returncode == 2 and "instance: stops are those of a tour, terminals those of a tree" in both.stderr


def test_places_of_the_stops(tmp_path):
    """Stops keep their coordinates, whose unit says nothing of the costs."""
    graph = streets()
    graph.add_edge(104, 101, key=0, length=10.125)
    found = package.solve(graph, stops=[101, 103, 104], weight="length", **HERE)
    assert found.cost == 750.5 + 1200.25 + 1500 + 10.125 and unit_of(found) == ""
    line, *stops = exported(found, tmp_path)
    assert [16.02, 48.01] in line["geometry"]["coordinates"] and "straight lines" in line["properties"]["note"]
    assert "vertex" not in stops[0]["properties"], "the graph of a program's memory is gone"


def exported(result, folder):
    """Return the features of a result's GeoJSON."""
    export(result.contents, "tour", str(folder / "tour.geojson"))
    return json.loads((folder / "tour.geojson").read_text())["features"]


def test_an_exported_tour_runs_along_its_streets(tmp_path):
    """There along the curve of a street, whose corner is no vertex, and by a vertex that is no stop."""
    graph = streets()
    graph.add_edge(104, 101, key=0, length=10.125)
    for *_, about in graph.edges(data=True):
        about.update({name: str(value) for name, value in as_text(about).items()})
    nx.write_graphml(graph, tmp_path / "town.graphml")
    (tmp_path / "stops.csv").write_text("name,lat,lon\nShop,48.0001,16\nInn,48.01,16.02\nMill,48.01,16\n")
    found = package.solve(tmp_path / "town.graphml", stops=tmp_path / "stops.csv", weight="length", **HERE)
    curve = [list(place) for place in (*CURVE, PLACES[103], PLACES[104], PLACES[101])]
    line, *stops = exported(found, tmp_path)
    assert line["geometry"]["coordinates"] == curve and "note" not in line["properties"]
    assert [(stop["properties"]["name"], stop["properties"]["vertex"]) for stop in stops] == [
        ("Shop", 101), ("Inn", 103), ("Mill", 104)]
    export(found.contents, "tour", str(tmp_path / "tour.gpx"))
    points = re.findall(r'<(rte|trk)pt lat="([\d.]+)" lon="([\d.]+)"', (tmp_path / "tour.gpx").read_text())
    assert [[float(lon), float(lat)] for kind, lat, lon in points if kind == "trk"] == curve
    assert sum(kind == "rte" for kind, *_ in points) == 4

    (tmp_path / "town.graphml").unlink()
    line, *stops = exported(found, tmp_path)
    assert len(line["geometry"]["coordinates"]) == 4
    assert "the graph of the streets is gone" in line["properties"]["note"]
    export(found.contents, "tour", str(tmp_path / "tour.gpx"))
    assert "<desc>straight lines, " in (tmp_path / "tour.gpx").read_text()
    assert "<trk>" not in (tmp_path / "tour.gpx").read_text()


@pytest.mark.parametrize(("stops", "message"), [
    (["Fair", "Mil"], r"stops: graph has no vertex 'Mil'; did you mean 'Mill'\?"),
    (["Fair", "Fair"], "graph: stops: 'Fair' is listed twice; list it once"),
    ([], "graph: stops: the list is empty; name at least one vertex"),
    ("Fair", r"stops='Fair': give a list, as in stops=\['Fair'\]"),
    (5, r"stops=5: give a list, as in stops=\[5\]"),
])
def test_mistakes(stops, message):
    with pytest.raises(InputError, match=message):
        package.solve(network(), stops=stops, weight="minutes", **HERE)


def test_a_tour_or_a_tree():
    with pytest.raises(InputError, match="stops= asks for a tour, terminals= for a tree; remove one of them"):
        package.solve(network(), stops=["Fair"], terminals=["Mill"], **HERE)
    for asked, what in (({"sources": [1]}, "sources="), ({"queries": [[1, 2]]}, "queries="),
                        ({"algorithm": "shortest-paths"}, 'algorithm="shortest-paths"')):
        message = f"terminals= asks for a tree, {what} for distances or paths; remove one of them"
        with pytest.raises(InputError, match=message):
            package.solve(network(), terminals=["Mill"], **asked, **HERE)
    between = package.solve(network(), terminals=["Mill", "Fair"], sources="terminals", weight="minutes",
                            directed=False, **HERE)
    assert between.distance.shape[0] == 2
    with pytest.raises(InputError, match="list is not a graph; give a Graph, a sparse matrix"):
        package.solve([[0, 1], [1, 0]], stops=[0], **HERE)

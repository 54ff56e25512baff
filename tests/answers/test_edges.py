"""A street network as OSMnx makes it, there and back: keys, identifiers, names and curves of paths and trees."""

import json
import re
import sys
from types import ModuleType

import h5py
import networkx as nx
import pytest

import hpcsolve
from hpcsolve.analysis.export import export
from hpcsolve.errors import DamagedFileError
from hpcsolve.runner.verify import verify_file
from tests.problems.test_edge_texts import Line

HERE = {"device": "cpu", "threads": 1, "weight": "length"}
PLACES = {101: (16.0, 48.0), 102: (16.01, 48.0), 103: (16.02, 48.01), 104: (16.0, 48.01)}
CURVE = [(16.0, 48.0), (16.005, 48.005), (16.01, 48.0)]
ARC = "LINESTRING (16 48, 16.005 48.005, 16.01 48)"
STREETS = (  # a straight street is longer than a curved one beside it; the last one is a one-way street
    (101, 102, 0, {"osmid": 7, "name": "Straight", "highway": "primary", "oneway": False, "length": 800.0}),
    (101, 102, 1, {"osmid": [8, 9], "name": ["Arc", "Bow"], "highway": "residential", "oneway": False,
                   "geometry": Line(*CURVE), "length": 750.5}),
    (102, 103, 0, {"osmid": 10, "highway": "tertiary", "oneway": False, "length": 1200.25}),
    (103, 104, 0, {"osmid": 11, "name": "One Way", "oneway": True, "length": 1500.0}),
)


def streets():
    graph = nx.MultiDiGraph(crs="epsg:4326")
    for node, (x, y) in PLACES.items():
        graph.add_node(node, x=x, y=y, street_count=3)
    for tail, head, key, about in STREETS:
        graph.add_edge(tail, head, key, **about)
        if not about["oneway"]:
            back = {"geometry": Line(*about["geometry"].coords[::-1])} if "geometry" in about else {}
            graph.add_edge(head, tail, key, **about | back)
    return graph


def as_text(about):
    """Return the attributes of an edge with its line as text, written here by hand."""
    line = about.get("geometry")
    text = None if line is None else ", ".join(f"{x:g} {y:g}" for x, y in line.coords)
    return about | ({} if line is None else {"geometry": f"LINESTRING ({text})"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with results of paths, and of a tree, of the graph in memory and of its file."""
    folder, graph = tmp_path_factory.mktemp("streets"), streets()
    hpcsolve.solve(graph, queries=[[101, 103], [103, 101], [104, 101]], output=folder / "paths.h5", **HERE)
    keys = {"terminals": [101, 103, 104], "directed": False}
    hpcsolve.solve(graph, **keys, output=folder / "tree.h5", **HERE)
    for *_, about in graph.edges(data=True):  # OSMnx writes all attributes as texts
        about.update({name: str(value) for name, value in as_text(about).items()})
    nx.write_graphml(graph, folder / "streets.graphml")
    hpcsolve.solve(folder / "streets.graphml", queries=[[103, 101]], output=folder / "file.h5", **HERE)
    hpcsolve.solve(folder / "streets.graphml", **keys, output=folder / "file-tree.h5", **HERE)
    return folder


def test_a_path_has_the_edges_of_the_graph(folder):
    graph, result = streets(), hpcsolve.load(folder / "paths.h5")
    for query, steps in enumerate(([(101, 102, 1), (102, 103, 0)], [(103, 102, 0), (102, 101, 1)], [])):
        path = result.to_networkx(query)
        assert isinstance(path, nx.MultiDiGraph) and list(path.edges(keys=True)) == steps
        for step in steps:
            assert path.edges[step] == as_text(graph.edges[step]) | {"weight": graph.edges[step]["length"]}
        assert path.size("weight") == (result.distance[query] if steps else 0)
    assert path.graph == {"crs": "epsg:4326"}
    assert result.to_networkx(0).nodes[101] == {"x": 16.0, "y": 48.0, "lat": 48.0, "lon": 16.0}


def test_a_tree_has_the_edges_of_the_graph(folder):
    graph, tree = streets(), hpcsolve.load(folder / "tree.h5").to_networkx()
    assert isinstance(tree, nx.MultiDiGraph) and nx.is_tree(tree) and set(tree) == set(PLACES)
    assert set(tree.edges(keys=True)) <= set(graph.edges(keys=True)), "a one-way street as it was given"
    assert {tuple(sorted(step)) for step in tree.edges()} == {(101, 102), (102, 103), (103, 104)}
    for *step, about in tree.edges(keys=True, data=True):
        assert about == as_text(graph.edges[step]) | {"weight": graph.edges[step]["length"]}


def test_an_own_weight_is_kept(tmp_path):
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight="heavy", length=2.5)
    graph.add_edge("b", "c", length=1.0)
    path = hpcsolve.solve(graph, "shortest-paths", queries=[["a", "c"]], **HERE).to_networkx()
    assert path.edges["a", "b"] == {"weight": "heavy", "length": 2.5, "search_weight": 2.5}
    assert path.edges["b", "c"] == {"length": 1.0, "search_weight": 1.0}
    nx.write_graphml(nx.DiGraph([("a", "b", {"weight": 2.5})]), tmp_path / "same.graphml")
    same = hpcsolve.solve(tmp_path / "same.graphml", queries=[["a", "b"]], device="cpu").to_networkx()
    assert same.edges["a", "b"] == {"weight": 2.5}


@pytest.mark.parametrize("name", ["file", "file-tree"])
def test_a_graphml_file(name, folder):
    """Attributes are the file's own texts, the identifiers numbers again."""
    result, graph = hpcsolve.load(folder / f"{name}.h5"), streets()
    found = result.to_networkx()
    for *step, about in found.edges(keys=True, data=True):
        expected = {key: str(value) for key, value in as_text(graph.edges[step]).items()}
        assert about == expected | {"osmid": graph.edges[step]["osmid"], "weight": graph.edges[step]["length"]}
    assert verify_file(str(folder / f"{name}.h5"))[1].passed


def test_curves_stay_curved_in_geojson(folder):
    features = {}
    for name in ("paths", "file-tree"):
        export(hpcsolve.load(folder / f"{name}.h5").contents, name, str(folder / f"{name}.geojson"))
        features[name] = json.loads((folder / f"{name}.geojson").read_text())["features"]
    there, back = features["paths"]
    assert there["geometry"]["coordinates"] == [list(place) for place in [*CURVE, PLACES[103]]]
    assert back["geometry"]["coordinates"] == there["geometry"]["coordinates"][::-1]
    export(hpcsolve.load(folder / "paths.h5").contents, "paths", str(folder / "paths.gpx"))
    tracks = re.findall(r'<trkpt lat="([\d.]+)" lon="([\d.]+)"', (folder / "paths.gpx").read_text())
    both = there["geometry"]["coordinates"] + back["geometry"]["coordinates"]
    assert [[float(lon), float(lat)] for lat, lon in tracks] == both
    assert there["properties"] == {
        "key": [1, 0], "osmid": [[8, 9], 10], "name": [["Arc", "Bow"], None], "highway": ["residential", "tertiary"],
        "oneway": [False, False], "length": [750.5, 1200.25], "query": 0, "source": 101, "target": 103,
        "distance": 1950.75, "path": [101, 102, 103]}
    (curved,) = (one for one in features["file-tree"] if one["properties"].get("key") == 1)
    assert curved["geometry"]["coordinates"] == [list(place) for place in CURVE]
    assert curved["properties"]["osmid"] == [8, 9] and curved["properties"]["u"] == 101


def test_pictures_have_the_curves(folder):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    corner = list(CURVE[1])
    for name, count in (("paths", 4), ("tree", 3 * 3 + 1)):
        axes = hpcsolve.load(folder / f"{name}.h5").plot(network=False)
        line = axes.lines[0].get_xydata().tolist()
        assert corner in line and len(line) == count
        pyplot.close("all")


def test_altered_edges(folder):
    altered = folder / "altered.h5"
    for name, wrong in (("attributes", "{}"), ("key", "5"), ("weight", 3), ("reversed", True)):
        altered.write_bytes((folder / "file.h5").read_bytes())
        with h5py.File(altered, "r+") as file:
            file[f"edges/{name}"][0] = wrong
        verdict = verify_file(str(altered))[1]
        assert verdict.passed is False and f"/edges/{name} does not follow from answer and instance" in verdict.reason
    with h5py.File(altered, "r+") as file:
        file["edges/head"][...] = 0
    result = hpcsolve.load(altered)
    with pytest.raises(DamagedFileError, match="damaged: /edges has no edge from position 2 to 1"):
        result.to_networkx()
    for suffix in ("dot", "geojson"):
        with pytest.raises(DamagedFileError, match="damaged: /edges has no edge from position 2 to 1"):
            export(result.contents, "a", str(folder / f"a.{suffix}"))


def test_with_shapely_lines_are_its_own(folder, monkeypatch):
    shapely = ModuleType("shapely")
    shapely.from_wkt, shapely.__spec__ = lambda text: ("line", text), ""
    monkeypatch.setitem(sys.modules, "shapely", shapely)
    path = hpcsolve.load(folder / "paths.h5").to_networkx(0)
    assert path.edges[101, 102, 1]["geometry"] == ("line", ARC)


def test_lines_of_geojson(tmp_path):
    """With a weight each line is one edge, and keeps its curve and its properties."""
    def feature(name, minutes, *places):
        return {"type": "Feature", "properties": {"name": name, "minutes": minutes},
                "geometry": {"type": "LineString", "coordinates": places}}

    lines = [feature("A", 5, [16, 48], [16.5, 48.25], [17, 48]), feature("B", 7, [18, 48], [17, 48])]
    (tmp_path / "roads.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": lines}))
    for weight, curve in (("minutes", "LINESTRING (16 48, 16.5 48.25, 17 48)"), (None, None)):
        keys = {"weight": weight} if weight else {}
        found = hpcsolve.solve(tmp_path / "roads.geojson", queries=[["18,48", "16,48"]], device="cpu", **keys,
                               output=tmp_path / "way.h5")
        edges = list(found.to_networkx().edges(data=True))
        assert [about["name"] for *_, about in edges] == (["B", "A"] if weight else ["B", "A", "A"])
        assert edges[-1][2].get("geometry") == curve
        export(found.contents, "way", str(tmp_path / "out.geojson"))
        (line,) = json.loads((tmp_path / "out.geojson").read_text())["features"]
        assert line["geometry"]["coordinates"] == [[18, 48], [17, 48], [16.5, 48.25], [16, 48]]


def test_a_node_link_file_keeps_its_keys(tmp_path):
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", "slow", weight=5)
    graph.add_edge("a", "b", "fast", weight=2, osmid=3)
    (tmp_path / "two.json").write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    found = hpcsolve.solve(tmp_path / "two.json", queries=[["b", "a"]], device="cpu").to_networkx()
    assert list(found.edges(keys=True, data=True)) == [("b", "a", "fast", {"weight": 2, "osmid": 3})]

"""GraphML, GML and node-link JSON are read as networkx writes them, and hostile or damaged files are refused."""

import json
import subprocess
import sys
import time
from fractions import Fraction

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read_graph, write_graph
from hpcsolve.problems.graph import from_edges
from tests.formats.reading import named_arcs, refusal
from tests.formats.samples import GRAPHML, samples

names = st.text("abcXYZ éß<&>\"'", min_size=1, max_size=5).filter(lambda text: text == " ".join(text.split()))
edges = st.lists(st.tuples(names, names, st.integers(0, 9) | st.floats(0.001, 1e9)), min_size=1, max_size=12)
long = st.lists(st.tuples(names, names, st.integers(2**31, 2**59)), min_size=1, max_size=12)


def arcs_of(graph):
    """Return what named_arcs must give, from a graph of networkx without loops."""
    found = {(a, b): Fraction(repr(data["weight"])) for a, b, data in graph.edges(data=True)}
    return found if graph.is_directed() else {**found, **{(b, a): weight for (a, b), weight in found.items()}}


@given(edges, st.booleans(), st.sampled_from(["graphml", "gml", "json"]))
def test_what_networkx_writes_is_read(tmp_path_factory, drawn, directed, kind):
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_weighted_edges_from((a, b, weight) for a, b, weight in drawn if a != b)
    if not graph.size():
        return
    path = str(tmp_path_factory.mktemp("g") / f"t.{kind}")
    if kind == "json":
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(networkx.node_link_data(graph), stream)
    else:
        {"graphml": networkx.write_graphml, "gml": networkx.write_gml}[kind](graph, path)
    found = read_graph(path).problem
    assert found.directed == directed and named_arcs(found) == arcs_of(graph)
    assert list(found.vertex_names) == list(graph.nodes)
    if directed:
        assert not read_graph(path, directed=False).problem.directed


@given(edges | long, st.booleans(), st.booleans(), st.sampled_from(["", "degrees"]),
       st.sampled_from(["graphml", "gml", "json"]))
def test_what_is_written_is_read(tmp_path_factory, drawn, directed, named, kind, suffix):
    called = tuple(dict.fromkeys(name for a, b, _ in drawn for name in (a, b)))
    place = {name: index for index, name in enumerate(called)}
    graph = from_edges(
        [place[a] for a, _, _ in drawn], [place[b] for _, b, _ in drawn], [w for *_, w in drawn], n=len(called),
        directed=directed, labels=None if named else np.arange(len(called)) * 7 - 3,
        vertex_names=called if named else (), terminals=[0], coordinates=[[i / 7, -i] for i in range(len(called))],
    )
    graph = graph.__class__(**{**vars(graph), "coordinates_kind": kind})
    path = str(tmp_path_factory.mktemp("g") / f"t.{suffix}")
    write_graph(graph, path)
    again = read_graph(path).problem
    assert named_arcs(again) == named_arcs(graph) and again.directed == directed
    assert again.vertex_names == graph.vertex_names and again.labels.tolist() == graph.labels.tolist()
    assert np.array_equal(again.coordinates, graph.coordinates) and again.coordinates_kind == kind
    assert again.terminals.tolist() == [0]


def test_a_file_of_osmnx(tmp_path):
    """OSMnx writes all attributes as texts, ids as numbers, and parallel streets."""
    streets = networkx.MultiDiGraph(crs="epsg:4326")
    for node, (x, y) in {11: (16.37, 48.21), 12: (16.38, 48.22), 13: (16.4, 48.2)}.items():
        streets.add_node(node, x=str(x), y=str(y), street_count="3")
    for a, b, length in ((11, 12, 151.25), (11, 12, 99.5), (12, 13, 48.125), (13, 11, 70.0)):
        streets.add_edge(a, b, osmid="7", length=str(length), oneway="True")
    networkx.write_graphml(streets, tmp_path / "city.graphml")
    path = str(tmp_path / "city.graphml")
    graph = read_graph(path, weight="length").problem
    assert graph.labels.tolist() == [11, 12, 13] and graph.parallel_arcs == 1 and graph.directed
    assert named_arcs(graph) == {(11, 12): 99.5, (12, 13): 48.125, (13, 11): 70}
    assert graph.coordinates.tolist()[0] == [48.21, 16.37] and graph.coordinates_kind == "degrees"
    with pytest.raises(InputError, match=r"graphml:1: no edge has the attribute 'weight'; edges have length, osmid: "
                                         "choose with weight, as in --set instance.weight=length$"):
        read_graph(path)
    found = hpcsolve.solve(path, "shortest-paths", sources=[11], weight="length", device="cpu")
    assert found.distance.tolist() == [[0, 99.5, 147.625]]


def test_terminals_and_positions(tmp_path):
    nodes = [{"id": "a", "pos": [0, 1], "terminal": True}, {"id": "b", "pos": [2, 3]}]
    nodes.append({"id": "c", "pos": [4, 5], "terminal": 1})
    data = {"nodes": nodes, "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]}
    (tmp_path / "t.json").write_text(json.dumps(data))
    graph = read_graph(tmp_path / "t.json").problem
    assert graph.terminals.tolist() == [0, 2] and graph.coordinates.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_gml_without_labels(tmp_path):
    text = "graph [\nnode [ id 7 ]\nnode [ id 9 ]\nedge [ source 7 target 9 weight 5 ]\n]\n"
    (tmp_path / "t.gml").write_text(text)
    assert named_arcs(read_graph(tmp_path / "t.gml").problem) == {(7, 9): 5, (9, 7): 5}


BOMB = '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "{}">]>'.format("&a;" * 1000)
READ_FILE = '<!DOCTYPE x [<!ENTITY f SYSTEM "secret.txt">]>'
HEAD = '<?xml version="1.0" encoding="utf-8"?>'


@pytest.mark.parametrize("definition", [BOMB, READ_FILE, BOMB.replace("DOCTYPE", "doctype"), "<!ENTITY a 'b'>"])
@pytest.mark.parametrize("head", [HEAD, "", HEAD.replace("utf-8", "cp037")])
def test_definitions_are_not_read(tmp_path, definition, head):
    """Entities may expand without end, or name files of the machine."""
    text = GRAPHML.replace(HEAD, head + definition).replace('id="Inn"', 'id="&b;&f;"')
    (tmp_path / "t.graphml").write_text(text)
    begin = time.process_time()
    with pytest.raises(InputError, match="is not read, since GraphML needs no definitions"):
        read_graph(tmp_path / "t.graphml")
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(("file", "old", "new", "message"), [
    ("t.graphml", "</graph>", "", ":13: is not XML: mismatched tag"),
    ("t.graphml", 'target="Well"', 'target="Bell"', ":1: an edge leads to a node that the file does not define"),
    ("t.graphml", ">4.5<", ">far<", ":1: cannot be read (networkx: ValueError: "),
    ("t.graphml", ">4.5<", ">-4.5<", ":1: the weight of arc 1 (Mill to Well) is negative: -4.5"),
    ("t.gml", "target 9", "target 10", ":1: cannot be read (networkx: NetworkXError: edge #1 has undefined target 10"),
    ("t.gml", "weight 4.5", "length 4.5", ":1: the edge Mill - Well has no attribute 'weight', which other edges have"),
    ("nodes.json", '"Well"}]', '"Bell"}]', ":1: an edge leads to 'Bell', which is not among the nodes"),
    ("nodes.json", '"directed": true', '"directed": "no"', ":1: directed is 'no', which must be true or false"),
    ("nodes.json", '"id": "Well"', '"id": {}', ":1: cannot be read (networkx: TypeError: unhashable"),
    ("nodes.json", "4.5", "NaN", ":1: is not JSON that can be read: NaN is not a number"),
    ("nodes.json", '"lat": 48.4', '"lat": 148.4', ":1: the latitude 148.4 is outside of -90 to 90"),
    ("nodes.json", "}]}", "}]", ":6: is not JSON: Expecting ',' delimiter"),
])
def test_mistakes(tmp_path, file, old, new, message):
    text = next(sample.content.decode() for sample in samples() if sample.file == file)
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    assert refusal(read_graph, tmp_path / file).startswith(f"{tmp_path}/{file}{message}")


def test_an_undirected_file_has_no_arcs(tmp_path):
    (tmp_path / "t.graphml").write_text(GRAPHML.replace('"directed"', '"undirected"'))
    assert not read_graph(tmp_path / "t.graphml").problem.directed
    with pytest.raises(InputError, match="a graph in this format is undirected; remove directed = true"):
        read_graph(tmp_path / "t.graphml", directed=True)


def test_without_networkx(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    (tmp_path / "t.graphml").write_text(GRAPHML)
    with pytest.raises(InputError, match=r"t\.graphml: reading this format needs networkx: pip install networkx"):
        read_graph(tmp_path / "t.graphml")


def test_other_formats_do_not_load_networkx(repository):
    code = ("import sys\nfrom hpcsolve.formats import read, read_graph\n"
            "read('jobs/eu-capitals.tsp')\nassert 'networkx' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], cwd=repository, check=True, timeout=60)

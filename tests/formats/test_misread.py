"""Files that could be read as something else than their author meant are refused, and names are told apart by eye."""

import json

import pytest

from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_graph
from hpcsolve.problems.labels import Labels
from tests.formats.reading import refusal

LINE = {"type": "LineString", "coordinates": [[16, 48], [17, 47]]}


@pytest.mark.parametrize(("text", "message"), [
    ("id,x,y\n1,0,0\n2,10,0\n3,0,10\n", "m.csv:3: the diagonal has '10', unlike the rows above"),
    ("name,x,y\nA,0,0\nB,10,0\nC,0,10\n", "m.csv:3: the diagonal has '10'"),
    (",a,b,c\na,0,,\nb,1,0,\nc,2,3,0\n", "m.csv:2: all cells above the diagonal are empty; write both costs"),
    ("0,1,2\n,0,3\n,,0\n", "m.csv:1: all cells below the diagonal are empty"),
    (";a;b\na;0;1.000\nb;500;0\n", "m.csv:2: 1.000 may be 1000 or 1; write 1000, or 1.0000 if the point is a decimal"),
])
def test_costs_that_may_be_something_else(tmp_path, text, message):
    (tmp_path / "m.csv").write_text(text)
    assert message in refusal(read, tmp_path / "m.csv")


@pytest.mark.parametrize("text", [
    "a,b,c\n9,1,2\n1,9,3\n2,3,9\n", "a,b,c\n,1,2\n1,0,3\n2,3,-\n", ";a;b\na;0.000;1.500\nb;2.250;0.000\n",
    ",a,b\na,0,1.000\nb,500,0\n", ";a;b\na;0;1.25\nb;500;0\n", "0,1,\n,0,3\n2,,0\n",
])
def test_costs_that_are_clear(tmp_path, text):
    (tmp_path / "m.csv").write_text(text)
    assert read(tmp_path / "m.csv").problem.n in (2, 3)


@pytest.mark.parametrize(("text", "message"), [
    ("Vienna,48.2,16.37\nGraz,47.07,15.4\n", "e.csv:1: one end of each line is a name, the other one a number; write"),
    ("node,x,y\nA,0,0\nB,10,0\n", "e.csv:1: it is not clear which columns are the ends"),
    ("x,y\n0,0\n10,0\n0,10\n", "e.csv:1: it is not clear which columns are the ends"),
    ("x,y,z\n0,0,1\n10,0,1\n", "e.csv:1: it is not clear which columns are the ends"),
    ("\n<!DOCTYPE html>\n", "e.csv:2: is HTML or XML, not a list of edges"),
])
def test_edges_that_may_be_something_else(tmp_path, text, message):
    (tmp_path / "e.csv").write_text(text)
    assert message in refusal(read_graph, tmp_path / "e.csv")


def test_titles_say_that_numbers_are_names(tmp_path):
    (tmp_path / "e.csv").write_text("street,from,to,w\nA,Ring,1,5\nA,Ring,2,6\n".replace("street,", "id,"))
    assert read_graph(tmp_path / "e.csv").problem.vertex_names == ("Ring", "1", "2")


@pytest.mark.parametrize(("name", "content", "message"), [
    ("a.geojson", {"type": "Feature", "geometry": LINE, "crs": {"properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}},
     "its coordinates are of the system '{"),
    ("a.json", {"directed": "false", "nodes": [{"id": 1}], "links": []}, "directed is 'false', which must be true or"),
    ("a.json", {"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}],
                "edges": [{"source": 1, "target": 2}]}, "there are both links and edges"),
    ("a.json", {"nodes": [{"id": 1}, {"id": 1}], "links": []}, "the node 1 is there twice"),
    ("a.graphml", '<graphml><graph edgedefault="undirected"><node id="a"/></graph><graph><node id="b"/></graph>'
     "</graphml>", "a node is defined twice, or inside another one, or in another graph of the file"),
])
def test_graphs_that_may_be_something_else(tmp_path, name, content, message):
    if name != "a.geojson":
        pytest.importorskip("networkx")
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    assert message in refusal(read_graph, tmp_path / name)


def test_a_system_of_degrees_and_comments_are_taken(tmp_path):
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "Feature", "geometry": LINE, "crs": crs}))
    assert read_graph(tmp_path / "a.geojson").problem.n == 2
    pytest.importorskip("networkx")
    text = '<graphml><!-- <node id="x"/> --><graph edgedefault="undirected"><node id="a"/></graph></graphml>'
    (tmp_path / "a.graphml").write_text(text)
    assert read_graph(tmp_path / "a.graphml").problem.n == 1


@pytest.mark.parametrize("head", ["sep=;\n", '"sep=;"\r\n', "SEP=;\n"])
def test_the_line_of_excel(tmp_path, head):
    """Excel's line is skipped, and lines keep their numbers."""
    (tmp_path / "m.csv").write_text(f"{head};a;b\na;0;1\nb;2;0\n", newline="")
    assert read(tmp_path / "m.csv").problem.city_names == ("a", "b")
    (tmp_path / "m.csv").write_text(f"{head};a;b\na;0;x\nb;2;0\n", newline="")
    with pytest.raises(InputError, match=r"m\.csv:3: "):
        read(tmp_path / "m.csv")


def test_names_that_look_the_same_are_the_same(tmp_path):
    """A letter with two dots is one character or two in Unicode."""
    (tmp_path / "e.csv").write_text("u,v,w\nZu\u0308rich,Bern,5\nZ\u00fcrich,Genf,6\n", encoding="utf-8")
    graph = read_graph(tmp_path / "e.csv").problem
    assert graph.vertex_names == ("Z\u00fcrich", "Bern", "Genf")
    found = Labels(graph.labels, graph.vertex_names, "e", "vertex", "vertices").positions(["Zu\u0308rich"])
    assert found.tolist() == [0]

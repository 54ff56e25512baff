"""Edge lists of names, and of columns that a first line names, are read as written. What is unclear is refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.formats import read_graph, write_graph
from hpcsolve.problems.graph import from_edges
from tests.formats.reading import named_arcs, names, refusal


def read_text(folder, text, name="t.csv", **options):
    (folder / name).write_text(text, encoding="utf-8")
    return read_graph(folder / name, **options).problem


BOTH = {("Vienna", "Graz"): 191, ("Graz", "Vienna"): 191, ("Graz", "St. Anton"): Fraction(951, 2),
        ("St. Anton", "Graz"): Fraction(951, 2)}


@pytest.mark.parametrize("text", [
    "Vienna,Graz,191\nGraz,St. Anton,475.5\n",
    "# by hand\nVienna;Graz;191\n\nGraz;St. Anton;475.5\n",
    'Vienna Graz 191\nGraz "St. Anton" 475.5\n',
    "from,to,km\nVienna,Graz,191\nGraz,St. Anton,475.5\n",
    "Stadt A,Stadt B,km\nVienna,Graz,191\nGraz,St. Anton,475.5\n",
    "id,u,v,w\n1,Vienna,Graz,191\n2,Graz,St. Anton,475.5\n",
    "weight\ttarget\tsource\n191\tGraz\tVienna\n475.5\tSt. Anton\tGraz\n",
    "u,v,id,name,length,oneway\nVienna,Graz,7,A2,191,no\nGraz,St. Anton,8,\"A9, A10\",475.5,no\n",
])
def test_names(tmp_path, text):
    graph = read_text(tmp_path, text)
    assert named_arcs(graph) == BOTH and not graph.directed
    assert set(graph.vertex_names) == {"Vienna", "Graz", "St. Anton"}
    arcs = named_arcs(read_text(tmp_path, text, directed=True))
    assert arcs == {ends: BOTH[ends] for ends in (("Vienna", "Graz"), ("Graz", "St. Anton"))}


@pytest.mark.parametrize(("text", "options", "weights"), [
    ("id,u,v,w\n7,1,2,5\n8,2,9,4\n", {}, [5, 4]),
    ("id,u,v\n7,1,2\n8,2,9\n", {}, [1, 1]),
    ("u,v\n1,2\n2,9\n", {}, [1, 1]),
    ("u,v,id\n1,2,7\n2,9,8\n", {}, [1, 1]),
    ("u,v,length,time\n1,2,5,60\n2,9,4,30\n", {"weight": "time"}, [60, 30]),
    ("u,v,weight,length\n1,2,5,60\n2,9,4,30\n", {"weight": "length"}, [60, 30]),
    ("v,u,w\n2,1,5\n9,2,4\n", {"directed": True}, [5, 4]),
])
def test_columns_of_labels(tmp_path, text, options, weights):
    graph = read_text(tmp_path, text, **options)
    assert graph.labels.tolist() == [1, 2, 9] and graph.vertex_names == ()
    assert (named_arcs(graph)[1, 2], named_arcs(graph)[2, 9]) == tuple(weights)


@pytest.mark.parametrize(("text", "options", "message"), [
    ("1,2,3,4\n5,6,7,8\n", {}, ":1: 4 columns and no titles; write a first line that names them, such as id,u,v,w"),
    ("e1,Vienna,Graz,191\n", {}, ":1: 4 columns and no titles"),
    ("id,a,b\n1,2,3\n", {}, ":1: it is not clear which columns are the ends; call them u and v"),
    ("a,b,c,d\n1,2,3,4\n", {}, ":1: 4 columns and no titles"),
    ("u,v,minutes,metres\n1,2,3,4\n", {}, ":1: it is not clear which column is the weight: minutes, metres"),
    ("u,v,weight,length\n1,2,3,4\n", {}, ":1: the columns weight and length may mean the same; choose with weight"),
    ("u,v,from\n1,2,3\n", {}, ":1: the columns u and from may mean the same; rename or remove one"),
    ("u,v,w\n1,2,3\n", {"weight": "km"}, ":1: no column is called 'km'; there are u, v, w"),
    ("1,2,3\n", {"weight": "km"}, ":1: no column is called 'km'"),
    ("u,v,km,km\n1,2,3,4\n", {"weight": "km"}, ":1: 2 columns are called 'km'; there are u, v, km, km"),
    ("u,v,w\nVienna,Graz\n", {}, ":2: 2 cells, but line 1 has 3"),
    ("u,v,w\nVienna,,3\n", {}, ":2: a vertex is missing"),
    ("u,v,w\nVienna,Graz,\n", {}, ":2: a weight is missing"),
    ("u,v,w\nVienna,Graz,far\n", {}, ":2: a weight must be a number, found 'far'"),
    ("u,v,w\nVienna,Graz,-3\n", {}, ":2: the weight is negative"),
    ("u,v,w\n", {}, ":1: there are no edges below the first line"),
])
def test_mistakes(tmp_path, text, options, message):
    (tmp_path / "t.csv").write_text(text)
    assert refusal(read_graph, tmp_path / "t.csv", **options).startswith(f"{tmp_path}/t.csv{message}")


def test_formats_with_one_weight_take_no_name(tmp_path):
    with pytest.raises(InputError, match=r"one weight or cost in this format \(DIMACS\); remove weight = 'km'"):
        read_text(tmp_path, "p sp 2 1\na 1 2 3\n", "t.gr", weight="km")


@given(st.lists(st.tuples(names(), names(), st.integers(0, 9) | st.floats(0, 1e9)), min_size=1, max_size=12),
       st.booleans(), st.sampled_from(["t.csv", "t.tsv", "t.edges"]))
def test_what_is_written_is_read(tmp_path_factory, edges, directed, file):
    called = tuple(dict.fromkeys(name for a, b, _ in edges for name in (a, b)))
    place = {name: index for index, name in enumerate(called)}
    graph = from_edges([place[a] for a, _, _ in edges], [place[b] for _, b, _ in edges], [w for *_, w in edges],
                       n=len(called), directed=directed, vertex_names=called, name="t")
    path = tmp_path_factory.mktemp("g") / file
    try:
        write_graph(graph, str(path))
    except InputError as error:
        assert "has no edge" in str(error) or "an edge list cannot have" in str(error)
        return
    again = read_graph(path).problem
    assert named_arcs(again) == named_arcs(graph) and again.directed == directed


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 9)), min_size=1), st.booleans())
def test_labels_that_are_written_are_read(tmp_path_factory, edges, directed):
    labels = sorted({label for a, b, _ in edges if a != b for label in (a, b)})
    if not labels:
        return
    place = {label: index for index, label in enumerate(labels)}
    kept = [(place[a], place[b], w) for a, b, w in edges if a != b]
    graph = from_edges(*zip(*kept, strict=True), n=len(labels), directed=directed, labels=labels)
    path = tmp_path_factory.mktemp("g") / "t.csv"
    write_graph(graph, str(path))
    again = read_graph(path).problem
    assert named_arcs(again) == named_arcs(graph) and again.labels.tolist() == labels

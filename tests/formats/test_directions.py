"""A file with A,B of one weight and B,A of another is read by the directions that it states, or refused."""

import json

import numpy as np
import pytest
import scipy.sparse

import hpcsolve
from hpcsolve.cli import main
from hpcsolve.errors import InputError
from hpcsolve.formats import read_graph
from hpcsolve.formats.known import GRAPH_FORMATS
from hpcsolve.problems.graph import from_edges, opposite_arcs
from tests.formats.samples import GEOJSON, GRAPHML

STEINLIB = "SECTION Graph\nNodes 2\nEdges 2\nE 1 2 50\nE 2 1 30\nEND\nSECTION Terminals\nTerminals 1\nT 1\nEND\nEOF\n"
MTX = "%%MatrixMarket matrix coordinate real {}\n2 2 2\n1 2 50\n2 1 30\n"
GML = "graph [\n{}  node [ id 1 ]\n  node [ id 2 ]\n  edge [ source 1 target 2 weight 50 ]\n" \
      "  edge [ source 2 target 1 weight 30 ]\n]\n"
NODE_LINK = '{{"nodes": [{{"id": 1}}, {{"id": 2}}], {}\n"links": [{{"source": 1, "target": 2, "weight": 50}},\n' \
            '{{"source": 2, "target": 1, "weight": 30}}]}}\n'
TWO_WAYS = GRAPHML.split("<node")[0] + '<node id="a"/><node id="b"/>\n<edge source="a" target="b"><data key="d2">50' \
    '</data></edge>\n<edge source="b" target="a"><data key="d2">30</data></edge>\n</graph></graphml>\n'
STREET = '{{"type": "Feature", "properties": {{"weight": {}}},\n"geometry": ' \
         '{{"type": "LineString", "coordinates": {}}}}}'
STREETS = '{{"type": "FeatureCollection", "features": [\n{},\n{}]}}\n'.format(
    STREET.format(50, "[[16, 48], [17, 48]]"), STREET.format(30, "[[17, 48], [16, 48]]"))
BOTH, LIGHTER = {(0, 1): 50, (1, 0): 30}, {(0, 1): 30, (1, 0): 30}
STATED = "a graph in this format is undirected; remove directed = true"
OPEN = r":{}: the weight from {} to {} is 30, but from {} to {} it is 50 \(line {}\); say directed = true to keep " \
       r"both, or directed = false for the lighter one; a Steiner problem knows false alone \(--set instance.directed=f"
ARCS = r"arc 0 \(1 to 2\) weighs 50, but arc 1 \(2 to 1\) weighs 30; say directed = true to keep both, or directed = f"


def refused(line, a, b, other):
    return OPEN.format(line, b, a, a, b, other)


# name of the format, file, content; and what is read with directed not given, true, false
FILES = {
    "from to": ("edge list", "t.csv", "from,to,length\nA,B,50\nB,A,30\n", refused(3, "A", "B", 2), BOTH, LIGHTER),
    "tail head": ("edge list", "t.csv", "tail,head,weight\n1,2,50\n2,1,30\n", refused(3, 1, 2, 2), BOTH, LIGHTER),
    "source target": ("edge list", "t.tsv", "weight\tsource\ttarget\n50\t1\t2\n30\t2\t1\n", refused(3, 1, 2, 2), BOTH,
                      LIGHTER),
    "no titles": ("edge list", "t.edges", "1 2 50\n\n2 1 30\n", refused(3, 1, 2, 1), BOTH, LIGHTER),
    "SNAP directed": ("edge list", "t.txt", "# Directed graph: t\n1 2 50\n2 1 30\n", BOTH, BOTH, LIGHTER),
    "SNAP undirected": ("edge list", "t.txt", "# Undirected graph: t\n1 2 50\n2 1 30\n", LIGHTER, BOTH, LIGHTER),
    "names, directed": ("edge list", "t.csv", "# directed graph\nu,v,w\nA,B,50\nB,A,30\n", BOTH, BOTH, LIGHTER),
    "dimacs": ("dimacs", "t.gr", "p sp 2 2\na 1 2 50\na 2 1 30\n", BOTH, BOTH, LIGHTER),
    "general": ("matrix market", "t.mtx", MTX.format("general"), BOTH, BOTH, LIGHTER),
    "symmetric": ("matrix market", "t.mtx", MTX.format("symmetric"),
                  *[r":4: the weight from 2 to 1 is 30, but from 1 to 2 it is 50 \(line 3\); a symmetric matrix"] * 3),
    "npz": ("npz", "t.npz", scipy.sparse.csr_array([[0, 50], [30, 0]]), BOTH, BOTH, LIGHTER),
    "steinlib": ("steinlib", "t.stp", f"33D32945 STP\n{STEINLIB}", LIGHTER, STATED, LIGHTER),
    "pace": ("pace", "t.gr", STEINLIB, LIGHTER, STATED, LIGHTER),
    "graphml": ("graphml", "t.graphml", TWO_WAYS, BOTH, BOTH, LIGHTER),
    "graphml, edges": ("graphml", "t.graphml", TWO_WAYS.replace('"directed', '"undirected'), LIGHTER, STATED, LIGHTER),
    "graphml, open": ("graphml", "t.graphml", TWO_WAYS.replace(' edgedefault="directed"', ""),
                      *[":1: the graph does not say whether it is directed; write <graph edgedefault="] * 3),
    "gml": ("gml", "t.gml", GML.format("directed 1\n"), BOTH, BOTH, LIGHTER),
    "gml, edges": ("gml", "t.gml", GML.format("directed 0 multigraph 1\n"), LIGHTER, STATED, LIGHTER),
    "gml, open": ("gml", "t.gml", GML.format(""), ARCS, BOTH, LIGHTER),
    "node-link": ("node-link", "t.json", NODE_LINK.format('"directed": true,'), BOTH, BOTH, LIGHTER),
    "node-link, edges": ("node-link", "t.json", NODE_LINK.format('"directed": false,'), LIGHTER, STATED, LIGHTER),
    "node-link, open": ("node-link", "t.json", NODE_LINK.format(""), ARCS, BOTH, LIGHTER),
    "geojson": ("geojson", "t.geojson", STREETS, refused(5, "16,48", "17,48", 3), BOTH, LIGHTER),
    "metis": ("metis", "t.graph", "2 1 1\n2 50\n1 30\n",
              "vertices 1 and 2 do not list each other with the same weights", STATED,
              "vertices 1 and 2 do not list each other with the same weights"),
}


def test_every_format_is_here():
    assert {name for name, *_ in FILES.values()} == {format.name for format in GRAPH_FORMATS}


@pytest.mark.parametrize("case", FILES)
def test_two_weights_between_two_vertices(tmp_path, case):
    name, file, content, *wanted = FILES[case]
    path = tmp_path / file
    if isinstance(content, str):
        path.write_text(content)
    else:
        scipy.sparse.save_npz(path, content)
    for directed, expected in zip((None, True, False), wanted, strict=True):
        more = {"weight": "weight"} if name == "geojson" else {}
        if isinstance(expected, str):
            with pytest.raises(InputError, match=expected):
                read_graph(path, directed=directed, **more)
            continue
        found = read_graph(path, directed=directed, **more)
        graph = found.problem
        arcs = zip(graph.tails().tolist(), graph.heads.tolist(), graph.weights.tolist(), strict=True)
        assert (found.format, {(a, b): weight for a, b, weight in arcs}) == (name, expected)
        assert graph.directed == (expected is BOTH)


def test_lines_of_one_orientation_keep_the_lightest(tmp_path):
    """Edges that are listed twice, each way with the same lightest weight, are no contradiction."""
    (tmp_path / "t.edges").write_text("1 2 5\n2 1 3\n1 2 3\n2 3 4\n2 3 9\n")
    graph = read_graph(tmp_path / "t.edges").problem
    assert (graph.directed, graph.weights.tolist(), graph.parallel_arcs) == (False, [3, 3, 4, 4], 3)


def test_arcs_that_differ_are_found():
    """The oracle is a dictionary of the lightest arcs, and the two that are named are the lightest each way."""
    random, seen = np.random.default_rng(5), set()
    for size in (0, 1, 2, 5, 9, 12) * 40:
        tails, heads = random.integers(0, 5, (2, size))
        weights = random.integers(1, 3, size).astype(random.choice([np.uint32, np.float64]))
        least = {}
        for a, b, weight in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
            least[a, b] = min(weight, least.get((a, b), weight))
        wrong = {pair for pair in least if least.get(pair[::-1], least[pair]) != least[pair]}
        found = opposite_arcs(5, tails.astype(np.int64), heads.astype(np.int64), weights)
        seen.add(found is None)
        assert (found is None) == (not wrong)
        if found is not None:
            (a, b), (c, d) = ((int(tails[arc]), int(heads[arc])) for arc in found)
            assert (a, b) == (d, c) and (a, b) in wrong and found[0] < found[1]
            assert [least[a, b], least[c, d]] == [weights[arc] for arc in found]
    assert seen == {True, False}


READ = {
    "titles": ("t.csv", "from,to,km\nA,B,5\n", None,
               ["read:   from and to are the ends of edges, which lead both ways; directed = true makes arcs of them"]),
    "titles of numbers": ("t.csv", "Source;Target\n1;2\n", None,
                          ["read:   Source and Target are the ends of edges, which lead both ways; directed = true "
                           "makes arcs of them"]),
    "as asked": ("t.csv", "from,to,km\nA,B,5\n", True, []),
    "u and v": ("t.csv", "u,v,w\nA,B,5\n", None, []),
    "oneway": ("t.csv", "u,v,w,oneway\nA,B,5,yes\nB,C,5,\n", None,
               ["read:   the column oneway is not used: edges lead both ways; directed = true would make each line an "
                "arc, so write two-way streets in both directions first"]),
    "oneway, arcs": ("t.csv", "u,v,w,oneway\nA,B,5,no\n", True,
                     ["read:   the column oneway is not used: each line is an arc, from its first end to its last"]),
    "no one way": ("t.csv", "u,v,w,OneWay\nA,B,5,False\n", None, []),
    "columns": ("t.csv", "id,u,v,w,toll,demand\n1,A,B,5,2,4\n", None,
                ["note:   not used: the columns toll, demand; hpcsolve does not solve vehicle routing (several "
                 "vehicles, depots, demands, capacities)"]),
    "geojson": ("t.geojson", GEOJSON.replace('"name": "A2",', '"oneway": -1,'), None,
                ["read:   the property oneway is not used: edges lead both ways; directed = true would make each line "
                 "an arc, so write two-way streets in both directions first",
                 "read:   weights are lengths in metres; each line has numbers in its properties too: km (choose one "
                 "with weight)", "note:   not used: the type Point (1)"]),
    "metis": ("t.graph", "2 1 011 1\n7 2 5\n7 1 5\n", None, ["note:   not used: the sizes or weights of vertices"]),
}


@pytest.mark.parametrize("case", READ)
def test_what_is_passed_over_is_said(tmp_path, case):
    file, content, directed, lines = READ[case]
    (tmp_path / file).write_text(content)
    assert list(read_graph(tmp_path / file, directed=directed).problem.notes) == lines


def test_defaults_of_graphml_count(tmp_path):
    """GraphML may give all edges a weight in one place, which networkx puts aside."""
    key = 'attr.name="weight" attr.type="double"'
    text = GRAPHML.replace(f"{key}/>", f"{key}><default>2.5</default></key>").replace('<data key="d2">4.5</data>', "")
    (tmp_path / "t.graphml").write_text(text)
    graph = read_graph(tmp_path / "t.graphml").problem
    assert (graph.weights / graph.scale).tolist() == [5, 2.5]


def test_a_matrix_that_differs_from_its_transpose():
    """A Steiner problem takes entries as edges, and needs to be told to do so with these."""
    matrix = scipy.sparse.csr_array([[0, 50, 0], [30, 0, 7], [0, 7, 0]])
    tree = {"algorithm": "steiner-kmb", "terminals": [0, 2], "device": "cpu"}
    with pytest.raises(InputError, match=r"arc 0 \(0 to 1\) weighs 50, but arc 1 \(1 to 0\) weighs 30; say directed ="):
        hpcsolve.solve(matrix, **tree)
    with pytest.raises(InputError, match=r"a Steiner problem is undirected; .* set directed = false, which takes"):
        hpcsolve.solve(matrix, directed=True, **tree)
    assert hpcsolve.solve(matrix, directed=False, **tree).cost == 37
    assert hpcsolve.solve(scipy.sparse.triu(matrix), **tree).cost == 57
    paths = {"algorithm": "shortest-paths", "sources": [0], "device": "cpu"}
    assert hpcsolve.solve(matrix, **paths).distance.tolist() == [[0, 50, 57]]
    assert hpcsolve.solve(matrix, directed=False, **paths).distance.tolist() == [[0, 30, 37]]
    arcs = from_edges([0, 1], [1, 0], [50, 30], directed=True)
    with pytest.raises(InputError, match="a Graph says itself whether it is directed"):
        hpcsolve.solve(arcs, directed=False, **paths)


def test_graphs_of_networkx_take_the_lighter_direction():
    networkx = pytest.importorskip("networkx")
    streets = networkx.MultiDiGraph([(0, 1, {"weight": 50}), (1, 0, {"weight": 30}), (1, 2, {"weight": 7})])
    tree = {"algorithm": "steiner-kmb", "terminals": [0, 2], "device": "cpu"}
    assert hpcsolve.solve(streets, directed=False, **tree).cost == 37
    edges = networkx.Graph([(0, 1, {"weight": 50, "oneway": True}), (1, 2, {"weight": 7, "oneway": "no"})])
    found = hpcsolve.solve(edges, **tree)
    assert found.cost == 57 and found.notes == ("read:   the attribute oneway is not used: edges lead both ways",)
    with pytest.raises(InputError, match="undirected; remove directed = true"):
        hpcsolve.solve(edges, directed=True, **tree)


def test_commands_say_it_once(tmp_path, monkeypatch, capsys):
    """`solve` refuses two weights and names the cure, which works and which `convert` has too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.csv").write_text("from,to,minutes,toll\nA,B,50,1\nB,A,30,1\n")
    command = ["solve", "roads.csv", "--device", "cpu", "--set", 'shortest-paths.sources=["A"]', "--algorithm",
               "shortest-paths", "--set", "instance.weight=minutes"]
    assert main(command) == 2
    assert "roads.csv:3: the weight from B to A is 30, but from A to B it is 50 (line 2)" in capsys.readouterr().err
    for directed, distance in (("true", 50), ("false", 30)):
        assert main([*command, "--set", f"instance.directed={directed}", "--overwrite"]) == 0
        assert capsys.readouterr().out.count("note:   not used: the column toll\n") == 1
        found = hpcsolve.load("results/roads.h5")
        assert found.distance.tolist() == [[0, distance]] and found.notes == ("note:   not used: the column toll",)
        convert = ["convert", "roads.csv", f"{directed}.gr", "--weight", "minutes"]
        assert main(convert) == 2
        assert main([*convert, "--directed", directed]) == 0
        assert sorted(read_graph(f"{directed}.gr").problem.weights.tolist()) == [30, distance]
    (tmp_path / "three.csv").write_text("0,1,2\n1,0,3\n2,3,0\n")
    capsys.readouterr()
    assert main(["convert", "three.csv", "three.npy", "--directed", "true"]) == 2
    assert "three.csv: directed is for graphs" in capsys.readouterr().err


def test_python_says_for_a_file_what_a_job_says(tmp_path):
    (tmp_path / "t.geojson").write_text(json.dumps(json.loads(STREETS)))
    paths = {"algorithm": "shortest-paths", "sources": ["16,48"], "device": "cpu", "weight": "weight"}
    found = hpcsolve.solve(tmp_path / "t.geojson", directed=True, **paths)
    assert found.distance.tolist() == [[0, 50]]
    with pytest.raises(InputError, match=r"t.geojson:1: the weight from 17,48 to 16,48 is 30"):
        hpcsolve.solve(tmp_path / "t.geojson", **paths)

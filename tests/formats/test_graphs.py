"""Graph files: published road networks, published and odd Steiner problems, and all spellings of one graph."""

import csv
import gzip
import lzma
import time
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_graph
from hpcsolve.problems.libraries import to_scipy
from tests.road_networks import REFERENCES, splitmix_weights


@pytest.fixture
def roads(data_dir):
    """Return the folder of road networks."""
    if not (data_dir / "roads").is_dir():
        pytest.skip("HPCSOLVE_DATA has no roads/")
    return data_dir / "roads"


@pytest.mark.parametrize("name", REFERENCES)
def test_reference_sums_of_road_networks(roads, name):
    graph = read_graph(roads / name).problem
    matrix = to_scipy(graph).astype(np.float64)
    if ".pace" in name:
        assert (graph.weights == 1).all()
        matrix.data[:] = splitmix_weights(graph)
    distance = dijkstra(matrix, indices=0)
    reached = np.isfinite(distance)
    found = int(reached.sum()), int(distance[reached].max()), int(distance[reached].astype(np.int64).sum())
    assert found == REFERENCES[name]


def test_what_else_new_york_says(roads):
    begin = time.process_time()
    instance = read_graph(roads / "USA-road-d.NY.gr.gz", roads / "USA-road-d.NY.co.gz")
    seconds = time.process_time() - begin
    graph = instance.problem
    assert (instance.format, graph.name, graph.directed) == ("dimacs", "USA-road-d.NY", True)
    assert (graph.arcs, graph.parallel_arcs, graph.loops, graph.scale) == (730_100, 733_846 - 730_100, 0, 1)
    assert (graph.heads.dtype, graph.weights.dtype) == (np.int32, np.uint32)
    assert graph.labels[[0, -1]].tolist() == [1, 264_346] and "TIGER/Line graph" in graph.comment
    assert graph.coordinates[0].tolist() == [-73530767, 41085396]
    assert seconds < 4, "a file of 12 MB is read by whole arrays, not by lines"
    both = graph.undirected()
    assert not both.directed and both.edges == 365_050
    moved = both.permuted(both.spatial_order())
    assert (moved.n, moved.arcs) == (graph.n, graph.arcs)
    apart = [np.abs(g.tails().astype(np.int64) - g.heads).mean() for g in (both, moved)]
    assert apart[1] < apart[0], "along the Z-curve neighbours stand nearer"


@pytest.mark.parametrize("index", range(30))
def test_odd_steiner_files(steiner_dir, index):
    """Files are read or refused as the table says. A problem without a solution is read, since its file is valid."""
    with open(steiner_dir / "odd" / "expected.csv", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 30
    row = rows[index]
    path = steiner_dir / "odd" / row["name"]
    if row["expect"] == "reject" and row["name"] != "disconnected_terminals.stp":
        with pytest.raises(InputError) as caught:
            read_graph(path)
        assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
        return
    graph = read_graph(path).problem
    assert not graph.directed and len(graph.terminals) >= 1
    assert least_tree(graph) == (Fraction(row["optimum"]) if row["optimum"] else None)
    assert graph.repeated_terminals == (row["name"] == "duplicate_terminal.stp")
    assert (graph.parallel_arcs, graph.loops) == ((2, 1) if row["name"] == "parallel_loops.stp" else (0, 0))
    assert (graph.coordinates is not None) == (row["name"] == "coords_comment_hash.stp")
    assert (graph.n == 6) == (row["name"] == "isolated_vertex.stp")


def least_tree(graph):
    """Return the weight of the lightest set of edges that joins all terminals, found by trying every set, or None."""
    edges = [(a, b, w) for (a, b), w in zip(edges_of(graph), graph.weights.tolist(), strict=True) if a < b]
    terminals, best = set(graph.labels[graph.terminals].tolist()), None
    for chosen in product((False, True), repeat=len(edges)):
        kept = [edge for edge, wanted in zip(edges, chosen, strict=True) if wanted]
        reached = {min(terminals)}
        for _ in kept:
            reached |= {v for a, b, _ in kept if {a, b} & reached for v in (a, b)}
        weight = sum(w for _, _, w in kept)
        if terminals <= reached and (best is None or weight < best):
            best = weight
    return None if best is None else Fraction(best, graph.scale)


def test_published_steiner_files(steiner_dir):
    """Sizes are those of the table of optima, and edges are those that plain splitting finds."""
    with open(steiner_dir / "optima.csv", encoding="utf-8") as table:
        for row in csv.DictReader(table):
            path = steiner_dir / row["name"]
            graph = read_graph(path).problem
            sizes = graph.n, graph.edges + graph.parallel_arcs + graph.loops, len(graph.terminals)
            assert sizes == (int(row["vertices"]), int(row["edges"]), int(row["terminals"])), path
            if graph.n < 5000:
                assert {frozenset(edge) for edge in edges_of(graph)} == split_by_hand(path), path


def edges_of(graph):
    return zip(graph.labels[graph.tails()].tolist(), graph.labels[graph.heads].tolist(), strict=True)


def split_by_hand(path):
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [line.split() for line in content.decode("latin-1").splitlines()]
    return {frozenset((int(row[1]), int(row[2]))) for row in rows if row and row[0].lower() == "e" and len(row) == 4}


TRIANGLE = {
    "dimacs": ("t.gr", "c a\np sp 3 3\na 1 2 5\na 2 3 4\na 3 1 9\n", True),
    "dimacs at length": ("t", "c\nc  \n\np  sp\t3 3\na 1 2 5\nc in between\n a\t2  3 4 \nA 3 1 9", True),
    "dimacs in real numbers": ("t", "p sp 3 3\na 1 2 5.0\na 2 3 4e0\na 3 1 +9\n", True),
    "steinlib": ("t.stp", "33D32945 STP\nSECTION Graph\nNodes 3\nEdges 3\nE 1 2 5\nE 2 3 4\nE 3 1 9\nEND\n"
                          "SECTION Terminals\nTerminals 1\nT 2\nEND\nEOF\n", False),
    "pace steiner": ("t.gr", "SECTION Graph\nNodes 3\nEdges 3\nE 1 2 5\nE 2 3 4\nE 3 1 9\nEND\n"
                             "SECTION Terminals\nTerminals 1\nT 2\nEND\n\nEOF", False),
    "matrix market": ("t.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n% a\n\n"
                               "3 3 3\n2 1 5\n3 2 4\n3 1 9\n", False),
    "matrix market real": ("t", "%%MatrixMarket MATRIX Coordinate Real General\n3 3 3\n1 2 5e0\n2 3 4.\n3 1 9\n", True),
    "metis": ("t.graph", "% a\n3 3 001\n2 5 3 9\n1 5 3 4\n%b\n2 4 1 9\n", False),
    "metis, all weights": ("t.metis", "3 3 111 2\n7 1 1 2 5 3 9\n7 1 1 1 5 3 4\n7 1 1 2 4 1 9\n\n", False),
    "edge list": ("t.edges", "# a\n1 2 5\n2 3 4\n3 1 9\n", False),
    "csv": ("t.csv", "from,to,km\n1,2,5\n2,3,4\n3,1,9\n", False),
    "semicolons": ("t", "1;2;5\n2;3;4\n3;1;9\n", False),
    "SNAP": ("t.txt", "# Directed graph (each unordered pair of nodes is saved once)\n1\t2\t5\n2\t3\t4\n3\t1\t9", True),
}


@pytest.mark.parametrize("spelling", TRIANGLE)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
def test_spellings_of_one_graph(tmp_path, spelling, line_end, packed):
    name, text, directed = TRIANGLE[spelling]
    content = text.replace("\n", line_end).encode()
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packed]
    (tmp_path / (name + packed)).write_bytes(pack(content))
    graph = read_graph(tmp_path / (name + packed)).problem
    assert (graph.n, graph.directed, graph.name, graph.scale) == (3, directed, "t", 1)
    assert graph.labels.tolist() == [1, 2, 3]
    wanted = {(1, 2): 5, (2, 3): 4, (3, 1): 9}
    if not directed:
        wanted |= {(b, a): weight for (a, b), weight in wanted.items()}
    assert dict(zip(edges_of(graph), graph.weights.tolist(), strict=True)) == wanted
    if "stein" in spelling:
        assert graph.terminals.tolist() == [1]


def test_sections_that_change_nothing_are_skipped(tmp_path):
    name, text, _ = TRIANGLE["steinlib"]
    (tmp_path / name).write_text(text)
    more = 'SECTION Tree  Decomposition\ns td 1 1 1\nEND\nSECTION Presolve\nDate "today"\nFixed 0.0 # x\nUpper 9\nEND\n'
    (tmp_path / "more.stp").write_text(text.replace("EOF\n", more))
    plain, graph = (read_graph(tmp_path / file).problem for file in (name, "more.stp"))
    assert plain.same_arcs(graph) and graph.terminals.tolist() == plain.terminals.tolist()


PATTERNS = {
    "pace": "c\np tw 4 3\n1 2\nc x\n2 3\n2 1\n",
    "metis": "4 3\n2 2\n1 1 3\n2\n\n",
    "matrix market": "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n2 1\n",
}


@pytest.mark.parametrize("kind", PATTERNS)
def test_graphs_without_weights(tmp_path, kind):
    path = tmp_path / {"metis": "t.graph"}.get(kind, "t.gr")
    path.write_text(PATTERNS[kind])
    instance = read_graph(path)
    graph = instance.problem
    assert (instance.format, graph.n, graph.edges, graph.directed) == (kind, 4, 2, False)
    assert (graph.parallel_arcs, graph.weights.tolist()) == (1, [1, 1, 1, 1])


def test_directed_or_not_is_the_callers_choice(tmp_path):
    (tmp_path / "t.gr").write_text("p sp 2 2\na 1 2 5\na 2 1 3\n")
    one_way, edges = read_graph(tmp_path / "t.gr").problem, read_graph(tmp_path / "t.gr", directed=False).problem
    assert (one_way.directed, one_way.weights.tolist(), one_way.parallel_arcs) == (True, [5, 3], 0)
    assert (edges.directed, edges.weights.tolist(), edges.parallel_arcs) == (False, [3, 3], 1)
    assert one_way.reversed().weights.tolist() == [3, 5] and edges.reversed() is edges
    with pytest.raises(InputError, match="between the vertices 1 and 2 differ"):
        one_way.undirected()
    (tmp_path / "t.txt").write_text("7 9\n")
    assert read_graph(tmp_path / "t.txt", directed=True).problem.arcs == 1
    (tmp_path / "t.graph").write_text("2 1\n2\n1\n")
    with pytest.raises(InputError, match="undirected"):
        read_graph(tmp_path / "t.graph", directed=True)


def test_ids_of_edge_lists_are_kept(tmp_path):
    (tmp_path / "t").write_text(f"% x\n{2**62} 7\n7 0\n")
    graph = read_graph(tmp_path / "t").problem
    assert graph.labels.tolist() == [0, 7, 2**62] and set(edges_of(graph)) == {(0, 7), (7, 0), (7, 2**62), (2**62, 7)}


def test_readers_of_the_two_problems_name_each_other(tmp_path):
    (tmp_path / "t.gr").write_text(TRIANGLE["dimacs"][1])
    with pytest.raises(InputError, match=r"is a graph \(DIMACS\), not a travelling"):
        read(tmp_path / "t.gr")
    (tmp_path / "t.tsp").write_text("TYPE: TSP\n")
    with pytest.raises(InputError, match=r"is a travelling salesman problem \(TSPLIB\), not a graph"):
        read_graph(tmp_path / "t.tsp")

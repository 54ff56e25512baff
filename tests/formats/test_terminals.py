"""Terminals that a graph's own file does not name: from another file, from a list in the job, and in Python."""

import gzip

import networkx
import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import minimum_spanning_tree

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read_terminals
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.steiner import with_terminals

PATH = from_edges([0, 1, 2], [1, 2, 3], [3, 4, 1], n=4, directed=False, name="path", labels=[10, 20, 30, 40])


def test_a_file_of_terminals(tmp_path):
    """Comments, blank lines and compression are allowed, and labels are turned into positions."""
    path = tmp_path / "houses.txt.gz"
    path.write_bytes(gzip.compress(b"# houses\n40\n\nc more\n10\n"))
    found = read_terminals(str(path))
    assert found.lines.tolist() == [2, 5]
    assert found.positions(PATH).reshape(-1).tolist() == [3, 0]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("# none\n", 1, "there is no terminal"),
        ("10\nhouse\n", 1, "path has no vertex '10' by name; 10 is a label of its vertices, to be given as a number"),
        ("house\n", 1, "path has no vertex 'house'; its vertices have numbers, 10 to 40, and no names"),
        ("10\n20 30\n", 2, "expected a terminal, found '20 30'"),
        ("# a\n\xa0\n", 2, "path has no vertex '\\xa0'"),
        ("10\n2.5\n", 2, "not a whole number"),
        ("10\n40\n50\n", 3, "path has no vertex 50"),
    ],
)
def test_bad_files_are_refused_with_the_line(tmp_path, content, line, words):
    path = tmp_path / "houses.txt"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        read_terminals(str(path)).positions(PATH)
    assert words in str(error.value) and str(error.value).startswith(f"{path}:{line}: ")


def test_terminals_take_the_place_of_others():
    """Repeated terminals count once, and the graph's own ones are replaced."""
    once = with_terminals(PATH, [40, 10, np.int64(40)])
    assert once.terminals.tolist() == [3, 0] and once.repeated_terminals == 1
    assert with_terminals(once, [20]).terminals.tolist() == [1]


@pytest.mark.parametrize("wrong", [50, "house", 2.5, 2**70, None])
def test_what_is_no_vertex_is_refused(wrong):
    with pytest.raises(InputError, match="terminals: path has no vertex"):
        with_terminals(PATH, [10, wrong])


def test_a_matrix_with_all_rows_as_terminals_has_its_spanning_tree():
    """Each entry is an edge, as it is for scipy."""
    matrix = scipy.sparse.random(30, 30, density=0.3, random_state=1, format="csr")
    matrix.data = np.ceil(50 * matrix.data)
    matrix = scipy.sparse.triu(matrix, format="csr")
    found = hpcsolve.solve(matrix, "steiner-kmb", terminals=np.arange(30), device="cpu", mode="kmb")
    assert found.cost == minimum_spanning_tree(matrix).sum()


def test_nodes_of_networkx_are_terminals_by_themselves():
    """Terminals may be any objects that are nodes of the graph."""
    graph = networkx.path_graph(["a", (1, "b"), 7, "c"])
    found = hpcsolve.solve(graph, "steiner-kmb", terminals=[(1, "b"), "c"], device="cpu")
    assert found.cost == 2 and found.tree == [("(1, 'b')", "7"), ("7", "c")]


def test_a_job_names_terminals(tmp_path):
    """A list of terminals for a file's graph is taken by labels."""
    (tmp_path / "path.mtx").write_text("%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 5\n3 2 6\n")
    (tmp_path / "ends.txt").write_text("3\n1\n")
    listed = hpcsolve.solve(tmp_path / "path.mtx", "steiner-kmb", terminals=[3, 1], device="cpu")
    assert listed.cost == 11 and listed.tree == [(1, 2), (2, 3)]


def test_a_travelling_salesman_has_none():
    """Whoever names terminals asks for a tree, unless the algorithm is named too."""
    cost = [[0, 1, 9], [9, 0, 1], [1, 9, 0]]
    with pytest.raises(InputError, match="list is not a graph; give a Graph, a sparse matrix"):
        hpcsolve.solve(cost, terminals=[1], device="cpu")
    with pytest.raises(InputError, match="no key 'terminals'"):
        hpcsolve.solve(cost, "held-karp", terminals=[1], device="cpu")

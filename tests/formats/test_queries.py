"""Files of queries and of terminals are read as they were written, and mistakes are named with file and line."""

import gzip
import lzma
import time

import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats.vertex_lists import queries_sha256, read_queries, read_vertices
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.steiner import with_terminals
from tests.formats.reading import refusal
from tests.formats.samples import LATTICE

LABEL = st.one_of(st.integers(0, 20), st.integers(0, 2**63 - 1))
PAIRS = st.lists(st.tuples(LABEL, LABEL), min_size=1, max_size=20)
OTHER = st.sampled_from(["", "\n", "  \t\n", "# 1 2\n", "c 3 4\n", "c\n", "#\n"])


def as_lines(pairs, others):
    return "".join(f"{other}{source}\t {target} \n" for (source, target), other in zip(pairs, others, strict=True))


def as_dimacs(pairs, others):
    lines = "".join(f"{other}q {source} {target}\n" for (source, target), other in zip(pairs, others, strict=True))
    return f"c by hand\np aux sp p2p {len(pairs)}\n" + lines.replace("#", "c")


@given(PAIRS, st.sampled_from([as_lines, as_dimacs]), st.sampled_from([bytes, gzip.compress, lzma.compress]), st.data())
def test_what_was_written_is_read(tmp_path_factory, pairs, write, compress, data):
    others = data.draw(st.lists(OTHER, min_size=len(pairs), max_size=len(pairs)))
    text = write(pairs, others)
    path = tmp_path_factory.mktemp("q") / "pairs"
    path.write_bytes(compress(text.encode()))
    found = read_queries(str(path))
    assert found.labels.dtype == np.int64 and found.labels.tolist() == [list(pair) for pair in pairs]
    lines = text.splitlines()
    assert [lines[line - 1].split()[-2:] for line in found.lines] == [[str(a), str(b)] for a, b in pairs]
    assert found.sha256 == queries_sha256(np.array(pairs)) != queries_sha256(np.array([*pairs, (0, 1)]))


def test_labels_may_be_negative(tmp_path):
    (tmp_path / "p").write_text("-5 7\n3 -1\n")
    assert read_queries(str(tmp_path / "p")).labels.tolist() == [[-5, 7], [3, -1]]


@pytest.mark.parametrize(("text", "message"), [
    ("", "p: is empty"),
    ("# 1 2\nc 3 4\n", "p:2: there is no query; write `source target` on each line"),
    ("p aux sp p2p 0\n", "p:1: there is no query"),
    ("1 2\n3\n", "p:2: expected a source, a target, found '3'"),
    ("1 2\n\n3 4 5\n", "p:3: expected a source, a target, found '3 4 5'"),
    ("1,2,3\n", "p:1: expected a source, a target, found '1,2,3'"),
    ("1 two\n", "p:1: lattice has no vertex '1' by name; 1 is a label of its vertices, to be given as a number"),
    ("source target\n1 2\n", "p:1: lattice has no vertex 'source'; its vertices have numbers, 1 to 5, and no names"),
    ("a b\nWien Graz Linz\n", "p:2: expected a source, a target, found 'Wien Graz Linz'"),
    ("a;b\nWien;\n", "p:2: expected a source, a target, found 'Wien;'"),
    ("1 2.5\n", "p:1: vertex 2.5 is not a whole number below 2^63"),
    ("1 2\n3 e\n", "p:2: a target must be a number, found 'e'"),
    ("1 2\n3 9223372036854775808\n", "p:2: vertex 9223372036854775808 is not a whole number"),
    ("1 2\n3 99999999999999999999999\n", "p:2: vertex 18446744073709551615 is not a whole number"),
    ("c x\np aux sp p2p 3\nq 1 2\n", "p:2: the header says 3 queries, but the file has 1; it may be truncated"),
    ("p aux sp p2p 1000000000000\nq 1 2\n", "p:1: the header says 1000000000000 queries, but the file has 1"),
    ("p aux sp p2p 1\nq 1 2\nq 3 4\n", "p:1: the header says 1 queries, but the file has 2"),
    ("p aux sp ss 1\ns 1\n", "p:1: expected `p aux sp p2p QUERIES`, found 'p aux sp ss 1'"),
    ("p sp 3 1\na 1 2 3\n", "p:1: expected `p aux sp p2p QUERIES`, found 'p sp 3 1'"),
    ("q 1 2\n", "p:1: the line `p aux sp p2p QUERIES` is missing"),
    ("p aux sp p2p 1\nq 1 2 3\n", "p:2: expected q, a source, a target, found 'q 1 2 3'"),
    ("p aux sp p2p 1\n1 2\n", "p:2: neither a comment (c) nor a query (q): '1 2'"),
    ("1 2\n\xa0\n", "p:2: expected a source, a target, found '\\xa0'"),
    ("1 2\xa0\n", "p:1: lattice has no vertex '1' by name"),
    ("1 2\n\0\n", "p:2: a NUL byte"),
])
def test_mistakes_are_one_line(tmp_path, text, message):
    (tmp_path / "p").write_text(text)
    said = refusal(lambda: read_queries(str(tmp_path / "p")).positions(LATTICE))
    assert said.startswith(f"{tmp_path}/{message}")


def test_other_pairs_than_expected_are_refused(tmp_path):
    (tmp_path / "p").write_text("1 2\n")
    known = read_queries(str(tmp_path / "p")).sha256
    (tmp_path / "p").write_text("# a comment\n1   2\n")
    assert read_queries(str(tmp_path / "p"), known).sha256 == known
    (tmp_path / "p").write_text("2 1\n")
    with pytest.raises(InputError, match="has other queries than the job"):
        read_queries(str(tmp_path / "p"), known)


@pytest.mark.slow
def test_a_million_queries_are_read_at_once(tmp_path):
    pairs = np.random.default_rng(1).integers(1, 10**6, (10**6, 2))
    text = "\n".join(f"{source} {target}" for source, target in pairs.tolist())
    (tmp_path / "p").write_text(text)
    started = time.process_time()
    found = read_queries(str(tmp_path / "p"))
    assert time.process_time() - started < 2  # 0.3 s on an idle machine
    assert np.array_equal(found.labels, pairs)


TOWN = from_edges([0, 1, 2], [1, 2, 3], n=4, name="town", vertex_names=("Wien", "St. Gallen", "7", "c"))


@pytest.mark.parametrize(("text", "pairs"), [
    ("Wien 7\n7 Wien\n", [[0, 2], [2, 0]]),
    ("# a\nWien,St. Gallen\n\n7, Wien\n", [[0, 1], [2, 0]]),
    ("Wien\tSt. Gallen\n", [[0, 1]]),
    ('Wien "St. Gallen"\n"c" Wien\n', [[0, 1], [3, 0]]),
    ("0 1\n", [[0, 1]]),
])
def test_queries_by_name(tmp_path, text, pairs):
    """Names stand between blanks, commas, semicolons or tabs. A file of numbers has labels."""
    (tmp_path / "p").write_text(text)
    found = read_queries(str(tmp_path / "p"))
    assert found.positions(TOWN).tolist() == pairs
    named = np.array(TOWN.vertex_names, dtype=object) if "W" in text else TOWN.labels
    assert found.sha256 == queries_sha256(named[np.array(pairs)])


def test_a_misspelt_name_is_named_with_its_line(tmp_path):
    (tmp_path / "p").write_text("Wien 7\nWeen c\nWien none\n")
    with pytest.raises(InputError, match=r"p:2: town has no vertex 'Ween'; did you mean 'Wien'\?"):
        read_queries(str(tmp_path / "p")).positions(TOWN)


PATH = from_edges([0, 1, 2], [1, 2, 3], [3, 4, 1], n=4, directed=False, name="path", labels=[10, 20, 30, 40])


def test_a_file_of_terminals(tmp_path):
    """Comments, blank lines and compression are allowed, and labels are turned into positions."""
    path = tmp_path / "houses.txt.gz"
    path.write_bytes(gzip.compress(b"# houses\n40\n\nc more\n10\n"))
    found = read_vertices(str(path))
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
        read_vertices(str(path)).positions(PATH)
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

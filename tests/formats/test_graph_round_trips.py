"""Graphs that are written and read again, matrices that scipy wrote, and long files, with scipy as oracle."""

import io
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.formats import read_graph, write_graph
from hpcsolve.formats import records as line_reader
from hpcsolve.formats.dimacs import write_coordinates, write_dimacs
from hpcsolve.formats.records import numbers_of
from hpcsolve.formats.steinlib import write_steinlib
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.libraries import from_scipy

numbers = st.one_of(
    st.integers(0, 2**64 - 2), st.integers(0, 5), st.sampled_from([2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63 + 1])
)
floats = st.floats(0, 1e300).map(lambda x: x + 0.0)
tenths = st.integers(0, 10**6).map(lambda x: x / 10)


@st.composite
def graphs(draw, directed=None, terminals=False):
    n = draw(st.integers(1, 8))
    kind = draw(st.sampled_from([numbers, floats, tenths, st.just(0)]))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends, kind), max_size=20))
    return from_edges(
        [a for a, _, _ in edges], [b for _, b, _ in edges], [weight for _, _, weight in edges], n=n,
        directed=draw(st.booleans()) if directed is None else directed, labels=np.arange(1, n + 1),
        terminals=draw(st.lists(ends, min_size=1, unique=True)) if terminals else None,
        coordinates=draw(st.lists(st.tuples(floats, tenths), min_size=n, max_size=n)), name="t",
    )


def assert_same(a, b):
    """Fail unless both graphs have the same arcs and weights.

    The scales may differ, since dropped parallel arcs and loops may have had more decimals, or needed floats.
    """
    assert (a.n, a.directed) == (b.n, b.directed)
    for name in ("offsets", "heads", "labels", "coordinates"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    values = [[Fraction(repr(weight)) / graph.scale for weight in graph.weights.tolist()] for graph in (a, b)]
    assert values[0] == values[1]


@given(graphs())
def test_dimacs_round_trip(tmp_path_factory, graph):
    folder = tmp_path_factory.mktemp("g")
    write_dimacs(graph, str(folder / "t.gr"))
    write_coordinates(graph, str(folder / "t.co"))
    again = read_graph(folder / "t.gr", folder / "t.co", directed=True).problem
    if graph.directed:
        assert_same(again, graph)
    else:
        assert_same(again.undirected(), graph)


@given(graphs(directed=False, terminals=True))
def test_steinlib_round_trip(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("g") / "t.stp"
    write_steinlib(graph, str(path))
    again = read_graph(path).problem
    assert_same(again, graph)
    assert np.array_equal(again.terminals, graph.terminals)


@given(graphs())
def test_matrix_market_round_trip(tmp_path_factory, graph):
    """Nothing is lost but coordinates, and scipy reads the same entries, as far as its numbers can hold them."""
    path = tmp_path_factory.mktemp("g") / "t.mtx"
    write_graph(graph, str(path))
    assert_same(read_graph(path).problem, replace(graph, coordinates=None))
    matrix = scipy.io.mmread(path).tocoo()
    entries = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist())
    assert {(a, b): float(weight) for a, b, weight in entries} == {
        ends: float(weight) for ends, weight in arcs_of(graph).items()}


@given(graphs(directed=False))
def test_metis_round_trip(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("g") / "t.graph"
    if graph.scale != 1 or graph.weights.dtype.kind == "f" or not graph.weights.all():
        with pytest.raises(InputError, match=r"whole weights above 0, and some are not; write it as \.gr"):
            write_graph(graph, str(path))
        return
    write_graph(graph, str(path))
    assert_same(read_graph(path).problem, replace(graph, coordinates=None))


def test_metis_as_its_manual_has_it(tmp_path):
    """A vertex without neighbours has an empty line, and the format 001 stands for weights of edges."""
    ends, weights = ([0, 0, 1], [1, 2, 2]), [5, 6, 7]
    plain = from_edges(*ends, [1, 1, 1], n=4, name="t")
    write_graph(plain, str(tmp_path / "plain.graph"))
    assert (tmp_path / "plain.graph").read_text() == "% t\n4 3\n2 3\n1 3\n1 2\n\n"
    write_graph(from_edges(*ends, weights, n=4, name="t"), str(tmp_path / "t.metis"))
    assert (tmp_path / "t.metis").read_text() == "% t\n4 3 001\n2 5 3 6\n1 5 3 7\n1 6 2 7\n\n"
    both = from_edges([*ends[0], *ends[1]], [*ends[1], *ends[0]], [*weights, *weights], n=4, directed=True, name="t")
    write_graph(both, str(tmp_path / "both.metis"))
    assert (tmp_path / "both.metis").read_text() == (tmp_path / "t.metis").read_text()
    with pytest.raises(InputError, match=r"a METIS graph is undirected; write it as \.gr"):
        write_graph(from_edges(*ends, weights, directed=True), str(tmp_path / "d.metis"))


@st.composite
def matrices(draw):
    """Draw a sparse matrix without parallel entries, of integers or floats."""
    n = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["i8", "f8", "u4"]))
    values = floats if kind == "f8" else st.integers(0, 2**31)
    places = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=16, unique=True))
    data = np.array([draw(values) for _ in places], dtype=kind)
    rows, columns = [a for a, _ in places], [b for _, b in places]
    return scipy.sparse.coo_matrix((data, (rows, columns)), shape=(n, n))


def expected(matrix):
    """Return the arcs of a matrix that scipy read, without loops, in Python's own numbers."""
    entries = matrix.tocoo()
    arcs = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    return {(a, b): Fraction(value) for a, b, value in arcs if a != b}


def arcs_of(graph):
    weights = [Fraction(weight) / graph.scale for weight in graph.weights.tolist()]
    return dict(zip(zip(graph.tails().tolist(), graph.heads.tolist(), strict=True), weights, strict=True))


@given(matrices(), st.sampled_from(["general", "symmetric"]))
def test_matrix_market_as_scipy_reads_it(tmp_path_factory, matrix, symmetry):
    path = tmp_path_factory.mktemp("g") / "t.mtx"
    if symmetry == "symmetric":
        matrix = scipy.sparse.coo_matrix(matrix.maximum(matrix.T))
    scipy.io.mmwrite(path, matrix, symmetry=symmetry)
    graph = read_graph(path).problem
    assert graph.directed == (symmetry == "general")
    assert arcs_of(graph) == expected(scipy.io.mmread(path))


@given(matrices(), st.sampled_from(["csr", "csc", "coo"]), st.booleans())
def test_npz_of_scipy(tmp_path_factory, matrix, layout, compressed):
    path = tmp_path_factory.mktemp("g") / "t.npz"
    scipy.sparse.save_npz(path, matrix.asformat(layout), compressed=compressed)
    instance = read_graph(path)
    assert (instance.format, instance.problem.directed) == ("npz", True)
    assert arcs_of(instance.problem) == expected(matrix) == arcs_of(from_scipy(matrix))
    assert instance.problem.labels.tolist() == list(range(matrix.shape[0]))


def test_parallel_entries_are_not_summed(tmp_path):
    """The lightest entry counts, while scipy sums parallel entries when it turns coo into csr."""
    matrix = scipy.sparse.coo_matrix(([5, 3, 9], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    file = io.BytesIO()
    scipy.sparse.save_npz(file, matrix)
    (tmp_path / "t.npz").write_bytes(file.getvalue())
    graph = read_graph(tmp_path / "t.npz").problem
    assert (graph.weights.tolist(), graph.parallel_arcs) == ([3, 9], 1)
    assert read_graph(tmp_path / "t.npz", directed=False).problem.weights.tolist() == [3, 3]


def test_a_long_file_is_read_in_pieces(tmp_path):
    """A file of some 10 MB is read in several chunks, and errors still name the line in the file."""
    count = 800_000
    lines = [f"a {1 + i % 1000} {1 + i * 7 % 1000} {i}" for i in range(count)]
    path = tmp_path / "t.gr"
    path.write_text("\n".join(["p sp 1000 800000", *lines]))
    graph = read_graph(path).problem
    tails, heads = np.arange(count) % 1000, np.arange(count) * 7 % 1000
    assert_same(graph, from_edges(tails, heads, np.arange(count), directed=True, labels=np.arange(1, 1001)))
    lines[700_000] = "a 1 x 3"
    path.write_text("\n".join(["p sp 1000 800000", *lines]))
    with pytest.raises(InputError, match=":700002: a head must be a number, found 'x'"):
        read_graph(path)
    lines[700_000] = "a 1 1001 3.5"
    path.write_text("\n".join(["p sp 1000 800000", *lines]))
    with pytest.raises(InputError, match=":700002: vertex 1001 is not a whole number from 1 to 1000"):
        read_graph(path)


def test_a_long_word_in_a_comment_does_not_make_reading_slow(tmp_path, monkeypatch):
    """Numbers of 19 digits and more are read one by one, and only words of records count for that."""
    longest = []
    monkeypatch.setattr(line_reader, "numbers_of", lambda *given: longest.append(given[2]) or numbers_of(*given))
    for head, expected in (("1", 1), (str(2**62), 19)):
        path = tmp_path / "t.gr"
        path.write_text(f"c see http://www.dis.uniroma1.it/challenge9\np sp 9 1\na 7 8 {head}\n")
        assert read_graph(path).problem.weights.tolist() == [int(head)] and longest[-1] == expected

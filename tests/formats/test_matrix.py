"""Cost matrices in files of numpy and CSV are read as the numbers that Python reads, with names in their margins."""

import io
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.formats import read, write
from hpcsolve.problems.tsp import NO_ARC, from_costs, from_matrix
from tests.formats.reading import names


def read_text(tmp_path, text, name="m.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read(tmp_path / name)


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i4", "<i8", "u1", ">u8", "<f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_every_kind(tmp_path, dtype, order):
    np.save(tmp_path / "m.npy", np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=dtype, order=order))
    instance = read(tmp_path / "m.npy")
    tsp = instance.problem
    assert tsp.cost.tolist() == [[NO_ARC, 2, 3], [4, NO_ARC, 6], [7, 8, NO_ARC]]
    assert tsp.cost.dtype == np.int64 and tsp.cost.dtype.isnative
    assert (instance.format, tsp.name, tsp.labels.tolist()) == ("npy", "m", [0, 1, 2])


def test_npy_with_decimals_and_forbidden_arcs(tmp_path):
    np.save(tmp_path / "m", np.array([[np.nan, 0.25], [np.inf, 0]]))
    tsp = read(tmp_path / "m.npy").problem
    assert tsp.cost.tolist() == [[NO_ARC, 25], [NO_ARC, NO_ARC]] and tsp.scale == 100
    np.save(tmp_path / "again", tsp.cost)
    assert np.array_equal(read(tmp_path / "again.npy").problem.cost, tsp.cost)


SAME = {
    "commas": "0,1.5,2\n3,0,4\n5,,0\n",
    "semicolons": "0;1.5;2\n3;0;4\n5;;0\n",
    "tabs": "0\t1.5\t2\n3\t0\t4\n5\t\t0",
    "blanks": "  0 1.5   2\n3\t0 4\n\n5 inf 0\n",
    "comment": "# from numpy.savetxt\n0,1.5e0,2\n3,0,4\n5,Infinity,0",
    "empty diagonal": ",1.5,2\n3,,4\n5,inf,",
    "dashes on the diagonal": "-,1.5,2\n3,-,4\n5,inf,-",
    "blanks round cells": " 0 , 1.5 ,2\n3, 0,4 \n5, ,0",
}
NAMED = {
    "first row": "Oslo,Rome,Bonn\n0,1.5,2\n3,0,4\n5,,0\n",
    "first row and column": ",Oslo,Rome,Bonn\nOslo,0,1.5,2\nRome,3,0,4\nBonn,5,,0\n",
    "corner": "km;Oslo;Rome;Bonn\nOslo;0;1.5;2\nRome;3;0;4\nBonn;5;;0\n",
    "quotes": '"Oslo","Rome","Bonn"\n"0","1.5","2"\n3,0,4\n5,"",0\n',
    "blanks": "Oslo Rome Bonn\n0 1.5 2\n3 0 4\n5 inf 0\n",
}


@pytest.mark.parametrize("spelling", [*SAME, *NAMED])
@pytest.mark.parametrize("name", ["m.csv", "m.txt", "m"])
def test_text_spellings(tmp_path, spelling, name):
    instance = read_text(tmp_path, SAME.get(spelling) or NAMED[spelling], name)
    tsp = instance.problem
    assert tsp.cost.tolist() == [[NO_ARC, 15, 20], [30, NO_ARC, 40], [50, NO_ARC, NO_ARC]]
    assert tsp.scale == 10 and instance.format == "text matrix" and tsp.name == "m"
    assert tsp.city_names == (() if spelling in SAME else ("Oslo", "Rome", "Bonn"))


def test_names_with_a_delimiter_in_them(tmp_path):
    assert read_text(tmp_path, '"Paris, Texas",Rome\n0,1\n2,0').problem.city_names == ("Paris, Texas", "Rome")


@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_random_tables(tmp_path_factory, n, random):
    table = [[random.choice(["1", "-7", "0.125", "1e3", "123456789012345", ""]) for _ in range(n)] for _ in range(n)]
    if n == 1:
        table = [["5"]]
    table[0][0] = table[0][0] or "5"  # an empty first cell may stand over labels
    text = "\n".join(",".join(row) if any(row) else "," * (n - 1) for row in table)
    tsp = read_text(tmp_path_factory.mktemp("m"), text).problem
    for i, row in enumerate(table):
        for j, cell in enumerate(row):
            forbidden = i == j or cell == ""
            value = None if tsp.cost[i, j] == NO_ARC else Fraction(int(tsp.cost[i, j]), tsp.scale)
            assert value == (None if forbidden else Fraction(cell))


def test_large_integer_table_is_fast_and_exact(tmp_path):
    table = np.random.default_rng(1).integers(-(10**12), 10**12, (700, 700))
    np.savetxt(tmp_path / "m.csv", table, fmt="%d", delimiter=",")
    cost = read(tmp_path / "m.csv").problem.cost
    np.fill_diagonal(table, NO_ARC)
    assert np.array_equal(cost, table)


labels = st.lists(st.integers(-3, 12) | st.integers(-(10**17), 10**17), min_size=2, max_size=6, unique=True)
small = st.integers(0, 4)


def costs(draw, n):
    return np.array(draw(st.lists(st.lists(small, min_size=n, max_size=n), min_size=n, max_size=n)))


def assert_same_costs(tsp, cost):
    off = ~np.eye(len(cost), dtype=bool)
    assert tsp.cost.shape == cost.shape and np.array_equal(tsp.cost[off], cost[off])


@given(labels, st.data(), st.booleans(), st.sampled_from(["0", "0.0", "diagonal of its own"]))
def test_what_pandas_writes_is_read(tmp_path_factory, cities, data, index, diagonal):
    """The labels of a DataFrame come back from `to_csv`, with or without its index."""
    pandas = pytest.importorskip("pandas")
    cost = costs(data.draw, len(cities))
    np.fill_diagonal(cost, 7 if index and diagonal == "diagonal of its own" else 0)
    table = cost.astype(float) if diagonal == "0.0" else cost
    stream = io.StringIO()
    pandas.DataFrame(table, cities, cities).to_csv(stream, index=index)
    tsp = read_text(tmp_path_factory.mktemp("m"), stream.getvalue()).problem
    assert tsp.labels.tolist() == cities and tsp.city_names == ()
    assert_same_costs(tsp, cost)


@given(st.lists(st.sampled_from(["Oslo", "Rome", "1", "7.5", "a,b", 'e"f', "c d"]), min_size=2, unique=True), st.data())
def test_names_that_pandas_writes_are_read(tmp_path_factory, cities, data):
    """Texts are names. If all of them are numbers, whole ones are labels."""
    pandas = pytest.importorskip("pandas")
    cost = costs(data.draw, len(cities))
    stream = io.StringIO()
    pandas.DataFrame(cost, cities, cities).to_csv(stream)
    tsp = read_text(tmp_path_factory.mktemp("m"), stream.getvalue()).problem
    assert tsp.city_names == tuple(cities)
    assert_same_costs(tsp, cost)


@given(st.integers(1, 5), st.data(), st.sampled_from(["0", ""]), st.booleans())
def test_a_plain_matrix_is_never_read_as_labels(tmp_path_factory, n, data, diagonal, symmetric):
    """Whatever the costs, a matrix with a whole diagonal, or with none, is read as it is, or refused."""
    cost = costs(data.draw, n) if data.draw(st.booleans()) else np.add.outer(np.arange(n), np.arange(n))
    cost = np.maximum(cost, cost.T) if symmetric else cost
    cells = [[diagonal if i == j else str(cost[i, j]) for j in range(n)] for i in range(n)]
    if n == 1:
        cells = [["0"]]
    try:
        tsp = read_text(tmp_path_factory.mktemp("m"), "".join(",".join(row) + "\n" for row in cells)).problem
    except InputError as error:
        assert diagonal == "" and "may be labels or costs" in str(error)
        assert n > 2 and np.array_equal(cost[0, 1:], cost[1:, 0])
        return
    assert tsp.labels.tolist() == list(range(n)) and tsp.city_names == ()
    assert_same_costs(tsp, cost)


@given(labels, st.data())
def test_a_table_without_diagonal_is_never_misread(tmp_path_factory, cities, data):
    """Labels over a table without a diagonal could be costs: refused."""
    cost = costs(data.draw, len(cities))
    rows = [["", *cities], *([a, *("" if i == j else cost[i, j] for j in range(len(cities)))]
                             for i, a in enumerate(cities))]
    with pytest.raises(InputError, match="the first row and column may be labels or costs; write 0 into every cell"):
        read_text(tmp_path_factory.mktemp("m"), "".join(",".join(map(str, row)) + "\n" for row in rows))


@pytest.mark.parametrize("text", ["0,7,9\n7,0,3\n9,3,0\n3,3,0\n", "0,7\n7,1\n9,3\n", "1,1\n0,2\n2,0\n", "1\n0\n"])
def test_a_matrix_with_a_row_too_many_is_refused(tmp_path, text):
    """A first row of costs is not taken for labels, nor one with a number twice."""
    with pytest.raises(InputError, match="the matrix must be square"):
        read_text(tmp_path, text)


@given(labels, st.data(), st.sampled_from(["again.csv", "again.tsv"]), st.sampled_from([1, 100]))
def test_what_is_written_is_read(tmp_path_factory, cities, data, file, scale):
    cost = costs(data.draw, len(cities)).astype(np.int64)
    cost[cost == 4] = NO_ARC
    cost[cost == 3] = -1
    named = data.draw(st.booleans())
    called = data.draw(st.lists(names(0), min_size=len(cities), max_size=len(cities))) if named else ()
    tsp = from_costs(cost, "again", labels=None if named else np.array(cities), scale=scale, city_names=called)
    path = tmp_path_factory.mktemp("m") / file
    try:
        write(tsp, str(path))
    except InputError as error:
        assert "names are numbers" in str(error)
        return
    again = read(path).problem
    assert again.labels.tolist() == tsp.labels.tolist() and again.city_names == tsp.city_names
    both = (tsp.cost == NO_ARC) == (again.cost == NO_ARC)
    finite = tsp.cost != NO_ARC
    assert both.all() and (tsp.cost[finite] * again.scale == again.cost[finite] * tsp.scale).all()


def test_blank_names_are_no_names(tmp_path):
    """A margin of empty cells would be read as a row and a column of forbidden arcs."""
    tsp = from_matrix([[0, 1], [1, 0]], city_names=["", " "])
    write(tsp, str(tmp_path / "m.csv"))
    assert tsp.city_names == () and read(tmp_path / "m.csv").problem.n == 2


@pytest.mark.parametrize("cities", [["1", "2.5"], ["", "1"], ["inf", ""]])
def test_names_that_are_numbers_are_not_written(tmp_path, cities):
    with pytest.raises(InputError, match="names are numbers, which a table cannot tell from labels"):
        write(from_matrix([[0, 1], [1, 0]], city_names=cities), str(tmp_path / "m.csv"))

"""Cost matrices in files of numpy and CSV are read as exactly the numbers that Python reads."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.formats import read
from hpcsolve.problems.tsp import NO_ARC


def read_text(tmp_path, text, name="m.csv"):
    (tmp_path / name).write_text(text)
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
    table[0][0] = table[0][0] or "5"  # an empty first cell may stand over labels: tests/formats/test_margins.py
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

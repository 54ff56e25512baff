"""TSPLIB files: published instances with their optima, all matrix formats, odd spellings, precedences, round trips."""

import csv
import gzip
import hashlib
import io
import lzma
import re
import sys
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve
from hpcsolve import formats
from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.formats import read, read_tour
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.tsplib import ORDERS, read_tsplib
from hpcsolve.formats.tsplib_write import tsplib_text, write_tour, write_tsplib
from hpcsolve.problems.generate.tsp import clustered_tsp, random_matrix, uniform_tsp
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.questions import TourQuestion, check_tour
from hpcsolve.problems.tsp import NO_ARC, from_matrix
from tests.order_oracle import best_order


def parse(text):
    return read_tsplib(InputFile("x.tsp", text.encode(), ""))


def published(data_dir):
    with open(data_dir / "tsplib" / "optima.csv", newline="") as file:
        return {row["name"]: (int(row["optimum"]), row["type"]) for row in csv.DictReader(file)}


def test_every_published_instance_is_read(data_dir):
    known = published(data_dir)
    files = {path.name.split(".")[0]: path for path in (data_dir / "tsplib").glob("*.*tsp")}
    files |= {path.name.split(".")[0]: path for path in (data_dir / "tsplib").glob("*.tsp")}
    assert set(files) == set(known) and len(files) == 30
    for name, path in files.items():
        instance = read(path)
        tsp = instance.problem
        assert tsp.name.removesuffix(".tsp") == name and instance.format == "tsplib"
        assert instance.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert tsp.labels.tolist() == list(range(1, tsp.n + 1)) and tsp.scale == 1
        assert tsp.symmetric == known[name][1].startswith("TSP")
        assert (tsp.cost.diagonal() == NO_ARC).all() and (tsp.cost >= 0).all() and list(notes_on(tsp)) == []
        digits = "".join(c for c in name if c.isdigit())
        assert tsp.n == int(digits) + name.startswith("ftv"), "the number in the name; ftvNN has one more"


def test_every_published_tour_costs_the_published_optimum(data_dir):
    known = published(data_dir)
    tours = sorted((data_dir / "tsplib").glob("*.opt.tour"))
    assert len(tours) == 15
    for path in tours:
        name = path.name.split(".")[0]
        tsp = read(data_dir / "tsplib" / f"{name}.tsp").problem
        assert check_tour(tsp, tsp.positions(read_tour(path))) == known[name][0], name


def test_four_thousand_cities_fast_and_small(data_dir):
    tracemalloc.start()
    begin = time.process_time()
    tsp = read(data_dir / "tsplib" / "fnl4461.tsp").problem
    seconds, peak = time.process_time() - begin, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert tsp.n == 4461 and seconds < 5
    assert peak < 0.1 * 8 * tsp.n**2, "a matrix takes ten times as much"


# An independent writer: for each EDGE_WEIGHT_FORMAT, which entries, in the order in which the documentation lists them.
def entries(weight_format, n):
    if weight_format == "FULL_MATRIX":
        return [(i, j) for i in range(n) for j in range(n)]
    keep = {"UPPER": lambda i, j: i < j, "LOWER": lambda i, j: i > j}[weight_format.split("_")[0]]
    chosen = [(i, j) for i in range(n) for j in range(n) if keep(i, j) or ("DIAG" in weight_format and i == j)]
    return sorted(chosen, key=lambda e: (e[1], e[0])) if weight_format.endswith("COL") else chosen


@st.composite
def explicit(draw, numbers):
    weight_format = draw(st.sampled_from(sorted(ORDERS)))
    n = draw(st.integers(1, 7))
    table = draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=n, max_size=n))
    if weight_format != "FULL_MATRIX":
        table = [[table[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    return weight_format, table


def text_of(draw, weight_format, table):
    n = len(table)
    gaps = st.sampled_from([" ", "\n", "   ", "\t", " \n\n "])
    numbers = "".join(draw(gaps) + str(table[i][j]) for i, j in entries(weight_format, n))
    head = f"NAME : p\nTYPE : ATSP\nDIMENSION : {n}\nEDGE_WEIGHT_TYPE : EXPLICIT\n"
    head += f"EDGE_WEIGHT_FORMAT : {weight_format}\n"
    return head + "EDGE_WEIGHT_SECTION\n" + numbers + draw(st.sampled_from(["", "\n", "\nEOF", "\nEOF\n"]))


@given(explicit(st.integers(-(10**9), 10**9)), st.data())
def test_all_nine_matrix_formats(case, data):
    weight_format, table = case
    tsp = parse(text_of(data.draw, weight_format, table))
    expected = [[NO_ARC if i == j else c for j, c in enumerate(row)] for i, row in enumerate(table)]
    assert tsp.cost.tolist() == expected and tsp.scale == 1


@given(explicit(st.one_of(st.decimals(-1000, 1000, places=3), st.sampled_from(["inf", "1e2", "-2.50E-1", ".5", "3."]))),
       st.data())
def test_decimals_and_forbidden_arcs_in_all_matrix_formats(case, data):
    weight_format, table = case
    tsp = parse(text_of(data.draw, weight_format, table))
    for i, row in enumerate(table):
        for j, text in enumerate(row):
            if i == j or text == "inf":
                assert tsp.cost[i, j] == NO_ARC
            else:
                assert Fraction(int(tsp.cost[i, j]), tsp.scale) == Fraction(str(text).rstrip("."))


@pytest.mark.parametrize("weight_format", sorted(ORDERS))
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_places_of_entries(weight_format, n):
    order = entries(weight_format, n)
    listed = ORDERS[weight_format]
    found, places = np.argwhere(listed.entries(n)).tolist(), listed.matrix(np.arange(len(order)), n)
    assert listed.count(n) == len(order) == len(found)
    for index, (i, j) in enumerate(order):
        assert found[index] in ([i, j], [j, i]), "triangles are mirrored"
        assert places[i, j] == index
        if weight_format != "FULL_MATRIX":
            assert places[j, i] == index


TRIANGLE = "1 0 0\n2 3 0\n3 0 4\n"
HEAD = "NAME: t\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
SPELLINGS = {
    "plain": HEAD + TRIANGLE + "EOF\n",
    "blanks before colons": HEAD.replace(":", " :") + TRIANGLE + "EOF\n",
    "no blank after colons": HEAD.replace(": ", ":") + TRIANGLE + "EOF\n",
    "no colons": HEAD.replace(":", " ") + TRIANGLE,
    "small letters": HEAD.lower() + TRIANGLE + "eof",
    "section with a colon": HEAD.replace("SECTION", "SECTION:") + TRIANGLE,
    "no EOF": HEAD + TRIANGLE,
    "no last newline": HEAD + TRIANGLE.rstrip(),
    "after EOF": HEAD + TRIANGLE + "EOF\n1 2 3 whatever\n-1\nEOF\n",
    "leading blanks": "  " + HEAD.replace("\n", "\n  ") + TRIANGLE.replace("\n", "\n   ") + " EOF",
    "tabs": HEAD.replace(": ", ":\t") + TRIANGLE.replace(" ", "\t"),
    "blank lines": "\n\n" + HEAD.replace("\n", "\n\n") + "\n" + TRIANGLE.replace("\n", "\n \n"),
    "exponents": HEAD + "1 0.0e+00 0e0\n2 3.00000e+00 0\n3 0 .4E1\n",
    "explicit function": HEAD.replace("NODE_", "EDGE_WEIGHT_FORMAT: FUNCTION\nNODE_COORD_TYPE: TWOD_COORDS\nNODE_")
    + TRIANGLE,
    "unknown key": "BEST_KNOWN : 12\n" + HEAD + TRIANGLE,
    "author after the type": HEAD.replace("TYPE: TSP", "TYPE: TSP (M.~Hofmeister)") + TRIANGLE,
    "display data": HEAD + TRIANGLE + "DISPLAY_DATA_SECTION\n1 0 0\n2 0 0\n3 0 0\nEOF",
    "Latin-1 comment": HEAD.replace("NAME: t", "NAME: t\nCOMMENT: St\xe4dte: zwei") + TRIANGLE,
    "labels": HEAD + TRIANGLE.replace("1 ", "0 ", 1).replace("3 0 4", "77 0 4"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_odd_spellings(tmp_path, spelling, line_end, mark):
    file = tmp_path / "t.tsp"
    file.write_bytes(mark + SPELLINGS[spelling].replace("\n", line_end).encode("latin-1"))
    tsp = read(file).problem
    assert [tsp.cost[0, 1], tsp.cost[0, 2], tsp.cost[1, 2]] == [3, 4, 5] and tsp.name == "t"
    assert tsp.labels.tolist() == ([0, 2, 77] if spelling == "labels" else [1, 2, 3])
    assert tsp.comment == ("St\xe4dte: zwei" if spelling == "Latin-1 comment" else "")


def test_utf_16_as_windows_writes_it(tmp_path):
    (tmp_path / "t.tsp").write_bytes(SPELLINGS["plain"].replace("\n", "\r\n").encode("utf-16"))
    assert read(tmp_path / "t.tsp").problem.cost[1, 2] == 5


@pytest.mark.parametrize(("name", "module"), [("t.tsp.gz", gzip), ("t.tsp.xz", lzma), ("t", gzip)])
def test_compressed_files(tmp_path, name, module):
    packed = module.compress(SPELLINGS["plain"].encode())
    (tmp_path / name).write_bytes(packed)
    instance = read(str(tmp_path / name))
    assert instance.problem.cost[1, 2] == 5 and instance.sha256 == hashlib.sha256(packed).hexdigest()
    assert (instance.path, instance.format) == (str(tmp_path / name), "tsplib")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(SPELLINGS["plain"].encode()))))
    instance = read("-")
    assert instance.problem.cost[1, 2] == 5 and instance.path == "-"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"TYPE: TSP\nDIMENSION: x\n")))
    with pytest.raises(InputError, match=r"^<stdin>:2: "):
        read("-")


def test_comments_are_joined_and_display_data_kept():
    head = "NAME: a b\nCOMMENT: one\nCOMMENT: two\nTYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
    data = "EDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n7\nDISPLAY_DATA_SECTION\n1 3 4\n0 5.5 6\n"
    tsp = parse(head + data)
    assert (tsp.name, tsp.comment) == ("a b", "one\ntwo")
    assert tsp.labels.tolist() == [0, 1] and tsp.coordinates.tolist() == [[5.5, 6], [3, 4]]
    assert tsp.cost[0, 1] == tsp.cost[1, 0] == 7


def assert_equal_instances(a, b):
    assert np.array_equal(a.cost, b.cost) and a.scale == b.scale
    assert (a.name, a.comment) == (b.name, b.comment)


GENERATED = {
    "uniform": lambda: uniform_tsp(40, 2),
    "clustered": lambda: clustered_tsp(30, 2),
    "negative": lambda: random_matrix(9, 4, -50, 50),
    "symmetric": lambda: random_matrix(5, 4, symmetric=True),
    "one city": lambda: uniform_tsp(1),
}


@pytest.mark.parametrize("kind", GENERATED)
def test_round_trip_of_generated_instances(tmp_path, kind):
    tsp = GENERATED[kind]()
    path = str(tmp_path / "out.tsp")
    write_tsplib(tsp, path)
    back = read(path).problem
    assert_equal_instances(tsp, back)
    assert back.labels.tolist() == tsp.labels.tolist()
    if tsp.coordinates is not None:
        assert np.array_equal(back.coordinates, tsp.coordinates)
        assert "EUC_2D" in (tmp_path / "out.tsp").read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["out.tsp"], "no temporary file is left"


@pytest.mark.parametrize("name", ["burma14.tsp", "bayg29.tsp", "br17.atsp", "ch150.tsp", "d198.tsp"])
def test_round_trip_of_published_instances(data_dir, tmp_path, name):
    tsp = read(data_dir / "tsplib" / name).problem
    write_tsplib(tsp, str(tmp_path / "out.tsp"))
    back = read(tmp_path / "out.tsp").problem
    assert_equal_instances(tsp, back)
    assert (tsp.coordinates is None) == (back.coordinates is None)
    if tsp.coordinates is not None:
        assert np.array_equal(back.coordinates, tsp.coordinates)


@given(st.integers(1, 5), st.integers(0, 4), st.randoms(use_true_random=False))
def test_round_trip_of_decimals(n, places, random):
    table = [[random.randint(-9999, 9999) / 10**places for _ in range(n)] for _ in range(n)]
    tsp = from_matrix(table, "decimals")
    assert not re.search(r"\d\.\d*0( |\n)", tsplib_text(tsp)), "no zeros behind the last decimal"
    assert_equal_instances(tsp, parse(tsplib_text(tsp)))


def test_forbidden_arcs_are_not_written(tmp_path):
    tsp = from_matrix([[0, 1], [float("inf"), 0]], "gap")
    with pytest.raises(InputError, match=r"no arc from city 1 to 0, which TSPLIB cannot express; .*gap\.npy"):
        write_tsplib(tsp, str(tmp_path / "gap.tsp"))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(EnvironmentFault, match=r"none/x\.tsp: cannot be written: No such file"):
        write_tsplib(uniform_tsp(3), str(tmp_path / "none" / "x.tsp"))


TOURS = {
    "lines": "3\n1\n2\n-1\nEOF\n",
    "one line": "3 1 2 -1\nEOF\n",
    "no end": "3 1 2",
    "no end but EOF": "3\n1 2\nEOF",
    "end twice": "3 1 2\n-1\n-1\nEOF\n",
}


@pytest.mark.parametrize("spelling", TOURS)
@pytest.mark.parametrize("head", ["TYPE : TOUR\nDIMENSION : 3\n", "NAME: x\n", "TYPE:TOUR\n"])
def test_tour_spellings(tmp_path, spelling, head):
    (tmp_path / "t.tour").write_text(head + "TOUR_SECTION\n" + TOURS[spelling])
    labels = read_tour(tmp_path / "t.tour")
    assert labels.dtype == np.int64 and labels.tolist() == [3, 1, 2]


@given(st.permutations([0, 5, 7, 12, 10**12]))
def test_tour_round_trip(tmp_path_factory, labels):
    path = str(tmp_path_factory.mktemp("tour") / "t.tour")
    write_tour(labels, path, name="my tour", comment="cost 5\nproven")
    assert read_tour(path).tolist() == labels


SOP = """\
NAME: small.sop
TYPE: SOP
DIMENSION: 5
EDGE_WEIGHT_TYPE: EXPLICIT
EDGE_WEIGHT_FORMAT: FULL_MATRIX
EDGE_WEIGHT_SECTION
5
0 3 9 4 1000000
-1 0 6 2 5
-1 7 0 8 1
-1 4 -1 0 3
-1 -1 -1 -1 0
EOF
"""


@pytest.fixture
def file(tmp_path):
    """Return a file of five cities, of which the third comes before the fourth."""
    path = tmp_path / "small.sop"
    path.write_text(SOP)
    return path


def test_the_matrix_says_what_comes_before(file):
    tsp = formats.read(file).problem
    assert set(tsp.precedences) == {(0, 1), (0, 2), (0, 3), (2, 3), (0, 4), (1, 4), (2, 4), (3, 4)}
    assert tsp.cost[3, 2] == NO_ARC and tsp.cost[1, 2] == 6
    file.write_text(SOP.replace("\n5\n", "\n"))
    assert formats.read(file).problem.precedences == tsp.precedences


def test_the_order_is_that_of_brute_force(file):
    tsp = formats.read(file).problem
    result = hpcsolve.solve(str(file), path="open", device="cpu", threads=1)
    best = best_order(tsp, TourQuestion("open", precedences=tsp.precedences))
    assert best == (result.cost, result.tour.tolist()) and result.tour.tolist()[::4] == [0, 4]
    assert hpcsolve.solve(tsp, path="open", device="cpu", threads=1).cost == result.cost
    assert hpcsolve.solve(str(file), device="cpu", threads=1).tour.tolist() == result.tour.tolist()


def test_a_written_file_is_read_again(file, tmp_path):
    tsp = formats.read(file).problem
    formats.write(tsp, str(tmp_path / "again.sop"))
    again = formats.read(tmp_path / "again.sop").problem
    assert np.array_equal(again.cost, tsp.cost) and set(again.precedences) == set(tsp.precedences)
    for name in ("lost.npy", "lost.csv"):
        with pytest.raises(InputError, match=r"which only TSPLIB has; write a \.sop file"):
            formats.write(tsp, str(tmp_path / name))


def test_what_cannot_be(file):
    with pytest.raises(InputError, match=r'held-karp\.path: the instance says .*set start, or path = "open"'):
        hpcsolve.solve(str(file), "held-karp", device="cpu")
    with pytest.raises(InputError, match='solve it with algorithm = "held-karp"'):
        hpcsolve.solve(str(file), "ant-colony", device="cpu")
    file.write_text(SOP.replace("FULL_MATRIX", "UPPER_ROW"))
    with pytest.raises(InputError, match="5: EDGE_WEIGHT_FORMAT of a SOP must be FULL_MATRIX"):
        formats.read(file)

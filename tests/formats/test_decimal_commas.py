"""Decimal commas between semicolons or tabs mean what points mean. What has two readings is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.formats import read, read_graph
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.order_files import read_windows
from hpcsolve.problems.tsp import from_matrix
from tests.formats.reading import refusal

DELIMITERS = st.sampled_from([";", "\t"])
TSP = from_matrix([[0, 1.25, 2], [3, 0, 4], [5, 6, 0]], city_names=["Inn", "Mill", "Well"])


def decimals(most=10**6):
    """Return numbers that are written with two decimals, as spreadsheets have them."""
    return st.integers(0, most).map(lambda hundredths: f"{hundredths / 100:.2f}")


def with_commas(rows, delimiter):
    """Write rows as a spreadsheet with decimal commas does."""
    return "".join(delimiter.join(cell.replace(".", ",") for cell in row) + "\n" for row in rows)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.tuples(*[decimals()] * n), min_size=n, max_size=n)),
       DELIMITERS, st.booleans())
def test_costs(tmp_path_factory, rows, delimiter, named):
    names = ["Inn", "Mill", "Well", "Ford", "Gate"][: len(rows)]
    table = [["", *names], *([name, *row] for name, row in zip(names, rows))] if named else rows
    path = tmp_path_factory.mktemp("c") / "costs.csv"
    path.write_text(with_commas(table, delimiter))
    found, expected = read(path).problem, from_matrix([[float(cell) for cell in row] for row in rows])
    assert np.array_equal(found.cost, expected.cost) and found.scale == expected.scale


@given(st.lists(st.tuples(decimals(9000), decimals(18000)), min_size=1, max_size=6), DELIMITERS)
def test_places(tmp_path_factory, places, delimiter):
    rows = [[f"City {index}, East", *place] for index, place in enumerate(places)]
    path = tmp_path_factory.mktemp("p") / "places.csv"
    path.write_text(f"name{delimiter}lat{delimiter}lon\n" + with_commas(rows, delimiter))
    tsp = read(path).problem
    assert tsp.coordinates.tolist() == [[float(cell) for cell in place] for place in places]
    assert tsp.city_names == tuple(name for name, *_ in rows)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(11, 19), decimals()), min_size=1, max_size=9), DELIMITERS,
       st.sampled_from(["", "u{0}v{0}km\n", "# 3,5 is a comment; so is this\n"]), st.sampled_from(["e.csv", "e.txt"]),
       st.sampled_from(["{}", "N{}"]))
def test_edges(tmp_path_factory, edges, delimiter, head, name, vertex):
    folder = tmp_path_factory.mktemp("e")
    rows = [[vertex.format(u), vertex.format(v), weight] for u, v, weight in edges]
    texts = {name: head.format(delimiter) + with_commas(rows, delimiter),
             "points.csv": head.format(",") + "".join(",".join(row) + "\n" for row in rows)}
    found, expected = (read_graph(_written(folder / file, text)).problem for file, text in texts.items())
    assert found.vertex_names == expected.vertex_names and found.labels.tolist() == expected.labels.tolist()
    assert np.array_equal(found.weights / found.scale, expected.weights / expected.scale)
    assert found.heads.tolist() == expected.heads.tolist() and found.scale == expected.scale


def _written(path, text):
    path.write_text(text)
    return path


@given(st.lists(st.tuples(decimals(), decimals()).map(lambda pair: sorted(pair, key=float)), min_size=3, max_size=3),
       DELIMITERS)
def test_windows(windows, delimiter):
    rows = [[str(city), *window, "0.25"] for city, window in enumerate(windows)]
    text = delimiter.join(["city", "earliest", "latest", "service"]) + "\n" + with_commas(rows, delimiter)
    found = read_windows(InputFile("w.csv", text.encode(), ""), TSP)
    assert found.earliest.tolist() == [round(100 * float(window[0])) for window in windows]
    assert found.latest.tolist() == [round(100 * float(window[1])) for window in windows]
    assert found.service.tolist() == [25, 25, 25]


@pytest.mark.parametrize("text", [
    "a;b;1,5e3\nb;c;,5\n", "a;b;+1,5E+3\nb;c;0,5\n", 'a;b;"1500,0"\nb;c;"0,5"\n', "a;b;1500\nb;c;0,500\n",
    "a;b;1500\nb;c;,500\n",
])
def test_ways_to_write_a_decimal_comma(tmp_path, text):
    """A leading zero, or another number of decimals than three, proves that a comma is a decimal one."""
    graph = read_graph(_written(tmp_path / "e.csv", text)).problem
    assert sorted((graph.weights / graph.scale).tolist()) == [0.5, 0.5, 1500, 1500]


def test_three_decimals_everywhere_are_decimals(tmp_path):
    assert read_graph(_written(tmp_path / "e.csv", "a;b;1,234\nb;c;2,500\n")).problem.scale == 1000


def test_degrees_have_no_marks_of_thousands(tmp_path):
    tsp = read(_written(tmp_path / "p.csv", "name;lat;lon\nWien;48,208;16\nGraz;47,070;15\n")).problem
    assert tsp.coordinates.tolist() == [[48.208, 16], [47.07, 15]]


def test_names_and_columns_that_are_not_used_keep_their_commas(tmp_path):
    tsp = read(_written(tmp_path / "p.csv", "name;lat;lon;area\n1,5;48,2;16,3;1.000\n2,5;47,0;15,4;2\n")).problem
    assert tsp.city_names == ("1,5", "2,5")
    graph = read_graph(_written(tmp_path / "e.csv", "16,48;17,48;1,5\n17,48;18,48;2\n")).problem
    assert graph.vertex_names == ("16,48", "17,48", "18,48") and graph.scale == 10


@pytest.mark.parametrize(("reader", "text", "message"), [
    (read_graph, "u;v;w\na;b;1,5\nb;c;2.5\n",
     ":3: 2.5 beside 1,5 (line 2): the comma or the point may be a mark of thousands; write all decimals with one"),
    (read_graph, "u;v;w\na;b;1.000\nb;c;2,5\n", ":3: 2,5 beside 1.000 (line 2): the comma or"),
    (read_graph, "1;2;1,000\n2;3;500\n", ":1: 1,000 may be 1000 or 1; write 1000, or 1,0000 if the comma is a decimal"),
    (read_graph, "1;2;1.000\n2;3;500\n", ":1: 1.000 may be 1000 or 1; write 1000, or 1.0000 if the point is a decimal"),
    (read_graph, "1\t2\t1,000\n2\t3\t2,500\n", ":1: 1,000 may be 1000 or 1"),
    (read_graph, "a;b;1.234,5\nb;c;2,5\n", ":1: a weight must be a number, found '1.234,5'"),
    (read_graph, "1;2;1.234,5\n2;3;2,5\n", ":1: a weight must be a number, found '1.234,5'"),
    (read_graph, "1,5;2,5;3,5\n", ":1: "),
    (read, "0;1,5\n2.5;0\n", ":2: 2.5 beside 1,5 (line 1)"),
    (read, "0;1,500\n2;0\n", ":1: 1,500 may be 1500 or 1.5"),
    (read, "0;2\n1.234,5;0\n", ":2: the cost from city 1 to city 0 (cell 1) is not a number: '1.234,5'"),
    (read, "name;lat;lon\na;48,2;16.3\n", ":2: 48,2 beside 16.3 (line 2)"),
    (read, "name;lat;lon\na;48,2,1;16\n", ":2: the latitude '48,2,1' is not a number; give decimal degrees"),
])
def test_what_can_be_misread(tmp_path, reader, text, message):
    if message == ":1: ":  # vertices are names then
        assert reader(_written(tmp_path / "t.csv", text)).problem.vertex_names == ("1,5", "2,5")
        return
    assert refusal(reader, _written(tmp_path / "t.csv", text)).startswith(f"{tmp_path / 't.csv'}{message}")


@pytest.mark.parametrize(("text", "message"), [
    ("city;earliest;latest\n1;1,5;2.5\n", "w.csv:2: 2.5 beside 1,5 (line 2)"),
    ("city;earliest;latest\n1;500;1.000\n", "w.csv:2: 1.000 may be 1000 or 1"),
    ('city,earliest,latest\n1,1,"2,5"\n', "w.csv:2: expected a time as a number, in the unit of the costs, found '2,5"),
])
def test_windows_that_can_be_misread(text, message):
    assert refusal(read_windows, InputFile("w.csv", text.encode(), ""), TSP).startswith(message)

"""Many cities with coordinates are read, checked, hashed and written in memory that is linear in their number."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve import memory
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.formats import read, write
from hpcsolve.formats.convert import convert
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.tsplib import parts_of
from hpcsolve.problems.distances import GREAT_CIRCLE, METRICS, dimensions
from hpcsolve.problems.generate import generate
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.questions import TourQuestion, check_tour
from hpcsolve.problems.tsp import MOST_PAIRED, from_points
from hpcsolve.runner.kinds import KINDS

MANY = MOST_PAIRED + 1
BYTES_A_CITY = 400
"""The most bytes of Python and numpy, at their peak, for each city of what is tested here."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a TSPLIB file and a CSV file with many cities."""
    folder = tmp_path_factory.mktemp("many")
    plane, globe = folder / "plane.tsp", folder / "globe.csv"
    x = np.arange(MANY) * 7919 % 100_003
    lines = "".join(f"{i + 1} {a} {b / 4}\n" for i, (a, b) in enumerate(zip(x.tolist(), (x * x % 65_537).tolist())))
    head = f"NAME: plane\nTYPE: TSP\nDIMENSION: {MANY}\nEDGE_WEIGHT_TYPE: CEIL_2D\nNODE_COORD_SECTION\n"
    plane.write_text(f"{head}{lines}EOF\n")
    rows = "".join(f"{a % 170 - 85}.5,{a % 350 - 175}.25\n" for a in range(MANY))
    globe.write_text(f"lat,lon\n{rows}")
    return plane, globe


def peak_of(call):
    """Return what a call returns, and its peak of bytes for each city."""
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak / MANY


def test_more_cities_than_a_matrix_can_have(files):
    tsp, peak = peak_of(lambda: read(files[0]).problem)
    assert tsp.n == MANY and tsp.metric == "CEIL_2D" and peak < BYTES_A_CITY
    assert tsp.labels.tolist() == list(range(1, MANY + 1)) and tsp.coordinates[5].tolist() == [39595, 13362]
    order = np.argsort(tsp.coordinates[:, 0], kind="stable")
    legs = [np.ceil(np.hypot(*(tsp.coordinates[a] - tsp.coordinates[b])))
            for a, b in zip(order[:100], np.roll(order, -1)[:100])]
    assert TourQuestion().legs_of(tsp, order)[:100].tolist() == legs
    cost, peak = peak_of(lambda: check_tour(tsp, order))
    assert cost == TourQuestion().legs_of(tsp, order).sum() and peak < BYTES_A_CITY
    kind = KINDS["tsp"]
    digest, peak = peak_of(lambda: kind.content_hash(tsp))
    assert peak < BYTES_A_CITY and list(notes_on(tsp)) == [] and "symmetric" in kind.headline(tsp)
    moved = tsp.coordinates.copy()
    moved[-1] += 1
    others = [from_points(moved, "CEIL_2D", "", tsp.labels), from_points(tsp.coordinates, "EUC_2D", "", tsp.labels),
              from_points(tsp.coordinates, "CEIL_2D", "", tsp.labels[::-1])]
    assert len({digest, *map(kind.content_hash, others)}) == 4
    assert digest == kind.content_hash(from_points(tsp.coordinates, "CEIL_2D", "named", tsp.labels))
    assert "cost" not in vars(tsp)


def test_many_places_on_the_globe(files):
    tsp = read(files[1]).problem
    assert tsp.n == MANY and tsp.metric == GREAT_CIRCLE
    assert check_tour(tsp, np.arange(MANY)) > 0 and "cost" not in vars(tsp)
    assert "are at the same place" in next(notes_on(tsp))


def test_many_cities_are_refused_before_a_matrix_is_made(files, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    tsp = read(files[0]).problem
    ants, held_karp = algorithm("ant-colony"), algorithm("held-karp")
    with pytest.raises(InputError, match=f"{MANY} cities; ant-colony takes 4 to 65535"):
        ants.statement(tsp, ants.parameters())
    for keys, message in (({}, "65536 cities are too many: held-karp takes at most 122 here; edge-"),
                          ({"method": "lattice"}, "65536 cities are too many: Held-Karp's memory doubles")):
        with pytest.raises(ResourceError, match=message):
            held_karp.plan(held_karp.statement(tsp, held_karp.parameters(**keys)), 1)
    with pytest.raises(ResourceError, match=f"the cost matrix of {MANY} cities .* take 40 GiB"):
        _ = tsp.cost


def test_ants_are_refused_a_matrix_by_memory(monkeypatch):
    tsp, ants = generate("tsp", "uniform-tsp", n=3000), algorithm("ant-colony")
    monkeypatch.setattr(memory, "available_memory", lambda: 60 << 20)
    with pytest.raises(ResourceError, match=r"the cost matrix of 3000 cities .* take at most 1713 cities"):
        ants.statement(tsp, ants.parameters())
    ants.statement(tsp, ants.parameters(), to_check=True)
    assert "cost" not in vars(tsp), "a tour is checked without a matrix"


def test_formats_are_converted_without_a_matrix(files, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    for source, suffix in zip(files, (".tsp", ".csv")):
        target = tmp_path / f"again{suffix}"
        said = convert(str(source), str(target))
        assert f"{MANY} cities" in said and "without" not in said.replace("names, labels", "")
        old, new = read(source).problem, read(target).problem
        assert np.array_equal(old.coordinates, new.coordinates) and old.metric == new.metric
    with pytest.raises(ResourceError, match="the cost matrix of"):
        convert(str(files[1]), str(tmp_path / "globe.tsp"))


@pytest.mark.parametrize("metric", [name for name in METRICS if name != GREAT_CIRCLE])
def test_every_metric_is_written_under_its_own_name(metric, tmp_path):
    points = np.random.default_rng(3).integers(0, 5000, (30, dimensions(metric))) // (100 if metric == "GEO" else 1) / 8
    tsp = from_points(np.floor(points) if metric == "GEO" else points, metric, "thirty", np.arange(1, 31) * 3)
    write(tsp, str(tmp_path / "t.tsp"))
    again = read(tmp_path / "t.tsp").problem
    assert again.metric == metric and "cost" not in vars(tsp)
    assert np.array_equal(again.cost, tsp.cost) and np.array_equal(again.labels, tsp.labels)


def section_of(lines, n, axes):
    """Return the section of coordinates as it is read at once, and the function that reads it line by line."""
    text = "\n".join(["NAME: x", f"DIMENSION: {n}", "NODE_COORD_SECTION", *lines, ""])
    parts = parts_of(InputFile("x.tsp", text.encode(), ""))
    section = parts.section("NODE_COORD_SECTION")
    return lambda: parts._coordinates(section, n, axes), lambda: parts._coordinates_by_line(section, n, axes)


def outcome(call):
    """Return labels and coordinates, or the message of the refusal."""
    try:
        labels, points = call()
    except InputError as error:
        return str(error)
    return labels.tolist(), [[x.hex() for x in point] for point in points.tolist()]


good = st.one_of(
    st.integers(-(10**6), 10**6).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{0,20}\.?[0-9]{1,20}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)
odd = st.one_of(good, st.sampled_from([
    "inf", "nan", "1e400", "0e123456", "1.5.2", "1-2", "0x10", "1_0", "-", ".", "5.", "+.5", "1e", "\u0663",
    "7\v8", "1\f", "1d3"]))
numbers = st.one_of(st.integers(0, 12).map(str),
                    st.sampled_from(["1.0", "+3", "-1", "1e3", "9" * 15, "9" * 16, "007", "x"]))


@given(st.data(), st.integers(2, 3))
def test_sections_are_read_at_once_as_line_by_line(data, axes):
    """The same labels and the same bits, or the same message with the same line."""
    rough = data.draw(st.booleans())
    word, label = (odd, numbers) if rough else (good, st.integers(0, 10**17).map(str))
    blank = st.sampled_from([" ", "  ", "\t", " \t "])
    cells = [st.tuples(blank, word).map("".join)] * axes
    city = st.tuples(blank, label, *cells, st.sampled_from(["", " ", "\t"])).map("".join)
    lines = data.draw(st.lists(st.one_of(city, st.sampled_from(["", "  "])), max_size=6, unique=not rough))
    n = data.draw(st.integers(1, 7)) if rough else max(1, sum(map(bool, map(str.strip, lines))))
    lines = [line for line in lines if not line.strip()[:1].isalpha()]
    at_once, by_line = section_of(lines, n, axes)
    assert outcome(at_once) == outcome(by_line)

"""Each format is recognised by content and suffix, read, written if its record says so, converted, and documented."""

import gzip
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hpcsolve.cli import main
from hpcsolve.errors import InputError
from hpcsolve.formats import Format, read, read_graph, recognised, write, write_graph
from hpcsolve.formats.convert import convert
from hpcsolve.formats.files import open_file, stem_of
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.formats.tsplib import with_names
from hpcsolve.problems.tsp import NO_ARC
from hpcsolve.reference import formats
from tests.formats.samples import samples

KINDS = [(format, TSP_FORMATS, read, write) for format in TSP_FORMATS]
KINDS += [(format, GRAPH_FORMATS, read_graph, write_graph) for format in GRAPH_FORMATS]
each_format = pytest.mark.parametrize(
    ("format", "formats", "reader", "writer"), KINDS, ids=[record.name.replace(" ", "-") for record, *_ in KINDS]
)


def samples_of(format):
    return [sample for sample in samples() if sample.format == format.name and not sample.file.endswith((".gz", ".xz"))]


def opened(tmp_path, name, content, format):
    (tmp_path / name).write_bytes(content)
    file = open_file(str(tmp_path / name))
    return file if format.binary else file.as_text()


@pytest.mark.parametrize(("path", "stem"), [
    ("n20w100.001.txt", "n20w100.001"), ("n20w100.003", "n20w100.003"), ("a/b.tsp.gz", "b"), ("c.TSP", "c"), ("x", "x"),
    ("a.001.gz", "a.001"), ("my.v2.csv", "my.v2"), (".csv", ".csv"), ("d.txt.xz", "d"),
])
def test_names_without_suffixes(path, stem):
    """Files that differ in a number behind a dot have names of their own."""
    assert stem_of(path) == stem


@each_format
def test_recognised_by_content(tmp_path, format, formats, reader, writer):
    """Content is recognised whatever the suffix, and by one signature alone. METIS has none, edge lists have titles."""
    for sample in samples_of(format):
        file = opened(tmp_path, "file.unknown", sample.content, format)
        claimed = [other for other, *_ in KINDS if other.signature and other.signature(file.content)]
        assert claimed in ([format] if format.signature else [], [] if format.resembles else [format])
        if format.signature or format.resembles:
            assert recognised(file, formats) is format
            assert reader(tmp_path / "file.unknown").format == format.name


@each_format
def test_recognised_by_suffix(tmp_path, format, formats, reader, writer):
    """The suffix decides where the content says nothing. Of two formats with one suffix the first one is taken."""
    for suffix in format.suffixes:
        for packed in ("", ".gz"):
            content = b"?" if packed == "" else gzip.compress(b"?")
            file = opened(tmp_path, f"a.b{suffix.upper()}{packed}", content, format)
            first = next(other for other in formats if suffix in other.suffixes)
            assert recognised(file, formats) is first
            assert first is format or format.signature, "two formats have this suffix: one needs a signature"


@each_format
def test_read(tmp_path, format, formats, reader, writer):
    """Every sample is read as its own format."""
    assert samples_of(format), f"give {format.name} a sample in tests/formats/samples.py"
    for sample in samples_of(format):
        path = tmp_path / sample.file
        path.write_bytes(sample.content)
        found = reader(path)
        assert (found.format, found.path) == (format.name, str(path))
        assert found.problem.n in (3, 4)


@each_format
def test_written(tmp_path, format, formats, reader, writer):
    """What is written is recognised as the same format, and holds the same problem."""
    if format.write is None:
        return
    for sample in samples_of(format):
        (tmp_path / sample.file).write_bytes(sample.content)
        problem = reader(tmp_path / sample.file).problem
        path = tmp_path / f"again{format.suffixes[0]}"
        writer(problem, str(path))
        again = reader(path)
        assert again.format == format.name
        tsp, graph = ("cost", "scale"), ("offsets", "heads", "weights", "terminals", "scale")
        for name in tsp if formats is TSP_FORMATS else graph:
            assert str(getattr(again.problem, name)) == str(getattr(problem, name))


def test_a_new_format_is_one_record(tmp_path):
    """A format is recognised from its record alone."""
    new = Format("new", "New", (".new",), "begins with NEW", "no", lambda file: None, lambda text: text[:3] == b"NEW")
    assert recognised(opened(tmp_path, "x", b"NEW 1 2", new), (*GRAPH_FORMATS, new)) is new
    assert recognised(opened(tmp_path, "x.new", b"?", new), (*GRAPH_FORMATS, new)) is new
    assert recognised(opened(tmp_path, "x", b"?", new), (*GRAPH_FORMATS, new)) is None
    first = replace(new, suffixes=(".gr",))
    assert recognised(opened(tmp_path, "x.gr", b"?", new), (first, *GRAPH_FORMATS)) is first


def test_names_are_different():
    names = [format.name for format in (*TSP_FORMATS, *GRAPH_FORMATS)]
    assert len(set(names)) == len(names)
    assert all(suffix.startswith(".") and suffix.islower() for format, *_ in KINDS for suffix in format.suffixes)


def test_an_undirected_format_is_not_read_as_directed(tmp_path):
    for format in GRAPH_FORMATS:
        for sample in samples_of(format):
            (tmp_path / sample.file).write_bytes(sample.content)
            if format.directed == "no":
                with pytest.raises(InputError, match="is undirected; remove directed = true"):
                    read_graph(tmp_path / sample.file, directed=True)
                assert not read_graph(tmp_path / sample.file, directed=False).problem.directed
            elif sample.file != "pattern.mtx":  # symmetric, so that its format says what it is
                assert read_graph(tmp_path / sample.file, directed=True).problem.directed


def test_all_formats_are_documented():
    assert all(format.title in formats() for format, *_ in KINDS)


def test_a_cell_that_is_too_long(tmp_path):
    """A file that the csv module refuses is refused in one line."""
    (tmp_path / "m.csv").write_text('0,"' + "1" * 200_000 + '"\n1,0\n')
    with pytest.raises(InputError, match=r"m\.csv:1: not a row of a CSV table"):
        read(tmp_path / "m.csv")


TSP = {sample.file: sample for sample in samples() if sample.format in [format.name for format in TSP_FORMATS]}
GRAPH = {sample.file: sample for sample in samples() if sample.format in [format.name for format in GRAPH_FORMATS]}


def costs_of(tsp):
    return [[None if cost == NO_ARC else Fraction(cost) / tsp.scale for cost in row] for row in tsp.cost.tolist()]


def arcs_of(graph):
    """Return the weight of each arc by positions."""
    arcs = zip(graph.tails().tolist(), graph.heads.tolist(), graph.weights.tolist(), strict=True)
    return sorted((a, b, Fraction(repr(weight)) / graph.scale) for a, b, weight in arcs)


@pytest.mark.parametrize("file", TSP)
@pytest.mark.parametrize("suffix", [".tsp", ".npy", ".csv"])
def test_tours(tmp_path, file, suffix):
    """The costs stay the same in every format, or nothing is written."""
    (tmp_path / file).write_bytes(TSP[file].content)
    source, target = str(tmp_path / file), str(tmp_path / f"again{suffix}")
    before = with_names(read(source).problem)
    try:
        said = convert(source, target)
    except InputError as error:
        assert "no arc from city" in str(error) and not (tmp_path / f"again{suffix}").exists()
        return
    after = with_names(read(target).problem)
    assert costs_of(after) == costs_of(before)
    lost = said.partition("without ")[2].split(", ")
    assert ("names" in lost) == (after.city_names != before.city_names)
    assert ("labels" in lost) == (after.labels.tolist() != before.labels.tolist())
    if "coordinates" not in lost:
        assert np.array_equal(after.coordinates, before.coordinates)
        assert after.coordinates_kind == before.coordinates_kind


@pytest.mark.parametrize("file", GRAPH)
@pytest.mark.parametrize("suffix", [".gr", ".stp", ".graphml", ".edges", ".mtx", ".metis", ".gml", ".json"])
def test_graphs(tmp_path, file, suffix):
    """The arcs stay the same in every format, or nothing is written. These samples list vertices in their order."""
    (tmp_path / file).write_bytes(GRAPH[file].content)
    source, target = str(tmp_path / file), str(tmp_path / f"again{suffix}")
    before = read_graph(source).problem
    try:
        said = convert(source, target)
    except InputError as error:
        known = ("undirected graph with terminals", "has no edge", "cannot have", "a METIS graph")
        assert any(words in str(error) for words in known)
        assert not (tmp_path / f"again{suffix}").exists()
        return
    after = read_graph(target).problem
    assert arcs_of(after) == arcs_of(before)
    assert ("each edge became two arcs" in said) == (after.directed and not before.directed)
    assert ("each two arcs became an edge" in said) == (before.directed and not after.directed)
    lost = said.partition("without ")[2].split(", ")
    assert ("names" in lost) == (after.vertex_names != before.vertex_names)
    assert ("terminals" in lost) == (before.terminals is not None and after.terminals is None)


def test_names_survive_between_formats(tmp_path, repository):
    first, second, third = (str(tmp_path / name) for name in ("a.csv", "b.tsp", "c.tsp"))
    source = str(repository / "jobs" / "eu-capitals.tsp")
    assert convert(source, first) == f"{first}: eu-capitals, 27 cities, table of numbers; without labels, coordinates"
    assert convert(first, second).endswith("27 cities, TSPLIB; without labels")
    assert with_names(read(second).problem).city_names == with_names(read(source).problem).city_names
    assert convert(source, third) == f"{third}: eu-capitals, 27 cities, TSPLIB"


def test_the_kind_follows_from_the_suffix_or_the_content(tmp_path):
    (tmp_path / "p.csv").write_bytes(TSP["places.csv"].content)
    (tmp_path / "g.edges").write_bytes(GRAPH["t.edges"].content)
    assert "places" in convert(str(tmp_path / "p.csv"), str(tmp_path / "q.csv"))
    assert "edge list" in convert(str(tmp_path / "g.edges"), str(tmp_path / "h.csv"))
    assert read_graph(tmp_path / "h.csv").problem.n == 3
    with pytest.raises(InputError, match=r"is of another kind of problem \(places\) than the format of the target"):
        convert(str(tmp_path / "p.csv"), str(tmp_path / "q.gr"))
    with pytest.raises(InputError, match=r"hpcsolve writes no format with the suffix '\.xlsx'; it writes TSPLIB"):
        convert(str(tmp_path / "p.csv"), str(tmp_path / "q.xlsx"))


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("u,v,km,min\nA,B,3,4\nB,C,2.5,1\n")
    assert main(["convert", "a.csv", "b.graphml", "--weight", "km"]) == 0
    assert capsys.readouterr().out == "b.graphml: a, 3 vertices, GraphML\n"
    assert main(["convert", "a.csv", "b.graphml", "--weight", "km"]) == 2
    assert "b.graphml: the file exists; choose another one, or replace it with --overwrite" in capsys.readouterr().err
    assert main(["convert", "a.csv", "b.graphml", "--weight", "min", "--overwrite"]) == 0
    assert main(["convert", "a.csv", "c.stp", "--weight", "min"]) == 2 and not (tmp_path / "c.stp").exists()
    assert main(["convert", "a.csv", "none/b.gr", "--weight", "km"]) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.graphml"]

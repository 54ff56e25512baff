"""Converted instances have the same costs and arcs, and what a format cannot hold is named."""

from fractions import Fraction

import numpy as np
import pytest

from hpcsolve.cli import main
from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_graph
from hpcsolve.formats.convert import convert
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.formats.tsplib import with_names
from hpcsolve.problems.tsp import NO_ARC
from tests.formats.samples import samples

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

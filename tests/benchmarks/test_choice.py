"""The benchmark of the method by default: every kind of instance at its smallest, and what it says to be wrong."""

from dataclasses import replace

import pytest

from jobs.benchmarks.choice import __main__ as choice
from jobs.benchmarks.choice.instances import STEINLIB, TOURS, TREES, TSPLIB, Instance, made
from jobs.benchmarks.common.answers import WrongAnswerError
from tests.markdown import tables

GENERATED = ["uniform:5", "clustered:5", "symmetric:5", "asymmetric:5", "walk:5", "road:20:3", "power-law:20:3",
             "grid:16:3"]
RING = "TYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : MAN_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 1\n3 1 1\n4 1 0\nEOF\n"


def test_the_table(program, tmp_path):
    (tmp_path / "tsplib").mkdir()
    (tmp_path / "tsplib" / "ring.tsp").write_text(RING)
    (tmp_path / "tsplib" / "optima.csv").write_text("name,optimum,type\nring,4,TSP\n")
    done = program("choice", "uniform:5", "grid:16:3", "ring", "b01", "--seconds", "5")
    assert done.returncode == 0, done.stderr
    rows = tables(done.stdout)[0]
    assert [row["instance"] for row in rows] == ["uniform:5", "grid:16:3", "ring"]  # there is no file b01
    assert [row["lower bound"] for row in rows] == ["proven"] * 3
    assert (rows[2]["cost"], rows[2]["best known"], rows[2]["above"], rows[2]["limit s"]) == ("4", "4", "0.00 %", "8")
    assert "3 of 3 are proven." in done.stdout


@pytest.mark.parametrize("name", GENERATED)
def test_generated_instances(name, tmp_path):
    instance = made(name, tmp_path)
    assert instance is not None and instance.path.is_file()
    assert instance.is_tree == (name.count(":") == 2) and instance.best is None


def test_there_are_sixty():
    assert len({*TSPLIB, *STEINLIB, *TOURS, *TREES}) == 60


def test_what_is_worse_than_a_named_method_is_said(monkeypatch, tmp_path):
    default = choice.Found("held-karp", 11.0, False, 9.0, 14.1, 20.0)
    named = {"held-karp": replace(default, cost=10.0, proven=True), "ant-colony": replace(default, cost=12.0)}
    monkeypatch.setattr(choice, "solved", lambda path, seconds, words, folder: named[words[0]] if words else default)
    instance = Instance("some", tmp_path, "40 cities", False)
    row, remarks = choice.row_of(instance, 10.0, tmp_path)
    assert row[3:8] == ["11", "10 (here)", "10.00 %", "9", "bounds 10 (proven), ants 12"]
    assert remarks == ["some took 14.1 s, more than its limit.", "bounds found 10 of some, which is better.",
                       "bounds has proven some."]
    with pytest.raises(WrongAnswerError, match=r"some: 10 is less than the best known cost, 10\.5"):
        choice.row_of(replace(instance, best=10.5), 10.0, tmp_path)

"""What in an instance may be a mistake is said in one line, and what cannot be one is not."""

from dataclasses import replace

import numpy as np
import pytest

import hpcsolve
from hpcsolve.cli import main
from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.geographic import from_places
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.libraries import from_data_frame
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.tsp import batch_of, from_matrix

NORTH = [48.19, 48.2, 48.2, 48.21, 48.22, 48.23]
EAST = [16.36, 16.38, 16.37, 16.37, 16.35, 16.39]
TSPLIB = "NAME: t\nTYPE: TSP\n{}DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 0\n3 0 4\nEOF\n"
EXCHANGED = "note:   {}: {} km from the median place, from which nine of ten are within 3.65 km; are latitude and " \
            "longitude exchanged?"
"""The kilometres are those of the law of cosines, from 48.2, 16.37 to 16.37, 48.2 and to 48.23, 16.39."""


def with_costs(**changed):
    """Return three cities with costs of 1 to 6, some of them changed: `ab=-1`."""
    costs = np.arange(1, 10.0).reshape(3, 3)
    for arc, cost in changed.items():
        costs["abc".index(arc[0]), "abc".index(arc[1])] = cost
    return costs


def with_places(north=(), east=(), **keys):
    return from_places([*NORTH, *north], [*EAST, *east], **keys)


def negative(count, where):
    cure = "where there is no arc, write inf"
    return [f"note:   {count} below 0 (the first one from {where}) among positive ones; {cure}"]


CASES = {
    "positive": (lambda: from_matrix(with_costs()), []),
    "minus one": (lambda: from_matrix(with_costs(ac=-1, ca=-1)), negative("2 costs", "0 to 2, -1")),
    "decimals": (lambda: from_matrix(with_costs(ba=-0.5), city_names=list("xyz")),
                 negative("1 cost", "'y' to 'x', -0.5")),
    "all negative": (lambda: from_matrix(-with_costs()), []),
    "negative and zero": (lambda: from_matrix(np.minimum(with_costs(ab=-1), 0)), []),
    "batch": (lambda: batch_of([*map(from_matrix, (with_costs(), -with_costs(), with_costs(bc=-2)))], "b"),
              [f"{negative('1 cost', '1 to 2, -2')[0]} (instance 2)"]),
    "no edge written as 0": (lambda: from_matrix(np.diag(np.full(8, 2.5), 1) + np.diag(np.full(8, 2.5), -1)),
                             ["note:   56 of the 72 costs between cities are 0; where there is no arc, write inf"]),
    "a third are zeros": (lambda: from_matrix(np.ones((4, 4)) - np.eye(4, k=1) - np.eye(4, k=-3)),
                          ["note:   4 of the 12 costs between cities are 0; where there is no arc, write inf"]),
    "a fifth are zeros": (lambda: from_matrix(np.ones((6, 6)) - np.eye(6, k=1) - np.eye(6, k=-5)), []),
    "two cities at one place": (lambda: from_matrix(with_costs(ab=0, ba=0)), []),
    "a city that opens the path": (lambda: from_matrix(with_costs(ab=0, ba=0, ac=0, ca=0)), []),
    "places": (with_places, []),
    "latitude and longitude exchanged": (lambda: with_places([16.37], [48.2]), [EXCHANGED.format("7", 4571)]),
    "two of twenty": (lambda: from_places([*NORTH * 3, 16.37, 16.36], [*EAST * 3, 48.2, 48.19], labels=range(20),
                                          city_names=[f"P{i}" for i in range(20)]),
                      [EXCHANGED.format("'P19' and 1 more", 4572)]),
    "in a line": (lambda: from_places(np.arange(9), np.zeros(9)), []),
    "four": (lambda: from_places([48, 48, 48, 16], [16, 16.1, 16.2, 48]), []),
    "nearly all at one place": (lambda: from_places([*[48] * 11, 47], [16] * 12, city_names=list("abcdefghijkl")), []),
    "a plane": (lambda: in_a_plane(np.array([*[[x, 0] for x in range(10)], [900, 0]])),
                ["note:   10: 895 from the median place, from which nine of ten are within 5"]),
    "far vertices": (lambda: drawn_graph("degrees"), [EXCHANGED.format("6", 4571)]),
    "a graph that is drawn": (lambda: drawn_graph(""), []),
    "equal rows": (lambda: with_places([48.2], [16.37], city_names=["A", "B", "C", "D", "E", "F", "C"]),
                   ["note:   'C' is there twice, as the cities 3 and 7; a tour visits both"]),
    "one name": (lambda: with_places([48.3], [16.4], city_names=["A", "B", "C", "D", "E", "F", "C"]),
                 ["note:   the cities 3 and 7 are both called 'C', at different places; a tour visits both"]),
    "one house": (lambda: with_places([48.2], [16.37], city_names=["A", "B", "C", "D", "E", "F", "G"]), []),
    "without names": (lambda: with_places([48.2], [16.37], labels=range(10, 17)),
                      ["note:   the cities 12 and 16 are at the same place; a tour visits both"]),
    "generated": (lambda: random_matrix(9), []),
}


def in_a_plane(points):
    return replace(from_matrix(np.ones((len(points), len(points)))), coordinates=points.astype(float))


def drawn_graph(kind):
    points = np.array([[*NORTH, 16.37], [*EAST, 48.2]]).T
    return replace(from_edges([0] * 6, range(1, 7), coordinates=points), coordinates_kind=kind)


@pytest.mark.parametrize("case", CASES)
def test_an_instance_has_these_notes(case):
    problem, lines = CASES[case]
    assert list(notes_on(problem())) == lines


TIMES = "name,lat,lon,earliest,latest,Demand (kg)\nA,48,16,1,2,3\nB,48.1,16,1,2,3\nC,48,16.2,1,2,3\n"
NOT_USED = "note:   not used: the columns earliest, latest, Demand (kg); hpcsolve does not solve vehicle routing " \
           "(several vehicles, depots, demands, capacities)"


@pytest.mark.parametrize(("file", "content", "lines"), [
    ("t.csv", TIMES, [NOT_USED]),
    ("t.csv", "id,name,city,lat,lon,\n1,A,X,48,16,\n2,B,X,47,16,\n",
     ["note:   not used: the columns city, (without a title)"]),
    ("t.csv", "name,lat,lon\nA,48,16\nB,47,16\n", []),
    ("t.csv", "name,lat,lon,Open from,Open until\nA,48,16,8:00,9:00\nB,47,16,8:00,9:00\n",
     ["note:   not used: the columns Open from, Open until; time windows are the columns earliest and latest"]),
    ("t.csv", "name,lat,lon,from\nA,48,16,here\nB,47,16,there\n", ["note:   not used: the column from"]),
    ("t.tsp", TSPLIB.format(""), []),
    ("t.tsp", TSPLIB.format("DISTANCE: 9\nCOMMENT: a\nSCALE: 10\n"), ["note:   not used: the keywords DISTANCE, SCALE"],
     ),
])
def test_what_a_file_has_beside_the_problem(tmp_path, file, content, lines):
    (tmp_path / file).write_text(content)
    assert list(read(tmp_path / file).problem.notes) == lines


def test_columns_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"lat": [48, 47, 46], "lon": [16, 16, 17], "latest": [9, 9, 9]})
    assert from_data_frame(frame).notes == ("note:   not used: the column latest",)
    assert from_data_frame(frame[["lon", "lat"]]).notes == ()


@pytest.mark.parametrize(("key", "problem"), [("CAPACITY", "vehicle routing"), ("VEHICLES", "vehicle routing"),
                                              ("SALESMEN", "vehicle routing"), ("PRIZES", "prize collecting")])
def test_keywords_of_other_problems_are_refused(tmp_path, key, problem):
    (tmp_path / "t.tsp").write_text(TSPLIB.format(f"{key} : 2\n"))
    with pytest.raises(InputError, match=f"t.tsp:3: {key}: hpcsolve does not solve {problem}.*; remove it if"):
        read(tmp_path / "t.tsp")


def test_each_note_is_printed_once(tmp_path, monkeypatch, capsys):
    """It is in the log of a run and of an estimate, in the result and on its page, but not with --quiet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TIMES)
    assert main(["solve", "t.csv", "--device", "cpu", "--write-job", "t.toml"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "not used" in line] == [NOT_USED]
    assert hpcsolve.load("results/t.h5").notes == (NOT_USED,)
    assert main(["report", "results/t.h5", "-o", "t.html"]) == 0 and NOT_USED in (tmp_path / "t.html").read_text()
    capsys.readouterr()
    assert main(["run", "t.toml", "--device", "cpu", "--overwrite", "--quiet"]) == 0
    assert "not used" not in capsys.readouterr().out
    assert main(["estimate", "t.toml", "--device", "cpu"]) == 0 and capsys.readouterr().out.count("not used") == 1
    hpcsolve.solve("t.csv", device="cpu", quiet=False)
    assert capsys.readouterr().out.count(f"{NOT_USED}\n") == 1


def test_two_ranks_say_it_once(tmp_path, mpiexec):
    (tmp_path / "t.csv").write_text(TIMES)
    done = mpiexec(2, "solve", "t.csv", "--device", "cpu", "--log-dir", "logs", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count(NOT_USED) == 1
    logs = [(tmp_path / "logs" / f"rank-000{rank}.log").read_text().count(NOT_USED) for rank in (0, 1)]
    assert logs == [1, 0]


@pytest.mark.parametrize(("optimum", "line"), [
    (400, "note:   the tour costs 25 % less than optimum = 400 in the job, so that is not the optimum of these costs; "
          "correct or remove it"),
    (300, "gap:    0 % above the optimum"), (240, "gap:    25 % above the optimum"),
])
def test_an_answer_undercuts_what_the_job_calls_the_best(optimum, line, tmp_path, capsys):
    costs = np.full((6, 6), 50)
    found = hpcsolve.solve(costs, "ant-colony", device="cpu", optimum=optimum, stop={"iterations": 2}, quiet=False,
                           output=tmp_path / "t.h5")
    assert found.cost == 300
    assert [text for text in capsys.readouterr().out.splitlines() if "optimum" in text] == [line]
    assert main(["report", str(tmp_path / "t.h5"), "-o", str(tmp_path / "t.html")]) == 0
    how = "as good as" if optimum == 300 else "25 % above"
    said = line.split(":   ")[1] if optimum == 400 else f"it is {how} the optimum that the job names"
    assert said in (tmp_path / "t.html").read_text() and "it is -" not in (tmp_path / "t.html").read_text()

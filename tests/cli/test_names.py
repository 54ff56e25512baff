"""Names are taken wherever labels are, and come back in the answer."""

import subprocess
import sys

import pytest

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.tsp import from_matrix

CITIES = from_matrix([[0, 1, 2, 3], [4, 0, 6, 7], [8, 9, 0, 1], [3, 2, 1, 0]], city_names=("Oslo", "Rome", "Bonn", "3"))
TOWN = from_edges([0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 4, 5], name="town",
                  vertex_names=("Inn", "Mill", "St. Ann", "Well"))


@pytest.fixture
def run(tmp_path):
    def start(*arguments):
        command = [sys.executable, "-m", "hpcsolve", "run", *arguments, "--device", "cpu", "--overwrite"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return start


def test_ends_of_a_tour():
    """A city is the same by its name and by its label, and a number is a label."""
    named = hpcsolve.solve(CITIES, device="cpu", path="open", start="Bonn", end="Oslo")
    assert named.tour_labels[0] == "Bonn" and named.tour_labels[-1] == "Oslo"
    assert hpcsolve.solve(CITIES, device="cpu", path="open", start=2, end=0).tour.tolist() == named.tour.tolist()
    assert hpcsolve.solve(CITIES, device="cpu", start="3").tour_labels[0] == "3"
    with pytest.raises(InputError, match=r"held-karp\.start: matrix has no city 'Bon'; did you mean 'Bonn'"):
        hpcsolve.solve(CITIES, device="cpu", start="Bon")


def test_paths_by_name():
    found = hpcsolve.solve(TOWN, "shortest-paths", device="cpu", sources=["Mill", 3], targets=["Well"])
    assert found.sources == ["Mill", "Well"] and found.targets == ["Well"] and found.distance.tolist() == [[7], [0]]
    found = hpcsolve.solve(TOWN, "shortest-paths", device="cpu", queries=[["Inn", "St. Ann"], [1, "Well"]])
    assert found.path(0) == ["Inn", "Mill", "St. Ann"] and found.distance.tolist() == [5, 7]
    found = hpcsolve.solve(TOWN, "shortest-paths", device="cpu", sources=["Mill"], predecessors=True)
    assert found.path("Mill", "Inn") == ["Mill", "Inn"] == found.path(1, 0)


def test_a_tree_by_name():
    found = hpcsolve.solve(TOWN, "steiner-kmb", device="cpu", terminals=["Inn", 2])
    assert found.terminals == ["Inn", "St. Ann"] and found.tree == [("Inn", "Mill"), ("Mill", "St. Ann")]


def test_jobs_name_cities(tmp_path, run, repository):
    """In a job file, in --set, in the printed line and in the job of the result, which runs again."""
    (tmp_path / "job.toml").write_text(
        f'algorithm = "held-karp"\ninstance = "{repository}/jobs/old-town.csv"\noutput = "a.h5"\n'
        '[held-karp]\npath = "open"\nstart = "Station"\n')
    names = read(repository / "jobs" / "old-town.csv").problem.city_names
    done = run("job.toml", "--set", f"held-karp.start={names[2]}")
    assert done.returncode == 0 and f"tour:   {names[2]} - " in done.stdout, done.stdout + done.stderr
    again = run("a.h5", "--output", "b.h5")
    assert again.returncode == 0 and f"tour:   {names[2]} - " in again.stdout
    done = run("job.toml", "--set", f"held-karp.start={names[2][:-1]}")
    assert done.returncode == 2 and f"did you mean '{names[2]}'?" in done.stderr and done.stderr.count("\n") == 1


def test_a_file_of_queries_by_name(tmp_path):
    (tmp_path / "pairs.txt").write_text("Inn,St. Ann\n")
    found = hpcsolve.solve(TOWN, "shortest-paths", device="cpu", queries=str(tmp_path / "pairs.txt"))
    assert found.verified and found.path(0) == ["Inn", "Mill", "St. Ann"]


def test_a_named_weight(tmp_path):
    """A file's column is chosen by name. Without one, weights are never left out silently."""
    path = tmp_path / "roads.csv"
    path.write_text("u,v,km,min\nWien,Graz,191,120\nGraz,Linz,223,140\n")
    for weight, length in (("km", 414), ("min", 260)):
        found = hpcsolve.solve(path, "shortest-paths", device="cpu", queries=[["Wien", "Linz"]], weight=weight)
        assert found.distance.tolist() == [length] and found.path(0) == ["Wien", "Graz", "Linz"]
    with pytest.raises(InputError, match="is only for graphs of networkx; for a file leave weight out"):
        hpcsolve.solve(path, "shortest-paths", device="cpu", queries=[["Wien", "Linz"]], weight=None)

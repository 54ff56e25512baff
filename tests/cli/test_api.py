"""hpcsolve from Python: solve, load, tables. Names are taken wherever labels are, and come back."""

import subprocess
import sys

import networkx
import numpy as np
import pytest

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.problems.generate.tsp import random_matrix, uniform_tsp
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.tsp import from_matrix
from tests.oracles import brute_force


def test_a_matrix_is_solved():
    cost = np.random.default_rng(3).integers(1, 100, (7, 7))
    result = hpcsolve.solve(cost, device="cpu")
    assert result.cost == brute_force(cost)
    assert result.optimal and result.verified and not result.infeasible
    assert sorted(result.tour) == list(range(7)) and result.tour.dtype == np.int32
    assert result.tour_labels == result.tour.tolist()
    assert repr(result) == f"<held-karp: cost {result.cost}, optimal, 7 cities>"


def test_decimals_keep_their_unit():
    result = hpcsolve.solve([[0, 1.25, 9], [9, 0, 1.5], [1, 9, 0]], device="cpu")
    assert result.cost == 3.75
    assert result.contents.value("instance", "scale") == 100 and result.contents.value("solution", "cost") == 375


def test_an_instance_a_file_and_a_result(tmp_path, capfd):
    tsp = uniform_tsp(13, 2)
    result = hpcsolve.solve(tsp, device="cpu", path="open", start=3, output=tmp_path / "new" / "r.h5")
    again = hpcsolve.load(tmp_path / "new" / "r.h5")
    assert again.cost == result.cost and again.tour_labels == result.tour_labels and again.tour_labels[0] == 3
    assert 'path = "open"' in again.job and np.array_equal(again.coordinates, tsp.coordinates)
    assert capfd.readouterr() == ("", "")
    hpcsolve.solve(tsp, device="cpu", quiet=False)
    assert "proven optimal" in capfd.readouterr().out


def test_tables_are_dicts_of_arrays_of_one_length():
    result = hpcsolve.solve(random_matrix(18), device="cpu")
    for name in ("layers", "ranks"):
        table = result.table(name)
        assert len({len(values) for values in table.values()}) == 1
    assert result.table("layers")["states"].sum() > 0
    with pytest.raises(InputError, match="no table 'layer'; it has instance, solution, legs, layers, ranks"):
        result.table("layer")


def test_importing_is_light():
    code = "import sys, hpcsolve; print([m for m in ('numpy', 'h5py', 'msgspec', 'mpi4py') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30).stdout == "[]\n"
    assert hpcsolve.solve and hpcsolve.load and hpcsolve.join and hpcsolve.Result
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        hpcsolve.slove  # noqa: B018


def test_the_attribute_with_the_lengths_of_streets(test_device):
    streets = networkx.MultiDiGraph()
    for a, b, metres in ((1, 2, 80.0), (1, 2, 30.5), (2, 1, 99.0), (2, 3, 20.25), (1, 3, 60.0)):
        streets.add_edge(a, b, length=metres, osmid=7)
    found = hpcsolve.solve(streets, "shortest-paths", device=test_device, sources=[1], weight="length")
    assert found.distance.tolist() == [[0, 30.5, 50.75]]
    alike = hpcsolve.solve(streets, "shortest-paths", device=test_device, sources=[1], weight=None)
    assert alike.distance.tolist() == [[0, 1, 1]]
    for wrong in ([0.0, 1.7], [True], "1", [3], [-1], [2**70]):
        with pytest.raises(InputError, match=r"is not a position or a list of positions; positions are .* from 0 to 2"):
            alike.named(wrong)
    with pytest.raises(InputError, match=r"no edge has the attribute 'weight'; edges have length, osmid"):
        hpcsolve.solve(streets, "shortest-paths", device=test_device, sources=[1])
    with pytest.raises(InputError, match="is only for graphs of networkx; for a file leave weight out"):
        hpcsolve.solve("streets.edges", "shortest-paths", device=test_device, sources=[1], weight=None)
    with pytest.raises(InputError, match="undirected; if arcs stand for edges, set directed = false, which takes"):
        hpcsolve.solve(streets, "steiner-kmb", device=test_device, terminals=[1, 3], weight="length")
    for other in (networkx.to_scipy_sparse_array(streets, weight="length"), [[0, 1], [1, 0]]):
        with pytest.raises(InputError, match=r"weight= names an attribute|list is not a graph"):
            hpcsolve.solve(other, "shortest-paths", device=test_device, sources=[1], weight="length")


def test_numbers_of_numpy_are_taken():
    cost = np.random.default_rng(3).integers(1, 100, (7, 7))
    best = hpcsolve.solve(cost, device="cpu").cost
    found = hpcsolve.solve(cost, "ant-colony", device="cpu", seed=np.int64(2), stop={"target": np.float64(best)})
    assert found.cost == best


def test_a_text_is_no_list_of_terminals():
    with pytest.raises(InputError, match=r"terminals='AB': give a list, as in terminals=\['AB'\]"):
        hpcsolve.solve(np.zeros((2, 2)), "steiner-kmb", terminals="AB")


def test_lists_of_python_and_pandas_are_taken():
    path = networkx.path_graph(4)
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (pip install pandas)")
    found = [hpcsolve.solve(path, "shortest-paths", device="cpu", sources=sources, weight=None).distance.tolist()
             for sources in ([0, 1], (0, 1), range(2), {0, 1}, pandas.Series([0, 1]), np.array([0, 1]))]
    assert found == [[[0, 1, 2, 3], [1, 0, 1, 2]]] * 6


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

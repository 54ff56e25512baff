"""Reductions of tables in result files: the answer on any number of ranks, its check, and what is refused."""


import h5py
import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

import hpcsolve
from hpcsolve.answers.reductions import middle_of
from hpcsolve.errors import InputError
from hpcsolve.output.hdf5 import sealed
from hpcsolve.problems.generate import generate_graph
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.libraries import to_scipy

JOB = """\
algorithm = "shortest-paths"
instance = { generate = "road-graph", n = 500 }
output = "out.h5"
[shortest-paths]
sources = "all"
reduce = ["count", "nearest", "sum", "farthest"]
cutoffs = [2000, 9000.5]
k = 3
"""


def solution(file):
    """Return the bytes of all datasets of `/solution`."""
    with h5py.File(file) as opened:
        return {name: dataset[()].tobytes() for name, dataset in opened["solution"].items()}


def test_from_job_to_verified_file(tmp_path, hpcsolve, mpiexec):
    """Ranks and engines do not change the answer, `verify` searches again, and notices a change."""
    (tmp_path / "job.toml").write_text(JOB)
    run = ("run", "job.toml", "--device", "cpu", "--output")
    done = hpcsolve(*run, "one.h5", "--set", "shortest-paths.engine=near-far", cwd=tmp_path)
    assert done.returncode == 0 and "engine" not in done.stdout, done.stderr
    for ranks in (2, 3):
        done = mpiexec(ranks, *run, f"{ranks}.h5", cwd=tmp_path)
        assert done.returncode == 0 and "engine: phast" in done.stdout, done.stderr
        assert "check:  PASS (4 of 500 sources searched again on the host)" in done.stdout
        assert solution(tmp_path / f"{ranks}.h5") == solution(tmp_path / "one.h5")
    assert "radius: " in done.stdout and "closeness: " in done.stdout
    right = hpcsolve("verify", "2.h5", cwd=tmp_path)
    assert right.returncode == 0 and "PASS (100 of 500 sources searched again on the host)" in right.stdout
    csv = hpcsolve("export", "2.h5", "-o", "2.csv", cwd=tmp_path)
    heads = "source,reached,within_2000,within_9000,nearest_1,distance_1,nearest_2,distance_2,nearest_3,distance_3,"
    assert csv.returncode == 0, csv.stderr
    assert (tmp_path / "2.csv").read_text().startswith(heads + "sum,closeness,farthest,farthest_distance")


@pytest.mark.parametrize("name", ["reached", "sum", "closeness", "count", "nearest_target", "farthest_distance",
                                  "radius", "cutoff"])
def test_verify_finds_a_change(name, tmp_path):
    from hpcsolve import cli

    (tmp_path / "job.toml").write_text(JOB.replace("n = 500", "n = 40"))
    file = tmp_path / "out.h5"
    assert cli.main(["run", str(tmp_path / "job.toml"), "--device", "cpu", "--quiet", "--output", str(file)]) == 0
    image = h5py.h5f.open_file_image(file.read_bytes()[: -len(sealed(b""))], h5py.h5f.FILE_IMAGE_OPEN_RW)
    with h5py.File(image) as opened:
        values = opened["solution"][name]
        values[...] = values[()] + 1
        opened.flush()
        file.write_bytes(sealed(opened.id.get_file_image()))
    assert cli.main(["verify", str(file)]) == 1


def test_in_python_beside_scipy():
    """Closeness, eccentricity and centre, with targets too, and on a graph of two components."""
    problem = road_graph(300)
    rows = dijkstra(to_scipy(problem).astype(float))
    found = hpcsolve.solve(problem, "shortest-paths", sources="all", reduce=["sum", "farthest"])
    assert np.array_equal(found.closeness, 299 / rows.sum(axis=1))
    assert np.array_equal(found.eccentricity, rows.max(axis=1))
    centre = problem.labels[np.flatnonzero(rows.max(axis=1) == rows.max(axis=1).min())]
    assert found.centre == centre.tolist()
    keys = {"sources": [5, 9], "targets": [9, 7, 100], "reduce": ["sum", "nearest"], "k": 1}
    near = hpcsolve.solve(problem, "shortest-paths", **keys)
    assert near.closeness[1] == 2 / (rows[8, [6, 99]].sum()) and near.contents.value("solution", "radius") is None
    assert near.contents.value("solution", "nearest_target")[1].tolist() == [8]
    two = from_edges([0, 1, 3], [1, 2, 4], [5, 5, 90], n=6)
    split = hpcsolve.solve(two, "shortest-paths", sources="all", reduce=["sum", "farthest", "nearest"], k=2)
    assert split.contents.value("solution", "reached").tolist() == [3, 3, 3, 2, 2, 1]
    assert split.centre == two.labels[[1]].tolist() and split.contents.value("solution", "diameter") == 90
    assert split.closeness.tolist() == [2 / 15, 2 / 10, 2 / 15, 1 / 90, 1 / 90, 0]
    assert split.contents.value("solution", "nearest_target")[5].tolist() == [5, -1]
    assert middle_of(np.array([10, 5, 10, 90, 90, 0]), np.array([3, 3, 3, 2, 2, 1]))["radius"] == 5


ALL = {"sources": "all"}


@pytest.mark.parametrize(("keys", "words"), [
    ({"reduce": []}, "reduce: the list is empty"),
    ({"reduce": ["count"]}, '"count" needs the key cutoffs'),
    ({"reduce": ["nearest"]}, '"nearest" needs the key k'),
    ({"reduce": ["sum"], "k": 3}, 'k: only reduce = ["nearest"] uses it'),
    ({"cutoffs": [3.0]}, 'cutoffs: only reduce = ["count"] uses it'),
    ({"reduce": ["sum"], "predecessors": True}, "predecessors: reductions keep no row"),
    ({"reduce": ["sum"], "voronoi": True}, "voronoi: reductions keep no row"),
])
def test_what_contradicts_is_refused(keys, words):
    with pytest.raises(InputError) as raised:
        hpcsolve.solve(road_graph(20), "shortest-paths", sources="all", **keys)
    assert words in str(raised.value)


def test_sums_of_floats_and_too_large_sums_are_refused():
    floats = generate_graph("road-graph", n=30)
    floats = from_edges(floats.tails(), floats.heads, floats.weights / 3, n=30)
    with pytest.raises(InputError, match='"sum": the weights are floats'):
        hpcsolve.solve(floats, "shortest-paths", sources="all", reduce=["sum"])
    counts = hpcsolve.solve(floats, "shortest-paths", sources="all", reduce=["count", "farthest"], cutoffs=[1e9])
    assert counts.contents.value("solution", "count").tolist() == 30 * [[30]]
    far = from_edges(np.arange(9), np.arange(1, 10), np.full(9, 2**60, np.uint64), n=10)
    with pytest.raises(InputError, match="sum of distances exceeds 2"):
        hpcsolve.solve(far, "shortest-paths", sources="all", reduce=["sum"])
    assert hpcsolve.solve(far, "shortest-paths", sources="all", reduce=["farthest"]).eccentricity[0] == 9 * 2.0**60

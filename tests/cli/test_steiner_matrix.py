"""The table of distances between terminals is exact and the same for any ranks, and errors in it are found."""

import h5py
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.problems.generate.graph import power_law_steiner
from hpcsolve.problems.graph import from_edges
from tests.cli.lines import error_line
from tests.cli.stored import solution
from tests.oracles import least_distances

KEYS = {"n": 120, "edges": 300, "terminals": 40, "low": 0, "high": 3}
"""Keys of a graph with edges of weight 0 between terminals, some of which the reductions merge."""
INSTANCE = '{ generate = "power-law-steiner", ' + ", ".join(f"{key} = {value}" for key, value in KEYS.items()) + " }"
JOB = (
    f'algorithm = "steiner-kmb"\ninstance = {INSTANCE}\noutput = "out.h5"\n[steiner-kmb]\nmode = "kmb"\nmatrix = true\n'
)


def expected(graph):
    """Return the table by the oracle."""
    return [[least_distances(graph, [a])[b] for b in graph.terminals.tolist()] for a in graph.terminals.tolist()]


@pytest.fixture
def result(tmp_path, hpcsolve, test_device):
    """Return the result file of a run on one rank."""
    (tmp_path / "job.toml").write_text(JOB)
    done = hpcsolve("run", "job.toml", "--device", test_device, cwd=tmp_path, timeout=200)
    assert done.returncode == 0, done.stderr
    return tmp_path / "out.h5"


@pytest.mark.slow
def test_the_matrix_is_exact_and_the_same_for_any_ranks(result, mpiexec, hpcsolve, test_device):
    graph = power_law_steiner(**KEYS)
    with h5py.File(result) as file:
        table = file["solution/matrix"]
        assert table.compression == "gzip" and table[:].tolist() == expected(graph)
        assert file["instance/terminal"][:].tolist() == graph.terminals.tolist()
    assert sum(d == 0 for row in expected(graph) for d in row) > len(graph.terminals), "terminals in one place"
    first = solution(result)
    for ranks, engine in ((2, "tile"), (3, "near-far"), (4, "p-pull")):
        more = ("--set", f"steiner-kmb.engine={engine}", "--set", "share-gpu=true", "--device", test_device)
        done = mpiexec(ranks, "run", "job.toml", *more, "--output", f"{ranks}.h5", cwd=result.parent, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        assert solution(result.parent / f"{ranks}.h5") == first
    verified = hpcsolve("verify", result)
    assert verified.returncode == 0 and "every row of the matrix" in verified.stdout + verified.stderr


def test_an_altered_distance_is_found(result, hpcsolve):
    with h5py.File(result, "r+") as file:
        file["solution/matrix"][7, 9] += 1
    verified = hpcsolve("verify", result)
    assert verified.returncode == 1 and "row 7" in verified.stdout + verified.stderr


def test_a_matrix_that_is_not_there_is_missed(result, hpcsolve):
    with h5py.File(result, "r+") as file:
        del file["solution/matrix"]
    verified = hpcsolve("verify", result)
    assert verified.returncode == 1 and "matrix" in verified.stdout + verified.stderr


@pytest.mark.parametrize("mode", ["fast", "best"])
def test_other_modes_make_none(mode, tmp_path, hpcsolve):
    (tmp_path / "job.toml").write_text(JOB)
    done = hpcsolve("run", "job.toml", "--set", f"steiner-kmb.mode={mode}", cwd=tmp_path)
    assert done.returncode == 2 and "steiner-kmb.matrix" in error_line(done)
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize("terminals", [[3], [3, 0], [1, 0]], ids=["one", "two", "one place"])
def test_few_terminals(terminals, test_device):
    graph = from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [0, 2, 3, 4, 5], terminals=terminals)
    found = package.solve(graph, algorithm="steiner-kmb", device=test_device, mode="kmb", matrix=True)
    assert np.asarray(found.contents.value("solution", "matrix")).tolist() == expected(graph)

"""Ant colonies on the command line: ranks, GPUs, what is kept, stops, and what is refused."""

import pytest

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate.tsp import random_matrix
from tests.cli.seen import solution

JOB = """algorithm = "ant-colony"
instance = { generate = "clustered-tsp", n = 70, seed = 3 }
output = "out.h5"
[ant-colony]
ants = 5
colonies = 6
optimum = 2000
[stop]
iterations = 6
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_a_result_of_a_time_that_hashed_all_costs_is_verified(folder, hpcsolve, test_device, monkeypatch):
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=folder).returncode == 0
    monkeypatch.setattr("hpcsolve.runner.kinds.MOST_HASHED", 69)
    assert "PASS" in hpcsolve("verify", "out.h5", cwd=folder).stdout
    monkeypatch.setattr("hpcsolve.runner.kinds.MOST_PAIRED", 69)
    assert "another SHA-256" in hpcsolve("verify", "out.h5", cwd=folder).stderr


def test_colonies_and_their_history_agree_with_the_answer(folder, hpcsolve, test_device):
    run = ("run", "job.toml", "--device", test_device)
    assert hpcsolve(*run, cwd=folder).returncode == 0
    contents = read_result(folder / "out.h5")
    assert contents.value("solution", "optimal") == False  # noqa: E712
    assert contents.attributes["cost"] == contents.value("colonies", "cost").min()
    assert contents.value("history", "best")[-1] == contents.attributes["cost"]
    assert contents.value("history", "step").tolist() == list(range(6))
    assert (contents.value("colonies", "iteration") < 6).all() and contents.value("colonies", "iterations") == 6
    other = hpcsolve(*run, "--set", "seed=2", "--output", "other.h5", cwd=folder)
    assert other.returncode == 0 and solution(folder / "other.h5") != solution(folder / "out.h5")


def test_in_python():
    cost = random_matrix(12, seed=1).cost
    found = hpcsolve.solve(cost, "ant-colony", device="cpu", seed=3, stop={"iterations": 20}, colonies=2)
    assert found.cost == hpcsolve.solve(cost, device="cpu").cost
    refused = 'held-karp has no partial answer with method = "lattice", so it cannot be stopped early'
    with pytest.raises(InputError, match=refused):
        hpcsolve.solve(cost, device="cpu", method="lattice", stop={"seconds": 1.0})


@pytest.mark.slow
def test_a_stopped_run_writes_a_whole_file(folder, hpcsolve, mpiexec, test_device):
    run = ("run", "job.toml", "--device", test_device, "--set", "stop.iterations=1000000", "--set")
    for stop in ("stop.seconds=1.0", "stop.stagnation=20", "stop.target=2800"):
        done = mpiexec(2, *run, stop, "--overwrite", "--set", "share-gpu=true", cwd=folder, timeout=120)
        assert done.returncode == 0, done.stderr
        contents = read_result(folder / "out.h5")
        assert contents.attributes["complete"] and contents.attributes["verified"]
        assert contents.value("colonies", "iterations") < 1000000
        assert "PASS" in hpcsolve("verify", "out.h5", cwd=folder).stdout


@pytest.mark.slow
def test_progress_tells_best_mean_pace_and_what_is_left(folder, hpcsolve, test_device):
    seconds = ("--set", "stop.seconds=6.5", "--set", "stop.iterations=4000000", "--set", "ant-colony.bound=false")
    done = hpcsolve("run", "job.toml", "--device", test_device, *seconds, cwd=folder)
    line = next(line for line in done.stdout.splitlines() if "to go" in line)
    assert "% after" in line and ": best " in line and ", mean " in line and " iterations a second" in line


def test_an_estimate(folder, hpcsolve, test_device):
    done = hpcsolve("estimate", "job.toml", "-n", "8", "--device", test_device, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = {line[:23].strip(): line[24:] for line in done.stdout.splitlines()}
    assert lines["colonies"] == "6" and lines["ranks without work"] == "2"
    assert "largest that fits" in lines["fits"] and "one iteration" in lines["work"]

"""The commands run, verify, estimate, generate and tree, and killed runs."""

import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from hpcsolve import solve
from hpcsolve.output.reader import read_result
from tests.cli.seen import error_line
from tests.processes import signalled

JOB = 'algorithm = "held-karp"\ninstance = {}\noutput = "sub/out.h5"\n'
GENERATED = '{ generate = "random-matrix", n = 12, seed = 5 }'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "job.toml").write_text(JOB.format(GENERATED))
    return tmp_path


def test_the_log_says_what_matters(run, folder, test_device):
    lines = [line for line in run(folder).stdout.splitlines() if not line.startswith("build:")]
    parts, shares = (["parts:  on the GPU", "GPU:    computed"] if test_device == "cuda" else ["", ""])
    starts = ["job:    job.toml", "read:   ", "hpcsolve 0.", "ranks:  1 (", "device: every rank: ", parts, "memory: "]
    starts = [*filter(None, [*starts, "tour:   ", "cost:   ", "check:  PASS", "time:   ", shares, "file:   "])]
    assert [line.startswith(start) for line, start in zip(lines, starts, strict=True)] == [True] * len(starts)


def test_no_tour_is_an_answer(hpcsolve, run, folder):
    inf = float("inf")
    np.save(folder / "apart.npy", np.array([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, 1], [inf, inf, 1, 0]]))
    (folder / "job.toml").write_text(JOB.format('"apart.npy"'))
    for _ in range(2):
        done = run(folder)
        assert done.returncode == 0, done.stderr
        assert "there is none, proven" in done.stdout and "NOT CHECKED" in done.stdout
    contents = read_result(folder / "sub" / "out.h5")
    assert contents.value("solution", "infeasible") == 1 and "cost" not in contents.attributes
    assert hpcsolve("verify", "sub/out.h5", cwd=folder).returncode == 0


# Neither can end before the signal comes. Ant colonies would write their best tour (test_interrupted.py).
ANTS = ["--set", "algorithm=ant-colony", "--set", "ant-colony.bound=false", "--set", "stop.seconds=50"]
EXACT = ["--set", "instance.n=26"]


KILLS = [(signal.SIGKILL, ANTS), (signal.SIGKILL, EXACT), (signal.SIGTERM, EXACT), (signal.SIGINT, EXACT)]


@pytest.mark.parametrize(("number", "job"), KILLS)
def test_a_kill_leaves_the_old_output(number, job, folder, test_device):
    (folder / "sub").mkdir()
    (folder / "sub" / "out.h5").write_bytes(b"old")
    command = [sys.executable, "-m", "hpcsolve", "run", "job.toml", "--device", test_device, "--overwrite", *job]
    assert signalled(command, folder, (0.0, number))[0] != 0
    assert (folder / "sub" / "out.h5").read_bytes() == b"old"
    # A search that had begun leaves its checkpoints too.
    assert set(os.listdir(folder / "sub")) - {"out.h5.checkpoint"} == {"out.h5"}


def test_estimate(hpcsolve, folder, test_device):
    estimate = ("estimate", "job.toml", "--device", test_device, "--set", "instance.n=30",
                "--set", "held-karp.method=lattice", "-n", "2", "--memory")
    fits = hpcsolve(*estimate, "80G", cwd=folder)
    assert fits.returncode == 0, fits.stderr
    assert "fits                    yes: 80 GiB per rank" in fits.stdout and "min-add" in fits.stdout
    tight = hpcsolve(*estimate, "64M", cwd=folder)
    assert tight.returncode == 3 and "fits                    no: 64 MiB per rank" in tight.stdout
    assert error_line(tight)
    assert os.listdir(folder) == ["job.toml"]


def test_what_is_generated_can_be_solved(hpcsolve, run, folder):
    for name in ("points.tsp", "matrix.npy"):
        keys = ("--n", 9, "--seed", 3, "--set", "clusters=2")
        made = hpcsolve("generate", "clustered-tsp", *keys, "-o", name, cwd=folder)
        assert made.returncode == 0, made.stderr
        (folder / "job.toml").write_text(JOB.format(f'"{name}"').replace("out.h5", f"{name}.h5"))
        assert run(folder).returncode == 0
    costs = {read_result(path).attributes["cost"] for path in (folder / "sub").iterdir()}
    assert len(costs) == 1
    again = hpcsolve("generate", "uniform-tsp", "--n", 9, "-o", "points.tsp", cwd=folder)
    assert again.returncode == 2 and "--overwrite" in error_line(again)


def test_standard_input(folder, test_device):
    command = [sys.executable, "-m", "hpcsolve", "run", "job.toml", "--device", test_device, "--set", "instance=-"]
    matrix = "0 1 9\n9 0 1\n1 9 0\n"
    done = subprocess.run(command, cwd=folder, input=matrix, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "cost:   3, proven optimal" in done.stdout


@pytest.fixture
def results(tmp_path):
    """Return a results with a good result, a wrong one, a damaged one and a file that is no result."""
    np.savetxt(tmp_path / "costs.csv", np.random.default_rng(1).integers(1, 99, (6, 6)), "%d", ",")
    for name in ("good", "good2", "wrong", "damaged"):
        solve(tmp_path / "costs.csv", device="cpu", threads=1, output=tmp_path / f"{name}.h5")
    with h5py.File(tmp_path / "wrong.h5", "r+") as file:
        file["solution/tour"][3] = file["solution/tour"][4]
    with open(tmp_path / "damaged.h5", "r+b") as file:
        file.seek(4000)
        file.write(b"x")
    (tmp_path / "text.h5").write_text("text")
    return tmp_path


@pytest.mark.parametrize(("names", "code"), [
    (("good", "good2"), 0), (("good", "wrong"), 1), (("wrong", "text", "good"), 2),
    (("none", "damaged", "text", "wrong", "good"), 5),
])
def test_a_line_a_file_and_the_greatest_exit_code(names, code, results, hpcsolve):
    said = {"good": "PASS (every city once", "good2": "PASS (", "wrong": "FAIL (", "text": "ERROR (is not an HDF5 file",
            "damaged": "ERROR (damaged: ", "none": "ERROR (cannot be read: No such file"}
    done = hpcsolve("verify", *(f"{name}.h5" for name in names), cwd=results)
    assert done.returncode == code and done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(names)
    assert all(line.startswith(f"{name}.h5: {said[name]}") for name, line in zip(names, lines))


def test_an_instance_belongs_to_one_file(results, hpcsolve):
    (results / "costs.csv").rename(results / "moved.csv")
    assert hpcsolve("verify", "good.h5", "--instance", "moved.csv", cwd=results).returncode == 0
    both = hpcsolve("verify", "good.h5", "good2.h5", "--instance", "moved.csv", cwd=results)
    assert both.returncode == 2 and "--instance goes with one RESULT.h5" in error_line(both)
    unnamed = hpcsolve("verify", "good.h5", "good2.h5", cwd=results)
    assert unnamed.returncode == 2 and unnamed.stdout.count("if it has moved, give it with --instance") == 2

"""Mode exact on the command line: the same bytes on any ranks, estimate, stops, verify --again, and Python."""

import re

import h5py
import pytest

import hpcsolve as package
from hpcsolve.formats import write_steinlib
from tests.cli.stored import solution
from tests.steiner_oracle import hypercube

JOB = """\
algorithm = "steiner-kmb"
instance = "cube.stp"
output = "out.h5"
threads = 1
[steiner-kmb]
mode = "exact"
shakes = 0
"""
OPTIMUM = 1500


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a job whose program has six sizes of sets."""
    write_steinlib(hypercube(5, 12, high=100), str(tmp_path / "cube.stp"))
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


@pytest.mark.slow
def test_the_bytes_are_the_same_on_any_ranks_and_a_second_search_agrees(folder, mpiexec, hpcsolve, test_device):
    runs = {}
    for ranks, threads in ((1, 1), (2, 2), (3, 1), (4, 1)):
        options = ("--device", test_device, "--set", f"threads={threads}", "--set", "share-gpu=true", "--overwrite")
        start = hpcsolve if ranks == 1 else lambda *words, **more: mpiexec(ranks, *words, **more)  # noqa: B023
        done = start("run", "job.toml", *options, cwd=folder, timeout=200)
        assert done.returncode == 0 and "proven optimal: lower bound" in done.stdout, done.stdout + done.stderr
        assert re.search("^proof:  [0-9]+ states of [0-9]+ sets of up to 6 terminals$", done.stdout, re.MULTILINE)
        runs[ranks] = solution(folder / "out.h5")
    assert all(found == runs[1] for found in runs.values())
    plain = hpcsolve("verify", "out.h5", cwd=folder)
    assert plain.returncode == 0 and "hpcsolve verify --again searches again" in plain.stdout
    again = hpcsolve("verify", "--again", "out.h5", cwd=folder, timeout=200)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "a second search with other roots and without two of the reductions found no lighter tree" in again.stdout


def test_estimate_names_the_cap_and_a_stop_says_what_it_left(folder, hpcsolve):
    said = hpcsolve("estimate", "job.toml", cwd=folder)
    assert "up to [stop] memory, or else 80% of the free memory" in said.stdout and "cannot be foreseen" in said.stdout
    done = hpcsolve("run", "job.toml", "--device", "cpu", "--set", "stop.memory=100_000", cwd=folder)
    assert done.returncode == 0 and "stopped: memory: 100000 bytes reached at sets of" in done.stdout, done.stdout
    assert "\nsearch: " in done.stdout and "\nproof: " not in done.stdout, done.stdout
    with h5py.File(folder / "out.h5") as file:
        assert file["solution/optimal"][()] == 0 and file.attrs["complete"] == 1
        assert file["solution/lower_bound"][()] <= OPTIMUM <= file["solution/cost"][()]
    again = hpcsolve("verify", "--again", "out.h5", cwd=folder)
    assert again.returncode == 0 and "no second search was made" in again.stdout


def test_mode_exact_in_python(folder):
    found = package.solve(folder / "cube.stp", "steiner-kmb", mode="exact", device="cpu", threads=1)
    assert (found.cost, found.lower_bound, found.verified) == (OPTIMUM, OPTIMUM, True)

"""Whatever happens to one of four ranks, the job is gone within 10 s, fails, leaves no complete result, and can go on.

`make test-faults` tries every fault on two ranks under each MPI, `make test` a few of them.
"""

import os
import time

import pytest

from hpcsolve.output.reader import read_result
from tests.cli.seen import solution
from tests.faults.conftest import ALL_FAULTS, require
from tests.faults.rank_faults import FAULTS, HANG_TIMEOUT, STRUCK
from tests.processes import SECONDS_TO_BE_GONE, processes

JOB = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 50, seed = 1 }
output = "out.h5"
threads = 1
[ant-colony]
bound = false
colonies = 4
[stop]
iterations = 50
"""
SOME = [("os._exit(3)", 1, "MPICH"), ("SIGKILL", 1, "Open MPI"), ("SIGSTOP", 1, "Open MPI")]
CASES = [(fault, rank, mpi) for fault in FAULTS for rank in (0, 2) for mpi in ("MPICH", "Open MPI")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory, hpcsolve):
    """Return `/solution` of a run that was left alone."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "job.toml").write_text(JOB)
    done = hpcsolve("run", "job.toml", "--device", "cpu", cwd=folder, timeout=200)
    assert done.returncode == 0, done.stderr
    return solution(folder / "out.h5")


@pytest.mark.parametrize(("fault", "rank", "name"), CASES if ALL_FAULTS else SOME)
def test_one_of_four_ranks_fails(fault, rank, name, mpis, expected, tmp_path, hpcsolve):
    """A rank that is stopped is given up after the time-out of the watchdog, and only then must the job be gone."""
    (tmp_path / "job.toml").write_text(JOB)
    run = ("run", "job.toml", "--device", "cpu")
    watched = ("--checkpoint-interval", "0", "--hang-timeout", HANG_TIMEOUT)
    done = require(mpis, name).start(4, "-m", "tests.faults.rank_faults", fault, rank, *run, *map(str, watched),
                                     cwd=tmp_path)
    patience = SECONDS_TO_BE_GONE + (HANG_TIMEOUT if fault == "SIGSTOP" else 0)
    took = seconds_until_gone(tmp_path, float((tmp_path / STRUCK).read_text()), patience)
    print(f"{fault}, rank {rank} of 4, {name}: gone after {took:.1f} s, exit code {done.returncode}")
    own = 0 if (fault, name) == ("os._exit(0)", "MPICH") else None  # which MPICH's launcher returns in one run of ten
    assert (done.returncode not in (0, 75) or done.returncode == own) and FAULTS[fault].line in done.stderr
    assert FAULTS[fault].code in (None, done.returncode), done.stderr
    assert complete_results(tmp_path) == []
    resumed = hpcsolve(*run, cwd=tmp_path, timeout=100)
    assert resumed.returncode == 0 and "resume: after " in resumed.stdout, resumed.stdout + resumed.stderr
    assert solution(tmp_path / "out.h5") == expected
    assert sorted(os.listdir(tmp_path)) == ["job.toml", "out.h5", STRUCK]


def seconds_until_gone(folder, struck, patience):
    """Return how many seconds after a moment no process works in a folder any more, or fail if they are too many."""
    while left := processes(folder):
        assert time.monotonic() - struck < patience, f"these processes live on: {left}"
        time.sleep(0.05)
    assert time.monotonic() - struck < patience
    return time.monotonic() - struck


def complete_results(folder):
    """Return the names of the result files that are marked as complete."""
    return [path.name for path in folder.glob("*.h5") if read_result(path).attributes["complete"]]

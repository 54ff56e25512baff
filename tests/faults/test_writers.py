"""Two runs of one job at a time, on a file system without locks: one gives the answer, and nothing is mixed up."""

import os
import subprocess
import sys

from tests.checkpoint.test_kills import solution

JOB = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 50, seed = 1 }
output = "out.h5"
threads = 1
[stop]
iterations = 150
"""
WITHOUT_LOCKS = {"HDF5_USE_FILE_LOCKING": "FALSE"}


def test_two_writers(tmp_path, hpcsolve):
    """The later one takes the lease. The earlier one ends with exit code 4, unless it was done before."""
    (tmp_path / "job.toml").write_text(JOB)
    run = ("run", "job.toml", "--device", "cpu")
    alone = hpcsolve(*run, "--output", "alone.h5", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    expected = solution(tmp_path / "alone.h5")
    (tmp_path / "alone.h5").unlink()
    command = [sys.executable, "-m", "hpcsolve", *run, "--checkpoint-interval", "0"]
    both = [subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **WITHOUT_LOCKS}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=100)[1] for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes and set(codes) <= {0, 4}, errors
    for code, said in zip(codes, errors):
        assert code == 0 or ("lease" in said or "has taken over" in said), said
    assert solution(tmp_path / "out.h5") == expected
    assert sorted(os.listdir(tmp_path)) == ["job.toml", "out.h5"]
    assert hpcsolve("verify", "out.h5", cwd=tmp_path).returncode == 0

"""The launcher of one MPI starts ranks whose library is another one: a line says so, and nothing is run N times."""

import os

import pytest

from tests.conftest import run
from tests.faults.conftest import require

JOB = 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 8, seed = 1 }\noutput = "out.h5"\n'


@pytest.mark.parametrize(("launcher", "library"), [("MPICH", "Open MPI"), ("Open MPI", "MPICH")])
def test_mixed_mpi(launcher, library, mpis, tmp_path):
    (tmp_path / "job.toml").write_text(JOB)
    python = require(mpis, library).python
    command = require(mpis, launcher).command(3, "-m", "hpcsolve", "run", "job.toml", "--device", "cpu", python=python)
    done = run(command, timeout=60, cwd=tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("hpcsolve: error: ")]
    assert len(lines) == 1 and library in lines[0] and "use" in lines[0], done.stderr
    assert os.listdir(tmp_path) == ["job.toml"]

"""One of four ranks on two hosts fails in a shipped script: the job ends soon, with an error, and without a result."""

from __future__ import annotations

import time

import pytest

from tests.checkpoint.test_kills import processes
from tests.slurm import cluster as hosts
from tests.slurm.conftest import Cluster, Mpi
from tests.slurm.failing import FAULTS, STAMP
from tests.slurm.jobs import ANTS

SECONDS_TO_BE_GONE = 10.0
HANG_TIMEOUT = 4
"""For the rank that is stopped, which nobody else notices."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rank_fails(cluster: Cluster, mpi: Mpi, fault: str) -> None:
    (cluster.folder / "ants.toml").write_text(ANTS)
    script = cluster.script("multi_node", 2, mpi=mpi)
    program = f"python -m tests.slurm.failing '{fault}' run \"$@\" --hang-timeout={HANG_TIMEOUT}"
    text, count = script.read_text(), script.read_text().count('hpcsolve run "$@"')
    assert count == 1
    script.write_text(text.replace('hpcsolve run "$@"', program))
    job = cluster.submit("--no-requeue", script, "ants.toml", "--output", "result.h5")
    facts = cluster.end_of(job)
    hosts.wait_until(lambda: not processes(cluster.folder), "processes live on", SECONDS_TO_BE_GONE)
    seconds = time.time() - float((cluster.folder / STAMP).read_text())
    cluster.saw(f"gone after {seconds:.1f} s, exit code {facts['ExitCode']}")
    assert facts["JobState"] == "FAILED" and facts["ExitCode"] != "0:0", cluster.log(job)
    assert seconds < SECONDS_TO_BE_GONE
    assert not (cluster.folder / "result.h5").exists()

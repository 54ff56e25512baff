"""One of four ranks on two hosts fails in a shipped script: the job ends soon, with an error, and without a result."""

import pytest

from tests.faults.rank_faults import FAULTS, HANG_TIMEOUT, STRUCK
from tests.faults.test_ranks import complete_results, seconds_until_gone
from tests.processes import SECONDS_TO_BE_GONE
from tests.slurm.scripts import ANTS

RANK = 2
"""On the second host."""
WATCHED = ("SIGSTOP", "os._exit(0)")
"""Faults that no kind of srun, or not every one, ends a job for: `--hang-timeout` does."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rank_fails(cluster, mpi, fault):
    """Under PMI2 the time of a killed rank has Slurm's KillWait in it, which is 5 s on this cluster."""
    (cluster.folder / "ants.toml").write_text(ANTS)
    script = cluster.script("multi_node", 2, mpi=mpi)
    text, program = script.read_text(), f"python -m tests.faults.rank_faults '{fault}' {RANK} run \"$@\""
    assert text.count('hpcsolve run "$@"') == 1
    script.write_text(text.replace('hpcsolve run "$@"', program))
    watch = [f"--hang-timeout={HANG_TIMEOUT}"] if fault in WATCHED else []
    job = cluster.submit("--no-requeue", script, "ants.toml", "--checkpoint-interval=0", "--output=result.h5", *watch)
    facts = cluster.end_of(job)
    patience = SECONDS_TO_BE_GONE + (HANG_TIMEOUT if watch else 0)
    took = seconds_until_gone(cluster.folder, float((cluster.folder / STRUCK).read_text()), patience)
    cluster.saw(f"gone after {took:.1f} s, exit code {facts['ExitCode']}")
    assert facts["JobState"] == "FAILED" and FAULTS[fault].line in cluster.log(job)
    assert facts["ExitCode"] not in ("0:0", "75:0")
    assert complete_results(cluster.folder) == []

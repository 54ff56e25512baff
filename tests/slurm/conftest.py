"""The emulated cluster, started once for all tests, and a class with which they use it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.frame.source import REPOSITORY
from tests.slurm import cluster as hosts
from tests.slurm.scripts import edited

ASKED_FOR = "HPCSOLVE_TEST_SLURM"
"""`make test-slurm` sets this variable. The other tests leave the machine's network alone."""


@dataclass(frozen=True)
class Cluster:
    """The cluster, with a folder for the files of one test, which all hosts share.

    Attributes
    ----------
    state
        The folder of the cluster.
    folder
        The current directory of commands and jobs.
    setup
        What a user would write into `setup()` of a script.
    """

    state: Path
    folder: Path
    setup: str

    def run(self, *command: str | Path, check: bool = True, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """Run a command on the controller to its end."""
        line = ["env", f"--chdir={self.folder}", *map(str, command)]
        return hosts.on_host(hosts.CONTROLLER, line, self.state, check=check, timeout=timeout)

    def script(self, shipped: str, ranks: int, gpus: int = 0) -> Path:
        """Write `slurm/{shipped}.sbatch`, edited as a user would, and return its path."""
        path = self.folder / f"{shipped}.sbatch"
        path.write_text(edited(REPOSITORY / "slurm" / path.name, ranks, "--time=10", self.setup, gpus))
        return path

    def submit(self, *arguments: str | Path) -> str:
        """Submit a job, and return its number."""
        return self.run("sbatch", "--parsable", *arguments).stdout.strip()

    def log(self, job: str) -> str:
        """Return what the job has printed until now."""
        return "".join(path.read_text(errors="replace") for path in self.folder.glob(f"*-{job}.log"))

    def facts(self, job: str) -> dict[str, str]:
        """Return what `scontrol show job` says of a job or an element, such as `JobState`."""
        return dict(re.findall(r"(\w+)=(\S*)", self.run("scontrol", "show", "job", job).stdout))

    def wait_for_log(self, job: str, words: str, times: int = 1, seconds: float = 120) -> None:
        """Return when the job has printed some words so many times."""
        hosts.wait_until(lambda: self.log(job).count(words) >= times, f"{words} not in {self.log(job)}", seconds)

    def end_of(self, job: str, seconds: float = 180) -> dict[str, str]:
        """Wait for the end of a job, and return its facts."""
        over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
        hosts.wait_until(lambda: self.facts(job)["JobState"] in over, f"job {job} does not end", seconds)
        return self.facts(job)


@pytest.fixture(scope="session")
def cluster_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start the cluster and return its folder, or skip the test with the reason."""
    if not os.environ.get(ASKED_FOR):
        pytest.skip("starts a Slurm cluster: only in make test-slurm")
    reason = hosts.why_not()
    if reason:
        pytest.skip(f"no Slurm cluster on this machine: {reason}")
    folder = tmp_path_factory.mktemp("slurm") / "cluster"
    hosts.up(folder)
    yield folder
    hosts.down(folder)


@pytest.fixture
def cluster(cluster_state: Path, tmp_path: Path, mpiexec_path: str) -> Cluster:
    """Return the cluster with a folder for this test."""
    program = shutil.which(mpiexec_path) or mpiexec_path
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    mpi = "pmix" if "Open MPI" in version or "prte" in version.lower() else "pmi2"
    return Cluster(cluster_state, tmp_path, f'PATH="{Path(sys.executable).parent}:$PATH"; MPI={mpi}')

"""The emulated cluster, started once for all tests of a process, and a class with which they use it.

After the tests comes a table of what was seen: for each case the seconds, and the hash of `/solution` at its end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.frame.source import REPOSITORY
from tests.slurm import cluster as hosts
from tests.slurm.scripts import edited

ASKED_FOR = "HPCSOLVE_TEST_SLURM"
"""`make test-slurm` sets this variable. The other tests leave the machine's network alone."""
OTHER_MPI = "HPCSOLVE_OTHER_MPI"
"""Names the folder with python and mpiexec of an environment with the other MPI, MPICH or Open MPI."""
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
"""The states of a job that has ended."""


@dataclass(frozen=True)
class Mpi:
    """An environment with an MPI library: the folder of its programs, and the plugin of srun that starts it."""

    bin: Path
    plugin: str

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.bin / "python"

    @property
    def setup(self) -> str:
        """What a user would write into `setup()` of a script."""
        return f'PATH="{self.bin}:$PATH"; MPI={self.plugin}'


def mpi_of(folder: Path, mpiexec: str) -> Mpi:
    """Return the MPI of an environment, by its mpiexec."""
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    return Mpi(folder, "pmix" if "Open MPI" in version or "prte" in version.lower() else "pmi2")


@dataclass(frozen=True)
class Cluster:
    """The cluster, with a folder for the files of one test, which all hosts share.

    Attributes
    ----------
    state
        The folder of the cluster.
    folder
        The current directory of commands and jobs.
    mpi
        The MPI of the interpreter that runs the tests.
    saw
        Puts a text into the table of what was seen.
    """

    state: Path
    folder: Path
    mpi: Mpi
    saw: Callable[[str], None]

    def run(self, *command: str | Path, check: bool = True, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """Run a command on the controller to its end."""
        line = ["env", f"--chdir={self.folder}", *map(str, command)]
        return hosts.on_host(hosts.CONTROLLER, line, self.state, check=check, timeout=timeout)

    def script(self, shipped: str, ranks: int, gpus: int = 0, mpi: Mpi | None = None) -> Path:
        """Write `slurm/{shipped}.sbatch`, edited as a user would, and return its path."""
        path = self.folder / f"{shipped}.sbatch"
        path.write_text(edited(REPOSITORY / "slurm" / path.name, ranks, "--time=10", (mpi or self.mpi).setup, gpus))
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
        """Return when the job has printed some words so many times. Fails if it ends before."""
        def printed() -> bool:
            ended = self.facts(job)["JobState"] in OVER
            found = self.log(job).count(words) >= times
            assert found or not ended, f"job {job} ended without {words!r}:\n{self.log(job)}"
            return found

        hosts.wait_until(printed, f"job {job} does not print {words!r}", seconds)

    def end_of(self, job: str, seconds: float = 180) -> dict[str, str]:
        """Wait for the end of a job, and return its facts."""
        hosts.wait_until(lambda: self.facts(job)["JobState"] in OVER, f"job {job} does not end", seconds)
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


@pytest.fixture(scope="session")
def own_mpi(mpiexec_path: str) -> Mpi:
    """Return the MPI of the interpreter that runs the tests."""
    return mpi_of(Path(sys.executable).parent, shutil.which(mpiexec_path) or mpiexec_path)


@pytest.fixture(scope="session", params=["pmi2", "pmix"])
def mpi(request: pytest.FixtureRequest, own_mpi: Mpi) -> Mpi:
    """Return the MPI that a plugin of srun starts, or skip the test if there is no environment with it."""
    other = os.environ.get(OTHER_MPI)
    for found in [own_mpi, *([mpi_of(Path(other).absolute(), f"{other}/mpiexec")] if other else [])]:
        if found.plugin == request.param:
            return found
    pytest.skip(f"no MPI for srun --mpi={request.param}: {OTHER_MPI} names no environment with it")


@pytest.fixture
def cluster(
    cluster_state: Path, tmp_path: Path, own_mpi: Mpi, record_property: Callable[[str, object], None]
) -> Cluster:
    """Return the cluster with a folder for this test."""
    return Cluster(cluster_state, tmp_path, own_mpi, lambda text: record_property("seen", text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of what was seen."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.getreports(kind)]
    rows = [(one.head_line.removeprefix("test_").replace("_", " "), one.duration, text, one.outcome)
            for one in reports for name, text in one.user_properties if name == "seen"]
    if rows:
        terminalreporter.section("on the emulated cluster")
        for case, seconds, seen, outcome in sorted(rows):
            terminalreporter.write_line(f"{case:<64} {seconds:6.1f} s  {outcome}  {seen}")

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

from tests.faults.conftest import Mpi, mpis, require
from tests.frame.source import REPOSITORY
from tests.slurm import cluster as hosts
from tests.slurm.scripts import edited

__all__ = ["mpis"]

ASKED_FOR = "HPCSOLVE_TEST_SLURM"
"""`make test-slurm` sets this variable. The other tests leave the machine's network alone."""
PLUGINS = {"MPICH": "pmi2", "Open MPI": "pmix"}
"""The plugin of srun that starts ranks with each MPI library."""
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
"""The states of a job that has ended."""


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

    @property
    def plugin(self) -> str:
        """The plugin of srun for `mpi`."""
        return PLUGINS[self.mpi.name]

    def setup(self, mpi: Mpi) -> str:
        """Return what a user would write into `setup()` of a script, after making the programs that it leads to."""
        programs = self.folder / f"programs-{PLUGINS[mpi.name]}"
        programs.mkdir(exist_ok=True)
        for name, words in {"python": "", "python3": "", "hpcsolve": " -m hpcsolve"}.items():
            (programs / name).write_text(f'#!/bin/sh\nexec "{mpi.python}"{words} "$@"\n')
            (programs / name).chmod(0o755)
        return f'PATH="{programs}:$PATH"; MPI={PLUGINS[mpi.name]}'

    def script(self, shipped: str, ranks: int, gpus: int = 0, mpi: Mpi | None = None) -> Path:
        """Write `slurm/{shipped}.sbatch`, edited as a user would, and return its path."""
        path = self.folder / f"{shipped}.sbatch"
        setup = self.setup(mpi or self.mpi)
        path.write_text(edited(REPOSITORY / "slurm" / path.name, ranks, "--time=10", setup, gpus))
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

    def wait_for_log(self, job: str, words: str, times: int = 1, seconds: float = 300) -> None:
        """Return when the job has printed some words so many times. Fails if it ends before."""
        def printed() -> bool:
            ended = self.facts(job)["JobState"] in OVER
            found = self.log(job).count(words) >= times
            assert found or not ended, f"job {job} ended without {words!r}:\n{self.log(job)}"
            return found

        hosts.wait_until(printed, f"job {job} does not print {words!r}", seconds)

    def end_of(self, job: str, seconds: float = 300) -> dict[str, str]:
        """Wait for the end of a job, and return its facts."""
        hosts.wait_until(lambda: self.facts(job)["JobState"] in OVER, f"job {job} does not end", seconds)
        return self.facts(job)


def tool(name: str, package: str) -> str:
    """Return the path of a program that a package of Python has, or skip the test."""
    return shutil.which(name) or pytest.skip(f"no {name} on the PATH (pip install {package})")


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


@pytest.fixture(params=PLUGINS)
def mpi(request: pytest.FixtureRequest, mpis: dict[str, Mpi]) -> Mpi:
    """Return each MPI library, or skip the test without it."""
    return require(mpis, request.param)


@pytest.fixture
def cluster(
    cluster_state: Path, tmp_path: Path, mpis: dict[str, Mpi], record_property: Callable[[str, object], None]
) -> Cluster:
    """Return the cluster with a folder for this test."""
    own = next((mpi for mpi in mpis.values() if mpi.python.parent == Path(sys.executable).parent), None)
    if own is None:
        pytest.skip("no MPI beside this interpreter")
    return Cluster(cluster_state, tmp_path, own, lambda text: record_property("seen", text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of what was seen."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.getreports(kind)]
    rows = [(one.head_line.removeprefix("test_").replace("_", " "), one.duration, text, one.outcome)
            for one in reports for name, text in one.user_properties if name == "seen"]
    if rows:
        terminalreporter.section("on the emulated cluster")
        for case, seconds, seen, outcome in sorted(rows):
            terminalreporter.write_line(f"{case:<64} {seconds:6.1f} s  {outcome}  {seen}")

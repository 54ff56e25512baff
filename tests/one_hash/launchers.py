"""The ways to start a run: mpiexec of MPICH or Open MPI, a number of ranks, and CPU cores or stub GPUs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.frame.source import REPOSITORY
from tests.stub_driver.build import Stub

SECONDS_AT_MOST = 300.0


@dataclass(frozen=True)
class Mpi:
    """An environment with mpi4py and an MPI library.

    Attributes
    ----------
    name
        "MPICH" or "Open MPI".
    bin
        The folder with its `python` and `mpiexec`.
    stub
        The stub driver, if the environment has PyCUDA.
    """

    name: str
    bin: Path
    stub: Stub | None = None

    @property
    def devices(self) -> list[str]:
        """The devices that hpcsolve can use there."""
        return ["cpu", "cuda"] if self.stub else ["cpu"]

    def command(self, ranks: int) -> list[str]:
        """Return what starts hpcsolve on so many ranks."""
        free = ["--oversubscribe", "--allow-run-as-root"] if self.name == "Open MPI" else []
        return [str(self.bin / "mpiexec"), *free, "-n", str(ranks), str(self.bin / "python"), "-m", "hpcsolve"]


def mpi_in(folder: Path, stub: Stub | None = None) -> Mpi:
    """Return the MPI of an environment whose programs are in a folder. The stub is used if PyCUDA is there too."""
    said = subprocess.run([folder / "mpiexec", "--version"], capture_output=True, text=True, check=True).stdout
    pycuda = subprocess.run([folder / "python", "-c", "import pycuda"], capture_output=True, check=False)
    name = "Open MPI" if "Open MPI" in said or "prte" in said.lower() else "MPICH"
    return Mpi(name, folder, stub if pycuda.returncode == 0 else None)


@dataclass(frozen=True)
class Start:
    """How a run is started."""

    mpi: Mpi
    ranks: int
    device: str = "cpu"

    def __str__(self) -> str:
        """Return the words for messages: "3 MPICH cpu"."""
        return f"{self.ranks} {self.mpi.name} {self.device}"

    def environment(self) -> dict[str, str]:
        """Return the environment of the run. Waiting ranks and threads give way to working ones."""
        own = {"PYTHONPATH": str(REPOSITORY), "OMP_WAIT_POLICY": "passive", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
        if self.device == "cpu":
            return {**os.environ, **own}
        assert self.mpi.stub is not None
        return self.mpi.stub.environment(self.ranks, nvcc="single", **own)


@dataclass(frozen=True)
class End:
    """How a run ended: its exit code, all that it printed, and the seconds since it knew its memory."""

    code: int
    output: str
    seconds: float


def run(start: Start, folder: Path, stop_after: float | None = None) -> End:
    """Run `job.toml` in a folder, and send USR1 to the launcher some seconds after the run knows its memory."""
    command = [*start.mpi.command(start.ranks), "run", "job.toml", "--device", start.device, "--output", "out.h5"]
    with subprocess.Popen(command, cwd=folder, env=start.environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        lines, began = _until_memory(process), time.monotonic()
        try:
            rest, _ = process.communicate(timeout=SECONDS_AT_MOST if stop_after is None else stop_after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM if stop_after is None else signal.SIGUSR1)
            rest, _ = process.communicate(timeout=SECONDS_AT_MOST)
    return End(process.returncode, lines + rest, time.monotonic() - began)


def _until_memory(process: subprocess.Popen[str]) -> str:
    """Return what a run prints until the line after which it solves, or all if it ends before."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("memory:"):
            break
    return "".join(lines)

"""The ways to start a run: mpiexec of MPICH or Open MPI, a number of ranks, and CPU cores or stub GPUs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.conftest import Mpi
from tests.frame.source import REPOSITORY
from tests.stub_driver.build import Stub

SECONDS_AT_MOST = 300.0


@dataclass(frozen=True)
class Start:
    """How a run is started: by the launcher of an MPI library, on CPU cores, or on the stub driver if there is one."""

    mpi: Mpi
    ranks: int
    stub: Stub | None = None

    def __str__(self) -> str:
        """Return the words for messages: "3 MPICH cpu"."""
        return f"{self.ranks} {self.mpi.name} {self.device}"

    @property
    def device(self) -> str:
        """The name of the device."""
        return "cuda" if self.stub else "cpu"

    def environment(self) -> dict[str, str]:
        """Return the environment of the run. Waiting ranks and threads give way to working ones."""
        own = {"PYTHONPATH": str(REPOSITORY), "OMP_WAIT_POLICY": "passive", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
        return self.stub.environment(self.ranks, nvcc="single", **own) if self.stub else {**os.environ, **own}


@dataclass(frozen=True)
class End:
    """How a run ended: its exit code, all that it printed, and the seconds since it knew its memory."""

    code: int
    output: str
    seconds: float


def run(start: Start, folder: Path, stop_after: float | None = None) -> End:
    """Run `job.toml` in a folder, and send USR1 to the launcher some seconds after the run knows its memory."""
    words = ["-m", "hpcsolve", "run", "job.toml", "--device", start.device, "--output", "out.h5"]
    command = start.mpi.command(start.ranks, *words)
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

"""Run a job on one rank and on two through `mpiexec`, and compare the wall-clock times."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from hpcsolve.errors import EnvironmentFault


def mpiexec() -> str:
    """Return the path of `mpiexec`. Raises `EnvironmentFault` if there is none."""
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise EnvironmentFault("no mpiexec beside this Python or on the PATH: pip install mpich")
    return found


def run_on_ranks(job: Path, count: int) -> float:
    """Run a job on `count` ranks and return the wall-clock seconds of the whole command.

    Raises
    ------
    EnvironmentFault
        If there is no mpiexec, or if the command fails; the message then quotes what it printed.
    """
    run = [sys.executable, "-m", "hpcsolve", "run", str(job), "--quiet", "--overwrite"]
    command = [mpiexec(), "-n", str(count), *run]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        raise EnvironmentFault(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr.strip()}")
    return wall


def efficiency_row(title: str, pairs: Iterable[tuple[float, float]]) -> list[str]:
    """Return a row of a table: title, best seconds on one rank, best on two, parallel efficiency.

    Parameters
    ----------
    pairs
        Wall-clock seconds (on one rank, on two ranks) of each repetition.
    """
    one, two = (min(times) for times in zip(*pairs))
    return [title, f"{one:.2f}", f"{two:.2f}", f"{one / (2 * two):.3f}"]

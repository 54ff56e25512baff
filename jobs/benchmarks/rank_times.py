"""The same job on one rank and on two, through `mpiexec`: wall-clock times."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from hpcsolve.errors import EnvironmentFault


def run_on_ranks(job: Path, count: int) -> float:
    """Seconds that the whole command takes.

    Raises
    ------
    EnvironmentFault
        It failed: what it said; or there is no mpiexec.
    """
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if mpiexec is None:
        raise EnvironmentFault("no mpiexec beside this Python or on the PATH: pip install 'hpcsolve[local]'")
    command = [mpiexec, "-n", str(count), sys.executable, "-m", "hpcsolve",
               "run", str(job), "--quiet", "--overwrite"]  # fmt: skip
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        raise EnvironmentFault(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return wall


def efficiency(title: str, pairs: Iterable[tuple[float, float]]) -> list[str]:
    """A row of a table: of (seconds on one rank, on two) the best of each, and the share of two ranks that is used."""
    one, two = (min(times) for times in zip(*pairs))
    return [title, f"{one:.2f}", f"{two:.2f}", f"{one / (2 * two):.3f}"]

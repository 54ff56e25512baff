"""Colonies on one rank and on two, through `mpiexec`: the wall-clock time of the same search, a thread a rank."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpcsolve.analysis.load import load
from hpcsolve.errors import EnvironmentFault
from hpcsolve.problems.tsp import FORBIDDEN
from jobs.benchmarks.ant_runs import Instance
from jobs.benchmarks.report import markdown

COLONIES = 8
JOB = """\
algorithm = "ant-colony"
instance = "costs.npy"
output = "{output}"
device = "cpu"
threads = 1
[ant-colony]
variant = "ant-system"
colonies = {colonies}
[stop]
iterations = {iterations}
"""


@dataclass(frozen=True)
class Wall:
    """Seconds: the iterations alone, and the whole command. `cost` must be the same on any number of ranks."""

    search: float
    command: float
    cost: int


def ranks(instance: Instance, iterations: int, repeats: int) -> list[str]:
    """Markdown: times on one rank and on two, taken in turn, the best of each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "costs.npy", np.where(instance.tsp.cost == FORBIDDEN, 0, instance.tsp.cost))
        _run(folder, 1, 1)
        runs = [[_run(folder, count, iterations) for count in (1, 2)] for _ in range(repeats)]
    assert len({wall.cost for pair in runs for wall in pair}) == 1, "the answer depends on the ranks"
    rows = []
    for what in ("search", "command"):
        one, two = (min(getattr(pair[rank], what) for pair in runs) for rank in (0, 1))
        rows.append([what, f"{one:.2f}", f"{two:.2f}", f"{one / (2 * two):.3f}"])
    text = f"{instance.name}, {COLONIES} colonies of the Ant System, {iterations} iterations, the best of {repeats}."
    return [text, "", *markdown(["wall-clock s", "1 rank", "2 ranks", "efficiency"], rows)]


def _run(folder: Path, count: int, iterations: int) -> Wall:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    output = folder / "result.h5"
    (folder / "job.toml").write_text(JOB.format(output=output, colonies=COLONIES, iterations=iterations))
    command = [str(mpiexec) if mpiexec.exists() else "mpiexec", "-n", str(count), sys.executable, "-m", "hpcsolve",
               "run", str(folder / "job.toml"), "--quiet", "--overwrite"]  # fmt: skip
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        raise EnvironmentFault(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    result = load(output)
    assert result.cost is not None
    return Wall(float(result.table("history")["seconds"][-1]), wall, int(result.cost))

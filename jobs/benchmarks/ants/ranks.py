"""Colonies on one rank and on two, through `mpiexec`: the wall-clock time of the same search, a thread a rank."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpcsolve.analysis.load import load
from hpcsolve.problems.tsp import FORBIDDEN
from jobs.benchmarks.ant_runs import Instance
from jobs.benchmarks.rank_times import efficiency, run_on_ranks
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
    rows = [efficiency("search", ((one.search, two.search) for one, two in runs)),
            efficiency("command", ((one.command, two.command) for one, two in runs))]  # fmt: skip
    text = f"{instance.name}, {COLONIES} colonies of the Ant System, {iterations} iterations, the best of {repeats}."
    return [text, "", *markdown(["wall-clock s", "1 rank", "2 ranks", "efficiency"], rows)]


def _run(folder: Path, count: int, iterations: int) -> Wall:
    job, output = folder / "job.toml", folder / "result.h5"
    job.write_text(JOB.format(output=output, colonies=COLONIES, iterations=iterations))
    wall = run_on_ranks(job, count)
    result = load(output)
    assert result.cost is not None
    return Wall(float(result.table("history")["seconds"][-1]), wall, int(result.cost))

"""Colonies on one rank and on two: wall-clock time of the same search through `mpiexec`, one thread a rank."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hpcsolve.analysis.load import load
from jobs.benchmarks.ants.instances import Instance, plain_costs
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.ranks import efficiency_row, run_on_ranks
from jobs.benchmarks.common.table import markdown

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
bound = false
[stop]
iterations = {iterations}
"""


@dataclass(frozen=True)
class Wall:
    """Wall-clock seconds of the iterations alone and of the whole command, and the cost of the tour."""

    search: float
    command: float
    cost: int


def ranks(instance: Instance, iterations: int, repeats: int) -> list[str]:
    """Run the job on one rank and on two in turn, and return a table of the best times in Markdown."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "costs.npy", plain_costs(instance.tsp))
        _run(folder, 1, 1)
        runs = [[_run(folder, count, iterations) for count in (1, 2)] for _ in range(repeats)]
    require_equal(instance.name, len({wall.cost for pair in runs for wall in pair}) == 1)
    rows = [efficiency_row("search", ((one.search, two.search) for one, two in runs)),
            efficiency_row("command", ((one.command, two.command) for one, two in runs))]
    text = f"{instance.name}, {COLONIES} colonies of the Ant System, {iterations} iterations, the best of {repeats}."
    return [text, "", *markdown(["wall-clock s", "1 rank", "2 ranks", "efficiency"], rows)]


def _run(folder: Path, count: int, iterations: int) -> Wall:
    job, output = folder / "job.toml", folder / "result.h5"
    job.write_text(JOB.format(output=output, colonies=COLONIES, iterations=iterations))
    wall = run_on_ranks(job, count)
    result = load(output)
    assert result.cost is not None
    return Wall(float(result.table("history")["seconds"][-1]), wall, int(result.cost))

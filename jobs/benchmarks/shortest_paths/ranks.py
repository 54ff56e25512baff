"""Many sources on one rank and on two: wall-clock time through `mpiexec`, one thread a rank."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.load import load
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.ranks import efficiency_row, run_on_ranks
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.shortest_paths.graphs import job_instance

JOB = """\
algorithm = "shortest-paths"
instance = {instance}
output = "{output}"
device = "cpu"
threads = 1
[shortest-paths]
sources = {{ random = {sources} }}
predecessors = {predecessors}
"""
WALLS = {
    "kernels": "searches and checks (`seconds_kernel`)",
    "run": "with the graph's layout, copies and waiting (`seconds_run`)",
    "command": "the whole command",
}
"""The times that are compared: attributes of `Wall` and their titles."""


@dataclass(frozen=True)
class Wall:
    """Wall-clock seconds of the slowest rank (two columns of `/ranks`) and of the whole command, and the distances."""

    kernels: float
    run: float
    command: float
    distance: NDArray[np.float64]


def ranks(graph: str, sources: int, predecessors: bool, repeats: int) -> list[str]:
    """Run the job on one rank and on two in turn, and return a table of the best times in Markdown."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = JOB.format(instance=job_instance(graph), output=folder / "result.h5", sources=sources,
                          predecessors=str(predecessors).lower())
        (folder / "job.toml").write_text(text)
        _run(folder, 1)
        runs = [[_run(folder, count) for count in (1, 2)] for _ in range(repeats)]
    require_equal(graph, all(np.array_equal(wall.distance, runs[0][0].distance) for pair in runs for wall in pair))
    rows = [efficiency_row(title, ((getattr(one, what), getattr(two, what)) for one, two in runs))
            for what, title in WALLS.items()]
    asked = "distances and predecessors" if predecessors else "distances"
    text = (f"{graph}: {asked} from {sources} sources to all vertices, checked and written to HDF5; one thread a rank, "
            f"the slowest rank, the best of {repeats} runs, taken in turn.")
    return [text, "", *markdown(["wall-clock s", "1 rank", "2 ranks", "efficiency"], rows)]


def _run(folder: Path, count: int) -> Wall:
    wall = run_on_ranks(folder / "job.toml", count)
    result = load(folder / "result.h5")
    kernels, run = (float(result.table("ranks")[name].max()) for name in ("seconds_kernel", "seconds_run"))
    return Wall(kernels, run, wall, result.distance)

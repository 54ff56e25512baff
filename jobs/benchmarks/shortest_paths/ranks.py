"""Many sources on one rank and on two, through `mpiexec`: wall-clock time of the searches, a thread a rank."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.load import load
from jobs.benchmarks.rank_times import efficiency, run_on_ranks
from jobs.benchmarks.report import markdown
from jobs.benchmarks.shortest_paths_graphs import instance, require_equal

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


@dataclass(frozen=True)
class Wall:
    """Seconds: two columns of `/ranks`, of the slowest rank, and the whole command. `distance` is its answer."""

    kernels: float
    run: float
    command: float
    distance: NDArray[np.float64]


def ranks(graph: str, sources: int, predecessors: bool, repeats: int) -> list[str]:
    """Markdown: times on one rank and on two, taken in turn, the best of each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = JOB.format(instance=instance(graph), output=folder / "result.h5", sources=sources,
                          predecessors=str(predecessors).lower())  # fmt: skip
        (folder / "job.toml").write_text(text)
        _run(folder, 1)
        runs = [[_run(folder, count) for count in (1, 2)] for _ in range(repeats)]
    require_equal(graph, all(np.array_equal(wall.distance, runs[0][0].distance) for pair in runs for wall in pair))
    rows = [efficiency(title, ((getattr(one, what), getattr(two, what)) for one, two in runs))
            for what, title in WALLS.items()]  # fmt: skip
    asked = "distances and predecessors" if predecessors else "distances"
    text = (f"{graph}, {sources} sources, {asked} to all vertices, checked, into HDF5; one thread a rank, the slowest "
            f"rank, the best of {repeats}, in turn.")  # fmt: skip
    return [text, "", *markdown(["wall-clock s", "1 rank", "2 ranks", "efficiency"], rows)]


def _run(folder: Path, count: int) -> Wall:
    wall = run_on_ranks(folder / "job.toml", count)
    result = load(folder / "result.h5")
    kernels, run = (float(result.table("ranks")[name].max()) for name in ("seconds_kernel", "seconds_run"))
    return Wall(kernels, run, wall, result.distance)

"""One rank, two ranks and two threads: wall-clock time of the same generations, and the same bits of the answer."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.analysis.load import load
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.ranks import efficiency_row, run_on_ranks
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.edge_assembly.instances import Instance

WAYS = ((1, 1), (2, 1), (1, 2))
"""Ranks, and threads of each."""
JOB = """\
algorithm = "edge-assembly"
instance = "{instance}"
output = "{output}"
device = "cpu"
threads = {threads}
[edge-assembly]
population = {population}
bound = false
[stop]
iterations = {iterations}
"""


@dataclass(frozen=True)
class Wall:
    """Wall-clock seconds of the search alone and of the whole command, and the tour as bytes."""

    search: float
    command: float
    tour: bytes


def ranks(instance: Instance, population: int, iterations: int, repeats: int) -> list[str]:
    """Run the job in each way in turn, and return a table of the best times in Markdown."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(folder, instance, (1, 1), population, 1)  # so that kernels are in the compile cache
        runs = [[_run(folder, instance, way, population, iterations) for way in WAYS] for _ in range(repeats)]
    require_equal(instance.name, len({wall.tour for walls in runs for wall in walls}) == 1)
    rows = []
    for what, seconds in (("search", lambda wall: wall.search), ("command", lambda wall: wall.command)):
        for place, other in ((1, "2 ranks"), (2, "2 threads")):
            one, two = zip(*((seconds(walls[0]), seconds(walls[place])) for walls in runs))
            row = efficiency_row(f"{what}, {other}", zip(one, two))
            rows.append([*row, f"{min(one) / min(two):.2f}"])
    text = f"{instance.name}, {population} tours, {iterations} iterations, best of {repeats}. All find the same tour."
    return [text, "", *markdown(["wall-clock s", "1 rank", "the two", "efficiency", "times as fast"], rows), ""]


def _run(folder: Path, instance: Instance, way: tuple[int, int], population: int, iterations: int) -> Wall:
    job, output = folder / "job.toml", folder / "result.h5"
    count, threads = way
    job.write_text(JOB.format(instance=instance.path.absolute(), output=output, threads=threads, population=population,
                              iterations=iterations), encoding="utf-8")
    wall = run_on_ranks(job, count)
    result = load(output)
    return Wall(float(result.table("history")["seconds"][-1]), wall, result.tour.tobytes())

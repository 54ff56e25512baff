"""Steiner problems solved by the command line, on so many ranks: what a user gets, checked by the run itself."""

from __future__ import annotations

import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.load import load
from jobs.benchmarks.rank_times import efficiency, run_on_ranks
from jobs.benchmarks.report import markdown
from jobs.benchmarks.shortest_paths_graphs import require_equal
from jobs.benchmarks.steiner_instances import Instance

JOB = """\
algorithm = "steiner-kmb"
instance = {instance}
output = "{output}"
device = "cpu"
threads = 1
[steiner-kmb]
mode = "{mode}"
halt = "{halt}"
"""
STOP = "[stop]\nseconds = {seconds}\n"
HALTS = {"terminals": "last terminal", "bottleneck": "closure's longest edge"}
"""Where searches of mode kmb end."""
WALLS = {
    "kernels": "searches (`seconds_kernel`)",
    "run": "the run with its certificate (`seconds_run`)",
    "command": "the whole command",
}


@dataclass(frozen=True)
class Solved:
    """What a job gave, and took: seconds by the clock, of the slowest rank, and the most memory of any, in bytes.

    Attributes
    ----------
    edges
        Shape (edges, 2): positions.
    closure
        Weight and longest edge of the terminals' spanning tree.
    cpu
        CPU seconds of the whole command, all ranks together.
    """

    edges: NDArray[np.int64]
    weight: int
    bound: int
    closure: tuple[int, int]
    kernels: float
    run: float
    command: float
    cpu: float
    peak: int


def solved(where: Instance, mode: str, ranks: int, seconds: float | None = None, halt: str = "bottleneck") -> Solved:
    """Run a job, a thread a rank."""
    with tempfile.TemporaryDirectory() as name:
        job, output = Path(name) / "job.toml", Path(name) / "result.h5"
        text = JOB.format(instance=where.entry, output=output, mode=mode, halt=halt)
        job.write_text(text + (STOP.format(seconds=seconds) if seconds else ""))
        before = _children_cpu()
        wall, cpu = run_on_ranks(job, ranks), _children_cpu() - before
        result = load(output)
    solution = {name: column.values for name, column in result.contents.groups["solution"].items()}
    table = result.table("ranks")
    return Solved(
        np.stack([solution["u"], solution["v"]], axis=1).astype(np.int64), int(solution["cost"]),
        int(solution["lower_bound"]), (int(solution["closure_mst"]), int(solution["closure_bottleneck"])),
        float(table["seconds_kernel"].max()), float(table["seconds_run"].max()), wall, cpu,
        int(table["peak_resident_bytes"].max()),
    )  # fmt: skip


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ranks(where: Instance, mode: str, repeats: int, seconds: float | None, halt: str) -> list[str]:
    """Markdown: times on one rank and on two, taken in turn, the best of each."""
    solved(where, mode, 1, seconds, halt)
    runs = [[solved(where, mode, count, seconds, halt) for count in (1, 2)] for _ in range(repeats)]
    first = runs[0][0]
    require_equal(where.name, all(np.array_equal(found.edges, first.edges) for pair in runs for found in pair))
    rows = [efficiency(title, [(getattr(one, what), getattr(two, what)) for one, two in runs])
            for what, title in WALLS.items()]  # fmt: skip
    what = f"kmb, to the {HALTS[halt]}" if mode == "kmb" else mode
    text = f"{where.name}, mode {what}; a thread a rank, the slowest rank, the best of {repeats}, in turn."
    return [text, "", *markdown(["wall-clock s", "1 rank", "2 ranks", "efficiency"], rows)]

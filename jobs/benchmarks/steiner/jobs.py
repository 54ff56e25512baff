"""Steiner problems solved by `hpcsolve run` on one or more ranks, as users run it."""

from __future__ import annotations

import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.load import load
from jobs.benchmarks.common.ranks import run_on_ranks
from jobs.benchmarks.steiner.instances import Instance

JOB = """\
algorithm = "steiner-kmb"
instance = {instance}
output = "{output}"
device = "{device}"
threads = 1
[steiner-kmb]
mode = "{mode}"
halt = "{halt}"
shakes = {shakes}
starts = {starts}
"""
STOP = "[stop]\nseconds = {seconds}\n"


@dataclass(frozen=True)
class Solved:
    """The tree of a job, and the time and memory that it took.

    Attributes
    ----------
    edges
        Positions of the edges' ends, shape (edges, 2).
    bound
        The lower bound.
    closure
        Weight and longest edge of the minimum spanning tree of the terminal distance graph.
    kernels, run
        Wall-clock seconds of the slowest rank, from `/ranks`.
    command, cpu
        Wall-clock seconds of the whole command, and CPU seconds of all its ranks together.
    peak
        Resident memory of the largest rank, in bytes.
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


def solve(
    instance: Instance, mode: str, ranks: int, seconds: float | None = None, halt: str = "bottleneck",
    device: str = "cpu", shakes: int = 4, starts: int = 1,
) -> Solved:
    """Run a job with one thread on each rank.

    Parameters
    ----------
    seconds
        Time limit, or None; only mode `best` takes one.
    halt
        Where the searches of mode `kmb` end, as in a job file.
    shakes, starts
        Of mode `best`, as in a job file.
    """
    with tempfile.TemporaryDirectory() as name:
        job, output = Path(name) / "job.toml", Path(name) / "result.h5"
        text = JOB.format(instance=instance.job_instance, output=output, mode=mode, halt=halt, device=device,
                          shakes=shakes, starts=starts)
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
    )


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

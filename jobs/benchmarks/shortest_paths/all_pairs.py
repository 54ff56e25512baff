"""All pairs of a graph reduced to closeness and eccentricity by one command on two cores, checked with scipy."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hpcsolve.analysis.load import Result, load
from hpcsolve.errors import EnvironmentFault
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import to_scipy
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.shortest_paths.graphs import job_instance, read_graph_named

CORES = 2
JOB = """\
algorithm = "shortest-paths"
instance = {instance}
output = "{output}"
device = "cpu"
threads = {cores}
[shortest-paths]
sources = {sources}
reduce = ["sum", "farthest"]
"""


@dataclass(frozen=True)
class Reduced:
    """Seconds of the whole command, wall-clock and of all its threads, of its searches, and of scipy for a source."""

    sources: int
    wall: float
    cpu: float
    searched: float
    scipy: float
    radius: str


def all_pairs(name: str, sources: int, checked: int) -> list[str]:
    """Run the job on two cores, check some of its sources with scipy, and return a table in Markdown.

    Parameters
    ----------
    sources
        Number of random sources, or 0 for all vertices.
    checked
        Number of random sources that scipy searches from too.

    Raises
    ------
    WrongAnswerError
        scipy finds another closeness or eccentricity.
    """
    graph = read_graph_named(name)
    with tempfile.TemporaryDirectory() as folder:
        job, output = Path(folder, "job.toml"), Path(folder, "result.h5")
        asked = f"{{ random = {sources} }}" if sources else '"all"'
        job.write_text(JOB.format(instance=job_instance(name), output=output, cores=CORES, sources=asked))
        wall, cpu = _run(job)
        result = load(output)
    seconds = _check(name, graph, result, checked)
    searched = float(result.table("ranks")["seconds_kernel"].max())
    radius = ", ".join(f"{what} {result.contents.value('solution', what)}" for what in ("radius", "diameter"))
    return _table(name, Reduced(len(result.sources), wall, cpu, searched, seconds, "" if sources else radius), checked)


def _run(job: Path) -> tuple[float, float]:
    """Return wall-clock and CPU seconds of the command, on the first cores that this process may use."""
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    before, begin = _children(), time.perf_counter()
    command = [sys.executable, "-m", "hpcsolve", "run", str(job), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          preexec_fn=partial(os.sched_setaffinity, 0, cores))
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        raise EnvironmentFault(f"hpcsolve ended with exit code {done.returncode}: {done.stderr.strip()}")
    return wall, _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check(name: str, graph: Graph, result: Result, count: int) -> float:
    """Compare with scipy from random sources, and return its CPU seconds for one."""
    matrix, total = to_scipy(graph).astype(float), len(result.sources)
    rows = np.random.default_rng(0).choice(total, min(count, total), replace=False)
    sources = np.asarray(result.contents.value("solution", "source"))[rows]
    begin = time.process_time()
    distance = dijkstra(matrix, indices=sources)
    seconds = (time.process_time() - begin) / len(rows)
    reached = np.isfinite(distance)
    distance = np.where(reached, distance, 0)
    sums = distance.sum(axis=1)
    closeness = np.divide((reached.sum(axis=1) - 1) * graph.scale, sums, out=np.zeros(len(rows)), where=sums > 0)
    require_equal(name, np.array_equal(closeness, result.closeness[rows]))
    require_equal(name, np.array_equal(distance.max(axis=1) / graph.scale, result.eccentricity[rows]))
    return float(seconds)


def _table(name: str, found: Reduced, checked: int) -> list[str]:
    each, scipy = found.cpu / found.sources, found.scipy
    text = (f"{name}: {found.sources} sources reduced to closeness and eccentricity by one command with {CORES} "
            f"threads on {CORES} cores, every distance checked on the device; {min(checked, found.sources)} random "
            f"sources are equal to scipy's. {found.radius}")
    row = [f"{found.wall:.1f}", f"{found.cpu:.1f}", f"{found.cpu / CORES:.1f}", f"{found.searched:.1f}",
           f"{1e3 * each:.3f}", f"{1e3 * scipy:.1f}", f"{scipy / each:.0f}"]
    headings = ["wall-clock s", "CPU s", f"CPU s / {CORES}", "searches, wall-clock s", "CPU ms a source",
             "scipy, CPU ms a source", "ratio"]
    return [text.strip(), "", *markdown(headings, [row])]

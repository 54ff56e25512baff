"""What engine "auto" takes beside the two engines it chooses from, with and without a kept hierarchy, on one core."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths import ALGORITHM
from hpcsolve.algorithms.shortest_paths.engines import AUTO, NEAR_FAR, PHAST
from hpcsolve.algorithms.shortest_paths.question import Parameters
from hpcsolve.device import array_cache
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.graph import Graph
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds, keep_freed_memory
from jobs.benchmarks.shortest_paths.graphs import read_graph_named

GRAPHS = ["new-york", "BAY", "NE", "road-network:1000000", "rmat:16", "grid:1024"]
COUNTS = [16, 32, 64, 128, 256, 512]
NEW, KEPT = "new", "kept"
HEADINGS = ["graph", "sources", "near-far", "phast, new", "phast, kept", "auto, new", "by, new", "loss, new",
         "auto, kept", "by, kept", "loss, kept"]
HOW = """\
Tables of distances from random sources to all vertices on one core: CPU seconds of the whole run in memory (layout,
contraction, searches, check), the best of {repeats} rounds; in each of them near-far runs once, and the other ways
{often} times (all once if phast refuses the graph: a dash). new: no hierarchy of the graph is kept. kept: one is, from
an earlier run. loss: the time of auto divided by that of the better engine, less 1. All engines gave the same distances
from the fewest sources."""
OFTEN = 3
"""Runs of the quick ways in a round. They last tenths of a second, in which other programs may take the caches."""


def engines(graphs: Sequence[str], counts: Sequence[int], repeats: int) -> list[str]:
    """Return a table in Markdown, after checking that the engines give the same distances from the fewest sources.

    Raises
    ------
    WrongAnswerError
        The distances differ.
    """
    keep_freed_memory()  # the system's time for fresh pages varies more than the engines do
    rows, worst = [], 0.0
    for name in graphs:
        graph = read_graph_named(name)
        for count in counts:
            row, loss = _measured(name, graph, count, repeats, count == min(counts))
            rows.append(row)
            worst = max(worst, loss)
    how = HOW.format(repeats=repeats, often=OFTEN)
    return [how, "", *markdown(HEADINGS, rows), "", f"Largest loss: {100 * worst:.0f} %."]


def _measured(name: str, graph: Graph, count: int, repeats: int, compared: bool) -> tuple[list[str], float]:
    """Return a row of the table, and the larger loss of the two."""
    sources = np.random.default_rng(0).choice(graph.n, min(count, graph.n), replace=False)
    engine: dict[str, str] = {}

    def run(way: str, state: str) -> NDArray[Any]:
        rows, engine[f"{way}, {state}"] = _run(graph, sources, way, state)
        return rows

    with _empty_cache():
        ways = [(NEAR_FAR, NEW), (AUTO, NEW)]
        hierarchy = _makes_hierarchies(graph, sources)
        if hierarchy:  # what is made here is kept for the last two
            ways += [(PHAST.name, NEW), (PHAST.name, KEPT)]
        ways.append((AUTO, KEPT))
        if compared:
            require_equal(name, len({sha256(run(*way)).digest() for way in ways}) == 1)
        slow, quick = (ways[:1], ways[1:]) if hierarchy else (ways, [])
        seconds = dict.fromkeys(map(", ".join, ways), np.inf)
        for _ in range(repeats):
            for some, often in ((slow, 1), (quick, OFTEN)):
                taken = best_cpu_seconds({", ".join(way): partial(run, *way) for way in some}, often)
                seconds |= {way: min(seconds[way], best) for way, best in taken.items()}
    losses, cells = [], []
    for state in (NEW, KEPT):
        auto, better = f"auto, {state}", min(seconds["near-far, new"], seconds.get(f"phast, {state}", np.inf))
        losses.append(seconds[auto] / better - 1)
        cells += [f"{seconds[auto]:.3f}", engine[auto], f"{100 * losses[-1]:.0f} %"]
    phast = [f"{seconds[f'phast, {state}']:.3f}" if hierarchy else "-" for state in (NEW, KEPT)]
    return [name, str(len(sources)), f"{seconds['near-far, new']:.3f}", *phast, *cells], max(losses)


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Keep hierarchies in a folder of this block, so that those of the user stay."""
    with tempfile.TemporaryDirectory() as folder, patch.object(array_cache, "cache_folder", lambda: Path(folder)):
        yield


def _makes_hierarchies(graph: Graph, sources: NDArray[np.int64]) -> bool:
    """Return whether the engine phast takes this graph."""
    try:
        _run(graph, sources[:1], PHAST.name, NEW)
    except InputError:
        return False
    return True


def _run(graph: Graph, sources: NDArray[np.int64], engine: str, state: str) -> tuple[NDArray[Any], str]:
    """Return the rows of distances, and the name of the engine that made them."""
    if state == NEW:
        array_cache.clear()
    parameters = Parameters(sources=graph.labels[sources].tolist(), engine=engine)
    with HostDevice(1) as device:
        outcome = ALGORITHM.solve(graph, device, SerialComm(), parameters)
        named = next((note for note in device.notes if note.startswith("engine: ")), f"engine: {engine}:")
    return outcome.rows["distance"].values, named.removeprefix("engine: ").split(":")[0].split(",")[0]

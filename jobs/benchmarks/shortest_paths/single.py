"""Shortest paths from one source on one core: hpcsolve's searches beside scipy's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.engines.single import Searcher
from hpcsolve.algorithms.shortest_paths.searches import Searches, Want
from hpcsolve.device.base import Device
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.shortest_paths.graphs import SEARCH_ALONE, Network, distances, solve

GRAPHS = ["new-york", "road:1000000", "grid:1024", "geometric:500000", "rmat:18", "rmat:20"]
MOST_RATIO = {"new-york": 0.25, "road:1000000": 0.25, "grid:1024": 0.25, "geometric:500000": 0.33, "rmat:20": 0.40}
"""The largest ratio to scipy's time that we allow ourselves."""
SEARCH, CHECKED, WITH_TREE, HEAP = "search", "search, check", "search, predecessors, check", "search by dijkstra"
SCIPY_LAYOUT, SCIPY_FILE, SCIPY_TREE = "scipy, layout order", "scipy, file order", "scipy, predecessors"
HOW = """\
CPU milliseconds for one source on one core: the best of {repeats} repetitions for each source, mean of {sources}
sources. In each repetition every solver runs once. The graph was read and laid out before. `search`: Near-Far alone.
`search, check`: with the check that every run of hpcsolve makes. `search, predecessors, check`: with the smallest
predecessors too. scipy: its dijkstra on float64 weights, with the vertices in the order of hpcsolve's layout or in that
of the file. Ratio: the time of `search` divided by the smaller one of these two. Ratio with predecessors: hpcsolve's
time, with check, divided by scipy's. Work: arcs scanned, divided by those that Dijkstra's algorithm scans. Rounds:
dependent steps of the search. On a GPU (`--device cuda`) all times, scipy's too, are wall-clock times."""


@dataclass(frozen=True)
class Row:
    """The times on a graph.

    Attributes
    ----------
    seconds
        CPU seconds for one source, by solver.
    work
        Arcs scanned, divided by those that Dijkstra's algorithm scans.
    rounds
        Dependent rounds of a search.
    """

    name: str
    vertices: int
    arcs: int
    seconds: dict[str, float]
    work: float
    rounds: float

    @property
    def ratio(self) -> float:
        """The time of the search alone divided by scipy's time, with the better order of vertices."""
        return self.seconds[SEARCH] / min(self.seconds[SCIPY_LAYOUT], self.seconds[SCIPY_FILE])


def measure(network: Network, repeats: int, device: Device) -> Row:
    """Time all solvers on a graph, after checking that hpcsolve's distances equal scipy's.

    On a GPU all times, also scipy's, are wall-clock seconds, since the CPU waits.

    Raises
    ------
    WrongAnswerError
        If they differ.
    """
    clock = time.process_time if device.info.kind == "cpu" else time.perf_counter
    with network.prepared("near-far", device=device) as near_far, network.prepared("dijkstra") as heap:
        searches, expected = network.searches(), network.expected()
        found = [solve(near_far, search) for search in searches]
        for engine in (near_far, heap):
            rows = [distances(engine, solve(engine, search)[0][0]) for search in searches]
            require_equal(network.name, np.array_equal(rows, expected))
        sources = [
            best_cpu_seconds(_calls(network, near_far, heap, search, int(source)), repeats, clock)
            for source, search in zip(network.sources, searches, strict=True)
        ]
    seconds = {name: float(np.mean([times[name] for times in sources])) for name in sources[0]}
    relaxed = sum(int(solved.relaxed[0]) for _, solved in found)
    work = relaxed / sum(map(network.arcs_of_dijkstra, expected))
    rounds = float(np.mean([solved.rounds[0] for _, solved in found]))
    return Row(network.name, network.graph.n, network.graph.arcs, seconds, work, rounds)


def _calls(
    network: Network, near_far: Searcher, heap: Searcher, search: Searches, source: int
) -> dict[str, Callable[[], object]]:
    """Return the calls to be timed for one source, by solver."""
    place, tree = int(network.places[source]), Want.DISTANCES | Want.PREDECESSORS
    return {
        SEARCH: partial(solve, near_far, search, SEARCH_ALONE),
        CHECKED: partial(solve, near_far, search, Want.DISTANCES),
        WITH_TREE: partial(solve, near_far, search, tree),
        HEAP: partial(solve, heap, search, SEARCH_ALONE),
        SCIPY_LAYOUT: partial(dijkstra, network.in_layout_order, indices=place),
        SCIPY_FILE: partial(dijkstra, network.in_file_order, indices=source),
        SCIPY_TREE: partial(dijkstra, network.in_layout_order, indices=place, return_predecessors=True),
    }


def tables(rows: list[Row], repeats: int, sources: int) -> list[str]:
    """Return the table of times and the table of ratios in Markdown."""
    names = list(rows[0].seconds)
    times = [[row.name, *(f"{1e3 * row.seconds[name]:.1f}" for name in names)] for row in rows]
    ratios = [
        [row.name, str(row.vertices), str(row.arcs), f"{row.work:.2f}", f"{row.rounds:.0f}", f"{row.ratio:.3f}",
         str(MOST_RATIO.get(row.name, "")), f"{row.seconds[WITH_TREE] / row.seconds[SCIPY_TREE]:.3f}"]
        for row in rows
    ]
    head = ["graph", "vertices", "arcs", "work", "rounds", "ratio", "allowed", "ratio with predecessors"]
    return [
        HOW.format(repeats=repeats, sources=sources), "",
        *markdown(["milliseconds", *names], times), "",
        *markdown(head, ratios), "",
        "All distances equal scipy's.",
    ]

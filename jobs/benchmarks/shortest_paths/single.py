"""One source, one core: hpcsolve's searches beside scipy's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.jobs import WANTS_DISTANCES, WANTS_PREDECESSORS, Jobs
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from jobs.benchmarks.report import markdown
from jobs.benchmarks.shortest_paths_graphs import ALONE, Network, distances, least_seconds, require_equal, solve

GRAPHS = ["new-york", "road:1000000", "grid:1024", "geometric:500000", "rmat:18", "rmat:20"]
BARS = {"new-york": 0.25, "road:1000000": 0.25, "grid:1024": 0.25, "geometric:500000": 0.33, "rmat:20": 0.40}
"""The largest share of scipy's time that we allow ourselves."""
SEARCH, CHECKED, WITH_TREE, HEAP = "search", "and check", "and predecessors", "search, dijkstra"
IN_ORDER, AS_READ, SCIPY_TREE = "scipy, our order", "scipy, file's order", "scipy, predecessors"
HOW = """\
CPU milliseconds a source on one core: the best of {repeats} rounds of each source, mean of {sources} sources; within a
round all solvers take their turn. The graph is read and laid out before. `search` is Near-Far alone, `and check` adds
the check that a run always makes, `and predecessors` the smallest ones too, checked. scipy's dijkstra gets doubles, the
vertices once in our order and once in the file's. ratio: search to the faster of these two; with predecessors: both
find them, ours checked. work: arcs followed, relative to Dijkstra's algorithm. steps: dependent rounds."""


@dataclass(frozen=True)
class Row:
    """A graph: CPU seconds a source of each solver, arcs followed relative to Dijkstra's, dependent rounds."""

    name: str
    vertices: int
    arcs: int
    seconds: dict[str, float]
    work: float
    steps: float

    @property
    def ratio(self) -> float:
        """Of the search alone to scipy's better order."""
        return self.seconds[SEARCH] / min(self.seconds[IN_ORDER], self.seconds[AS_READ])


def measure(network: Network, repeats: int) -> Row:
    """All solvers on a graph, each source in turn; every distance must be scipy's."""
    with network.prepared() as near_far, network.prepared("dijkstra") as heap:
        jobs, expected = network.jobs(), network.expected()
        found = [solve(near_far, job) for job in jobs]
        for engine in (near_far, heap):
            rows = [distances(engine, solve(engine, job)[0][0]) for job in jobs]
            require_equal(network.name, np.array_equal(rows, expected))
        sources = [
            least_seconds(_calls(network, near_far, heap, job, int(source)), repeats)
            for source, job in zip(network.sources, jobs, strict=True)
        ]
    seconds = {name: float(np.mean([times[name] for times in sources])) for name in sources[0]}
    relaxed = sum(int(solved.relaxed[0]) for _, solved in found)
    work = relaxed / sum(map(network.arcs_of_dijkstra, expected))
    steps = float(np.mean([solved.rounds[0] for _, solved in found]))
    return Row(network.name, network.graph.n, network.graph.arcs, seconds, work, steps)


def _calls(network: Network, near_far: Searcher, heap: Searcher, job: Jobs, source: int
           ) -> dict[str, Callable[[], object]]:  # fmt: skip
    place, tree = int(network.places[source]), WANTS_DISTANCES | WANTS_PREDECESSORS
    return {
        SEARCH: partial(solve, near_far, job, ALONE),
        CHECKED: partial(solve, near_far, job, WANTS_DISTANCES),
        WITH_TREE: partial(solve, near_far, job, tree),
        HEAP: partial(solve, heap, job, ALONE),
        IN_ORDER: partial(dijkstra, network.in_order, indices=place),
        AS_READ: partial(dijkstra, network.as_read, indices=source),
        SCIPY_TREE: partial(dijkstra, network.in_order, indices=place, return_predecessors=True),
    }


def tables(rows: list[Row], repeats: int, sources: int) -> list[str]:
    """Markdown."""
    names = list(rows[0].seconds)
    times = [[row.name, *(f"{1e3 * row.seconds[name]:.1f}" for name in names)] for row in rows]
    ratios = [
        [row.name, str(row.vertices), str(row.arcs), f"{row.work:.2f}", f"{row.steps:.0f}", f"{row.ratio:.3f}",
         str(BARS.get(row.name, "")), f"{row.seconds[WITH_TREE] / row.seconds[SCIPY_TREE]:.3f}"]
        for row in rows
    ]  # fmt: skip
    return [
        HOW.format(repeats=repeats, sources=sources), "",
        *markdown(["milliseconds", *names], times), "",
        *markdown(["graph", "vertices", "arcs", "work", "steps", "ratio", "at most", "with predecessors"], ratios), "",
        "All distances were scipy's.",
    ]  # fmt: skip

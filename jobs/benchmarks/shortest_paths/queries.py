"""Point to point by Dijkstra rank: what a search to one target costs, by how many vertices are nearer than it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines import default_delta
from hpcsolve.algorithms.shortest_paths.jobs import WANTS_PATHS, WANTS_TARGETS, query_jobs
from hpcsolve.algorithms.shortest_paths.searcher import Searcher, Solved
from jobs.benchmarks.report import markdown
from jobs.benchmarks.shortest_paths_graphs import Network, least_seconds, require_equal, solve

DIJKSTRA = "dijkstra"
HOW = """\
Of {sources} sources each, the target that Dijkstra's algorithm settles as number 2^k; distance and path of each are
found, and checked. arcs: what Dijkstra's algorithm follows, which stops at the target, a query. Efficiency: these arcs
over those that Near-Far follows, which stops at the end of the target's bucket; steps: its dependent rounds. us: CPU
microseconds a query on one core, check and path included, all queries of a rank in one batch, the best of {repeats}."""


@dataclass(frozen=True)
class Point:
    """Queries of one rank by one solver: arcs and steps a query, efficiency, CPU seconds a query."""

    rank: int
    solver: str
    arcs: float
    steps: float
    efficiency: float
    seconds: float


def measure(network: Network, factors: list[float], least_rank: int, repeats: int) -> list[Point]:
    """Each rank of a power of two, for Dijkstra's engine, adaptive Near-Far, and Near-Far with buckets so wide."""
    deltas = [factor * default_delta(network.graph) for factor in factors]
    constant = [network.prepared(delta=delta) for delta in deltas]
    solvers = {DIJKSTRA: network.prepared("dijkstra"), "adaptive": network.prepared()}
    solvers |= {f"delta {prepared.tuning.most}": prepared for prepared in constant}
    rows = [solve(solvers[DIJKSTRA], job)[0][0] for job in network.jobs()]
    settled = [np.argsort(row, kind="stable")[: np.count_nonzero(row != network.keys.unreached)] for row in rows]
    points = []
    for power in range(least_rank, int(np.log2(min(map(len, settled)) - 1)) + 1):
        targets = np.array([order[1 << power] for order in settled])
        keys = np.array([row[target] for row, target in zip(rows, targets)])
        points += _points(network, solvers, power, np.stack([network.sources, targets], axis=1), keys, repeats)
    return points


def _points(network: Network, solvers: dict[str, Searcher], power: int, pairs: NDArray[np.int64], keys: NDArray[Any],
            repeats: int) -> list[Point]:  # fmt: skip
    """All solvers on the queries of one rank."""
    jobs, wanted, count = query_jobs(pairs, network.places), WANTS_TARGETS | WANTS_PATHS, len(pairs)
    room = int(solvers[DIJKSTRA].solve(jobs, wanted).path_length.sum())
    calls = {name: partial(prepared.solve, jobs, wanted, path_room=room) for name, prepared in solvers.items()}
    first = {name: call() for name, call in calls.items()}
    for solved in first.values():
        require_equal(network.name, _agree(solved, first[DIJKSTRA], keys))
    seconds = least_seconds(calls, repeats)
    exact = int(first[DIJKSTRA].relaxed.sum())
    return [
        Point(power, name, solved.relaxed.mean(), solved.rounds.mean(), exact / int(solved.relaxed.sum()),
              seconds[name] / count)
        for name, solved in first.items()
    ]  # fmt: skip


def _agree(solved: Solved, exact: Solved, keys: NDArray[Any]) -> bool:
    """Whether distances are those of a search of the whole graph, the paths Dijkstra's, and the check found nothing."""
    begins = [(int(a), int(b)) for a, b in zip(solved.path_begin, exact.path_begin)]
    paths = all(
        np.array_equal(solved.path[mine : mine + length], exact.path[other : other + length])
        for (mine, other), length in zip(begins, exact.path_length.tolist())
    )
    lengths = np.array_equal(solved.path_length, exact.path_length)
    return bool(np.array_equal(solved.target_keys, keys) and lengths and paths and not solved.wrong.any())


def table(network: Network, points: list[Point], repeats: int) -> list[str]:
    """Markdown."""
    solvers = list(dict.fromkeys(point.solver for point in points))
    names = [f"{network.name}: rank", "arcs", "Dijkstra, us"]
    for solver in solvers[1:]:
        names += [f"{solver}: efficiency", "steps", "us"]
    cells = []
    for rank in dict.fromkeys(point.rank for point in points):
        exact, *others = (point for point in points if point.rank == rank)
        row = [f"2^{rank}", f"{exact.arcs:.0f}", f"{1e6 * exact.seconds:.1f}"]
        for point in others:
            row += [f"{point.efficiency:.2f}", f"{point.steps:.0f}", f"{1e6 * point.seconds:.1f}"]
        cells.append(row)
    verdict = "All distances and paths were the same."
    return [HOW.format(sources=len(network.sources), repeats=repeats), "", *markdown(names, cells), "", verdict]

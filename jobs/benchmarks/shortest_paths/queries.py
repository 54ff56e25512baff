"""Point-to-point queries by Dijkstra rank, that is by the number of vertices that are nearer than the target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.single import Searcher, default_delta
from hpcsolve.algorithms.shortest_paths.searches import Solved, Want, query_searches
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.shortest_paths.graphs import Network, solve

DIJKSTRA = "dijkstra"
HOW = """\
A row is a Dijkstra rank 2^k: for each of {sources} sources one query, to the vertex that Dijkstra's algorithm settles
as number 2^k. Distance and path of each query are found, and checked. Arcs: those that Dijkstra's algorithm scans in a
query; it stops at the target. Efficiency: these arcs divided by those that Near-Far scans, which stops at the end of
the target's bucket. Rounds: dependent steps of Near-Far. us: CPU microseconds for a query on one core, with check and
path, all queries of a row in one batch, the best of {repeats}."""


@dataclass(frozen=True)
class Point:
    """Queries of one Dijkstra rank, 2^`rank`, by one solver.

    Attributes
    ----------
    arcs, rounds, seconds
        Arcs scanned, dependent rounds and CPU seconds for a query.
    efficiency
        The arcs that Dijkstra's algorithm scans, divided by those that this solver scans.
    """

    rank: int
    solver: str
    arcs: float
    rounds: float
    efficiency: float
    seconds: float


def measure(network: Network, factors: list[float], least_rank: int, repeats: int) -> list[Point]:
    """Answer queries of the ranks 2^`least_rank`, twice that, and so on, by Dijkstra's engine and by Near-Far.

    Parameters
    ----------
    factors
        Bucket widths of Near-Far, as multiples of the default, which are tried beside the adaptive width.
    """
    deltas = [factor * default_delta(network.graph) for factor in factors]
    constant = [network.prepared(delta=delta) for delta in deltas]
    solvers = {DIJKSTRA: network.prepared("dijkstra"), "adaptive": network.prepared()}
    solvers |= {f"delta {prepared.tuning.most}": prepared for prepared in constant}
    rows = [solve(solvers[DIJKSTRA], search)[0][0] for search in network.searches()]
    settled = [np.argsort(row, kind="stable")[: np.count_nonzero(row != network.keys.no_path)] for row in rows]
    points = []
    for power in range(least_rank, int(np.log2(min(map(len, settled)) - 1)) + 1):
        targets = np.array([order[1 << power] for order in settled])
        keys = np.array([row[target] for row, target in zip(rows, targets)])
        points += _points(network, solvers, power, np.stack([network.sources, targets], axis=1), keys, repeats)
    return points


def _points(
    network: Network, solvers: dict[str, Searcher], power: int, queries: NDArray[np.int64], keys: NDArray[Any],
    repeats: int,
) -> list[Point]:
    """Answer the queries of one Dijkstra rank by all solvers, compare the answers, and time them."""
    searches, wanted, count = query_searches(queries, network.places), Want.TARGETS | Want.PATHS, len(queries)
    room = int(solvers[DIJKSTRA].solve(searches, wanted).path_length.sum())
    calls = {name: partial(prepared.solve, searches, wanted, path_room=room) for name, prepared in solvers.items()}
    first = {name: call() for name, call in calls.items()}
    for solved in first.values():
        require_equal(network.name, _agree(solved, first[DIJKSTRA], keys))
    seconds = best_cpu_seconds(calls, repeats)
    exact = int(first[DIJKSTRA].relaxed.sum())
    return [
        Point(power, name, solved.relaxed.mean(), solved.rounds.mean(), exact / int(solved.relaxed.sum()),
              seconds[name] / count)
        for name, solved in first.items()
    ]


def _agree(solved: Solved, exact: Solved, keys: NDArray[Any]) -> bool:
    """Return whether distances equal `keys`, paths equal Dijkstra's, and hpcsolve's own check found no error."""
    begins = [(int(a), int(b)) for a, b in zip(solved.path_begin, exact.path_begin)]
    paths = all(
        np.array_equal(solved.path[mine : mine + length], exact.path[other : other + length])
        for (mine, other), length in zip(begins, exact.path_length.tolist())
    )
    lengths = np.array_equal(solved.path_length, exact.path_length)
    return bool(np.array_equal(solved.target_keys, keys) and lengths and paths and not solved.wrong.any())


def table(network: Network, points: list[Point], repeats: int) -> list[str]:
    """Return a table in Markdown, a row for each Dijkstra rank."""
    solvers = list(dict.fromkeys(point.solver for point in points))
    names = [f"{network.name}: rank", "arcs", "Dijkstra, us"]
    for solver in solvers[1:]:
        names += [f"{solver}: efficiency", "rounds", "us"]
    cells = []
    for rank in dict.fromkeys(point.rank for point in points):
        exact, *others = (point for point in points if point.rank == rank)
        row = [f"2^{rank}", f"{exact.arcs:.0f}", f"{1e6 * exact.seconds:.1f}"]
        for point in others:
            row += [f"{point.efficiency:.2f}", f"{point.rounds:.0f}", f"{1e6 * point.seconds:.1f}"]
        cells.append(row)
    verdict = "All solvers found the same distances and paths."
    return [HOW.format(sources=len(network.sources), repeats=repeats), "", *markdown(names, cells), "", verdict]

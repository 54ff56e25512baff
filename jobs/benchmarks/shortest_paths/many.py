"""Tables of distances from many sources on one core: sweeps over a hierarchy beside Near-Far and scipy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy, Refusal, build_hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast import Sweeper, shape_for, sweep_workspace
from hpcsolve.algorithms.shortest_paths.searches import Solved, Want, row_searches
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.shortest_paths.graphs import SEARCH_ALONE, Network, solve
from jobs.benchmarks.shortest_paths.hierarchies import rival_times

COUNTS = [1, 4, 16, 64, 256, 1000]
MOST_ROWS = 256
"""Rows that are there at the same time. More sources are searched from one batch after the other."""
PARTS = {"sweep": Want.TARGETS | Want.UNCHECKED, "rows": SEARCH_ALONE, "rows, check": Want.DISTANCES,
         "rows, predecessors, check": Want.DISTANCES | Want.PREDECESSORS}
"""What a sweep delivers: the distance to one vertex alone, or whole rows in the order of the file."""
SCIPY, SEARCH, CHECKED, PREPARED = "scipy", "near-far", "near-far, check", "preparation"
HOW = """\
CPU milliseconds a source on one core, the best of {repeats} repetitions; in each of them all solvers run once. scipy:
its dijkstra, with the vertices in the order of the file. near-far: rows by one search after the other. The others are
sweeps of the engine phast for so many sources, without its preparation, which the first table has.
Break-even: the number of sources from which on preparation and sweeps with check take less time than near-far."""


@dataclass(frozen=True)
class Times:
    """CPU seconds on a graph, and memory.

    Attributes
    ----------
    single
        By solver, for one source.
    swept
        By number of sources and part of the work, for one source.
    rivals
        By other program, of its preparation and for one source.
    kept, working
        Bytes of the hierarchy with its graph, and of what a sweep from most sources works in beside its rows.
    """

    single: dict[str, float]
    swept: dict[int, dict[str, float]]
    rivals: dict[str, tuple[float, float]]
    kept: int
    working: int

    @property
    def break_even(self) -> int:
        """The number of sources from which on a hierarchy pays, or 0 if it never does."""
        saved = self.single[CHECKED] - min(times["rows, check"] for times in self.swept.values())
        return ceil(self.single[PREPARED] / saved) if saved > 0 else 0


def measure(network: Network, counts: Sequence[int], repeats: int) -> Times:
    """Time all solvers on a graph, after checking that their distances are the same.

    Raises
    ------
    InputError
        The graph has no small separators.
    WrongAnswerError
        The distances differ.
    """
    given = _hierarchy(network)
    search = network.searches()[0]
    with network.prepared("near-far") as near_far:
        keys = solve(near_far, search)[0]
        calls: dict[str, Callable[[], object]] = {
            SCIPY: partial(dijkstra, network.in_file_order, indices=network.sources[0]),
            SEARCH: partial(solve, near_far, search), CHECKED: partial(solve, near_far, search, Want.DISTANCES),
            PREPARED: partial(_hierarchy, network),
        }
        single = best_cpu_seconds(calls, repeats)
    swept = {count: _swept(network, given, count, repeats, keys) for count in counts}
    distances = np.asarray(dijkstra(network.in_file_order, indices=network.sources[0]))
    shape = shape_for(network.graph.n, min(MOST_ROWS, max(counts)), HostDevice(1).info, network.keys, trees=False)
    shapes = sweep_workspace(network.graph.n, shape, 0, False, network.keys).values()
    working = sum(math.prod(each) * np.dtype(dtype).itemsize for each, dtype in shapes)
    return Times(single, swept, rival_times(network, distances), _bytes_of(given), working)


def _bytes_of(given: Hierarchy) -> int:
    arrays = {id(array): array for owner in (given, given.graph) for array in vars(owner).values()
              if isinstance(array, np.ndarray)}
    return sum(array.nbytes for array in arrays.values())


def _hierarchy(network: Network) -> Hierarchy:
    found = build_hierarchy(network.search_graph, network.keys, False, 1)
    if isinstance(found, Refusal):
        raise InputError(found.reason, network.name)
    return found


def _swept(network: Network, given: Hierarchy, count: int, repeats: int, first: object) -> dict[str, float]:
    """Return the CPU seconds per source of a sweep from `count` sources, by what is delivered."""
    device, n, keys = HostDevice(1), network.graph.n, network.keys
    sources, places, most = np.resize(network.sources, count), given.graph.places(), min(count, MOST_ROWS)
    rows, before = np.empty((most, n), keys.dtype), np.empty((most, n), np.uint32)
    with Sweeper(device, given, keys, keys.limit, shape_for(n, most, device.info, keys, trees=False), True) as sweeper:

        def solve_all(wanted: int) -> Solved:
            for batch in (sources[begin : begin + most] for begin in range(0, count, most)):
                targets = sources[:1] if wanted & Want.TARGETS else None
                searches = row_searches(list(batch[:, None]), targets, places)
                solved = sweeper.solve(searches, wanted, rows[: len(batch)] if wanted & Want.DISTANCES else None,
                                       before[: len(batch)] if wanted & Want.PREDECESSORS else None)
                require_equal(network.name, not solved.wrong.any())
            return solved

        solve_all(Want.DISTANCES)
        require_equal(network.name, count > most or np.array_equal(rows[:1], first))
        calls = {part: partial(solve_all, wanted) for part, wanted in PARTS.items()}
        seconds = best_cpu_seconds(calls, repeats)
    return {part: value / count for part, value in seconds.items()}


def table(network: Network, times: Times, repeats: int) -> list[str]:
    """Return the tables of a graph in Markdown."""
    one = times.single
    rows = [[str(count), *(f"{1e3 * each[part]:.4f}" for part in PARTS),
             *(f"{one[SCIPY] / each[part]:.0f}" for part in PARTS)] for count, each in times.swept.items()]
    head = ["sources", *PARTS, *(f"scipy / {part}" for part in PARTS)]
    prepared = [[f"{1e3 * one[name]:.1f}" for name in (SCIPY, SEARCH, CHECKED)]
                + [f"{one[PREPARED]:.4f}", f"{one[PREPARED] / one[SCIPY]:.0f}", str(times.break_even)]]
    prepared[0] += [f"{size / 1e6:.0f}" for size in (times.kept, times.working)]
    names = [SCIPY, SEARCH, CHECKED, "preparation, s", "preparation / scipy", "break-even", "hierarchy, MB",
             "workspace, MB"]
    rivals = [[name, f"{seconds:.1f}", f"{1e3 * row:.1f}"] for name, (seconds, row) in times.rivals.items()]
    others = ["", *markdown(["program", "preparation, s", "ms a source"], rivals)] if rivals else []
    return [f"## {network.name}", "", HOW.format(repeats=repeats), "",
            *markdown(names, prepared), "", *markdown(head, rows), *others]

"""Tables of distances from many sources on one core: sweeps over a hierarchy beside Near-Far and scipy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.phast.choice import UNLIMITED, Attempt, make_hierarchy
from hpcsolve.algorithms.shortest_paths.phast.contraction import Refusal
from hpcsolve.algorithms.shortest_paths.phast.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.phast.sweeper import Sweeper, shape_for
from hpcsolve.algorithms.shortest_paths.searches import (
    UNCHECKED,
    WANTS_DISTANCES,
    WANTS_PREDECESSORS,
    WANTS_TARGETS,
    row_searches,
)
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.shortest_paths.graphs import SEARCH_ALONE, Network, solve

COUNTS = [1, 16, 32, 64, 256]
PARTS = {"sweep": WANTS_TARGETS | UNCHECKED, "rows": SEARCH_ALONE, "rows, check": WANTS_DISTANCES,
         "rows, predecessors, check": WANTS_DISTANCES | WANTS_PREDECESSORS}
"""What a sweep delivers: the distance to one vertex alone, or whole rows in the order of the file."""
SCIPY, SEARCH, CHECKED, PREPARED = "scipy", "near-far", "near-far, check", "preparation"
HOW = """\
CPU milliseconds a source on one core, the best of {repeats} repetitions; in each of them all solvers run once. scipy:
its dijkstra, with the vertices in the order of the file. near-far: rows by one search after the other. The others are
sweeps of the engine phast for so many sources, without its preparation, which has a table of its own: {prepared}.
Break-even: the number of sources from which on preparation and sweeps with check take less time than near-far."""


@dataclass(frozen=True)
class Times:
    """CPU seconds on a graph: by solver, and by number of sources and part of the work, for one source."""

    single: dict[str, float]
    swept: dict[int, dict[str, float]]

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
            SEARCH: partial(solve, near_far, search), CHECKED: partial(solve, near_far, search, WANTS_DISTANCES),
            PREPARED: partial(_hierarchy, network),
        }
        single = best_cpu_seconds(calls, repeats)
    swept = {count: _swept(network, given, count, repeats, keys) for count in counts}
    return Times(single, swept)


def _hierarchy(network: Network) -> Hierarchy:
    found = make_hierarchy(network.search_graph, network.keys, Attempt(UNLIMITED), False, 1)
    if isinstance(found, Refusal):
        raise InputError(found.reason, network.name)
    return found


def _swept(network: Network, given: Hierarchy, count: int, repeats: int, first: object) -> dict[str, float]:
    """Return the CPU seconds per source of a sweep from `count` sources, by what is delivered."""
    device, n, keys = HostDevice(1), network.graph.n, network.keys
    sources = np.resize(network.sources, count)
    seeds, places = list(sources[:, None]), given.graph.places()
    rows, before = np.empty((count, n), keys.dtype), np.empty((count, n), np.uint32)
    shape = shape_for(n, count, device.info, keys, trees=False)
    with Sweeper(device, given, keys, keys.limit, shape, trees=True) as sweeper:
        whole, one = row_searches(seeds, None, places), row_searches(seeds, sources[:1], places)
        calls = {
            part: partial(sweeper.solve, one if wanted & WANTS_TARGETS else whole, wanted,
                          rows if wanted & WANTS_DISTANCES else None, before if wanted & WANTS_PREDECESSORS else None)
            for part, wanted in PARTS.items()
        }
        found = sweeper.solve(whole, WANTS_DISTANCES, rows)
        require_equal(network.name, np.array_equal(rows[:1], first) and not found.wrong.any())
        seconds = best_cpu_seconds(calls, repeats)
    return {part: value / count for part, value in seconds.items()}


def table(network: Network, times: Times, repeats: int) -> list[str]:
    """Return the tables of a graph in Markdown."""
    one = times.single
    rows = [[str(count), *(f"{1e3 * each[part]:.3f}" for part in PARTS),
             *(f"{one[SCIPY] / each[part]:.0f}" for part in PARTS)] for count, each in times.swept.items()]
    head = ["sources", *PARTS, *(f"scipy / {part}" for part in PARTS)]
    prepared = [[f"{1e3 * one[name]:.1f}" for name in (SCIPY, SEARCH, CHECKED)]
                + [f"{one[PREPARED]:.2f}", f"{one[PREPARED] / one[SCIPY]:.0f}", str(times.break_even)]]
    names = [SCIPY, SEARCH, CHECKED, "preparation, s", "preparation / scipy", "break-even"]
    return [f"## {network.name}", "", HOW.format(repeats=repeats, prepared="the first one"), "",
            *markdown(names, prepared), "", *markdown(head, rows)]

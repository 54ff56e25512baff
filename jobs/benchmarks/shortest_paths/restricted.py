"""Tables to few targets on one core: sweeps over the part of a hierarchy above them, beside whole sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Refusal, build_hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast import Sweeper, shape_for
from hpcsolve.algorithms.shortest_paths.searches import Want, row_searches
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.shortest_paths.graphs import Network

COUNTS = [1, 10, 100, 1000, 10000]
HEADINGS = ["targets", "vertices above", "making it, ms", "restricted", "whole sweep", "ratio"]


def restricted(network: Network, counts: Sequence[int], repeats: int) -> list[str]:
    """Return a table in Markdown, after checking that all sweeps give the same distances.

    Raises
    ------
    InputError
        The graph has no small separators.
    WrongAnswerError
        The distances differ.
    """
    given = build_hierarchy(network.search_graph, network.keys, False, 1)
    if isinstance(given, Refusal):
        raise InputError(given.reason, network.name)
    device, places, rng = HostDevice(1), given.graph.places(), np.random.default_rng(1)
    shape = shape_for(network.graph.n, len(network.sources), device.info, network.keys, trees=False)
    rows = []
    for count in counts:
        targets = rng.choice(network.graph.n, min(count, network.graph.n), replace=False)
        searches = row_searches(list(network.sources[:, None]), targets, places)
        make = partial(given.above, places[targets], network.keys)
        part = make()
        with (
            Sweeper(device, given, network.keys, network.keys.limit, shape) as whole,
            Sweeper(device, given, network.keys, network.keys.limit, shape, restriction=part) as few,
        ):
            calls = {name: partial(each.solve, searches, Want.TARGETS | Want.UNCHECKED)
                     for name, each in (("whole", whole), ("few", few))}
            found = [call().target_keys for call in calls.values()]
            require_equal(network.name, np.array_equal(*found))
            seconds = best_cpu_seconds({**calls, "make": make}, repeats)
        each = {name: 1e3 * value / len(network.sources) for name, value in seconds.items()}
        above = network.graph.n if part is None else len(part.vertex)
        rows.append([str(len(targets)), str(above), f"{1e3 * seconds['make']:.1f}", f"{each['few']:.4f}",
                     f"{each['whole']:.4f}", f"{each['whole'] / each['few']:.1f}"])
    text = (f"{network.name}: from {len(network.sources)} sources to random targets; CPU milliseconds a source on one "
            f"core, without a check, the best of {repeats}.")
    return [text, "", *markdown(HEADINGS, rows)]

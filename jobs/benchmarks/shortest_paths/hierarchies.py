"""Other programs' contraction hierarchies, where they are installed: RoutingKit (package routingkit-cch) and pandana.

RoutingKit sweeps from one source to all pinned targets, and its wrapper returns a list of Python numbers. pandana
answers queries alone, so a row takes as many queries as the graph has vertices; it is measured on some of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.shortest_paths.graphs import Network

QUERIES = 2000
"""Queries from which pandana's time for a row is computed."""


@dataclass(frozen=True)
class Rival:
    """A program that makes rows of distances.

    Attributes
    ----------
    prepare
        Makes its hierarchy.
    row
        Takes the hierarchy, a source and the vertices of a row, and returns distances, infinite where there are none.
    columns
        Number of vertices of a row that is timed, None for all.
    """

    prepare: Callable[[Network], Any]
    row: Callable[[Any, int, NDArray[np.int64]], NDArray[np.float64]]
    columns: int | None = None


def _routingkit(network: Network) -> Any:
    import routingkit_cch

    graph, points = network.graph, network.graph.coordinates
    tails, heads = graph.tails().tolist(), graph.heads.tolist()
    if points is None:
        order = routingkit_cch.compute_order_degree(graph.n, tails, heads)
    else:
        order = routingkit_cch.compute_order_inertial(graph.n, tails, heads, *points.T[1::-1].tolist())
    cch = routingkit_cch.CCH(order, tails, heads, False)
    metric = routingkit_cch.CCHMetric(cch, graph.weights.tolist())
    return routingkit_cch.CCHOneToMany(metric, list(range(graph.n))), metric, cch


def _routingkit_row(prepared: Any, source: int, _: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array(prepared[0].distances_from(source), np.float64)  # None becomes NaN


def _pandana(network: Network) -> Any:
    import pandana
    import pandas

    graph, index = network.graph, pandas.RangeIndex(network.graph.n)
    points = graph.coordinates if graph.coordinates is not None else np.zeros((graph.n, 2))
    x, y = (pandas.Series(points[:, axis], index) for axis in (0, 1))
    ends = pandas.Series(graph.tails()), pandas.Series(graph.heads)
    weights = pandas.DataFrame({"weight": graph.weights.astype(np.float64)})
    return pandana.Network(x, y, *ends, weights, twoway=False)


def _pandana_row(prepared: Any, source: int, targets: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array(prepared.shortest_path_lengths(np.full(len(targets), source), targets))


RIVALS = {"routingkit_cch": Rival(_routingkit, _routingkit_row), "pandana": Rival(_pandana, _pandana_row, QUERIES)}
"""By the name of the module."""


def rival_times(network: Network, expected: NDArray[np.float64]) -> dict[str, tuple[float, float]]:
    """Return the CPU seconds of preparation and of a row, by program that is installed, and check its distances.

    Each is timed once, because preparation takes up to minutes.

    Parameters
    ----------
    expected
        Distances from the first source, shape (n,), infinite where there are none.
    """
    found = {}
    for name, rival in RIVALS.items():
        if find_spec(name) is None:
            continue
        n, source = network.graph.n, int(network.sources[0])
        some = np.arange(n) if rival.columns is None else np.random.default_rng(1).integers(0, n, rival.columns)
        some = some[np.isfinite(expected[some])]
        with _output_on_stderr():
            given = rival.prepare(network)
            row = rival.row(given, source, some)
            calls = {"prepare": partial(rival.prepare, network), "row": partial(rival.row, given, source, some)}
            seconds = best_cpu_seconds(calls, 1)
        require_equal(name, np.array_equal(row[some] if len(row) == n else row, expected[some]))
        found[name] = seconds["prepare"], seconds["row"] * n / len(row)
    return found


@contextmanager
def _output_on_stderr() -> Iterator[None]:
    """Send what libraries print to standard error, because the report goes to standard output."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)

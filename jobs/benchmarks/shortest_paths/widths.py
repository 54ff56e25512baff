"""The width of Near-Far's buckets: work and dependent rounds of both engines, and launches of the grid engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.single import Searcher, default_delta
from hpcsolve.algorithms.shortest_paths.searches import Request
from hpcsolve.device.base import ONE_CORE
from hpcsolve.device.host import HostDevice, HostKernel
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.shortest_paths.graphs import Network, distances, solve

ENGINES: tuple[str, ...] = ("near-far-block", "near-far-grid")
FACTORS = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
"""Widths, as multiples of the default."""
BATCHES = [1, 16, 64, 256, 1024]
"""Launches after which the host reads back whether the search has ended."""
H200 = replace(ONE_CORE, kind="cuda", units=132)
"""A device with the multiprocessors of an H200, from which the default width for that GPU follows."""
HOW_WIDE = """\
Delta: width of a bucket, in the unit of the weights. Adaptive: the default on this device, which widens buckets up to
the delta shown. Adaptive, as on an H200: the default for 132 multiprocessors, searched here on one core. Work: arcs
scanned, divided by those that Dijkstra's algorithm scans. Rounds: dependent steps, means of {sources} sources. Arcs a
round: the parallelism of the search. CPU milliseconds of the search alone, the best of {repeats}."""
HOW_BATCHED = """\
Grid engine, one source: CPU milliseconds (launches), the best of {repeats}. A row is a width, a column a batch: the
number of launches after which the host reads back whether the search has ended. Launches after the end return at once;
each time the host reads back costs some Python, and on a GPU also the wait for its queue (not measured). Growing: the
default, 16 launches first, later a quarter of those so far."""
Sweep = dict[tuple[int, int], tuple[float, int]]
"""CPU seconds and launches by (delta, batch); batch 0 is the default."""


@dataclass(frozen=True)
class Width:
    """Searches with one width.

    Attributes
    ----------
    delta
        The width, or the greatest width if it adapts.
    work
        Arcs scanned, divided by those that Dijkstra's algorithm scans.
    rounds, seconds
        Dependent rounds and CPU seconds of a search, means over the sources.
    arcs
        Arcs scanned in a round.
    """

    engine: str
    name: str
    delta: int
    work: float
    rounds: float
    arcs: float
    seconds: float


@dataclass(eq=False)
class CountingDevice(HostDevice):
    """One core that counts the launches of the grid engine's kernel."""

    launches: int = 0

    def kernel(self, file: str, name: str) -> HostKernel:
        """Return a kernel, which counts its launches if it is a step of the grid engine."""
        made = super().kernel(file, name)
        return _Counted(made.declaration, made.function, self) if "_step_" in name else made


@dataclass(frozen=True)
class _Counted(HostKernel):
    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: Any) -> None:
        assert isinstance(self.device, CountingDevice)
        self.device.launches += len(steps)
        super().each(step, steps, grid, block, **arguments)


def measure(network: Network, factors: list[float], repeats: int) -> list[Width]:
    """Search from all sources by both engines, with each width and with adaptive widths."""
    expected = network.expected()
    rows = []
    for engine in ENGINES:
        for factor in factors:
            with network.prepared(engine, factor * default_delta(network.graph)) as prepared:
                rows.append(_width(network, prepared, f"{factor:g} x default", expected, repeats))
        with network.prepared(engine) as prepared:
            rows.append(_width(network, prepared, "adaptive", expected, repeats))
            request = Request(network.graph.n, network.graph.arcs, network.keys)
            prepared.tuning = prepared.engine.tuning(network.graph, request, H200)
            rows.append(_width(network, prepared, "adaptive, as on an H200", expected, repeats))
    return rows


def _width(network: Network, prepared: Searcher, name: str, expected: NDArray[np.float64], repeats: int) -> Width:
    """Search from all sources with one width, compare the distances with scipy's, and time the searches."""
    searches = network.searches()
    found = [solve(prepared, search) for search in searches]
    require_equal(network.name, np.array_equal([distances(prepared, keys[0]) for keys, _ in found], expected))
    relaxed, rounds = (sum(int(getattr(solved, what)[0]) for _, solved in found) for what in ("relaxed", "rounds"))
    calls = {str(number): partial(solve, prepared, search) for number, search in enumerate(searches)}
    seconds = sum(best_cpu_seconds(calls, repeats).values()) / len(searches)
    work = relaxed / sum(map(network.arcs_of_dijkstra, expected))
    mean = rounds / len(searches)
    return Width(prepared.engine.name, name, prepared.tuning.most, work, mean, relaxed / rounds, seconds)


def tables(network: Network, rows: list[Width], repeats: int) -> list[str]:
    """Return a table for each engine in Markdown."""
    lines = [HOW_WIDE.format(sources=len(network.sources), repeats=repeats)]
    names = [f"{network.name}: width", "delta", "work", "rounds", "arcs a round", "milliseconds"]
    for engine in ENGINES:
        cells = [
            [row.name, str(row.delta), f"{row.work:.2f}", f"{row.rounds:.0f}", f"{row.arcs:.0f}",
             f"{1e3 * row.seconds:.1f}"]
            for row in rows if row.engine == engine
        ]
        lines += ["", f"### {network.name}, {engine}", "", *markdown(names, cells)]
    return lines


def sweep(network: Network, factors: list[float], batches: list[int], repeats: int) -> Sweep:
    """Search from the first source by the grid engine, with each width and with each batch and the default one."""
    found = {}
    search, default = network.searches()[0], default_delta(network.graph)
    for factor in factors:
        for batch in [*batches, 0]:
            device = CountingDevice()
            with network.prepared("near-far-grid", factor * default, batch or None, device) as grid:
                solve(grid, search)
                launches = device.launches
                seconds = best_cpu_seconds({"": partial(solve, grid, search)}, repeats)[""]
                found[grid.tuning.most, batch] = seconds, launches
    return found


def sweep_table(network: Network, found: Sweep, repeats: int) -> list[str]:
    """Return a table in Markdown, a row for each width and a column for each batch."""
    deltas, batches = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    cells = []
    for delta in deltas:
        row = [found[delta, batch] for batch in batches]
        cells.append([str(delta), *(f"{1e3 * seconds:.1f} ({launches})" for seconds, launches in row)])
    names = [f"{network.name}: delta", *(f"batch {batch}" if batch else "growing" for batch in batches)]
    return [HOW_BATCHED.format(repeats=repeats), "", *markdown(names, cells)]

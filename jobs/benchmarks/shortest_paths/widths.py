"""The width of Near-Far's buckets: arcs followed and dependent steps of both engines, and launches of the grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines import Engine, default_delta, tuning_of
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.device.base import ONE_CORE
from hpcsolve.device.host import HostDevice, HostKernel
from jobs.benchmarks.report import markdown
from jobs.benchmarks.shortest_paths_graphs import Network, distances, least_seconds, require_equal, solve

ENGINES: tuple[Engine, ...] = ("near-far-block", "near-far-grid")
FACTORS = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
BATCHES = [1, 16, 64, 256, 1024]
H200 = replace(ONE_CORE, kind="cuda", units=132)
HOW_WIDE = """\
delta: width of a bucket, in the unit of the weights. adaptive: the default on this device, up to the width named; on
an H200: the default there (132 multiprocessors), searched here, on one core. work: arcs followed, relative to
Dijkstra's algorithm. steps: dependent rounds, means of {sources} sources; arcs a step: what a machine can do at once.
CPU milliseconds of the search alone, the best of {repeats}."""
HOW_BATCHED = """\
Grid engine, one source: CPU milliseconds (launches), the best of {repeats}. A row a width, a column a batch: launches
between two looks whether the search is over. Launches past the end return at once; a look costs the host some Python,
and a GPU the wait for its queue besides (not measured). more and more: the default, 16 launches, later a quarter of
those so far."""
Sweep = dict[tuple[int, int], tuple[float, int]]
"""(delta, batch) -> CPU seconds and launches; batch 0 is the default."""


@dataclass(frozen=True)
class Width:
    """Searches with one width: means over the sources."""

    engine: Engine
    name: str
    delta: int
    work: float
    steps: float
    arcs: float
    seconds: float


@dataclass(eq=False)
class CountingDevice(HostDevice):
    """One core that counts launches of the grid engine's steps."""

    steps: int = 0

    def kernel(self, file: str, name: str) -> HostKernel:
        """A kernel that counts if it is a step."""
        made = super().kernel(file, name)
        return _Counted(made.declaration, made.function, self) if "_step_" in name else made


@dataclass(frozen=True)
class _Counted(HostKernel):
    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: Any) -> None:
        assert isinstance(self.device, CountingDevice)
        self.device.steps += len(steps)
        super().each(step, steps, grid, block, **arguments)


def measure(network: Network, factors: list[float], repeats: int) -> list[Width]:
    """Both engines, each width."""
    expected = network.expected()
    rows = []
    for engine in ENGINES:
        for factor in factors:
            with network.prepared(engine, factor * default_delta(network.graph)) as prepared:
                rows.append(_width(network, prepared, f"{factor:g} of the default", expected, repeats))
        with network.prepared(engine) as prepared:
            rows.append(_width(network, prepared, "adaptive", expected, repeats))
            prepared.tuning = tuning_of(engine, network.graph, network.keys, None, H200, prepared.limit)
            rows.append(_width(network, prepared, "adaptive, on an H200", expected, repeats))
    return rows


def _width(network: Network, prepared: Searcher, name: str, expected: NDArray[np.float64], repeats: int) -> Width:
    jobs = network.jobs()
    found = [solve(prepared, job) for job in jobs]
    require_equal(network.name, np.array_equal([distances(prepared, keys[0]) for keys, _ in found], expected))
    relaxed, steps = (sum(int(getattr(solved, what)[0]) for _, solved in found) for what in ("relaxed", "rounds"))
    calls = {str(number): partial(solve, prepared, job) for number, job in enumerate(jobs)}
    seconds = sum(least_seconds(calls, repeats).values()) / len(jobs)
    work = relaxed / sum(map(network.arcs_of_dijkstra, expected))
    return Width(prepared.engine, name, prepared.tuning.most, work, steps / len(jobs), relaxed / steps, seconds)


def tables(network: Network, rows: list[Width], repeats: int) -> list[str]:
    """Markdown."""
    lines = [HOW_WIDE.format(sources=len(network.sources), repeats=repeats)]
    names = [f"{network.name}: width", "delta", "work", "steps", "arcs a step", "milliseconds"]
    for engine in ENGINES:
        cells = [
            [row.name, str(row.delta), f"{row.work:.2f}", f"{row.steps:.0f}", f"{row.arcs:.0f}",
             f"{1e3 * row.seconds:.1f}"]
            for row in rows if row.engine == engine
        ]  # fmt: skip
        lines += ["", f"### {network.name}, {engine}", "", *markdown(names, cells)]
    return lines


def sweep(network: Network, factors: list[float], batches: list[int], repeats: int) -> Sweep:
    """A search of the first source with each width and each batch, and the default."""
    found = {}
    job, default = network.jobs()[0], default_delta(network.graph)
    for factor in factors:
        for batch in [*batches, 0]:
            device = CountingDevice()
            with network.prepared("near-far-grid", factor * default, batch or None, device) as grid:
                solve(grid, job)
                launches = device.steps
                seconds = least_seconds({"": partial(solve, grid, job)}, repeats)[""]
                found[grid.tuning.most, batch] = seconds, launches
    return found


def sweep_table(network: Network, found: Sweep, repeats: int) -> list[str]:
    """Markdown."""
    deltas, batches = (list(dict.fromkeys(key[i] for key in found)) for i in (0, 1))
    cells = []
    for delta in deltas:
        row = [found[delta, batch] for batch in batches]
        cells.append([str(delta), *(f"{1e3 * seconds:.1f} ({launches})" for seconds, launches in row)])
    names = [f"{network.name}: delta", *(f"batch {batch}" if batch else "more and more" for batch in batches)]
    return [HOW_BATCHED.format(repeats=repeats), "", *markdown(names, cells)]

"""How engines are tuned for a graph and a device: widths of Near-Far's buckets, number of searches at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.device.base import DeviceInfo
from hpcsolve.problems.graph import Graph

BLOCK_THREADS = 256
"""Threads of a block. In a road network the near queue has some 130 vertices at a time."""
BLOCKS_A_MULTIPROCESSOR = 5
"""The most blocks per multiprocessor that are used: as many as code for sm_90 allows. The driver may allow fewer."""
PATIENT = 2**32 - 1
"""More arcs than a round ever relaxes. With this setting buckets always widen, up to the widest."""


@dataclass(frozen=True)
class Tuning:
    """How an engine works. The answer does not depend on it.

    Attributes
    ----------
    delta, most
        The widths of Near-Far's first bucket and of its widest, as keys.
    setting
        Near-Far: a bucket widens while a round relaxes fewer arcs than this. Bellman-Ford: sweeps between two checks
        for changes, 0 for push.
    shared
        Near-Far by a block: on a GPU 2^shared threads share the arcs of a vertex. At most 5.
    """

    delta: int = 1
    most: int = 1
    setting: int = 0
    shared: int = 0


@dataclass(frozen=True)
class TuningInput:
    """What an engine's tuning follows from.

    Attributes
    ----------
    delta
        A bucket's width, in the unit of `graph.weights`, or None for a width that is adapted to the graph.
    limit
        The largest key.
    """

    graph: Graph
    keys: Keys
    delta: float | None
    info: DeviceInfo
    limit: int

    def key(self, width: float) -> int:
        """Return a bucket's width as a key, at least 1."""
        return min(max(1, self.keys.encode_one(width)), self.limit)


def concurrent_blocks(info: DeviceInfo) -> int:
    """Return the number of blocks that a device works on at the same time."""
    return info.units * BLOCKS_A_MULTIPROCESSOR if info.kind == "cuda" else info.units


def typical_weight(graph: Graph) -> float:
    """Return the mean weight, or twice the median if that is less, so that a few heavy arcs do not count."""
    if not graph.arcs:
        return 1.0
    some = graph.weights[:: -(-graph.arcs // 100_000)]
    return min(float(graph.weights.mean()), 2 * float(np.median(some)) or np.inf)


def default_delta(graph: Graph) -> float:
    """Return a bucket's width that keeps extra work small: a typical weight times 35 / (mean degree)^2.

    Roads (degree 2.5 to 3) get some 5 such weights, grids 2, power-law graphs a tenth and less, which the benchmark of
    widths found best.
    """
    degree = max(graph.arcs / max(graph.n, 1), 1.5)
    return typical_weight(graph) * min(35 / degree**2, 16)


def arc_sharing(graph: Graph) -> int:
    """Return the binary logarithm of the number of threads that share a vertex's arcs, so that each has some four."""
    return max(0, min((graph.arcs // (4 * max(graph.n, 1))).bit_length() - 1, 5))


def untuned(_: TuningInput) -> Tuning:
    """Return the tuning of an engine that has nothing to be tuned."""
    return Tuning()


def tuned_block(given: TuningInput) -> Tuning:
    """Return the tuning of Near-Far where a block searches alone.

    A GPU needs many arcs a round to be busy, and accepts more work for it; a CPU wants the least work.
    """
    if given.info.kind == "cpu" or given.delta is not None:
        return replace(_narrow(given), shared=arc_sharing(given.graph))
    first, best = _widths(given)
    return Tuning(given.key(first), given.key(2 * best), 4 * BLOCK_THREADS, arc_sharing(given.graph))


def tuned_grid(given: TuningInput) -> Tuning:
    """Return the tuning of Near-Far where all blocks share a search."""
    if given.info.kind == "cpu" or given.delta is not None:
        return _narrow(given)
    first, best = _widths(given)
    widest = 64 * typical_weight(given.graph) * given.graph.n / max(given.graph.arcs, 1)
    return Tuning(given.key(first), given.key(max(widest, best)), 2048 * given.info.units)


def _narrow(given: TuningInput) -> Tuning:
    """Return the tuning with the width that was asked for, or else the one with the least work."""
    if given.delta is not None:
        return Tuning(given.key(given.delta), given.key(given.delta), 0)
    first, best = _widths(given)
    return Tuning(given.key(first), given.key(best), PATIENT)


def _widths(given: TuningInput) -> tuple[float, float]:
    """Return the widths of the first bucket and of the one that keeps extra work small."""
    best = default_delta(given.graph)
    return min(typical_weight(given.graph), best), best

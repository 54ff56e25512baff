"""The engines, and how wide Near-Far's buckets are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.device.base import DeviceInfo
from hpcsolve.problems.graph import Graph

Engine = Literal[
    "near-far", "near-far-block", "near-far-grid", "dijkstra", "bellman-ford-push", "bellman-ford-pull", "k-pull"
]
BLOCK_THREADS = 256
"""Of a block; some 130 vertices of a road network wait at a time."""
BLOCKS_A_MULTIPROCESSOR = 6
"""That fit by registers (40 a thread) and shared memory (33 KB) on an H200."""
_FILES = {"near-far-block": "paths/near_far", "near-far-grid": "paths/near_far_grid", "dijkstra": "paths/dijkstra"}
_SWEEPS = {"bellman-ford-push": 0, "bellman-ford-pull": 1, "k-pull": 3}


@dataclass(frozen=True)
class Tuning:
    """How an engine works; the answer does not depend on it.

    Attributes
    ----------
    delta, most
        Keys: width of Near-Far's first bucket and of its widest.
    setting
        Near-Far: arcs a round from which a bucket is wide enough. Bellman-Ford: sweeps between looks, 0 pushes.
    """

    delta: int
    most: int
    setting: int


def file_of(engine: Engine) -> str:
    """The file of cuda_src with its kernels."""
    return _FILES.get(engine, "paths/bellman_ford")


def chosen_engine(engine: Engine, graph: Graph, searches: int, info: DeviceInfo) -> Engine:
    """What "near-far" means here: a block a search, or the whole grid for one search after the other.

    A grid pays on a GPU where frontiers are large (many arcs a vertex, so few steps) and searches too few to fill the
    GPU with a block each.
    """
    if engine != "near-far":
        return engine
    wide = graph.arcs > 8 * graph.n and graph.arcs > 1 << 20
    return "near-far-grid" if info.kind == "cuda" and wide and searches < info.units // 2 else "near-far-block"


def concurrent_blocks(info: DeviceInfo) -> int:
    """Blocks that a device works on at the same time."""
    return info.units * BLOCKS_A_MULTIPROCESSOR if info.kind == "cuda" else info.units


def is_whole(engine: Engine) -> bool:
    """Whether an engine's keys need no bit of their own."""
    return engine in _SWEEPS


def scratch_room(engine: Engine, n: int) -> int:
    """Entries of a block's scratch."""
    return {"near-far-block": n, "dijkstra": 2 * n}.get(engine, 1)


def default_delta(graph: Graph) -> float:
    """A bucket's width that keeps extra work small: a typical weight, times 35 over the square of the mean degree.

    Roads (degree 2.5 to 3) get some 5 such weights, grids 2, power-law graphs a tenth and less: what
    jobs/benchmarks/shortest_paths.py found best.
    """
    degree = max(graph.arcs / max(graph.n, 1), 1.5)
    return typical_weight(graph) * min(35 / degree**2, 16)


def typical_weight(graph: Graph) -> float:
    """The mean weight, but twice the median at most: a few heavy arcs say nothing of the others. 1 without arcs."""
    if not graph.arcs:
        return 1.0
    some = graph.weights[:: -(-graph.arcs // 100_000)]
    return min(float(graph.weights.mean()), 2 * float(np.median(some)) or np.inf)


def tuning_of(engine: Engine, graph: Graph, keys: Keys, delta: float | None, info: DeviceInfo, limit: int) -> Tuning:
    """The tuning of an engine for a graph; `delta`, in the unit of `graph.weights`, makes the buckets' width constant.

    A GPU needs many arcs a round to be busy, and accepts more work for it; a CPU wants the least work.
    """
    if engine in _SWEEPS:
        return Tuning(1, 1, _SWEEPS[engine])

    def key(width: float) -> int:
        return min(max(1, keys.encode_one(width)), limit)

    if delta is not None:
        return Tuning(key(delta), key(delta), 0)
    mean, best = typical_weight(graph), default_delta(graph)
    if info.kind == "cpu":
        return Tuning(key(min(mean, best)), key(best), 2**32 - 1)
    if engine == "near-far-block":
        return Tuning(key(min(mean, best)), key(2 * best), 4 * BLOCK_THREADS)
    widest = 64 * mean * graph.n / max(graph.arcs, 1)
    return Tuning(key(min(mean, best)), key(max(widest, best)), 2048 * info.units)

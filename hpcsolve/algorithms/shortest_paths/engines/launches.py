"""Searches one by one: how they are tuned for a graph and a device, and launches by a block each or by the whole grid.

A batch of searches by a block each is one launch, in which each block takes one search after the other
(cuda_src/paths/solve.cuh). Searches by the whole grid, one after the other, take many launches, and the host reads the
state after some of them (cuda_src/paths/near_far_grid.cu).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.shortest_paths.searches import BLOCK_THREADS, WANTS_ROWS, WANTS_TARGETS, Batch, Searcher
from hpcsolve.device.base import Argument, Buffer, DeviceInfo
from hpcsolve.problems.graph import Graph

BLOCKS_A_MULTIPROCESSOR = 5
"""The most blocks per multiprocessor that are used: as many as code for sm_90 allows. The driver may allow fewer."""
PATIENT = 2**32 - 1
"""More arcs than a round ever relaxes. With this setting buckets always widen, up to the widest."""
GRID_FILE = "paths/near_far_grid"
STATE = 39
"""Number of 64-bit words of the kernels' struct `progress`. DONE, RELAXED, ROUNDS and CUTOFF are indices into it."""
DONE, RELAXED, ROUNDS, CUTOFF = 15, 36, 37, 38
FIRST_BATCH, LAST_BATCH = 16, 1024
"""Launches between two reads of the state, at first and at most."""
GRID_BYTES_A_VERTEX = 28
"""Bytes per vertex of the queues, those of hubs included."""


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


def launch_by_blocks(searcher: Searcher, batch: Batch) -> None:
    """Solve a batch. A search that overflows its block's scratch is made again by the whole grid."""
    searcher.launch(searcher.engine.file, min(searcher.blocks, len(batch.searches)), batch)
    overflowed = batch.out["overflowed"]
    assert overflowed is not None
    for number in np.flatnonzero(overflowed.download()).tolist():
        solve_by_grid(searcher, batch, number)


def launch_by_grid(searcher: Searcher, batch: Batch) -> None:
    """Solve a batch."""
    for number in range(len(batch.searches)):
        solve_by_grid(searcher, batch, number)


def solve_by_grid(searcher: Searcher, batch: Batch, number: int) -> None:
    """Solve one search of a batch."""
    own = batch.only(number, searcher.graph.n)
    state = search_by_grid(searcher, own)
    cutoff, wanted = int(state[CUTOFF]), batch.wanted
    if wanted & WANTS_ROWS and not wanted & WANTS_TARGETS and not searcher.graph.plateaus:
        keys, out = searcher.work["keys"], own.groups()["out"]
        name = f"near_far_grid_row_{searcher.keys.code}"
        blocks = searcher.device.resident_blocks(GRID_FILE, name, searcher.threads)
        row = searcher.device.kernel(GRID_FILE, name)
        row(blocks, searcher.threads, wanted=wanted, cutoff=cutoff, keys=keys, net=searcher.net, out=out)
        keys.fill(255)
    else:
        searcher.launch(GRID_FILE, 1, own, cutoff)
    counts, work = own.out["counts"], own.out["work"]
    assert counts is not None and work is not None
    if cutoff < searcher.cutoff:  # an early end, since all targets were settled: arcs beyond the cutoff are no fault
        counts.view(1, 1).fill(0)
    work.upload(state[[RELAXED, ROUNDS]])


def search_by_grid(searcher: Searcher, own: Batch) -> NDArray[np.uint64]:
    """Make one search, whose keys go to the first row, and return the state at its end."""
    device, n, code = searcher.device, searcher.graph.n, searcher.keys.code
    first_seed, end_seed, first_target, end_target, _ = own.searches.table[0].tolist()
    seeds, targets = end_seed - first_seed, 0 if own.wanted & WANTS_ROWS else end_target - first_target
    queues = _queues(searcher)
    state, keys = device.empty(STATE, np.uint64), searcher.work["keys"].view(0, n)
    threads = searcher.threads
    grid = device.resident_blocks(GRID_FILE, f"near_far_grid_step_{code}", threads)
    begin = device.kernel(GRID_FILE, f"near_far_grid_begin_{code}")
    begin(grid, threads, seeds=seeds, delta=searcher.tuning.delta, seed=own.asked["seed"].view(first_seed, seeds),
          far=queues["far"], words=keys, state=state)
    step = device.kernel(GRID_FILE, f"near_far_grid_step_{code}")
    hub = {"hub_room": queues["hub"].shape[1], "hub_degree": searcher.hub}
    arguments: dict[str, Argument] = {
        "targets": targets, "cutoff": searcher.cutoff, "target": own.asked["target"].view(first_target, targets),
        "net": searcher.net, "how": searcher.how(), "waiting": {**queues, **hub}, "words": keys, "state": state,
    }
    taken, seen = 0, state.download()
    while not seen[DONE + taken % 3]:
        steps = range(taken, taken + (searcher.batch or min(max(FIRST_BATCH, taken // 4), LAST_BATCH)))
        step.each("step", steps, grid, threads, **arguments)
        taken, seen = steps.stop, state.download()
    finish = device.kernel(GRID_FILE, f"near_far_grid_finish_{code}")
    finish(grid, threads, n=n, words=keys, state=state)
    for buffer in (*queues.values(), state):
        buffer.free()
    return seen


def _queues(searcher: Searcher) -> dict[str, Buffer]:
    """Return empty queues, two of each kind. A hub has more than `searcher.hub` arcs, which limits their number."""
    device, n, arcs = searcher.device, searcher.graph.n, int(searcher.graph.offsets[-1])
    room = 1 + arcs // max(1, searcher.hub)
    return {
        "near": device.empty((2, n), np.uint32),
        "far": device.empty((2, n), np.uint32),
        "hub": device.empty((2, room), np.uint32),
        "hub_word": device.empty((2, room), searcher.keys.dtype),
    }

"""Searches by the whole grid, one after the other, in many launches. The host reads the state after some of them.

See cuda_src/paths/near_far_grid.cu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.batch import Batch
from hpcsolve.algorithms.shortest_paths.searches import WANTS_ROWS, WANTS_TARGETS
from hpcsolve.device.base import Argument, Buffer

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher

FILE = "paths/near_far_grid"
STATE = 39
"""Number of 64-bit words of the kernels' struct `progress`. DONE, RELAXED, ROUNDS and CUTOFF are indices into it."""
DONE, RELAXED, ROUNDS, CUTOFF = 15, 36, 37, 38
FIRST_BATCH, LAST_BATCH = 16, 1024
"""Launches between two reads of the state, at first and at most."""
BYTES_A_VERTEX = 28
"""Bytes per vertex of the queues, those of hubs included."""


def launch(searcher: Searcher, batch: Batch) -> None:
    """Solve a batch."""
    for number in range(len(batch.searches)):
        solve(searcher, batch, number)


def solve(searcher: Searcher, batch: Batch, number: int) -> None:
    """Solve one search of a batch."""
    own = batch.only(number, searcher.graph.n)
    state = search(searcher, own)
    cutoff, wanted = int(state[CUTOFF]), batch.wanted
    if wanted & WANTS_ROWS and not wanted & WANTS_TARGETS and not searcher.graph.plateaus:
        keys, out = searcher.work["keys"], own.groups()["out"]
        name = f"near_far_grid_row_{searcher.keys.code}"
        row, blocks = searcher.device.kernel(FILE, name), searcher.device.resident_blocks(FILE, name, searcher.threads)
        row(blocks, searcher.threads, wanted=wanted, cutoff=cutoff, keys=keys, net=searcher.net, out=out)
        keys.fill(255)
    else:
        searcher.launch(FILE, 1, own, cutoff)
    counts, work = own.out["counts"], own.out["work"]
    assert counts is not None and work is not None
    if cutoff < searcher.cutoff:  # an early end, since all targets were settled: arcs beyond the cutoff are no fault
        counts.view(1, 1).fill(0)
    work.upload(state[[RELAXED, ROUNDS]])


def search(searcher: Searcher, own: Batch) -> NDArray[np.uint64]:
    """Make one search, whose keys go to the first row, and return the state at its end."""
    device, n, code = searcher.device, searcher.graph.n, searcher.keys.code
    first_seed, end_seed, first_target, end_target, _ = own.searches.table[0].tolist()
    seeds, targets = end_seed - first_seed, 0 if own.wanted & WANTS_ROWS else end_target - first_target
    queues = _queues(searcher)
    state, keys = device.empty(STATE, np.uint64), searcher.work["keys"].view(0, n)
    threads = searcher.threads
    grid = device.resident_blocks(FILE, f"near_far_grid_step_{code}", threads)
    begin = device.kernel(FILE, f"near_far_grid_begin_{code}")
    begin(grid, threads, seeds=seeds, delta=searcher.tuning.delta, seed=own.asked["seed"].view(first_seed, seeds),
          far=queues["far"], words=keys, state=state)
    step = device.kernel(FILE, f"near_far_grid_step_{code}")
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
    finish = device.kernel(FILE, f"near_far_grid_finish_{code}")
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

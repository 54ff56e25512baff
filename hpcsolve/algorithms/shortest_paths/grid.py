"""The grid engine's host side: launches in a row, a look now and then (cuda_src/near_far_grid.cu)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines import concurrent_blocks
from hpcsolve.algorithms.shortest_paths.jobs import WANTS_ROWS, WANTS_TARGETS, Jobs
from hpcsolve.device.base import Buffer

if TYPE_CHECKING:
    from hpcsolve.algorithms.shortest_paths.searcher import Searcher

FILE = "paths/near_far_grid"
STATE = 39
"""Words of the kernels' `progress`; DONE, RELAXED, ROUNDS, HORIZON stand in it."""
DONE, RELAXED, ROUNDS, HORIZON = 15, 36, 37, 38
FIRST_BATCH, LAST_BATCH = 16, 1024


def solve(
    searcher: Searcher, jobs: Jobs, number: int, wanted: int, own: dict[str, Buffer], out: dict[str, Buffer],
    path_room: int,
) -> None:  # fmt: skip
    """One job of a batch; its answers go where the batch's go."""
    device, n = searcher.device, searcher.layout.n
    state = search(searcher, jobs, number, wanted & WANTS_ROWS == 0, own)
    horizon = int(state[HORIZON])
    rows = {name: out[name].view(number * n, n) if out[name].shape != (1,) else out[name]
            for name in ("distance", "predecessor")}  # fmt: skip
    own_out = {**out, **rows, "counts": out["counts"].view(3 * number, 3)}
    if wanted & WANTS_ROWS and not wanted & WANTS_TARGETS and not searcher.layout.plateaus:
        table, work = searcher.tables, searcher.work
        kernel = device.kernel(FILE, f"near_far_grid_row_{searcher.keys.code}")
        kernel(
            concurrent_blocks(device.info), searcher.threads, n, wanted, horizon, table["in_offsets"], table["in_arcs"],
            table["order"], work["keys"], own_out["distance"], own_out["predecessor"], own_out["counts"],
        )  # fmt: skip
        work["keys"].fill(255)
    else:
        job = device.upload(jobs.table[number])
        own_out |= {name: device.zeros(shape, dtype) for name, shape, dtype in
                    (("overflowed", 1, np.uint32), ("work", 2, np.uint64))}  # fmt: skip
        searcher.launch(FILE, 1, 1, wanted, {**own, "jobs": job}, own_out, path_room, horizon)
        for buffer in (job, own_out["overflowed"], own_out["work"]):
            buffer.free()
    if horizon < searcher.limit:  # nothing was cut off: everything asked for is nearer
        own_out["counts"].view(1, 1).fill(0)
    out["work"].view(2 * number, 2).upload(state[[RELAXED, ROUNDS]])


def search(searcher: Searcher, jobs: Jobs, number: int, early: bool, own: dict[str, Buffer]) -> NDArray[np.uint64]:
    """Search one job into the first row of keys; the state at its end."""
    device, n, code = searcher.device, searcher.layout.n, searcher.keys.code
    first_seed, end_seed, first_target, end_target, _ = jobs.table[number].tolist()
    room = 1 + searcher.layout.offsets[-1] // max(1, searcher.hub)
    shapes: dict[str, tuple[Any, Any]] = {
        "near": ((2, n), np.uint32),
        "far": ((2, n), np.uint32),
        "hubs": ((2, room), np.uint32),
        "hub_keys": ((2, room), searcher.keys.dtype),
        "state": (STATE, np.uint64),
    }
    buffers = {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
    keys, state, tuning = searcher.work["keys"].view(0, n), buffers["state"], searcher.tuning
    seeds = own["seeds"].view(first_seed, end_seed - first_seed)
    targets = own["targets"].view(first_target, max(1, end_target - first_target)) if end_target else own["targets"]
    grid = concurrent_blocks(device.info)
    begin = device.kernel(FILE, f"near_far_grid_begin_{code}")
    begin(grid, searcher.threads, end_seed - first_seed, tuning.delta, seeds, buffers["far"], keys, state)
    step = device.kernel(FILE, f"near_far_grid_step_{code}")
    count = end_target - first_target if early else 0
    taken, seen = 0, state.download()
    while not seen[DONE + taken % 3]:
        steps = range(taken, taken + (searcher.batch or min(max(FIRST_BATCH, taken // 4), LAST_BATCH)))
        step.each(
            "step", steps, grid, searcher.threads, n=n, targets=count, setting=tuning.setting, hub=searcher.hub,
            hub_room=room, delta=tuning.delta, most=tuning.most, limit=searcher.limit, target=targets,
            offsets=searcher.tables["offsets"], arcs=searcher.tables["arcs"], near=buffers["near"],
            far=buffers["far"], hubs=buffers["hubs"], hub_words=buffers["hub_keys"], words=keys, state=state,
        )  # fmt: skip
        taken, seen = steps.stop, state.download()
    finish = device.kernel(FILE, f"near_far_grid_finish_{code}")
    finish(grid, searcher.threads, n, keys, state)
    for buffer in buffers.values():
        buffer.free()
    return seen

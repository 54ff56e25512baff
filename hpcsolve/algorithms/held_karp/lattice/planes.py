"""The distributed dynamic program: two half runs that meet in the middle, on every rank's own device.

A half run is a wave of steps. In each step every slice of the rank works on the next chunk of its layers, all in one
launch. Then the planes of top cities go to other slices: those of the same rank read them where they are, other ranks
get messages. cuda_src/held_karp/held_karp.cu describes the layout. Only the middle layer is kept. The tour is recovered
from two problems of about half the cities.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.held_karp.lattice.half_run import (
    BLOCK_THREADS,
    FILE,
    HalfBuffers,
    HalfRun,
    Statistics,
    later_chunks,
)
from hpcsolve.algorithms.held_karp.lattice.plan import STRETCH, Plan
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.resume import LayerCheckpoints, layer_checkpoints, whole_layers
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import Buffer, Device
from hpcsolve.parallel.comm import Comm


@dataclass(frozen=True)
class Meeting:
    """The state of the middle layer that the cheapest tour goes through, and the cost of that tour.

    Attributes
    ----------
    top_set, city
        The slice, a bit for each top city; and the number of the mid city where the halves meet.
    entry
        Where the state stands in the plane of that city: the colex rank of the mid set, then the low set.
    """

    value: int
    top_set: int
    city: int
    entry: int


def meet(
    reduced: ReducedCosts, plan: Plan, device: Device, comm: Comm, report: Report, statistics: Statistics,
    checkpoints: Checkpoints = NONE,
) -> Meeting:
    """Run both halves and return where the best tour passes the middle, the same on all ranks. Collective.

    Of equal tours it is the one with the smallest (slice, city, entry). A value of at least `reduced.infinity` means
    that there is no tour.
    """
    statistics.layer_timers = [device.timer() for _ in range(plan.split.middle + 1)]
    statistics.layer_bytes_sent = [0] * (plan.split.middle + 1)
    kept = layer_checkpoints(plan, device, comm, checkpoints)
    mine = None
    if plan.slices:
        mine = _meet_on_device(reduced, plan, device, comm, report, statistics, kept)
    else:
        _idle(plan, kept)
    started = time.perf_counter()
    found = [m for m in comm.allgather(mine) if m is not None]
    statistics.seconds_wait += time.perf_counter() - started
    return min(found, key=lambda m: (m.value, m.top_set, m.city, m.entry))


def _idle(plan: Plan, kept: LayerCheckpoints) -> None:
    """Take part in the checkpoints of the ranks that have slices."""
    for half in range(len(plan.half_runs())):
        table = later_chunks(plan, kept.begin(half))
        for layer in whole_layers(table, plan.lag, plan.split.top) if len(table) else ():
            if layer is not None:
                kept.reached(half, layer, (), None)


def _meet_on_device(reduced: ReducedCosts, plan: Plan, device: Device, comm: Comm, report: Report,
                    statistics: Statistics, kept: LayerCheckpoints) -> Meeting:
    """Run both halves, and return the cheapest meeting on this rank. Collective with `_idle`."""
    split, dtype, parity = plan.split, reduced.dtype, plan.split.middle % 2
    forward = device.empty(plan.slices * split.stored(parity), dtype)
    backward = forward if plan.symmetric else device.empty(forward.shape, dtype)
    other = device.empty(plan.slices * split.stored(1 - parity), dtype)
    stream = device.empty(plan.stream_values(), dtype)
    shares = len(plan.half_runs())
    for half, (slots, stored, cost) in enumerate(
        zip(plan.half_runs(), (forward, backward), (reduced.cost, reduced.cost.T), strict=False)
    ):
        buffers = HalfBuffers(*((stored, other) if parity == 0 else (other, stored)), stream)
        memory = buffers.even, buffers.odd
        kept.load(half, memory)
        if kept.begin(half) == split.middle:
            continue
        # Not bound to a name, so that this half run's staging is freed before the next one's is allocated.
        HalfRun(plan, slots, cost, reduced, device, comm, buffers, kept.begin(half)).run(
            statistics, lambda done, base=half: report((base + done) / shares),
            partial(kept.reached, half, memory=memory, forward=forward if half else None),
        )
    other.free()
    stream.free()
    meeting = _middle(plan, dtype, device, forward, backward, statistics)
    for buffer in (forward,) if plan.symmetric else (forward, backward):
        buffer.free()
    return meeting


def _middle(plan: Plan, dtype: np.dtype[np.unsignedinteger], device: Device, forward: Buffer, backward: Buffer,
            statistics: Statistics) -> Meeting:
    """Return the cheapest meeting on this rank.

    The device finds the best stretch of the middle layer, the host the entry in it.
    """
    split, stretches = plan.split, plan.stretches
    length, slice_size = split.plane(split.middle), split.stored(split.middle % 2)
    best = device.empty(plan.slices * split.mid * stretches, np.uint32)
    best.fill(0xFF)
    kernel = device.kernel(FILE, f"held_karp_meet_u{plan.itemsize}")
    timer = device.timer()
    timer.start()
    layer = {"slices": plan.slices, "mid": split.mid, "stretches": stretches, "stretch": STRETCH, "length": length,
             "slice_size": slice_size}
    kernel(best.shape[0], BLOCK_THREADS, layer=layer, forward=forward, backward=backward, best=best)
    timer.stop()
    statistics.middle_timer.append(timer)
    values = best.download()
    best.free()
    winner = int(values.argmin())
    city, nth = divmod(winner % (split.mid * stretches), stretches)
    row = winner // (split.mid * stretches)
    begin, end = nth * STRETCH, min((nth + 1) * STRETCH, length)
    here = forward.view(row * slice_size + city * length + begin, end - begin).download()
    partner = (plan.slices - 1 - row) * slice_size + (city + 1) * length
    there = backward.view(partner - end, end - begin).download()[::-1]
    entry = begin + int((here.astype(np.int64) + there).argmin())
    return Meeting(int(values[winner]), plan.forward.slices[row], city, entry)

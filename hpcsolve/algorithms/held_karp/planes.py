"""The distributed dynamic program: two half runs that meet in the middle, on every rank's own device.

A half run is a wave of steps: in each, every slice of the rank works on the next chunk of its layers, in one launch,
and the planes of Top cities that this made go on, within the rank where they stand, to other ranks as messages. See
cuda_src/held_karp.cu for the layout. Nothing is kept but the middle layer; the tour is rebuilt from two half problems
of about half the cities.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.held_karp.plan import BINOMIAL, COST_STRIDE, STRETCH, Plan
from hpcsolve.algorithms.held_karp.reduce import Reduced
from hpcsolve.algorithms.held_karp.split import Places, chunks
from hpcsolve.device.base import Argument, Buffer, Device, Timer
from hpcsolve.parallel.comm import Comm, Request

FILE = "held_karp/held_karp"
BLOCK_THREADS = 128
REPORT_SECONDS = 0.5


@dataclass
class Statistics:
    """What a rank did, for `/layers` and `/ranks`."""

    layer_timers: list[Timer] = field(default_factory=list)
    middle_timer: list[Timer] = field(default_factory=list)
    layer_bytes_sent: list[int] = field(default_factory=list)
    seconds_copy: float = 0.0
    seconds_wait: float = 0.0


@dataclass(frozen=True)
class Meeting:
    """The cheapest state of the middle layer: of all tours through it the least, and where."""

    value: int
    top_set: int
    city: int
    entry: int


@dataclass(frozen=True)
class Halves:
    """A half run's buffers: the layers with an even and an odd number of mid cities, and the stream."""

    even: Buffer
    odd: Buffer
    stream: Buffer


def meet(reduced: Reduced, plan: Plan, device: Device, comm: Comm, report: Report, statistics: Statistics) -> Meeting:
    """Run both halves and find where the best tour passes the middle, the smallest (slice, city, entry) of equal ones.

    The same on all ranks; a value of at least `reduced.infinity` means that there is no tour.
    """
    statistics.layer_timers = [device.timer() for _ in range(plan.split.middle + 1)]
    statistics.layer_bytes_sent = [0] * (plan.split.middle + 1)
    mine = _meet_on_device(reduced, plan, device, comm, report, statistics) if plan.slices else None
    started = time.perf_counter()
    found = [m for m in comm.allgather(mine) if m is not None]
    statistics.seconds_wait += time.perf_counter() - started
    return min(found, key=lambda m: (m.value, m.top_set, m.city, m.entry))


def _meet_on_device(reduced: Reduced, plan: Plan, device: Device, comm: Comm, report: Report,
                    statistics: Statistics) -> Meeting:
    split, dtype, parity = plan.split, reduced.dtype, plan.split.middle % 2
    forward = device.empty(plan.slices * split.stored(parity), dtype)
    backward = forward if plan.symmetric else device.empty(forward.shape, dtype)
    other = device.empty(plan.slices * split.stored(1 - parity), dtype)
    stream = device.empty(plan.stream_values(), dtype)
    shares = len(plan.half_runs())
    for half, (places, kept, cost) in enumerate(
        zip(plan.half_runs(), (forward, backward), (reduced.cost, reduced.cost.T), strict=False)
    ):
        halves = Halves(*((kept, other) if parity == 0 else (other, kept)), stream)
        # Not kept in a name, so that one half run's staging is gone before the next one's is made.
        HalfRun(plan, places, cost, reduced, device, comm, halves).run(
            statistics, lambda done, base=half: report((base + done) / shares)
        )
    other.free()
    stream.free()
    meeting = _middle(plan, dtype, device, forward, backward, statistics)
    for buffer in {id(forward): forward, id(backward): backward}.values():
        buffer.free()
    return meeting


class HalfRun:
    """One wave from the depot to the middle layer."""

    def __init__(self, plan: Plan, places: Places, cost: NDArray[np.int64], reduced: Reduced, device: Device,
                 comm: Comm, halves: Halves) -> None:
        self.plan, self.places, self.device, self.comm, self.halves = plan, places, device, comm, halves
        self.chunks = chunks(plan.split, plan.chunk_size)
        depot = np.full(1 << plan.split.low, reduced.infinity, reduced.dtype)
        depot[0] = 0
        arrays = {"binomial": BINOMIAL, "chunks": self.chunks, "slices": places.table,
                  "stage_start": places.level_start, "cost": cost_patterns(cost, reduced)}
        self.tables = {name: device.upload(array) for name, array in arrays.items()}
        self.depot = device.upload(depot)
        self.kernel = device.kernel(FILE, f"held_karp_layer_u{plan.itemsize}")
        self.arguments = self._arguments()
        largest = plan.chunk_size << plan.split.low
        self.staging = [
            {group: device.staging(group[3] * largest, reduced.dtype) for group in (*places.outgoing, *places.incoming)}
            for _ in range(plan.lag)
        ]
        self.sends: list[list[Request]] = [[] for _ in range(plan.lag)]
        self.receives: list[list[tuple[Request, Buffer, NDArray[np.unsignedinteger]]]] = [[] for _ in range(plan.lag)]

    def run(self, statistics: Statistics, report: Report) -> None:
        """All steps; afterwards the middle layer is complete on this rank."""
        told = time.perf_counter()
        for step in range(self.plan.steps):
            self._arrive(step, statistics)
            layer = int(self.chunks[min(step, self.plan.chunk_count - 1), 0])
            timer = statistics.layer_timers[layer]
            timer.start()
            self.kernel(self.plan.slices * self.plan.chunk_size, BLOCK_THREADS, step=step, **self.arguments)
            timer.stop()
            self._depart(step, statistics)
            if time.perf_counter() - told > REPORT_SECONDS:
                self.device.synchronize()
                report((step + 1) / self.plan.steps)
                told = time.perf_counter()
        for step in range(self.plan.steps, self.plan.steps + self.plan.lag):
            self._arrive(step, statistics)
        self.device.synchronize()
        for table in (*self.tables.values(), self.depot):
            table.free()

    def _arguments(self) -> dict[str, Argument]:
        """What every step's launch gets but the step."""
        plan, split, own = self.plan, self.plan.split, self.halves
        return {
            "split": {"low": split.low, "mid": split.mid, "top": split.top},
            "wave": {"lag": plan.lag, "chunks": plan.chunk_count, "chunk_size": plan.chunk_size,
                     "slots": self.places.count},
            "tables": self.tables,
            "states": {"even_size": split.stored(0), "odd_size": split.stored(1), "depot": self.depot,
                       "even": own.even, "odd": own.odd, "stream": own.stream},
        }

    def _arrive(self, step: int, statistics: Statistics) -> None:
        """What was sent `lag` steps ago is here, and its staging is free again."""
        started = time.perf_counter()
        slot = step % self.plan.lag
        for request in self.sends[slot]:
            request.wait()
        for request, _, _ in self.receives[slot]:
            request.wait()
        waited = time.perf_counter()
        for _, target, array in self.receives[slot]:
            target.upload(array)
        self.sends[slot], self.receives[slot] = [], []
        statistics.seconds_wait += waited - started
        statistics.seconds_copy += time.perf_counter() - waited

    def _depart(self, step: int, statistics: Statistics) -> None:
        """Start the messages that carry this step's planes, in the order that both ends know."""
        if not self.staging[0]:
            return
        started = time.perf_counter()
        slot = step % self.plan.lag
        for group, source, _ in self._messages(self.places.incoming, step):
            array = self.staging[slot][group][: source.shape[0]]
            self.receives[slot].append((self.comm.receive(array, group[1]), source, array))
        for group, source, chunk in self._messages(self.places.outgoing, step):
            array = source.download(self.staging[slot][group][: source.shape[0]])
            self.sends[slot].append(self.comm.send(array, group[1]))
            statistics.layer_bytes_sent[int(self.chunks[chunk, 0])] += array.nbytes
        statistics.seconds_copy += time.perf_counter() - started

    def _messages(self, groups: list[tuple[int, int, int, int]], step: int) -> Iterator[
            tuple[tuple[int, int, int, int], Buffer, int]]:
        """The groups of planes that exist in this step: the group, where it stands in the stream, its chunk."""
        plan = self.plan
        for group in groups:
            level, _, first, count = group
            chunk = step - plan.lag * level
            if 0 <= chunk < plan.chunk_count:
                sets = int(self.chunks[chunk, 2])
                place = step % (plan.lag + 1) * self.places.count + int(self.places.level_start[level])
                start = (place * plan.chunk_size + first * sets) << plan.split.low
                yield group, self.halves.stream.view(start, count * sets << plan.split.low), chunk


def cost_patterns(cost: NDArray[np.int64], reduced: Reduced) -> NDArray[np.uint32]:
    """The matrix as kernels read it: shape (64 * 64,), uint32, the depot's row last, 16-bit values twice in a word."""
    m = len(cost) - 1
    square = np.full((COST_STRIDE, COST_STRIDE), reduced.infinity, np.uint32)
    square[:m, :m] = cost[:m, :m]
    square[-1, :m] = cost[m, :m]
    return (square * np.uint32(0x10001) if reduced.itemsize == 2 else square).reshape(-1)


def _middle(plan: Plan, dtype: np.dtype[np.unsignedinteger], device: Device, forward: Buffer, backward: Buffer,
            statistics: Statistics) -> Meeting:
    """The cheapest meeting on this rank: first the best of each stretch on the device, then one stretch on the host."""
    split, stretches = plan.split, plan.stretches
    length, slice_size = split.plane(split.middle), split.stored(split.middle % 2)
    best = device.empty(plan.slices * split.mid * stretches, np.uint32)
    best.fill(0xFF)
    kernel = device.kernel(FILE, f"held_karp_middle_u{plan.itemsize}")
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

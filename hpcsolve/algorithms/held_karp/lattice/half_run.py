"""One half run: a wave of steps from the depot to the middle layer, with its messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.held_karp.lattice.plan import BINOMIAL, COST_STRIDE, Plan
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.resume import NO_LAYER, whole_layers
from hpcsolve.algorithms.held_karp.lattice.split import Message, StreamSlots, chunks
from hpcsolve.device.base import Argument, Buffer, Device, Timer
from hpcsolve.errors import HpcsolveError
from hpcsolve.parallel.comm import Comm, Request

FILE = "held_karp/held_karp"
BLOCK_THREADS = 64
"""Two warps: a third would find few sets of one size left (1, 2, 3, 2 and 1 pairs with 16-bit states)."""
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
class HalfBuffers:
    """A half run's buffers: the layers with an even and an odd number of mid cities, and the stream."""

    even: Buffer
    odd: Buffer
    stream: Buffer


class HalfRun:
    """One wave from the depot to the middle layer."""

    def __init__(self, plan: Plan, slots: StreamSlots, cost: NDArray[np.int64], reduced: ReducedCosts, device: Device,
                 comm: Comm, buffers: HalfBuffers, layer: int = NO_LAYER) -> None:
        self.plan, self.slots, self.device, self.comm, self.buffers = plan, slots, device, comm, buffers
        self.chunks = later_chunks(plan, layer)
        depot = np.full(1 << plan.split.low, reduced.infinity, reduced.dtype)
        depot[0] = 0
        arrays = {"binomial": BINOMIAL, "chunks": self.chunks, "slices": slots.table,
                  "stage_start": slots.stage_start, "cost": cost_patterns(cost, reduced)}
        self.tables = {name: device.upload(array) for name, array in arrays.items()}
        self.depot = device.upload(depot)
        self.kernel = device.kernel(FILE, f"held_karp_step_u{plan.itemsize}")
        self.arguments = self._arguments()
        largest = plan.chunk_size << plan.split.low
        self.staging = [
            {message: device.staging(message.count * largest, reduced.dtype)
             for message in (*slots.outgoing, *slots.incoming)}
            for _ in range(plan.lag)
        ]
        self.sends: list[list[Request]] = [[] for _ in range(plan.lag)]
        self.receives: list[list[tuple[Request, Buffer, NDArray[np.unsignedinteger]]]] = [[] for _ in range(plan.lag)]

    def run(self, statistics: Statistics, report: Report, reached: Callable[[int], None] = lambda layer: None) -> None:
        """Run all steps. Afterwards the middle layer is complete on this rank.

        Parameters
        ----------
        reached
            Called with each layer once it is whole.
        """
        reported, whole = time.perf_counter(), whole_layers(self.chunks, self.plan.lag, self.plan.split.top)
        for step, whole_layer in enumerate(whole):
            self._arrive(step, statistics)
            layer = int(self.chunks[min(step, len(self.chunks) - 1), 0])
            timer = statistics.layer_timers[layer]
            timer.start()
            self.kernel(self.plan.slices * self.plan.chunk_size, BLOCK_THREADS, step=step, **self.arguments)
            timer.stop()
            self._depart(step, statistics)
            if time.perf_counter() - reported > REPORT_SECONDS:
                self.device.synchronize()
                report((step + 1) / len(whole))
                reported = time.perf_counter()
            if whole_layer is not None:
                self._reached(reached, step, whole_layer, statistics)
        self._arrive_all(len(whole), statistics)
        self.device.synchronize()
        for table in (*self.tables.values(), self.depot):
            table.free()

    def _reached(self, reached: Callable[[int], None], step: int, layer: int, statistics: Statistics) -> None:
        """Call `reached`. If the run stops there, wait for the messages under way first."""
        try:
            reached(layer)
        except HpcsolveError:
            self._arrive_all(step + 1, statistics)
            raise

    def _arrive_all(self, step: int, statistics: Statistics) -> None:
        for turn in range(step, step + self.plan.lag):
            self._arrive(turn, statistics)

    def _arguments(self) -> dict[str, Argument]:
        """Return the arguments that all steps' launches share."""
        plan, split, own = self.plan, self.plan.split, self.buffers
        return {
            "split": {"low": split.low, "mid": split.mid, "top": split.top},
            "wave": {"lag": plan.lag, "chunks": len(self.chunks), "chunk_size": plan.chunk_size,
                     "slots": self.slots.count},
            "tables": self.tables,
            "states": {"even_size": split.stored(0), "odd_size": split.stored(1), "depot": self.depot,
                       "even": own.even, "odd": own.odd, "stream": own.stream},
        }

    def _arrive(self, step: int, statistics: Statistics) -> None:
        """Wait for the messages of `lag` steps ago, upload what has arrived, and so free their staging."""
        started = time.perf_counter()
        turn = step % self.plan.lag
        for request in self.sends[turn]:
            request.wait()
        for request, _, _ in self.receives[turn]:
            request.wait()
        waited = time.perf_counter()
        for _, target, array in self.receives[turn]:
            target.upload(array)
        self.sends[turn], self.receives[turn] = [], []
        statistics.seconds_wait += waited - started
        statistics.seconds_copy += time.perf_counter() - waited

    def _depart(self, step: int, statistics: Statistics) -> None:
        """Start the messages that carry this step's planes, in the order that both ends know."""
        if not self.staging[0]:
            return
        started = time.perf_counter()
        turn = step % self.plan.lag
        for message, planes, _ in self._under_way(self.slots.incoming, step):
            array = self.staging[turn][message][: planes.shape[0]]
            self.receives[turn].append((self.comm.receive(array, message.peer), planes, array))
        for message, planes, chunk in self._under_way(self.slots.outgoing, step):
            array = planes.download(self.staging[turn][message][: planes.shape[0]])
            self.sends[turn].append(self.comm.send(array, message.peer))
            statistics.layer_bytes_sent[int(self.chunks[chunk, 0])] += array.nbytes
        statistics.seconds_copy += time.perf_counter() - started

    def _under_way(self, messages: list[Message], step: int) -> Iterator[tuple[Message, Buffer, int]]:
        """Yield each message that has planes in this step, its part of the stream, and its chunk."""
        plan = self.plan
        for message in messages:
            chunk = step - plan.lag * message.stage
            if 0 <= chunk < len(self.chunks):
                sets = int(self.chunks[chunk, 2])
                slot = step % (plan.lag + 1) * self.slots.count + int(self.slots.stage_start[message.stage])
                start = (slot * plan.chunk_size + message.first * sets) << plan.split.low
                yield message, self.buffers.stream.view(start, message.count * sets << plan.split.low), chunk


def later_chunks(plan: Plan, layer: int) -> NDArray[np.int32]:
    """Return the chunks of a half run's layers after this one."""
    table = chunks(plan.split, plan.chunk_size)
    return table[table[:, 0] > layer]


def cost_patterns(cost: NDArray[np.int64], reduced: ReducedCosts) -> NDArray[np.uint32]:
    """Return the cost matrix as kernels read it, uint32 of shape (64 * 64,).

    The depot's row is the last, and a 16-bit value stands twice in its word.
    """
    m = len(cost) - 1
    square = np.full((COST_STRIDE, COST_STRIDE), reduced.infinity, np.uint32)
    square[:m, :m] = cost[:m, :m]
    square[-1, :m] = cost[m, :m]
    return (square * np.uint32(0x10001) if reduced.itemsize == 2 else square).reshape(-1)

"""The distributed dynamic program: two half runs that meet in the middle, on every rank's own device.

A half run is a wave of steps from the depot to the middle layer. In each step every slice of the rank works on the next
chunk of its layers, all in one launch. Then the planes of top cities go to other slices: those of the same rank read
them where they are, other ranks get messages. cuda_src/held_karp/held_karp.cu describes the layout. Only the middle
layer is kept.

A checkpoint has the last layer that is complete in all slices, one row per slice. A slice needs nothing else to go on:
planes of top cities come from slices that work on the same layer. While a layer is computed, the one before stays in
memory, so no step of the wave waits for a checkpoint. In the backward run of an asymmetric problem, the middle layer of
the forward run is kept too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import (
    BINOMIAL,
    COST_STRIDE,
    STRETCH,
    Message,
    Share,
    Split,
    Stream,
)
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Part, State
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.transport import Exchange, Transport

FILE = "held_karp/held_karp"
BLOCK_THREADS = 64
"""Two warps: a third would find few sets of one size left (1, 2, 3, 2 and 1 pairs with 16-bit states)."""
REPORT_SECONDS = 0.5
NO_LAYER = -1
"""Number that stands for no layer."""
FORWARD, STORED = "forward", "stored"
"""The tables of a checkpoint: the middle layer of a forward run that has ended, and the layer of the present run."""
MOST_MEETINGS = 16
"""The most meetings of equal tours that are listed."""


@dataclass(frozen=True)
class Meeting:
    """A state of the middle layer that a cheapest tour goes through.

    Attributes
    ----------
    top_set, city
        The slice, a bit for each top city; and the number of the mid city where the halves meet.
    entry
        Where the state stands in the plane of that city: the colex rank of the mid set, then the low set.
    """

    top_set: int
    city: int
    entry: int

    def cities_before(self, split: Split) -> list[int]:
        """Return the cities that a tour visits before the city where the halves meet, ascending."""
        rank, low_set = divmod(self.entry, 1 << split.low)
        squeezed, size = 0, split.middle
        for element in range(split.mid - 2, -1, -1):
            if size and BINOMIAL[element, size] <= rank:
                squeezed |= 1 << element
                rank -= int(BINOMIAL[element, size])
                size -= 1
        below = (1 << self.city) - 1
        mid_set = (squeezed & below) | (squeezed & ~below) << 1
        whole = low_set | mid_set << split.low | self.top_set << (split.low + split.mid)
        return [c for c in range(split.cities) if whole >> c & 1]


@dataclass(frozen=True)
class Meetings:
    """Where the cheapest tours pass the middle.

    Attributes
    ----------
    value
        The cost of the cheapest tours; at least `no_path` of the costs if there is none.
    states
        At least one of their states, at most `MOST_MEETINGS`.
    complete
        Whether there are no others.
    """

    value: int
    states: tuple[Meeting, ...]
    complete: bool


def meet(
    reduced: ReducedCosts, share: Share, device: Device, comm: Comm, report: Report, statistics: Statistics,
    checkpoints: Checkpoints = NONE,
) -> Meetings:
    """Run both halves and return where the cheapest tours pass the middle, the same on all ranks. Collective."""
    statistics.begin(device, share.split.middle + 1)
    transport, mine = Transport(device, comm, share.crossing_bytes(), share.turns), None

    def synchronize() -> None:
        transport.flush()
        device.synchronize()

    kept = LayerCheckpoints(share, Boundary(comm, checkpoints, synchronize), checkpoints.saved)
    if share.slices:
        mine = _meet_on_device(reduced, share, device, transport, report, statistics, kept)
    else:
        with transport:
            _idle(share, kept)
    started = time.perf_counter()
    found = [m for m in comm.allgather(mine) if m is not None]
    statistics.seconds_wait += time.perf_counter() - started
    value = min(m.value for m in found)
    states = [state for m in found if m.value == value for state in m.states]
    complete = len(states) <= MOST_MEETINGS and all(m.complete for m in found if m.value == value)
    return Meetings(value, tuple(states[:MOST_MEETINGS]), complete)


def _idle(share: Share, kept: LayerCheckpoints) -> None:
    """Take part in the checkpoints of the ranks that have slices."""
    for half in range(len(share.half_runs())):
        table = later_chunks(share, kept.begin(half))
        for layer in whole_layers(table, share.lag, share.split.top) if len(table) else ():
            if layer is not None:
                kept.reached(half, layer, (), None)


def _meet_on_device(reduced: ReducedCosts, share: Share, device: Device, transport: Transport, report: Report,
                    statistics: Statistics, kept: LayerCheckpoints) -> Meetings:
    """Run both halves, and return the meetings of the cheapest tours on this rank. Collective with `_idle`."""
    split, dtype, parity = share.split, reduced.dtype, share.split.middle % 2
    forward = device.empty(share.slices * split.stored(parity), dtype)
    backward = forward if share.symmetric else device.empty(forward.shape, dtype)
    other = device.empty(share.slices * split.stored(1 - parity), dtype)
    stream = device.empty(share.stream_values(), dtype)
    shares = len(share.half_runs())
    with transport:
        for half, (planes, stored, cost) in enumerate(
            zip(share.half_runs(), (forward, backward), (reduced.cost, reduced.cost.T), strict=False)
        ):
            memory = (stored, other) if parity == 0 else (other, stored)
            kept.load(half, memory)
            if kept.begin(half) == split.middle:
                continue
            HalfRun(share, planes, cost, reduced, device, transport, memory, stream, kept.begin(half)).run(
                statistics, lambda done, base=half: report((base + done) / shares),
                partial(kept.reached, half, memory=memory, forward=forward if half else None),
            )
    other.free()
    stream.free()
    meetings = _middle(share, dtype, device, forward, backward, statistics)
    for buffer in (forward,) if share.symmetric else (forward, backward):
        buffer.free()
    return meetings


def _middle(share: Share, dtype: np.dtype[np.unsignedinteger], device: Device, forward: Buffer, backward: Buffer,
            statistics: Statistics) -> Meetings:
    """Return the meetings of the cheapest tours on this rank.

    The device finds the best value of each stretch of the middle layer, the host the entries with the best of all.
    """
    split, stretches = share.split, share.stretches
    length, slice_size = split.plane(split.middle), split.stored(split.middle % 2)
    best = device.empty(share.slices * split.mid * stretches, np.uint32)
    best.fill(0xFF)
    kernel = device.kernel(FILE, f"held_karp_meet_u{share.itemsize}")
    layer = {"slices": share.slices, "mid": split.mid, "stretches": stretches, "stretch": STRETCH, "length": length,
             "slice_size": slice_size}
    kernel(best.shape[0], BLOCK_THREADS, layer=layer, forward=forward, backward=backward, best=best)
    values = best.download()
    best.free()
    value, states = int(values.min()), []
    for winner in np.flatnonzero(values == value).tolist():
        row, stretch = divmod(winner, split.mid * stretches)
        city, nth = divmod(stretch, stretches)
        begin, end = nth * STRETCH, min((nth + 1) * STRETCH, length)
        here = forward.view(row * slice_size + city * length + begin, end - begin).download()
        partner = (share.slices - 1 - row) * slice_size + (city + 1) * length
        there = backward.view(partner - end, end - begin).download()[::-1]
        entries = begin + np.flatnonzero(here.astype(np.int64) + there == value)
        states += [Meeting(share.forward.slices[row], city, entry) for entry in entries.tolist()]
        if len(states) > MOST_MEETINGS:
            break
    return Meetings(value, tuple(states[:MOST_MEETINGS]), len(states) <= MOST_MEETINGS)


class HalfRun:
    """One wave from the depot to the middle layer.

    Parameters
    ----------
    memory
        The buffers of the layers with an even and with an odd number of mid cities.
    stream
        The buffer of the planes that slices exchange.
    layer
        The last layer that the buffers have already.
    """

    def __init__(self, share: Share, planes: Stream, cost: NDArray[np.int64], reduced: ReducedCosts, device: Device,
                 transport: Transport, memory: tuple[Buffer, Buffer], stream: Buffer, layer: int = NO_LAYER) -> None:
        self.share, self.planes, self.device, self.transport = share, planes, device, transport
        self.stream = stream
        self.chunks = later_chunks(share, layer)
        self.steps = len(self.chunks) + share.lag * share.split.top
        self.starts = planes.starts(self.chunks[:, 2], share.lag, self.steps)
        depot = np.full(1 << share.split.low, reduced.no_path, reduced.dtype)
        depot[0] = 0
        arrays = {"binomial": BINOMIAL, "chunks": self.chunks, "slices": planes.table, "starts": self.starts,
                  "cost": cost_patterns(cost, reduced)}
        self.tables = {name: device.upload(array) for name, array in arrays.items()}
        self.depot = device.upload(depot)
        self.kernel = device.kernel(FILE, f"held_karp_step_u{share.itemsize}")
        split, self.room = share.split, planes.count * share.chunk_size
        self.arguments: dict[str, Argument] = {  # all steps' launches share them
            "split": {"low": split.low, "mid": split.mid, "top": split.top},
            "wave": {"lag": share.lag, "chunks": len(self.chunks), "chunk_size": share.chunk_size,
                     "blocks": self.room, "columns": self.starts.shape[1]},
            "tables": self.tables,
            "states": {"even_size": split.stored(0), "odd_size": split.stored(1), "depot": self.depot,
                       "even": memory[0], "odd": memory[1], "stream": stream},
        }
        self.prepared: dict[tuple[int, bytes], Exchange] = {}

    def run(self, statistics: Statistics, report: Report, reached: Callable[[int], None] = lambda layer: None) -> None:
        """Run all steps. Afterwards the middle layer is complete on this rank.

        Parameters
        ----------
        reached
            Called with each layer once it is whole.
        """
        for layer, _, sets in self.chunks.tolist():
            statistics.layer_bytes_sent[layer] += self.planes.sent * sets * self.depot.nbytes
        reported, whole = time.perf_counter(), whole_layers(self.chunks, self.share.lag, self.share.split.top)
        under_way = deque[Exchange]()
        for step, whole_layer in enumerate(whole):
            if len(under_way) == self.share.lag:
                self._finish(under_way.popleft(), statistics)
            layer = int(self.chunks[min(step, len(self.chunks) - 1), 0])
            timer = statistics.layer_timers[layer]
            timer.start()
            self.kernel(self.share.slices * self.share.chunk_size, BLOCK_THREADS, step=step, **self.arguments)
            timer.stop()
            if self.planes.crossing:
                under_way.append(self._exchange(step))
                under_way[-1].start()
            if time.perf_counter() - reported > REPORT_SECONDS:
                self.device.mark().wait()
                report((step + 1) / len(whole))
                reported = time.perf_counter()
            if whole_layer is not None:
                reached(whole_layer)
        for exchange in under_way:
            self._finish(exchange, statistics)
        self.transport.forget()
        self.device.synchronize()
        for table in (*self.tables.values(), self.depot):
            table.free()

    def _finish(self, exchange: Exchange, statistics: Statistics) -> None:
        """Wait for the messages of a step, whose planes the next launch reads."""
        started = time.perf_counter()
        exchange.finish()
        statistics.seconds_wait += time.perf_counter() - started

    def _exchange(self, step: int) -> Exchange:
        """Return the messages with a step's planes. They are prepared once for all steps where they stand alike."""
        turn, first = step % self.share.turns, self.starts[step, : self.planes.crossing_parts + 1]
        key = turn, first.tobytes()
        if key not in self.prepared:
            self.prepared[key] = self.transport.exchange(
                turn, *(self._parts(messages, turn, first.tolist())
                        for messages in (self.planes.outgoing, self.planes.incoming)))
        return self.prepared[key]

    def _parts(self, messages: Sequence[Message], turn: int, first: Sequence[int]) -> list[tuple[Buffer, int]]:
        """Return of each message that has planes its memory in the stream, and the other rank."""
        found = []
        for message in messages:
            begin, end = first[message.parts.start], first[message.parts.stop]
            if end > begin:
                low = self.share.split.low
                view = self.stream.view((turn * self.room + begin) << low, (end - begin) << low)
                found.append((view, message.peer))
        return found


def later_chunks(share: Share, layer: int) -> NDArray[np.int32]:
    """Return the chunks of a half run's layers after this one."""
    return share.chunks[share.chunks[:, 0] > layer]


def cost_patterns(cost: NDArray[np.int64], reduced: ReducedCosts) -> NDArray[np.uint32]:
    """Return the cost matrix as kernels read it, uint32 of shape (64 * 64,).

    The depot's row is the last, and a 16-bit value stands twice in its word.
    """
    m = len(cost) - 1
    square = np.full((COST_STRIDE, COST_STRIDE), reduced.no_path, np.uint32)
    square[:m, :m] = cost[:m, :m]
    square[-1, :m] = cost[m, :m]
    return (square * np.uint32(0x10001) if reduced.itemsize == 2 else square).reshape(-1)


def whole_layers(chunks: NDArray[np.int32], lag: int, top: int) -> list[int | None]:
    """Return for each step of a wave the layer that is complete in all slices after it, or None if there is none.

    The slices with most top cities are behind the others by `lag * top` steps. A layer is complete from their last
    chunk of it until the first slices begin the layer after the next one, which takes its memory.
    """
    layers = chunks[:, 0].tolist()
    complete = [layer - 1 if layers[at + 1 : at + 2] == [layer] else layer for at, layer in enumerate(layers)]
    found: list[int | None] = []
    for step in range(len(layers) + lag * top):
        behind, ahead = step - lag * top, layers[min(step, len(layers) - 1)]
        done = complete[behind] if behind >= 0 else layers[0] - 1
        found.append(done if ahead <= done + 1 else None)
    return found


@dataclass
class LayerCheckpoints:
    """The checkpoints of the half runs.

    Attributes
    ----------
    half, layer
        The half run with which this run begins, and its last layer that the checkpoint has, or `NO_LAYER`.
    """

    share: Share
    boundary: Boundary
    saved: Saved | None
    half: int = 0
    layer: int = NO_LAYER

    def __post_init__(self) -> None:
        """Find out where to begin."""
        if self.saved is not None:
            self.half = self.saved.integer("half", most=len(self.share.half_runs()) - 1)
            self.layer = self.saved.integer("layer", NO_LAYER, self.share.split.middle)

    def begin(self, half: int) -> int:
        """Return the last layer of a half run that the checkpoint has, or `NO_LAYER`."""
        if half == self.half:
            return self.layer
        return self.share.split.middle if half < self.half else NO_LAYER

    def load(self, half: int, memory: Sequence[Buffer]) -> None:
        """Copy the last layer of a half run from the checkpoint to its buffers, one for even and one for odd layers.

        If the half run had ended, that is the middle layer.
        """
        layer = self.begin(half)
        if self.saved is None or layer == NO_LAYER:
            return
        table, parity = FORWARD if half < self.half else STORED, layer % 2
        for number, view in self._rows(half, layer, memory[parity]):
            row = self.saved.rows(table, range(number, number + 1), view.shape, view.dtype)
            view.upload(row.reshape(view.shape))

    def reached(self, half: int, layer: int, memory: Sequence[Buffer], forward: Buffer | None) -> None:
        """Save or stop if it is time, when a layer is complete. Collective.

        Parameters
        ----------
        memory
            The buffers of even and odd layers; empty on a rank without slices.
        forward
            The middle layer of the forward run, in a backward run.
        """
        def state() -> State:
            parts = self._parts(STORED, half, layer, memory[layer % 2]) if memory and layer != NO_LAYER else []
            if forward is not None:
                parts += self._parts(FORWARD, 0, self.share.split.middle, forward)
            done = half * (self.share.split.middle + 1) + layer + 1
            layers = len(self.share.half_runs()) * (self.share.split.middle + 1)
            return State({"half": half, "layer": layer}, parts, f"after {done} of {layers} layers")

        self.boundary.reached(state, lambda: state().nbytes)

    def _rows(self, half: int, layer: int, memory: Buffer) -> list[tuple[int, Buffer]]:
        """Return each slice of a half run with a view of its planes of a layer."""
        split = self.share.split
        stride, length = split.stored(layer % 2), split.mid * split.plane(layer)
        slices = self.share.half_runs()[half].slices
        return [(number, memory.view(row * stride, length)) for row, number in enumerate(slices)]

    def _parts(self, table: str, half: int, layer: int, memory: Buffer) -> list[Part]:
        def part_of(number: int, view: Buffer) -> Part:
            return Part(table, number, (1, *view.shape), view.dtype, lambda: view.download()[None])

        return [part_of(number, view) for number, view in self._rows(half, layer, memory)]

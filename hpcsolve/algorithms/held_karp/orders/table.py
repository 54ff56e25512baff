"""The table of all states of an order problem: split over ranks, filled layer by layer, kept in checkpoints.

It is split into pairs of complementary slices, a slice by its set of top cities. Every rank has the same layers at the
same time. After a layer, the values of a top city go from the slices without it to those with it. How it is split
follows from the number of cities, the ranks, and the size of a layer. Kernels: cuda_src/held_karp/orders.cu.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.algorithms.held_karp.lattice.planes import BLOCK_THREADS, NO_LAYER
from hpcsolve.algorithms.held_karp.lattice.split import BINOMIAL
from hpcsolve.algorithms.held_karp.orders.states import STRIDE, Encoded
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.store import Part, State
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.transport import Transport

CHUNK = 128
"""Sets of a block."""
MOST_TOP = 7
"""At most 2^7 slices, so at most 2^6 ranks share one table."""
FILE = "held_karp/orders"
ASKED = 1 << 14
"""States that are read at a time."""
TABLE, BACK = "table", "back"
"""The parts of a table, and those of the table of the orders read backwards, which is filled after it."""


@dataclass(frozen=True)
class Exchange:
    """The values that go between two ranks before a layer: `count` of them, from place `first` of the packed ones."""

    peer: int
    first: int
    count: int


@dataclass(frozen=True)
class Slices:
    """One rank's share of the table of m cities."""

    m: int
    ranks: int
    rank: int

    @property
    def top(self) -> int:
        """Number of top cities, which follows from the cities alone, so that any ranks go on from a checkpoint."""
        return min(max(1, self.m // 2), MOST_TOP)

    @property
    def low(self) -> int:
        """Number of the other cities."""
        return self.m - self.top

    @property
    def slices(self) -> int:
        """Number of slices of all ranks."""
        return 1 << self.top

    def owner(self, slice_: int) -> int:
        """Return the rank of a slice, which is that of its complement."""
        return min(slice_, self.slices - 1 - slice_) * self.ranks >> (self.top - 1)

    @cached_property
    def own(self) -> list[int]:
        """This rank's slices, ascending."""
        return [a for a in range(self.slices) if self.owner(a) == self.rank]

    @cached_property
    def pair(self) -> NDArray[np.int32]:
        """Shape (slices,): the place of each slice's pair among the rank's pairs, -1 on another rank."""
        found = np.full(self.slices, -1, np.int32)
        for place, a in enumerate(self.own[: self.pairs]):
            found[[a, self.slices - 1 - a]] = place
        return found

    @property
    def pairs(self) -> int:
        """Number of this rank's pairs of complementary slices."""
        return len(self.own) // 2

    @property
    def states(self) -> int:
        """Number of values of this rank's table."""
        return (self.pairs << self.low) * self.m

    def sets(self, slice_: int, layer: int) -> int:
        """Return the number of sets of a slice in a layer."""
        size = layer - slice_.bit_count()
        return comb(self.low, size) if 0 <= size <= self.low else 0

    def chunks(self, layer: int) -> NDArray[np.int32]:
        """Return the blocks of a layer, int32 of shape (blocks, 3): slice, first set, number of sets."""
        rows = []
        for a in self.own:
            first = np.arange(0, self.sets(a, layer), CHUNK)
            number = np.minimum(CHUNK, self.sets(a, layer) - first)
            rows.append(np.stack([np.full(len(first), a), first, number], axis=1))
        return np.concatenate(rows).astype(np.int32) if rows else np.empty((0, 3), np.int32)

    @cached_property
    def largest_layer(self) -> int:
        """The largest number of blocks of a layer."""
        return max(sum(-(-self.sets(a, layer) // CHUNK) for a in self.own) for layer in range(self.m))

    def arriving(self, layer: int) -> tuple[NDArray[np.int64], list[Exchange]]:
        """Return where each (slice, top city) finds its values before a layer, and from whom they come.

        The first value is -1 where the rank has the values itself.
        """
        return self._exchanges(layer, self._by_peer[0], 0)

    def leaving(self, layer: int) -> tuple[NDArray[np.int64], list[Exchange]]:
        """Return where the values of each (slice, top city) that others need before a layer are packed, and for whom.

        The first value is -1 where nobody needs them.
        """
        return self._exchanges(layer, self._by_peer[1], 1)

    def _exchanges(self, layer: int, by_peer: dict[int, list[tuple[int, int]]],
                   sent: int) -> tuple[NDArray[np.int64], list[Exchange]]:
        first = np.full((self.slices, self.top), -1, np.int64)
        exchanges, total = [], 0
        for peer, crossing in sorted(by_peer.items()):
            begin = total
            for a, i in crossing:
                first[a ^ sent << i, i] = total
                total += self.sets(a, layer)
            if total > begin:
                exchanges.append(Exchange(peer, begin, total - begin))
        return first, exchanges

    @cached_property
    def _by_peer(self) -> tuple[dict[int, list[tuple[int, int]]], dict[int, list[tuple[int, int]]]]:
        """The (slice, top city) whose values come from another rank, and those that go to it, by that rank."""
        come, go = dict[int, list[tuple[int, int]]](), dict[int, list[tuple[int, int]]]()
        for a in range(self.slices):
            for i in range(self.top):
                reader, writer = self.owner(a), self.owner(a & ~(1 << i))
                if a >> i & 1 and reader != writer and self.rank in (reader, writer):
                    side, peer = (come, writer) if reader == self.rank else (go, reader)
                    side.setdefault(peer, []).append((a, i))
        return come, go

    @cached_property
    def largest_exchange(self) -> tuple[int, int]:
        """The most values that arrive and that leave before a layer."""
        arrive = [sum(e.count for e in self.arriving(layer)[1]) for layer in range(1, self.m)]
        leave = [sum(e.count for e in self.leaving(layer)[1]) for layer in range(1, self.m)]
        return max(arrive, default=0), max(leave, default=0)

    def values_sent(self) -> int:
        """Return the number of values that this rank sends in all."""
        return sum(e.count for layer in range(1, self.m) for e in self.leaving(layer)[1])

    def operations(self) -> int:
        """Return the number of joins of this rank: |S| (m - |S|) for every set S, and 1 for each city without a set."""
        total = 0
        for a in self.own:
            for size in range(self.low + 1):
                k = size + a.bit_count()
                total += comb(self.low, size) * (k * (self.m - k) or (self.m if k == 0 else 0))
        return total

    def shapes(self, state: np.dtype[Any], by_place: bool) -> dict[str, tuple[int | tuple[int, ...], Any]]:
        """Return the buffers of the rank's table: name -> shape and dtype. Costs may depend on the place."""
        arrive, leave = self.largest_exchange
        by_top = ((self.slices, self.top), np.int64)
        return {
            "table": (self.states, state), "arrived": (arrive, state), "leaving": (leave, state),
            "cost": ((self.m if by_place else 1, STRIDE, STRIDE), state),
            **dict.fromkeys(("earliest", "latest", "weight"), (STRIDE, state)), "before": (STRIDE, np.uint32),
            "pair": (self.slices, np.int32), "arrived_first": by_top, "leaving_first": by_top,
            "chunks": ((self.largest_layer, 3), np.int32), "binomial": (BINOMIAL.shape, np.int32),
            "set": (ASKED, np.uint32), "city": (ASKED, np.int32), "found": (ASKED, state),
        }

    def table_bytes(self, state: np.dtype[Any], by_place: bool) -> int:
        """Return the bytes of device memory of the rank's table, exactly. Parameters as of `shapes`."""
        return sum(int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
                   for shape, dtype in self.shapes(state, by_place).values())


@dataclass
class Table:
    """One rank's share of the table, its buffers allocated. A context manager that frees them."""

    encoded: Encoded
    slices: Slices
    device: Device
    comm: Comm

    def __post_init__(self) -> None:
        """Allocate all memory of the run. Collective."""
        e, s, device = self.encoded, self.slices, self.device
        self.transport = Transport(device, self.comm, sum(s.largest_exchange) * e.itemsize)
        wanted = s.shapes(e.dtype, len(e.cost) > 1)
        self.buffers = {name: device.empty(shape, dtype) for name, (shape, dtype) in wanted.items()}
        given: dict[str, NDArray[Any]] = {"cost": e.cost, "earliest": e.earliest, "latest": e.latest,
                                          "before": e.before, "weight": e.weight, "pair": s.pair, "binomial": BINOMIAL}
        for name, array in given.items():
            self.buffers[name].upload(np.ascontiguousarray(array))

    def __enter__(self) -> Table:
        """Return the table."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Free the device's memory. Collective as the end of `Transport` is."""
        self.transport.__exit__(kind, error, trace)
        for buffer in self.buffers.values():
            buffer.free()

    def fill(self, statistics: Statistics, report: Callable[[float], None], begin: int = 0,
             reached: Callable[[int], None] = lambda layer: None) -> None:
        """Fill all layers from `begin` on. Collective.

        Parameters
        ----------
        reached
            Called after each layer.
        """
        kernel, m = self.device.kernel(FILE, self.encoded.kernel), self.encoded.m
        for layer in range(begin, m):
            self.exchange(layer, statistics)
            timer = statistics.layer_timers[layer]
            timer.start()
            self._launch(kernel, layer, rules=self._rules(layer), memory=self._memory())
            timer.stop()
            report((layer + 1) / m)
            reached(layer)
        self.device.synchronize()

    def _launch(self, kernel: Any, layer: int, **arguments: Argument | Mapping[str, Argument]) -> None:
        chunks = self.slices.chunks(layer)
        if not len(chunks):
            return
        view = self.buffers["chunks"].view(0, chunks.shape)
        view.upload(chunks)
        kernel(len(chunks), BLOCK_THREADS, slices=self._slices(),
               layer={"layer": layer, "chunks": view, "binomial": self.buffers["binomial"]}, **arguments)
        self.device.synchronize()

    def _slices(self) -> dict[str, Argument]:
        return {"cities": self.slices.m, "top": self.slices.top, "pairs": self.slices.pairs,
                "pair": self.buffers["pair"],
                "arrived_first": self.buffers["arrived_first"]}

    def join(self, back: Table, layer: int, through: Buffer) -> None:
        """Lower the values of arcs to those of orders in which they come after a set of a layer.

        Parameters
        ----------
        back
            The table of the orders read backwards. Before the call, values of other ranks must have been exchanged:
            for `layer` in this table, for the opposite layer in that one.
        through
            Shape (1024,): for row i and column j of 32 the arc from i to j.
        """
        kernel = self.device.kernel(FILE, self.encoded.kernel.replace("orders_", "orders_join_"))
        self._launch(kernel, layer, back_slices=back._slices(), rules=self._rules(layer), memory=self._memory(),
                     back=back._memory(), through=through)

    def _memory(self) -> dict[str, Argument]:
        return {"table": self.buffers["table"], "arrived": self.buffers["arrived"]}

    def _rules(self, layer: int) -> dict[str, Argument]:
        matrix = self.encoded.cost[0].size
        cost = self.buffers["cost"].view(self.encoded.place(layer) * matrix, matrix)
        names = ("earliest", "latest", "before", "weight")
        return {"cost": cost, **{name: self.buffers[name] for name in names}, "factor": self.encoded.factor}

    def exchange(self, layer: int, statistics: Statistics) -> None:
        """Send and receive the values of top cities that the layer reads on other ranks. Collective."""
        first, incoming = self.slices.arriving(layer)
        self.buffers["arrived_first"].upload(first)
        leave, outgoing = self.slices.leaving(layer)
        if not incoming and not outgoing:
            return
        if outgoing:
            self.pack(layer, leave)
        parts = [[(self.buffers[name].view(e.first, e.count), e.peer) for e in exchanges]
                 for name, exchanges in (("leaving", outgoing), ("arrived", incoming))]
        statistics.layer_bytes_sent[layer] += sum(view.nbytes for view, _ in parts[0])
        exchange = self.transport.exchange(0, *parts)
        exchange.start()
        started = time.perf_counter()
        exchange.finish()
        self.transport.forget()
        statistics.seconds_wait += time.perf_counter() - started

    def pack(self, layer: int, first: NDArray[np.int64]) -> None:
        """Copy the values that other ranks need before a layer to `leaving`, as `Slices.leaving` says where."""
        self.buffers["leaving_first"].upload(first)
        kernel = self.device.kernel(FILE, f"orders_pack_{self.encoded.kernel[-2:]}")
        self._launch(kernel, layer - 1, first=self.buffers["leaving_first"], table=self.buffers["table"],
                     out=self.buffers["leaving"])

    def ends(self, size: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return this rank's sets of so many cities that have an order, and the least value of each, back to the depot.

        Before the call, values of other ranks must have been exchanged. It takes memory on the device for the layer's
        sets.
        """
        blocks = len(self.slices.chunks(size))
        if not blocks:
            return np.empty(0, np.uint32), np.empty(0, np.int64)
        device, dtype = self.device, self.encoded.dtype
        sets, least, back = device.empty(blocks * CHUNK, np.uint32), device.empty(blocks * CHUNK, dtype), device.upload(
            self.encoded.back)
        least.upload(np.full(blocks * CHUNK, self.encoded.no_path, dtype))
        kernel = device.kernel(FILE, f"orders_ends_{self.encoded.kernel[-2:]}")
        self._launch(kernel, size, each=CHUNK, back=back, memory=self._memory(), sets=sets, least=least)
        found, values = sets.download(), least.download().astype(np.int64)
        for buffer in (sets, least, back):
            buffer.free()
        ended = values < self.encoded.no_path
        return found[ended], values[ended]

    def plane(self, city: int, pair: int) -> Buffer:
        """Return the part of a city's plane that belongs to one of the rank's pairs of slices, by its place."""
        length = 1 << self.slices.low
        return self.buffers["table"].view((city * self.slices.pairs + pair) * length, length)

    def parts(self, name: str) -> list[Part]:
        """Return this rank's parts of a checkpoint."""
        m, slices = self.encoded.m, self.slices

        def part_of(place: int, pair: int) -> Part:
            return Part(name, pair, (1, m, 1 << slices.low), self.encoded.dtype,
                        lambda: np.stack([self.plane(city, place).download() for city in range(m)])[None])

        return [part_of(place, pair) for place, pair in enumerate(slices.own[: slices.pairs])]

    def read(self, sets: ArrayLike, cities: ArrayLike) -> NDArray[np.int64]:
        """Return g(S, j) for sets, as bit masks, and cities outside of them, the same on all ranks. Collective."""
        found = np.empty(np.size(sets), np.int64)
        for at in range(0, len(found), ASKED):
            some = slice(at, at + ASKED)
            found[some] = self._read(np.asarray(sets, np.uint32)[some], np.asarray(cities, np.int32)[some])
        return found

    def _read(self, sets: NDArray[np.uint32], cities: NDArray[np.int32]) -> NDArray[np.generic]:
        kernel = self.device.kernel(FILE, f"orders_read_{self.encoded.kernel[-2:]}")
        views = {name: self.buffers[name].view(0, len(sets)) for name in ("set", "city", "found")}
        views["set"].upload(sets)
        views["city"].upload(cities)
        kernel(-(-len(sets) // BLOCK_THREADS), BLOCK_THREADS, asked=len(sets), slices=self._slices(),
               table=self.buffers["table"], **views)
        least: NDArray[np.generic] = np.min(self.comm.allgather(views["found"].download()), axis=0)
        return least


class OrderCheckpoints:
    """The checkpoints of one or two tables.

    Attributes
    ----------
    first
        The value that the first of two tables has found, if the run is past it.
    """

    def __init__(self, device: Device, comm: Comm, checkpoints: Checkpoints = NONE) -> None:
        self._boundary = Boundary(comm, checkpoints, device.synchronize)
        self._saved = checkpoints.saved
        self.first: int | None = None
        if self._saved is not None and self._saved.integer("run", most=1) == 1:
            self.first = self._saved.integer("dearest")

    def load(self, number: int, table: Table, name: str = TABLE) -> int:
        """Copy a table from the checkpoint, and return its first layer that is still to be filled.

        Parameters
        ----------
        name
            `BACK` for the table of the orders read backwards.
        """
        if self._saved is None or self._saved.integer("run") != number:
            return 0
        m = table.encoded.m
        if name == TABLE:
            layers = self._saved.integer("layer", NO_LAYER, m - 1) + 1
        elif not (layers := self._saved.integer("back", most=m)):
            return 0
        encoded, slices = table.encoded, table.slices
        shape = (m, 1 << slices.low)
        for place, pair in enumerate(slices.own[: slices.pairs]):
            rows = self._saved.rows(name, range(pair, pair + 1), shape, encoded.dtype).reshape(shape)
            for city in range(m):
                table.plane(city, place).upload(np.ascontiguousarray(rows[city]))
        return layers

    def reached(self, number: int, tables: int, layer: int, table: Table, back: Table | None = None,
                back_layers: int = 0) -> None:
        """Save or stop if it is time. Called after each layer. Collective.

        Parameters
        ----------
        number, tables
            Which of how many tables it is.
        layer
            Its last layer that is filled.
        back, back_layers
            The table of the orders read backwards, if it is being filled, and the number of its layers so far.
        """
        def state() -> State:
            numbers = {"run": number, "layer": layer, "dearest": self.first or 0, "back": back_layers}
            done, layers = number * table.encoded.m + layer + 1 + back_layers, tables * table.encoded.m
            parts = table.parts(TABLE) + ([] if back is None else back.parts(BACK))
            return State(numbers, parts, f"after {done} of {layers} layers")

        held = 1 if back is None else 2
        self._boundary.reached(state, lambda: held * table.slices.states * table.encoded.itemsize)

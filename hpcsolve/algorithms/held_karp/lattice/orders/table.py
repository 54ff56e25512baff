"""The table of all states of an order problem, filled layer by layer on every rank's device (kernels: orders.cu)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.algorithms.held_karp.lattice.half_run import BLOCK_THREADS, Statistics
from hpcsolve.algorithms.held_karp.lattice.orders.encode import STRIDE, Encoded
from hpcsolve.algorithms.held_karp.lattice.orders.slices import Exchange, Slices
from hpcsolve.algorithms.held_karp.lattice.plan import BINOMIAL
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.parallel.comm import Comm

FILE = "held_karp/orders"
ASKED = 1 << 14
"""States that are read at a time."""


@dataclass
class Table:
    """One rank's share of the table, its buffers allocated. A context manager that frees them."""

    encoded: Encoded
    slices: Slices
    device: Device
    comm: Comm

    def __post_init__(self) -> None:
        """Allocate all memory of the run."""
        e, s, device = self.encoded, self.slices, self.device
        self.buffers = {name: device.empty(shape, dtype) for name, (shape, dtype) in layout_of(e, s).shapes().items()}
        given: dict[str, NDArray[Any]] = {"cost": e.cost, "earliest": e.earliest, "latest": e.latest,
                                          "before": e.before, "weight": e.weight, "pair": s.pair, "binomial": BINOMIAL}
        for name, array in given.items():
            self.buffers[name].upload(np.ascontiguousarray(array))

    def __enter__(self) -> Table:
        """Return the table."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free the device's memory."""
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
        started = time.perf_counter()
        arrays = [self._staging(e) for e in incoming]
        requests = [self.comm.receive(array, e.peer) for e, array in zip(incoming, arrays)]
        leaving = self.pack(layer, leave) if outgoing else self.buffers["leaving"]
        for e in outgoing:
            packed = leaving.view(e.first, e.count).download(self._staging(e))
            requests.append(self.comm.send(packed, e.peer))
            statistics.layer_bytes_sent[layer] += packed.nbytes
        copied = time.perf_counter()
        for request in requests:
            request.wait()
        waited = time.perf_counter()
        for e, array in zip(incoming, arrays):
            self.buffers["arrived"].view(e.first, e.count).upload(array)
        statistics.seconds_copy += copied - started + time.perf_counter() - waited
        statistics.seconds_wait += waited - copied

    def pack(self, layer: int, first: NDArray[np.int64]) -> Buffer:
        """Copy the values that other ranks need before a layer, as `Slices.leaving` says where, and return them."""
        self.buffers["leaving_first"].upload(first)
        kernel = self.device.kernel(FILE, f"orders_pack_{self.encoded.kernel[-2:]}")
        self._launch(kernel, layer - 1, first=self.buffers["leaving_first"], table=self.buffers["table"],
                     out=self.buffers["leaving"])
        return self.buffers["leaving"]

    def _staging(self, exchange: Exchange) -> NDArray[Any]:
        return np.empty(exchange.count, self.encoded.dtype)

    def plane(self, city: int, pair: int) -> Buffer:
        """Return the part of a city's plane that belongs to one of the rank's pairs of slices, by its place."""
        length = 1 << self.slices.low
        return self.buffers["table"].view((city * self.slices.pairs + pair) * length, length)

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


@dataclass(frozen=True)
class Layout:
    """What decides about the memory of a rank's table.

    Attributes
    ----------
    places
        Number of matrices of costs.
    """

    slices: Slices
    dtype: np.dtype[Any]
    places: int

    def shapes(self) -> dict[str, tuple[int | tuple[int, ...], Any]]:
        """Return the buffers: name -> shape and dtype."""
        of, slices = self.dtype, self.slices
        arrive, leave = slices.largest_exchange
        small = {name: (ASKED, dtype) for name, dtype in (("set", np.uint32), ("city", np.int32), ("found", of))}
        by_top = ((slices.slices, slices.top), np.int64)
        return {
            "table": (slices.states, of), "arrived": (arrive, of), "leaving": (leave, of),
            "cost": ((self.places, STRIDE, STRIDE), of), "earliest": (STRIDE, of), "latest": (STRIDE, of),
            "weight": (STRIDE, of), "before": (STRIDE, np.uint32), "pair": (slices.slices, np.int32),
            "arrived_first": by_top, "leaving_first": by_top, "chunks": ((slices.largest_layer, 3), np.int32),
            "binomial": (BINOMIAL.shape, np.int32), **small,
        }

    def device_bytes(self) -> int:
        """Return the bytes of device memory, exactly."""
        return sum(int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
                   for shape, dtype in self.shapes().values())

    def host_bytes(self) -> int:
        """Return the bytes of host memory that messages pass through."""
        return sum(self.slices.largest_exchange) * self.dtype.itemsize


def layout_of(encoded: Encoded, slices: Slices) -> Layout:
    """Return the layout of a problem's table."""
    return Layout(slices, encoded.dtype, len(encoded.cost))

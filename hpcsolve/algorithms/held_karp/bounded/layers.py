"""States, and their forward layers on all ranks (kernels: cuda_src/held_karp/layers.cu, states.cuh).

A state's key has bits of the visited cities, and the last city's number above. The states of a layer are spread over
the ranks by the hash of their visited set: a bucket holds the sets whose hashes have the same leading bits, and rank r
of R owns the buckets from 2^bits r / R on. Each rank extends its own states, merges equal ones, sends each bucket to
its owner, and merges what it gets. Which states there are, and their values, follow from the problem, the multipliers
and the width alone, unless the memory limits them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.relaxation import Bounds
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.parallel.comm import Comm

Keys = NDArray[np.uint64]
"""Shape (states, words)."""
Values: TypeAlias = NDArray[np.unsignedinteger]
"""Shape (states,), as `Layer` has them."""
LAST_SHIFT = {1: 58, 2: 57, 4: 56}
"""Words of a key -> the bit in its last word where the last city's number begins."""
FILE = "held_karp/layers"
THREADS = 128
STATES_A_BLOCK = 512
CANDIDATES_A_BUCKET = 2048
"""So few that a core's cache holds them while they are merged. Expansion writes to all buckets in turn: with a quarter
of this size, and so four times as many, it took 1.6 times as long.
"""
FEWEST_BITS, MOST_BITS, RANK_BITS = 6, 13, 3
"""Binary logarithms of the fewest and the most buckets, and of the fewest for each rank."""
ROOM, MOST_ROOM = 1.3, 1.4
"""Room in a bucket, relative to the mean, at first, and the most where the layer before had few sets of many states.

`CANDIDATE_BYTES` (search.py) count on no more.
"""
SPARE = 64
"""Candidates for which a bucket has room beyond that."""


def key_words(cities: int) -> int:
    """Return the fewest words of a key that have bits for so many cities and the last one's number."""
    return next(words for words, shift in LAST_SHIFT.items() if cities <= 64 * (words - 1) + shift)


def make_keys(visited: NDArray[np.bool_], last: NDArray[np.integer], words: int) -> Keys:
    """Return the keys of states, of so many words.

    Parameters
    ----------
    visited
        Shape (states, m): which cities have been visited, the last one included.
    last
        Shape (states,): the last city.
    """
    keys = masks_of(visited, words)
    keys[:, -1] |= last.astype(np.uint64) << np.uint64(LAST_SHIFT[keys.shape[1]])
    return keys


def masks_of(members: NDArray[np.bool_], words: int) -> Keys:
    """Return sets of cities as bits, shape (sets, words), from a table of shape (sets, m)."""
    padded = np.zeros((len(members), 64 * words), bool)
    padded[:, : members.shape[1]] = members
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def last_cities(keys: Keys) -> NDArray[np.int64]:
    """Return the last city of each state."""
    return (keys[:, -1] >> np.uint64(LAST_SHIFT[keys.shape[1]])).astype(np.int64)


def visited(keys: Keys, cities: int) -> NDArray[np.bool_]:
    """Return the visited cities of each state, shape (states, cities)."""
    bits = np.unpackbits(np.ascontiguousarray(keys).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :cities].astype(bool)


def set_hash(keys: Keys) -> NDArray[np.uint64]:
    """Return the hash of each state's visited set, which says its bucket and rank."""
    sets = keys.copy()
    sets[:, -1] &= np.uint64((1 << LAST_SHIFT[keys.shape[1]]) - 1)
    return hashed(sets)


def hashed(keys: Keys) -> NDArray[np.uint64]:
    """Return the hash of each key."""
    x = np.zeros(len(keys), np.uint64)
    for word in range(keys.shape[1]):
        x = (x + np.uint64(0x9E3779B97F4A7C15)) ^ keys[:, word]
        for _ in range(2):
            x = (x ^ x >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
        x ^= x >> np.uint64(32)
    return x


def are_states(keys: Keys, cities: int, place: int) -> bool:
    """Return whether all keys are those of states with so many of the cities, the last one among them."""
    last = last_cities(keys)
    if (last >= cities).any():
        return False
    members = visited(keys, LAST_SHIFT[keys.shape[1]] + 64 * (keys.shape[1] - 1))
    fits = (members.sum(axis=1) == place) & members[np.arange(len(keys)), last] & ~members[:, cities:].any(axis=1)
    return bool(fits.all())


def due_tables(due: NDArray[np.int64], words: int) -> dict[str, NDArray[Any]]:
    """Return by when service must begin at each city to reach each other one in time, as the kernels have it.

    Parameters
    ----------
    due
        Shape (m, m): when service at the row's city must begin at the latest, so that that at the column's is in time.
    """
    m = len(due)
    order = np.argsort(due, axis=1, kind="stable")
    times = np.take_along_axis(due, order, axis=1).clip(0, 2**32 - 1)
    bits = masks_of(np.eye(m, dtype=bool), words)
    sets = np.zeros((m, m + 1, words), np.uint64)
    sets[:, 1:] = np.bitwise_or.accumulate(bits[order], axis=1)
    return {"due": times.astype(np.uint32), "due_first": sets}


@dataclass(frozen=True)
class Layer:
    """This rank's states of a layer, on the host.

    Attributes
    ----------
    keys
        Shape (states, words), uint64, in the order of their buckets.
    values
        Shape (states,): the least reduced cost of a path from the depot, or its least time, as uint32; or labels
        (layers.cu), as uint64.
    begin
        Shape (2^bits + 1,), int64: where each bucket begins.
    """

    keys: Keys
    values: Values
    begin: NDArray[np.int64]

    @property
    def bits(self) -> int:
        """Binary logarithm of the number of buckets."""
        return (len(self.begin) - 1).bit_length() - 1

    @property
    def nbytes(self) -> int:
        """Memory of the states."""
        return self.keys.nbytes + self.values.nbytes


@dataclass
class Scratch:
    """Memory on a device that grows with the largest layer so far and is used again. `nbytes`: the most there was."""

    device: Device
    buffers: dict[str, Buffer] = field(default_factory=dict)
    locked: dict[str, NDArray[Any]] = field(default_factory=dict)
    nbytes: int = 0

    def take(self, name: str, length: int, dtype: type[np.generic]) -> Buffer:
        """Return memory for so many values, with undefined content."""
        held = self.buffers.get(name)
        if held is None or held.shape[0] < length:
            if held is not None:
                self.buffers.pop(name).free()
            held = self.buffers[name] = self.device.empty(length + length // 4, dtype)
            self.nbytes = max(self.nbytes, sum(buffer.nbytes for buffer in self.buffers.values()))
        return held.view(0, length)

    def constant(self, name: str, array: NDArray[Any]) -> Buffer:
        """Return a table that kernels only read, as `Device.constant` does: on a GPU a copy in this memory."""
        if self.device.info.kind == "cpu":
            return self.device.constant(array)
        held = self.take(name, array.size, array.dtype.type)
        held.upload(array)
        return held

    def output(self, name: str, array: NDArray[Any]) -> Buffer:
        """Return memory for results that `download(array)` brings into the array: on a GPU a part of this memory."""
        if self.device.info.kind == "cpu":
            return self.device.output(array)
        return self.take(name, array.size, array.dtype.type)

    def staging(self, name: str, length: int, dtype: type[np.generic]) -> NDArray[Any]:
        """Return host memory that messages pass through. Beside a GPU it is page-locked, and used again."""
        if self.device.info.kind == "cpu":
            return np.empty(length, dtype)
        held = self.locked.get(name)
        if held is None or len(held) < length:
            held = self.locked[name] = self.device.staging(length + length // 4, dtype)
        return held[:length]

    def move(self, device: Device) -> None:
        """Be memory of this device from now on."""
        if device is not self.device:
            self.close()
        self.device = device

    def close(self) -> None:
        """Free all of it."""
        for buffer in self.buffers.values():
            buffer.free()
        self.buffers.clear()
        self.locked.clear()


@dataclass(frozen=True)
class Buckets:
    """Some of 2^bits buckets of candidates on a device, as the kernels have them."""

    bits: int
    slot_bits: int
    capacity: int
    keys: Buffer
    values: Buffer
    sizes: Buffer
    slots: Buffer
    links: Buffer | None
    slope: int

    @property
    def argument(self) -> dict[str, Argument]:
        """The argument of a launch."""
        return dict(vars(self))


class Expander:
    """Extends layers by one city, with the current bounds of a relaxation.

    Parameters
    ----------
    words
        Words of a key, by default as few as the cities need.
    """

    def __init__(self, relaxation: Bounds, limit: int, comm: Comm, scratch: Scratch, words: int | None = None) -> None:
        self.relaxation, self.limit, self.comm, self.scratch = relaxation, limit, comm, scratch
        self.device, self.words = relaxation.device, words or key_words(relaxation.problem.cities)
        self.value: type[np.unsignedinteger] = np.uint64 if relaxation.labels else np.uint32
        scratch.move(self.device)
        assert relaxation.slots is not None
        self.memory = self.device.upload(relaxation.slots.memory)
        self.before = self.device.upload(masks_of(relaxation.problem.before, self.words))
        arcs = relaxation.open_arcs()
        self.plane = relaxation.problem.cities * self.words * (len(arcs) > 1)  # 0: all places have the same arcs
        self.open = self.device.upload(masks_of(arcs.reshape(-1, relaxation.problem.cities), self.words))
        self.tables = {name: self.device.upload(table) for name, table in relaxation.layer_tables().items()}
        self.due: dict[str, Buffer | None] = {"due": None, "due_first": None}
        if (due := relaxation.due_times()) is not None:
            self.due = {name: self.device.upload(table) for name, table in due_tables(due, self.words).items()}
        loads = relaxation.problem.loads
        self.load = None if loads is None else self.device.upload(loads.change)
        self.loads: dict[str, Argument] = {"load": self.load, "least_load": loads.least if loads else 0,
                                           "most_load": loads.most if loads else 0}
        self.fewest_bits = max(FEWEST_BITS, min(MOST_BITS, (comm.size - 1).bit_length() + RANK_BITS))
        self.growth, self.room, self.bytes_sent = 4.0, ROOM, 0
        self.gathered: tuple[Layer | None, dict[str, Argument]] = None, {}

    def first(self) -> Layer:
        """Return the first layer: the cities that may follow the depot."""
        values = self.relaxation.first_values(self.limit)
        first = (values < np.iinfo(values.dtype).max) & ~self.relaxation.problem.before.any(axis=1)
        if (loads := self.relaxation.problem.loads) is not None:
            first &= (loads.least <= loads.change) & (loads.change <= loads.most)
        cities = np.flatnonzero(first)
        keys = make_keys(np.arange(len(values)) == cities[:, None], cities, self.words)
        return self.owned(keys, values[cities])

    def next(self, layer: Layer, place: int, most: int) -> Layer | None:
        """Return the layer of `place` + 1 cities from that of `place` cities. Collective.

        The result is None if a rank has more than `most` candidates. Then `states_for(most)` states may be extended.
        """
        expanded = self._expanded(layer, place, most)
        if expanded is None:
            return None
        made = self._merged(expanded, range(1 << expanded.bits))
        return made if self.comm.size == 1 else self._exchanged(made)

    def states_for(self, candidates: int) -> int:
        """Return how many states of all ranks yield about so many candidates on each, as in the last expansion."""
        return int(self.comm.size * candidates / self.growth)

    def bounds(self, layer: Layer, place: int) -> NDArray[np.uint32]:
        """Return the lower bound of the reduced cost of tours through each state of the layer of `place` cities."""
        bounds = np.empty(len(layer.values), np.uint32)
        out, states = self.scratch.output("bounds", bounds), self.states(layer)
        self._launch("bound", -(-len(bounds) // STATES_A_BLOCK), here=self._tables(place, place), states=states,
                     bounds=out)
        return out.download(bounds)

    def owned(self, keys: Keys, values: Values) -> Layer:
        """Return a layer of those states that this rank owns."""
        bits, size = self.fewest_bits, self.comm.size
        bucket = (set_hash(keys) >> np.uint64(64 - bits)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        order = order[bucket[order] * size >> bits == self.comm.rank]
        begin = np.searchsorted(bucket[order], np.arange((1 << bits) + 1))
        return Layer(keys[order], values[order], begin)

    def close(self) -> None:
        """Free the tables on the device."""
        for buffer in (self.memory, self.before, self.open, self.load, *self.tables.values(), *self.due.values()):
            if buffer is not None:
                buffer.free()

    def _tables(self, place: int, bounds_place: int) -> dict[str, Argument]:
        own, m = self.relaxation, self.relaxation.problem.cities
        assert own.slots is not None
        return {"cities": m, "slots": own.slots.count, "limit": self.limit, "memory": self.memory,
                "open": self.open.view(place * self.plane, m * self.words), "before": self.before,
                **self.loads, **self.due, **own.tables_of(place, bounds_place), **self.tables}

    def states(self, layer: Layer) -> dict[str, Argument]:
        """Return the states as the kernels have them. A GPU has the states that it has gathered last already."""
        if layer is not self.gathered[0]:
            self._gather(layer, self.scratch.constant)
        return self.gathered[1]

    def _gather(self, layer: Layer, memory: Callable[[str, NDArray[Any]], Buffer]) -> tuple[Buffer, Buffer]:
        """Take memory for the states of a layer, which kernels will find there."""
        keys, values = memory("states' keys", layer.keys.reshape(-1)), memory("states' values", layer.values)
        self.gathered = layer, {"count": len(layer.values), "keys": keys, "values": values}
        return keys, values

    def _launch(self, name: str, grid: int, **arguments: Argument) -> None:
        kernel = self.device.kernel(FILE, f"layers_{name}_{'labels_' * self.relaxation.labels}w{self.words}")
        kernel(grid, THREADS, **arguments)

    def _expanded(self, layer: Layer, place: int, most: int) -> Buckets | None:
        """Return the buckets with all candidates of this rank, or None if a rank has more than `most`. Collective."""
        states = len(layer.values)
        largest = max(1, max(self.comm.allgather(states)))
        guess = min(most, int(largest * self.growth))
        bits = min(MOST_BITS, max(self.fewest_bits, (guess // CANDIDATES_A_BUCKET).bit_length()))
        capacity = int(self.room * guess / (1 << bits)) + SPARE
        tables, given = self._tables(place, place + 1), self.states(layer)
        while True:
            out = self._buckets(bits, 1 << bits, capacity)
            out.sizes.fill(0)
            self._launch("expand", -(-states // STATES_A_BLOCK), next=tables, states=given, out=out.argument)
            sizes = out.sizes.download()
            fullest, count = int(sizes.max()), int(sizes.sum(dtype=np.int64))
            if fullest <= capacity or count > most:
                break
            capacity = fullest + fullest // 8
        self.room = min(MOST_ROOM, max(ROOM, 1.1 * (fullest << bits) / max(1, count)))
        candidates = max(self.comm.allgather(count))
        self.growth = max(1.25, 1.1 * candidates / largest)
        return out if candidates <= most else None

    def _buckets(self, bits: int, count: int, capacity: int) -> Buckets:
        """Return room for `count` of 2^bits buckets."""
        take, slot_bits = self.scratch.take, capacity.bit_length() + 1
        return Buckets(
            bits, slot_bits, capacity, take("keys", count * capacity * self.words, np.uint64),
            take("values", count * capacity, self.value), take("sizes", count, np.uint32),
            take("slots", count << slot_bits, np.uint32),
            take("links", count * capacity, np.uint32) if self.relaxation.labels else None, self.relaxation.slope)

    def _merged(self, buckets: Buckets, own: range) -> Layer:
        """Return the different states of the buckets of this range, which are the first ones in memory."""
        different = self.scratch.take("different", len(own), np.uint32)
        self._launch("merge", len(own), buckets=buckets.argument, different=different)
        begin = np.zeros((1 << buckets.bits) + 1, np.int64)
        begin[own.start + 1 : own.stop + 1] = different.download()
        begin = np.cumsum(begin)
        layer = Layer(np.empty((begin[-1], self.words), np.uint64), np.empty(begin[-1], self.value), begin)
        keys, values = self._gather(layer, self.scratch.output)
        places = self.scratch.constant("places", begin[own.start : own.stop])
        self._launch("gather", len(own), buckets=buckets.argument, begin=places, keys=keys, values=values)
        keys.download(layer.keys.reshape(-1))
        values.download(layer.values)
        return layer

    def _exchanged(self, made: Layer) -> Layer:
        """Return the merged states of the buckets that this rank owns, from all ranks. Collective."""
        comm, count = self.comm, len(made.begin) - 1
        first = [-(-rank * count // comm.size) for rank in range(comm.size + 1)]
        sizes = comm.allgather(np.diff(made.begin))
        own, requests = range(first[comm.rank], first[comm.rank + 1]), []
        begin = np.cumsum([0, *(int(each[own.start : own.stop].sum()) for each in sizes)])
        keys = self.scratch.staging("keys", int(begin[-1]) * self.words, np.uint64).reshape(-1, self.words)
        values = self.scratch.staging("values", int(begin[-1]), self.value)
        for rank in range(comm.size):
            part, to = slice(made.begin[first[rank]], made.begin[first[rank + 1]]), slice(begin[rank], begin[rank + 1])
            for array, arrived in ((made.keys[part], keys[to]), (made.values[part], values[to])):
                if rank == comm.rank:
                    arrived[...] = array
                    continue
                requests += [comm.send(array, rank)] if array.size else []
                requests += [comm.receive(arrived, rank)] if arrived.size else []
                self.bytes_sent += array.nbytes
        for request in requests:
            request.wait()
        capacity = 1 + int(np.sum(sizes, axis=0)[own.start : own.stop].max(initial=0))
        return self._merged(self._filled(keys, values, made.bits, own, capacity), own)

    def _filled(self, keys: Keys, values: Values, bits: int, own: range, capacity: int) -> Buckets:
        """Return these states in the buckets of this range."""
        buckets, constant = self._buckets(bits, len(own), capacity), self.scratch.constant
        states: dict[str, Argument] = {"count": len(values), "keys": constant("arrived keys", keys.reshape(-1)),
                                       "values": constant("arrived values", values)}
        buckets.sizes.fill(0)
        self._launch("fill", -(-len(values) // STATES_A_BLOCK), first=own.start, states=states, out=buckets.argument)
        return buckets

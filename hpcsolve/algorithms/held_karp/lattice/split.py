"""How the subset lattice is split, and one rank's share of it, fixed before a run: its slices, buffers and messages.

Cities are low, mid and top ones. A slice is all sets whose top cities are a certain subset A. A layer is all sets with
the same number of mid cities. Slices advance layer by layer, so each has the same number of blocks in every layer, and
the load of the ranks is even. Everything here follows from the instance and the number of ranks alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

FEWEST_SPLIT = 7
"""5 low cities (2^5 lanes of a warp), 1 mid city and 1 top city. One table in numpy solves smaller problems."""
MOST_TOP = 8
"""At most 2^8 slices, so at most 2^8 ranks share one problem (half as many if it is symmetric)."""
LAUNCH_BLOCKS = 1024
"""Roughly the blocks of one launch."""
BINOMIAL = np.array([[comb(a, b) if comb(a, b) < 2**31 else 0 for b in range(32)] for a in range(32)], np.int32)
COST_STRIDE = 64
STRETCH = 1 << 15
"""Values of a stretch of the middle layer, which one block searches for its minimum."""


@dataclass(frozen=True)
class Split:
    """Numbers of low, mid and top cities. The number of mid cities is odd, so that tours have a middle."""

    low: int
    mid: int
    top: int

    @property
    def cities(self) -> int:
        """Number of cities, without the depot."""
        return self.low + self.mid + self.top

    @property
    def slices(self) -> int:
        """Number of slices."""
        return 1 << self.top

    @property
    def middle(self) -> int:
        """The layer in which the two halves of a tour meet."""
        return (self.mid - 1) // 2

    def plane(self, layer: int) -> int:
        """Return the number of values of one stored plane of one slice in a layer."""
        return comb(self.mid - 1, layer) << self.low if layer >= 0 else 0

    def stored(self, parity: int) -> int:
        """Return the number of values of a slice's largest stored layer among the even (0) or odd (1) ones."""
        layers = range(parity, self.middle + 1, 2)
        return self.mid * max((self.plane(layer) for layer in layers), default=0)

    def sets(self) -> int:
        """Return the number of mid sets of one slice in a half run."""
        return sum(comb(self.mid, layer) for layer in range(self.middle + 1))


def split_cities(cities: int) -> Split:
    """Return the split of a problem with this many cities beside the depot, at least `FEWEST_SPLIT`.

    The number of low cities grows with the problem up to 10: a block then has 2^10 sets (20 KiB of shared memory for
    32-bit values). Of the others up to half are top cities, which save storage and cost little, since their planes stay
    in caches. The rest, made odd, are mid cities.
    """
    low = 5 if cities < 12 else 6 if cities < 16 else 8 if cities < 19 else 10
    high = cities - low
    top = min(high // 2, MOST_TOP)
    if (high - top) % 2 == 0:
        top += 1 if top < MOST_TOP else -1
    return Split(low, high - top, top)


def owners(split: Split, ranks: int, symmetric: bool) -> list[int]:
    """Return the rank that owns each slice A: floor(A R / 2^p), with p top cities and R ranks.

    If the problem is symmetric, A and its complement have one owner. Else the backward run gives slice A to the forward
    owner of its complement. Either way the halves meet without a message.
    """
    last = split.slices - 1
    if symmetric:
        return [min(a, last ^ a) * ranks >> (split.top - 1) for a in range(split.slices)]
    return [a * ranks >> split.top for a in range(split.slices)]


@dataclass(frozen=True)
class Message:
    """Planes that slices of one stage send to one rank, or get from it, in one step.

    Attributes
    ----------
    first, count
        The first slot within the stage, and how many.
    """

    stage: int
    peer: int
    first: int
    count: int


@dataclass(frozen=True)
class StreamSlots:
    """Where the planes that one rank's slices exchange stand in its stream buffer.

    The plane of top city i that slice A sends to A + i has a slot. Slots are grouped by stage, the number of A's
    cities, and within a stage by the other rank, so that what goes to one rank in one step is one contiguous message.

    Attributes
    ----------
    slices
        This rank's slices, ascending.
    table
        Shape (slices, 1 + top), int32: the slice, then for each top city its slot within the stage.
    stage_start
        Shape (top + 1,), int32: the first slot of each stage.
    count
        Number of slots.
    outgoing, incoming
        The messages of a step, in the order that both ends know.
    """

    slices: list[int]
    table: NDArray[np.int32]
    stage_start: NDArray[np.int32]
    count: int
    outgoing: list[Message]
    incoming: list[Message]


def stream_slots(split: Split, owner: list[int], rank: int) -> StreamSlots:
    """Return the slots of the stream buffer of `rank`."""
    mine = [a for a in range(split.slices) if owner[a] == rank]
    row = {a: position for position, a in enumerate(mine)}
    table = np.zeros((len(mine), 1 + split.top), np.int32)
    table[:, 0] = mine
    stage_start = np.zeros(split.top + 1, np.int32)
    outgoing: list[Message] = []
    incoming: list[Message] = []
    count = 0
    # By the number of A's cities, (owner of A, owner of A + i, A, i) of all pairs of the rank.
    stages: list[list[tuple[int, int, int, int]]] = [[] for _ in range(split.top + 1)]
    for a in range(split.slices):
        for i in range(split.top):
            ends = owner[a], owner[a | 1 << i]
            if not a >> i & 1 and rank in ends:
                stages[a.bit_count()].append((*ends, a, i))
    for stage, pairs in enumerate(map(sorted, stages)):
        stage_start[stage] = count
        count += len(pairs)
        slots: dict[tuple[int, int], list[int]] = {}
        for slot, (sender, receiver, a, i) in enumerate(pairs):
            slots.setdefault((sender, receiver), []).append(slot)
            if sender == rank:
                table[row[a], 1 + i] = slot
            if receiver == rank:
                table[row[a | 1 << i], 1 + i] = slot
        for (sender, receiver), own in slots.items():
            if sender != receiver:
                peer, messages = (receiver, outgoing) if sender == rank else (sender, incoming)
                messages.append(Message(stage, peer, own[0], len(own)))
    return StreamSlots(mine, table, stage_start, count, outgoing, incoming)


def chunks(split: Split, size: int) -> NDArray[np.int32]:
    """Return the chunks of a half run in order, int32 of shape (chunks, 3).

    The columns are the layer, the colex rank of the first mid set, and the number of mid sets.
    """
    rows = [
        (layer, first, min(size, comb(split.mid, layer) - first))
        for layer in range(split.middle + 1)
        for first in range(0, comb(split.mid, layer), size)
    ]
    return np.array(rows, np.int32)


@dataclass(frozen=True)
class Share:
    """One rank's share of a distributed run."""

    split: Split
    ranks: int
    rank: int
    symmetric: bool
    itemsize: int

    @cached_property
    def forward(self) -> StreamSlots:
        """The slots of this rank's slices in the forward run."""
        return stream_slots(self.split, owners(self.split, self.ranks, self.symmetric), self.rank)

    @cached_property
    def backward(self) -> StreamSlots:
        """The slots of this rank's slices in the backward run, the same object if the problem is symmetric."""
        if self.symmetric:
            return self.forward
        return stream_slots(self.split, owners(self.split, self.ranks, False)[::-1], self.rank)

    @property
    def lag(self) -> int:
        """Steps of a plane from slice to slice: 2 where it may cross ranks, so that messages overlap with work."""
        return 1 if self.ranks == 1 else 2

    @property
    def chunk_size(self) -> int:
        """The number of mid sets in a chunk.

        It is so large that a launch keeps the device busy, and so small that the stream stays in caches. With several
        ranks it is also so small that the wave has many more chunks than stages.
        """
        split, unit = self.split, 2 if self.symmetric else 1
        slices = -(-split.slices // (unit * self.ranks)) * unit
        size = min(-(-LAUNCH_BLOCKS // slices), comb(split.mid, split.middle))
        return max(1, size if self.ranks == 1 else min(size, split.sets() // (16 * split.top)))

    @property
    def slices(self) -> int:
        """This rank's slices, in either half run."""
        return len(self.forward.slices)

    @property
    def stretches(self) -> int:
        """Stretches of a plane of the middle layer, each one block of the kernel."""
        return -(-self.split.plane(self.split.middle) // STRETCH)

    def half_runs(self) -> tuple[StreamSlots, ...]:
        """Return the slots of the half runs that are made: two, or one that serves both halves of a symmetric tour."""
        return (self.forward,) if self.symmetric else (self.forward, self.backward)

    def device_bytes(self) -> int:
        """Return the bytes of device memory at the peak of the two half runs, exactly."""
        if not self.slices:
            return 0
        item = self.itemsize
        chunk_count = sum(-(-comb(self.split.mid, layer) // self.chunk_size) for layer in range(self.split.middle + 1))
        tables = self.forward.table.nbytes + self.forward.stage_start.nbytes + BINOMIAL.nbytes + 12 * chunk_count
        tables += COST_STRIDE**2 * 4 + (item << self.split.low)
        best = 4 * self.slices * self.split.mid * self.stretches
        return self.stored_bytes() + max(self.stream_values() * item + tables, best)

    def peak_bytes(self) -> int:
        """Return the bytes of device memory of a run: rank 0 recovers the longer half of the tour afterwards."""
        cities = self.split.cities - self.split.middle - 1
        if self.rank or cities < FEWEST_SPLIT:
            return self.device_bytes()
        return max(self.device_bytes(), Share(split_cities(cities), 1, 0, False, self.itemsize).device_bytes())

    def states(self) -> list[int]:
        """Return the number of stored states of each layer, of all ranks and half runs."""
        split = self.split
        slices = split.slices * len(self.half_runs())
        return [slices * split.mid * split.plane(layer) for layer in range(split.middle + 1)]

    def stored_bytes(self) -> int:
        """Return the bytes of this rank's stored layers: about 1/R of all."""
        parity = self.split.middle % 2
        layers = self.split.stored(parity) * len(self.half_runs()) + self.split.stored(1 - parity)
        return self.slices * layers * self.itemsize

    def stream_values(self) -> int:
        """Return the number of values in the stream buffer."""
        slots = max(self.forward.count, self.backward.count)
        return (self.lag + 1) * slots * self.chunk_size << self.split.low

    def host_bytes(self) -> int:
        """Return the bytes of host memory that messages pass through, exactly."""
        planes = max(sum(m.count for m in (*p.outgoing, *p.incoming)) for p in self.half_runs())
        return (self.lag * planes * self.chunk_size << self.split.low) * self.itemsize

    def bytes_sent(self) -> int:
        """Return the bytes that this rank sends in all: the planes that cross ranks, for each set of the half runs."""
        planes = sum(message.count for p in self.half_runs() for message in p.outgoing)
        return (planes * self.split.sets() << self.split.low) * self.itemsize

    def operations(self) -> int:
        """Return the min-adds of this rank's slices in the half runs: |S| (m - |S|) for every set S."""
        return sum(_slice_operations(self.split, a.bit_count()) for p in self.half_runs() for a in p.slices)


@cache
def _slice_operations(split: Split, in_top: int) -> int:
    """Return the min-adds of a slice with so many top cities."""
    total = 0
    for in_mid in range(split.middle + 1):
        for in_low in range(split.low + 1):
            size = in_low + in_mid + in_top
            total += comb(split.mid, in_mid) * comb(split.low, in_low) * size * (split.cities - size)
    return total

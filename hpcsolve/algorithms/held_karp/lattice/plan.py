"""One rank's share of a distributed run, fixed before it starts: its slices, buffers and messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np

from hpcsolve.algorithms.held_karp.lattice.split import (
    FEWEST_CITIES,
    Split,
    StreamSlots,
    chunk_count,
    chunk_size,
    owners,
    split_cities,
    stream_slots,
)

BINOMIAL = np.array([[comb(a, b) if comb(a, b) < 2**31 else 0 for b in range(32)] for a in range(32)], np.int32)
COST_STRIDE = 64
STRETCH = 1 << 15
"""Values of a stretch of the middle layer, which one block searches for its minimum."""


@dataclass(frozen=True)
class Plan:
    """One rank's share of a distributed run.

    Attributes
    ----------
    forward, backward
        The slots of this rank's slices in the two half runs; the same object if the problem is symmetric.
    lag
        Steps that a plane takes from slice to slice: 2 where it may cross ranks, so that messages overlap with work.
    """

    split: Split
    symmetric: bool
    itemsize: int
    ranks: int
    rank: int
    forward: StreamSlots
    backward: StreamSlots
    chunk_size: int
    chunk_count: int
    lag: int

    @property
    def slices(self) -> int:
        """This rank's slices, in either half run."""
        return len(self.forward.slices)

    @property
    def steps(self) -> int:
        """Launches of a half run."""
        return self.chunk_count + self.lag * self.split.top

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
        tables = self.forward.table.nbytes + self.forward.stage_start.nbytes + BINOMIAL.nbytes + 12 * self.chunk_count
        tables += COST_STRIDE**2 * 4 + (item << self.split.low)
        best = 4 * self.slices * self.split.mid * self.stretches
        return self.stored_bytes() + max(self.stream_values() * item + tables, best)

    def recovery_bytes(self) -> int:
        """Return the bytes of device memory that rank 0 may need afterwards, to recover the longer half of the tour."""
        cities = self.split.cities - self.split.middle - 1
        if self.rank or cities < FEWEST_CITIES:
            return 0
        return plan(split_cities(cities), 1, 0, False, self.itemsize).device_bytes()

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


def plan(split: Split, ranks: int, rank: int, symmetric: bool, itemsize: int) -> Plan:
    """Return the share of `rank` among `ranks`."""
    owner = owners(split, ranks, symmetric)
    forward = stream_slots(split, owner, rank)
    backward = forward if symmetric else stream_slots(split, owner[::-1], rank)
    lag = 1 if ranks == 1 else 2
    size = chunk_size(split, ranks, symmetric)
    count = chunk_count(split, size)
    return Plan(split, symmetric, itemsize, ranks, rank, forward, backward, size, count, lag)


@cache
def _slice_operations(split: Split, in_top: int) -> int:
    """Return the min-adds of a slice with so many top cities."""
    total = 0
    for in_mid in range(split.middle + 1):
        for in_low in range(split.low + 1):
            size = in_low + in_mid + in_top
            total += comb(split.mid, in_mid) * comb(split.low, in_low) * size * (split.cities - size)
    return total

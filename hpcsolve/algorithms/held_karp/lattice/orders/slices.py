"""How the table of all states is split over ranks: pairs of complementary slices, a slice by its set of top cities.

Every rank has the same layers at the same time. After a layer, the values of a top city go from the slices without it
to those with it. Everything here follows from the number of cities, the ranks, and the size of a layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

CHUNK = 128
"""Sets of a block."""
MOST_TOP = 7
"""At most 2^7 slices, so at most 2^6 ranks share one table."""


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

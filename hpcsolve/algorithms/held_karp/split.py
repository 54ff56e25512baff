"""How the subset lattice is split: cities into Low | Mid | Top, slices over ranks, layers into chunks.

A slice is a subset A of the Top cities; it works on the sets whose Top part is A. Slices advance by the number of Mid
cities, so each has the same number of blocks in every layer and the load of the ranks is even. Everything here
follows from the instance and the number of ranks alone; what decides between equal tours (`Split`) from the instance
alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

FEWEST_CITIES = 7
"""Smaller problems are solved by `small.py`: 5 low cities (a warp's lanes), 1 mid city, 1 top city."""
MOST_TOP = 8
"""At most 2^8 slices: as many ranks can share one problem (half as many if it is symmetric)."""
LAUNCH_BLOCKS = 1024
"""About as many blocks as one launch has."""


@dataclass(frozen=True)
class Split:
    """Numbers of Low, Mid and Top cities; Mid is odd, so that tours have a middle."""

    low: int
    mid: int
    top: int

    @property
    def cities(self) -> int:
        """All cities but the depot."""
        return self.low + self.mid + self.top

    @property
    def slices(self) -> int:
        """Subsets of the Top cities."""
        return 1 << self.top

    @property
    def middle(self) -> int:
        """Mid cities of the sets where the two halves of a tour meet."""
        return (self.mid - 1) // 2

    def plane(self, size: int) -> int:
        """Values of one stored plane of one slice, in the layer with `size` mid cities."""
        return comb(self.mid - 1, size) << self.low if size >= 0 else 0

    def stored(self, parity: int) -> int:
        """Values that a slice stores of its largest layer with an even (0) or odd (1) number of mid cities."""
        sizes = range(parity, self.middle + 1, 2)
        return self.mid * max((self.plane(size) for size in sizes), default=0)

    def sets(self) -> int:
        """Mid sets of one slice that a half run visits."""
        return sum(comb(self.mid, size) for size in range(self.middle + 1))


def split_cities(cities: int) -> Split:
    """The split of a problem with so many cities beside the depot, at least `FEWEST_CITIES`.

    Low grows with the problem up to 2^10 sets a block (20 KiB of shared memory for 32-bit values); of the rest Top
    takes up to half, which costs little (its planes stay in caches) and saves storage, and Mid what remains, made
    odd.
    """
    low = 5 if cities < 12 else 6 if cities < 16 else 8 if cities < 19 else 10
    high = cities - low
    top = min(high // 2, MOST_TOP)
    if (high - top) % 2 == 0:
        top += 1 if top < MOST_TOP else -1
    return Split(low, high - top, top)


def owners(split: Split, ranks: int, symmetric: bool) -> list[int]:
    """The rank of each slice A: floor(A R / 2^p), or of each pair of A and its complement if the problem is symmetric.

    For an asymmetric problem the backward run gives slice A to the forward owner of its complement, so the halves
    meet without a message.
    """
    last = split.slices - 1
    if symmetric:
        return [min(a, last ^ a) * ranks >> (split.top - 1) for a in range(split.slices)]
    return [a * ranks >> split.top for a in range(split.slices)]


@dataclass(frozen=True)
class Places:
    """Where the planes that one rank's slices exchange stand in its stream buffer.

    A place belongs to a pair (A, i): the plane of top city i that slice A sends to A + i. Places are grouped by the
    number of A's cities, within it by the peer rank, so that what goes to one rank in one step is one contiguous
    message.

    Attributes
    ----------
    slices
        This rank's slices, ascending.
    table
        Shape (slices, 1 + top), int32: the slice, then for each top city its place within its level.
    level_start
        Shape (top + 1,), int32: first place of each level.
    count
        Number of places.
    outgoing, incoming
        (level, peer rank, first place within the level, places), in the order of the messages.
    """

    slices: list[int]
    table: NDArray[np.int32]
    level_start: NDArray[np.int32]
    count: int
    outgoing: list[tuple[int, int, int, int]]
    incoming: list[tuple[int, int, int, int]]


def places(split: Split, owner: list[int], rank: int) -> Places:
    """The stream buffer of `rank`."""
    mine = [a for a in range(split.slices) if owner[a] == rank]
    row = {a: position for position, a in enumerate(mine)}
    table = np.zeros((len(mine), 1 + split.top), np.int32)
    table[:, 0] = mine
    level_start = np.zeros(split.top + 1, np.int32)
    outgoing: list[tuple[int, int, int, int]] = []
    incoming: list[tuple[int, int, int, int]] = []
    count = 0
    for level, pairs in enumerate(_pairs_by_level(split, owner, rank)):
        level_start[level] = count
        count += len(pairs)
        groups: dict[tuple[int, int], list[int]] = {}
        for place, (sender, receiver, a, i) in enumerate(pairs):
            groups.setdefault((sender, receiver), []).append(place)
            if sender == rank:
                table[row[a], 1 + i] = place
            if receiver == rank:
                table[row[a | 1 << i], 1 + i] = place
        for (sender, receiver), group in groups.items():
            if sender != receiver:
                peer, messages = (receiver, outgoing) if sender == rank else (sender, incoming)
                messages.append((level, peer, group[0], len(group)))
    return Places(mine, table, level_start, count, outgoing, incoming)


def _pairs_by_level(split: Split, owner: list[int], rank: int) -> list[list[tuple[int, int, int, int]]]:
    """By the number of A's cities: (owner of A, owner of A + i, A, i), sorted, of all pairs that touch the rank."""
    levels: list[list[tuple[int, int, int, int]]] = [[] for _ in range(split.top + 1)]
    for a in range(split.slices):
        for i in range(split.top):
            ends = owner[a], owner[a | 1 << i]
            if not a >> i & 1 and rank in ends:
                levels[a.bit_count()].append((*ends, a, i))
    return [sorted(pairs) for pairs in levels]


def chunk_size(split: Split, ranks: int, symmetric: bool) -> int:
    """Mid sets a chunk: enough blocks a launch to keep a device busy, few enough that the stream stays in caches.

    With several ranks also so few that the wave has many more chunks than it needs to rise and fall.
    """
    unit = 2 if symmetric else 1
    slices = -(-split.slices // (unit * ranks)) * unit
    size = min(-(-LAUNCH_BLOCKS // slices), comb(split.mid, split.middle))
    return max(1, size if ranks == 1 else min(size, split.sets() // (16 * split.top)))


def chunk_count(split: Split, size: int) -> int:
    """Chunks of a half run's layers."""
    return sum(-(-comb(split.mid, cities) // size) for cities in range(split.middle + 1))


def chunks(split: Split, size: int) -> NDArray[np.int32]:
    """Shape (chunks, 3), int32: mid cities, colex rank of the first set, sets; the layers of a half run in order."""
    rows = [
        (cities, first, min(size, comb(split.mid, cities) - first))
        for cities in range(split.middle + 1)
        for first in range(0, comb(split.mid, cities), size)
    ]
    return np.array(rows, np.int32)

"""How the subset lattice is split: cities into low, mid and top ones, slices over ranks, layers into chunks.

A slice is all sets whose top cities are a certain subset A. A layer is all sets with the same number of mid cities.
Slices advance layer by layer, so each has the same number of blocks in every layer, and the load of the ranks is even.
Everything here follows from the instance and the number of ranks alone. What decides between equal tours (`Split`)
follows from the instance alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

FEWEST_CITIES = 7
"""5 low cities (2^5 lanes of a warp), 1 mid city and 1 top city. `small.py` solves smaller problems."""
MOST_TOP = 8
"""At most 2^8 slices, so at most 2^8 ranks share one problem (half as many if it is symmetric)."""
LAUNCH_BLOCKS = 1024
"""Roughly the blocks of one launch."""


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
    """Return the split of a problem with this many cities beside the depot, at least `FEWEST_CITIES`.

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
    for stage, pairs in enumerate(_pairs_by_stage(split, owner, rank)):
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


def _pairs_by_stage(split: Split, owner: list[int], rank: int) -> list[list[tuple[int, int, int, int]]]:
    """Return, for each number of A's cities, (owner of A, owner of A + i, A, i) of all pairs of the rank, sorted."""
    stages: list[list[tuple[int, int, int, int]]] = [[] for _ in range(split.top + 1)]
    for a in range(split.slices):
        for i in range(split.top):
            ends = owner[a], owner[a | 1 << i]
            if not a >> i & 1 and rank in ends:
                stages[a.bit_count()].append((*ends, a, i))
    return [sorted(pairs) for pairs in stages]


def chunk_size(split: Split, ranks: int, symmetric: bool) -> int:
    """Return the number of mid sets in a chunk.

    It is so large that a launch keeps the device busy, and so small that the stream stays in caches. With several ranks
    it is also so small that the wave has many more chunks than stages.
    """
    unit = 2 if symmetric else 1
    slices = -(-split.slices // (unit * ranks)) * unit
    size = min(-(-LAUNCH_BLOCKS // slices), comb(split.mid, split.middle))
    return max(1, size if ranks == 1 else min(size, split.sets() // (16 * split.top)))


def chunk_count(split: Split, size: int) -> int:
    """Return the number of chunks of a half run's layers."""
    return sum(-(-comb(split.mid, layer) // size) for layer in range(split.middle + 1))


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

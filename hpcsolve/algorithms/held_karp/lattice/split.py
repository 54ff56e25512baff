"""How the subset lattice is split, and one rank's share of it, fixed before a run: its slices, buffers and messages.

Cities are low, mid and top ones. A slice is all sets whose top cities are a certain subset A. A layer is all sets with
the same number of mid cities. Slices advance layer by layer, so each has the same number of blocks in every layer, and
the load of the ranks is even. Everything here follows from the instance and the number of ranks alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FEWEST_SPLIT = 7
"""5 low cities (2^5 lanes of a warp), 1 mid city and 1 top city. One table in numpy solves smaller problems."""
MOST_TOP = 8
"""At most 2^8 slices, so at most 2^8 ranks share one problem (half as many if it is symmetric)."""


class Pace(NamedTuple):
    """How large the steps of a wave are, and how long a plane travels.

    Attributes
    ----------
    blocks
        Roughly the blocks of one launch.
    chunks
        With several ranks, at least so many chunks for each stage: slices with more top cities begin later.
    lag
        With several ranks, the steps that a plane has to travel from slice to slice.
    """

    blocks: int
    chunks: int
    lag: int


PACE = {"cpu": Pace(1024, 16, 2), "cuda": Pace(8192, 8, 4)}
"""By kind of device. On a CPU the planes on their way should stay in its caches: with 8192 blocks it loses a fifth. A
GPU holds 1320 blocks (H200), and needs several times as many so that few of them are idle at the end of a launch; and
each step takes the host some 0.1 ms. There the download of a plane, its message and its upload may take a step each."""
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
    """Planes that this rank's slices send to another rank, or get from it, in one step.

    Attributes
    ----------
    parts
        The parts of the stream that it is made of, one for each stage whose planes it carries.
    """

    peer: int
    parts: range


@dataclass(frozen=True)
class Stream:
    """Where the planes that one rank's slices exchange stand in its stream buffer, which has room for some steps.

    Slice A sends the plane of top city i to slice A + i. A part of the stream is what slices of one stage, the number
    of A's cities, send to those of one rank. The parts of a step follow one another without gaps, by the other rank and
    then by stage. So all that goes to one rank in one step is one contiguous message.

    Attributes
    ----------
    slices
        This rank's slices, ascending.
    table
        Shape (slices, 1 + 2 top), int32: the slice, then for each top city its part, and its plane's place there.
    stages, planes
        Shape (parts,), int64: of each part the stage, and the number of planes.
    outgoing, incoming
        The messages of a step, at most one to each other rank and one from it.
    """

    slices: list[int]
    table: NDArray[np.int32]
    stages: NDArray[np.int64]
    planes: NDArray[np.int64]
    outgoing: list[Message]
    incoming: list[Message]

    @property
    def count(self) -> int:
        """The number of planes of a step."""
        return int(self.planes.sum())

    @property
    def sent(self) -> int:
        """The number of planes of a step that go to other ranks."""
        return sum(int(self.planes[message.parts].sum()) for message in self.outgoing)

    @property
    def crossing_parts(self) -> int:
        """The number of parts that go to other ranks or come from them. They are the first ones."""
        return sum(len(message.parts) for message in (*self.outgoing, *self.incoming))

    @property
    def crossing(self) -> int:
        """The number of planes of a step that go to other ranks or come from them."""
        return self.sent + sum(int(self.planes[message.parts].sum()) for message in self.incoming)

    def starts(self, sets: NDArray[np.int32], lag: int, steps: int) -> NDArray[np.int32]:
        """Return the first block of each part in each step, and the end of the last part: shape (steps, parts + 1).

        A block is the 2^low values of a mid set in a plane. Blocks are counted from the beginning of the step's room.

        Parameters
        ----------
        sets
            The number of mid sets of each chunk.
        """
        chunk = np.arange(steps)[:, None] - lag * self.stages
        at_work = (chunk >= 0) & (chunk < len(sets))
        blocks = np.where(at_work, sets[np.clip(chunk, 0, len(sets) - 1)] * self.planes, 0)
        return np.pad(np.cumsum(blocks, axis=1), ((0, 0), (1, 0))).astype(np.int32)


def stream_of(split: Split, owner: list[int], rank: int) -> Stream:
    """Return the stream of `rank`, where `owner` has the rank of each slice."""
    mine = [a for a in range(split.slices) if owner[a] == rank]
    row = {a: position for position, a in enumerate(mine)}
    table = np.zeros((len(mine), 1 + 2 * split.top), np.int32)
    table[:, 0] = mine
    sent: dict[tuple[int, int, int], list[tuple[int, int]]] = {}  # (A, i) by sender, receiver and stage
    for a in range(split.slices):
        for i in range(split.top):
            ends = owner[a], owner[a | 1 << i]
            if not a >> i & 1 and rank in ends:
                sent.setdefault((*ends, a.bit_count()), []).append((a, i))

    def kind(part: tuple[int, int, int]) -> int:
        """Return 0 if the part goes to another rank, 1 if it comes from one, and 2 if it stays on this rank."""
        return (part[1] == rank) * (1 + (part[0] == rank))

    parts = sorted(sent, key=lambda part: (kind(part), part))
    for number, part in enumerate(parts):
        for place, (a, i) in enumerate(sent[part]):
            for slice_ in {a, a | 1 << i} & row.keys():
                table[row[slice_], 1 + 2 * i : 3 + 2 * i] = number, place
    messages: list[list[Message]] = [[], []]
    for (way, *pair), numbers in groupby(range(len(parts)), lambda number: (kind(parts[number]), *parts[number][:2])):
        if way < 2:
            first, *others = numbers
            messages[way].append(Message(pair[1 - way], range(first, first + 1 + len(others))))
    stages, planes = np.array([(part[2], len(sent[part])) for part in parts], np.int64).reshape(-1, 2).T
    return Stream(mine, table, stages, planes, *messages)


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
    """One rank's share of a distributed run.

    Attributes
    ----------
    kind
        The kind of rank 0's device, whose pace all ranks keep.
    """

    split: Split
    ranks: int
    rank: int
    symmetric: bool
    itemsize: int
    kind: str = "cpu"

    @cached_property
    def forward(self) -> Stream:
        """The stream of this rank's slices in the forward run."""
        return stream_of(self.split, owners(self.split, self.ranks, self.symmetric), self.rank)

    @cached_property
    def backward(self) -> Stream:
        """The stream of this rank's slices in the backward run, the same object if the problem is symmetric."""
        if self.symmetric:
            return self.forward
        return stream_of(self.split, owners(self.split, self.ranks, False)[::-1], self.rank)

    @property
    def lag(self) -> int:
        """Steps of a plane from slice to slice: more where it may cross ranks, so that messages overlap with work."""
        return 1 if self.ranks == 1 else PACE[self.kind].lag

    @property
    def turns(self) -> int:
        """The number of steps whose planes the stream has room for: they are read `lag` steps later."""
        return self.lag + 1

    @property
    def chunk_size(self) -> int:
        """The number of mid sets in a chunk, which follows from the pace."""
        split, unit, pace = self.split, 2 if self.symmetric else 1, PACE[self.kind]
        slices = -(-split.slices // (unit * self.ranks)) * unit
        size = min(-(-pace.blocks // slices), comb(split.mid, split.middle))
        return max(1, size if self.ranks == 1 else min(size, split.sets() // (pace.chunks * split.top)))

    @cached_property
    def chunks(self) -> NDArray[np.int32]:
        """The chunks of a half run."""
        return chunks(self.split, self.chunk_size)

    @property
    def chunk_count(self) -> int:
        """The number of `chunks`, without making them: a plan may be for more than there is memory for."""
        return sum(-(-comb(self.split.mid, layer) // self.chunk_size) for layer in range(self.split.middle + 1))

    @property
    def steps(self) -> int:
        """The number of steps of a half run: the slices with all top cities begin last."""
        return self.chunk_count + self.lag * self.split.top

    @property
    def slices(self) -> int:
        """This rank's slices, in either half run."""
        return len(self.forward.slices)

    @property
    def stretches(self) -> int:
        """Stretches of a plane of the middle layer, each one block of the kernel."""
        return -(-self.split.plane(self.split.middle) // STRETCH)

    def half_runs(self) -> tuple[Stream, ...]:
        """Return the streams of the half runs: two, or one that serves both halves of a symmetric tour."""
        return (self.forward,) if self.symmetric else (self.forward, self.backward)

    def device_bytes(self) -> int:
        """Return the bytes of device memory at the peak of the two half runs, exactly."""
        if not self.slices:
            return 0
        item = self.itemsize
        parts = max(len(stream.stages) + 1 for stream in self.half_runs())
        tables = self.forward.table.nbytes + 4 * self.steps * parts + BINOMIAL.nbytes + 12 * self.chunk_count
        tables += COST_STRIDE**2 * 4 + (item << self.split.low)
        best = 4 * self.slices * self.split.mid * self.stretches
        return self.stored_bytes() + max(self.stream_values() * item + tables, best)

    def peak_bytes(self) -> int:
        """Return the bytes of device memory of a run: rank 0 recovers the longer half of the tour afterwards."""
        cities = self.split.cities - self.split.middle - 1
        if self.rank or cities < FEWEST_SPLIT:
            return self.device_bytes()
        half = Share(split_cities(cities), 1, 0, False, self.itemsize, self.kind)
        return max(self.device_bytes(), half.device_bytes())

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
        return self.turns * max(s.count for s in self.half_runs()) * self.chunk_size << self.split.low

    def host_bytes(self) -> int:
        """Return the most bytes of host memory that messages pass through: none on a CPU, where they stay in place."""
        return 0 if self.kind == "cpu" else self.turns * self.crossing_bytes()

    def crossing_bytes(self) -> int:
        """Return the most bytes of the messages of a step, those that are sent and those that arrive."""
        planes = max(stream.crossing for stream in self.half_runs())
        return (planes * self.chunk_size << self.split.low) * self.itemsize

    def bytes_sent(self) -> int:
        """Return the bytes that this rank sends in all: the planes that cross ranks, for each set of the half runs."""
        planes = sum(stream.sent for stream in self.half_runs())
        return (planes * self.split.sets() << self.split.low) * self.itemsize

    def operations(self) -> int:
        """Return the min-adds of this rank's slices in the half runs: |S| (m - |S|) for every set S."""
        return sum(slice_operations(self.split, a.bit_count()) for p in self.half_runs() for a in p.slices)


@cache
def slice_operations(split: Split, in_top: int) -> int:
    """Return the min-adds of a slice with so many top cities."""
    total = 0
    for in_mid in range(split.middle + 1):
        for in_low in range(split.low + 1):
            size = in_low + in_mid + in_top
            total += comb(split.mid, in_mid) * comb(split.low, in_low) * size * (split.cities - size)
    return total

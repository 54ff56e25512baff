"""The families of the next size: this rank's share of the sets, in launches between which the search may end."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.exact.families import (
    Families,
    Layers,
    begins,
    from_states,
    joined,
    no_families,
    runs,
)
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.reductions.simple import ranges
from hpcsolve.device.host import Given
from hpcsolve.parallel.comm import Comm

FILE = "host/subset_program"
SECONDS = 0.25
"""How long a launch should take, roughly."""
PAIRS = 1 << 21
"""The most pairs of a pass. If there are more, the sets are dealt to several passes."""
STATES = 1 << 20
"""The least room, in states, for those that a call keeps: when it is full, the call grows no further sets."""
MESSAGE = 1 << 26
"""Roughly the most bytes that all ranks together exchange at a time: messages take memory beside the families."""


@dataclass
class LaunchSize:
    """The number of items of a launch, adapted so that it takes about `SECONDS`."""

    size: int
    most: int = 1 << 30
    started: float = field(default_factory=time.perf_counter)

    def begin(self) -> int:
        """Note the time, and return the size of the next launch."""
        self.started = time.perf_counter()
        return self.size

    def end(self) -> None:
        """Adapt the size to the time that the last launch took."""
        seconds = time.perf_counter() - self.started
        if seconds < SECONDS / 2:
            self.size = min(2 * self.size, self.most)
        elif seconds > 2 * SECONDS:
            self.size = max(1, self.size // 2)


@dataclass(frozen=True)
class Pairs:
    """Pairs of families, sorted by their unions, which are the sets to be grown.

    Attributes
    ----------
    sets
        Shape (sets, words): the unions.
    begin
        Shape (sets + 1,): where the pairs of each set begin.
    first, second
        Shape (pairs,): numbers of families.
    """

    sets: NDArray[np.uint64]
    begin: NDArray[np.uint64]
    first: NDArray[np.uint32]
    second: NDArray[np.uint32]

    def part(self, which: NDArray[np.int64]) -> dict[str, Given]:
        """Return some of the sets with their pairs, as the functions' group `targets`."""
        begin = self.begin.astype(np.int64)
        counts = np.diff(begin)[which]
        pairs = ranges(begin[which], counts)
        return {"count": len(which), "sets": self.sets[which].reshape(-1), "begin": begins(counts),
                "first": self.first[pairs], "second": self.second[pairs]}


def pair_bytes(terminals: int) -> int:
    """Return the bytes of a full `PairList`, given the number of terminals of the graph as it was read."""
    return PAIRS * 8 * (1 + (1 if terminals <= 64 else 2))


@dataclass
class Layer:
    """A rank's share of the families of one size, which `launches` finds.

    Attributes
    ----------
    size
        Number of terminals in a set.
    limit
        Only trees of the reduced graph that are lighter than this are looked for.
    found
        The families so far.
    """

    space: Space
    layers: Layers
    comm: Comm
    size: int
    limit: int
    found: list[Families] = field(default_factory=list)

    def held(self) -> int:
        """Return the bytes of the families so far."""
        return sum(part.nbytes for part in self.found)

    def gathered(self) -> Families:
        """Return the families of all ranks, and forget those found here. Collective."""
        own = joined([no_families(self.space.words), *self.found])
        self.found.clear()
        if self.comm.size == 1:
            return own
        messages = 1 + sum(self.comm.allgather(own.nbytes)) // MESSAGE
        ends = [len(own) * number // messages for number in range(messages + 1)]
        return joined([part for first, last in itertools.pairwise(ends)
                       for part in self.comm.allgather(own.part(first, last))])

    def launches(self) -> Iterator[None]:
        """Find this rank's families, and yield after each launch."""
        if self.size == 1:
            yield from self._grow_all(self._terminals())
            return
        passes, number, room = 1, 0, PAIRS
        while number < passes:
            listed = PairList(room, self.space.words)
            yield from self._list(listed, self.comm.size * passes, self.comm.rank + self.comm.size * number)
            if listed.used <= room:
                yield from self._grow_all(listed.pairs())
                number += 1
            elif passes == 1:
                passes = 1 + 2 * listed.used // room
            else:  # this pass has more pairs than the average one: repeat it with enough room
                room = listed.used

    def _terminals(self) -> Pairs:
        """Return this rank's terminals as sets without pairs."""
        own = np.arange(self.comm.rank, self.space.terminals, self.comm.size)
        sets = np.zeros((len(own), self.space.words), np.uint64)
        sets[np.arange(len(own)), own // 64] = np.uint64(1) << (own % 64).astype(np.uint64)
        return Pairs(sets, np.zeros(len(own) + 1, np.uint64), *np.empty((2, 0), np.uint32))

    def _list(self, out: PairList, modulus: int, residue: int) -> Iterator[None]:
        """List the pairs of this share of the sets, and yield after each call."""
        half, begin, size = self.size // 2, 0, LaunchSize(64)
        end = self.layers.first_of(half + 1)
        while begin < end:
            until = min(end, begin + size.begin())
            out.add(self._call("pair", n=self.space.net.n, size=self.size, limit=self.limit,
                               own={"modulus": modulus, "residue": residue}, taken={"begin": begin, "end": until},
                               room=max(0, out.room - out.used)))
            size.end()
            begin = until
            yield

    def _grow_all(self, pairs: Pairs) -> Iterator[None]:
        """Grow these sets, and yield after each call."""
        waiting = np.arange(len(pairs.sets))
        size = LaunchSize(16 * self.space.net.device.info.threads)
        while len(waiting):
            chosen, waiting = np.split(waiting, [size.begin()])
            waiting = np.concatenate([self._grow(pairs, chosen), waiting])
            size.end()
            yield

    def _grow(self, pairs: Pairs, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Grow some of the sets, keep their states, and return the sets for whose states there was no room."""
        space, net = self.space, self.space.net
        found = self._call("grow", net=net.group(), number=net.terminal_numbers(), targets=pairs.part(chosen),
                           dual=space.ascents, limit=self.limit, rules=space.rules, room=max(STATES, net.n))
        alive, counts = found["counts"] > 0, found["counts"].astype(np.int64)
        self.found.append(from_states(pairs.sets[chosen[found["sets"][alive]]], counts[alive], found["vertices"],
                                      found["weights"], found["least"][alive]))
        left: NDArray[np.int64] = np.delete(chosen, found["sets"])
        return left

    def _call(self, what: str, /, **arguments: Given) -> dict[str, NDArray[Any]]:
        """Call a function of subset_program.cpp on the families so far."""
        device = self.space.net.device
        return device.call(FILE, f"subset_program_{what}{self.space.words}", threads=device.info.threads,
                           all=self.layers.group(self.space.half), **arguments)


@dataclass
class PairList:
    """Pairs that several calls have found.

    Attributes
    ----------
    room
        The most pairs that are kept.
    words
        Number of 64-bit words in a set.
    used
        Number of pairs found, including those for which there was no room.
    """

    room: int
    words: int
    used: int = 0
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)

    def add(self, found: dict[str, NDArray[Any]]) -> None:
        """Add what a call has found."""
        self.used += int(found["used"][0])
        self.parts.append(found)

    def pairs(self) -> Pairs:
        """Return the pairs, sorted by their unions, and forget them."""
        types = {"sets": np.uint64, "first": np.uint32, "second": np.uint32}
        sets, first, second = (
            np.concatenate([np.empty(0, kind), *(part[name] for part in self.parts)]) for name, kind in types.items())
        self.parts.clear()
        sets = sets.reshape(-1, self.words)
        order = np.lexsort(sets.T)
        sets = sets[order]
        starts = runs(sets)
        return Pairs(sets[starts], np.append(starts, len(sets)).astype(np.uint64), first[order], second[order])

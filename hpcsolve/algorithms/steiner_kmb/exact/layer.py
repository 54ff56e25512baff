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
from hpcsolve.algorithms.steiner_kmb.network import Given, New, launched
from hpcsolve.algorithms.steiner_kmb.reductions.simple import ranges
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm

FILE = "steiner/subset_program"
SECONDS = 0.25
"""How long a launch should take, roughly."""
PAIRS = 1 << 21
"""The most pairs of a pass. If there are more, the sets are dealt to several passes."""
STATES = 1 << 20
"""The least room, in states, for those that a launch keeps."""
MESSAGE = 1 << 26
"""Roughly the most bytes that all ranks together exchange at a time: messages take memory beside the families."""
NOT_DONE = np.uint32(2**32 - 1)
"""In place of the number of states of a set: there was no room for them, and the set must be grown again."""


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
        """Return some of the sets with their pairs, as the kernels' group `targets`."""
        begin = self.begin.astype(np.int64)
        counts = np.diff(begin)[which]
        pairs = ranges(begin[which], counts)
        return {"count": len(which), "sets": self.sets[which].reshape(-1), "begin": begins(counts),
                "first": self.first[pairs], "second": self.second[pairs]}


def pair_bytes(terminals: int) -> int:
    """Return the bytes of a `PairBuffer`, given the number of terminals of the graph as it was read."""
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
            with PairBuffer(room, self.space.words, self.space.net.device) as listed:
                yield from self._list(listed, self.comm.size * passes, self.comm.rank + self.comm.size * number)
                used, pairs = listed.used, listed.pairs()
            if pairs is None and passes == 1:
                passes = 1 + 2 * used // room
            elif pairs is None:  # this pass has more pairs than the average one: repeat it with enough room
                room = used
            else:
                yield from self._grow_all(pairs)
                number += 1

    def _terminals(self) -> Pairs:
        """Return this rank's terminals as sets without pairs."""
        own = np.arange(self.comm.rank, self.space.terminals, self.comm.size)
        sets = np.zeros((len(own), self.space.words), np.uint64)
        sets[np.arange(len(own)), own // 64] = np.uint64(1) << (own % 64).astype(np.uint64)
        return Pairs(sets, np.zeros(len(own) + 1, np.uint64), *np.empty((2, 0), np.uint32))

    def _list(self, out: PairBuffer, modulus: int, residue: int) -> Iterator[None]:
        """List the pairs of this share of the sets, and yield after each launch."""
        half, begin, size = self.size // 2, 0, LaunchSize(64)
        n, threads = self.space.net.n, self.space.net.device.info.threads
        end = self.layers.first_of(half + 1)
        while begin < end:
            until = min(end, begin + size.begin())
            self._launch("pair", n=n, size=self.size, limit=self.limit, own={"modulus": modulus, "residue": residue},
                         taken={"begin": begin, "end": until}, next=New(1, np.uint64, zero=True, scratch=True),
                         weights=New(threads * n, np.uint64, scratch=True), out=out.group())
            size.end()
            begin = until
            yield

    def _grow_all(self, pairs: Pairs) -> Iterator[None]:
        """Grow these sets, and yield after each launch."""
        waiting = np.arange(len(pairs.sets))
        grid = self.space.net.device.info.threads
        size = LaunchSize(16 * grid)
        while len(waiting):
            chosen, waiting = np.split(waiting, [size.begin()])
            left = self._grow(pairs, chosen, min(grid, len(chosen)))
            waiting = np.concatenate([left, waiting])
            size.end()
            yield

    def _grow(self, pairs: Pairs, chosen: NDArray[np.int64], grid: int) -> NDArray[np.int64]:
        """Grow some of the sets, keep their states, and return the sets for whose states there was no room."""
        space, net = self.space, self.space.net
        room = max(STATES, net.n)
        states = {"vertices": net.device.empty(room, np.uint32), "weights": net.device.empty(room, np.uint64)}
        kept: Given = {"room": room, "used": New(1, np.uint64, zero=True), "begin": New(len(chosen), np.uint64),
                       "least": New(len(chosen), np.uint64), "count": New(len(chosen), np.uint32), **states}
        out = self._launch(
            "grow", grid, net=net.group(), number=net.terminal_numbers(), targets=pairs.part(chosen),
            dual=space.ascents, limit=self.limit, rules=space.rules, next=New(1, np.uint64, zero=True, scratch=True),
            words=New(grid * 5 * net.n, np.uint32, scratch=True), weights=New(grid * net.n, np.uint64, scratch=True),
            rest=New(grid * space.terminals, np.int64, scratch=True), out=kept,
        )
        used = min(room, int(out["used"][0]))  # mostly a small part of the room, so the rest is not copied
        vertices, weights = (buffer.view(0, used).download() for buffer in states.values())
        for buffer in states.values():
            buffer.free()
        done = out["count"] != NOT_DONE
        alive = done & (out["count"] > 0)
        counts = out["count"][alive].astype(np.int64)
        which = ranges(out["begin"][alive].astype(np.int64), counts)
        self.found.append(from_states(pairs.sets[chosen[alive]], counts, vertices[which], weights[which],
                                      out["least"][alive]))
        left: NDArray[np.int64] = chosen[~done]
        return left

    def _launch(self, what: str, grid: int = 0, /, **arguments: Given) -> dict[str, NDArray[Any]]:
        """Launch a kernel of subset_program.cu on the families so far."""
        device = self.space.net.device
        return launched(device, FILE, f"subset_program_{what}{self.space.words}", grid or device.info.threads, 1,
                        all=self.layers.group(self.space.half), **arguments)


class PairBuffer:
    """Device memory for pairs, which several launches fill. A context manager: leaving it frees the memory."""

    def __init__(self, room: int, words: int, device: Device) -> None:
        self.room, self.words = room, words
        self._buffers = {
            "used": device.zeros(1, np.uint64), "sets": device.empty(room * words, np.uint64),
            "first": device.empty(room, np.uint32), "second": device.empty(room, np.uint32),
        }

    def __enter__(self) -> PairBuffer:
        """Return the buffer itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the memory."""
        for buffer in self._buffers.values():
            buffer.free()

    @property
    def used(self) -> int:
        """Number of pairs found, including those for which there was no room."""
        return int(self._buffers["used"].download()[0])

    def group(self) -> dict[str, Given]:
        """Return the kernels' group `out`."""
        return {"room": self.room, **self._buffers}

    def pairs(self) -> Pairs | None:
        """Return the pairs, sorted by their unions, or None if there was not enough room."""
        used = self.used
        if used > self.room:
            return None
        sets = self._buffers["sets"].view(0, used * self.words).download().reshape(used, self.words)
        order = np.lexsort(sets.T)
        sets = sets[order]
        starts = runs(sets)
        first, second = (self._buffers[name].view(0, used).download()[order] for name in ("first", "second"))
        return Pairs(sets[starts], np.append(starts, used).astype(np.uint64), first, second)

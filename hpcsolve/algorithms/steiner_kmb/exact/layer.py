"""The families of the next size: this rank's share of the sets, in pieces between which the ranks may stop."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.exact.families import Families, Layers, from_states, joined, no_families
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.network import Given, New, launched
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm

FILE = "steiner/subset_program"
SECONDS = 0.25
"""How long a launch should take, about."""
PAIRS = 1 << 21
"""The most pairs in a pass. If there are more, the sets are dealt to several passes."""
STATES = 1 << 20
"""The least room for the states that a launch keeps."""
MESSAGE = 1 << 26
"""About the most bytes that all ranks together exchange at a time, since messages exist beside the families."""
NOT_DONE = np.uint32(2**32 - 1)
"""Stands for the number of states of a set if there was no room for them. The set is grown again."""


@dataclass
class Pieces:
    """The number of items of a launch, adapted so that it takes about `SECONDS`."""

    size: int
    most: int = 1 << 30
    started: float = field(default_factory=time.perf_counter)

    def begin(self) -> int:
        """Note the time, and return the size of the next piece."""
        self.started = time.perf_counter()
        return self.size

    def end(self) -> None:
        """Adapt the size to the time that the last piece took."""
        seconds = time.perf_counter() - self.started
        if seconds < SECONDS / 2:
            self.size = min(2 * self.size, self.most)
        elif seconds > 2 * SECONDS:
            self.size = max(1, self.size // 2)


@dataclass(frozen=True)
class Pairs:
    """Pairs of families whose unions are the sets to be grown, sorted by them.

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
        counts = (begin[1:] - begin[:-1])[which]
        ends = np.cumsum(counts)
        pairs = np.repeat(begin[which] - (ends - counts), counts) + np.arange(int(counts.sum()))
        return {"count": len(which), "sets": self.sets[which].reshape(-1),
                "begin": np.concatenate([np.zeros(1, np.int64), ends]).astype(np.uint64),
                "first": self.first[pairs], "second": self.second[pairs]}


def pair_bytes(terminals: int) -> int:
    """Return the bytes of a pass's room for pairs, given the number of terminals of the graph as it was read."""
    return PAIRS * 8 * (1 + (1 if terminals <= 64 else 2))


@dataclass
class Layer:
    """A rank's share of the families of one size, which `pieces` finds.

    Attributes
    ----------
    size
        Number of terminals in a set.
    limit
        Only trees of the reduced graph that are lighter than this count.
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

    def all(self) -> Families:
        """Return the families of all ranks, and forget those found here. Collective."""
        own = joined([no_families(self.space.words), *self.found])
        self.found.clear()
        if self.comm.size == 1:
            return own
        messages = 1 + sum(self.comm.allgather(own.nbytes)) // MESSAGE
        ends = [len(own) * number // messages for number in range(messages + 1)]
        return joined([part for first, last in itertools.pairwise(ends)
                       for part in self.comm.allgather(own.part(first, last))])

    def pieces(self) -> Iterator[None]:
        """Find this rank's families, and yield after each launch."""
        if self.size == 1:
            yield from self._grown(self._terminals())
            return
        passes, number, room = 1, 0, PAIRS
        while number < passes:
            listed = PairRoom(room, self.space.words, self.space.net.device)
            with listed:
                yield from self._listed(listed, self.comm.size * passes, self.comm.rank + self.comm.size * number)
                used, pairs = listed.used, listed.pairs()
            if pairs is None and passes == 1:
                passes = 1 + 2 * used // room
            elif pairs is None:  # this pass has more pairs than the average one: repeat it with enough room
                room = used
            else:
                yield from self._grown(pairs)
                number += 1

    def _terminals(self) -> Pairs:
        """Return this rank's terminals as sets without pairs."""
        own = np.arange(self.comm.rank, self.space.terminals, self.comm.size)
        sets = np.zeros((len(own), self.space.words), np.uint64)
        sets[np.arange(len(own)), own // 64] = np.uint64(1) << (own % 64).astype(np.uint64)
        return Pairs(sets, np.zeros(len(own) + 1, np.uint64), *np.empty((2, 0), np.uint32))

    def _listed(self, room: PairRoom, modulus: int, residue: int) -> Iterator[None]:
        """List the pairs of this share of the sets, and yield after each launch."""
        half, begin, pieces = self.size // 2, 0, Pieces(64)
        n, threads = self.space.net.n, self.space.net.device.info.threads
        end = self.layers.begins(half + 1)
        while begin < end:
            until = min(end, begin + pieces.begin())
            self._launch("pair", n=n, size=self.size, limit=self.limit, own={"modulus": modulus, "residue": residue},
                         taken={"begin": begin, "end": until}, next=New(1, np.uint64, zero=True, scratch=True),
                         weights=New(threads * n, np.uint64, scratch=True), out=room.group())
            pieces.end()
            begin = until
            yield

    def _grown(self, pairs: Pairs) -> Iterator[None]:
        """Grow these sets, and yield after each launch."""
        waiting = np.arange(len(pairs.sets))
        grid, pieces = self.space.net.device.info.threads, Pieces(16 * self.space.net.device.info.threads)
        while len(waiting):
            chosen, waiting = np.split(waiting, [pieces.begin()])
            left = self._grow(pairs, chosen, min(grid, len(chosen)))
            waiting = np.concatenate([left, waiting])
            pieces.end()
            yield

    def _grow(self, pairs: Pairs, chosen: NDArray[np.int64], grid: int) -> NDArray[np.int64]:
        """Grow some of the sets, keep their states, and return the sets for whose states there was no room."""
        space, net = self.space, self.space.net
        room = max(STATES, net.n)
        kept: Given = {"room": room, "used": New(1, np.uint64, zero=True), "begin": New(len(chosen), np.uint64),
                       "least": New(len(chosen), np.uint64), "count": New(len(chosen), np.uint32),
                       "vertices": New(room, np.uint32), "weights": New(room, np.uint64)}
        out = self._launch(
            "grow", grid, net=net.group(), number=space.numbers(), targets=pairs.part(chosen), dual=space.ascents,
            limit=self.limit, rules=space.rules, next=New(1, np.uint64, zero=True, scratch=True),
            words=New(grid * 5 * net.n, np.uint32, scratch=True), weights=New(grid * net.n, np.uint64, scratch=True),
            rest=New(grid * space.terminals, np.int64, scratch=True), out=kept,
        )
        done = out["count"] != NOT_DONE
        alive = done & (out["count"] > 0)
        counts = out["count"][alive].astype(np.int64)
        ends = np.cumsum(counts)
        states = np.repeat(out["begin"][alive].astype(np.int64) - (ends - counts), counts) + np.arange(counts.sum())
        self.found.append(from_states(pairs.sets[chosen[alive]], counts, out["vertices"][states],
                                      out["weights"][states], out["least"][alive]))
        left: NDArray[np.int64] = chosen[~done]
        return left

    def _launch(self, what: str, grid: int = 0, /, **arguments: Given) -> dict[str, NDArray[Any]]:
        """Launch a kernel of subset_program.cu on the families so far."""
        device = self.space.net.device
        return launched(device, FILE, f"subset_program_{what}{self.space.words}", grid or device.info.threads, 1,
                        all=self.layers.group(self.space.half), **arguments)


class PairRoom:
    """Room for pairs, which several launches fill."""

    def __init__(self, room: int, words: int, device: Device) -> None:
        self.room, self.words = room, words
        self._buffers = {
            "used": device.zeros(1, np.uint64), "sets": device.empty(room * words, np.uint64),
            "first": device.empty(room, np.uint32), "second": device.empty(room, np.uint32),
        }

    def __enter__(self) -> PairRoom:
        """Return the room."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the memory."""
        for buffer in self._buffers.values():
            buffer.free()

    @property
    def used(self) -> int:
        """Number of pairs, those included for which there was no room."""
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
        new = np.ones(used, dtype=bool)
        new[1:] = (sets[1:] != sets[:-1]).any(axis=1)
        starts = np.flatnonzero(new)
        first, second = (self._buffers[name].view(0, used).download()[order] for name in ("first", "second"))
        return Pairs(sets[starts], np.append(starts, used).astype(np.uint64), first, second)

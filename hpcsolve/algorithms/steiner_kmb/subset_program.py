"""Dynamic programming over sets of terminals, which keeps few of its states (cuda_src/host/subset_program.cpp).

The sets of one size, a layer, are dealt to the ranks. Each rank finds its families in launches, between which the
search may end, and one allgather for each size gives them to all ranks. At last two or three sets of at most half of
the terminals meet. No state keeps where it came from, so the tree is found again from weights: the weight of a state is
that of a state of the same set at a neighbour plus the edge from there, or that of two states of disjoint sets at the
same vertex. If the search ends early, the families so far prove
a lower bound. A checkpoint keeps the families of all sizes that are finished.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, first_of_runs, ranges
from hpcsolve.algorithms.steiner_kmb.subset_states import Families, Layers, Space, begins
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.host import Given
from hpcsolve.parallel.comm import Comm
from hpcsolve.wording import counted

PROGRAM_FILE = "host/subset_program"
SECONDS = 0.25
"""How long a launch should take, roughly."""
PAIRS = 1 << 21
"""The most pairs of a pass. If there are more, the sets are dealt to several passes."""
STATES = 1 << 20
"""The least room, in states, for those that a call keeps: when it is full, the call grows no further sets."""
MESSAGE = 1 << 26
"""Roughly the most bytes that all ranks together exchange at a time: messages take memory beside the families."""
NOTHING = 2**64 - 1
"""In place of the number of the third family: only two meet."""
DONE = object()
"""What `next` returns after the last launch."""


@dataclass
class Program:
    """The dynamic program over sets of terminals. All methods are collective.

    Attributes
    ----------
    limit
        Only trees of the reduced graph that are lighter than this are looked for.
    is_over
        Returns whether the search must end, given the bytes that the program holds. Called after each launch.
        Collective.
    complete
        Whether the search came to its end. Then `limit` is the weight of `tree`; or, without a tree, none is lighter.
    tree
        The edges of the lightest tree, if it is lighter than the first limit.
    floor
        The lower bound on the weight of any tree that the families so far prove, at most `limit`.
    """

    space: Space
    comm: Comm
    limit: int
    is_over: Callable[[int], bool]
    layers: Layers = field(init=False)
    complete: bool = False
    tree: Indices | None = None
    floor: int = 0

    def __post_init__(self) -> None:
        """Begin without families."""
        self.layers = Layers(Families.none(self.space.words), self.space.cell)

    def run(self) -> None:
        """Find the families of all sizes that are missing, then the lightest meeting of two or three."""
        for size in range(len(self.layers.sizes) + 1, self.space.half + 1):
            layer = Layer(self.space, self.layers, self.comm, size, self.limit)
            if self._ends_early(layer.launches(), layer.held):
                return
            self.add(layer.gathered())
        meeting = Meeting(self.space, self.layers, self.comm, self.limit)
        if self._ends_early(meeting.launches()):
            return
        self.limit, ids = meeting.agreed()
        self.complete = True
        self.tree = None if ids is None else self._recovered(ids)

    def add(self, layer: Families) -> None:
        """Add the families of the next size, and note what they prove.

        Follow the states of a lightest tree from its centroid down to a single terminal. Where two sets were merged, go
        on with the larger one, which has at least half of the terminals of their union. One of these states has a set
        of at most the present size and of more than half of it. So the least bound of such families holds for all
        trees.
        """
        self.layers.add(layer)
        size = len(self.layers.sizes)
        least = self.layers.families.least[self.layers.first_of(size // 2 + 1) :]
        self.floor = max(self.floor, min(self.limit, int(least.min(initial=self.limit))))

    def proven(self) -> int:
        """Return the lower bound on the weight of any tree that has been proven so far, at most the limit."""
        return self.limit if self.complete else self.floor

    def step(self) -> str:
        """Return which step is under way: `sets of 3 terminals (12 at most)`, or the last step."""
        size, half = len(self.layers.sizes) + 1, self.space.half
        return f"sets of {counted(size, 'terminal')} ({half} at most)" if size <= half else "the meeting of three sets"

    def state(self, seconds: float) -> State:
        """Return the state after this many seconds. Rank 0 writes the families, which all ranks have."""
        own, sizes = self.layers.families, self.layers.sizes
        arrays = {**vars(own), "sizes": np.array(sizes, np.int64)} if self.comm.rank == 0 else {}
        words = f"with {counted(len(own.vertices), 'state')} of sets of up to {counted(len(sizes), 'terminal')}"
        parts = [part(name, 0, values) for name, values in arrays.items()]
        return State({"limit": self.limit, "seconds": seconds}, parts, words)

    def resume(self, saved: Saved) -> None:
        """Take the families of a checkpoint, unless they were found for another weight limit."""
        if saved.integer("limit") != self.limit:
            return
        sets = saved.gathered("sets", (self.space.words,), np.uint64, ANY_COUNT)
        count, begin = len(sets), saved.gathered("begin", (), np.uint64, range(len(sets) + 1, len(sets) + 2))
        states = range(int(begin[-1]), int(begin[-1]) + 1)
        whole = Families(sets, begin, saved.gathered("vertices", (), np.uint32, states, range(self.space.net.n)),
                         saved.gathered("weights", (), np.uint64, states),
                         saved.gathered("least", (), np.uint64, range(count, count + 1)))
        k = self.space.terminals
        sizes = saved.gathered("sizes", (), np.int64, range(k + 1), range(count + 1)).tolist()
        members = np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), axis=1, bitorder="little")
        fits = sum(sizes) == count and begin[0] == 0 and bool((begin[1:] > begin[:-1]).all())
        fits = fits and not members[:, k:].any()
        saved.require(fits and members.sum(axis=1).tolist() == np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist(),
                      "a set of terminals")
        first = 0
        for size in sizes:
            self.add(whole.part(first, first + size))
            first += size

    def _ends_early(self, launches: Iterator[None], held: Callable[[], int] = lambda: 0) -> bool:
        """Make all launches of all ranks, and return whether the search must end before they are done.

        `held` returns the bytes of the families that a rank has found and not yet added.
        """
        busy = True
        while True:
            busy = busy and next(launches, DONE) is None
            found = self.comm.allgather((busy, held()))
            # When a layer is added, the old and the new arrays of all families exist at the same time, and beside them
            # the layer itself and the cells of its states.
            families, layer = self.layers.nbytes, sum(nbytes for _, nbytes in found)
            if self.is_over(self.space.nbytes + 2 * families + 3 * layer):
                return True
            if not any(busy for busy, _ in found):
                return False

    def _recovered(self, ids: tuple[int, ...]) -> Indices:
        """Return the edges of the tree of a meeting (`Meeting.ids`)."""
        *meeting, vertex = ids
        waiting = [(family, vertex) for family in meeting if family != NOTHING]
        edges: list[tuple[int, int]] = []
        while waiting:
            family, v = waiting.pop()
            before = self._before(family, v)
            edges.extend((v, u) for _, u in before if u != v)
            waiting.extend(before)
        ends, net = np.array(edges, np.int64).reshape(-1, 2), self.space.net
        return net.spanning_tree(np.unique(net.edge_numbers(ends[:, 0], ends[:, 1])))

    def _before(self, family: int, v: int) -> list[tuple[int, int]]:
        """Return the states (family, vertex) that a state follows from: one, two, or none at a terminal.

        Raises
        ------
        AssertionError
            There is none: the weights of the states contradict each other.
        """
        net, families = self.space.net, self.layers.families
        weight, sets = families.weight(family, v), families.sets
        assert weight is not None
        if not weight:
            return []
        for arc in range(int(net.offsets[v]), int(net.offsets[v + 1])):
            before = families.weight(family, int(net.heads[arc]))
            if before is not None and before + int(net.weights[arc]) == weight:
                return [(family, int(net.heads[arc]))]
        within = ~(sets & ~sets[family]).any(axis=1) & (sets != sets[family]).any(axis=1)
        for first in np.flatnonzero(within).tolist():
            for second in np.flatnonzero((sets == sets[family] & ~sets[first]).all(axis=1)).tolist():  # one, or none
                one, other = families.weight(first, v), families.weight(second, v)
                if one is not None and other is not None and one + other == weight:
                    return [(first, v), (second, v)]
        raise AssertionError("a state of the subset program follows from no other one: the families are inconsistent")


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
        own = Families.joined([Families.none(self.space.words), *self.found])
        self.found.clear()
        if self.comm.size == 1:
            return own
        messages = 1 + sum(self.comm.allgather(own.nbytes)) // MESSAGE
        ends = [len(own) * number // messages for number in range(messages + 1)]
        return Families.joined([part for first, last in itertools.pairwise(ends)
                       for part in self.comm.allgather(own.part(first, last))])

    def launches(self) -> Iterator[None]:
        """Find this rank's families, and yield after each launch."""
        if self.size == 1:  # this rank's terminals as sets without pairs
            own = np.arange(self.comm.rank, self.space.terminals, self.comm.size)
            sets = np.zeros((len(own), self.space.words), np.uint64)
            sets[np.arange(len(own)), own // 64] = np.uint64(1) << (own % 64).astype(np.uint64)
            yield from self._grow_all(Pairs(sets, np.zeros(len(own) + 1, np.uint64), *np.empty((2, 0), np.uint32)))
            return
        passes, number, room = 1, 0, PAIRS
        while number < passes:
            listed: list[dict[str, NDArray[Any]]] = []
            share = {"modulus": self.comm.size * passes, "residue": self.comm.rank + self.comm.size * number}
            used = yield from self._list(listed, room, share)
            if used <= room:
                pairs = Pairs.of(listed, self.space.words)
                listed.clear()
                yield from self._grow_all(pairs)
                number += 1
            elif passes == 1:
                passes = 1 + 2 * used // room
            else:  # this pass has more pairs than the average one: repeat it with enough room
                room = used

    def _list(
        self, listed: list[dict[str, NDArray[Any]]], room: int, share: Mapping[str, int]
    ) -> Generator[None, None, int]:
        """List up to `room` pairs of a share of the sets, and yield after each call. Return how many there are."""
        begin, size, used = 0, 64, 0
        end = self.layers.first_of(self.size // 2 + 1)
        while begin < end:
            started, until = time.perf_counter(), min(end, begin + size)
            listed.append(self._call("pair", n=self.space.net.n, size=self.size, limit=self.limit, own=share,
                                     taken={"begin": begin, "end": until}, room=max(0, room - used)))
            begin, size, used = until, next_size(size, started), used + int(listed[-1]["used"][0])
            yield
        return used

    def _grow_all(self, pairs: Pairs) -> Iterator[None]:
        """Grow these sets, and yield after each call."""
        waiting, size = np.arange(len(pairs.sets)), 16 * self.space.net.device.info.threads
        while len(waiting):
            started = time.perf_counter()
            chosen, waiting = np.split(waiting, [size])
            waiting = np.concatenate([self._grow(pairs, chosen), waiting])
            size = next_size(size, started)
            yield

    def _grow(self, pairs: Pairs, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Grow some of the sets, keep their states, and return the sets for whose states there was no room."""
        space, net = self.space, self.space.net
        found = self._call("grow", net=net.group(), number=net.terminal_numbers(), targets=pairs.part(chosen),
                           dual=space.ascents, limit=self.limit, rules=space.rules, room=max(STATES, net.n))
        alive, counts = found["counts"] > 0, found["counts"].astype(np.int64)
        self.found.append(Families.of_states(pairs.sets[chosen[found["sets"][alive]]], counts[alive],
                                             found["vertices"], found["weights"], found["least"][alive]))
        left: NDArray[np.int64] = np.delete(chosen, found["sets"])
        return left

    def _call(self, what: str, /, **arguments: Given) -> dict[str, NDArray[Any]]:
        """Call a function of subset_program.cpp on the families so far."""
        device = self.space.net.device
        return device.call(PROGRAM_FILE, f"subset_program_{what}{self.space.words}", threads=device.info.threads,
                           all=self.layers.group(self.space.half), **arguments)


def next_size(size: int, started: float) -> int:
    """Return the number of items of the next launch, so that it takes about `SECONDS`, after one of this size."""
    seconds = time.perf_counter() - started
    if seconds < SECONDS / 2:
        return min(2 * size, 1 << 30)
    return max(1, size // 2) if seconds > 2 * SECONDS else size


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

    @classmethod
    def of(cls, found: Sequence[Mapping[str, NDArray[Any]]], words: int) -> Pairs:
        """Return the pairs that several calls have found, sorted by their unions, which have so many words each."""
        types = {"sets": np.uint64, "first": np.uint32, "second": np.uint32}
        sets, first, second = (
            np.concatenate([np.empty(0, kind), *(part[name] for part in found)]) for name, kind in types.items())
        sets = sets.reshape(-1, words)
        order = np.lexsort(sets.T)
        sets = sets[order]
        starts = np.flatnonzero(first_of_runs(sets))
        return cls(sets[starts], np.append(starts, len(sets)).astype(np.uint64), first[order], second[order])

    def part(self, which: NDArray[np.int64]) -> dict[str, Given]:
        """Return some of the sets with their pairs, as the functions' group `targets`."""
        begin = self.begin.astype(np.int64)
        counts = np.diff(begin)[which]
        pairs = ranges(begin[which], counts)
        return {"count": len(which), "sets": self.sets[which].reshape(-1), "begin": begins(counts),
                "first": self.first[pairs], "second": self.second[pairs]}


def pair_bytes(terminals: int) -> int:
    """Return the bytes of the pairs of a full pass, given the number of terminals of the graph as it was read."""
    return PAIRS * 8 * (1 + (1 if terminals <= 64 else 2))


@dataclass
class Meeting:
    """The lightest meeting that this rank has found.

    Attributes
    ----------
    weight
        Its weight, or the limit at first.
    ids
        The numbers of the three families (`NOTHING` for no third one) and of the vertex where they meet. None at first.
    """

    space: Space
    layers: Layers
    comm: Comm
    weight: int
    ids: tuple[int, ...] | None = None

    def launches(self) -> Iterator[None]:
        """Let this rank's share of the families meet all others, and yield after each launch."""
        device, space, begin, size = self.space.net.device, self.space, 0, 64
        end = self.layers.first_of(space.half + 1)
        while begin < end:
            started, until = time.perf_counter(), min(end, begin + size * self.comm.size)
            weight, ids = np.array([self.weight], np.uint64), np.array(self.ids or (0, 0, 0, 0), np.uint64)
            device.call(PROGRAM_FILE, f"subset_program_meet{space.words}", n=space.net.n, threads=device.info.threads,
                        all=self.layers.group(space.half), terminals=space.terminals,
                        own={"modulus": self.comm.size, "residue": self.comm.rank},
                        taken={"begin": begin, "end": until}, weight=weight, ids=ids)
            found = int(weight[0]), tuple(ids.tolist())
            if found[0] < self.weight or (self.ids is not None and found[1] < self.ids):
                self.weight, self.ids = found
            begin, size = until, next_size(size, started)
            yield

    def agreed(self) -> tuple[int, tuple[int, ...] | None]:
        """Return the weight and the `ids` of the lightest meeting of all ranks. Collective."""
        found = [one for one in self.comm.allgather((self.weight, self.ids)) if one[1] is not None]
        return min(found, default=(self.weight, None))

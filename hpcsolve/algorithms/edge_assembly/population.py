"""A population of tours over ranks, which edge assembly crossover improves generation by generation.

Each rank owns consecutive tours. In a generation all tours stand in a ring, whose order follows from the seed and the
number of the generation. Each tour is changed by the edges of the next one in the ring, as both were at the
generation's start, with random numbers of the pair's own. So the pairs are independent. A rank receives the tours that
its own ones need from their owners, changes its own tours, and tells the others which edges left and came: all ranks
keep the same counts of how many tours have an edge. Nothing in a tour depends on the ranks and threads that changed it.

Children of single AB-cycles come first. When the best tour has not changed for some generations, or no tour has
changed, children are made of sets of several AB-cycles, until nothing changes any more. Then the population has
converged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.edge_assembly.first_tours import Tours, stream_words
from hpcsolve.algorithms.edge_assembly.parameters import CITIES_A_SHARE, FEWEST_TOURS, LEAST_PERCENT, TAKEN
from hpcsolve.algorithms.edge_assembly.setting import Found, Keys, Setting
from hpcsolve.algorithms.tours.stop import NO_TOUR
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Part, part
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import Request, even_shares
from hpcsolve.wording import counted

ASSEMBLY_FILE = "host/edge_assembly"
IDLE_SINGLE, IDLE_SETS = 10, 50
"""Generations without a better best tour after which children are made of sets, and after which the search ends."""
ENTROPY_BITS = 20
SINGLE, SETS = 0, 1
"""Stages: children of single AB-cycles, then of sets of several."""
EMPTY = np.uint64(2**64 - 1)
PLACES_OF_NODE = 6
"""The first table of counts has so many places for each node, twice as many as tours usually have edges. It grows."""


def entropy_table(population: int) -> NDArray[np.int64]:
    """Return the entropy of an edge by the number of tours that have it, times 2^20, rounded: int64 (population + 1,).

    Called on rank 0 alone, since the last bits of logarithms differ between machines.
    """
    shares = (count / population for count in range(1, population + 1))
    return np.array([0, *(round(-(1 << ENTROPY_BITS) * share * math.log(share)) for share in shares)], np.int64)


def first_capacity(nodes: int, population: int) -> int:
    """Return the places of the first table of counts, a power of two."""
    return 1 << (nodes * min(PLACES_OF_NODE, 2 * population) - 1).bit_length()


class EdgeCounts:
    """How many tours of the population have each edge. Every rank has all of it.

    Attributes
    ----------
    keys, counts
        Open addressing: the edges, `EMPTY` where there is none, and their counts.
    """

    def __init__(self, host: HostDevice, capacity: int) -> None:
        self.host, self.used = host, np.zeros(1, np.uint64)
        self.keys, self.counts = np.full(capacity, EMPTY), np.zeros(capacity, np.int32)

    def arguments(self) -> dict[str, Any]:
        """Return the functions' argument `edges`."""
        return {"capacity": len(self.keys), "keys": self.keys, "counts": self.counts}

    def add(self, changed: Keys, by: int) -> None:
        """Add a number to the counts of edges, in a larger table if this one gets more than half full."""
        while not self._added(changed, by):
            keys, counts = self.keys, self.counts
            self.keys, self.counts = np.full(2 * len(keys), EMPTY), np.zeros(2 * len(keys), np.int32)
            self.used[0] = 0
            for count in np.unique(counts[counts > 0]).tolist():
                self._added(keys[counts == count], count)

    def _added(self, changed: Keys, by: int) -> bool:
        refused = np.zeros(1, np.uint32)
        self.host.call(ASSEMBLY_FILE, "edge_assembly_count", edges=self.arguments(), count=len(changed),
                       changed=changed, by=by, used=self.used, refused=refused)
        return not refused[0]


@dataclass(frozen=True)
class Ring:
    """A generation's pairs.

    Attributes
    ----------
    order
        Shape (population,): the tours in their order.
    streams
        Shape (population,): the random numbers of the pairs, by the place in the ring of the tour that is changed.
    """

    order: NDArray[np.int64]
    streams: NDArray[np.uint64]

    def needs(self, shares: Sequence[range], rank: int, other: int) -> NDArray[np.int64]:
        """Return which tours of `other` a rank needs, in the order of the ring."""
        changed, partners = self.order, np.roll(self.order, -1)
        mine, theirs = shares[rank], shares[other]
        wanted = (changed >= mine.start) & (changed < mine.stop) & (partners >= theirs.start) & (partners < theirs.stop)
        return partners[wanted]


def ring_of(seed: int, generation: int, population: int) -> Ring:
    """Return the pairs of a generation."""
    words = stream_words(f"edge-assembly {seed} generation {generation}", 2 * population)
    return Ring(np.argsort(words[:population], kind="stable"), words[population:])


class Population:
    """The tours of this rank.

    Attributes
    ----------
    size, shares, numbers
        The number of all tours, which may become smaller while first tours are made; the numbers of each rank's tours,
        and those of this rank.
    tours, lengths, made
        The tours, uint32 (own, nodes), their lengths, int64 (own,), and which of them have been made already.
    generation, stage, idle
        Generations so far, -1 while first tours are missing; what children are made of; the generations in a row
        without a better best tour.
    best
        The best length of all ranks.
    """

    unit = "generation"

    def __init__(self, setting: Setting, size: int) -> None:
        self.setting = setting
        self._divide(size)
        self.generation, self.stage, self.idle, self.best = -1, SINGLE, 0, NO_TOUR
        self.counts: EdgeCounts | None = None
        self.entropy = np.empty(0, np.int64)

    def _divide(self, size: int) -> None:
        """Divide so many tours, of which none is made yet, among the ranks."""
        self.size, self.shares = size, even_shares(size, self.setting.comm.size)
        self.numbers = self.shares[self.setting.comm.rank]
        self.tours = np.empty((len(self.numbers), self.setting.cities.nodes), np.uint32)
        self.lengths, self.made = np.full(len(self.numbers), NO_TOUR), np.zeros(len(self.numbers), bool)

    @property
    def number(self) -> int:
        """The generations so far."""
        return self.generation

    @property
    def work_done(self) -> str:
        """What has been done, in words."""
        tours = f"{self.size} tours"
        return f"{counted(self.generation, self.unit)} of {tours}" if self.generation > 0 else f"{tours} were made"

    @property
    def nbytes(self) -> int:
        """About how many bytes of a checkpoint are this rank's."""
        return int(self.made.sum()) * self.tours.shape[1] * 4

    # ---- the first tours ----

    def work(self) -> Iterator[tuple[int, str]]:
        """Make the first tours that are missing, or those for which there is time. A generation has no steps."""
        comm, stop = self.setting.comm, self.setting.stop
        begun = stop.seconds()
        while self.generation < 0:
            left, row = np.flatnonzero(~self.made), self.numbers.start
            all_ranks = comm.allgather((len(left), self._is_time_over(begun)))
            made = [len(share) - missing for share, (missing, _) in zip(self.shares, all_ranks)]
            if all_ranks[0][1] and sum(made) >= FEWEST_TOURS:
                self._own(made)
            if sum(made) == self.size:
                return
            some = left[: self.setting.tours_at_once]
            if len(some):
                numbers = [row + one for one in some.tolist()]
                self.tours[some], self.lengths[some] = self.setting.first.improved(numbers, self.setting.given)
                self.made[some] = True
            done = sum(self.setting.comm.allgather(int(self.made.sum())))
            yield int(self.lengths.min(initial=NO_TOUR)), f"{done} of {self.size} first tours"

    def _is_time_over(self, begun: float) -> bool:
        """Return whether first tours have taken their part of the time that was left when they were begun."""
        limit, stop = self.setting.stop.criteria.seconds, self.setting.stop
        if limit is None or self.setting.parameters.population is not None:
            return False
        return stop.seconds() - begun > self.setting.stated.part_of_first_tours * (limit - begun)

    def _own(self, counts: Sequence[int]) -> None:
        """Make this a population of the tours that are made, of which each rank has so many."""
        ends = list(accumulate(counts))
        self.size, self.shares = ends[-1], [range(end - count, end) for count, end in zip(counts, ends)]
        self.numbers = self.shares[self.setting.comm.rank]
        self.tours, self.lengths = self.tours[self.made], self.lengths[self.made]
        self.made = self.made[self.made]

    def _begin(self) -> None:
        """Count the edges of all tours. Collective."""
        setting, nothing = self.setting, np.empty(0, np.uint64)
        self.entropy = setting.comm.bcast(entropy_table(self.size) if setting.comm.rank == 0 else self.entropy)
        self.counts = EdgeCounts(setting.host, first_capacity(setting.cities.nodes, self.size))
        for row in range(max(map(len, self.shares))):
            mine, found = self.tours[row : row + 1], nothing
            if len(mine):
                found = setting.host.call(ASSEMBLY_FILE, "edge_assembly_keys", n=mine.shape[1], count=1,
                                          tours=mine)["found"]
            for theirs in setting.gathered(found):
                self.counts.add(theirs, 1)

    # ---- generations ----

    def finish(self) -> Found:
        """Count the edges of the first tours, or change all tours by their partners. Collective."""
        if self.counts is None:
            self._begin()
        if self.generation < 0:
            self.generation, found = 0, self.cut_short()
            self.best = found.best
            return found
        mine = self._change()
        self.generation += 1
        return self._end_generation(*mine)

    def _change(self) -> tuple[Keys, Keys, int]:
        """Change all tours by their partners. Collective.

        Return the edges that leave and come with this rank's tours, and how many of these have changed.
        """
        setting, counts = self.setting, self.counts
        assert counts is not None
        ring, own = ring_of(setting.seed, self.generation, self.size), len(self.numbers)
        partners, row_of = self._partners(ring)
        place = np.argsort(ring.order)[self.numbers.start : self.numbers.stop]
        taken, cities = np.zeros(own, np.uint32), setting.stated.problem.n
        rules = {
            "population": self.size, "stage": self.stage,
            "children": max(setting.parameters.children, setting.parameters.children * cities // CITIES_A_SHARE),
            "taken": max(1, TAKEN * cities // CITIES_A_SHARE), "least_percent": LEAST_PERCENT,
            "threads": setting.host.info.threads,
        }
        if not own:
            return np.empty(0, np.uint64), np.empty(0, np.uint64), 0
        found = setting.host.call(
            ASSEMBLY_FILE, "edge_assembly_generation", **setting.instance(), rules=rules, edges=counts.arguments(),
            entropy=self.entropy, count=own, tours=self.tours, partners=partners,
            partner_of=row_of[(place + 1) % self.size], streams=ring.streams[place], lengths=self.lengths, taken=taken)
        return found["removed"], found["added"], int((taken > 0).sum())

    def _partners(self, ring: Ring) -> tuple[Tours, NDArray[np.uint32]]:
        """Return the tours that this rank's ones meet, and the row of each place of the ring in them. Collective.

        They are copies, since a tour changes while others still need it.
        """
        setting, n = self.setting, self.tours.shape[1]
        comm, place = setting.comm, np.argsort(ring.order)
        wanted = [ring.needs(self.shares, comm.rank, other) for other in range(comm.size)]
        partners, row_of = np.empty((len(self.numbers), n), np.uint32), np.zeros(self.size, np.uint32)
        requests: list[tuple[Request, Any]] = []
        first = 0
        for other, numbers in enumerate(wanted):
            rows = partners[first : first + len(numbers)]
            row_of[place[numbers]] = np.arange(first, first + len(numbers))
            first += len(numbers)
            if other == comm.rank:
                np.take(self.tours, numbers - self.numbers.start, axis=0, out=rows)
            elif len(numbers):
                requests.append((comm.receive(rows, other), rows))
        for other in range(comm.size):
            if other != comm.rank and len(numbers := ring.needs(self.shares, other, comm.rank)):
                rows = self.tours[numbers - self.numbers.start]
                requests.append((comm.send(rows, other), rows))
        setting.wait(requests)
        return partners, row_of

    def _end_generation(self, leave: Keys, come: Keys, changed: int) -> Found:
        """Return what all ranks have found in this generation, and decide how the next one is made. Collective."""
        assert self.counts is not None
        all_ranks = self.setting.gathered((leave, come, changed, self._own_lengths()))
        for their_leave, their_come, _, _ in all_ranks:
            self.counts.add(their_leave, -1)
            self.counts.add(their_come, 1)
        found, changed = self._combined([one for *_, one in all_ranks]), sum(one for _, _, one, _ in all_ranks)
        self.idle = 0 if found.best < self.best else self.idle + 1
        self.best = found.best
        if found.total == found.best * self.size:
            return replace(found, ended="all tours have the same length")
        if changed and self.idle < (IDLE_SETS if self.stage else IDLE_SINGLE):
            return found
        ended = "the population has converged" if self.stage else ""
        self.stage, self.idle = SETS, 0
        return replace(found, ended=ended)

    def cut_short(self) -> Found:
        """Return what has been found, with the mean of the tours so far in the place of those that are missing."""
        return self._combined(self.setting.comm.allgather(self._own_lengths()))

    def _own_lengths(self) -> tuple[int, int, int]:
        """Return the least length of this rank's tours, the sum of their lengths, and their number."""
        made = self.lengths[self.made]
        return int(made.min(initial=NO_TOUR)), int(made.sum()), len(made)

    def _combined(self, all_ranks: Sequence[tuple[int, int, int]]) -> Found:
        """Return what all ranks have found, from the lengths of each."""
        total, count = (sum(row[column] for row in all_ranks) for column in (1, 2))
        return Found(min(best for best, _, _ in all_ranks), total * self.size // count)

    # ---- what is kept, and what is found ----

    def best_tour(self) -> tuple[int, Tours]:
        """Return the length and the nodes of the best tour of all ranks, the first of equal ones. Collective."""
        own = int(self.lengths.min(initial=NO_TOUR))
        lengths = self.setting.comm.allgather(own)
        winner = lengths.index(min(lengths))
        mine = self.tours[int(self.lengths.argmin())] if self.setting.comm.rank == winner else None
        return lengths[winner], next(tour for tour in self.setting.comm.allgather(mine) if tour is not None)

    def numbers_kept(self) -> dict[str, int]:
        """Return the numbers of a checkpoint. Collective."""
        done = sum(self.setting.comm.allgather(int(self.made.sum())))
        return {"made": done, "number": self.generation, "stage": self.stage, "idle": self.idle, "best": self.best}

    def parts(self) -> list[Part]:
        """Return this rank's tours for a checkpoint."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], self.made, [False]]).astype(np.int8)))
        found = []
        for begin, end in edges.reshape(-1, 2).tolist():
            first = self.numbers.start + begin
            found += [part("tours", first, self.tours[begin:end]), part("lengths", first, self.lengths[begin:end])]
        return found

    def resume(self, saved: Saved) -> None:
        """Set this rank's tours to those of a checkpoint."""
        self.generation, self.stage = saved.integer("number", -1), saved.integer("stage", most=SETS)
        self.idle, self.best = saved.integer("idle", most=IDLE_SETS), saved.integer("best", most=NO_TOUR)
        if self.generation >= 0:
            least = FEWEST_TOURS if self.setting.parameters.population is None else self.size
            self._divide(saved.integer("made", least, self.size))
        setting, n = self.setting, self.tours.shape[1]
        for some in saved.ranges("tours", self.numbers):
            rows = slice(some.start - self.numbers.start, some.stop - self.numbers.start)
            self.tours[rows] = saved.rows("tours", some, (n,), np.uint32, range(n))
            self.lengths[rows] = saved.rows("lengths", some, (), np.int64, range(NO_TOUR))
            self.made[rows] = True
        saved.require(bool(self.made.all()) or self.generation < 0, "the number of its tours")
        for row in np.flatnonzero(self.made).tolist():
            saved.require(setting.is_tour(self.tours[row], int(self.lengths[row])), "a tour")

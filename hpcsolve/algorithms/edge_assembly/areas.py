"""One tour of many cities, improved area by area.

In a round the cities are divided into areas of at most 10,000 nodes, with a matrix 4,096. In each a population of tours
is made and improved while the tour outside is held: the paths outside are fixed edges between the nodes where they
enter the area. The first member of a population is the tour itself. The areas are independent, so they are dealt to
ranks and threads. The edges that leave and come in all areas are put together. What then falls into several tours is
joined by the cheapest 2-exchanges. The next round has other borders.

The first tour is improved by k-exchanges, in areas of at most 50,000 nodes and then as a whole. An exchange rewrites up
to half of its tour, which is cheap in an area, and few exchanges are left for the whole tour. For a million cities the
areas and the whole tour together take less than half of the time of the whole tour alone. With first areas of 10,000
nodes, tours after the same number of rounds were longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.edge_assembly.first_tours import Tours, stream_words
from hpcsolve.algorithms.edge_assembly.parameters import AREA, CITIES_A_SHARE, first_area
from hpcsolve.algorithms.edge_assembly.population import entropy_table
from hpcsolve.algorithms.edge_assembly.setting import Found, Keys, Setting
from hpcsolve.algorithms.tours.k_opt import Rules
from hpcsolve.algorithms.tours.stop import NO_TOUR
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import Part, part
from hpcsolve.memory import give_back_freed_memory
from hpcsolve.wording import counted

AREAS_FILE = "host/areas"
LEAST_GAIN = 10_000
"""A search ends with a round that makes the tour shorter by less than 1 / `LEAST_GAIN` of its length."""
IDLE = 20
"""Generations without a better tour after which the population of an area goes on to the next stage or ends."""
TAKEN_IN_AREA, LEAST_PERCENT_IN_AREA = 5, 0
"""As `TAKEN` and `LEAST_PERCENT` of whole tours. In areas, whose tours are few, time is short, not diversity: with 3
and 30 a round takes nearly twice as long. In equal time, and so with fewer tours, the gap is a quarter larger."""
FIRST_AT_ONCE = 4
"""Areas of the first tour that a thread improves before the ranks agree on whether to go on: about 0.5 s of work."""
NO_KEYS, NO_NODES = np.empty(0, np.uint64), np.empty(0, np.uint32)


@dataclass(frozen=True)
class Division:
    """The areas of a round: `members[starts[i]:starts[i + 1]]` are the nodes of area i, whose random numbers are those
    of `streams[i]`."""

    members: NDArray[np.uint32]
    starts: NDArray[np.uint64]
    streams: NDArray[np.uint64]


@dataclass
class Areas:
    """The tour, which all ranks have, and the areas of this round that are done.

    Attributes
    ----------
    size
        Tours of the population of each area.
    tour, length
        The tour at the beginning of the round.
    round
        Rounds so far, -1 before the first tour is complete.
    done
        The areas that all ranks have done in this round.
    entropy
        As `population.entropy_table`.
    removed, added
        The edges that leave and come in those that this rank has done.
    """

    setting: Setting
    size: int
    tour: Tours = field(init=False)
    length: int = NO_TOUR
    round: int = -1
    done: set[int] = field(default_factory=set)
    removed: list[Keys] = field(default_factory=list)
    added: list[Keys] = field(default_factory=list)
    entropy: NDArray[np.int64] = field(init=False)
    unit = "round"

    def __post_init__(self) -> None:
        """Make the table of entropy. Collective."""
        comm = self.setting.comm
        self.entropy = comm.bcast(entropy_table(self.size) if comm.rank == 0 else np.empty(0, np.int64))

    @property
    def number(self) -> int:
        """The rounds so far."""
        return self.round

    @property
    def work_done(self) -> str:
        """What has been done, in words."""
        return counted(self.round, self.unit) if self.round else "the first tour"

    @property
    def nbytes(self) -> int:
        """About how many bytes of a checkpoint are this rank's."""
        return sum(one.nbytes for one in (*self.removed, *self.added)) + (
            0 if self.setting.comm.rank else self.tour.nbytes)

    def work(self) -> Iterator[tuple[int, str]]:
        """Improve the areas of a round. Before the first round, make the first tour and improve its areas.

        Areas of the first tour yield no length. So no target ends the run there, where the tour would depend on how
        many areas are improved at a time.
        """
        setting, is_first = self.setting, self.round < 0
        if is_first:
            if self.length == NO_TOUR:
                self._begin()
            if not self._most:
                return
        division, rank = self._division(), setting.comm.rank
        count, threads = len(division.starts) - 1, setting.comm.allgather(setting.host.info.threads)
        at_once = sum(threads) * (FIRST_AT_ONCE if is_first else 1)
        phase = "of the first tour" if is_first else f"in round {self.round + 1}"
        while left := [area for area in range(count) if area not in self.done][:at_once]:
            first, end = (len(left) * sum(threads[:ranks]) // sum(threads) for ranks in (rank, rank + 1))
            if first < end:
                self._improve(division, left[first:end])
            self.done.update(left)
            yield NO_TOUR if is_first else self.length, f"{len(self.done)} of {count} areas {phase}"

    def finish(self) -> Found:
        """Put the areas together, and improve the first tour as a whole. Collective."""
        before, is_first = self.length, self.round < 0
        self.cut_short()
        self.round, self.done, self.removed, self.added = self.round + 1, set(), [], []
        if is_first:
            self._improve_whole()
        small = not is_first and (before - self.length) * LEAST_GAIN < self.length
        why = f"the last round made the tour shorter by less than 1 / {LEAST_GAIN}"
        return Found(self.length, self.length * self.size, why if small else "")

    def cut_short(self) -> Found:
        """Put the areas that are done together. Collective."""
        removed, added = ([one for mine in self.setting.comm.allgather(keys) for one in mine]
                          for keys in (self.removed, self.added))
        if removed:
            leave, come = (np.sort(np.concatenate(keys)) for keys in (removed, added))  # whatever ranks they come from
            tour, change, parts = self.tour.copy(), np.zeros(1, np.int64), np.zeros(1, np.uint32)
            self.setting.host.call(
                AREAS_FILE, "edge_assembly_join", **self.setting.instance(), tour=tour, count=len(leave),
                removed=leave, added=come, change=change, parts=parts)
            if change[0] < 0:
                self.tour, self.length = tour, self.length + int(change[0])
        return Found(self.length, self.length * self.size)

    def best_tour(self) -> tuple[int, Tours]:
        """Return the tour and its length."""
        return self.length, self.tour

    def _begin(self) -> None:
        """Take the given tour, or make one on rank 0. Collective."""
        setting, tour = self.setting, self.setting.given
        if tour is None:
            tour = setting.comm.bcast(setting.first.by_boruvka([0])[0] if setting.comm.rank == 0 else NO_NODES)
        self.tour, self.length = tour, setting.length_of(tour)

    def _improve_whole(self) -> None:
        """Improve the tour by k-exchanges on rank 0. Collective."""
        give_back_freed_memory()  # what the areas have left
        setting, improved = self.setting, (NO_NODES, 0)
        setting.report(setting.stop.done(-1), "the first tour as a whole")
        if setting.comm.rank == 0:
            tours = self.tour[None].copy()
            improved = tours[0], int(setting.first.improve(tours)[0])
        self.tour, self.length = setting.comm.bcast(improved)

    @property
    def _most(self) -> int:
        """The most nodes of an area, 0 if there are none since the first tour is only improved as a whole."""
        cities = self.setting.cities
        return first_area(cities.matrix is not None, cities.nodes) if self.round < 0 else AREA

    def _division(self) -> Division:
        """Return the areas of this round."""
        setting, words = self.setting, f"edge-assembly {self.setting.seed} round {self.round}"
        members = np.empty(setting.cities.nodes, np.uint32)
        starts = setting.host.call(
            AREAS_FILE, "edge_assembly_areas", where=setting.cities.arguments(), tour=self.tour, most=self._most,
            stream=int(stream_words(words, 1)[0]), members=members)["starts"]
        return Division(members, starts, stream_words(f"{words} areas", len(starts) - 1))

    def _improve(self, division: Division, areas: list[int]) -> None:
        """Improve a population in each of some areas. For the first tour, the population is that tour alone."""
        setting, bounds = self.setting, [range(*map(int, division.starts[area : area + 2])) for area in areas]
        members = np.concatenate([division.members[one.start : one.stop] for one in bounds])
        shares, size = AREA // CITIES_A_SHARE, 1 if self.round < 0 else self.size
        rules = {
            "population": size, "children": setting.parameters.children * shares, "taken": TAKEN_IN_AREA * shares,
            "least_percent": LEAST_PERCENT_IN_AREA, "idle": IDLE, "threads": setting.host.info.threads,
            **Rules().arguments(),
        }
        found = setting.host.call(
            AREAS_FILE, "edge_assembly_improve_areas", **setting.instance(), rules=rules, entropy=self.entropy,
            tour=self.tour, areas=len(areas), starts=np.cumsum([0, *map(len, bounds)], dtype=np.uint64),
            members=members, streams=division.streams[areas], gains=np.zeros(len(areas), np.int64))
        self.removed.append(found["removed"])
        self.added.append(found["added"])

    def numbers_kept(self) -> dict[str, int]:
        """Return the numbers of a checkpoint."""
        return {"number": self.round, "done": len(self.done), "length": self.length}

    def parts(self) -> list[Part]:
        """Return the tour and the areas that are done, on rank 0, and this rank's edges that leave and come."""
        edges = [part(name, 0, np.concatenate([NO_KEYS, *keys])) for name, keys in
                 (("removed", self.removed), ("added", self.added))]
        if self.setting.comm.rank:
            return edges
        return [part("tour", 0, self.tour), part("done", 0, np.array(sorted(self.done), np.int64)), *edges]

    def resume(self, saved: Saved) -> None:
        """Go on with the round of a checkpoint."""
        setting, n = self.setting, self.setting.cities.nodes
        self.round, self.length = saved.integer("number", -1), saved.integer("length", most=NO_TOUR)
        self.tour = saved.gathered("tour", (), np.uint32, range(n, n + 1), range(n))
        saved.require(setting.is_tour(self.tour, self.length), "its tour")
        self.done = set(saved.gathered("done", (), np.int64, range(n), range(n)).tolist())
        if setting.comm.rank == 0:
            leave, come = (saved.gathered(name, (), np.uint64, ANY_COUNT) for name in ("removed", "added"))
            saved.require(_are_changes(self.tour, leave, come), "its edges")
            self.removed, self.added = [leave], [come]


def _are_changes(tour: Tours, leave: Keys, come: Keys) -> bool:
    """Return whether edges of a tour leave, and as many come, all different, at the same nodes."""
    low, high = np.uint64(32), np.uint64(2**32 - 1)
    left, entered = (np.sort(np.concatenate([keys >> low, keys & high])) for keys in (leave, come))
    if any(len(np.unique(keys)) < len(keys) for keys in (leave, come)) or not np.array_equal(left, entered):
        return False
    beside = np.roll(tour, -1)
    edges = np.minimum(tour, beside).astype(np.uint64) << low | np.maximum(tour, beside)
    return bool(np.isin(leave, edges).all() and (come >> low < come & high).all())

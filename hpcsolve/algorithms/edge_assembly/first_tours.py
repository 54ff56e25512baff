"""First tours of a population: by quick Boruvka, or patched from solutions of the assignment problem.

Quick Boruvka takes the nodes in a random order, so its tours differ much. Where the assignment problem of asymmetric
costs comes near to an optimal tour, as with random costs, tours that are patched from its cycles are far shorter: each
from another problem, in which some arcs of the solution are barred at random. But they differ little, and where the
solution says little of tours, as with near-symmetric costs, that is a loss. So one tour of each kind is made and
improved, and patched ones are taken if theirs exceeds the solution by less than half of what the other one does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.tours.cities import LARGEST_COST, Cities
from hpcsolve.algorithms.tours.k_opt import KOpt
from hpcsolve.algorithms.tours.near import NearLists
from hpcsolve.algorithms.tours.one_tree import ASSIGNMENT_FILE, MOST_ASSIGNED, solved_assignment
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.memory import give_back_freed_memory

Tours = NDArray[np.uint32]
FIRST_TOUR_FILE = "host/first_tour"
BARRED = 10
"""Arcs of the assignment problem's solution that are barred, on average, but at most half of them."""


def stream_words(words: str, count: int) -> NDArray[np.uint64]:
    """Return numbers of 64 random bits that follow from a text."""
    return np.frombuffer(hashlib.shake_256(words.encode()).digest(8 * count), "<u8").astype(np.uint64)


def with_reduced_costs(host: HostDevice, cities: Cities) -> Cities:
    """Return a paired instance with the assignment problem's reduced costs.

    A reduced cost is the cost less the dual values of its row and column. So all tours cost the same amount less, no
    cost is below 0, and the arcs of the problem's solution cost 0. Candidate lists then have the least reduced costs.
    Other instances, those of more than `MOST_ASSIGNED` cities, and those whose reduced costs do not fit are returned as
    they are.
    """
    if not cities.paired or len(cities.order) > MOST_ASSIGNED:
        return cities
    solution, rows, columns = solved_assignment(host, cities)
    assert cities.matrix is not None
    largest = max(int((row - columns).max()) - int(low) for row, low in zip(cities.matrix, rows))
    if largest > LARGEST_COST:
        return cities
    return cities.with_reduced_costs(rows, columns, solution)


@dataclass(frozen=True)
class FirstTours:
    """Makes first tours, each by random numbers of its own number, and improves them by k-exchanges.

    Attributes
    ----------
    host
        Makes them.
    device, blocks
        The device that improves them, and how many it improves at a time.
    """

    host: HostDevice
    cities: Cities
    lists: NearLists
    seed: int
    device: Device
    blocks: int

    def improved(self, numbers: Sequence[int], given: Tours | None = None) -> tuple[Tours, NDArray[np.int64]]:
        """Return tours that are improved by k-exchanges, and their lengths.

        Number 0 begins with the given tour, if there is one.
        """
        tours = self.patched(numbers) if self.takes_patched else self.by_boruvka(numbers)
        if given is not None and 0 in numbers:
            tours[numbers.index(0)] = given
        return tours, self.improve(tours)

    def improve(self, tours: Tours) -> NDArray[np.int64]:
        """Improve tours in place by k-exchanges, and return their lengths."""
        return self._k_opt.improved(tours)

    def close(self) -> None:
        """Free the memory that improving takes, when no tour is left to improve."""
        if (k_opt := vars(self).pop("_k_opt", None)) is not None:
            k_opt.close()
            give_back_freed_memory()

    def by_boruvka(self, numbers: Sequence[int]) -> Tours:
        """Return tours by quick Boruvka with the nodes in a random order."""
        tours, streams = self._empty(numbers), self._streams(numbers)
        self.host.call(FIRST_TOUR_FILE, "first_tour_construct", where=self.cities.arguments(),
                       near=self.lists.arguments(), count=len(tours), streams=streams,
                       threads=self.host.info.threads, tours=tours)
        return tours

    def patched(self, numbers: Sequence[int]) -> Tours:
        """Return tours that are patched from solutions of the assignment problem."""
        tours, streams = self._empty(numbers), self._streams(numbers)
        self.host.call(ASSIGNMENT_FILE, "assignment_tours", where=self.cities.arguments(),
                       solution=self.cities.assigned, one_in=max(2, len(self.cities.order) // BARRED),
                       count=len(tours), streams=streams, threads=self.host.info.threads, tours=tours)
        return tours

    @cached_property
    def takes_patched(self) -> bool:
        """Whether the assignment problem's solution, whose reduced cost is 0, comes near to tours."""
        if self.cities.assigned is None:
            return False
        patched, constructed = (self.improve(way([0]))[0] for way in (self.patched, self.by_boruvka))
        return bool(2 * patched < constructed)

    @cached_property
    def _k_opt(self) -> KOpt:
        """The search, which has memory from the first tour that is improved on."""
        return KOpt.of_nodes(self.device, self.cities, self.lists, self.blocks)

    def _empty(self, numbers: Sequence[int]) -> Tours:
        return np.empty((len(numbers), self.cities.nodes), np.uint32)

    def _streams(self, numbers: Sequence[int]) -> NDArray[np.uint64]:
        return np.concatenate([stream_words(f"edge-assembly {self.seed} tour {number}", 1) for number in numbers])

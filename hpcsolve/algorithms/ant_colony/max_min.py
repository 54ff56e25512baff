"""MAX-MIN Ant System on a device: candidate lists, bounded pheromone, deposits by one tour per colony, restarts.

The rules are those of Stuetzle and Hoos (2000), with the schedule and the constants of Stuetzle's ACOTSP. Every tour
is improved by local search, in place (kernels: cuda_src/ants/max_min.cu, local_search.cu).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.colonies import Incumbents, Search
from hpcsolve.algorithms.ant_colony.instance import (
    ANT_THREADS,
    AntInstance,
    Powers,
    Shapes,
    allocated,
    list_width,
)
from hpcsolve.algorithms.ant_colony.parameters import HEAD, Parameters
from hpcsolve.algorithms.tours.stop import NO_TOUR
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo

ROW_THREADS = 128
BEST_OF_RESTART = ((25, 25), (75, 5), (125, 3), (250, 2))
"""(age, period): the restart's best tour deposits every `period`-th iteration until the restart has that age."""
INCUMBENT_AFTER = 50
"""Iterations without a better tour since the restart, after which the colony's incumbent deposits."""
CHECK_EVERY, RESTART_AFTER = 100, 250
"""Iterations between tests for a restart, and iterations without a better tour that a restart requires."""
BRANCHING = Fraction(200002, 100000)
"""A colony has converged if its cities' mean branching factor is below this. A single tour has 2."""
LOCAL_SEARCH_FILE = "ants/local_search"
KINDS = {"2-opt": "two_opt", "3-opt": "three_opt", "4-opt": "four_opt", "insertion": "insertion"}
"""Kinds of search and their kernels. "insertion" reverses no segment, so it is for asymmetric costs too."""
BREADTH = 8
"""Neighbours of a city that local search tries."""
TOUR_THREADS = 32
"""Threads of a block, which improves one tour, where there are tours enough for the whole device."""
ITEMS = {"2-opt": 2, "3-opt": 4, "4-opt": 4, "insertion": 1}
"""Items of work for each neighbour of a city, by kind."""
MOST_PARTS = 8
"""The most threads that share an item."""
TOURS_A_MULTIPROCESSOR = 32
"""Blocks that a multiprocessor holds at a time, as the machine code has it."""


@dataclass
class Restarts:
    """The best tours since each colony's last restart, a row each: int64 (colonies,) and uint16 (colonies, n).

    Attributes
    ----------
    begun, improved
        Iterations of the last restart, and of the best tour since.
    length, tour
        The best tour since.
    """

    begun: NDArray[np.int64]
    improved: NDArray[np.int64]
    length: NDArray[np.int64]
    tour: NDArray[np.uint16]


class MaxMin(Search):
    """The colonies of one rank on its device."""

    kept = ("pheromone", "weights", "sums", "branches")

    def __init__(self, device: Device, instance: AntInstance, parameters: Parameters, powers: Powers,
                 keys: NDArray[np.uint32]) -> None:
        super().__init__(device, instance, parameters, powers, keys)
        n, colonies, own = instance.n, len(keys), self.buffers
        own["nearest"].upload(instance.nearest)
        own["heuristic"].upload(powers.heuristic)
        zeros = np.zeros(colonies, np.int64)
        self.since = Restarts(zeros, zeros.copy(), np.full(colonies, NO_TOUR), np.zeros((colonies, n), np.uint16))
        kind = parameters.local_search_of(instance.symmetric)
        self.local = None if kind == "none" else LocalSearch(
            device, own["cost"], own["nearest"], own["tours"], own["lengths"], kind, BREADTH)
        self._update(np.tile(np.arange(n, dtype=np.uint16), (colonies, 1)), [0] * colonies,
                     [(self.unit.first_pheromone, self.unit.first_pheromone)] * colonies)

    @staticmethod
    def shapes(n: int, colonies: int, ants: int, parameters: Parameters) -> Shapes:
        """Return the shapes and types of all buffers, by name."""
        return {
            "cost": ((n, n), np.int32),
            "nearest": ((n, list_width(n)), np.uint16),
            "heuristic": ((n, HEAD), np.uint32),
            "keys": ((colonies, 2), np.uint32),
            "pheromone": ((colonies, n, HEAD), np.uint64),
            "weights": ((colonies, n, HEAD), np.uint32),
            "sums": ((colonies, n, HEAD), np.uint32),
            "branches": ((colonies, n), np.uint32),
            "adjacent": ((colonies, n), np.uint32),
            "amounts": ((colonies,), np.uint64),
            "bounds": ((colonies, 2), np.uint64),
            "depositing": ((colonies, n), np.uint16),
            "incumbents": ((colonies, n), np.uint16),
            "open": ((colonies, ants, -(-n // 32)), np.uint32),
            "tours": ((colonies, ants, n), np.uint16),
        }

    def construct_on_device(self, iteration: int) -> None:
        """Construct and improve the tours of all ants in the buffers."""
        own, kernel = self.buffers, self.device.kernel("ants/max_min", "max_min_construct")
        kernel(len(self.keys) * self.ants, ANT_THREADS, candidates=self.candidates(), cost=own["cost"],
               **self.construction(iteration))
        if self.local:
            self.local.improve(own["incumbents"] if iteration else None)

    def learn(self, iteration: int, lengths: NDArray[np.uint64], incumbents: Incumbents) -> None:
        """Let one tour of each colony deposit: the iteration's best, the restart's best, or the incumbent."""
        since, depositing, amounts, bounds = self.since, [], [], []
        stuck = self._stuck(iteration)
        for colony, ant in enumerate(lengths.argmin(axis=1).tolist()):
            length, tour = int(lengths[colony, ant]), self.best[colony]
            if length < since.length[colony]:
                since.length[colony], since.tour[colony], since.improved[colony] = length, tour, iteration
            period = self._period(colony, iteration)
            if (iteration + 1) % period == 0:
                late = iteration - since.improved[colony] > INCUMBENT_AFTER and period == 1
                length = int(incumbents.length[colony] if late else since.length[colony])
                tour = incumbents.tour[colony] if late else since.tour[colony]
            depositing.append(tour)
            amounts.append(self.unit.deposit(length))
            low, high = self._bounds(int(incumbents.length[colony]))
            bounds.append((high if stuck[colony] else low, high))
        self._update(np.array(depositing), amounts, bounds)
        since.begun[stuck], since.length[stuck] = iteration, NO_TOUR
        self.buffers["incumbents"].upload(incumbents.tour)

    def remade(self, incumbents: Incumbents) -> bool:
        """Upload the incumbents. The weights must be sums that a step can draw from, and 0 where there is no arc."""
        self.buffers["incumbents"].upload(incumbents.tour)
        weights, sums, branches = (self.buffers[name].download() for name in ("weights", "sums", "branches"))
        totals = np.cumsum(weights, axis=2, dtype=np.uint64)
        arcs = (weights > 0) == (self.powers.heuristic > 0)
        return bool(arcs.all() and (totals == sums).all() and (totals < 2**31).all() and (branches <= HEAD).all())

    def rows(self) -> Mapping[str, NDArray[Any]]:
        """Return the best tours since each colony's last restart."""
        return {f"since_{name}": values for name, values in vars(self.since).items()}

    def close(self) -> None:
        """Give the device's memory back."""
        if self.local:
            self.local.close()
        super().close()

    def candidates(self) -> dict[str, Argument]:
        """Return the kernels' argument `candidates` (cuda_src/ants/max_min.cu)."""
        lists = {name: self.buffers[name] for name in ("nearest", "weights", "sums")}
        return {"width": self.buffers["nearest"].shape[1], **lists}

    def _period(self, colony: int, iteration: int) -> int:
        age = iteration - int(self.since.begun[colony])
        if not self.local:
            return BEST_OF_RESTART[0][1]
        return next((period for until, period in BEST_OF_RESTART if age < until), 1)

    def _bounds(self, best: int) -> tuple[int, int]:
        """Return the bounds of pheromone, whose upper one is the limit if the best tour deposits in every iteration."""
        largest = int(self.unit.deposit(best) / self.unit.rho)
        return largest * self.powers.lowest_share >> 32, largest

    def _update(self, tours: NDArray[np.uint16], amounts: list[int], bounds: list[tuple[int, int]]) -> None:
        n, colonies, own = self.instance.n, len(self.keys), self.buffers
        for name, values in (("depositing", tours), ("amounts", np.array(amounts, np.uint64)),
                             ("bounds", np.array(bounds, np.uint64))):
            own[name].upload(values)
        kernel = self.device.kernel("ants/max_min", "max_min_adjacent")
        kernel(-(-n * colonies // ROW_THREADS), ROW_THREADS, n=n, colonies=colonies, tours=own["depositing"],
               adjacent=own["adjacent"])
        kernel = self.device.kernel("ants/max_min", "max_min_update")
        deposits: dict[str, Argument] = {
            "keep": self.unit.keep, "symmetric": self.instance.symmetric,
            **{name: own[name] for name in ("adjacent", "amounts", "bounds")},
        }
        kernel(-(-n * colonies * 32 // ROW_THREADS), ROW_THREADS, n=n, colonies=colonies, ants=deposits,
               heuristic=own["heuristic"], candidates=self.candidates(), pheromone=own["pheromone"],
               branches=own["branches"])

    def _stuck(self, iteration: int) -> NDArray[np.bool_]:
        """Return which colonies restart from the upper bound: converged, and for long without a better tour."""
        if (iteration + 1) % CHECK_EVERY:
            return np.zeros(len(self.keys), np.bool_)
        branches = self.buffers["branches"].download().sum(axis=1, dtype=np.int64)
        converged = [int(count) < self.instance.n * BRANCHING for count in branches]
        return np.array(converged) & (iteration - self.since.improved > RESTART_AFTER)


@dataclass
class LocalSearch:
    """A batch of tours that can be improved again and again.

    Attributes
    ----------
    cost
        int32 (n, n), at least 0, from row to column; the diagonal is never read.
    neighbours
        uint16 (n, stride): the nearest cities of each, nearest first.
    tours
        uint16 (..., n), improved in place.
    lengths
        uint64, one for each tour: its cost.
    kind
        One of `KINDS`.
    breadth
        How many neighbours of each city are tried; at most n - 1 and `stride`.
    threads
        Threads of a block, by default as many as serve best. The tours do not depend on it.
    """

    device: Device
    cost: Buffer
    neighbours: Buffer
    tours: Buffer
    lengths: Buffer
    kind: str
    breadth: int
    threads: int = 0
    buffers: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Allocate the scratch, and look up the costs of the arcs to the neighbours."""
        n, stride = self.neighbours.shape
        self.breadth, tours = min(self.breadth, n - 1), math.prod(self.lengths.shape)
        self.threads = self.threads or self.threads_for(self.kind, self.breadth, tours, self.device.info)
        self.buffers = allocated(self.device, self.shapes(tours, n, self.breadth))
        kernel = self.device.kernel(LOCAL_SEARCH_FILE, "local_search_prepare")
        kernel(n, self.threads, n=n, stride=stride, breadth=self.breadth, cost=self.cost, neighbours=self.neighbours,
               near_cost=self.buffers["near_cost"])

    @staticmethod
    def shapes(count: int, n: int, breadth: int) -> Shapes:
        """Return the shapes and types of the scratch for `count` tours of n cities, by name."""
        return {
            "near_cost": ((n, min(breadth, n - 1)), np.int32),
            "position": ((count, n), np.uint16),
            "awake": ((count, -(-n // 64)), np.uint64),
        }

    @staticmethod
    def threads_for(kind: str, breadth: int, tours: int, info: DeviceInfo) -> int:
        """Return the threads of a block: more than `TOUR_THREADS` if tours are few, so that several share an item.

        A CPU runs a block with one thread, whatever this returns.
        """
        parts = min(MOST_PARTS, info.units * TOURS_A_MULTIPROCESSOR // max(1, tours))
        return TOUR_THREADS * -(-max(1, parts * ITEMS[kind] * breadth) // TOUR_THREADS) if parts > 1 else TOUR_THREADS

    def improve(self, incumbents: Buffer | None = None) -> None:
        """Improve all tours, and set their lengths.

        Parameters
        ----------
        incumbents
            uint16 (groups, n): for each of as many groups of tours, in their order and of equal size, a tour that has
            been improved already. The search then begins at the cities with an edge that is not in it.
        """
        n, stride = self.neighbours.shape
        count, groups = math.prod(self.lengths.shape), incumbents.shape[0] if incumbents else 0
        kernel = self.device.kernel(LOCAL_SEARCH_FILE, f"local_search_{KINDS[self.kind]}")
        own: dict[str, Argument] = {
            "n": n, "stride": stride, "breadth": self.breadth, "cost": self.cost, "neighbours": self.neighbours,
            "order": self.tours, **self.buffers,
        }
        kernel(count, self.threads, tours=count, groups=groups, all=own, incumbents=incumbents or self.tours,
               lengths=self.lengths)

    def close(self) -> None:
        """Free the scratch."""
        for buffer in self.buffers.values():
            buffer.free()

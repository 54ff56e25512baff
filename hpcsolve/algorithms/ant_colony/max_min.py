"""MAX-MIN Ant System on a device: candidate lists, trail limits, one tour that lays, restarts.

Kernels: cuda_src/ants/max_min.cu. The rules are those of Stuetzle and Hoos (2000), with the schedule and the
constants of Stuetzle's ACOTSP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.buffers import ANT_THREADS, Shapes, allocated, iteration_keys, tour_at, tour_memory
from hpcsolve.algorithms.ant_colony.colonies import NOTHING, Kept
from hpcsolve.algorithms.ant_colony.fixed_point import Unit
from hpcsolve.algorithms.ant_colony.instance import HEAD, AntInstance, listed
from hpcsolve.device.base import Argument, Buffer, Device, Timer

ROW_THREADS = 128
BEST_OF_RESTART = ((25, 25), (75, 5), (125, 3), (250, 2))
"""Up to so many iterations after a restart, every so-many-th the restart's best tour lays; later always."""
BEST_EVER_AFTER = 50
"""Iterations without a better tour since the restart, after which the colony's best ever lays."""
CHECK_EVERY, RESTART_AFTER = 100, 250
"""Restarts are thought of every so many iterations, and come after so many without a better tour."""
BRANCHING = Fraction(200002, 100000)
"""Mean number of branches a city below which a colony has converged: its tour alone has 2."""


def shapes(n: int, colonies: int, ants: int) -> Shapes:
    """Shapes and types of all buffers, by name."""
    return {
        "cost": ((n, n), np.int32),
        "nearest": ((n, listed(n)), np.uint16),
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
        "lengths": ((colonies, ants), np.uint64),
    }


def candidate_lists(buffers: dict[str, Buffer]) -> dict[str, Argument]:
    """Return the kernels' argument `candidates` (cuda_src/ants/max_min.cu)."""
    lists = {name: buffers[name] for name in ("nearest", "weights", "sums")}
    return {"width": buffers["nearest"].shape[1], **lists}


class Improver(Protocol):
    """A local search on the buffers of a `MaxMin`."""

    def improve(self, known: Buffer | None) -> None:
        """Improve all tours in place, and set their lengths; `known`: a tour a colony that is improved already."""

    def close(self) -> None:
        """Give its own memory back."""


@dataclass(frozen=True)
class Rules:
    """How trails are bounded.

    Attributes
    ----------
    lowest_share
        The least trail, in units of 2^-32 of the largest.
    local
        Whether tours are improved by local search: then the best tours lay sooner.
    """

    lowest_share: int
    local: bool


def rules(n: int, candidates: int, local: bool) -> Rules:
    """The rules of an instance; powers of floats, so made on rank 0.

    With local search the least trail is 1 / 2n of the largest. Without it, it is such that a colony that has converged
    builds its best tour with probability 0.05.
    """
    if local:
        return Rules(2**32 // (2 * n), local)
    right = 0.05 ** (1 / n)  # at every step
    share = (1 - right) / (right * (candidates + 1) / 2)
    return Rules(min(2**32, int(share * 2**32)), local)


@dataclass
class Restarts:
    """Where each colony stands since it last began anew, a row each: int64 (colonies,), the tours uint16 (colonies, n).

    Attributes
    ----------
    begun, improved
        Iterations of the last restart, and of the best tour since.
    length, tour
        That best tour.
    """

    begun: NDArray[np.int64]
    improved: NDArray[np.int64]
    length: NDArray[np.int64]
    tour: NDArray[np.uint16]


@dataclass
class MaxMin:
    """The colonies of one rank on its device.

    Attributes
    ----------
    keys
        Shape (colonies, 2), uint32: of the random numbers.
    heuristic
        Shape (n, 32), uint32: of the nearest cities; 0 where there are fewer candidates.
    improver
        Makes, of the buffers, what improves all tours in place and sets their lengths; None: no local search.
    """

    device: Device
    instance: AntInstance
    unit: Unit
    rules: Rules
    ants: int
    keys: NDArray[np.uint32]
    heuristic: NDArray[np.uint32]
    improver: Callable[[dict[str, Buffer]], Improver] | None = None
    timer: Timer = field(init=False)
    buffers: dict[str, Buffer] = field(init=False)
    local: Improver | None = field(init=False)
    since: Restarts = field(init=False)

    def __post_init__(self) -> None:
        """Allocate, upload, and make the tables of the first iteration."""
        n, colonies = self.instance.n, len(self.keys)
        self.timer = self.device.timer()
        self.buffers = allocated(self.device, shapes(n, colonies, self.ants))
        first = np.full((colonies, n, HEAD), self.unit.first_pheromone, np.uint64)
        for name, values in (("cost", self.instance.cost), ("nearest", self.instance.nearest), ("keys", self.keys),
                             ("heuristic", self.heuristic), ("pheromone", first)):
            self.buffers[name].upload(values)
        zeros = np.zeros(colonies, np.int64)
        self.since = Restarts(zeros, zeros.copy(), np.full(colonies, NOTHING), np.zeros((colonies, n), np.uint16))
        self.local = self.improver(self.buffers) if self.improver else None
        self._update(np.tile(np.arange(n, dtype=np.uint16), (colonies, 1)), [0] * colonies,
                  [(self.unit.first_pheromone, self.unit.first_pheromone)] * colonies)

    def construct(self, iteration: int) -> NDArray[np.uint64]:
        """All ants of all colonies build their tours, and improve them; the lengths, shape (colonies, ants)."""
        colonies, own = len(self.keys), self.buffers
        self.timer.start()
        kernel = self.device.kernel("ants/max_min", "max_min_construct")
        sizes = {"n": self.instance.n, "ants": self.ants, "colonies": colonies}
        kernel(colonies * self.ants, ANT_THREADS, sizes=sizes, random=iteration_keys(own, iteration),
               candidates=candidate_lists(own), cost=own["cost"], out=tour_memory(own))
        if self.local:
            self.local.improve(own["incumbents"] if iteration else None)
        self.timer.stop()
        return own["lengths"].download()

    def learn(self, iteration: int, lengths: NDArray[np.uint64], kept: Kept) -> None:
        """In each colony one tour lays its trail: the iteration's best, the restart's best, or the best ever."""
        since, depositing, amounts, bounds = self.since, [], [], []
        stuck = self._stuck(iteration)
        for colony, ant in enumerate(lengths.argmin(axis=1).tolist()):
            length, tour = int(lengths[colony, ant]), tour_at(self.buffers, colony, ant).download()
            if length < since.length[colony]:
                since.length[colony], since.tour[colony], since.improved[colony] = length, tour, iteration
            if self._turn_of_best(colony, iteration):
                ever = iteration - since.improved[colony] > BEST_EVER_AFTER and self._period(colony, iteration) == 1
                length = int(kept.length[colony] if ever else since.length[colony])
                tour = kept.tour[colony] if ever else since.tour[colony]
            depositing.append(tour)
            amounts.append(self.unit.deposit(length))
            low, high = self._bounds(int(kept.length[colony]))
            bounds.append((high if stuck[colony] else low, high))
        self._update(np.array(depositing), amounts, bounds)
        since.begun[stuck], since.length[stuck] = iteration, NOTHING
        self.buffers["incumbents"].upload(kept.tour)

    def close(self) -> None:
        """Give the device's memory back."""
        if self.local:
            self.local.close()
        for buffer in self.buffers.values():
            buffer.free()

    def _period(self, colony: int, iteration: int) -> int:
        age = iteration - int(self.since.begun[colony])
        if not self.rules.local:
            return BEST_OF_RESTART[0][1]
        return next((period for until, period in BEST_OF_RESTART if age < until), 1)

    def _turn_of_best(self, colony: int, iteration: int) -> bool:
        return (iteration + 1) % self._period(colony, iteration) == 0

    def _bounds(self, best: int) -> tuple[int, int]:
        """The least and the largest trail: what laying the best tour in every iteration comes to."""
        largest = int(self.unit.deposit(best) / self.unit.rho)
        return largest * self.rules.lowest_share >> 32, largest

    def _update(self, tours: NDArray[np.uint16], amounts: list[int], bounds: list[tuple[int, int]]) -> None:
        n, colonies, own = self.instance.n, len(self.keys), self.buffers
        for name, values in (("depositing", tours), ("amounts", np.array(amounts, np.uint64)),
                             ("bounds", np.array(bounds, np.uint64))):
            own[name].upload(values)
        self.timer.start()
        kernel = self.device.kernel("ants/max_min", "max_min_adjacent")
        kernel(-(-n * colonies // ROW_THREADS), ROW_THREADS, n=n, colonies=colonies, tours=own["depositing"],
               adjacent=own["adjacent"])
        kernel = self.device.kernel("ants/max_min", "max_min_update")
        deposits: dict[str, Argument] = {
            "keep": self.unit.keep, "symmetric": self.instance.symmetric,
            **{name: own[name] for name in ("adjacent", "amounts", "bounds")},
        }
        kernel(-(-n * colonies * 32 // ROW_THREADS), ROW_THREADS, n=n, colonies=colonies, ants=deposits,
               heuristic=own["heuristic"], candidates=candidate_lists(own), pheromone=own["pheromone"],
               branches=own["branches"])
        self.timer.stop()

    def _stuck(self, iteration: int) -> NDArray[np.bool_]:
        """Which colonies begin anew with the largest trails: converged, and for long without a better tour."""
        if (iteration + 1) % CHECK_EVERY:
            return np.zeros(len(self.keys), np.bool_)
        branches = self.buffers["branches"].download().sum(axis=1, dtype=np.int64)
        converged = [int(count) < self.instance.n * BRANCHING for count in branches]
        return np.array(converged) & (iteration - self.since.improved > RESTART_AFTER)

"""MAX-MIN Ant System on a device: candidate lists, bounded pheromone, deposits by one tour per colony, restarts.

The rules are those of Stuetzle and Hoos (2000), with the schedule and the constants of Stuetzle's ACOTSP. Every tour
is improved by local search, in place (kernels: cuda_src/ants/max_min.cu, cuda_src/tours/k_opt.cu).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    list_width,
    nearest_cities,
)
from hpcsolve.algorithms.ant_colony.parameters import HEAD, Parameters
from hpcsolve.algorithms.tours.cities import OF_MATRIX, OF_PAIRS
from hpcsolve.algorithms.tours.k_opt import MOST_EDGES, KOpt, Rules
from hpcsolve.algorithms.tours.stop import NO_TOUR
from hpcsolve.device.base import Argument, Buffer, Device

ROW_THREADS = 128
BEST_OF_RESTART = ((25, 25), (75, 5), (125, 3), (250, 2))
"""(age, period): the restart's best tour deposits every `period`-th iteration until the restart has that age."""
INCUMBENT_AFTER = 50
"""Iterations without a better tour since the restart, after which the colony's incumbent deposits."""
CHECK_EVERY, RESTART_AFTER = 100, 250
"""Iterations between tests for a restart, and iterations without a better tour that a restart requires."""
BRANCHING = Fraction(200002, 100000)
"""A colony has converged if its cities' mean branching factor is below this. A single tour has 2."""
CANDIDATES = 8
"""Candidates of a city that local search tries."""
BREADTH = (5, 2, 1)
"""With how many items its exchanges go on (`Rules.breadth`): few, since many tours are better than a few good ones."""
EDGES = {"2-opt": 2, "3-opt": 3, "4-opt": 4, "k-opt": MOST_EDGES, "insertion": 3}
"""Kinds of local search: the most edges of an exchange. "insertion" reverses no path of cities."""


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
        self.local = None if kind == "none" else local_search(kind, instance, own, device, colonies * self.ants)
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
            self.local.improve(own["tours"], own["lengths"], own["incumbents"] if iteration else None)

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


# ---- local search ----


def is_paired(kind: str, symmetric: bool) -> bool:
    """Return whether a kind of local search makes two nodes of each city, so that no path of cities is reversed."""
    return kind == "insertion" or not symmetric


def local_search_shapes(kind: str, symmetric: bool, tours: int, n: int) -> Shapes:
    """Return the shapes and types of the buffers of a local search for so many tours of n cities, by name."""
    if kind == "none":
        return {}
    paired = is_paired(kind, symmetric)
    nodes, width = n * (1 + paired), min(CANDIDATES, n - 1)
    fixed: Shapes = {"fixed": ((nodes,), np.uint32)} if paired else {}
    return {"near": ((nodes, width), np.uint32), "near_cost": ((nodes, width), np.int32), **fixed,
            **KOpt.shapes(tours, nodes)}


def local_search(kind: str, instance: AntInstance, buffers: dict[str, Buffer], device: Device, tours: int) -> KOpt:
    """Return the local search of a colony's tours, whose arrays are added to `buffers`."""
    paired = is_paired(kind, instance.symmetric)
    near, cost = node_lists(instance, min(CANDIDATES, instance.n - 1), paired)
    buffers |= {"near": device.upload(near), "near_cost": device.upload(cost)}
    if paired:
        buffers["fixed"] = device.upload(np.arange(len(near), dtype=np.uint32) ^ 1)
    where = {"n": len(near), "metric": OF_PAIRS if paired else OF_MATRIX, "points": None, "matrix": buffers["cost"],
             "fixed": buffers.get("fixed")}
    lists = {"width": near.shape[1], "near": buffers["near"], "cost": buffers["near_cost"]}
    return KOpt(device, where, lists, np.uint16, tours, Rules(EDGES[kind], BREADTH))


def node_lists(instance: AntInstance, width: int, paired: bool) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Return the `width` nearest nodes of each node, and the costs of the edges to them: shape (nodes, width).

    The nodes of city i are i itself, or in a paired instance (cuda_src/tours/costs.cuh) its entry 2 i and exit 2 i + 1.
    """
    after = instance.nearest[:, :width].astype(np.uint32)
    cost = np.take_along_axis(instance.cost, after.astype(np.int64), axis=1)
    if not paired:
        return after, cost
    before = after
    if not instance.symmetric:
        before = nearest_cities(np.ascontiguousarray(instance.cost.T))[:, :width].astype(np.uint32)
    near, costs = np.empty((2 * instance.n, width), np.uint32), np.empty((2 * instance.n, width), np.int32)
    near[0::2], near[1::2] = 2 * before + 1, 2 * after
    costs[0::2] = np.take_along_axis(instance.cost.T, before.astype(np.int64), axis=1)
    costs[1::2] = cost
    return near, costs

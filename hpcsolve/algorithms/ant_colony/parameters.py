"""The `[ant-colony]` table of a job file, and the statement of a job, with the checks of an instance against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import msgspec

from hpcsolve.algorithms.base import Statement, Table
from hpcsolve.algorithms.tours.cities import fits, require_costs
from hpcsolve.errors import InputError

HEAD = 32
"""Cities in the head of a row (cuda_src/ants/head_tail_tables.cuh), and the most candidates."""
FEWEST_CITIES = 4
MOST_CITIES = 65535
MOST_BETA = 64.0
MMAS_ANTS = 25


class Parameters(Table, frozen=True):
    """The `[ant-colony]` table of a job file.

    Attributes
    ----------
    variant
        "mmas": MAX-MIN Ant System with candidate lists and local search, for good tours; "ant-system": the original,
        where all ants deposit pheromone and choose among all cities.
    colonies
        Independent colonies, each with random numbers of its own; the answer is the best of all.
    ants
        Ants of a colony; by default 25 (mmas), or as many as cities (ant-system).
    beta
        Exponent of the heuristic, 1 / (cost + 0.1).
    rho
        Share of the pheromone that evaporates in an iteration; by default 0.2 (mmas), 0.02 without local search, 0.5
        (ant-system).
    candidates
        Of mmas: length of the candidate lists, the nearest cities that an ant prefers while one of them is unvisited.
    local_search
        Of mmas: how every tour is improved: by exchanges of up to 6 edges ("k-opt", which "auto" is), or of fewer;
        "insertion" moves segments and reverses none.
    migration
        Number of iterations after which each colony's best tour is copied to the next colony; 0: never.
    bound
        Whether a lower bound of every tour is computed first, so that the result says how far its tour is at most above
        the optimum. The search ends where a tour costs as much as the bound, and is optimal.
    optimum
        The cheapest tour's cost, if it is known, in the instance's own unit: gaps are counted from it.

    For study
    ---------
    alpha
        Exponent of the pheromone: only 1, since other powers would not be the same bits on every machine.
    strategy
        Of ant-system, how tours are constructed: "head-tail" with constant work a step; as published, and as oracles
        with the same probabilities, "st-group" (a block of threads is an ant) and "st-dynamic" (blocks that shrink with
        the number of unvisited cities).
    launch
        Of st-group: "tour" constructs whole tours in one launch of the kernel, "step" launches it for every step.
    tour_list
        Of st-group and st-dynamic: whether the unvisited cities are kept in a list; else every step goes through all
        cities.
    tiled
        Of st-group and st-dynamic: whether each thread adds up and searches a tile; else one thread searches all.
    block_threads
        Of st-group: threads of a block; of st-dynamic: those at the beginning of a tour.
    """

    STOPS: ClassVar[tuple[str, ...]] = ("seconds", "target", "iterations", "stagnation", "gap")

    variant: Literal["mmas", "ant-system"] = "mmas"
    colonies: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] = 1
    ants: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] | None = None
    alpha: float = 1.0
    beta: Annotated[float, msgspec.Meta(ge=0, le=MOST_BETA)] = 2.0
    rho: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    strategy: Literal["head-tail", "st-group", "st-dynamic"] = "head-tail"
    launch: Literal["tour", "step"] = "tour"
    tour_list: bool = True
    tiled: bool = True
    block_threads: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 128
    candidates: Annotated[int, msgspec.Meta(ge=1, le=HEAD)] = 20
    local_search: Literal["auto", "none", "2-opt", "3-opt", "4-opt", "k-opt", "insertion"] = "auto"
    migration: Annotated[int, msgspec.Meta(ge=0)] = 0
    bound: bool = True
    optimum: float | None = None

    def can_resume(self) -> bool:
        """Return True: every search can."""
        return True

    def ants_of(self, n: int) -> int:
        """Return the number of ants of a colony."""
        return self.ants or (n if self.variant == "ant-system" else MMAS_ANTS)

    @property
    def evaporation(self) -> float:
        """The share of the pheromone that evaporates in an iteration."""
        if self.rho is not None:
            return self.rho
        if self.variant == "ant-system":
            return 0.5
        return 0.02 if self.local_search == "none" else 0.2

    def local_search_of(self, symmetric: bool) -> str:
        """Return the kind of local search, "none" for ant-system.

        Raises
        ------
        InputError
            A kind that reverses segments of a tour, where costs are asymmetric; or any kind, for ant-system.
        """
        kind = self.local_search
        if self.variant == "ant-system":
            if kind not in ("auto", "none"):
                raise InputError(f"ant-colony.local-search: ant-system has none, {kind!r} is for mmas; remove it")
            return "none"
        if kind == "auto":
            return "k-opt"
        if kind not in ("none", "insertion", "k-opt") and not symmetric:
            why = "reverses segments of a tour, and the costs of this instance are asymmetric"
            raise InputError(f'ant-colony.local-search: {kind!r} {why}; use "k-opt"')
        return kind


@dataclass(frozen=True, eq=False)
class TourSearch(Statement):
    """A search for a good tour of an instance, whose question any tour answers."""

    def require(self) -> None:
        """Check that the instance can be searched with these parameters.

        Raises
        ------
        InputError
            Naming the key, or the instance's property that does not fit.
        """
        tsp, parameters = self.problem, self.parameters
        if tsp.precedences:
            raise InputError(f'{tsp.name} says which cities come before others; solve it with algorithm = "held-karp"')
        if tsp.windows is not None:
            raise InputError(f'{tsp.name} has time windows; solve it with algorithm = "held-karp"')
        if parameters.alpha != 1:
            why = "other powers of pheromone would not be the same bits on every machine"
            raise InputError(f"ant-colony.alpha: only 1 is possible, since {why}; change beta instead")
        for key in ("beta", "rho", "optimum"):
            value = getattr(parameters, key)
            if value is not None and not math.isfinite(value):
                raise InputError(f"ant-colony.{key}: expected a finite number, got {value}")
        if not FEWEST_CITIES <= tsp.n <= MOST_CITIES:
            what = f"{tsp.n} cities; ant-colony takes {FEWEST_CITIES} to {MOST_CITIES}"
            raise InputError(f"{what}{'; held-karp solves fewer' if tsp.n < FEWEST_CITIES else ''}", tsp.name)
        parameters.local_search_of(tsp.symmetric)

    def require_costs(self) -> None:
        """Raise `InputError` if arcs are missing, or if 32 bits do not suffice for the costs."""
        require_costs(self.problem, "ant-colony")

    def fits(self) -> bool:
        """Return whether 32 bits suffice for the costs as they are."""
        return fits(self.problem)

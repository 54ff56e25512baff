"""The `[edge-assembly]` table of a job file, and the statement of a job, with the checks of an instance against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import NO_STOP, Statement, StopCriteria, Table
from hpcsolve.algorithms.tours.cities import Cities, chains_of, fits, kernel_cities, require_costs
from hpcsolve.algorithms.tours.ends import City, ends_of, pairs_of
from hpcsolve.errors import InputError
from hpcsolve.formats.files import open_file
from hpcsolve.formats.order_files import read_order
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import Tsp

FEWEST_CITIES = 5
"""Of fewer cities, or chains of forced edges, all tours are looked at."""
MOST_WHOLE = 12_000
"""The most cities whose population has whole tours. Larger instances are divided into areas."""
AREA = 10_000
"""The most nodes of an area."""
AREA_OF_MATRIX = 4096
"""The same where costs are a matrix (`most_of_matrix` in cuda_src/host/areas.cpp)."""
FIRST_AREA = 50_000
"""The most nodes of an area of the first tour."""
FEWEST_TOURS, MOST_TOURS, MOST_ASYMMETRIC, MOST_IN_AREA = 5, 500, 1000, 30
"""Bounds of a population that the number of cities decides: of whole tours, of asymmetric ones (of 300 cities with
random costs 500 tours missed the best known cost with one of five seeds, 1000 with none), and of those of an area."""
SECONDS = 30.0
"""The time for which the population is chosen if there is no time limit."""
SECONDS_OF_FIRST_TOUR, SECONDS_OF_ASYMMETRIC_FIRST_TOUR, SECONDS_OF_GENERATIONS = 2.4e-6, 1.1e-5, 1.2e-7
"""Seconds on one core for each city of each tour: to make a first tour with symmetric costs, and with asymmetric ones.
The third, times the root of the number of cities, is from then until the population has converged."""
SECONDS_OF_START, SECONDS_OF_ROUNDS = 9e-6, 5e-7
"""Seconds on one core, for each city of a large instance: until there is a first tour, and from then on. There are t
tours in an area if `SECONDS_OF_ROUNDS` t^2 are left. A round takes some 5.5e-6 t. So there is time for 1.1 rounds with
12 tours and for 2.7 with 30, near the best of the numbers that were tried."""
CITIES_A_SHARE = 3000
"""For every so many cities a pair may try `children`, and take `TAKEN`."""
TAKEN, LEAST_PERCENT = 3, 30
"""The most children of single AB-cycles that a tour takes, for each share of cities, and the least worth of each, its
gain by the entropy that is lost, in percent of the best one's."""


class Parameters(Table, frozen=True):
    """The `[edge-assembly]` table of a job file.

    Attributes
    ----------
    population
        Number of tours that are improved together; by default about as many, by the number of cities, as one core
        improves to the end within the time limit (30 seconds without one), 5 to 500, or to 1,000 for asymmetric costs.
        Of more than 12,000 cities: tours in each area of at most 10,000 cities, 5 to 30 by the limit, 30 without one.
    children
        The most children of a pair of tours that are tried, for each 3,000 cities; those that gain nothing do not
        count.
    path
        "cycle": the tour returns to its first city; "open": it does not.
    start
        Label or name (as in the instance's file) of the first city; by default that of a cycle is the instance's first,
        and that of an open path is free.
    end
        Label or name of the last city of an open path, which is free by default. A cycle has no `end`.
    forced
        Pairs [[a, b], ...] of cities: a leg leads from a to b or, where costs are symmetric, from b to a.
    tour
        A file with a tour to begin with: a TSPLIB tour, or a list with a city on each line.
    bound
        Whether a lower bound of every tour is computed, so that the result says how far its tour is at most above the
        optimum. The search ends where a tour costs as much as the bound, and is optimal. Of more than 12,000 cities the
        bound is computed after the search and beyond its time limit, unless [stop] has `gap`.
    optimum
        The cheapest tour's cost, if it is known, in the instance's own unit: the gap is counted from it.
    tour_sha256
        SHA-256 of the file of `tour`. hpcsolve writes it into the result's job, so that a file that has changed is
        refused when the job is run again.
    """

    STOPS: ClassVar[tuple[str, ...]] = ("seconds", "target", "iterations", "stagnation", "gap")

    population: Annotated[int, msgspec.Meta(ge=2, le=1 << 16)] | None = None
    children: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)] = 30
    path: Literal["cycle", "open"] = "cycle"
    start: City | None = None
    end: City | None = None
    forced: list[tuple[City, City]] = msgspec.field(default_factory=list)
    tour: str | None = None
    bound: bool = True
    optimum: float | None = None
    tour_sha256: str | None = None

    def can_resume(self) -> bool:
        """Return True: every search can."""
        return True


@dataclass(frozen=True, eq=False)
class Assembly(Statement):
    """A search for a good tour.

    Attributes
    ----------
    given
        The tour to begin with, shape (n,), or None.
    """

    problem: Tsp
    parameters: Parameters
    question: TourQuestion
    given: NDArray[np.int64] | None = None

    @cached_property
    def nodes(self) -> int:
        """Number of nodes that are searched, or of pairs of them where costs are asymmetric."""
        tsp, asked = self.problem, self.question
        chains = chains_of(tsp, asked.forced, closed=self.closed, start=asked.start, end=asked.end)
        ends = 2 if tsp.symmetric else 1
        return int(tsp.n) + (not self.closed) - sum(len(chain) - ends for chain in chains)

    @property
    def closed(self) -> bool:
        """Whether the tour is a cycle."""
        return self.question.path == "cycle"

    def cities(self) -> Cities:
        """Return the instance as kernels have it."""
        asked = self.question
        return kernel_cities(self.problem, asked.forced, closed=self.closed, start=asked.start, end=asked.end)

    @property
    def is_few(self) -> bool:
        """Whether all tours are looked at."""
        return self.problem.n < FEWEST_CITIES or self.nodes < FEWEST_CITIES

    @property
    def is_large(self) -> bool:
        """Whether there is one tour, which is improved area by area."""
        return bool(self.problem.n > MOST_WHOLE)

    def fits(self) -> bool:
        """Return whether 32 bits suffice for the costs as they are."""
        return fits(self.problem)

    def require_costs(self) -> None:
        """Raise `InputError` if arcs are missing, or if 32 bits do not suffice for the costs."""
        require_costs(self.problem, "edge-assembly")

    @property
    def part_of_first_tours(self) -> float:
        """Part of the time in which first tours are made. In the rest their population can converge."""
        return self._seconds_a_city[0] / sum(self._seconds_a_city)

    @property
    def _seconds_a_city(self) -> tuple[float, float]:
        """Seconds for each city of each tour: to make a first tour, and from then on."""
        first = SECONDS_OF_FIRST_TOUR if self.problem.symmetric else SECONDS_OF_ASYMMETRIC_FIRST_TOUR
        return first, SECONDS_OF_GENERATIONS * math.sqrt(self.problem.n)

    def population(self, criteria: StopCriteria = NO_STOP) -> int:
        """Return the number of tours that are improved together."""
        if self.parameters.population is not None:
            return self.parameters.population
        n, seconds = self.problem.n, criteria.seconds or SECONDS
        if not self.is_large:
            most = MOST_TOURS if self.problem.symmetric else MOST_ASYMMETRIC
            return max(FEWEST_TOURS, min(most, int(seconds / (n * sum(self._seconds_a_city)))))
        if criteria.seconds is None:
            return MOST_IN_AREA
        left = max(0.0, seconds / n - SECONDS_OF_START)
        return max(FEWEST_TOURS, min(MOST_IN_AREA, int(math.sqrt(left / SECONDS_OF_ROUNDS))))


def first_area(of_matrix: bool, nodes: int) -> int:
    """Return the most nodes of an area of the first tour, 0 if this tour is only improved as a whole.

    If costs are a matrix, an area would be a path of the tour, and its costs would be copied.
    """
    return 0 if of_matrix or nodes <= FIRST_AREA else FIRST_AREA


def statement(tsp: Tsp, parameters: Parameters, to_check: bool) -> Assembly:
    """Return the statement of a job.

    Raises
    ------
    InputError
        By key: a city is not one of the instance's, keys contradict each other, or a file does not fit or has changed.
    """
    if tsp.precedences:
        raise InputError(f'{tsp.name} says which cities come before others; solve it with algorithm = "held-karp"')
    if tsp.windows is not None:
        raise InputError(f'{tsp.name} has time windows; solve it with algorithm = "held-karp"')
    if parameters.optimum is not None and not math.isfinite(parameters.optimum):
        raise InputError(f"edge-assembly.optimum: expected a finite number, got {parameters.optimum}")
    start, end = ends_of(tsp, parameters, "edge-assembly")
    forced = pairs_of(tsp, parameters.forced, "edge-assembly.forced")
    question = TourQuestion(parameters.path, start, end, forced=forced)
    given, sha256 = None, {}
    if parameters.tour is not None and not to_check:
        file = open_file(parameters.tour)
        if parameters.tour_sha256 not in (None, file.sha256):
            what = "is not the file of the job (its SHA-256 differs); --set edge-assembly.tour=FILE uses it anyway"
            raise file.error(what)
        given, sha256["tour"] = read_order(file, tsp), file.sha256
    stated = Assembly(tsp, parameters, question, sha256, given)
    if forced and tsp.n >= FEWEST_CITIES:
        try:
            _ = stated.nodes
        except InputError as error:
            raise InputError(f"edge-assembly.forced: {error}") from None
    if given is not None:
        _require_given(stated, given)
    return stated


def _require_given(stated: Assembly, order: NDArray[np.int64]) -> None:
    """Raise `InputError` if the given tour does not answer the question."""
    asked = stated.question
    if asked.path == "cycle":
        order = np.roll(order, -int((order == (asked.start or 0)).argmax()))
    try:
        asked.check(stated.problem, order)
    except ValueError as error:
        raise InputError(f"edge-assembly.tour: {error}") from None

"""The statement of a job: the `[held-karp]` table, the question that it states, and which method can answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import NO_STOP, Statement, StopCriteria, Table
from hpcsolve.algorithms.held_karp import batch
from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts, reduce_costs
from hpcsolve.algorithms.held_karp.problem import (
    MOST_INNER_CITIES_WITH_WINDOWS,
    Core,
    OrderProblem,
    core_of,
    order_problem,
    parts_of_tour,
)
from hpcsolve.algorithms.tours.ends import City, ends_of, pairs_of, position_of
from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, open_file
from hpcsolve.formats.order_files import read_leg_costs, read_travel_times, read_windows
from hpcsolve.problems.clock import SYMBOLS, UNIT_OF
from hpcsolve.problems.questions import Loads, Objective, TourQuestion, Windows, legs
from hpcsolve.problems.rounding import LARGEST_SUM, floor_at_scale
from hpcsolve.problems.tsp import NO_ARC, Tsp, TspBatch
from hpcsolve.problems.windows import all_day
from hpcsolve.wording import counted

Place = Annotated[int, msgspec.Meta(ge=1)]
LARGEST_WEIGHT, LARGEST_BUDGET = 10**9, 1e15
LARGEST_CAPACITY = 10**12
MOST_BEST = 10**4
"""The most tours that `best` may ask for."""
LATTICE_CITIES, ORDERED_CITIES = 28, 20
"""The most cities for which `method = "auto"` takes the lattice on a CPU: for plain sums, and for other questions.

The lattice then takes about a second. For other questions its table takes up to eight times the memory and the work. On
a GPU a table for plain sums that fits in the memory is filled within a second (computed, jobs/benchmarks/gpu.md), so
there memory alone is the limit. Nothing was computed for other questions there.
"""
MOST_CITIES = MOST_INNER_CITIES_WITH_WINDOWS + 1
"""The most cities of a cycle that any method takes: the first city, and those that a state's key of bounds holds."""
MOST_LATTICE_CITIES = 46
"""The most cities for which a block of the lattice's kernel has room. Memory ends long before."""
MOST_CITIES_OF_A_CURVE = 31
"""The most cities for which `method = "auto"` takes the lattice for a whole curve without windows, if it fits."""
FEWEST_BOUNDED = 10
"""Fewer cities are solved by the lattice, but for what it cannot solve, and "prize" with method "bounded"."""
FILES = ("costs", "windows", "travel-times")
"""The keys that name files."""


class Parameters(Table, frozen=True):
    """The `[held-karp]` table of a job file.

    Attributes
    ----------
    path
        "cycle": the tour returns to its first city; "open": it does not.
    start
        Label or name (as in the instance's file) of the first city; by default that of a cycle is the instance's first,
        and that of an open path is free.
    end
        Label or name of the last city of an open path, which is free by default. A cycle has no `end`.
    objective
        What is minimised. "sum": the sum of the legs' costs; "latency": the sum over the cities of weight times time of
        arrival, in a cycle with the return to the first city; "position": the sum of the legs' costs, which depend on
        their place in the tour (`weights` or `costs`); "bottleneck": the dearest leg; "lexicographic": the dearest leg,
        then the sum; "finish": the end of a tour with time windows (`windows`). "prize": cities may be left out, all
        but a cycle's first one and the ends that are fixed; the sum of the `prizes` is maximised within the `budget`,
        and without a budget the answer has the least cost, or with windows the earliest end, for each sum of prizes.
    weights
        Integers of at least 0. For "latency" one for each city in the order of the instance, by default 1; for
        "position" one for each leg in the order of the tour, by which its cost is multiplied.
    costs
        For "position": a `.npy` file of shape (legs, n, n) with the costs of each leg, in place of the instance's.
    windows
        For "finish", "sum", "latency" and "prize": a CSV table with the columns city, earliest, latest and optionally
        service. A traveller who arrives before `earliest` waits; service must begin by `latest`. The return to the
        first city must be by its `latest`. In a "sum" neither waiting nor service counts; in a "latency" the begin of
        the service counts as the arrival. They take the place of windows that the instance has.
    prizes
        For "prize": integers of at least 0, one for each city in the order of the instance.
    budget
        For "prize": the most that the sum of the legs' costs may be or, with windows, the latest end of the tour.
    travel_times
        For "finish", "sum" and "latency": travel times that depend on the time of departure, such as those of rush
        hours, in place of the costs. A CSV table with the columns time and factor, by which all costs are multiplied,
        or a `.npy` file of shape (times, n, n) beside `departures`. Between two times they are linear, before the first
        and after the last one constant. Who leaves later must not arrive earlier. The traveller leaves a city when its
        service ends. Without windows all cities are open all day.
    departures
        The times of departure of the tables of a `.npy` file of `travel-times`, ascending.
    time_unit
        What a unit of the costs is, "second", "minute" or "hour", where the instance does not say it. With it times of
        `windows`, `travel-times` and `departures` may be times of day, such as 08:00, which count from midnight, and so
        are the times of the answer.
    before
        Pairs [[a, b], ...] of cities: a comes before b.
    position
        Pairs [[city, k], ...]: the city stands at place k of the tour; the first place is 1.
    not_position
        Pairs [[city, k], ...]: the city does not stand at place k of the tour; the first place is 1.
    forbidden
        Pairs [[a, b], ...]: no leg leads from a to b.
    load
        Integers, one for each city in the order of the instance: what the vehicle takes in there, negative where it
        hands it over. That of the first city is taken in at the departure. After each city the load is at least 0 and
        at most `capacity`.
    capacity
        The most that the vehicle holds, in the unit of `load`.
    count
        Whether to count the optimal tours, up to 2^64 - 1. A symmetric cycle counts in both directions.
    best
        How many of the best tours to keep, in the order of their values.
    arcs
        Whether to compute for each arc the value of the best tour through it. Not with "finish".
    method
        "lattice": the table of all states, whose memory doubles with each city, for everything but `load`,
        `travel-times`, and sums and latency with time windows; "bounded": states that a lower bound proves useless are
        dropped, for sums of costs by place, with time windows, and for "finish" and "prize"; "auto": the lattice for up
        to 28 cities (20 with other objectives and constraints), on GPUs for plain sums of as many cities as fit in
        their memory, and where "bounded" is not possible, else "bounded". If one of them does not fit in the memory,
        the other one takes over. The answer is the same.
    costs_sha256
        SHA-256 of the file of `costs`. hpcsolve writes it into the result's job, so that a file that has changed is
        refused when the job is run again.
    windows_sha256
        SHA-256 of the file of `windows`, for the same purpose.
    travel_times_sha256
        SHA-256 of the file of `travel-times`, for the same purpose.

    For study
    ---------
    layout
        How the lattice stores its states. "planes": split over ranks, any size; "compact": one table of all states on
        one rank, as an oracle, for plain sums without `before`, `position`, `not-position`, `count`,
        `best` and `arcs` alone.
    """

    STOPS: ClassVar[tuple[str, ...]] = ("memory", "seconds", "target", "gap")

    path: Literal["cycle", "open"] = "cycle"
    start: City | None = None
    end: City | None = None
    objective: Objective = "sum"
    weights: list[Annotated[int, msgspec.Meta(ge=0, le=LARGEST_WEIGHT)]] | None = None
    costs: str | None = None
    windows: str | None = None
    prizes: list[Annotated[int, msgspec.Meta(ge=0, le=LARGEST_WEIGHT)]] | None = None
    budget: Annotated[float, msgspec.Meta(ge=0, le=LARGEST_BUDGET)] | None = None
    travel_times: str | None = None
    departures: list[int | float | str] | None = None
    time_unit: Literal["second", "minute", "hour"] | None = None
    before: list[tuple[City, City]] = msgspec.field(default_factory=list)
    position: list[tuple[City, Place]] = msgspec.field(default_factory=list)
    not_position: list[tuple[City, Place]] = msgspec.field(default_factory=list)
    forbidden: list[tuple[City, City]] = msgspec.field(default_factory=list)
    load: list[Annotated[int, msgspec.Meta(ge=-LARGEST_WEIGHT, le=LARGEST_WEIGHT)]] | None = None
    capacity: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_CAPACITY)] | None = None
    count: bool = False
    best: Annotated[int, msgspec.Meta(ge=1, le=MOST_BEST)] = 1
    arcs: bool = False
    method: Literal["auto", "lattice", "bounded"] = "auto"
    layout: Literal["planes", "compact"] = "planes"
    costs_sha256: str | None = None
    windows_sha256: str | None = None
    travel_times_sha256: str | None = None

    def stops(self) -> tuple[str, ...]:
        """Return the keys of `[stop]` that a job may have."""
        return () if self.forbids_stop() else self.STOPS

    def forbids_stop(self) -> str:
        """Return the key with which there is no answer before the end, or ""."""
        if self.objective == "prize":
            return 'objective = "prize"'
        return 'method = "lattice"' if self.method == "lattice" else ""

    def can_resume(self) -> bool:
        """Return whether a run writes checkpoints."""
        return self.layout == "planes" and self.objective != "prize"

    def one_answer(self) -> bool:
        """Return whether an optimal tour is all that is asked for."""
        return not self.count and self.best == 1 and not self.arcs

    def most_in_lattice(self, precedences: bool, kind: str = "cpu") -> int:
        """Return the most cities for which "auto" takes the lattice, as far as its table fits in the memory.

        Parameters
        ----------
        precedences
            Whether the instance has some.
        kind
            The kind of device, "cpu" or "cuda".
        """
        plain = self.objective == "sum" and not (self.before or precedences or self.position or self.not_position)
        if not plain:
            return ORDERED_CITIES
        return LATTICE_CITIES if kind == "cpu" else MOST_LATTICE_CITIES

    def why_not_bounded(self, windows: bool = False) -> str:
        """Return why bounds cannot solve what is asked for, in words, or "".

        Parameters
        ----------
        windows
            Whether the instance has time windows.
        """
        if self.layout != "planes":
            return f'layout = "{self.layout}" belongs to the lattice'
        if not self.one_answer():
            return "more than one optimal tour needs all states (count, best, arcs)"
        if self.objective in ("bottleneck", "lexicographic"):
            return f'objective = "{self.objective}" does not add up costs by place'
        # Then the cities have their weights where they are reached.
        by_time = windows or self.windows is not None or self.travel_times is not None
        if self.objective == "latency" and len(set(self.weights or ())) > 1 and not by_time:
            return "with different weights of the cities the costs depend on which cities are left"
        return ""


@dataclass(frozen=True, eq=False)
class TourStatement(Statement):
    """What is asked of an instance, in the forms that the methods solve. Each form is made when it is first needed."""

    parameters: Parameters
    question: TourQuestion

    @property
    def plain(self) -> bool:
        """Whether it is a plain sum, without further answers."""
        return self.question.plain and self.parameters.one_answer()

    @property
    def cities_in_lattice(self) -> int:
        """The number of cities beside the depot, known before a matrix is made."""
        return len(parts_of_tour(self.problem.n, self.question)[1])

    @cached_property
    def core(self) -> Core:
        """The cities and the depot, with the instance's own costs."""
        return core_of(self.problem, self.question)

    @cached_property
    def reduced(self) -> ReducedCosts:
        """The core's costs as small integers, by heuristics and scipy: made on one rank, so that all have the same."""
        return reduce_costs(self.core.cost)

    @cached_property
    def orders(self) -> OrderProblem:
        """The best order of the core's cities, with every objective and constraint."""
        return order_problem(self.problem, self.question)

    @property
    def only_by_bounds(self) -> bool:
        """Whether the lattice cannot solve it: sums with time windows, and loads.

        With windows the cheapest path to a state may not be the earliest. Loads exclude sets. Costs of the lattice do
        not depend on the time of departure. Without a city beside the ends there are no states.
        """
        asked = self.question
        summed = asked.windows is not None and asked.objective not in ("finish", "prize")
        timed = asked.travel_times is not None or summed
        return (timed or asked.loads is not None) and self.cities_in_lattice > 0

    def fits(self) -> bool:
        """Return whether the method's states suffice for the costs as they are."""
        by_bounds = self.is_bounded()
        if not by_bounds and self.question.plain and self.cities_in_lattice > MOST_LATTICE_CITIES:
            return True  # the plan refuses them with a better message
        try:
            form = self.orders if by_bounds or not self.question.plain else self.reduced
        except InputError:
            return False
        return not isinstance(form, OrderProblem) or not by_bounds or bounded.fits(form)

    def is_bounded(self, criteria: StopCriteria = NO_STOP, kind: str = "cpu") -> bool:
        """Return whether the job is solved by bounds, even if the lattice's table fits in the memory.

        Parameters
        ----------
        criteria
            Criteria to stop at, which the lattice cannot honour.
        kind
            The kind of device, "cpu" or "cuda".

        Raises
        ------
        InputError
            The method cannot solve this kind of problem.
        """
        tsp, own, stops = self.problem, self.parameters, criteria != NO_STOP
        obstacle = own.why_not_bounded(tsp.windows is not None)
        if own.method == "bounded" and obstacle:
            raise InputError(f'held-karp.method: "bounded" cannot do this: {obstacle}; use "auto" or "lattice"')
        if own.method == "auto" and stops and obstacle:
            raise InputError(
                f'stop: only held-karp.method = "bounded" can be stopped early, but {obstacle}; remove [stop]')
        if self.only_by_bounds:
            return True
        if self.question.objective == "prize":
            # A whole curve without windows leaves nearly all states, and the table is the quickest way to them.
            few = self.question.budget is not None or self.question.windows is not None
            many = tsp.n > (ORDERED_CITIES if few else MOST_CITIES_OF_A_CURVE)
            return own.method == "bounded" or (own.method == "auto" and many)
        if own.method == "lattice" or obstacle or tsp.n < FEWEST_BOUNDED:
            return False
        return own.method == "bounded" or stops or tsp.n > own.most_in_lattice(bool(tsp.precedences), kind)

    def may_be_bounded(self) -> bool:
        """Return whether bounds may solve the job in place of a lattice that does not fit in the memory."""
        own = self.parameters
        return own.method == "auto" and self.problem.n >= FEWEST_BOUNDED and not own.why_not_bounded()

    def may_end_early(self, criteria: StopCriteria = NO_STOP) -> bool:
        """Return whether bounds solve it, whose best tour so far is an answer."""
        return super().may_end_early(criteria) and self.is_bounded(criteria)


@dataclass(frozen=True, eq=False)
class BatchStatement(Statement):
    """What is asked of each instance of a batch, as if it were alone.

    Attributes
    ----------
    question
        For each part of the batch the question about its instances, which have the same cities.
    """

    problem: TspBatch
    parameters: Parameters
    question: tuple[TourQuestion, ...]

    def of(self, number: int) -> TourStatement:
        """Return what is asked of one instance."""
        part, at = self.problem.place_of(number)
        return TourStatement(self.problem.parts[part].instance(at), self.parameters, self.question[part])

    @cached_property
    def by_kernel(self) -> NDArray[np.bool_]:
        """Shape (instances,): whether the kernel of batches solves an instance, and not a method for one."""
        if self.parameters.method == "bounded":
            return np.zeros(self.problem.count, bool)
        return np.concatenate(list(map(batch.takes, self.problem.parts, self.question)))

    def fits(self) -> bool:
        """Return whether the states of each instance's method suffice for its costs as they are."""
        return all(self.of(number).fits() for number in np.flatnonzero(~self.by_kernel).tolist())

    def may_end_early(self, criteria: StopCriteria = NO_STOP) -> bool:
        """Return false: an interrupted run has the answers of some instances, which a checkpoint keeps."""
        return False


def statement(problem: Tsp | TspBatch, parameters: Parameters) -> TourStatement | BatchStatement:
    """Return the statement of a job.

    Raises
    ------
    InputError
        By key: a city is not one of the instance's, keys contradict each other, or a file does not fit or has changed.
        Of a batch the message names the instance.
    """
    files = {}
    for key in FILES:
        own = key.replace("-", "_")
        path, expected = getattr(parameters, own), getattr(parameters, f"{own}_sha256")
        if path is not None:
            files[key] = open_file(path)
            if expected not in (None, files[key].sha256):
                what = f"is not the file of the job (its SHA-256 differs); --set held-karp.{key}=FILE uses it anyway"
                raise files[key].error(what)
    sha256 = {key: file.sha256 for key, file in files.items()}
    if isinstance(problem, TspBatch):
        return BatchStatement(problem, parameters, _of_batch(problem, parameters, files), sha256)
    return TourStatement(problem, parameters, _asked(problem, parameters, files), sha256)


def _of_batch(
    batch: TspBatch, parameters: Parameters, files: Mapping[str, InputFile]
) -> tuple[TourQuestion, ...]:
    """Return the question about the instances of each part of a batch. Raises as `statement`."""
    if parameters.layout != "planes":
        raise InputError(f'held-karp.layout: a batch does not take "{parameters.layout}"; remove layout')
    one_tour = {"count": parameters.count, "best": parameters.best > 1, "arcs": parameters.arcs,
                "objective": parameters.objective == "prize"}
    if given := [key for key, value in one_tour.items() if value]:
        value = '"prize"' if given[0] == "objective" else "this"
        raise InputError(f"held-karp.{given[0]}: a batch has one tour of all cities for each instance, and does not "
                         f"take {value}; solve instances alone")
    found = []
    for number, part in zip(batch.begins.tolist(), batch.parts):
        try:
            asked, scale = _asked(part.first, parameters, files), part.first.scale
            if asked.windows is not None and asked.windows.at(scale, batch.scale) is None:
                raise InputError(f"held-karp.windows: times are too large to be kept with {len(str(batch.scale)) - 1} "
                                 "decimals, as another instance of the batch has; round its costs")
        except InputError as error:
            raise InputError(f"{batch.named(number)}: {error}") from None
        found.append(asked)
    return tuple(found)


def _asked(tsp: Tsp, parameters: Parameters, files: Mapping[str, InputFile]) -> TourQuestion:
    """Return the question that the parameters put to an instance. Raises as `statement`."""
    position = partial(position_of, tsp)
    pairs = partial(pairs_of, tsp)
    start, end = ends_of(tsp, parameters, "held-karp")
    _refuse_combinations(tsp, parameters)
    count, weights, objective = legs(tsp.n, parameters.path), None, parameters.objective
    if parameters.weights is not None:
        wanted, of = (tsp.n, "cities") if objective == "latency" else (count, "legs of the tour")
        if len(parameters.weights) != wanted:
            what = f"{len(parameters.weights)} weights for {wanted} {of}; give one for each"
            raise InputError(f"held-karp.weights: {what}")
        weights = np.array(parameters.weights, np.int64)
    if parameters.prizes is not None and len(parameters.prizes) != tsp.n:
        raise InputError(f"held-karp.prizes: {counted(len(parameters.prizes), 'prize')} for {tsp.n} cities; "
                         "give one for each, 0 where there is none")
    costs = read_leg_costs(files["costs"], tsp, count) if "costs" in files else None
    unit = parameters.time_unit or UNIT_OF.get(tsp.unit)
    windows = read_windows(files["windows"], tsp, unit) if "windows" in files else tsp.windows
    travel = None
    if "travel-times" in files:
        travel = read_travel_times(files["travel-times"], tsp, parameters.departures, unit)
        windows = windows or all_day(tsp.n)
    if windows is not None:
        key, takes = ("windows", tsp.cost) if travel is None else ("travel-times", travel.tables)
        _require_small_times(windows, key, takes)
    if tsp.precedences and parameters.path == "cycle" and parameters.start is None:
        raise InputError('held-karp.path: the instance says which cities come before others, so a cycle needs a first '
                         'city; set start, or path = "open"')
    precedences = tuple(dict.fromkeys((*tsp.precedences, *pairs(parameters.before, "held-karp.before"))))
    places: NDArray[np.bool_] | None = None
    if parameters.position or parameters.not_position:
        places = np.ones((tsp.n, tsp.n), bool)
        for key, given in (("position", parameters.position), ("not-position", parameters.not_position)):
            for city, place in given:
                if place > tsp.n:
                    what = f"place {place} of a tour of {tsp.n} cities; places are 1 to {tsp.n}"
                    raise InputError(f"held-karp.{key}: {what}")
                places[position(city, f"held-karp.{key}")] &= (np.arange(1, tsp.n + 1) == place) == (key == "position")
    forbidden = pairs(parameters.forbidden, "held-karp.forbidden")
    collected = None if parameters.prizes is None else np.array(parameters.prizes, np.int64)
    budget = None if parameters.budget is None else floor_at_scale(parameters.budget, tsp.scale)
    if objective == "prize" and (tsp.precedences or (tsp.cost[tsp.cost != NO_ARC] < 0).any()):
        what = "the instance says which cities come before others" if tsp.precedences else "a cost is negative"
        raise InputError(f'held-karp.objective: {what}, and "prize" does not take that')
    return TourQuestion(parameters.path, start, end, objective, weights, costs, windows, precedences, places, forbidden,
                        loads=_loads(tsp, parameters), travel_times=travel, prizes=collected, budget=budget)


def _loads(tsp: Tsp, parameters: Parameters) -> Loads | None:
    """Return what the cities load, or None. Raises `InputError` by key."""
    load, capacity = parameters.load, parameters.capacity
    if load is None and capacity is None:
        return None
    if load is None or capacity is None:
        given, missing = ("capacity", "load") if load is None else ("load", "capacity")
        raise InputError(f"held-karp.{given}: it goes with {missing}, which is missing; set both, or remove {given}")
    if len(load) != tsp.n:
        raise InputError(f"held-karp.load: {len(load)} loads for {tsp.n} cities; give one for each, 0 where nothing "
                         "changes")
    return Loads(np.array(load, np.int64), capacity)


def _refuse_combinations(tsp: Tsp, parameters: Parameters) -> None:
    """Refuse keys that do not go with the objective or the layout, and an objective without the keys that it needs."""
    objective, windows = parameters.objective, parameters.windows is not None or tsp.windows is not None
    by_hour = parameters.travel_times is not None
    if tsp.windows is not None and objective not in ("sum", "finish", "latency", "prize"):
        raise InputError('held-karp.objective: the instance has time windows, which go with "sum", "finish", '
                         f'"latency" and "prize" alone; this job has "{objective}"')
    timed = ("finish", "sum", "latency")
    needs = {"weights": ("latency", "position"), "costs": ("position",), "travel_times": timed,
             "windows": (*timed, "prize"), "prizes": ("prize",), "budget": ("prize",)}
    for key, objectives in needs.items():
        if getattr(parameters, key) is not None and objective not in objectives:
            wanted = " or ".join(f'"{name}"' for name in objectives)
            name = key.replace("_", "-")
            raise InputError(f'held-karp.{name}: only objective = {wanted} takes it; this job has "{objective}"')
    if objective == "position" and (parameters.weights is None) == (parameters.costs is None):
        raise InputError('held-karp.objective: "position" needs one of weights (one for each leg) and costs (a file)')
    if objective == "finish" and not windows and not by_hour:
        raise InputError('held-karp.objective: "finish" needs windows, a CSV table of time windows')
    if objective == "prize":
        if parameters.prizes is None:
            raise InputError('held-karp.objective: "prize" needs prizes, an integer for each city')
        all_cities = {
            "before": parameters.before, "position": parameters.position, "not-position": parameters.not_position,
            "count": parameters.count, "best": parameters.best > 1, "arcs": parameters.arcs,
            "load": parameters.load is not None, "layout": parameters.layout != "planes"}
        if given := [key for key, value in all_cities.items() if value]:
            what = 'objective = "prize" does not take it'
            raise InputError(f"held-karp.{given[0]}: {what}; remove {' and '.join(given)}")
    if parameters.time_unit is not None and not windows and not by_hour:
        raise InputError("held-karp.time-unit: there are no time windows; remove time-unit, or set windows")
    if parameters.time_unit is not None and not by_hour and tsp.unit not in ("", SYMBOLS[parameters.time_unit]):
        hint = ", and set instance.speed for travel times" if tsp.unit == "m" else ""
        raise InputError(f"held-karp.time-unit: the costs of the instance are in {tsp.unit}; remove time-unit{hint}")
    if parameters.departures is not None and not by_hour:
        raise InputError("held-karp.departures: these are the times of tables of travel-times; set it to a .npy file")
    if by_hour and tsp.rounding is not None:
        raise InputError("held-karp.travel-times: the costs of the instance have been rounded, and the error of "
                         "times by departure is unknown then; give costs with fewer decimals")
    if objective == "finish" and parameters.arcs:
        raise InputError('held-karp.arcs: objective = "finish" does not take it, since the rest of a tour depends on '
                         "the time; remove arcs")
    wider = {"method": parameters.method == "lattice", "layout": parameters.layout != "planes",
             "count": parameters.count, "best": parameters.best > 1, "arcs": parameters.arcs}
    alone = {f'windows: a "{objective}" with time windows is': windows and objective not in ("finish", "prize"),
             "travel-times: travel times by departure are": by_hour,
             "load: a tour with loads is": parameters.load is not None}
    for what in (what for what, given in alone.items() if given and any(wider.values())):
        keys = " and ".join(key for key, given in wider.items() if given)
        raise InputError(f'held-karp.{what} solved by method = "bounded" alone, for one tour; remove {keys}')
    if parameters.load is not None and (obstacle := parameters.why_not_bounded(windows)):
        raise InputError(f'held-karp.load: only method = "bounded" takes loads, but {obstacle}; remove load, or what '
                         "needs the lattice")
    others = {  # what the layout "compact" does not solve
        f'objective = "{objective}"': objective != "sum", "before": parameters.before,
        "position": parameters.position, "not-position": parameters.not_position, "count": parameters.count,
        "best": parameters.best > 1, "arcs": parameters.arcs, "the precedences of the instance": tsp.precedences,
    }
    other = next((name for name, given in others.items() if given), "")
    if parameters.layout == "compact" and other:
        raise InputError(f'held-karp.layout: "compact" does not go with {other}; remove layout')


def _require_small_times(windows: Windows, key: str, takes: NDArray[np.int64]) -> None:
    """Check that costs, or the travel times of a key, can be times, whose sums with the windows fit 62 bits."""
    allowed = takes != NO_ARC
    if (takes[allowed] < 0).any():
        raise InputError(f"held-karp.{key}: a cost is negative; travelling times must be at least 0")
    total = sum(map(int, windows.service)) + max(map(int, windows.earliest))
    if total + int(takes[allowed].max(initial=0)) * len(windows.service) > LARGEST_SUM:
        raise InputError(f"held-karp.{key}: the times are so large that their sum may overflow 62 bits")

"""A travelling salesman's tour with its cost, or the statement that there is no tour.

Beside an optimal tour there may be the best tours, and for each arc the best tour through it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers import base, rounding
from hpcsolve.answers.contents import Column, Contents, Dataset, Group, columns, own_unit, stored
from hpcsolve.answers.multipliers import PROOF, multipliers_in
from hpcsolve.answers.rounding import Worth
from hpcsolve.answers.schedule import WINDOWS, schedule_in, schedule_line, time_text, window_text
from hpcsolve.answers.snaps import PLACES, place_lines, places_group
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.check_distances import require
from hpcsolve.problems.one_tree import MOST_CITIES, Multipliers, proven_bound
from hpcsolve.problems.questions import VALUES, TourQuestion, dearest_leg, leg_ends
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import Tsp
from hpcsolve.problems.unrounded import Unrounded, slack_of, unrounded_costs, unrounded_tour
from hpcsolve.wording import counted

_PROOF = ("Method that proves the lower bound, or that the tour is the best: multipliers (/multipliers prove it). "
          "Missing without a proof, and if the search itself is the proof, which has no short certificate")
LONGEST_TOUR = 200
"""Cities up to which a tour is printed in full."""
LONGEST_LEFT_OUT = 30
"""The most cities that are printed which a tour leaves out."""
LONGEST_CONTRADICTION = 30
"""The most cities that are printed whose windows contradict each other."""
_LEG = "Cost from each city of the tour to the next; of a cycle, the last leg leads back to the first city"
LEGS = {
    "cost": Dataset("int64", f"{_LEG}, times /instance/scale", "leg", scaled=True),
    "departure": Dataset("int64", 'With time windows: when the leg begins, which is after the service at the city '
                         "that it leads from, times /instance/scale", "leg", scaled=True, optional=True),
    "load": Dataset("int64", "With a capacity: what the vehicle carries on the leg", "leg", optional=True),
}
"""The group `/legs`."""
TOUR_LEGS = {
    "tour": Dataset("int32", "Number of the tour that has the leg, from 0, in the order of /solution/best_costs or, of "
                    "prizes, /solution/curve_costs", "leg"),
    **{name: LEGS[name] for name in ("cost", "departure")},
}
"""The group `/tour_legs`. Several tours have no loads."""
OF_ALL_TOURS = ("error", "slack", "dearest_error")
"""Datasets of `/rounding` that hold for all tours of an answer, not for its first alone."""
NOT_CHECKED = base.Verdict(None, "that no tour exists cannot be checked without solving the instance again")
COST = "Cost in exact integers: the instance's own unit times /instance/scale"


@dataclass(frozen=True)
class Tour:
    """A tour with its cost in scaled integers. The positions in `tour` have shape (cities,)."""

    cost: int = stored("int64", COST, scaled=True)
    tour: NDArray[np.int32] = stored("int32", "Cities in the order of the tour, positions from 0", "place")
    optimal: bool = stored("bool", "Whether the tour is proven to be the best by these costs")
    dearest: int | None = stored(
        "int64", 'Of objective "lexicographic": the cost of the dearest leg', scaled=True, optional=True)
    lower_bound: int | None = stored(
        "int64", "Proven lower bound of every tour's cost, where the tour is not proven to be the best", scaled=True,
        optional=True)
    proof: str | None = stored("text", _PROOF, optional=True)
    prize: int | None = stored(
        "int64", 'Of objective "prize": sum of the prizes of the tour\'s cities', optional=True)
    optimal_tours: int | None = stored(
        "uint64", "Number of optimal tours; 2^64 - 1 stands for that many or more", optional=True)
    best_costs: NDArray[np.int64] | None = stored(
        "int64", "Costs of the best tours, ascending", "best_tour", scaled=True, optional=True)
    best_tours: NDArray[np.int32] | None = stored(
        "int32", "Cities of the best tours, one tour after the other, positions from 0", "best_place", optional=True)
    arc_tails: NDArray[np.int32] | None = stored(
        "int32", "Cities that the arcs leave, ascending, positions from 0; arcs that no tour uses are left out", "arc",
        optional=True)
    arc_heads: NDArray[np.int32] | None = stored(
        "int32", "Cities that the arcs lead to, ascending for each tail, positions from 0", "arc", optional=True)
    arc_costs: NDArray[np.int64] | None = stored(
        "int64", "Cost of the best tour through each arc", "arc", scaled=True, optional=True)
    curve_prizes: NDArray[np.int64] | None = stored(
        "int64", 'Of objective "prize" without a budget: sums of prizes, ascending, for which no tour of the same or '
        "less cost has more", "curve", optional=True)
    curve_costs: NDArray[np.int64] | None = stored(
        "int64", "Least cost of a tour with each of these sums or, with time windows, its earliest end, ascending",
        "curve", scaled=True, optional=True)
    curve_tours: NDArray[np.int32] | None = stored(
        "int32", "Cities of these tours in order, positions from 0: sum i has "
        "curve_tours[curve_offset[i]:curve_offset[i+1]]", "curve_place", optional=True)
    curve_offset: NDArray[np.int64] | None = stored(
        "int64", "Where each tour begins in `curve_tours`, and the end of the last", "curve_offset",
        optional=True)

    @base.judged
    def check(self, tsp: Tsp, question: TourQuestion | None) -> base.Verdict:
        """Check that the tour has every city once (with "prize" at most once), add up its cost, and check the rest."""
        asked = question or TourQuestion()
        cost = asked.check(tsp, np.asarray(self.tour))
        require(cost == self.cost, f"the tour costs {cost}, not {self.cost}")
        require(self.dearest is None or dearest_leg(tsp, self.tour, asked.path) == self.dearest,
                f"the dearest leg of the tour does not cost {self.dearest}")
        require(self.lower_bound is None or self.lower_bound <= cost,
                f"the lower bound {self.lower_bound} is above the tour's cost {cost}")
        require(asked.objective != "prize" or asked.prize(self.tour) == self.prize,
                f"the prizes of the tour add up to {asked.prize(self.tour)}, not {self.prize}")
        self._check_curve(tsp, asked)
        best = self._checked_best(tsp, asked)
        if self.arc_tails is not None and self.arc_heads is not None and self.arc_costs is not None:
            arcs = [np.asarray(column).astype(np.int64) for column in (self.arc_tails, self.arc_heads, self.arc_costs)]
            _check_arcs(tsp, asked, arcs, [(self.cost, self.tour), *best])
        constrained = ", its constraints kept" if asked.constrained else ""
        once = "no city twice, the prizes added up" if asked.objective == "prize" else "every city once"
        return base.Verdict(True, f"{once}{constrained}, the {asked.value_in_words} from the instance")

    def _check_curve(self, tsp: Tsp, question: TourQuestion) -> None:
        """Check the curve's tours. That there are no better ones is not checked."""
        prizes, costs, tours, offset = (np.asarray([] if column is None else column, np.int64) for column in (
            self.curve_prizes, self.curve_costs, self.curve_tours, self.curve_offset))
        if question.objective != "prize" or question.budget is not None:
            require(self.curve_prizes is None, "there is a curve, which the job does not ask for")
            return
        whole = len(prizes) == len(costs) == len(offset) - 1 > 0 and offset[0] == 0 and offset[-1] == len(tours)
        require(bool(whole and (np.diff(offset) > 0).all() and (np.diff(prizes) > 0).all() and
                     (np.diff(costs) > 0).all() and np.array_equal(tours[offset[-2]:], self.tour)),
                "the curve has not one tour for each prize, ascending, the last of which is the tour")
        for number, (begin, end) in enumerate(pairwise(offset.tolist())):
            try:
                found = question.check(tsp, tours[begin:end]), question.prize(tours[begin:end])
            except ValueError as error:
                raise ValueError(f"tour {number} of the curve: {error}") from None
            require(found == (costs[number], prizes[number]),
                    f"tour {number} of the curve has cost and prize {found}, not {(costs[number], prizes[number])}")

    def _checked_best(self, tsp: Tsp, question: TourQuestion) -> list[tuple[int, NDArray[Any]]]:
        """Return the best tours with their costs, after their check. That there are no better ones is not checked."""
        if self.best_costs is None or self.best_tours is None:
            return []
        tours, costs = np.asarray(self.best_tours), np.asarray(self.best_costs)
        require(len(tours) == tsp.n * len(costs) > 0 and bool((np.diff(costs) >= 0).all()),
                "the best tours are not one for each cost, in ascending order")
        orders = tours.reshape(len(costs), tsp.n)
        require(len(np.unique(orders, axis=0)) == len(orders) and np.array_equal(orders[0], self.tour),
                "the best tours are not all different, or the first is not the tour")
        for number, (order, cost) in enumerate(zip(orders, costs.tolist())):
            try:
                found = question.check(tsp, order)
            except ValueError as error:
                raise ValueError(f"best tour {number}: {error}") from None
            require(found == cost, f"best tour {number} costs {found}, not {cost}")
        return list(zip(costs.tolist(), orders))


def _legs_of(
    tsp: Tsp, question: TourQuestion, tours: Iterable[NDArray[Any]], group: Group = TOUR_LEGS
) -> dict[str, Column]:
    """Return the columns of `/tour_legs`, or of `/legs` of a single tour."""
    each: dict[str, list[Any]] = {name: [] for name in LEGS}
    for tour in tours:
        each["cost"].append(question.legs_of(tsp, tour))
        each["departure"].append(question.departures(tsp, tour))
        each["load"].append(None if question.loads is None else question.loads.after(tour)[: len(each["cost"][-1])])
    found = {name: None if parts[0] is None else np.concatenate(parts) for name, parts in each.items()}
    found["tour"] = np.repeat(np.arange(len(each["cost"]), dtype=np.int32), [len(legs) for legs in each["cost"]])
    return columns(group, {name: found[name] for name in group})


def proof_of(contents: Contents) -> Multipliers:
    """Return the multipliers that prove a tour's lower bound. Raises a `ValueError` if they are not there."""
    how, proof = contents.value("solution", "proof"), multipliers_in(contents)
    if how != PROOF or proof is None:
        missing = f"{how!r} is no method that is known" if how != PROOF else "/multipliers is missing or incomplete"
        raise ValueError(f"{missing}: nothing proves the lower bound")
    return proof


def require_claim(contents: Contents, proven: int) -> None:
    """Raise a `ValueError` unless a tour's lower bound, or its cost if it is said to be optimal, is what is proven."""
    optimal = bool(contents.value("solution", "optimal"))
    claim = contents.value("solution", "cost" if optimal else "lower_bound")
    require(claim == proven,
            f"{'the optimal cost' if optimal else 'lower_bound'} is {claim}, the multipliers prove {proven}")


@dataclass(frozen=True)
class NoTour:
    """The statement, proven by the algorithm, that the instance has no tour."""

    infeasible: bool = stored("bool", "Whether it is proven that no tour exists")
    contradicting: NDArray[np.int32] | None = stored(
        "int32", "Cities whose time windows leave no tour without those of the others, ascending, positions from 0; "
        "empty if there is no tour without time windows either", "contradicting_city", optional=True)
    smallest: bool | None = stored(
        "bool", "Whether it is proven that of these windows none can be left out: without it there is a tour",
        optional=True)
    least_travel: int | None = stored(
        "int64", "Where these windows, of the first or the last city, leave too little time for all legs and services: "
        "proven lower bound of the sum of the legs' costs", scaled=True, optional=True)
    service: int | None = stored(
        "int64", "Beside least_travel: the sum of the services that must end in that time", scaled=True, optional=True)


def _check_arcs(
    tsp: Tsp, question: TourQuestion, arcs: Sequence[NDArray[np.int64]], known: Sequence[tuple[int, NDArray[Any]]],
) -> None:
    """Check tails, heads and costs of arcs. That there is a tour of each arc's cost is not checked.

    Every known tour, given with its cost, is a witness: the value of each of its arcs is at most its cost. The first
    one is optimal, so the values of its arcs equal its cost.

    Raises
    ------
    ValueError
        A value is wrong.
    """
    tails, heads, costs = arcs

    def named(tail: int, head: int) -> str:
        return f"from city {tsp.labels[tail]} to {tsp.labels[head]}"

    require(len(tails) == len(heads) == len(costs), "the arcs' tails, heads and costs are not equally many")
    number = tails * tsp.n + heads
    right = ((tails >= 0) & (tails < tsp.n) & (heads >= 0) & (heads < tsp.n) & (tails != heads)).all() \
        and (np.diff(number) > 0).all()
    require(bool(right), "the arcs are not different pairs of cities in ascending order")
    if (costs < known[0][0]).any():
        at = int(np.argmin(costs))
        arc = named(tails[at], heads[at])
        raise ValueError(f"the best tour through the arc {arc} costs {costs[at]}, less than the best")
    found = dict(zip(number.tolist(), costs.tolist()))
    for cost, tour in known:
        for a, b in zip(*(ends.tolist() for ends in leg_ends(np.asarray(tour).astype(np.int64), question.path))):
            value = found.get(a * tsp.n + b)
            require(value is not None and value <= cost,
                    f"a tour of cost {cost} uses the arc {named(a, b)}, through which the best is {value}")


class TourMixin(base.ResultPart):
    """The part of `hpcsolve.Result` about a tour."""

    @property
    @base.only_of("tour")
    def tour(self) -> NDArray[np.int32]:
        """The tour, shape (n,): positions of the cities from 0 in order, or empty if there is no tour."""
        return np.asarray(self.contents.value("solution", "tour", []), dtype=np.int32)

    @property
    @base.only_of("tour")
    def tour_labels(self) -> list[Any]:
        """The cities in order, by name, or by their numbers in the instance's file."""
        in_order: list[Any] = self.contents.shown_names()[self.tour].tolist()
        return in_order

    @property
    @base.only_of("tour")
    def optimal_tours(self) -> int | None:
        """The number of optimal tours, or None if the job did not ask for it (`count`)."""
        count = self.contents.value("solution", "optimal_tours")
        return None if count is None else int(count)

    @property
    @base.only_of("tour")
    def best_tours(self) -> NDArray[np.int32]:
        """The best tours, shape (k, n), the best first: `tour` alone if the job did not ask for several (`best`)."""
        several = np.asarray(self.contents.value("solution", "best_tours", self.tour), np.int32)
        return several.reshape(-1, len(self.tour)) if len(self.tour) else several.reshape(0, 0)

    @property
    @base.only_of("tour")
    def best_costs(self) -> NDArray[Any]:
        """The costs of `best_tours`, shape (k,)."""
        if self.contents.value("solution", "best_costs") is None:
            return np.array([self.contents.cost][:len(self.best_tours)])
        return np.asarray(self.contents.own("solution", "best_costs"))

    @property
    @base.only_of("tour")
    def prize(self) -> int | None:
        """The sum of the prizes of the tour's cities, or None if the job has no prizes."""
        prize = self.contents.value("solution", "prize")
        return None if prize is None else int(prize)

    @property
    @base.only_of("tour")
    def curve(self) -> list[tuple[int, Any, NDArray[np.int32]]]:
        """Prize, cost and tour of each point of the curve, ascending, which is empty but for prizes without a budget.

        With time windows the cost is the time of the end.
        """
        names = ("curve_prizes", "curve_tours", "curve_offset")
        prizes, tours, offset = (self.contents.value("solution", name) for name in names)
        if prizes is None or tours is None or offset is None:
            return []
        each = [np.asarray(tours[begin:end], np.int32) for begin, end in pairwise(np.asarray(offset).tolist())]
        return list(zip(np.asarray(prizes).tolist(), self.contents.own("solution", "curve_costs").tolist(), each))

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no tour exists."""
        return bool(self.contents.value("solution", "infeasible", False))


class TourType(base.AnswerType):
    """A tour, or the statement that there is none, as an answer."""

    name, in_words, records = "tour", "a tour", (Tour, NoTour)
    row_values = "tour"
    groups = rounding.declared("cost", "error", "dearest", "dearest_error", "slack", "late", "best_costs", legs=LEGS,
                               tour_legs=TOUR_LEGS, windows=WINDOWS, places=PLACES)

    def check(self, problem: Tsp, question: TourQuestion | None, answer: Tour | NoTour, comm: Comm) -> base.Verdict:
        """Check a run's tour on rank 0."""
        if isinstance(answer, NoTour):
            return NOT_CHECKED
        return on_rank_0(comm, lambda: answer.check(problem, question))

    @base.judged
    def verify(
        self, contents: Contents, answer: Tour | NoTour, problem: Tsp, question: TourQuestion | None,
        rows: base.RowBlocks,
    ) -> base.Verdict:
        """Check the tour, its cost and the attribute `cost` in a result file."""
        attribute, scale = contents.cost, problem.scale
        if isinstance(answer, NoTour):
            require(np.isnan(attribute), "the attribute cost is a number, though there is no tour")
            return NOT_CHECKED
        require(attribute == own_unit(answer.cost, scale),
                f"the attribute cost is {attribute}, /solution/cost is {answer.cost} at scale {scale}")
        verdict = answer.check(problem, question)
        if not verdict.passed:
            return verdict
        if answer.proof is None:
            claim = "the lower bound" if answer.lower_bound is not None else ""
            claim = "that it is optimal" if answer.optimal else claim
            not_again = f"; {claim} was not checked, since its proof is the search itself" if claim else ""
            return base.Verdict(True, f"{verdict.reason}{not_again}")
        return base.Verdict(True, f"{verdict.reason}; {self._bound_checked(contents, problem, question)}")

    def _bound_checked(self, contents: Contents, problem: Tsp, question: TourQuestion | None) -> str:
        """Return how the lower bound was checked, or why it was not. Raises a `ValueError` if it is wrong."""
        if problem.n > MOST_CITIES:
            return f"the lower bound was not checked in plain numpy, since there are more than {MOST_CITIES} cities"
        require_claim(contents, proven_bound(problem, question or TourQuestion(), proof_of(contents)))
        return "the multipliers prove the lower bound"

    def beside(
        self, problem: Tsp, question: TourQuestion | None, answer: Tour | NoTour
    ) -> dict[str, dict[str, Column]]:
        """Return the groups beside a tour that has passed its check, or beside the statement that there is none.

        These are `/legs`, `/tour_legs` if there are several tours, `/windows`, `/places` if places stand for vertices
        of a graph, and `/rounding` if costs were rounded.
        """
        asked, places = question or TourQuestion(), places_group(problem.places)
        timed = {} if asked.windows is None else {
            "windows": columns(WINDOWS, {name: getattr(asked.windows, name) for name in WINDOWS})}
        if isinstance(answer, NoTour):
            if problem.rounding is None:
                return places | timed
            return places | timed | rounding.rounding_group(Unrounded(slack=slack_of(problem, asked)))
        legs = {"legs": _legs_of(problem, asked, [answer.tour], LEGS), **places, **timed}
        if answer.best_tours is not None:
            legs["tour_legs"] = _legs_of(problem, asked, answer.best_tours.reshape(-1, problem.n))
        if answer.curve_tours is not None and answer.curve_offset is not None:
            legs["tour_legs"] = _legs_of(problem, asked, np.split(answer.curve_tours, answer.curve_offset[1:-1]))
        if problem.rounding is None:
            return legs
        several = {}
        if answer.best_tours is not None:
            several["best_costs"] = unrounded_costs(problem, asked, answer.best_tours.reshape(-1, problem.n))
        return legs | rounding.rounding_group(unrounded_tour(problem, asked, answer.tour), **several)

    def is_open(self, contents: Contents) -> bool:
        """Return whether the tour is an open path, as the job asks."""
        return self._path(contents) == "open"

    def _path(self, contents: Contents) -> str:
        return "open" if contents.keys.get("path") == "open" else "cycle"

    def number_of_tours(self, contents: Contents) -> str:
        """Return `3 optimal tours`, or `` if they were not counted. The largest number is shown as "at least"."""
        count = contents.value("solution", "optimal_tours")
        if count is None:
            return ""
        return f"{'at least ' if int(count) == 2**64 - 1 else ''}{counted(int(count), 'optimal tour')}"

    def cost_suffix(self, contents: Contents) -> str:
        """Return what is printed after the cost.

        For a plain sum that is nothing, for objective "lexicographic" `, dearest leg 3`, for the other objectives what
        the value is, such as ` (sum of weighted arrivals)`.
        """
        name, dearest = str(contents.keys.get("objective", "sum")), contents.value("solution", "dearest")
        if dearest is not None:
            exact = rounding.exactly(contents.value("rounding", "dearest"))
            return f", dearest leg {own_unit(int(dearest), contents.scale)}{exact}"
        if name == "prize":  # with windows it is an end
            name = "sum" if contents.value("windows", "latest") is None else "finish"
        return "" if name == "sum" else f" ({VALUES.get(name, name)})"

    def prize_words(self, contents: Contents) -> str:
        """Return what a tour with prizes has collected, and which cities it leaves out, in words, or ""."""
        prize, every = contents.value("solution", "prize"), contents.keys.get("prizes")
        if prize is None:
            return ""
        names, tour = contents.shown_names(), np.asarray(contents.value("solution", "tour"))
        out = np.setdiff1d(np.arange(len(names)), tour).tolist()
        found = f"{prize} of {sum(every)}" if isinstance(every, list) else f"{prize}"
        found += f", with {len(names) - len(out)} of {counted(len(names), 'city')}"
        shown = ", ".join(str(names[city]) for city in out[:LONGEST_LEFT_OUT])
        shown += f" and {len(out) - LONGEST_LEFT_OUT} more" if len(out) > LONGEST_LEFT_OUT else ""
        return found + (f"; left out: {shown}" if out else "")

    def below_optimum(self, contents: Contents) -> str:
        """Return what is wrong with the optimum that the job names, "" if the tour costs as much or more."""
        optimum, cost = contents.keys.get("optimum"), contents.cost
        if optimum is None or not cost < optimum:
            return ""
        less = f"{100 * (optimum - cost) / abs(optimum):.3g} % less" if optimum else "less"
        return (f"the tour costs {less} than optimum = {optimum:.15g} in the job, so that is not the optimum of these "
                "costs; correct or remove it")

    def contradicting_words(self, contents: Contents) -> str:
        """Return which time windows leave no tour, in words, or ""."""
        cities = contents.value("solution", "contradicting")
        if cities is None:
            return ""
        if not len(cities):
            return "there is no tour without time windows either"
        names = contents.shown_names()
        if not all(0 <= city < len(names) for city in cities.tolist()):
            return "/solution/contradicting names cities that the instance does not have"
        shown = ", ".join(str(names[city]) + window_text(contents, city)
                          for city in cities[:LONGEST_CONTRADICTION].tolist())
        shown += f" and {len(cities) - LONGEST_CONTRADICTION} more" if len(cities) > LONGEST_CONTRADICTION else ""
        travel, service = (contents.value("solution", name) for name in ("least_travel", "service"))
        if travel is not None:
            takes = f"travel takes at least {time_text(contents, int(travel))}"
            takes += f" and service {time_text(contents, int(service))}, together" if service else ","
            return f"{takes} more than the window{'s' * (len(cities) > 1)} of {shown} leave{'s' * (len(cities) == 1)}"
        if len(cities) == 1:
            return f"the window of city {shown} alone cannot be kept"
        if contents.value("solution", "smallest"):
            return f"the windows of these {len(cities)} cities contradict each other, those of fewer do not: {shown}"
        return f"the windows of these {len(cities)} cities contradict each other, perhaps those of fewer: {shown}"

    def _cities(self, contents: Contents) -> str:
        """Return the cities in order, by name or by label."""
        tour, names = np.asarray(contents.value("solution", "tour")), contents.shown_names()
        if not ((tour >= 0) & (tour < len(names))).all():
            return "/solution/tour names cities that the instance does not have"
        if len(tour) > LONGEST_TOUR:
            return f"{len(tour)} cities, /solution/tour in the file"
        named = contents.value("instance", "city_name") is not None
        return (" - " if named else " ").join(str(names[city]) for city in tour)

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield tour and cost, and for ant colonies the statistics of their costs."""
        worth = Worth(contents)
        yield from place_lines(contents)
        if contents.value("solution", "infeasible"):
            yield f"tour:   there is none, proven{worth.no_tour_words()}"
            if why := self.contradicting_words(contents):
                yield from textwrap.wrap(why, 118, initial_indent="why:    ", subsequent_indent=" " * 8,
                                         break_long_words=False, break_on_hyphens=False)
            return
        optimal = f", proven optimal{worth.rounded_to()}" if contents.value("solution", "optimal") else ""
        indent = " " * 8
        yield from textwrap.wrap(
            self._cities(contents), 118, initial_indent="tour:   ", subsequent_indent=indent, break_long_words=False,
            break_on_hyphens=False,
        )
        if prize := self.prize_words(contents):
            yield from textwrap.wrap(prize, 118, initial_indent="prize:  ", subsequent_indent=indent,
                                     break_long_words=False, break_on_hyphens=False)
        exact, late = rounding.exactly(contents.value("rounding", "cost")), worth.late_words()
        yield f"cost:   {contents.attributes['cost']}{exact}{self.cost_suffix(contents)}{optimal}{late}"
        if (schedule := schedule_in(contents)) is not None:
            yield f"stops:  {schedule_line(contents, schedule)}"
        if (change := contents.keys.get("load")) and contents.value("legs", "load") is not None:
            carried = np.cumsum(np.array(change)[np.asarray(contents.value("solution", "tour"))])
            yield f"load:   at most {int(carried.max())} of {contents.keys.get('capacity')}"
        if bounds := worth.bounds():
            yield f"bound:  {bounds}"
        yield from self._more_lines(contents)
        yield from self._colony_lines(contents)

    def _more_lines(self, contents: Contents) -> Iterator[str]:
        """Yield the number of optimal tours, the range of the best ones, and the arcs, where the job asks for them."""
        best, worth = contents.value("solution", "best_costs"), Worth(contents)
        if number := self.number_of_tours(contents):
            yield f"number: {number}{worth.rounded_to()}"
        if best is not None:
            own = contents.in_own_unit(np.asarray(best))
            yield (f"best:   {counted(len(best), 'tour')} of cost {own[0]} to {own[-1]}{worth.best_words()}, "
                   "/solution/best_tours in the file")
        prizes, costs = (contents.value("solution", f"curve_{name}") for name in ("prizes", "costs"))
        if prizes is not None and costs is not None:
            own = contents.in_own_unit(np.asarray(costs))
            yield (f"others: {counted(len(own), 'tour')} of prize {prizes[0]} to {prizes[-1]} and cost {own[0]} to "
                   f"{own[-1]}, /solution/curve_tours in the file")
        arcs = contents.value("solution", "arc_costs")
        if arcs is not None:
            yield (f"arcs:   costs of the best tours through {counted(len(arcs), 'arc')}{worth.arc_words()}, "
                   "/solution/arc_costs in the file")

    def _colony_lines(self, contents: Contents) -> Iterator[str]:
        """Yield statistics of several colonies, and the gap if the job names the optimum."""
        costs, gaps, optimum = (*(contents.value("colonies", name) for name in ("cost", "gap")),
                                contents.keys.get("optimum"))
        if gaps is None and optimum:
            gaps = [(contents.cost - optimum) / abs(optimum)]
        names = ("minimum", "median", "mean", "maximum", "deviation")
        values = [contents.value("colonies", name) for name in names]
        if costs is not None and len(costs) > 1 and None not in values:
            yield f"colonies: {len(costs)}: " + ", ".join(f"{n} {float(v):.8g}" for n, v in zip(names, values))
        if undercut := self.below_optimum(contents):
            yield f"note:   {undercut}"
        elif gaps is not None and len(gaps):
            mean = f", {100 * float(np.mean(gaps)):.3g} % on average" if len(gaps) > 1 else ""
            yield f"gap:    {100 * float(np.min(gaps)):.3g} % above the optimum{mean}"

    def summary(self, contents: Contents) -> str:
        """Return `cost 99, optimal, 17 cities`."""
        cities = counted(int(contents.value("instance", "n")), "city")
        if contents.value("solution", "infeasible"):
            return f"infeasible, {cities}"
        optimal, prize = ", optimal" if contents.value("solution", "optimal") else "", ""
        if contents.value("solution", "prize") is not None:
            prize = f"prize {contents.value('solution', 'prize')}, "
            cities = f"{len(np.asarray(contents.value('solution', 'tour')))} of {cities}"
        return f"{prize}cost {contents.attributes['cost']}{optimal}, {cities}"

    def row_count(self, contents: Contents) -> int:
        """Return the number of cities of all tours."""
        return max(np.size(contents.value("solution", name, ())) for name in ("tour", "best_tours", "curve_tours"))

    def rows(self, contents: Contents) -> Iterator[base.Rows]:
        """Yield the stops of the tour or, if the job asks for several tours, of each with its number, cost and prize.

        The best tours are numbered from 0, as by `export --number`, in the order of their costs, those of a curve in
        the order of their prizes.
        """
        several = self.count(contents)
        if several is None:
            yield self.stops(contents)
            return
        for number in range(several):
            one = self.one_of(contents, number)
            prize, stops = one.value("solution", "prize"), self.stops(one)
            about = {"tour": number, "cost": one.cost} | ({} if prize is None else {"prize": prize})
            yield {**{name: np.full(len(stops["order"]), value) for name, value in about.items()}, **stops}

    def count(self, contents: Contents) -> int | None:
        """Return the number of the best tours, or of those of a curve, or None if the job asks for one tour alone."""
        costs = contents.value("solution", "best_costs", contents.value("solution", "curve_costs"))
        return None if costs is None else len(costs)

    def one_of(self, contents: Contents, number: int) -> Contents:
        """Return the contents as if one of the tours of `count`, numbered from 0, were the answer.

        Raises
        ------
        InputError
            There is no such tour.
        """
        several = self.count(contents)
        if not 0 <= number < (several or 1):
            raise InputError(f"the result has {counted(several or 1, 'tour')}, numbered from 0; there is no {number}")
        if several is None:
            return contents
        solution, kind = contents.groups["solution"], "best" if "best_costs" in contents.names else "curve"
        tours, costs = (np.asarray(solution[f"{kind}_{name}"].values) for name in ("tours", "costs"))
        first = np.asarray(contents.value("solution", "curve_offset", np.arange(several + 1) * (len(tours) // several)))
        own_legs = np.asarray(contents.value("tour_legs", "tour", ())) == number
        legs = {name: replace(column, values=np.asarray(column.values)[own_legs])
                for name, column in contents.groups.get("tour_legs", {}).items()
                if name != "tour" and np.size(column.values) == own_legs.size}
        chosen: dict[str, Any] = {"tour": tours[slice(*first[number : number + 2].tolist())],
                                  "cost": int(costs[number])}
        if "dearest" in solution and "cost" in legs:
            chosen["dearest"] = int(np.max(legs["cost"].values, initial=0))
        if kind == "curve":
            chosen["prize"] = int(contents.value("solution", "curve_prizes")[number])
        else:
            chosen["optimal"] = bool(contents.value("solution", "optimal")) and costs[number] == costs[0]
        kept = {name: column for name, column in solution.items() if not name.startswith(("best_", "curve_", "arc_"))}
        chosen_columns = {name: replace(solution[name], values=value) for name, value in chosen.items()}
        return replace(
            contents, attributes={**contents.attributes, "cost": own_unit(int(costs[number]), contents.scale)},
            groups={**contents.groups, "legs": legs, "solution": {**kept, **chosen_columns},
                    "rounding": self._rounding_of(contents, chosen["tour"], number)})

    def _rounding_of(self, contents: Contents, tour: NDArray[Any], number: int) -> dict[str, Column]:
        """Return what `/rounding` says of one of several tours: of the answer all, of another one less."""
        found = contents.groups.get("rounding", {})
        if np.array_equal(tour, contents.value("solution", "tour")):
            return {name: column for name, column in found.items() if name != "best_costs"}
        of_all = [name for name in OF_ALL_TOURS if name in found]
        if "dearest" in found and "error" in of_all:  # of tours alone whose dearest leg is at most the answer's
            of_all.remove("error")
        kept = {name: found[name] for name in of_all}
        if "best_costs" in found:
            kept |= columns(rounding.ROUNDING, {"cost": str(np.asarray(found["best_costs"].values)[number])})
        return kept

    def stops(self, contents: Contents) -> base.Rows:
        """Return the cities in the order of the tour, with the cost of the leg that follows and the total up to there.

        With time windows there are columns of the windows and services, and of arrival, begin and departure, too, and
        with a capacity one of the load on the leg.
        """
        order = np.asarray(contents.value("solution", "tour", []), np.int64)
        table = {"order": np.arange(1, len(order) + 1), "label": np.asarray(contents.value("instance", "label"))[order]}
        names = contents.value("instance", "city_name")
        if names is not None:
            table["name"] = np.asarray(names)[order]
        table |= {axis: values[order] for axis, values in contents.coordinates().items()}
        legs = np.asarray(contents.value("legs", "cost", []), np.int64)
        missing = len(order) - len(legs)  # at the end of an open path
        if missing in (0, 1) and contents.value("legs", "cost") is not None:
            own = contents.in_own_unit(legs)
            table |= self._times(contents, own, missing)
            if (load := contents.value("legs", "load")) is not None and len(load) == len(legs):
                table["load"] = np.append(np.asarray(load, np.float64), np.nan) if missing else np.asarray(load)
            table["leg"] = np.append(own, np.nan) if missing else own
            table["cumulative"] = contents.in_own_unit(np.append(legs, np.zeros(missing, np.int64)).cumsum())
        return table

    def _times(self, contents: Contents, legs: NDArray[Any], missing: int) -> base.Rows:
        """Return the columns of arrival, departure and what is between, none without time windows."""
        departure = contents.own("legs", "departure")
        if departure is None or len(departure) != len(legs):
            return {}
        stops = len(legs) + missing
        arrival = np.concatenate([[np.nan], departure + legs])[:stops]
        times = {"arrival": arrival, "departure": np.append(departure, [np.nan] * missing)}
        if (schedule := schedule_in(contents)) is None:  # of an older version
            return times
        own = {name: contents.in_own_unit(getattr(schedule, name)[:stops]) for name in ("begin", "departure")}
        ends = np.where(schedule.latest < LARGEST_SUM, contents.in_own_unit(schedule.latest), np.inf)[:stops]
        first = contents.in_own_unit(schedule.earliest[:stops])
        service = contents.in_own_unit((schedule.departure - schedule.begin)[:stops])
        return {"earliest": first, "latest": ends, "service": service, "arrival": arrival, "begin": own["begin"],
                "departure": own["departure"]}

    def edges(self, contents: Contents, number: int | None = None) -> base.Edges:
        """Return the legs of the tour in the order of travel."""
        order = np.asarray(contents.value("solution", "tour", []), np.int64)
        tails, heads = leg_ends(order, self._path(contents))
        legs = contents.own("legs", "cost") if len(tails) else np.empty(0)
        weights = legs if legs is not None and len(legs) == len(tails) else None
        there_and_back = len(tails) == 2 == len(order)  # two arcs, which as one edge would lose half of the cost
        return base.Edges(tails, heads, weights, there_and_back or not contents.value("instance", "symmetric"), order)


TOUR = TourType()

"""The tours of a batch of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import AnswerType, Edges, RowBlocks, Rows, Verdict, judged
from hpcsolve.answers.contents import Column, Contents, Dataset, columns, datasets, own_unit, stored
from hpcsolve.answers.rounding import ROUNDING, Worth, declared, rounding_group
from hpcsolve.answers.schedule import WINDOWS, schedule_in, time_text
from hpcsolve.answers.tour import LEGS, TOUR, NoTour, Tour
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.check_distances import require
from hpcsolve.problems.questions import TourQuestion, legs
from hpcsolve.problems.rounding import own_decimal
from hpcsolve.problems.tsp import NO_ARC, BatchPart, TspBatch
from hpcsolve.problems.unrounded import Unrounded, slack_of, unrounded_tour
from hpcsolve.problems.windows import all_day
from hpcsolve.wording import counted

Questions = Sequence[TourQuestion]
"""The question about the instances of each part of a batch."""
CITIES = {
    "label": Dataset("int64", "Number of each city in the file of its instance: instance i has the cities "
                     "/solution/offset[i] up to offset[i+1]", "city"),
    "name": Dataset("text", "Name of each city", "city", optional=True),
    **{axis: Dataset("float64", f"Coordinate {axis}, as in the file; missing where an instance has none, or others",
                     "city", optional=True) for axis in "xyz"},
}
"""The group `/cities`."""
BATCH_LEGS = {
    "instance": Dataset("int32", "Number of the instance whose tour has the leg", "leg"),
    **{name: LEGS[name] for name in ("cost", "departure")},
}
"""The group `/legs`."""
PLACED = ("tours", "offset")
"""The datasets of `/solution` that have no value for each instance."""


@dataclass(frozen=True)
class Tours:
    """The best tour of each instance. Only rank 0 has them."""

    costs: NDArray[np.int64] = stored(
        "int64", "Cost of each tour, or its value by the objective, times /instance/scale; 0 without a tour",
        "instance", scaled=True)
    found: NDArray[np.bool_] = stored(
        "bool", "Whether a tour of the instance was found; if not, it is proven that there is none, unless `proven` is "
        "false",
        "instance")
    tours: NDArray[np.int32] = stored(
        "int32", "Cities of all tours in order, positions from 0: instance i has tours[offset[i]:offset[i+1]]; "
        "-1 where it has no tour", "place")
    offset: NDArray[np.int64] = stored("int64", "Where each tour begins in `tours`, and the end of the last", "offset")
    proven: NDArray[np.bool_] | None = stored(
        "bool", "Whether the tour is proven to be the best, or that there is none; missing if that holds for all",
        "instance", optional=True)
    lower_bounds: NDArray[np.int64] | None = stored(
        "int64", "Beside `proven`: proven lower bound of every tour's cost, 0 without a tour", "instance", scaled=True,
        optional=True)
    dearest_legs: NDArray[np.int64] | None = stored(
        "int64", 'Of objective "lexicographic": the cost of the dearest leg of each tour', "instance", scaled=True,
        optional=True)

    @judged
    def check(self, batch: TspBatch, questions: Questions) -> Verdict:
        """Check each tour against the question about its instance, as a single one is checked."""
        columns = [self.costs, self.found, self.proven, self.lower_bounds, self.dearest_legs]
        require(np.array_equal(self.offset, batch.offset) and len(self.tours) == self.offset[-1]
                and all(column is None or column.shape == (batch.count,) for column in columns),
                "the number or the sizes of the tours are not those of the instances")
        for begin, part, question in zip(batch.begins[:-1].tolist(), batch.parts, questions, strict=True):
            right = self._plainly_right(batch, begin, part, question)
            for number in (begin + np.flatnonzero(self.found[begin : begin + part.count] & ~right)).tolist():
                verdict = self.of(batch, number).check(batch.instance(number), question)
                require(verdict.passed is not False, f"{batch.named(number)}: {verdict.reason}")
        kept = ", their constraints kept" if any(question.constrained for question in questions) else ""
        return Verdict(True, f"every tour has every city once{kept}, the {questions[0].value_in_words} from its "
                             "instance")

    def of(self, batch: TspBatch, number: int) -> Tour:
        """Return the tour of an instance that has one, with its values at the scale of that instance.

        Raises
        ------
        ValueError
            They are no integers at that scale.
        """
        factor = batch.scale // batch.instance(number).scale

        def own(values: NDArray[np.int64] | None) -> int | None:
            if values is None:
                return None
            require(int(values[number]) % factor == 0, f"{batch.named(number)}: a value has too many decimals")
            return int(values[number]) // factor

        proven, cost = self.proven is None or bool(self.proven[number]), own(self.costs)
        assert cost is not None
        return Tour(cost, self.tours[slice(*self.offset[number : number + 2].tolist())], proven,
                    own(self.dearest_legs), None if proven else own(self.lower_bounds))

    def _plainly_right(self, batch: TspBatch, begin: int, part: BatchPart, question: TourQuestion) -> NDArray[np.bool_]:
        """Return of which tours of many alike instances it is plain to see, all at once, that they are right.

        That is so where plain sums are asked for. The others are judged one by one, which takes much longer.
        """
        free = question.start is None and question.end is None and not question.constrained
        if part.count == 1 or not question.plain or not free:
            return np.zeros(part.count, bool)
        count, n, place = part.count, part.first.n, int(self.offset[begin])
        orders = self.tours[place : place + count * n].reshape(count, n).astype(np.int64)
        inside = (np.sort(orders, axis=1) == np.arange(n)).all(axis=1)
        orders[~inside] = 0
        heads, number = np.roll(orders, -1, axis=1), legs(n, question.path)
        values = part.costs()[np.arange(count)[:, None], orders[:, :number], heads[:, :number]]
        sums = np.where(values == NO_ARC, 0, values).sum(axis=1) * (batch.scale // part.first.scale)
        right: NDArray[np.bool_] = inside & (values != NO_ARC).all(axis=1) & (sums == self.costs[begin : begin + count])
        return right


class ToursType(AnswerType):
    """The tours of a batch, as an answer."""

    name, in_words, records = "tours of a batch", "the tours of a batch", (Tours,)
    row_values = "costs"
    groups = declared("error", "slack", "late", "costs", cities=CITIES, legs=BATCH_LEGS, windows=WINDOWS)

    def check(self, problem: TspBatch, question: Questions, answer: Tours, comm: Comm) -> Verdict:
        """Check all tours on rank 0, which alone has them."""
        return on_rank_0(comm, lambda: answer.check(problem, question))

    def verify(
        self, contents: Contents, answer: Tours, problem: TspBatch, question: Questions, rows: RowBlocks
    ) -> Verdict:
        """Check all tours of a result file."""
        return answer.check(problem, question)

    def costs_of(self, contents: Contents) -> NDArray[Any]:
        """Return the costs of the instances that have a tour, in their own unit."""
        found = np.asarray(contents.value("solution", "found"), bool)
        return contents.in_own_unit(np.asarray(contents.value("solution", "costs"))[found])

    def range_of_costs(self, contents: Contents) -> str:
        """Return `63 to 304, mean 161.672`, empty without a tour."""
        costs = self.costs_of(contents)
        return f"{costs.min():.10g} to {costs.max():.10g}, mean {costs.mean():.8g}" if len(costs) else ""

    def beside(self, problem: TspBatch, question: Questions, answer: Tours) -> dict[str, dict[str, Column]]:
        """Return the groups beside tours that have passed their check.

        These are `/rounding` if costs were rounded, and of files `/cities`, `/legs`, and with time windows `/windows`.
        """
        found = _of_files(problem, question, answer) if problem.instance_names else {}
        if all(part.first.rounding is None for part in problem.parts):
            return found
        each = []
        for number, (begin, end) in enumerate(pairwise(answer.offset.tolist())):
            exact, tsp = Unrounded(own_decimal(int(answer.costs[number]), problem.scale)), problem.instance(number)
            asked = question[problem.place_of(number)[0]]
            if tsp.rounding is not None and answer.found[number]:
                exact = unrounded_tour(tsp, asked, answer.tours[begin:end])
            elif tsp.rounding is not None:
                exact = replace(exact, slack=slack_of(tsp, asked))
            each.append(exact)
        most = {name: max((value for one in each if (value := getattr(one, name)) is not None), default=None)
                for name in ("error", "slack", "late")}
        if any(one.dearest is not None and one.error is None for one in each):
            most["error"] = None  # of one instance no error is known, so none holds for all
        costs = [exact.cost if found else None for exact, found in zip(each, answer.found)]
        return found | rounding_group(Unrounded(**most), costs=costs)

    def count(self, contents: Contents) -> int:
        """Return the number of instances."""
        return len(np.asarray(contents.value("solution", "costs")))

    def one_of(self, contents: Contents, number: int) -> Contents:
        """Return the contents as if one of the instances, numbered from 0, had been solved alone.

        Raises
        ------
        InputError
            There is no such instance, or neither a tour of it nor a proof that there is none.
        """
        count, scaled = self.count(contents), contents.groups["solution"]
        if not 0 <= number < count:
            raise InputError(f"the result has {counted(count, 'instance')}, numbered from 0; there is no {number}")
        values = {name: np.asarray(column.values)[number] for name, column in scaled.items() if name not in PLACED}
        cities = slice(*np.asarray(contents.value("solution", "offset"))[number : number + 2].tolist())
        own_legs = np.asarray(contents.value("legs", "instance", ())) == number
        proven, here = bool(values.get("proven", True)), range(cities.stop - cities.start)
        if not values["found"] and not proven:
            raise InputError(f"of instance {number} no tour was found, and it is not proven that there is none")
        solution: dict[str, Column] = {"infeasible": datasets(NoTour)["infeasible"].column(True)}
        if values["found"]:
            one = {"cost": int(values["costs"]), "tour": np.asarray(contents.value("solution", "tours"))[cities],
                   "optimal": proven, "lower_bound": None if proven else int(values["lower_bounds"]),
                   "dearest": None if "dearest_legs" not in values else int(values["dearest_legs"])}
            solution = columns(datasets(Tour), one)
        known, names = contents.groups["instance"], contents.value("instance", "instance_name")
        instance = {name: column for name, column in known.items() if not column.dataset.dimension}
        instance["label"] = CITIES["label"].column(np.array(here, np.int64))
        if names is not None:
            instance["name"] = replace(known["name"], values=str(names[number]))
        groups = {**contents.groups, "instance": instance, "solution": solution}
        for group, rows in (("cities", cities), ("windows", cities), ("legs", own_legs)):
            if group in groups:
                groups[group] = {name: replace(column, values=np.asarray(column.values)[rows])
                                 for name, column in contents.groups[group].items() if name != "instance"}
        instance |= {"city_name" if name == "name" else name: column
                     for name, column in groups.pop("cities", {}).items()}
        if (exact := contents.value("rounding", "costs")) is not None:
            groups["rounding"] = columns(ROUNDING, {"cost": str(exact[number]) or None})
        cost = {"cost": own_unit(int(values["costs"]), contents.scale)} if values["found"] else {}
        return replace(contents, attributes={**contents.attributes, **cost}, groups=groups)

    def ends(self, contents: Contents) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return when each tour begins and ends, in scaled integers, 0 without a tour, or None without time windows."""
        if "windows" not in contents.groups:
            return None
        spans = np.zeros((2, self.count(contents)), np.int64)
        for number in np.flatnonzero(contents.value("solution", "found")).tolist():
            schedule = schedule_in(self.one_of(contents, number))
            spans[:, number] = (0, 0) if schedule is None else (schedule.arrival[0], schedule.departure[-1])
        return spans[0], spans[1]

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield the number of tours, and the range of their costs."""
        yield f"tours:  {self.summary(contents)}, {self.proven(contents)}, /solution/tours in the file"
        if span := self.range_of_costs(contents):
            yield f"costs:  {span}{Worth(contents).batch_words()}{self.value_words(contents)}"
        if times := self.span_of_times(contents):
            yield f"stops:  {times}"

    def span_of_times(self, contents: Contents) -> str:
        """Return `from 08:00 to 15:36 at the latest`, empty without time windows or without a tour."""
        found, ends = np.asarray(contents.value("solution", "found"), bool), self.ends(contents)
        if ends is None or not found.any():
            return ""
        first, last = (time_text(contents, int(time)) for time in (ends[0][found].min(), ends[1][found].max()))
        return f"from {first} to {last} at the latest"

    def proven(self, contents: Contents) -> str:
        """Return `proven optimal`, or of how many instances the answer is."""
        rounded, proven = Worth(contents).rounded_to(), contents.value("solution", "proven")
        of_all = "" if proven is None else f" for {int(np.sum(proven))} of {counted(len(proven), 'instance')}"
        return f"proven optimal{of_all}{rounded}"

    def value_words(self, contents: Contents) -> str:
        """Return what the values of the tours are if they are no plain sums, as `TourType.cost_suffix`."""
        dearest = contents.own("solution", "dearest_legs")
        if dearest is None:
            return TOUR.cost_suffix(contents)
        own = dearest[np.asarray(contents.value("solution", "found"), bool)]
        return f", dearest legs {own.min():.10g} to {own.max():.10g}"

    def summary(self, contents: Contents) -> str:
        """Return `100000 tours, 3 instances without a tour`."""
        found = np.asarray(contents.value("solution", "found"), bool)
        none = int((~found).sum())
        return counted(int(found.sum()), "tour") + (f", {counted(none, 'instance')} without a tour" if none else "")

    def rows(self, contents: Contents) -> Iterator[Rows]:
        """Yield a table with a row for each instance.

        It has the number, the file's name if there is one, the cost, with time windows begin and end, where not all is
        proven whether this is, with the lower bound, and the tour.
        """
        offset, tours = (np.asarray(contents.value("solution", name)) for name in ("offset", "tours"))
        found = np.asarray(contents.value("solution", "found"), bool)
        shown = contents.value("cities", "name", contents.value("cities", "label"))
        between = " - " if contents.value("cities", "name") is not None else " "
        texts = []
        for has_tour, begin, end in zip(found, offset[:-1].tolist(), offset[1:].tolist()):
            cities = tours[begin : end if has_tour else begin]
            named = cities if shown is None else np.asarray(shown)[begin:end][cities]
            texts.append(between.join(map(str, named.tolist())))
        names = contents.value("instance", "instance_name")
        files = {} if names is None else {"name": np.asarray(names, object)}
        ends, (proven, lower) = self.ends(contents), (contents.own("solution", name) for name in (
            "proven", "lower_bounds"))

        def own(scaled: NDArray[np.int64]) -> NDArray[Any]:
            return np.where(found, contents.in_own_unit(scaled), np.nan)

        timed = {} if ends is None else {"begin": own(ends[0]), "end": own(ends[1])}
        bounds = {} if proven is None else {
            "optimal": np.asarray(proven, bool), "lower_bound": np.where(found, lower, np.nan)}
        yield {"instance": np.arange(len(found)), **files, "cost": own(np.asarray(contents.value("solution", "costs"))),
               **timed, **bounds, "tour": np.array(texts, dtype=object)}

    def edges(self, contents: Contents, number: int | None = None) -> Edges:
        """Refuse, since a batch has no single graph."""
        raise InputError("a batch has a map and a graph for each instance; choose one with --number N, or export all "
                         "as .csv")


def _of_files(batch: TspBatch, questions: Questions, answer: Tours) -> dict[str, dict[str, Column]]:
    """Return `/cities`, `/legs` and, if an instance has time windows, `/windows`, all at the scale of the batch.

    An instance without windows is open all day then. Legs of an instance without a tour are 0.
    """
    timed = any(question.windows is not None for question in questions)
    instances = [batch.instance(number) for number in range(batch.count)]
    each: dict[str, list[Any]] = {name: [] for name in (*BATCH_LEGS, *WINDOWS)}
    for number, (tsp, found) in enumerate(zip(instances, answer.found)):
        asked, factor = questions[batch.place_of(number)[0]], batch.scale // tsp.scale
        windows = asked.windows or all_day(tsp.n)
        tour = answer.tours[slice(*answer.offset[number : number + 2].tolist())]
        none = np.zeros(legs(tsp.n, asked.path), np.int64)
        each["instance"].append(np.full(len(none), number, np.int32))
        each["cost"].append(asked.legs_of(tsp, tour) * factor if found else none)
        left = replace(asked, windows=windows).departures(tsp, tour) if timed and found else None
        each["departure"].append(none if left is None else left * factor)
        at_scale = windows.at(tsp.scale, batch.scale)
        assert at_scale is not None  # `require_common_scale`
        for name in WINDOWS:
            each[name].append(getattr(at_scale, name))
    whole = {name: np.concatenate(parts) for name, parts in each.items()}
    names = [name for tsp in instances for name in (tsp.city_names or map(str, tsp.labels.tolist()))]
    points = [np.empty((tsp.n, 0)) if tsp.coordinates is None else tsp.coordinates for tsp in instances]
    same = len({(table.shape[1], tsp.coordinates_kind) for table, tsp in zip(points, instances)}) == 1
    axes = dict(zip("xyz", np.concatenate(points).T)) if same else {}
    cities = {"label": np.concatenate([tsp.labels for tsp in instances]),
              "name": names if any(tsp.city_names for tsp in instances) else None, **axes}
    kept = [name for name in BATCH_LEGS if timed or name != "departure"]
    found_groups = {"cities": columns(CITIES, cities),
                    "legs": columns(BATCH_LEGS, {name: whole[name] for name in kept})}
    return found_groups | ({"windows": columns(WINDOWS, {name: whole[name] for name in WINDOWS})} if timed else {})


TOURS = ToursType()

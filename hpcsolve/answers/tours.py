"""The tours of a batch of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import AnswerType, Edges, RowBlocks, Rows, Verdict, judged
from hpcsolve.answers.contents import Column, Contents, stored
from hpcsolve.answers.rounding import Worth, declared, rounding_group
from hpcsolve.answers.tour import TOUR, Tour
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.check_distances import require
from hpcsolve.problems.questions import TourQuestion, legs
from hpcsolve.problems.rounding import own_decimal
from hpcsolve.problems.tsp import NO_ARC, Alike, TspBatch
from hpcsolve.problems.unrounded import Unrounded, slack_of, unrounded_tour
from hpcsolve.wording import counted

Questions = Sequence[TourQuestion]
"""The question about the instances of each part of a batch."""


@dataclass(frozen=True)
class Tours:
    """The best tour of each instance. Only rank 0 has them."""

    costs: NDArray[np.int64] = stored(
        "int64", "Cost of each tour, or its value by the objective, times /instance/scale; 0 without a tour",
        "instance", scaled=True)
    found: NDArray[np.bool_] = stored(
        "bool", "Whether a tour of the instance was found; if not, that is proven, but where `proven` is false",
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

    def _plainly_right(self, batch: TspBatch, begin: int, part: Alike, question: TourQuestion) -> NDArray[np.bool_]:
        """Return of which tours of many alike instances it is plain to see that they are right, all at once.

        That is the case where plain sums are asked for. Any other tour is judged alone, which takes much longer.
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
    groups = declared("error", "slack", "late", "costs")

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
        """Return `/rounding` of tours that have passed their check, if costs were rounded."""
        if all(part.first.rounding is None for part in problem.parts):
            return {}
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
            most["error"] = None  # nothing is said of an instance
        costs = [exact.cost if found else None for exact, found in zip(each, answer.found)]
        return rounding_group(Unrounded(**most), costs=costs)

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield the number of tours, and the range of their costs."""
        yield f"tours:  {self.summary(contents)}, {self.proven(contents)}, /solution/tours in the file"
        if span := self.range_of_costs(contents):
            yield f"costs:  {span}{Worth(contents).batch_words()}{self.value_words(contents)}"

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
        """Yield a table with a row for each instance: its number, its file's name if it has one, cost, and tour."""
        offset, tours = (np.asarray(contents.value("solution", name)) for name in ("offset", "tours"))
        texts = [" ".join(map(str, tours[a:b].tolist())) for a, b in pairwise(offset.tolist())]
        found = np.asarray(contents.value("solution", "found"), bool)
        costs = np.where(found, contents.in_own_unit(np.asarray(contents.value("solution", "costs"))), np.nan)
        names = contents.value("instance", "instance_name")
        named = {} if names is None else {"name": np.asarray(names, object)}
        yield {"instance": np.arange(len(costs)), **named, "cost": costs, "tour": np.array(texts, dtype=object)}

    def edges(self, contents: Contents, number: int | None = None) -> Edges:
        """Refuse, since a batch has no single graph."""
        raise InputError("a batch of instances has no map and no graph of its own; export it as .csv")


TOURS = ToursType()

"""The tours of a batch of small instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import AnswerType, Edges, RowBlocks, Rows, Verdict, judged
from hpcsolve.answers.contents import Column, Contents, stored
from hpcsolve.answers.rounding import Worth, declared, rounding_group
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.check_distances import require
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.rounding import own_decimal
from hpcsolve.problems.tsp import TspBatch
from hpcsolve.problems.unrounded import Unrounded, unrounded_tour
from hpcsolve.wording import counted


@dataclass(frozen=True)
class Tours:
    """The optimal tour of each instance. Only rank 0 has them."""

    costs: NDArray[np.int64] = stored(
        "int64", "Cost of each tour, times /instance/scale; 0 without a tour", "instance", scaled=True)
    found: NDArray[np.bool_] = stored("bool", "Whether the instance has a tour; if not, that is proven", "instance")
    tours: NDArray[np.int32] = stored(
        "int32", "Cities of all tours in order, positions from 0: instance i has tours[offset[i]:offset[i+1]]; "
        "-1 where it has no tour", "place")
    offset: NDArray[np.int64] = stored("int64", "Where each tour begins in `tours`, and the end of the last", "offset")

    @judged
    def check(self, batch: TspBatch, question: TourQuestion) -> Verdict:
        """Check that each tour has every city of its instance once, and add up its cost."""
        require(np.array_equal(self.offset, batch.offset) and self.costs.shape == (batch.count,),
                "the number or the sizes of the tours are not those of the instances")
        batch.check_tours(self.tours, self.costs, self.found, question.path == "cycle")
        return Verdict(True, "every tour has every city once, its cost added up from the instance")


class ToursType(AnswerType):
    """The tours of a batch, as an answer."""

    name, in_words, records = "tours of a batch", "the tours of a batch", (Tours,)
    row_values = "costs"
    groups = declared("error", "costs")

    def check(self, problem: TspBatch, question: TourQuestion, answer: Tours, comm: Comm) -> Verdict:
        """Check all tours on rank 0, which alone has them."""
        return on_rank_0(comm, lambda: answer.check(problem, question))

    def verify(
        self, contents: Contents, answer: Tours, problem: TspBatch, question: TourQuestion, rows: RowBlocks
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

    def beside(self, problem: TspBatch, question: TourQuestion, answer: Tours) -> dict[str, dict[str, Column]]:
        """Return `/rounding` of tours that have passed their check, if costs were rounded."""
        if not problem.roundings:
            return {}
        each = []
        for number, (begin, end) in enumerate(pairwise(answer.offset.tolist())):
            exact = Unrounded(own_decimal(int(answer.costs[number]), problem.scale), Decimal(0))
            tsp = problem.instance(number)
            if tsp.rounding is not None and answer.found[number]:
                exact = unrounded_tour(tsp, question, answer.tours[begin:end])
            each.append(exact)
        costs = [exact.cost if found else None for exact, found in zip(each, answer.found)]
        return rounding_group(Unrounded(error=max(exact.error or Decimal(0) for exact in each)), costs=costs)

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield the number of tours, and the range of their costs."""
        worth = Worth(contents)
        yield f"tours:  {self.summary(contents)}, proven optimal{worth.rounded_to()}, /solution/tours in the file"
        if span := self.range_of_costs(contents):
            yield f"costs:  {span}{worth.batch_words()}"

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

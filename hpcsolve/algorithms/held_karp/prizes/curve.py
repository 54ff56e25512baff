"""Cities with prizes that may be left out, and the curve of the best pairs of prize and end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.windows import NEVER
from hpcsolve.algorithms.held_karp.problem import OrderProblem, order_problem
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import Tsp

Pair = tuple[int, int]
"""A prize and an end."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Cities with prizes, any of which an order may leave out.

    Attributes
    ----------
    problem
        The orders of all cities, with the earliest end as their value. Its latest end is the budget, if there is one.
    prizes
        Shape (m,), int64.
    whole
        Whether the whole curve is asked for, or only its point of most prize.
    nothing
        The end of the order without a city, or None if there is none. Like all ends here it does not include
        `problem.offset`.
    """

    problem: OrderProblem
    prizes: NDArray[np.int64]
    whole: bool
    nothing: int | None


def selection(tsp: Tsp, question: TourQuestion) -> Selection:
    """Return the statement of a question. Raises as `order_problem`."""
    problem = order_problem(tsp, question)
    assert question.prizes is not None and problem.latest is not None
    core, latest, nothing = problem.core, problem.latest.copy(), None
    if question.budget is not None:
        latest[-1] = min(latest[-1], question.budget - problem.offset)
    if ends := [*core.before, *core.after]:
        try:
            nothing = question.check(tsp, ends) - problem.offset
        except ValueError:  # the ends alone are no tour
            nothing = None
    return Selection(replace(problem, latest=latest), question.prizes[list(core.cities)], question.budget is None,
                     nothing)


@dataclass
class Curve:
    """The best pairs of prize and end so far, both ascending.

    Attributes
    ----------
    whole
        Whether pairs with less than the most prize count.
    """

    whole: bool
    prizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    ends: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def pairs(self) -> list[Pair]:
        """Prize and end of each point."""
        return list(zip(self.prizes.tolist(), self.ends.tolist()))

    def add(self, prizes: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Take in pairs."""
        prizes, ends = np.append(self.prizes, prizes), np.append(self.ends, ends)
        order = np.lexsort([ends, -prizes])
        prizes, ends = prizes[order], ends[order]
        better = ends < np.append(NEVER, np.minimum.accumulate(ends)[:-1])[: len(ends)]
        kept = np.flatnonzero(better)[::-1][slice(None) if self.whole else slice(-1, None)]
        self.prizes, self.ends = prizes[kept], ends[kept]

    def add_all(self, prizes: NDArray[np.int64], ends: NDArray[np.int64], comm: Comm
                ) -> dict[Pair, NDArray[np.int64]]:
        """Take in the pairs of all ranks. Return which of this rank's are on the curve, by their pair. Collective.

        A pair is in the result of each rank if any rank has it.
        """
        good = np.flatnonzero(ends <= np.append(self.ends, NEVER)[np.searchsorted(self.prizes, prizes)])
        mine = Curve(self.whole)
        mine.add(prizes[good], ends[good])
        for some in comm.allgather((mine.prizes, mine.ends)):
            self.add(*some)
        if not len(self.prizes):
            return {}
        point = np.minimum(np.searchsorted(self.prizes, prizes[good]), len(self.prizes) - 1)
        hit = (self.prizes[point] == prizes[good]) & (self.ends[point] == ends[good])
        good, point = good[hit], point[hit]
        every, pairs = sorted(set().union(*comm.allgather(set(point.tolist())))), self.pairs
        return {pairs[k]: good[point == k] for k in every}

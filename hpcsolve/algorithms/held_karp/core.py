"""The problem that is solved, whatever the user asks: a cheapest tour from a depot through all cities and back.

An open path becomes a tour by its depot. With free ends the depot is one more city, which costs nothing to leave and to
reach; with a fixed start it is the start, which costs nothing to return to; with both ends fixed it is the two merged,
left as the start and reached as the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.question import Parameters, asked
from hpcsolve.problems.order import TourQuestion
from hpcsolve.problems.tsp import FORBIDDEN, Tsp


@dataclass(frozen=True)
class Core:
    """The problem that is solved: m cities and a depot.

    Attributes
    ----------
    cost
        Shape (m + 1, m + 1), int64: the m cities, then the depot; `FORBIDDEN` where there is no arc, and on the
        diagonal.
    before, cities, after
        Positions in the instance: of the fixed start (none or one), of the m cities in the order of the matrix, and of
        the fixed end (none or one).
    """

    cost: NDArray[np.int64]
    before: tuple[int, ...]
    cities: tuple[int, ...]
    after: tuple[int, ...]

    def tour(self, order: list[int]) -> NDArray[np.int32]:
        """Return the answer, in positions of the instance, for an order of the m cities."""
        return np.array([*self.before, *(self.cities[i] for i in order), *self.after], np.int32)


def core_problem(tsp: Tsp, parameters: Parameters) -> Core:
    """Return the core of an instance, with the costs of its own matrix. Raises as `asked`."""
    question = asked(tsp, parameters)
    return core_of(tsp, question, allowed_costs(tsp.cost, question))


def allowed_costs(cost: NDArray[np.int64], question: TourQuestion) -> NDArray[np.int64]:
    """Return costs, whose last two axes are tails and heads, without the arcs that the question forbids."""
    if not question.forbidden:
        return cost
    tails, heads = np.array(question.forbidden).T
    allowed = cost.copy()
    allowed[..., tails, heads] = FORBIDDEN
    return allowed


def core_of(tsp: Tsp, question: TourQuestion, cost: NDArray[np.int64]) -> Core:
    """Return the core of an instance with these costs, shape (n, n)."""
    start, end = question.start, question.end
    if question.path == "cycle":
        depot = 0 if start is None else start
        return _with_depot(cost, (depot,), (), cost[depot], cost[:, depot])
    free = np.zeros(tsp.n, np.int64)
    return _with_depot(
        cost,
        () if start is None else (start,),
        () if end is None else (end,),
        free if start is None else cost[start],
        free if end is None else cost[:, end],
    )


def _with_depot(whole: NDArray[np.int64], before: tuple[int, ...], after: tuple[int, ...], leave: NDArray[np.int64],
                reach: NDArray[np.int64]) -> Core:
    cities = tuple(c for c in range(len(whole)) if c not in (*before, *after))
    m = len(cities)
    cost = np.full((m + 1, m + 1), FORBIDDEN)
    cost[:m, :m] = whole[np.ix_(cities, cities)]
    cost[m, :m] = leave[list(cities)]
    cost[:m, m] = reach[list(cities)]
    np.fill_diagonal(cost, FORBIDDEN)
    if m == 0:  # no city but the ends: the tour is the arc from one to the other, if there are two
        cost[0, 0] = whole[before[0], after[0]] if before and after and before != after else 0
    return Core(cost, before, cities, after)

"""Checks what a tour's record may have beside an optimal tour: the best tours, and for each arc the best through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.problems.order import TourQuestion, check_order, leg_ends
from hpcsolve.problems.tsp import Tsp

if TYPE_CHECKING:
    from hpcsolve.answers.tour import Tour


def wrong_best(tsp: Tsp, question: TourQuestion, answer: Tour) -> str:
    """Return what is wrong with the best tours, `` if nothing is. That there are no better ones is not checked."""
    if answer.best_costs is None or answer.best_tours is None:
        return ""
    tours, costs = np.asarray(answer.best_tours), np.asarray(answer.best_costs)
    if len(tours) != tsp.n * len(costs) or not len(costs) or (np.diff(costs) < 0).any():
        return "the best tours are not one for each cost, in ascending order"
    orders = tours.reshape(len(costs), tsp.n)
    if len(np.unique(orders, axis=0)) < len(orders) or not np.array_equal(orders[0], answer.tour):
        return "the best tours are not all different, or the first is not the tour"
    for number, (order, cost) in enumerate(zip(orders, costs.tolist())):
        try:
            found = check_order(tsp, order, question)
        except ValueError as error:
            return f"best tour {number}: {error}"
        if found != cost:
            return f"best tour {number} costs {found}, not {cost}"
    return ""


def wrong_arcs(tsp: Tsp, question: TourQuestion, answer: Tour) -> str:
    """Return what is wrong with the values of arcs, `` if nothing is.

    Every tour at hand is a witness: no arc of it may cost more than the tour, those of an optimal one exactly as much.
    That there is a tour of each arc's cost is not checked.
    """
    if answer.arc_tails is None or answer.arc_heads is None or answer.arc_costs is None:
        return ""
    tails, heads, costs = (np.asarray(column).astype(np.int64) for column in
                           (answer.arc_tails, answer.arc_heads, answer.arc_costs))
    if not len(tails) == len(heads) == len(costs):
        return "the arcs' tails, heads and costs are not equally many"
    inside = ((tails >= 0) & (tails < tsp.n) & (heads >= 0) & (heads < tsp.n) & (tails != heads)).all()
    number = tails * tsp.n + heads
    if not inside or (np.diff(number) <= 0).any():
        return "the arcs are not different pairs of cities in ascending order"
    if (costs < answer.cost).any():
        at = int(np.argmin(costs))
        return f"the best tour through the arc {_arc(tsp, tails[at], heads[at])} costs {costs[at]}, less than the best"
    found = dict(zip(number.tolist(), costs.tolist()))
    tours = [(answer.cost, answer.tour)]
    if answer.best_costs is not None and answer.best_tours is not None:
        tours += zip(answer.best_costs.tolist(), np.asarray(answer.best_tours).reshape(-1, tsp.n))
    for cost, tour in tours:
        for a, b in zip(*(ends.tolist() for ends in leg_ends(np.asarray(tour).astype(np.int64), question.path))):
            value = found.get(a * tsp.n + b)
            if value is None or value > cost:
                return f"a tour of cost {cost} uses the arc {_arc(tsp, a, b)}, through which the best is {value}"
    return ""


def _arc(tsp: Tsp, tail: int, head: int) -> str:
    return f"from city {tsp.labels[tail]} to {tsp.labels[head]}"

"""What multipliers prove of every tour: the check of a lower bound by minimum 1-trees, with nothing of a solver.

Each city has a multiplier, which is added to the costs of all edges at the city. That changes every tour by the same
amount, twice the sum of all multipliers. A tour without a city, the *special* one, is a spanning tree of the others,
and two edges lead to the city. So no tour costs less than the minimum spanning tree without the special city and the
two cheapest edges at it, in the changed costs, less that amount (M. Held, R. Karp, Operations Research 18, 1970, page
1138). This holds whatever the multipliers are: they only decide how high the bound is.

- *Asymmetric costs.* A city has a multiplier for arcs that enter it and one for arcs that leave it, each of which
  counts once in a tour. A tour without the arc that leaves the special city is a spanning tree with no arc that leaves
  it. The tree is that of the cheaper arcs between any two cities.
- *Open paths.* A path is a spanning tree. Its first and its last city have one edge less, so their multipliers are
  added again: those of the given ends, or the least ones.

The minimum spanning tree is found by Prim's algorithm (R. Prim, Bell System Technical Journal 36, 1957), with a row of
costs at a time, so that no matrix is made of coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.distances import prepared
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, Tsp

MOST_CITIES = 200_000
"""Cities up to which the check takes minutes at most: its time grows with the square of their number."""
LARGEST_SCALE, LARGEST_MULTIPLIER, LARGEST_COST = 1 << 10, 1 << 48, 1 << 46
"""Larger numbers are refused, whose sums might overflow."""
_FAR = 1 << 61
Rows = Callable[[NDArray[np.int64]], Callable[[int], NDArray[np.int64]]]
"""Given cities, returns a function that returns the changed costs of the edges from any city to them."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """A proof of a lower bound.

    Attributes
    ----------
    scale
        Multipliers are in units of 1 / scale of a scaled cost.
    special
        Position of the special city, -1 of an open path.
    entering, leaving
        Shape (cities,), int64: the multiplier of each city; where costs are asymmetric that of arcs that enter it, and
        that of arcs that leave it, else None.
    """

    scale: int
    special: int
    entering: NDArray[np.int64]
    leaving: NDArray[np.int64] | None = None


def has_bound(tsp: Tsp, question: TourQuestion) -> bool:
    """Return whether a tour's value is the sum of its legs' costs, which 1-trees bound, constraints or not."""
    least = 2 if question.path == "open" or not tsp.symmetric else 3
    own_costs = question.leg_costs is None and question.travel_times is None
    return question.objective == "sum" and own_costs and tsp.n >= least


def proven_bound(tsp: Tsp, question: TourQuestion, proof: Multipliers) -> int:
    """Return the lower bound, in scaled integers, that multipliers prove of every tour.

    Raises
    ------
    ValueError
        The multipliers do not fit the instance or the question, or numbers are too large.
    """
    require_proof(tsp, question, proof)
    return rounded_up(_value(tsp, question, proof), proof.scale)


def require_proof(tsp: Tsp, question: TourQuestion, proof: Multipliers) -> None:
    """Raise a `ValueError` as `proven_bound` does."""
    parts = [proof.entering] if proof.leaving is None else [proof.entering, proof.leaving]
    if not has_bound(tsp, question) or len(parts) != (1 if tsp.symmetric else 2):
        raise ValueError("multipliers prove nothing of what is asked: it must be the sum of the legs' costs, with one "
                         "table of multipliers, or two where costs are asymmetric")
    if any(len(part) != tsp.n or np.abs(part).max() > LARGEST_MULTIPLIER for part in parts):
        raise ValueError(f"expected {tsp.n} multipliers from {-LARGEST_MULTIPLIER} to {LARGEST_MULTIPLIER}")
    if not 1 <= proof.scale <= LARGEST_SCALE:
        raise ValueError(f"the scale of multipliers is {proof.scale}, not 1 to {LARGEST_SCALE}")
    if not (proof.special == -1 if question.path == "open" else 0 <= proof.special < tsp.n):
        expected = "-1, since a path has none" if question.path == "open" else f"0 to {tsp.n - 1}"
        raise ValueError(f"the special city is {proof.special}, not {expected}")


def rounded_up(value: int, scale: int) -> int:
    """Return the least whole cost that is at least value / scale."""
    return -(-value // scale)


def _value(tsp: Tsp, question: TourQuestion, proof: Multipliers) -> int:
    """Return the 1-tree's changed cost less what the multipliers add to a tour, in units of 1 / scale."""
    scale, special, entering = proof.scale, proof.special, proof.entering
    leaving = entering if proof.leaving is None else proof.leaving
    cities, costs = np.arange(tsp.n), _costs(tsp)
    others = np.delete(cities, special) if special >= 0 else cities

    def arcs_to(heads: NDArray[np.int64]) -> Callable[[int], NDArray[np.int64]]:
        prices, row = entering[heads], costs(heads, False)

        def changed(tail: int) -> NDArray[np.int64]:
            costs_now: NDArray[np.int64] = scale * row(tail) + (prices + leaving[tail])
            return costs_now

        return changed

    def cheaper_arcs(others: NDArray[np.int64]) -> Callable[[int], NDArray[np.int64]]:
        prices, column, forth = np.where(others == special, _FAR, leaving[others]), costs(others, True), arcs_to(others)

        def cheaper(city: int) -> NDArray[np.int64]:
            back: NDArray[np.int64] = scale * column(city) + (prices + entering[city])
            if city != special:
                np.minimum(back, forth(city), out=back)
            return back

        return cheaper

    added = int(entering.sum()) + int(leaving.sum())
    tree = _spanning_tree(others, arcs_to) if tsp.symmetric else _spanning_tree(cities, cheaper_arcs)
    if question.path == "open":
        return tree + _ends(question, entering, leaving, tsp.symmetric) - added
    at_special = np.sort(arcs_to(others)(special))
    return tree + int(at_special[: 2 if tsp.symmetric else 1].sum()) - added


def _ends(question: TourQuestion, entering: NDArray[np.int64], leaving: NDArray[np.int64], symmetric: bool) -> int:
    """Return the least multipliers of a first and a last city: what enters the first, and what leaves the last."""
    first, last = question.start, question.end
    if first is not None and last is not None:
        return int(entering[first] + leaving[last])
    if not symmetric:
        return int((entering.min() if first is None else entering[first]) + (
            leaving.min() if last is None else leaving[last]))
    given = first if first is not None else last
    if given is None:
        return int(np.partition(entering, 1)[:2].sum())
    return int(entering[given] + np.delete(entering, given).min())


def _costs(tsp: Tsp) -> Callable[[NDArray[np.int64], bool], Callable[[int], NDArray[np.int64]]]:
    """Return a function of cities and of whether arcs lead from them. It returns a function as `Rows` says, of costs.

    Raises
    ------
    ValueError
        Costs are missing or too large.
    """
    if tsp.metric and tsp.coordinates is not None:
        points, distance = prepared(tsp.coordinates, tsp.metric)

        def from_point(others: NDArray[np.int64], back: bool) -> Callable[[int], NDArray[np.int64]]:
            there = points[others]
            return lambda city: distance(points[city], there).astype(np.int64)

        return from_point
    cost = tsp.cost
    if int((cost == NO_ARC).sum()) > tsp.n:
        raise ValueError("multipliers prove nothing where arcs are missing")
    if max(-int(cost.min()), int(cost.max(where=cost != NO_ARC, initial=0))) > LARGEST_COST:
        raise ValueError("costs are too large for multipliers")
    return lambda others, back: (lambda city: cost[others, city] if back else cost[city, others])


def _spanning_tree(cities: NDArray[np.int64], rows: Rows) -> int:
    """Return the weight of a minimum spanning tree of some cities, by Prim's algorithm.

    Cities that the tree has are dropped from the rows now and then.
    """
    left, city, total = cities[1:], int(cities[0]), 0
    key = np.full(len(left), _FAR)
    while len(left):
        row, reached = rows(left), np.zeros(len(left), np.int64)
        for _ in range(max(1, len(left) // 8)):
            np.minimum(key, row(city), out=key)
            at = int((key + reached).argmin())
            total += int(key[at])
            city, reached[at] = int(left[at]), _FAR
        left, key = left[reached == 0], key[reached == 0]
    return total

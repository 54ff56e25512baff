"""What an answer for rounded numbers is worth in the numbers before rounding, which are called *given* here.

Let c(x) be the cost of an answer x in the given numbers, r(x) its cost in the rounded ones, x' the answer that was
found and x* the best one in the given numbers. Here c(x') is computed exactly, in decimals. What stays unknown is
c(x*): rounding may have hidden an answer that is better. If a search has proven that no r(x) is below some bound, which
is r(x') where x' is proven optimal, then

    c(x*) = r(x*) - (r(x*) - c(x*)) >= bound - E,    where E >= r(x*) - c(x*).

E is the *error* here. Without a proof, it says nothing about an answer. With e, the most by which
one number differs from the given one (half a unit, and noise in a table that was made symmetric), it follows for each
question from how often the numbers of x* count. Tours have n cities and L legs:

- sum: each leg counts once, E = L e.
- position: leg k counts w_k times, whatever the tour. E = e (w_1 + ... + w_L). Costs by leg from a file are exact, and
  E = 0.
- latency: the k-th leg delays all cities that come after it. So city c, reached by k legs, counts w_c k times, and
  E = e max sum(w_c k), the maximum over all orders: by the rearrangement inequality that of ascending weights, with the
  fixed ends at their places, and the return of a cycle as its last leg.
- bottleneck: rounding a set of numbers moves their maximum by no more than e. E = e.
- lexicographic: for the dearest leg E = e. For the sum: rounding keeps the order of numbers. So each tour whose
  dearest leg is at most that of x' before rounding has a dearest leg of at most that of x' after it. Among such tours
  x' has the least rounded sum, if it is proven optimal. So E = L e for them, as for the sum. In a table that was made
  symmetric, a cost may get the value of another one that differs by noise. Then this holds only if the dearest leg of
  x' is farther than the noise below the numbers that are rounded to the next value. If not, nothing is said of the sum.
- finish: the time of arrival is a maximum of sums, so a change of e in each leg changes it by L e at most. E = L e, if
  windows never end. Where they do, x* may miss a window in the rounded costs, and then nothing is proven of it. A tour
  that keeps all its windows in the given costs with L e to spare, the *slack*, keeps them in the rounded ones: what is
  proven holds for these tours.

Several best tours: if each cost moves by E at most, so does the k-th least of them; and a tour that is not listed costs
at least as much as the last one listed less E. The same E holds for the best tour through an arc, which is the optimum
among the tours that use it.

Trees and paths have weights that are not negative. Only a number that was rounded up adds to r(x*) - c(x*), by e at
most. A weight that became 0 was rounded down, so it adds nothing. So E = e times the number of edges of x* whose
rounded weight is not 0.

- trees: c(x*) <= c(x'), and an edge of rounded weight r weighs at least r - e. So x* has no more such edges than the
  lightest ones that together, with r - e each, weigh c(x') or less; and no more than n - 1.
- paths: let q be a shortest path where each arc weighs r - e, but at least 0, and d* the distance in the given weights.
  No path is shorter than q in these weights, so d* >= r(q) - e arcs(q) >= r(x') - e arcs(q). E = e times the most arcs
  of such paths, found by one more search from each source. The arcs of x' itself would not do: x' may have one arc of
  10.4, rounded to 10, beside a path of ten arcs of 0.6, each rounded to 1. Where these searches would take too long, a
  *part* is given: an arc of rounded weight r >= least > 0 weighs at least r (1 - e / least), so that
  d* >= r(x*) (1 - e / least) >= r(x') (1 - e / least).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import TourQuestion, leg_ends, legs
from hpcsolve.problems.rounding import EXACT, EXACT_IN_DOUBLES, LARGEST_SUM, own_decimal
from hpcsolve.problems.tsp import Tsp

MOST_STEPS = 1 << 22
"""Arcs and vertices, over all searches, up to which paths are searched once more: about a second."""


@dataclass(frozen=True)
class Unrounded:
    """What an answer is worth in the numbers before rounding, all in the instance's own unit.

    Attributes
    ----------
    cost
        Its exact cost, None if it has none.
    error
        E above, None if nothing is said.
    dearest, dearest_error
        Of objective "lexicographic": the cost of the dearest leg, and how far the least one may be below the rounded.
    slack
        Of objective "finish" with windows that end: as above.
    late
        How late the tour is for a window in the given costs, or None if it keeps all.
    part
        Of paths whose `error` would take too long: as above.
    """

    cost: Decimal | None = None
    error: Decimal | None = None
    dearest: Decimal | None = None
    dearest_error: Decimal | None = None
    slack: Decimal | None = None
    late: Decimal | None = None
    part: Decimal | None = None


def unrounded_tour(tsp: Tsp, question: TourQuestion, tour: NDArray[Any]) -> Unrounded:
    """Return what a tour that satisfies the question in the rounded costs is worth in the costs before rounding."""
    assert tsp.rounding is not None
    order = np.asarray(tour).astype(np.int64)
    error = Decimal(0) if question.leg_costs is not None else tsp.rounding.error
    with localcontext(EXACT):
        values = given_legs(tsp, question, order)
        value = Decimal(question.value(order, values))
        found = Unrounded(own_decimal(value, tsp.scale), error * times_counted(tsp.n, question))
        if question.objective == "lexicographic":
            dearest = max(values, default=Decimal(0))
            noise = tsp.rounding.error * tsp.scale - Decimal("0.5")
            tie_above = int(question.legs_of(tsp, order).max(initial=0)) + Decimal("0.5")
            # Otherwise noise may have changed which legs are dearest, and so among which tours the sum is least.
            is_bounded = not noise or dearest + noise < tie_above
            return replace(found, error=found.error if is_bounded else None, dearest=own_decimal(dearest, tsp.scale),
                           dearest_error=tsp.rounding.error)
        if question.objective == "prize":  # whether a better one exists, say what little the rounded costs prove
            found = replace(found, error=None)
        slack = slack_of(tsp, question)
        if slack is None or question.windows is None:
            return found
        latest = question.windows.latest[[*order, order[0]]].tolist()
        late = max(time - last for time, last in zip(question.times(order, values), latest))
        return replace(found, slack=slack, late=own_decimal(late, tsp.scale) if late > 0 else None)


def unrounded_costs(tsp: Tsp, question: TourQuestion, tours: NDArray[Any]) -> list[Decimal]:
    """Return the exact costs before rounding of several tours, shape (tours, n)."""
    with localcontext(EXACT):
        return [own_decimal(Decimal(question.value(order, given_legs(tsp, question, order))), tsp.scale)
                for order in np.asarray(tours).astype(np.int64)]


def slack_of(tsp: Tsp, question: TourQuestion) -> Decimal | None:
    """Return the slack of a question with windows that end, else None."""
    if tsp.rounding is None or question.windows is None or (question.windows.latest == LARGEST_SUM).all():
        return None
    return EXACT.multiply(tsp.rounding.error, Decimal(legs(tsp.n, question.path)))


def given_legs(tsp: Tsp, question: TourQuestion, order: NDArray[np.int64]) -> list[Decimal]:
    """Return the given cost of each leg of a tour, times the instance's scale."""
    if question.leg_costs is not None:
        return list(map(Decimal, question.legs_of(tsp, order).tolist()))
    assert tsp.rounding is not None and tsp.rounding.exact is not None
    tails, heads = leg_ends(order, question.path)
    return [tsp.rounding.exact(index) * tsp.scale for index in (tails * tsp.n + heads).tolist()]


def times_counted(n: int, question: TourQuestion) -> int:
    """Return how often the errors of legs count in the cost of a tour, at most."""
    count = legs(n, question.path)
    if question.objective == "bottleneck":
        return min(count, 1)
    if question.objective == "position" and question.weights is not None:
        return int(question.weights.sum())
    if question.objective != "latency" or not count:
        return count
    weights = [1] * n if question.weights is None else question.weights.tolist()
    first, last = question.start, question.end
    if question.path == "cycle":
        first = first or 0  # a cycle without a start begins at city 0
    ascending = sorted(weight for city, weight in enumerate(weights) if city not in (first, last))
    in_order = [*([] if first is None else [weights[first]]), *ascending, *([] if last is None else [weights[last]])]
    back = n * in_order[0] if question.path == "cycle" else 0
    return int(sum(place * weight for place, weight in enumerate(in_order)) + back)


def unrounded_tree(graph: Graph, u: NDArray[Any], v: NDArray[Any]) -> Unrounded:
    """Return what the tree with the edges (u, v) is worth in the weights before rounding."""
    assert graph.rounding is not None
    with localcontext(EXACT):
        cost = sum((weight for weight in given_weights(graph, u, v)), Decimal(0))
        edges = most_edges(graph.weights[graph.tails() < graph.heads], graph.n - 1, int(2 * cost * graph.scale))
        return Unrounded(cost, graph.rounding.error * edges)


def given_weights(graph: Graph, tails: NDArray[Any], heads: NDArray[Any]) -> list[Decimal]:
    """Return the given weights of arcs that the graph has, in the instance's own unit."""
    assert graph.rounding is not None and graph.rounding.exact is not None
    return list(map(graph.rounding.exact, graph.arcs_between(tails, heads).tolist()))


def most_edges(weights: NDArray[Any], most: int, twice_cost: int) -> int:
    """Return the most edges of rounded weight above 0 that can weigh half of `twice_cost` together before rounding.

    Parameters
    ----------
    weights
        The rounded weights of all edges, of which any `most` add up to less than 2^63.
    most
        The most edges of any answer.
    """
    least = np.sort(weights[weights > 0].astype(np.uint64))[:most]
    together = np.cumsum(2 * least - np.uint64(1), dtype=np.uint64)
    return int(np.searchsorted(together, np.uint64(min(twice_cost, 2**64 - 1)), "right"))


def unrounded_paths(graph: Graph, seeds: Sequence[NDArray[np.int64]], targets: Sequence[NDArray[np.int64]] | None,
                    cutoff: float | None) -> Unrounded:
    """Return what is said of the distances of several searches in a graph that was rounded.

    Parameters
    ----------
    seeds
        Where each search begins.
    targets
        The vertices to which distances are asked for, by search, or None for all.
    cutoff
        In the unit of `graph.weights`: vertices farther away count as unreached.
    """
    assert graph.rounding is not None
    positive = graph.weights[graph.weights > 0]
    if not len(positive):
        return Unrounded(error=Decimal(0))
    span = 2 * int(positive.max()) * graph.n
    if len(seeds) * (graph.arcs + graph.n) > MOST_STEPS or span >= EXACT_IN_DOUBLES:
        return Unrounded(part=Context(prec=3, rounding=ROUND_CEILING).divide(1, 2 * int(positive.min())))
    with localcontext(EXACT):
        return Unrounded(error=graph.rounding.error * _most_arcs(graph, seeds, targets, cutoff))


def unrounded_length(graph: Graph, path: NDArray[Any]) -> Decimal:
    """Return the exact length before rounding of a path, given its vertices."""
    with localcontext(EXACT):
        return sum(given_weights(graph, path[:-1], path[1:]), Decimal(0))


def _most_arcs(graph: Graph, seeds: Sequence[NDArray[np.int64]], targets: Sequence[NDArray[np.int64]] | None,
               cutoff: float | None) -> int:
    """Return the most arcs of rounded weight above 0 on shortest paths in the least weights, r - e or 0."""
    from scipy.sparse.csgraph import dijkstra

    lower = np.maximum(2 * graph.weights.astype(np.float64) - 1, 0)  # in half units
    matrix = graph.sparse_matrix(lower)
    limit, most = np.inf if cutoff is None else 2.0 * cutoff, 0
    for number, begin in enumerate(seeds):
        distance, before, _ = dijkstra(matrix, indices=begin, limit=limit, min_only=True, return_predecessors=True)
        parent = np.where(before < 0, np.arange(graph.n), before)
        arcs = (distance > distance[parent]).astype(np.int64)
        while (parent != parent[parent]).any():  # pointer jumping: twice as far each time
            arcs, parent = arcs + arcs[parent], parent[parent]
        most = max(most, int(arcs.max() if targets is None else arcs[targets[number]].max(initial=0)))
    return most

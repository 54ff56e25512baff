"""The form that a question takes for all methods: the best order of m cities from a depot and back to it.

An open path becomes a tour by its depot. With free ends the depot is one more city, which costs nothing to leave and to
reach; with a fixed start it is the start, which costs nothing to return to; with both ends fixed it is the two merged,
left as the start and reached as the end.

An order's arcs are numbered by place: arc 0 leaves the depot, arc k leads from the k-th city to the next, and arc m
returns to the depot. Every objective is one of three ways to combine the arcs' costs by place:

add     the sum; with `weights` an arc's cost counts once for each unit of weight that has not been reached yet
max     the dearest arc
finish  the time: an arc takes its cost, and a city's window is waited for or missed

Of equally good orders all methods return the same: the one whose last city is the smallest, of these the one whose last
but one is, and so on backwards (`lattice/recover.py` and `compact.py`, `orders/`, `bounded/search.py`, and `walk_back`
in cuda_src/held_karp/batch.cu).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError, ResourceError
from hpcsolve.problems.questions import TourQuestion, legs
from hpcsolve.problems.rounding import LARGEST_SUM, times
from hpcsolve.problems.tsp import NO_ARC, Tsp

MOST_INNER_CITIES = 121
"""The most cities beside the depot that any method takes: a state of bounds has bits for so many."""
FREE = -NO_ARC
"""The cost of an arc that is never the dearest: to and from a depot that is no city."""


@dataclass(frozen=True)
class Core:
    """The problem that is solved: m cities and a depot.

    Attributes
    ----------
    cost
        Shape (m + 1, m + 1), int64: the m cities, then the depot; `NO_ARC` where there is no arc, and on the
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


def core_problem(tsp: Tsp, question: TourQuestion) -> Core:
    """Return the core of an instance, with the costs of its own matrix."""
    return core_of(tsp, question, allowed_costs(tsp.cost, question))


def allowed_costs(cost: NDArray[np.int64], question: TourQuestion) -> NDArray[np.int64]:
    """Return costs, whose last two axes are tails and heads, without the arcs that the question forbids."""
    if not question.forbidden:
        return cost
    tails, heads = np.array(question.forbidden).T
    allowed = cost.copy()
    allowed[..., tails, heads] = NO_ARC
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
    cost = np.full((m + 1, m + 1), NO_ARC)
    cost[:m, :m] = whole[np.ix_(cities, cities)]
    cost[m, :m] = leave[list(cities)]
    cost[:m, m] = reach[list(cities)]
    np.fill_diagonal(cost, NO_ARC)
    if m == 0:  # no city but the ends: the tour is the arc from one to the other, if there are two
        cost[0, 0] = whole[before[0], after[0]] if before and after and before != after else 0
    return Core(cost, before, cities, after)


@dataclass(frozen=True, eq=False)
class OrderProblem:
    """The best order of m cities.

    Attributes
    ----------
    core
        The cities, from which the tour follows; its costs are the instance's own.
    combine
        "add", "max" or "finish", as above.
    cost
        Shape (m + 1, m + 1, m + 1), int64: cost[k, i, j] of arc k from i to j; index m is the depot; `NO_ARC` where
        there is no arc, where j may not stand at that place, and on the diagonals. Only cost[0, m, :m],
        cost[1:m, :m, :m], cost[m, :m, m] are arcs, and with m = 0 the one entry. A view with a stride of 0 where the
        place does not matter. With "finish" it includes the service time of the city that the arc leaves.
    before
        For each of the m cities the set of those that must precede it, as a bit mask; transitive.
    weights
        Shape (m + 1,), int64, for "add": the weights of the cities and the depot, none negative. The cost of an arc is
        multiplied by the weight of those that have not been reached when it begins. None: by 1.
    earliest, latest
        Shape (m + 1,), int64, for "finish": the window of each city and the depot.
    offset
        What is added to the combined costs.
    """

    core: Core
    combine: str
    cost: NDArray[np.int64]
    before: tuple[int, ...]
    weights: NDArray[np.int64] | None = None
    earliest: NDArray[np.int64] | None = None
    latest: NDArray[np.int64] | None = None
    offset: int = 0

    @property
    def m(self) -> int:
        """Number of cities beside the depot."""
        return len(self.before)

    @cached_property
    def by_place(self) -> bool:
        """Whether costs depend on the place."""
        return self.m > 0 and self.cost.strides[0] != 0

    def arc_costs(self, order: Sequence[int]) -> list[int]:
        """Return the costs of an order's m + 1 arcs."""
        m = self.m
        path = [m, *order, m]
        return [int(self.cost[k, path[k], path[k + 1]]) for k in range(m + 1)]

    def value(self, order: Sequence[int]) -> int | None:
        """Return the value of an order in scaled integers, or None if it breaks a constraint."""
        arcs, seen = self.arc_costs(order), 0
        for city in order:
            if self.before[city] & ~seen:
                return None
            seen |= 1 << city
        if NO_ARC in arcs:
            return None
        if self.combine == "max":
            dearest = max(arcs)
            return 0 if dearest == FREE else dearest
        return self._time(arcs, order) if self.combine == "finish" else self._sum(arcs, order) + self.offset

    def _sum(self, arcs: list[int], order: Sequence[int]) -> int:
        if self.weights is None:
            return sum(arcs)
        left, total = sum(map(int, self.weights)), 0
        for cost, city in zip(arcs, [*order, self.m], strict=True):
            total += cost * left
            left -= int(self.weights[city])
        return total

    def _time(self, arcs: list[int], order: Sequence[int]) -> int | None:
        assert self.earliest is not None and self.latest is not None
        time = 0
        for cost, city in zip(arcs, [*order, self.m], strict=True):
            time = max(time + cost, int(self.earliest[city]))
            if time > self.latest[city]:
                return None
        return time + self.offset


def order_problem(tsp: Tsp, question: TourQuestion) -> OrderProblem:
    """Return the statement of a question, but of "lexicographic" the first of its two: the least dearest arc.

    `question_without_dearer` is the second question.

    Raises
    ------
    InputError
        Sums may not fit 62 bits.
    ResourceError
        So many cities that no method takes them.
    """
    question = _with_ends_from_precedence(tsp, question)
    own = core_problem(tsp, question)
    if len(own.cities) > MOST_INNER_CITIES:  # refused before costs by place take n^3 bytes
        what = f"{len(own.cities)} cities beside the depot are too many: a state's key holds {MOST_INNER_CITIES}"
        raise ResourceError(f"{what}; use a heuristic or branch and cut")
    table = _restricted(_costs_by_place(tsp, question, own), question, own)
    if not _possible(question, own):
        table = np.broadcast_to(NO_ARC, table.shape)
    problem = OrderProblem(own, "add", table, _masks(question, own))
    if question.objective in ("bottleneck", "lexicographic"):
        return replace(problem, combine="max", cost=_never_dearest(table, own, question))
    if question.objective == "finish":
        return _with_windows(problem, question)
    if question.objective == "latency":
        problem = replace(problem, weights=_weights_by_city(question, own))
    _require_62_bits(problem)
    return problem


def question_without_dearer(tsp: Tsp, question: TourQuestion, dearest: int) -> TourQuestion:
    """Return the question for the least sum among tours without arcs that cost more than `dearest`."""
    dearer = np.argwhere((tsp.cost > dearest) & (tsp.cost != NO_ARC))
    pairs = tuple((int(a), int(b)) for a, b in dearer)
    return replace(question, objective="sum", forbidden=question.forbidden + pairs)


def _with_ends_from_precedence(tsp: Tsp, question: TourQuestion) -> TourQuestion:
    """Return the question of an open path with the ends that precedences leave alone, which spares two cities."""
    if question.path == "cycle" or not question.precedences or tsp.n < 2:
        return question
    first, second = np.array(question.precedences).T
    starts = [c for c in range(tsp.n) if len(set(second[first == c].tolist())) == tsp.n - 1]
    ends = [c for c in range(tsp.n) if len(set(first[second == c].tolist())) == tsp.n - 1]
    start = starts[0] if question.start is None and len(starts) == 1 else question.start
    end = ends[0] if question.end is None and len(ends) == 1 else question.end
    return question if start == end else replace(question, start=start, end=end)


def _costs_by_place(tsp: Tsp, question: TourQuestion, own: Core) -> NDArray[np.int64]:
    """Return the arcs' costs by place as the question has them, shape (m + 1, m + 1, m + 1)."""
    m, count = len(own.cities), legs(tsp.n, question.path)
    if question.objective == "latency" and _weights_by_city(question, own) is None:
        return _multiplied(own.cost, _latency_factors(question, own))
    if question.objective != "position" or not count:
        return np.broadcast_to(own.cost, (m + 1, m + 1, m + 1))
    leg = [min(max(k - (not own.before), 0), count - 1) for k in range(m + 1)]
    if question.leg_costs is None:
        assert question.weights is not None
        return _multiplied(own.cost, [int(question.weights[at]) for at in leg])
    allowed = allowed_costs(question.leg_costs, question)
    return np.stack([core_of(tsp, question, allowed[at]).cost for at in leg])


def _multiplied(cost: NDArray[np.int64], factors: Sequence[int]) -> NDArray[np.int64]:
    """Return costs times a factor for each place. Raises `InputError` if one does not fit 62 bits."""
    known = cost[cost != NO_ARC]
    if len(known) and int(np.abs(known).max()) * max(factors) > LARGEST_SUM:
        raise InputError("held-karp.objective: a cost times its weight exceeds 62 bits; scale costs or weights down")
    places = np.array(factors, np.int64)[:, None, None]
    return times(cost, places)


def _restricted(table: NDArray[np.int64], question: TourQuestion, own: Core) -> NDArray[np.int64]:
    """Return the costs by place without arcs to cities that may not stand there."""
    if question.places is None:
        return table
    m, first = len(own.cities), len(own.before)
    restricted = table.copy()
    for k in range(m):
        restricted[k][:, :m][:, ~question.places[list(own.cities), k + first]] = NO_ARC
    return restricted


def _possible(question: TourQuestion, own: Core) -> bool:
    """Return whether the fixed ends keep to the constraints."""
    n = len(own.before) + len(own.cities) + len(own.after)
    fixed = [(city, 0) for city in own.before] + [(city, n - 1) for city in own.after]
    if question.places is not None and not all(question.places[city, place] for city, place in fixed):
        return False
    return not any(b in own.before or a in own.after for a, b in question.precedences)


def _masks(question: TourQuestion, own: Core) -> tuple[int, ...]:
    """Return the sets of cities that must precede each, transitively."""
    index = {city: i for i, city in enumerate(own.cities)}
    masks = [0] * len(index)
    for a, b in question.precedences:
        if a in index and b in index:
            masks[index[b]] |= 1 << index[a]
    for i in range(len(masks)):
        for j in range(len(masks)):
            masks[j] |= masks[i] if masks[j] >> i & 1 else 0
    return tuple(masks)


def _never_dearest(table: NDArray[np.int64], own: Core, question: TourQuestion) -> NDArray[np.int64]:
    """Return the costs with `FREE` for the arcs of a depot that is no city."""
    m, is_open = len(own.cities), question.path == "open"
    free = table.copy()
    if m == 0 and not (own.before and own.after):
        free[free != NO_ARC] = FREE
    if is_open and not own.before:
        free[:, m][table[:, m] != NO_ARC] = FREE
    if is_open and not own.after:
        free[:, :, m][table[:, :, m] != NO_ARC] = FREE
    return free if question.places is not None else np.broadcast_to(free[0], free.shape)


def _weights_by_city(question: TourQuestion, own: Core) -> NDArray[np.int64] | None:
    """Return the weights of the cities and the depot, or None if all cities have one weight."""
    if question.weights is None or len(set(question.weights[list(own.cities)].tolist())) < 2:
        return None
    return np.append(question.weights[list(own.cities)], question.weights[list(_last(question, own))].sum())


def _latency_factors(question: TourQuestion, own: Core) -> list[int]:
    """Return by place how often an arc counts, where all cities have one weight."""
    m, last = len(own.cities), _last(question, own)
    weights = np.ones(m + len(last), np.int64) if question.weights is None else question.weights[[*own.cities, *last]]
    left = np.append(weights, np.zeros(1 - len(last), np.int64))
    return [int(left[k:].sum()) for k in range(m + 1)]


def _last(question: TourQuestion, own: Core) -> tuple[int, ...]:
    """Return the city where the last arc ends: a fixed end, a cycle's first city, or none."""
    return own.after or (own.before if question.path == "cycle" else ())


def _with_windows(problem: OrderProblem, question: TourQuestion) -> OrderProblem:
    """Return the problem with its windows, the cost of each arc with the service of the city that is left."""
    own, windows, m = problem.core, question.windows, problem.m
    assert windows is not None
    cities, closed = list(own.cities), question.path == "cycle"
    service, begin = np.append(windows.service[cities], 0), 0
    if own.before:
        first = own.before[0]
        begin = int(windows.earliest[first])
        service[m] = windows.service[first]
    earliest, latest = np.append(windows.earliest[cities], 0), np.append(windows.latest[cities], LARGEST_SUM)
    offset = 0
    if closed and m:
        latest[m] = windows.latest[own.before[0]]
    elif own.after:
        earliest[m], latest[m] = windows.earliest[own.after[0]], windows.latest[own.after[0]]
        offset = int(windows.service[own.after[0]])
    late = bool(own.before) and begin > windows.latest[own.before[0]]
    leave = service.copy()
    leave[m] += begin
    cost = np.where(problem.cost == NO_ARC, NO_ARC, problem.cost + np.where(problem.cost == NO_ARC, 0,
                                                                                 leave[:, None]))
    if late:
        cost = np.full_like(cost, NO_ARC)
    if not problem.by_place:
        cost = np.broadcast_to(cost[0], cost.shape)
    return replace(problem, combine="finish", cost=cost, earliest=earliest, latest=latest, offset=offset)


def _require_62_bits(problem: OrderProblem) -> None:
    """Refuse costs whose sums may exceed 62 bits."""
    known = np.where(problem.cost == NO_ARC, 0, np.abs(problem.cost))
    dearest = [int(layer.max()) for layer in known] if problem.by_place else [int(known.max())] * (problem.m + 1)
    factor = 1 if problem.weights is None else sum(map(int, problem.weights))
    if sum(dearest) * factor > LARGEST_SUM:
        raise InputError("held-karp.objective: sums of weighted costs may exceed 62 bits; scale costs or weights down")

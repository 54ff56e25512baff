"""The form that a question takes for all methods: the best order of m cities from a depot and back to it.

An open path becomes a tour by its depot. With free ends the depot is one more city, which costs nothing to leave and to
reach; with a fixed start it is the start, which costs nothing to return to; with both ends fixed it is the two merged,
left as the start and reached as the end.

An order's arcs are numbered by place: arc 0 leaves the depot, arc k leads from the k-th city to the next, and arc m
returns to the depot. Every objective is one of three ways to combine the arcs' costs by place:

add     the sum; with `weights` an arc's cost counts once for each unit of weight that has not been reached yet; with
        `times` only orders that keep all windows count
max     the dearest arc
finish  the time: an arc takes its cost, and a city's window is waited for or missed

The tie rule, for all methods: of equally good orders the answer is the one that is smallest when read backwards (`tie`;
the kernel that solves batches repeats it, `walk_back` in cuda_src/held_karp/batch.cu).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError, ResourceError
from hpcsolve.problems.questions import TourQuestion, Windows, legs
from hpcsolve.problems.rounding import LARGEST_SUM, times
from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC, Tsp
from hpcsolve.problems.windows import all_day

MOST_INNER_CITIES, MOST_INNER_CITIES_WITH_WINDOWS = 121, 248
"""The most cities beside the depot that any method takes: a state of bounds has bits for so many."""
FOR_MORE = "edge-assembly takes more, of plain tours"
"""What to do with more cities than any method takes."""
FREE = -NO_ARC
"""The cost of an arc that is never the dearest: to and from a depot that is no city."""
NO_PATH = {2: 2**15 - 1, 4: 2**31 - 1, 8: LARGEST_SUM + 1}
"""Bytes of a state -> the value that means that there is no path. Twice that value still fits."""


def tie(order: Sequence[int]) -> tuple[int, ...]:
    """Return the key by which equally good orders, or ends of orders, are compared: the smallest one is the answer.

    Every method finds an order from its last city to its first. So the key of an end must be the beginning of the key
    of each order with this end; a rule that looks at the first cities before would also need tables of paths to the
    depot.
    """
    return tuple(order[::-1])


@dataclass(frozen=True, eq=False)
class Core:
    """The cities of a question: m cities and a depot.

    Attributes
    ----------
    cost
        Shape (m + 1, m + 1), int64: the m cities, then the depot; `NO_ARC` where there is no arc, and on the
        diagonal. Of several instances with the same cities (instances, m + 1, m + 1).
    before, cities, after
        Positions in the instance: of the fixed start (none or one), of the m cities in the order of the matrix, and of
        the fixed end (none or one).
    """

    question: TourQuestion
    cost: NDArray[np.int64]
    before: tuple[int, ...]
    cities: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def last(self) -> tuple[int, ...]:
        """The city where the last arc ends: a fixed end, a cycle's first city, or none."""
        return self.after or (self.before if self.question.path == "cycle" else ())

    def tour(self, order: ArrayLike) -> NDArray[np.int32]:
        """Return the answer, in positions of the instance, for an order of the m cities, or for rows of orders."""
        cities = np.array(self.cities, np.int32)[np.asarray(order, np.int64)]
        before, after = (np.broadcast_to(np.array(end, np.int32), (*cities.shape[:-1], len(end)))
                         for end in (self.before, self.after))
        return np.concatenate([before, cities, after], axis=-1)

    def possible(self) -> bool:
        """Return whether the fixed ends keep to the constraints."""
        question, n = self.question, len(self.before) + len(self.cities) + len(self.after)
        fixed = [(city, 0) for city in self.before] + [(city, n - 1) for city in self.after]
        if question.places is not None and not all(question.places[city, place] for city, place in fixed):
            return False
        if question.loads is not None:
            change, whole = question.loads.change, int(question.loads.change.sum())
            begin = sum(int(change[city]) for city in self.before)
            if min(begin, whole) < 0 or max(begin, whole) > question.loads.capacity:
                return False
        return not any(b in self.before or a in self.after for a, b in question.precedences)

    def predecessors(self) -> tuple[int, ...]:
        """Return for each of the m cities the set of all that must precede it, as a bit mask."""
        index = {city: i for i, city in enumerate(self.cities)}
        masks = [0] * len(index)
        for a, b in self.question.precedences:
            if a in index and b in index:
                masks[index[b]] |= 1 << index[a]
        for i in range(len(masks)):
            for j in range(len(masks)):
                masks[j] |= masks[i] if masks[j] >> i & 1 else 0
        return tuple(masks)

    def loads(self) -> SetLoads | None:
        """Return what the m cities load and the limits of their sums, or None without loads."""
        loads = self.question.loads
        if loads is None:
            return None
        begin = sum(int(loads.change[city]) for city in self.before)
        return SetLoads(loads.change[list(self.cities)], -begin, loads.capacity - begin)

    def weights(self) -> NDArray[np.int64] | None:
        """Return the weights of the cities and the depot, or None if all cities have one weight."""
        weights = self.question.weights
        if weights is None or len(set(weights[list(self.cities)].tolist())) < 2:
            return None
        return np.append(weights[list(self.cities)], weights[list(self.last)].sum())

    def costs_by_place(self, tsp: Tsp) -> NDArray[np.int64]:
        """Return the arcs' costs by place as the question has them, shape (m + 1, m + 1, m + 1).

        It is a view with a stride of 0 where the place does not matter.

        Raises
        ------
        InputError
            A cost times its weight does not fit 62 bits.
        """
        question, m, count = self.question, len(self.cities), legs(tsp.n, self.question.path)
        leg = [min(max(k - (not self.before), 0), count - 1) for k in range(m + 1)]
        if question.windows is not None:  # of "latency" the times count, and not the arcs
            return np.broadcast_to(self.cost, (m + 1, m + 1, m + 1))
        if question.objective == "latency" and self.weights() is None:  # the cities that an arc delays
            weights = np.ones(tsp.n, np.int64) if question.weights is None else question.weights
            delayed = np.append(weights[[*self.cities, *self.last]], np.zeros(1 - len(self.last), np.int64))
            factors = [int(delayed[k:].sum()) for k in range(m + 1)]
        elif question.objective != "position" or not count:
            return np.broadcast_to(self.cost, (m + 1, m + 1, m + 1))
        elif question.leg_costs is not None:
            return np.stack([core_of(tsp, question, question.leg_costs[at]).cost for at in leg])
        else:
            assert question.weights is not None
            factors = [int(question.weights[at]) for at in leg]
        known = self.cost[self.cost != NO_ARC]
        if len(known) and int(np.abs(known).max()) * max(factors) > LARGEST_SUM:
            what = "a cost times its weight exceeds 62 bits; scale costs or weights down"
            raise InputError(f"held-karp.objective: {what}")
        return times(self.cost, np.array(factors, np.int64)[:, None, None])

    def with_free_depot(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return costs by place with `FREE` for the arcs of a depot that is no city."""
        m, free = len(self.cities), table.copy()
        if m == 0 and not (self.before and self.after):
            free[free != NO_ARC] = FREE
        if not self.before:
            free[:, m][table[:, m] != NO_ARC] = FREE
        if not self.last:
            free[:, :, m][table[:, :, m] != NO_ARC] = FREE
        return free if self.question.places is not None else np.broadcast_to(free[0], free.shape)


@dataclass(frozen=True, eq=False)
class SetLoads:
    """Which sets of cities an order may have visited by what they load together.

    Attributes
    ----------
    change
        Shape (m,), int64: what each of the m cities adds.
    least, most
        The sum of the visited ones must be from `least` to `most`, after each city.
    """

    change: NDArray[np.int64]
    least: int
    most: int

    def allow(self, order: Sequence[int]) -> bool:
        """Return whether an order of the cities, or its beginning, keeps to the limits."""
        sums = np.cumsum(self.change[np.array(order, np.int64)])
        return bool(((self.least <= sums) & (sums <= self.most)).all())


def parts_of_tour(n: int, question: TourQuestion) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return `before`, `cities` and `after` of the core of an instance of n cities, which its costs do not change."""
    first = 0 if question.path == "cycle" and question.start is None else question.start
    before = () if first is None else (first,)
    after = () if question.end is None else (question.end,)
    return before, tuple(c for c in range(n) if c not in (*before, *after)), after


def core_of(tsp: Tsp, question: TourQuestion, cost: NDArray[np.int64] | None = None) -> Core:
    """Return the core of an instance, or of several with the same cities.

    Parameters
    ----------
    cost
        Shape (n, n) or (instances, n, n): the costs in place of the instance's own.
    """
    before, cities, after = parts_of_tour(tsp.n, question)
    m = len(cities)
    whole = tsp.cost if cost is None else cost
    if question.forbidden:
        whole = whole.copy()
        whole[(..., *np.array(question.forbidden).T)] = NO_ARC
    core = Core(question, np.full((*whole.shape[:-2], m + 1, m + 1), NO_ARC), before, cities, after)
    inner, nodes = np.array(cities, np.int64), np.arange(m + 1)
    core.cost[..., :m, :m] = whole[..., inner[:, None], inner]
    core.cost[..., m, :m] = whole[..., before[0], inner] if before else 0
    core.cost[..., :m, m] = whole[..., inner, core.last[0]] if core.last else 0
    core.cost[..., nodes, nodes] = NO_ARC
    if m == 0:  # no city but the ends: the tour is the arc from one to the other, if there are two
        core.cost[..., 0, 0] = whole[..., before[0], after[0]] if before and after and before != after else 0
    return core


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
        place does not matter. With "finish" it is a time, as `times` has it.
    before
        For each of the m cities the set of those that must precede it, as a bit mask; transitive.
    weights
        Shape (m + 1,), int64, for "add": the weights of the cities and the depot, none negative. The cost of an arc is
        multiplied by the weight of those that have not been reached when it begins. None: by 1.
    earliest, latest
        Shape (m + 1,), int64, for "finish", and for "add" with `times`: the window of each city, and of the end at the
        depot. The order leaves the depot at time 0.
    times
        Shape (m + 1, m + 1), int64, for "add" with windows: how long each arc takes, with the service of the city that
        it leaves, and from the depot with the time before the departure; `NO_ARC` where there is no arc. Waiting and
        service do not count in `cost`. None: there are no windows, or the costs are times ("finish").
    rates
        Shape (m + 1,), int64, with `times`: what each unit of the time adds to the value at which service begins at a
        city, and an order ends at the depot. None: nothing.
    travel, leave
        With windows and travel times by departure: those between the m cities and the depot, and shape (m + 1,): how
        long after the begin of the service a city is left, and when the depot is. Then `cost` and `times` have the
        times from the depot, and from a city the least ones.
    loads
        What the cities load, which rules out sets of them. None: nothing.
    offset
        What is added to the combined costs.
    by_place
        Whether costs depend on the place.
    """

    core: Core
    combine: str
    cost: NDArray[np.int64]
    before: tuple[int, ...]
    weights: NDArray[np.int64] | None = None
    earliest: NDArray[np.int64] | None = None
    latest: NDArray[np.int64] | None = None
    times: NDArray[np.int64] | None = None
    rates: NDArray[np.int64] | None = None
    travel: TravelTimes | None = None
    leave: NDArray[np.int64] | None = None
    loads: SetLoads | None = None
    offset: int = 0
    by_place: bool = field(init=False)

    def __post_init__(self) -> None:
        """Set `by_place` from the array's stride, which is 0 if all places have the same costs. A copy loses it."""
        object.__setattr__(self, "by_place", self.m > 0 and self.cost.strides[0] != 0)

    @property
    def m(self) -> int:
        """Number of cities beside the depot."""
        return len(self.before)

    def value(self, order: Sequence[int]) -> int | None:
        """Return the value of an order in scaled integers, or None if it breaks a constraint."""
        m, seen, value, time = self.m, 0, FREE if self.combine == "max" else 0, 0
        left = 1 if self.weights is None else sum(map(int, self.weights))
        if self.loads is not None and not self.loads.allow(order):
            return None
        for place, (tail, head) in enumerate(pairwise([m, *order, m])):
            cost = int(self.cost[place, tail, head])
            if cost == NO_ARC or (head < m and self.before[head] & ~seen):
                return None
            seen |= 1 << head
            if self.combine == "max":
                value = max(value, cost)
            elif self.combine == "add":
                value += cost * left
                left -= 0 if self.weights is None else int(self.weights[head])
            if self.earliest is not None and self.latest is not None:
                takes = cost if self.times is None else int(self.times[tail, head])
                if self.travel is not None and self.leave is not None:
                    after = int(self.leave[tail])
                    driven = self.travel.takes(tail, head, time + after)
                    value, takes = value + (driven - cost if self.rates is None else 0), after + driven
                time = max(time + takes, int(self.earliest[head]))
                if time > self.latest[head]:
                    return None
            value += 0 if self.rates is None else int(self.rates[head]) * time
            value = time if self.combine == "finish" else value
        return 0 if value == FREE else value + self.offset


def order_problem(tsp: Tsp, question: TourQuestion) -> OrderProblem:
    """Return the statement of a question, but of "lexicographic" the first of its two: the least dearest arc.

    Of "prize" it is that of the earliest end of a tour through all cities.

    `question_without_dearer` is the second question.

    Raises
    ------
    InputError
        Sums may not fit 62 bits.
    ResourceError
        So many cities that no method takes them.
    """
    question = _with_ends_from_precedence(tsp, question)
    if question.objective == "prize":  # the cost of legs is the time of the end where windows never close
        question = replace(question, objective="finish", windows=question.windows or all_day(tsp.n))
    m = len(parts_of_tour(tsp.n, question)[1])
    most = MOST_INNER_CITIES if question.windows is None else MOST_INNER_CITIES_WITH_WINDOWS
    if m > most:  # refused before a matrix is made, and before costs by place take n^3 bytes
        raise ResourceError(f"{tsp.n} cities are too many: held-karp takes at most {most + tsp.n - m} here; {FOR_MORE}")
    core, travel = _core_in_time(tsp, question)
    table = core.costs_by_place(tsp)
    if question.places is not None:
        table = table.copy()
        for k in range(m):
            table[k][:, :m][:, ~question.places[list(core.cities), k + len(core.before)]] = NO_ARC
    if not core.possible():
        table = np.broadcast_to(NO_ARC, table.shape)
    if question.objective in ("bottleneck", "lexicographic"):
        return OrderProblem(core, "max", core.with_free_depot(table), core.predecessors())
    problem = OrderProblem(core, "add", table, core.predecessors(), travel=travel, loads=core.loads())
    if question.windows is not None:
        problem = _with_windows(problem)
        if problem.combine == "finish":
            return problem
    elif question.objective == "latency":
        problem = replace(problem, weights=core.weights())
    known = np.where(problem.cost == NO_ARC, 0, np.abs(problem.cost))
    dearest = [int(layer.max()) for layer in known] if problem.by_place else [int(known.max())] * (m + 1)
    if sum(dearest) * (1 if problem.weights is None else sum(map(int, problem.weights))) > LARGEST_SUM:
        raise InputError("held-karp.objective: sums of weighted costs may exceed 62 bits; scale costs or weights down")
    return problem


def _core_in_time(tsp: Tsp, question: TourQuestion) -> tuple[Core, TravelTimes | None]:
    """Return the core, and its travel times by departure: then its costs are the least ones, from the depot the own."""
    given, windows = question.travel_times, question.windows
    if given is None or windows is None:
        return core_of(tsp, question), None
    core = core_of(tsp, question, given.tables.min(axis=0))
    travel = replace(given, tables=np.stack([core_of(tsp, question, table).cost for table in given.tables]))
    left = int(windows.earliest[core.before[0]] + windows.service[core.before[0]]) if core.before else 0
    core.cost[-1] = [travel.takes(-1, head, left) for head in range(len(core.cost))]
    return core, travel


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


def _with_windows(problem: OrderProblem) -> OrderProblem:
    """Return the problem with its windows. The time of an arc includes the service of the city that it leaves."""
    own, windows, m = problem.core, problem.core.question.windows, problem.m
    assert windows is not None
    cities, service, late = list(own.cities), 0, False
    leave = np.append(windows.service[cities], 0)
    earliest, latest = np.append(windows.earliest[cities], 0), np.append(windows.latest[cities], LARGEST_SUM)
    if own.before:  # the tour begins there when its window does
        first = own.before[0]
        leave[m] = windows.service[first] + windows.earliest[first]
        late = bool(windows.earliest[first] > windows.latest[first])
    if own.after:
        earliest[m], latest[m] = windows.earliest[own.after[0]], windows.latest[own.after[0]]
        service = int(windows.service[own.after[0]])
    elif own.last and m:
        latest[m] = windows.latest[own.last[0]]

    def timed(cost: NDArray[np.int64]) -> NDArray[np.int64]:
        missing = (cost == NO_ARC) | late
        return np.where(missing, NO_ARC, np.where(missing, 0, cost) + leave[:, None])

    if own.question.objective != "finish":
        cost = np.broadcast_to(NO_ARC, problem.cost.shape) if late else problem.cost
        problem = replace(problem, cost=cost, earliest=earliest, latest=latest, times=timed(own.cost),
                          leave=None if problem.travel is None else leave)
        return _with_rates(problem, windows) if own.question.objective == "latency" else problem
    cost = timed(problem.cost) if problem.by_place else np.broadcast_to(timed(problem.cost[0]), problem.cost.shape)
    return replace(problem, combine="finish", cost=cost, earliest=earliest, latest=latest,
                   leave=None if problem.travel is None else leave, offset=service)


def _with_rates(problem: OrderProblem, windows: Windows) -> OrderProblem:
    """Return the problem whose value is the sum of the weighted times at which service begins, and of the return."""
    own, weights = problem.core, problem.core.question.weights
    each = np.ones(len(windows.earliest), np.int64) if weights is None else weights
    reached = own.last if problem.m else own.after  # a single city is not reached again
    rates = np.append(each[list(own.cities)], each[list(reached)].sum())
    nothing = np.where(problem.cost == NO_ARC, NO_ARC, 0)
    begun = sum(int(each[city] * windows.earliest[city]) for city in own.before)
    return replace(problem, cost=nothing if problem.by_place else np.broadcast_to(nothing[0], nothing.shape),
                   rates=rates, offset=begun)

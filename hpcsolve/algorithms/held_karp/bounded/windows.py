"""Orders with time windows, and what the windows imply.

`tightened` repeats three rules until nothing changes. Windows shrink to the times at which the city can be reached, and
the tour still ends by the deadline. If a city cannot be reached in time after another one, it comes before that one. A
leg is removed if it misses a window, breaks a precedence, or skips a city that must come between its ends. Most are of
Y. Dumas, J. Desrosiers, E. Gelinas, M. M. Solomon: An optimal algorithm for the traveling salesman problem with time
windows, Operations Research 43, 1995.

Where travel times depend on the departure, these rules take the arrival of who leaves a city as early as its window
allows, and the latest begin with which a leg is in time (hours.py); sums of legs take the least times.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.hours import Hours, Times
from hpcsolve.algorithms.held_karp.bounded.layers import masks_of
from hpcsolve.algorithms.held_karp.problem import OrderProblem, SetLoads
from hpcsolve.problems.tsp import NO_ARC

NEVER = np.int64(1 << 61)
"""Stands for the time of what is never reached. The sum of three such times does not overflow."""


@dataclass(frozen=True, eq=False)
class TimedOrders:
    """m cities with time windows, between a departure from the depot at time 0 and the return to it.

    Attributes
    ----------
    time
        Shape (m + 1, m + 1), int64: how long each leg takes, with the service of the city that it leaves; index m is
        the depot; `NO_ARC` where no order can use the leg, and on the diagonal. With `hours` it is the least time of
        those that begin within the city's window.
    cost
        Same shape: what each leg costs; of a missing one it has no meaning. With `hours` it is the least travel time.
    earliest, latest
        Shape (m + 1,), int64: when service at each city may begin; the last entry is for the return to the depot, whose
        `latest` is the deadline. A traveller who arrives before `earliest` waits.
    before
        Shape (m, m), bool, transitive: before[i, j] where j comes before i.
    stands
        Shape (m + 1, m), bool: whether a city may stand at place 1 to m. Row 0 has no meaning.
    rates
        Shape (m + 1,), int64: what each unit of the time costs at which service begins at a city, or an order ends;
        or None.
    hours
        The legs with travel times by departure, or None.
    loads
        What the cities load, or None.
    """

    time: Times
    cost: NDArray[np.int64]
    earliest: Times
    latest: Times
    before: NDArray[np.bool_]
    stands: NDArray[np.bool_]
    rates: NDArray[np.int64] | None = None
    hours: Hours | None = None
    loads: SetLoads | None = None

    @property
    def cities(self) -> int:
        """The number m of cities beside the depot."""
        return len(self.before)

    @property
    def deadline(self) -> int:
        """When the depot must be reached again."""
        return int(self.latest[-1])

    def finish(self, order: Sequence[int]) -> int | None:
        """Return when the depot is reached again, or None if the order breaks a constraint."""
        m, seen = self.cities, np.zeros(self.cities, bool)
        if self.loads is not None and not self.loads.allow(order):
            return None
        for place, city in enumerate(order, 1):
            if not self.stands[place, city] or (self.before[city] & ~seen).any():
                return None
            seen[city] = True
        begins = self.schedule([m, *order, m], 0)
        return None if begins is None else begins[-1]

    def schedule(self, path: Sequence[int], begin: int) -> list[int] | None:
        """Return when service begins at each city of a path, or None if it has no such leg or misses a window.

        Parameters
        ----------
        path
            Cities. The last one may be the depot, where the time is that of the end.
        begin
            When service begins at the first one, or 0 at the depot.
        """
        (time, earliest, latest), begins = self._lists, [begin]
        for tail, head in pairwise(path):
            takes = time[tail][head]
            arrival = begin + takes if self.hours is None else self.hours.arrival(tail, head, begin)
            begin = max(arrival, earliest[head])
            if takes == NO_ARC or begin > latest[head]:
                return None
            begins.append(begin)
        return begins

    @cached_property
    def _lists(self) -> tuple[list[list[int]], list[int], list[int]]:
        """Times and windows as lists, whose items Python reads faster than those of arrays."""
        return self.time.tolist(), self.earliest.tolist(), self.latest.tolist()

    def value(self, order: Sequence[int]) -> int | None:
        """Return the sum of the costs of an order's legs and times, or None if it breaks a constraint."""
        whole = [self.cities, *order, self.cities]
        if self.finish(order) is None or (begins := self.schedule(whole, 0)) is None:
            return None
        of_times = 0 if self.rates is None else sum(map(operator.mul, self.rates[whole[1:]].tolist(), begins[1:]))
        return of_times + sum(int(self.cost[leg]) for leg in pairwise(whole)) + self.longer(whole, begins)

    def longer(self, path: Sequence[int], begins: Sequence[int]) -> int:
        """Return how much more the legs of a path cost than at least, where service begins at these times."""
        if self.hours is None or self.rates is not None:
            return 0
        legs = zip(pairwise(path), begins[:-1], strict=True)
        return sum(self.hours.arrival(*leg, begin) - begin - int(self.time[leg]) for leg, begin in legs)

    def arrivals(self, tail: Any, head: Any, begin: Any) -> Any:
        """Return when legs arrive that begin at these times, of all shapes broadcast, of missing legs anything."""
        return begin + self.time[tail, head] if self.hours is None else self.hours.arrivals(tail, head, begin)

    def begins(self, tail: Any, head: Any, by: Any) -> Any:
        """Return the latest begins with which legs arrive by these times, as `arrivals`."""
        return by - self.time[tail, head] if self.hours is None else self.hours.begins(tail, head, by)

    def horizon(self) -> int:
        """Return a time by which every order ends that waits only for windows to open, at most the deadline."""
        legs = np.where(self.time == NO_ARC, 0, self.time if self.hours is None else self.hours.most())
        return min(self.deadline, int(self.earliest.max()) + int(legs.max(axis=1).sum()))


def timed_orders(problem: OrderProblem) -> TimedOrders:
    """Return a problem with windows as one of timed orders. With "finish" the times of legs are their costs too."""
    assert problem.earliest is not None and problem.latest is not None
    m = problem.m
    before = np.array([[problem.before[i] >> j & 1 for j in range(m)] for i in range(m)], bool).reshape(m, m)
    legs = problem.cost.min(axis=0) if problem.by_place else problem.cost[0]  # `NO_ARC` is the largest cost
    legs = legs.copy()
    np.fill_diagonal(legs, NO_ARC)
    stands = np.ones((m + 1, m), bool)
    if problem.by_place:
        stands[1:] = (problem.cost[:m, :, :m] != NO_ARC).any(axis=1)
    times = legs if problem.times is None else np.where(legs == NO_ARC, NO_ARC, problem.times)
    hours = None if problem.travel is None or problem.leave is None else Hours.of(problem.travel, problem.leave)
    return TimedOrders(times, legs, problem.earliest, problem.latest, before, stands, problem.rates, hours,
                       problem.loads)


def shortest_times(problem: TimedOrders) -> Times:
    """Return the least time from each city or the depot to each other one through any cities, or `NEVER`."""
    times = np.where(problem.time == NO_ARC, NEVER, problem.time)
    np.fill_diagonal(times, 0)
    for middle in range(problem.cities):  # by Floyd and Warshall
        times = np.minimum(times, times[:, middle][:, None] + times[middle])
    return np.minimum(times, NEVER)


def due_times(latest: Times, shortest: Times) -> Times:
    """Return by when service must begin at each city to reach each other one in time, shape (m, m).

    There is no limit for a city itself.

    Parameters
    ----------
    latest
        Shape (m,): the ends of the windows.
    shortest
        As `shortest_times` returns them.
    """
    due = latest - shortest[:-1, :-1]
    np.fill_diagonal(due, NEVER)
    return due


def tightened(problem: TimedOrders, deadline: int, shortest: Times) -> TimedOrders | None:
    """Return the problem with narrower windows and fewer legs, or None if clearly no order ends by a deadline.

    It has the same orders that end by the deadline.

    Parameters
    ----------
    deadline
        The latest time of the return to the depot.
    shortest
        The `shortest_times` of the problem, or of one that has more orders.
    """
    legs = _Legs(problem, deadline, shortest)
    while legs.possible and legs.changed:
        legs.changed = False
        legs.narrow_windows()
        legs.drop_legs()
        if legs.possible and not legs.changed:
            legs.order_cities()
    return legs.problem() if legs.possible else None


class _Legs:
    """The legs, windows and precedences that are left."""

    def __init__(self, problem: TimedOrders, deadline: int, shortest: Times) -> None:
        self.given, self.shortest = problem, shortest
        self.time = np.where(problem.time == NO_ARC, NEVER, problem.time)
        self.earliest, self.latest = problem.earliest.copy(), np.minimum(problem.latest, NEVER)
        self.latest[-1] = min(self.latest[-1], deadline)
        self.before = problem.before.copy()
        self.possible, self.changed, self.every = True, True, np.arange(len(self.time))

    def narrow_windows(self) -> None:
        """Let each window begin and end with what the legs to it and from it allow."""
        m, a, b, time = self.given.cities, self.earliest, self.latest, self.time
        arrival = np.where(time < NEVER, self._arrivals(), NEVER).min(axis=0)[:m]
        leave = np.where(time < NEVER, self.given.begins(self.every[:, None], self.every, b), -NEVER).max(axis=1)[:m]
        back = b[m] - self.shortest[:m, m]
        follows = np.where(self.before.T, b[:m] - self.shortest[:m, :m], NEVER).min(axis=1, initial=NEVER)
        self._raise(np.maximum(a[:m], arrival))
        self._lower(np.minimum.reduce([b[:m], leave, back, follows]))

    def order_cities(self) -> None:
        """Put a city before those after which it cannot be reached in time, and let windows begin by these ways."""
        reached = self._reached()
        before = self.before | (reached >= NEVER)
        np.fill_diagonal(before, False)
        for middle in range(len(before)):  # the transitive closure, by Warshall
            before |= before[:, middle][:, None] & before[middle]
        self.changed |= bool((before != self.before).any())
        self.before = before
        self._raise(np.maximum(self.earliest[:-1], np.where(before, reached.T, 0).max(axis=1, initial=0)))
        self.possible &= not before.diagonal().any()

    def drop_legs(self) -> None:
        """Drop legs that miss a window, break a precedence, or leave out a city that must come between."""
        m, before = self.given.cities, self.before
        gone = self._arrivals() > self.latest
        after, ahead = (masks_of(table, -(-m // 64)) for table in (before.T, before))
        gone[:m, :m] |= before | (after[:, None] & ahead[None] != 0).any(axis=2)
        gone[m, :m] |= before.any(axis=1)
        gone[:m, m] |= before.any(axis=0)
        gone &= self.time < NEVER
        self.changed |= bool(gone.any())
        self.time[gone] = NEVER

    def problem(self) -> TimedOrders:
        """Return the problem that is left."""
        time = np.where(self.time < NEVER, self.time, NO_ARC)
        if self.given.hours is not None:
            least = self.given.hours.least(np.append(self.earliest[:-1], 0), np.append(self.latest[:-1], 0))
            time = np.where(self.time < NEVER, np.maximum(self.time, least), NO_ARC)
            cost = np.where(self.time < NEVER, time - self.given.hours.leave[:, None], NO_ARC)
            cost = cost if self.given.rates is None else self.given.cost
            return replace(self.given, time=time, cost=cost, earliest=self.earliest, latest=self.latest,
                           before=self.before)
        return replace(self.given, time=time, earliest=self.earliest, latest=self.latest, before=self.before)

    def _arrivals(self) -> Times:
        """Return when each leg arrives that begins as early as it can, shape (m + 1, m + 1)."""
        begin = np.append(self.earliest[:-1], 0)[:, None]
        arrivals: Times = self.given.arrivals(self.every[:, None], self.every, begin)
        return arrivals

    def _reached(self) -> Times:
        """Return when each city, by column, is reached at the earliest from each other one.

        It is `NEVER` where that is after the city's window. Each sweep through the cities, in the order of their
        windows, follows the legs from cities that have been reached sooner since their legs were last followed.
        """
        m = self.given.cities
        a, b, legs = self.earliest[:m], self.latest[:m], self.time[:m, :m] < NEVER
        reached, to_follow = np.where(np.eye(m, dtype=bool), a, NEVER), legs.copy()  # a row: the city reached
        while to_follow.any():
            for head in np.argsort(a, kind="stable").tolist():
                tails = np.flatnonzero(to_follow[:, head])
                if not len(tails):
                    continue
                to_follow[tails, head] = False
                arrival = self.given.arrivals(tails[:, None], head, reached[tails]).min(axis=0)
                arrival = np.where(arrival <= b[head], np.maximum(arrival, a[head]), NEVER)
                if (arrival < reached[head]).any():
                    reached[head] = np.minimum(reached[head], arrival)
                    to_follow[head] = legs[head]
        return reached.T

    def _raise(self, earliest: Times) -> None:
        self.changed |= bool((earliest > self.earliest[:-1]).any())
        self.earliest[:-1] = earliest
        self.possible &= bool((self.earliest <= self.latest).all())

    def _lower(self, latest: Times) -> None:
        self.changed |= bool((latest < self.latest[:-1]).any())
        self.latest[:-1] = latest
        self.possible &= bool((self.earliest <= self.latest).all())


def earliest_by_place(problem: TimedOrders) -> Times:
    """Return when each city may be reached at the earliest at each place 1 to m, shape (m + 1, m).

    It is `NEVER` where the city cannot stand there. Cities may be repeated on the way, so it is a lower bound.
    """
    m, reached = problem.cities, np.full((problem.cities + 1, problem.cities), NEVER)
    every, there, first = np.arange(m), problem.time[:m, :m] != NO_ARC, problem.time[m, :m]
    a, b = problem.earliest[:m], problem.latest[:m]
    ahead, behind = problem.before.sum(axis=1), problem.before.sum(axis=0)
    arrival = np.where(first == NO_ARC, NEVER, first)
    for place in range(1, m + 1):
        fits = problem.stands[place] & (ahead < place) & (behind <= m - place)
        arrival = np.maximum(arrival, a)
        reached[place] = np.where(fits & (arrival <= b), arrival, NEVER)
        arrival = np.where(there, problem.arrivals(every[:, None], every, reached[place][:, None]), NEVER).min(axis=0)
    return reached


def least_by_place(problem: TimedOrders, reached: Times) -> Times:
    """Return the least time of each leg between cities at each place that it leads from, shape (m + 1, m, m).

    Parameters
    ----------
    reached
        `earliest_by_place` of the problem, which has travel times by departure.
    """
    assert problem.hours is not None
    m = problem.cities
    least, legs = np.full((m + 1, m, m), NO_ARC), problem.time[:m, :m]
    for place in range(1, m):
        here = reached[place] < NEVER
        begin = np.append(np.where(here, reached[place], problem.latest[:m]), 0)
        times = problem.hours.least(begin, np.append(problem.latest[:m], 0))[:m, :m]
        least[place] = np.where((legs == NO_ARC) | ~here[:, None], NO_ARC, times)
    return least

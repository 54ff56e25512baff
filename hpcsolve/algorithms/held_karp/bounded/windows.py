"""Orders with time windows, and what the windows imply.

`tightened` repeats until nothing changes: windows shrink to what the legs from and to other cities and the return by
the deadline leave of them; a city that cannot be reached in time after another one comes before it; a leg goes that
misses a window, breaks a precedence, or leaves out a city that must come between. Most of these rules are those of
Y. Dumas, J. Desrosiers, E. Gelinas, M. M. Solomon: An optimal algorithm for the traveling salesman problem with time
windows, Operations Research 43, 1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.layers import masks_of
from hpcsolve.algorithms.held_karp.problem import OrderProblem, SetLoads
from hpcsolve.problems.tsp import NO_ARC

NEVER = np.int64(1 << 61)
"""The time at which a city is reached that cannot be reached. A sum of three does not overflow."""
Times = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TimedOrders:
    """m cities with time windows, between a departure from the depot at time 0 and the return to it.

    Attributes
    ----------
    time
        Shape (m + 1, m + 1), int64: how long each leg takes, with the service of the city that it leaves; index m is
        the depot; `NO_ARC` where no order can use the leg, and on the diagonal.
    cost
        Same shape: what is summed. Of a missing leg it has no meaning.
    earliest, latest
        Shape (m + 1,), int64: when service at each city may begin, and when an order may end at the depot: not later
        than its `latest`, the deadline. Who is there before its `earliest` waits.
    before
        Shape (m, m), bool, transitive: before[i, j] where j comes before i.
    stands
        Shape (m + 1, m), bool: whether a city may stand at place 1 to m. Row 0 has no meaning.
    loads
        What the cities load, or None.
    """

    time: Times
    cost: NDArray[np.int64]
    earliest: Times
    latest: Times
    before: NDArray[np.bool_]
    stands: NDArray[np.bool_]
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
        m, now, seen = self.cities, 0, np.zeros(self.cities, bool)
        if self.loads is not None and not self.loads.allow(order):
            return None
        for place, (tail, head) in enumerate(pairwise([m, *order, m]), 1):
            leg = int(self.time[tail, head])
            now = max(now + leg, int(self.earliest[head]))
            if leg == NO_ARC or now > self.latest[head]:
                return None
            if head < m:
                if not self.stands[place, head] or (self.before[head] & ~seen).any():
                    return None
                seen[head] = True
        return now

    def value(self, order: Sequence[int]) -> int | None:
        """Return the sum of the costs of an order's legs, or None if it breaks a constraint."""
        legs = pairwise([self.cities, *order, self.cities])
        return None if self.finish(order) is None else sum(int(self.cost[leg]) for leg in legs)

    def horizon(self) -> int:
        """Return a time by which every order has returned that has no reason to wait any longer."""
        legs = np.where(self.time == NO_ARC, 0, self.time)
        return min(self.deadline, int(self.earliest.max()) + int(legs.max(axis=1).sum()))


def timed_orders(problem: OrderProblem) -> TimedOrders:
    """Return the problem of orders with windows, whose latest return is that of its depot.

    With "finish" the times of legs are the costs too.
    """
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
    return TimedOrders(times, legs, problem.earliest, problem.latest, before, stands, problem.loads)


def shortest_times(problem: TimedOrders) -> Times:
    """Return the least time from each city or the depot to each other one through any cities, or `NEVER`."""
    times = np.where(problem.time == NO_ARC, NEVER, problem.time)
    np.fill_diagonal(times, 0)
    for middle in range(problem.cities):  # by Floyd and Warshall
        times = np.minimum(times, times[:, middle][:, None] + times[middle])
    return np.minimum(times, NEVER)


def tightened(problem: TimedOrders, deadline: int, shortest: Times) -> TimedOrders | None:
    """Return the problem of those orders alone that return by a deadline, or None if it is clear that there is none.

    Parameters
    ----------
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
        self.possible, self.changed = True, True

    def narrow_windows(self) -> None:
        """Let each window begin and end with what the legs to it and from it allow."""
        m, a, b, time = self.given.cities, self.earliest, self.latest, self.time
        arrival = np.minimum((self._departures() + time).min(axis=0), NEVER)[:m]
        leave = np.where(time < NEVER, b - time, -NEVER).max(axis=1)[:m]
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
        gone = self._departures() + self.time > self.latest
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
        return replace(self.given, time=time, earliest=self.earliest, latest=self.latest, before=self.before)

    def _departures(self) -> Times:
        """Return when each city and the depot is left at the earliest, shape (m + 1, 1)."""
        return np.append(self.earliest[:-1], 0)[:, None]

    def _reached(self) -> Times:
        """Return when each city, by column, is reached at the earliest from each other one.

        It is `NEVER` where that is after the city's window. Sweeps over the cities between, in the order of their
        windows, go on until nothing changes.
        """
        m = self.given.cities
        a, b, time = self.earliest[:m], self.latest[:m], self.time[:m, :m]
        reached, before = np.where(np.eye(m, dtype=bool), a, NEVER), np.zeros(0, np.int64)
        while not np.array_equal(reached, before):
            before = reached.copy()
            for middle in np.argsort(a, kind="stable").tolist():
                rows, columns = np.flatnonzero(reached[:, middle] < NEVER), np.flatnonzero(time[middle] < NEVER)
                arrival = np.maximum(reached[rows, middle][:, None] + time[middle, columns], a[columns])
                block = np.ix_(rows, columns)
                reached[block] = np.minimum(reached[block], np.where(arrival <= b[columns], arrival, NEVER))
        return reached

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
    time = np.where(problem.time == NO_ARC, NEVER, problem.time)
    a, b = problem.earliest[:m], problem.latest[:m]
    ahead, behind = problem.before.sum(axis=1), problem.before.sum(axis=0)
    arrival = time[m, :m]
    for place in range(1, m + 1):
        fits = problem.stands[place] & (ahead < place) & (behind <= m - place)
        arrival = np.maximum(arrival, a)
        reached[place] = np.where(fits & (arrival <= b), arrival, NEVER)
        arrival = (reached[place][:, None] + time[:m, :m]).min(axis=0)
    return reached

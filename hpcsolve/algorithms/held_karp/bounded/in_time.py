"""Orders that keep to time windows: a narrow search by time, and what is made of a relaxed tour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.windows import NEVER, TimedOrders, shortest_times
from hpcsolve.problems.tsp import NO_ARC

WIDTHS = (100, 800)
"""Widths of one search after another, until one finds an order."""


class InTime:
    """Finds and takes orders of one problem. It has the interface of `Improver`."""

    improves = False
    """Whether `improve` makes orders better."""

    def __init__(self, problem: TimedOrders) -> None:
        self.problem, self.shortest = problem, shortest_times(problem)

    def improve(self, orders: list[list[int]]) -> tuple[int, list[int]] | None:
        """Return the value and the best of some orders, or None if all break a constraint."""
        found = [(value, order) for order in orders if (value := self.problem.value(order)) is not None]
        return min(found, default=None)

    def from_relaxed(self, path: list[int]) -> tuple[int, list[int]] | None:
        """Return the value of a relaxed tour and the tour, or None if it is no order."""
        return self.improve([path] if sorted(path) == list(range(self.problem.cities)) else [])

    def from_nothing(self) -> tuple[int, list[int]] | None:
        """Return the order that a narrow search by time finds, or None."""
        order = next(filter(None, map(self._narrow, WIDTHS)), None)
        return None if order is None else self.improve([order])

    def close(self) -> None:
        """Do nothing."""

    def _narrow(self, width: int) -> list[int] | None:
        """Return an order from the states of least time, at most `width` of each number of cities, or None."""
        own, m = self.problem, self.problem.cities
        missing_legs, every = own.time == NO_ARC, np.arange(m)
        seen, last, now = np.zeros((1, m), bool), np.array([m]), np.zeros(1, np.int64)
        missing, comes_before = own.before.sum(axis=1, dtype=np.int16)[None], own.before.T.astype(np.int16)
        steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for place in range(1, m + 1):
            there = np.maximum(own.arrivals(last[:, None], every, now[:, None]), own.earliest[:m])
            there[missing_legs[last, :m]] = NEVER
            fits = ~seen & (missing == 0) & (there <= own.latest[:m]) & own.stands[place]
            if own.loads is not None:
                then = (seen @ own.loads.change)[:, None] + own.loads.change
                fits &= (own.loads.least <= then) & (then <= own.loads.most)
            state, city = np.nonzero(fits)
            order = np.argsort(there[state, city], kind="stable")
            state, city = state[order], city[order]
            state, city = self._kept(seen, state, city, there[state, city], width)
            if not len(state):
                return None
            steps.append((state, city))
            now, seen, last, missing = there[state, city], seen[state], city, missing[state] - comes_before[city]
            seen[np.arange(len(city)), city] = True
        now = np.where(missing_legs[last, m], NEVER, own.arrivals(last, m, now))
        at = int(now.argmin())
        if now[at] > own.latest[m]:
            return None
        found = list[int]()
        for state, city in reversed(steps):
            found.insert(0, int(city[at]))
            at = int(state[at])
        return found

    def _kept(self, seen: NDArray[np.bool_], state: NDArray[np.int64], city: NDArray[np.int64],
              there: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first `width` of the sorted extensions after which all other cities can be reached in time."""
        m, kept, known = self.problem.cities, list[int](), set[bytes]()
        for begin in range(0, len(state), width):
            some, to = state[begin : begin + width], city[begin : begin + width]
            left = ~seen[some]
            left[np.arange(len(to)), to] = False
            late = there[begin : begin + width, None] + self.shortest[to, :m] > self.problem.latest[:m]
            names = np.packbits(left, axis=1)
            for k in np.flatnonzero(~(left & late).any(axis=1)).tolist():
                name = names[k].tobytes() + bytes([int(to[k])])
                if name not in known:
                    known.add(name)
                    kept.append(begin + k)
            if len(kept) >= width:
                break
        return state[kept[:width]], city[kept[:width]]

"""Arrivals where travel times depend on the time of departure, for tables of legs at once.

A leg begins when service at the city that it leaves begins; that is left `leave` later. The arrival never falls if a
leg begins later (`TravelTimes`), so there is a latest begin with which a leg arrives by some time. It lies behind the
last table with which the leg arrives by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC

Times = NDArray[np.int64]
LONGEST = 2**31 - 1
"""The most time that the kernels of layers have. Who takes longer returns too late."""


@dataclass(frozen=True, eq=False)
class Hours:
    """The legs between m cities and the depot, of index m, with travel times by departure.

    Attributes
    ----------
    travel
        Travel times between the m + 1 places. Of legs without an arc they are 0, so that no sum overflows.
    leave
        Shape (m + 1,), int64: how long after the begin of a leg its city is left. The depot's legs begin at 0 alone.
    """

    travel: TravelTimes
    leave: Times

    @classmethod
    def of(cls, travel: TravelTimes, leave: Times) -> Hours:
        """Return the legs of these travel times."""
        return cls(TravelTimes(travel.departures, np.where(travel.tables == NO_ARC, 0, travel.tables)), leave)

    @property
    def departures(self) -> Times:
        """The times of departure of the tables, shape (k,)."""
        return self.travel.departures

    @property
    def tables(self) -> NDArray[np.int64]:
        """The travel times, shape (k, m + 1, m + 1)."""
        return self.travel.tables

    def arrival(self, tail: int, head: int, begin: int) -> int:
        """Return when a leg arrives that begins at this time, as `arrivals` does for many."""
        left = begin + int(self.leave[tail])
        return left + self.travel.takes(tail, head, left)

    def arrivals(self, tail: NDArray[np.int64], head: NDArray[np.int64], begin: Times) -> Times:
        """Return when legs arrive that begin at these times. All shapes are broadcast."""
        left = begin + self.leave[tail]
        return left + self._takes(tail, head, left)

    def begins(self, tail: NDArray[np.int64], head: NDArray[np.int64], by: Times) -> Times:
        """Return the latest begins, perhaps below 0, with which legs arrive by these times, as `arrivals`."""
        tail, head, by = np.broadcast_arrays(tail, head, by)
        times, last = self.departures, len(self.departures) - 1
        table = np.full(tail.shape, -1)  # the last one with which the leg arrives in time
        for at, time in enumerate(times.tolist()):
            table += time + self.tables[at, tail, head] <= by
        first, second = np.maximum(table, 0), np.minimum(np.maximum(table, 0) + 1, last)
        takes, left = self.tables[first, tail, head], by - times[first] - self.tables[first, tail, head]
        between, longer = times[second] - times[first], self.tables[second, tail, head] - takes
        # The largest x with x + floor(longer x / between) <= left.
        inner = (table >= 0) & (table < last)
        room = np.where(inner, left, 0)
        x = np.where(inner, ((room + 1) * between - 1) // np.maximum(between + longer, 1), left)
        begins: Times = times[first] + x - self.leave[tail]
        return begins

    def least(self, earliest: Times, latest: Times) -> Times:
        """Return the least time from begin to arrival of each leg that begins in its city's range, shapes (m + 1,)."""
        first, last = earliest + self.leave, latest + self.leave
        every = np.arange(len(self.leave))
        found = np.minimum(*(self._takes(every[:, None], every, left[:, None]) for left in (first, last)))
        for time, table in zip(self.departures.tolist(), self.tables):
            inside = (first < time) & (time < last)
            found[inside] = np.minimum(found[inside], table[inside])
        least: Times = found + self.leave[:, None]
        return least

    def most(self) -> Times:
        """Return the most time from begin to arrival of each leg, shape (m + 1, m + 1)."""
        most: Times = self.tables.max(axis=0) + self.leave[:, None]
        return most

    def layer_tables(self) -> dict[str, NDArray[Any]]:
        """Return the travel times between cities as the kernels of layers have them."""
        return {"departures": self.departures, "travel": self.tables[:, :-1, :-1].astype(np.uint32),
                "leave": np.minimum(self.leave[:-1], LONGEST).astype(np.uint32)}

    def _takes(self, tail: NDArray[np.int64], head: NDArray[np.int64], left: Times) -> Times:
        """Return how long legs take whose cities are left at these times."""
        times, last = self.departures, len(self.departures) - 1
        at = np.minimum(np.maximum(left, times[0]), times[-1])
        first = np.searchsorted(times, at, side="right") - 1
        second = np.minimum(first + 1, last)
        takes = self.tables[first, tail, head]
        longer = (self.tables[second, tail, head] - takes) * (at - times[first])
        found: Times = takes + longer // np.maximum(times[second] - times[first], 1)
        return found

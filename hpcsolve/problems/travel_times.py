"""Travel times that depend on the time of departure, such as those of rush hours.

They are tables of the time from each city to each other one, for some times of departure. Between two of these times
the travel time is linear in the departure, before the first and after the last one it is constant, and it is rounded
down to an integer. Who leaves at t by an arc that takes a in the table of the time T, and b in that of the next time U,
travels a + floor((b - a) (t - T) / (U - T)).

A later departure must not arrive earlier (FIFO: first in, first out), so that nobody gains by waiting. Between two
times of departure the arrival t + a + (b - a) (t - T) / (U - T) is linear. So it never falls if T + a <= U + b, and
rounding down keeps that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import NO_ARC


@dataclass(frozen=True, eq=False)
class TravelTimes:
    """Travel times between n cities by time of departure, in scaled integers.

    Attributes
    ----------
    departures
        Shape (k,), int64, ascending: the times of departure of the tables.
    tables
        Shape (k, n, n), int64: travel times of at least 0; `NO_ARC` where there is no arc, in all tables alike.
    """

    departures: NDArray[np.int64]
    tables: NDArray[np.int64]

    def takes(self, tail: int, head: int, departure: int) -> int:
        """Return how long the arc from `tail` to `head` takes at a time of departure, or `NO_ARC` if there is none."""
        times = self.departures.tolist()
        after = bisect_right(times, departure)
        if after == 0 or after == len(times):
            return int(self.tables[max(after - 1, 0), tail, head])
        begin, end = times[after - 1], times[after]
        first, second = int(self.tables[after - 1, tail, head]), int(self.tables[after, tail, head])
        return first if first == NO_ARC else first + (second - first) * (departure - begin) // (end - begin)

    def overtaking(self) -> tuple[int, int, int] | None:
        """Return the first arc on which a later departure arrives earlier, and the table before, or None.

        That is the position of the table of the earlier departure, the tail and the head.
        """
        for k, length in enumerate(np.diff(self.departures).tolist()):
            there = self.tables[k] != NO_ARC
            found = np.argwhere(there & (self.tables[k + 1] < self.tables[k] - length))
            if len(found):
                return k, int(found[0][0]), int(found[0][1])
        return None

    def too_large(self) -> bool:
        """Return whether the time between two departures, times what a leg takes longer and itself, exceeds 62 bits."""
        changes = (int(np.abs(np.where(one == NO_ARC, 0, other - one)).max(initial=0)) for one, other in zip(
            self.tables, self.tables[1:]))
        products = ((length + change) * length for length, change in zip(np.diff(self.departures).tolist(), changes))
        return max(products, default=0) > LARGEST_SUM

"""Recovery of the tour from the state where its halves meet.

Each half is a problem of about half the cities, which is solved in the same way until it is small enough for one table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.lattice import planes, small
from hpcsolve.algorithms.held_karp.lattice.half_run import Statistics
from hpcsolve.algorithms.held_karp.lattice.plan import BINOMIAL, plan
from hpcsolve.algorithms.held_karp.lattice.planes import Meeting
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import FEWEST_CITIES, Split, split_cities
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm


def order_through(meeting: Meeting, reduced: ReducedCosts, split: Split, device: Device) -> list[int]:
    """Return the m cities in the order of the best tour, which starts and ends at the depot."""
    m = split.cities
    first, city = cities_before(meeting, split), split.low + meeting.city
    rest = [c for c in range(m) if c not in first and c != city]
    before_value, before = _half(reduced, first, leave=m, reach=city, device=device)
    after_value, after = _half(reduced, rest, leave=city, reach=m, device=device)
    if before_value + after_value != meeting.value:
        raise AssertionError(f"the halves cost {before_value} + {after_value}, the tour {meeting.value}")
    return [*before, city, *after]


def cities_before(meeting: Meeting, split: Split) -> list[int]:
    """Return the cities that the best tour visits before the meeting's city, ascending."""
    rank, low_set = divmod(meeting.entry, 1 << split.low)
    squeezed, size = 0, split.middle
    for element in range(split.mid - 2, -1, -1):
        if size and BINOMIAL[element, size] <= rank:
            squeezed |= 1 << element
            rank -= int(BINOMIAL[element, size])
            size -= 1
    below = (1 << meeting.city) - 1
    mid_set = (squeezed & below) | (squeezed & ~below) << 1
    whole = low_set | mid_set << split.low | meeting.top_set << (split.low + split.mid)
    return [c for c in range(split.cities) if whole >> c & 1]


def cheapest_order(reduced: ReducedCosts, device: Device) -> tuple[int, list[int]] | None:
    """Return the cost and the order of a problem's cheapest tour, found by one rank, or None if there is no tour."""
    if len(reduced.cost) - 1 < FEWEST_CITIES:
        return small.cheapest_order(np.where(reduced.cost < reduced.infinity, reduced.cost, small.INFINITE))
    split = split_cities(len(reduced.cost) - 1)
    part = plan(split, 1, 0, reduced.symmetric, reduced.itemsize)
    meeting = planes.meet(reduced, part, device, SerialComm(), silent, Statistics())
    if meeting.value >= reduced.infinity:
        return None
    return meeting.value, order_through(meeting, reduced, split, device)


def _half(reduced: ReducedCosts, cities: list[int], leave: int, reach: int, device: Device) -> tuple[int, list[int]]:
    """Return the cost and the order of a cheapest path from `leave` through all of `cities` to `reach`."""
    m = len(cities)
    cost: NDArray[np.int64] = np.full((m + 1, m + 1), reduced.infinity, np.int64)
    cost[:m, :m] = reduced.cost[np.ix_(cities, cities)]
    cost[m, :m], cost[:m, m] = reduced.cost[leave, cities], reduced.cost[cities, reach]
    if m == 0:
        return int(reduced.cost[leave, reach]), []
    part = ReducedCosts(cost, reduced.itemsize, 1, 0, True, None)
    found = cheapest_order(part, device)
    if found is None:
        raise AssertionError("half of a tour that exists has no path")
    return found[0], [cities[i] for i in found[1]]

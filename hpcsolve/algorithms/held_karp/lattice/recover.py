"""Which cheapest tour is the answer: the one whose last city is the smallest, of these the one whose last but one is...

The dynamic program keeps its middle layer alone, so the tour is found from two problems of about half the cities, which
are solved in the same way until they are small enough for one table. Where several states of the middle layer are on
cheapest tours, these tours are compared. Where the states are too many to be listed, the cities are found one by one,
from the last: each is the smallest that leaves a problem, with one city less, of the right cost.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report, silent
from hpcsolve.algorithms.held_karp.lattice.planes import Meeting, Meetings, meet
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import BINOMIAL, FEWEST_SPLIT, Split, share_of, split_cities
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, without_writer
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm, SerialComm

Found = tuple[int, list[int]]
"""The cost of the cheapest tours, and the order of the one that is chosen."""
NO_PATH = np.int64(1) << 60


def cheapest_order(
    reduced: ReducedCosts, device: Device, comm: Comm, statistics: list[Statistics], report: Report = silent,
    checkpoints: Checkpoints = NONE,
) -> Found | None:
    """Return the cost and the order of the chosen tour, or None if there is no tour. Collective.

    Parameters
    ----------
    statistics
        To which those of each run of the dynamic program over all ranks are appended.
    """
    depot = reach = len(reduced.cost) - 1
    least = _least(reduced, device, comm, statistics, report, checkpoints)
    if least is None:
        return None
    value = left = least[0]
    cities, after, checkpoints = list(range(depot)), list[int](), without_writer(checkpoints)
    while least[1] is None:
        for last in cities:
            before, part = [c for c in cities if c != last], left - int(reduced.cost[last, reach])
            path = _path(reduced, before, depot, last)
            found = _least(path, device, comm, statistics, silent, checkpoints) if part >= 0 else None
            if found is not None and found[0] == part:
                break
        else:
            raise AssertionError(f"no tour costs {value}")
        least, cities, left, reach, after = found, before, part, last, [last, *after]
    order = comm.bcast(least[1]() if comm.rank == 0 else [])
    return value, [cities[i] for i in order] + after


def _least(
    reduced: ReducedCosts, device: Device, comm: Comm, statistics: list[Statistics], report: Report,
    checkpoints: Checkpoints,
) -> tuple[int, Callable[[], list[int]] | None] | None:
    """Return the cost of a cheapest tour and a function that returns the chosen one, or None if there is no tour.

    Instead of the function there is None if too many states are on cheapest tours. Collective.
    """
    m = len(reduced.cost) - 1
    if m < FEWEST_SPLIT:
        found = cheapest_in_one_table(np.where(reduced.cost < reduced.no_path, reduced.cost, NO_PATH))
        return None if found is None else (found[0], lambda: found[1])
    split = split_cities(m)
    part = share_of(split, comm.size, comm.rank, reduced.symmetric, reduced.itemsize)
    statistics.append(Statistics())
    meetings = meet(reduced, part, device, comm, report, statistics[-1], checkpoints)
    if meetings.value >= reduced.no_path:
        return None
    return meetings.value, partial(_order_through, meetings, reduced, split, device) if meetings.complete else None


def _order_through(meetings: Meetings, reduced: ReducedCosts, split: Split, device: Device) -> list[int]:
    """Return the m cities in the order of the chosen one of the tours through these states."""
    m = split.cities

    def backwards(meeting: Meeting) -> list[int]:
        first, city = cities_before(meeting, split), split.low + meeting.city
        rest = [c for c in range(m) if c not in first and c != city]
        before_value, before = _half(reduced, first, leave=m, reach=city, device=device)
        after_value, after = _half(reduced, rest, leave=city, reach=m, device=device)
        if before_value + after_value != meetings.value:
            raise AssertionError(f"the halves cost {before_value} + {after_value}, the tour {meetings.value}")
        return [*before, city, *after][::-1]

    return min(map(backwards, meetings.states))[::-1]


def cities_before(meeting: Meeting, split: Split) -> list[int]:
    """Return the cities that a tour visits before the meeting's city, ascending."""
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


def _half(reduced: ReducedCosts, cities: list[int], leave: int, reach: int, device: Device) -> Found:
    """Return the cost and the order of the chosen path from `leave` through all of `cities` to `reach`."""
    if not cities:
        return int(reduced.cost[leave, reach]), []
    found = cheapest_order(_path(reduced, cities, leave, reach), device, SerialComm(), [])
    if found is None:
        raise AssertionError("half of a tour that exists has no path")
    return found[0], [cities[i] for i in found[1]]


def _path(reduced: ReducedCosts, cities: list[int], leave: int, reach: int) -> ReducedCosts:
    """Return the problem of a path from `leave` through all of `cities` to `reach`."""
    m = len(cities)
    cost: NDArray[np.int64] = np.full((m + 1, m + 1), reduced.no_path, np.int64)
    cost[:m, :m] = reduced.cost[np.ix_(cities, cities)]
    cost[m, :m], cost[:m, m] = reduced.cost[leave, cities], reduced.cost[cities, reach]
    return ReducedCosts(cost, reduced.itemsize, 1, 0, True, None)


def cheapest_in_one_table(cost: NDArray[np.int64]) -> tuple[int, list[int]] | None:
    """Return the cost and the order of a cheapest tour from the depot through all cities.

    Parameters
    ----------
    cost
        Shape (m + 1, m + 1), the depot last; `NO_PATH` or more where there is no arc. Time m^2 2^m, memory m 2^m
        values.

    Returns
    -------
        The cost and the cities 0..m-1 in their order (of equal tours the one whose last city is the smallest, and so
        on backwards); None if there is no tour.
    """
    m = len(cost) - 1
    if m == 0:
        return (int(cost[0, 0]), []) if cost[0, 0] < NO_PATH else None
    # best[S, j]: the cheapest path from the depot through all of S that ends in its member j.
    best = np.full((1 << m, m), NO_PATH)
    best[1 << np.arange(m), np.arange(m)] = cost[m, :m]
    for sets in _sets_by_size(m)[2:]:
        for j in range(m):
            ending = sets[sets >> j & 1 == 1]
            arrive = best[ending ^ (1 << j)] + np.minimum(cost[:m, j], NO_PATH)
            best[ending, j] = np.minimum(arrive.min(axis=1), NO_PATH)
    closed = best[-1] + np.minimum(cost[:m, m], NO_PATH)
    value = int(closed.min())
    return None if value >= NO_PATH else (value, _walk_back(best, cost, int(closed.argmin())))


def _walk_back(best: NDArray[np.int64], cost: NDArray[np.int64], last: int) -> list[int]:
    m = len(cost) - 1
    order, left = [last], (1 << m) - 1 ^ 1 << last
    while left:
        before = int((best[left] + cost[:m, order[-1]]).argmin())
        order.append(before)
        left ^= 1 << before
    return order[::-1]


def _sets_by_size(m: int) -> list[NDArray[np.int64]]:
    sets = np.arange(1 << m)
    sizes = sum((sets >> bit & 1 for bit in range(m)), np.zeros_like(sets))
    return [sets[sizes == size] for size in range(m + 1)]

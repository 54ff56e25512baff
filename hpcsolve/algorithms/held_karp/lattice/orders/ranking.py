"""More than one order of a filled table: the number of optimal orders, and the best orders in order of their value.

Both go from the end of the orders to their beginning. A suffix of an order is a function of the value at which its
first city is reached: max(value + added, least), if the value is at most `limit`. With the table's exact value of the
best path to each state, the best order with each suffix is known at once, so nothing is looked at that is not used
(A* with an exact bound).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.algorithms.held_karp.lattice.orders.encode import Encoded
from hpcsolve.algorithms.held_karp.lattice.orders.walk import Read, best_value

MOST_COUNTED = 2**64 - 1
"""The largest number of orders that is counted, which stands for that many or more."""
END = np.dtype([("visited", np.uint32), ("city", np.int32), ("limit", np.int64), ("number", np.uint64)])
"""Ends of optimal orders: the set of cities before them, their first city (or the depot), the largest value at which
that may be reached, and how many ends these are, saturated."""
Ends = NDArray[Any]
"""Shape (ends,), of type `END`."""
ENDS_AT_A_TIME = 1 << 16
MOST_UNMERGED = 1 << 22
"""Ends of orders that are looked at together, and above which equal ones are merged: some hundred MB of memory."""
_NEVER = 2**63
_LOW, _HALF = np.uint64(2**32 - 1), np.uint64(32)


@dataclass(frozen=True, order=True)
class Suffix:
    """The end of orders. Suffixes are compared by the best value, then by the last city, the last but one, and so on.

    Attributes
    ----------
    value
        The value of the best order with this end.
    backwards
        Its cities, the last one first.
    left
        The set of the cities before it, a bit mask.
    added, least, limit
        The function of the value at its first city, as above.
    """

    value: int
    backwards: tuple[int, ...]
    left: int
    added: int
    least: int
    limit: int


def count_optimal(encoded: Encoded, read: Read) -> int:
    """Return the number of optimal orders, 0 if there is none and at most `MOST_COUNTED`. Collective."""
    value = best_value(encoded, read)
    if value is None:
        return 0
    ends = _ends([(1 << encoded.m) - 1], [encoded.m], [value], [1])
    for size in range(encoded.m, 0, -1):
        longer = _ends([], [], [], [])
        for at in range(0, len(ends), ENDS_AT_A_TIME):
            longer = np.concatenate([longer, _with_city_before(encoded, read, size, ends[at : at + ENDS_AT_A_TIME])])
            longer = _merged(longer) if len(longer) > MOST_UNMERGED else longer
        ends = _merged(longer)
    total = sum(map(int, ends["number"]))
    return min(total, MOST_COUNTED)


def _ends(visited: ArrayLike, city: ArrayLike, limit: ArrayLike, number: ArrayLike) -> Ends:
    ends = np.empty(np.size(visited), END)
    for name, values in (("visited", visited), ("city", city), ("limit", limit), ("number", number)):
        ends[name] = values
    return ends


def _merged(ends: Ends) -> Ends:
    """Return the ends with equal ones counted together."""
    if not len(ends):
        return ends
    state = ends["visited"].astype(np.int64) << 5 | ends["city"]
    order = np.lexsort([ends["limit"], state])
    state, limit, number = state[order], ends["limit"][order], ends["number"][order]
    first = np.flatnonzero(np.append(True, (np.diff(state) != 0) | (np.diff(limit) != 0)))
    low = np.add.reduceat(number & _LOW, first)  # sums of 32-bit halves do not wrap
    high = np.add.reduceat(number >> _HALF, first) + (low >> _HALF)
    total = np.where(high > _LOW, np.uint64(MOST_COUNTED), high << _HALF | low & _LOW)
    merged = ends[order[first]]
    merged["number"] = np.minimum(total, np.uint64(MOST_COUNTED))
    return merged


def _with_city_before(encoded: Encoded, read: Read, size: int, ends: Ends) -> Ends:
    """Return the ends with one more city before each, those alone that are ends of optimal orders.

    Parameters
    ----------
    size
        The number of cities before each of the ends, at least 1.
    """
    m, none, one = encoded.m, encoded.no_path, np.uint32(1)
    inside = (ends["visited"][:, None] >> np.arange(m, dtype=np.uint32) & one).astype(bool)
    end, last = np.nonzero(inside)
    before = ends["visited"][end] & ~(one << last.astype(np.uint32))
    paths = read(before, last)
    arcs = encoded.back[last] if size == m else encoded.cost[encoded.place(size), last, ends["city"][end]]
    costs = arcs.astype(np.int64)
    reached = (paths < none) & (costs < none)
    end, last, before, paths, costs = (column[reached] for column in (end, last, before, paths, costs))
    limit = ends["limit"][end]
    if encoded.join == "dearest":
        kept = np.maximum(paths, costs) <= limit
    else:
        weight = encoded.weight[:m].astype(np.int64) if encoded.join == "multiply" else np.zeros(m, np.int64)
        limit = limit - costs * (encoded.factor + inside @ weight)[end]
        kept = paths <= limit
        limit = np.minimum(limit, encoded.latest[last].astype(np.int64))
    return _ends(before[kept], last[kept], limit[kept], ends["number"][end[kept]])


def best_orders(encoded: Encoded, read: Read, most: int) -> list[tuple[int, list[int]]]:
    """Return up to `most` best orders with their values in the kernel's integers. Collective.

    Of equally good ones that with the smallest last city comes first, and so on backwards.
    """
    return list(islice(_in_order(encoded, read), most))


def _in_order(encoded: Encoded, read: Read) -> Iterator[tuple[int, list[int]]]:
    whole = (1 << encoded.m) - 1
    waiting = _longer(encoded, read, Suffix(0, (), whole, 0, -_NEVER, _NEVER))
    heapq.heapify(waiting)
    while waiting:
        suffix = heapq.heappop(waiting)
        if not suffix.left:
            yield suffix.value, list(suffix.backwards[::-1])
            continue
        for longer in _longer(encoded, read, suffix):
            heapq.heappush(waiting, longer)


def _longer(encoded: Encoded, read: Read, suffix: Suffix) -> list[Suffix]:
    """Return the suffixes with one more city before, those alone that an order has."""
    city = suffix.backwards[-1] if suffix.backwards else encoded.m
    members = [i for i in range(encoded.m) if suffix.left >> i & 1]
    paths = read([suffix.left & ~(1 << i) for i in members], members).tolist()
    found = []
    for last, path in zip(members, paths):
        added, least, limit = _before(encoded, suffix, last, city)
        if path < encoded.no_path and path <= limit:
            value = max(path + added, least)
            found.append(Suffix(value, (*suffix.backwards, last), suffix.left & ~(1 << last), added, least, limit))
    return found


def _before(encoded: Encoded, suffix: Suffix, last: int, city: int) -> tuple[int, int, int]:
    """Return `added`, `least` and `limit` of a suffix with the city `last` put before its first city, `city`."""
    end = city == encoded.m
    cost = int(encoded.back[last] if end else encoded.cost[encoded.place(suffix.left.bit_count()), last, city])
    if cost >= encoded.no_path:
        return 0, 0, -_NEVER
    if encoded.join == "dearest":
        return 0, max(suffix.least, cost), _NEVER
    cost *= encoded.factor_after(suffix.left)
    earliest = encoded.depot_earliest if end else int(encoded.earliest[city])
    latest = encoded.depot_latest if end else int(encoded.latest[city])
    return suffix.added + cost, max(suffix.least, earliest + suffix.added), min(latest, suffix.limit) - cost

"""More than one order of a filled table: the number of optimal orders, and the best orders in order of their value.

Both go from the end of the orders to their beginning. A suffix of an order is a function of the value at which its
first city is reached: max(value + added, least), if the value is at most `limit`. With the table's exact value of the
best path to each state, the best order with each suffix is known at once, so nothing is looked at that is not used
(A* with an exact bound).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from hpcsolve.algorithms.held_karp.encode import Encoded
from hpcsolve.algorithms.held_karp.walk import Read, arrivals, best_value, limit_before

MOST_COUNTED = 2**64 - 1
"""The largest number of orders that is counted, which stands for that many or more."""
_NEVER = 2**63


@dataclass(frozen=True, order=True)
class Suffix:
    """The end of orders, ordered by the value of the best of them, then by the smallest last city, and so on."""

    value: int
    backwards: tuple[int, ...]
    left: int
    added: int
    least: int
    limit: int


def count_optimal(encoded: Encoded, read: Read) -> int:
    """Return the number of optimal orders, 0 if there is none and at most `MOST_COUNTED`. Collective."""
    value, whole = best_value(encoded, read), (1 << encoded.m) - 1
    if value is None:
        return 0
    ends = {(whole, encoded.m, value): 1}
    for _ in range(encoded.m):
        longer: dict[tuple[int, int, int], int] = defaultdict(int)
        members = [(state, [i for i in range(encoded.m) if state[0] >> i & 1]) for state in ends]
        asked = [(visited & ~(1 << i), i) for (visited, _, _), some in members for i in some]
        paths = dict(zip(asked, read([s for s, _ in asked], [i for _, i in asked])))

        def known(sets: Sequence[int], cities: Sequence[int], paths: dict[tuple[int, int], int] = paths) -> list[int]:
            return [paths[state] for state in zip(sets, cities)]

        for (visited, city, limit), number in ends.items():
            for last, arrival in arrivals(encoded, known, visited, city):
                if arrival <= limit:
                    state = visited & ~(1 << last), last, limit_before(encoded, limit, visited, last, city)
                    longer[state] = min(longer[state] + number, MOST_COUNTED)
        ends = longer
    return min(sum(ends.values()), MOST_COUNTED)


def best_orders(encoded: Encoded, read: Read, most: int) -> list[tuple[int, list[int]]]:
    """Return the best orders with their values in the kernel's integers, at most so many. Collective.

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
    """Return the suffixes with one more city before, as far as an order has them."""
    city = suffix.backwards[-1] if suffix.backwards else encoded.m
    members = [i for i in range(encoded.m) if suffix.left >> i & 1]
    paths = read([suffix.left & ~(1 << i) for i in members], members)
    found = []
    for last, path in zip(members, paths):
        added, least, limit = _before(encoded, suffix, last, city)
        if path < encoded.no_path and path <= limit:
            value = max(path + added, least)
            found.append(Suffix(value, (*suffix.backwards, last), suffix.left & ~(1 << last), added, least, limit))
    return found


def _before(encoded: Encoded, suffix: Suffix, last: int, city: int) -> tuple[int, int, int]:
    """Return how the value at a suffix's end follows from that at the city before it."""
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

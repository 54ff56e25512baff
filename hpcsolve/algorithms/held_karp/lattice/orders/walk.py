"""The best order of a filled table, from its last city to its first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.algorithms.held_karp.lattice.orders.encode import Encoded

Read = Callable[[ArrayLike, ArrayLike], NDArray[np.int64]]
"""Returns the states of sets and cities."""


def arrivals(encoded: Encoded, read: Read, visited: int, city: int) -> list[tuple[int, int]]:
    """Return the last cities of a set with the value of the best path through the set to the city after it.

    Parameters
    ----------
    visited
        The set, a bit mask that is not empty.
    city
        The city after the set, `encoded.m` for the depot.
    """
    m = encoded.m
    members = [i for i in range(m) if visited >> i & 1]
    paths = read([visited & ~(1 << i) for i in members], members).tolist()
    costs = encoded.back if city == m else encoded.cost[encoded.place(len(members)), :, city]
    factor = encoded.factor_after(visited)
    return [(i, encoded.joined(path, int(costs[i]), factor)) for i, path in zip(members, paths)]


def limit_before(encoded: Encoded, limit: int, visited: int, last: int, city: int) -> int:
    """Return what a path to the last city of a set may take at most, if that to the city after it may take `limit`."""
    if encoded.join == "dearest":
        return limit
    costs = encoded.back if city == encoded.m else encoded.cost[encoded.place(visited.bit_count()), :, city]
    left = limit - int(costs[last]) * encoded.factor_after(visited)
    return min(left, int(encoded.latest[last]))


def best_value(encoded: Encoded, read: Read) -> int | None:
    """Return the value of the best order in the kernel's integers, or None if there is no order."""
    ends = [value for _, value in arrivals(encoded, read, (1 << encoded.m) - 1, encoded.m)]
    value = max(min(ends), encoded.depot_earliest)
    return None if min(ends) >= encoded.no_path or value > encoded.depot_latest else value


def best_order(encoded: Encoded, read: Read) -> tuple[int, list[int]] | None:
    """Return the best value in the kernel's integers and its order, or None if there is no order.

    Of equally good orders it is the one whose last city is the smallest, and so on backwards.
    """
    value = best_value(encoded, read)
    if value is None:
        return None
    limit, visited, city, order = value, (1 << encoded.m) - 1, encoded.m, list[int]()
    while visited:
        last = next(i for i, arrival in arrivals(encoded, read, visited, city) if arrival <= limit)
        limit = limit_before(encoded, limit, visited, last, city)
        order.append(last)
        visited, city = visited & ~(1 << last), last
    return value, order[::-1]

"""Which of equally good orders is the answer: the same that the lattice returns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.keys import Keys, contains, last_cities, masks_of
from hpcsolve.algorithms.held_karp.bounded.trace import Optimal
from hpcsolve.algorithms.held_karp.lattice.split import FEWEST_CITIES, split_cities

Alive = list[NDArray[np.bool_]]
"""For each place 1 to m, at index place - 1, which optimal states are on an order that may still be chosen."""


def with_reversed(found: Optimal, cities: int) -> Optimal:
    """Return the graph of some optimal orders and of the same orders reversed.

    The reversed order has the state (complement of the set, together with i; i) where the order has (set, i).
    """
    every = masks_of(np.ones((1, cities), bool), found.keys[0].shape[1])
    single = masks_of(np.eye(cities, dtype=bool), every.shape[1])
    keys: list[Keys] = []
    numbers: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for there, back in zip(found.keys, found.keys[::-1], strict=True):
        turned = (back ^ every) ^ single[last_cities(back)]
        both, inverse = np.unique(np.concatenate([there, turned]), axis=0, return_inverse=True)
        number = inverse.reshape(-1)
        keys.append(both)
        numbers.append((number[: len(there)], number[len(there) :]))
    arcs = []
    for at, (own, other) in enumerate(zip(found.arcs, found.arcs[::-1], strict=True)):
        pairs = [np.stack([numbers[at][0][own[0]], numbers[at + 1][0][own[1]]]),
                 np.stack([numbers[at][1][other[1]], numbers[at + 1][1][other[0]]])]
        arcs.append(np.unique(np.concatenate(pairs, axis=1), axis=1))
    return Optimal(keys, arcs)


def smallest_last(found: Optimal) -> list[int]:
    """Return the order whose last city is the smallest, of these the one whose last but one is, and so on."""
    return _smallest_last(found, _everything(found), 1, len(found.keys))[::-1]


def as_by_planes(found: Optimal) -> list[int]:
    """Return the order that the planes' rule chooses (`hpcsolve.algorithms.held_karp.lattice.recover`).

    It goes through the state in the middle with the smallest (top set, city, entry), and each half is chosen likewise.
    """
    cities = len(found.keys)
    return _by_planes(found, _everything(found), 1, cities, list(range(cities)))


def _everything(found: Optimal) -> Alive:
    return [np.ones(len(keys), bool) for keys in found.keys]


def _smallest_last(found: Optimal, alive: Alive, first: int, last: int) -> list[int]:
    """Return the cities of the places `first` to `last`, backwards."""
    order, candidates = [], alive[last - 1].copy()
    for place in range(last, first - 1, -1):
        here = np.flatnonzero(candidates)
        state = here[last_cities(found.keys[place - 1][here]).argmin()]
        order.append(int(last_cities(found.keys[place - 1][state : state + 1])[0]))
        if place > first:
            before, behind = found.arcs[place - 2]
            candidates = np.zeros(len(alive[place - 2]), bool)
            candidates[before[behind == state]] = True
            candidates &= alive[place - 2]
    return order


def _by_planes(found: Optimal, alive: Alive, first: int, last: int, cities: list[int]) -> list[int]:
    """Return the order at the places `first` to `last` of these cities, which are given in ascending order."""
    if len(cities) < FEWEST_CITIES:
        return _smallest_last(found, alive, first, last)[::-1] if cities else []
    place, state = _middle(found, alive, first, last, cities)
    key = found.keys[place - 1][state : state + 1]
    city = int(last_cities(key)[0])
    before = [c for c in cities if c != city and contains(key, c)[0]]
    after = [c for c in cities if c != city and c not in before]
    left, right = _through(found, alive, place, state)
    return [*_by_planes(found, left, first, place - 1, before), city,
            *_by_planes(found, right, place + 1, last, after)]


def _middle(found: Optimal, alive: Alive, first: int, last: int, cities: list[int]) -> tuple[int, int]:
    """Return the place and the index of the state in the middle that the rule chooses."""
    split = split_cities(len(cities))
    low, mid, top = cities[: split.low], cities[split.low : -split.top], cities[-split.top :]
    states = []
    for place in range(first, last + 1):
        rows = np.flatnonzero(alive[place - 1])
        keys = found.keys[place - 1][rows]
        in_mid = sum((contains(keys, c).astype(np.int64) for c in mid), np.zeros(len(keys), np.int64))
        right = np.isin(last_cities(keys), mid) & (in_mid == split.middle + 1)  # the state's city is counted too
        states.append((np.full(right.sum(), place), rows[right], keys[right]))
    places, numbers, middles = (np.concatenate(parts) for parts in zip(*states, strict=True))
    chosen = np.arange(len(numbers))
    for having in _digits(middles, low, mid, top):
        absent = ~having[chosen]
        chosen = chosen[absent] if absent.any() else chosen
    return int(places[chosen[0]]), int(numbers[chosen[0]])


def _digits(keys: Keys, low: list[int], mid: list[int], top: list[int]) -> Iterator[NDArray[np.bool_]]:
    """Yield the binary digits of the states' (top set, city, mid set without it, low set), the highest first."""
    last = last_cities(keys)
    for city in top[::-1]:
        yield contains(keys, city)
    for city in mid:  # a smaller city is chosen if any state has it
        yield last != city
    for city in [*mid[::-1], *low[::-1]]:
        yield contains(keys, city) & (last != city)


def _through(found: Optimal, alive: Alive, place: int, state: int) -> tuple[Alive, Alive]:
    """Return which states are on orders through one state: those up to its place, and those from its place on."""
    left, right = [one.copy() for one in alive], [one.copy() for one in alive]
    for part in (left, right):
        part[place - 1][:] = False
        part[place - 1][state] = True
    for at in range(place - 2, -1, -1):
        before, behind = found.arcs[at]
        reached = np.zeros(len(left[at]), bool)
        reached[before[left[at + 1][behind]]] = True
        left[at] &= reached
    for at in range(place - 1, len(alive) - 1):
        before, behind = found.arcs[at]
        reached = np.zeros(len(right[at + 1]), bool)
        reached[behind[right[at][before]]] = True
        right[at + 1] &= reached
    return left, right

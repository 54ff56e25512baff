"""The relaxation of Held-Karp's bounds equals its definition, with sets instead of slots, and bounds what it should."""

from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pytest

from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineBounds
from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.places import place_costs
from hpcsolve.algorithms.held_karp.bounded.relaxation import (
    NO_PATH,
    NO_SCALED_ARC,
    Deal,
    Relaxation,
    colours,
    first_wishes,
    make_slots,
)
from hpcsolve.algorithms.held_karp.bounded.windows import TimedOrders, earliest_by_place, shortest_times
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import NO_ARC

INFINITE = 10**15


def random_problem(m, seed, high=50, precede=0.1):
    """Return a problem with a cost for each arc and place, missing arcs and precedences."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(-3, high, (m + 1, m + 1, m + 1))
    cost[rng.random(cost.shape) < 0.1] = NO_ARC
    before = (rng.random((m, m)) < precede) & np.tri(m, m, -1, dtype=bool)
    shuffle = rng.permutation(m)
    return place_costs(cost, before[np.ix_(shuffle, shuffle)])


def slots_of(problem, count):
    wishes = first_wishes(problem)
    return make_slots(problem, wishes, colours(wishes, count, None), count)


def completions(problem, slots, table):
    """Return the least cost of relaxed completions by (place, city, entry), from the definition with sets."""
    m, known = problem.cities, [set(row.tolist()) - {problem.cities} for row in slots.memory]

    @cache
    def least(place, city, visited):
        if city in visited or any(problem.before[other, city] for other in visited):
            return INFINITE
        if place == m:
            return min(INFINITE, int(table[m, city, 0]))
        return min((int(table[place, city, j]) + least(place + 1, j, frozenset((visited | {city}) & known[j]))
                    for j in range(m) if table[place, city, j] < INFINITE), default=INFINITE)

    return {(place, city, entry): least(place, city, frozenset(
        int(slots.memory[city, s]) for s in range(slots.count) if entry >> s & 1 and slots.memory[city, s] < m))
        for place in range(1, m + 1) for city in range(m) for entry in range(1 << slots.count)}


def reduced_table(relaxation, multiplier):
    """Return the reduced costs that the definition says."""
    m, table = relaxation.problem.cities, relaxation.scaled.copy()
    for place in range(m + 1):
        allowed = table[place] != NO_SCALED_ARC
        own = np.where(allowed, table[place] - (multiplier if place < m else 0), INFINITE)
        table[place] = np.where(allowed, own + max(0, -int(own.min())), INFINITE)
    return table


@pytest.mark.parametrize(("m", "count", "seed"), [(7, 5, 0), (8, 6, 1), (9, 5, 2), (6, 6, 3)])
def test_bounds_equal_the_definition(m, count, seed, device):
    problem = random_problem(m, seed)
    relaxation, slots = Relaxation(problem, Devices(device, device), 7), slots_of(problem, count)
    relaxation.remember(slots)
    multiplier = np.random.default_rng(seed).integers(-40, 40, m)
    found = relaxation.solve(multiplier)
    table = reduced_table(relaxation, multiplier)
    expected = completions(problem, slots, table)
    for place in range(1, m + 1):
        bounds = relaxation.bounds_of(place).download().reshape(m, -1)
        for (city, entry), bound in np.ndenumerate(bounds):
            empty = entry & ~sum(1 << s for s in range(count) if slots.memory[city, s] < m)
            value = expected[place, city, entry]
            assert empty or bound == (value if value < INFINITE else NO_PATH), (place, city, entry)
    least = min(int(table[0, 0, j]) + expected[1, j, 0] for j in range(m))
    assert found.reduced == (least if least < INFINITE else NO_PATH)
    if found.path:
        arcs = table[np.arange(m + 1), [0, *found.path], [*found.path, 0]]
        assert arcs.sum() == found.reduced


def all_orders(problem):
    """Return for each arc of a place the cost of the best order through it, by trying all orders."""
    best = {}
    for order in permutations(range(problem.cities)):
        value = problem.value(list(order))
        for place, (i, j) in enumerate(pairwise(order), 1):
            if value is not None:
                best[place, i, j] = min(value, best.get((place, i, j), value))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_no_arc_of_a_good_order_is_fixed_away(seed, device):
    problem = random_problem(7, seed, precede=0.05)
    best = all_orders(problem)
    relaxation = Relaxation(problem, Devices(device, device), 3)
    relaxation.remember(slots_of(problem, 5))
    relaxation.solve(np.random.default_rng(seed).integers(-20, 20, 7))
    upper = min(best.values(), default=0) + 10
    limit = relaxation.limit_of(upper)
    assert limit is not None
    left = relaxation.fix(limit)
    for (place, i, j), value in best.items():
        assert value > upper or relaxation.scaled[place, i, j] != NO_SCALED_ARC, (place, i, j)
    assert left < problem.allowed[1:7].sum()


def test_all_remembered_is_exact(device):
    """With a colour for each city nothing is forgotten, so the relaxed tour is the best order."""
    problem = random_problem(7, 11, precede=0.05)
    relaxation = Relaxation(problem, Devices(device, device), 1)
    relaxation.remember(make_slots(problem, first_wishes(problem), np.arange(7), 7))
    found = relaxation.solve(np.zeros(7, np.int64))
    assert found.reduced - found.shift == min(all_orders(problem).values())
    assert problem.value(found.path) == found.reduced - found.shift


def test_saturated_values_are_not_used(device):
    """A limit at which values saturate proves nothing, and is refused: the first false proof of the prototype."""
    problem = random_problem(7, 5, precede=0)
    relaxation = Relaxation(problem, Devices(device, device), 1 << 20)
    relaxation.remember(slots_of(problem, 5))
    assert relaxation.solve(np.zeros(7, np.int64)).reduced < NO_PATH
    best = (NO_PATH - relaxation.shift) >> 20
    assert relaxation.limit_of(best) == (best << 20) + relaxation.shift
    assert relaxation.limit_of(best + 1) is None
    relaxation.solve(np.array([-(2**31), *[0] * 6]))  # the offsets grow beyond 31 bits
    assert relaxation.limit_of(0) is None


def latest_departures(problem, slots, reached):
    """Return by (place, city, entry) when a relaxed completion must begin at the latest, from the definition with sets.

    A city that is reached later than that, or cannot stand there, has -1.
    """
    m, known = problem.cities, [set(row.tolist()) - {problem.cities} for row in slots.memory]

    @cache
    def latest(place, city, visited):
        if city in visited or any(problem.before[other, city] for other in visited):
            return -1
        ways = [(problem.time[city, m], problem.deadline)] if place == m else [
            (problem.time[city, j], latest(place + 1, j, frozenset((visited | {city}) & known[j]))) for j in range(m)]
        begins = [min(int(problem.latest[city]), int(there - takes)) for takes, there in ways
                  if takes != NO_ARC and there >= 0]
        return max((begin for begin in begins if begin >= reached[place, city]), default=-1)

    return {(place, city, entry): latest(place, city, frozenset(
        int(slots.memory[city, s]) for s in range(slots.count) if entry >> s & 1 and slots.memory[city, s] < m))
        for place in range(1, m + 1) for city in range(m) for entry in range(1 << slots.count)}


@pytest.mark.parametrize("seed", range(4))
def test_departures_equal_the_definition(seed, device):
    m, rng = 7, np.random.default_rng(seed)
    time = rng.integers(0, 20, (m + 1, m + 1))
    time[rng.random(time.shape) < 0.1] = NO_ARC
    np.fill_diagonal(time, NO_ARC)
    earliest = np.append(rng.integers(0, 60, m), 0)
    latest = np.append(earliest[:m] + rng.integers(0, 80, m), 150)
    before = (rng.random((m, m)) < 0.1) & np.tri(m, m, -1, dtype=bool)
    stands = rng.random((m + 1, m)) < 0.9
    problem = TimedOrders(time, time, earliest, latest, before, stands)
    relaxation = DeadlineBounds(problem, shortest_times(problem), Devices(device, device), Deal(SerialComm(), m))
    wishes = rng.integers(0, 100, (m, m))
    slots = make_slots(problem, wishes, colours(wishes, 5, None), 5)
    relaxation.remember(slots)
    relaxation.solve()
    expected = latest_departures(problem, slots, earliest_by_place(problem))
    for place in range(1, m + 1):
        bounds = relaxation.bounds_of(place).download().reshape(m, -1)
        for (city, entry), bound in np.ndenumerate(bounds):
            empty = entry & ~sum(1 << s for s in range(5) if slots.memory[city, s] < m)
            begin = expected[place, city, entry]
            assert empty or bound == (150 - begin if begin >= 0 else NO_PATH), (place, city, entry)
    assert len(set(expected.values())) > 20

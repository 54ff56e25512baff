"""The relaxation by time equals its definition, with sets instead of slots, and bounds what it should."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest

from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH, NO_SCALED_ARC, colours, make_slots
from hpcsolve.algorithms.held_karp.bounded.timed import BIAS, TimedRelaxation
from hpcsolve.algorithms.held_karp.bounded.windows import TimedOrders
from hpcsolve.problems.tsp import NO_ARC


def random_problem(m, seed, shortest=0, precede=0.1, wide=25):
    """Return a problem with missing arcs, precedences, and windows around a random order. Some times are 0."""
    rng = np.random.default_rng([m, seed])
    time, cost = rng.integers(shortest, 12, (2, m + 1, m + 1))
    time[rng.random(time.shape) < 0.1] = cost[rng.random(cost.shape) < 0.1] = NO_ARC
    missing = (time == NO_ARC) | (cost == NO_ARC) | np.eye(m + 1, dtype=bool)
    time[missing] = cost[missing] = NO_ARC
    middle = 8 * (1 + rng.permutation(m))
    earliest = np.maximum(0, middle - rng.integers(0, wide, m))
    latest = middle + rng.integers(0, wide, m)
    before = (rng.random((m, m)) < precede) & np.tri(m, m, -1, dtype=bool)
    shuffle = rng.permutation(m)
    before = before[np.ix_(shuffle, shuffle)]
    for middle_city in range(m):
        before |= before[:, middle_city][:, None] & before[middle_city][None, :]
    return TimedOrders(time, cost, np.append(earliest, 0), np.append(latest, 8 * m + wide), before, time)


def slots_of(problem, count, seed=0):
    wishes = np.random.default_rng(seed).integers(1, 100, (problem.cities, problem.cities))
    return make_slots(problem, wishes, colours(wishes, count, None), count)


class Definition:
    """Least costs of relaxed completions and beginnings, with sets instead of slots, and times instead of rows."""

    def __init__(self, relaxation, slots):
        self.own, self.m, self.slots = relaxation, relaxation.problem.cities, slots
        self.known = [set(row.tolist()) - {self.m} for row in slots.memory]
        self.completion = cache(self._completion)

    def arcs(self, i):
        return [(j, int(self.own.reduced[i, j])) for j in range(self.m) if self.own.reduced[i, j] != NO_SCALED_ARC]

    def _completion(self, i, step, visited, short):
        """From i in a step, with at most so many more short arcs."""
        own, problem, m = self.own, self.own.problem, self.m
        if i in visited or any(problem.before[other, i] for other in visited):
            return NO_PATH
        time = max(step * own.step, int(own.earliest[i]))
        end = own.reduced[i, m]
        best = NO_PATH
        if end != NO_SCALED_ARC and time + problem.time[i, m] <= problem.latest[m]:
            best = int(end)
        for j, cost in self.arcs(i):
            there = max(time + int(problem.time[i, j]), int(own.earliest[j]))
            if there > own.latest[j]:
                continue
            again = there // own.step == step
            if not again or short:
                rest = self.completion(j, there // own.step, frozenset((visited | {i}) & self.known[j]),
                                       short - 1 if again else own.passes)
                best = min(best, cost + rest)
        return best


def entries(slots, i):
    m = len(slots.memory)
    for entry in range(1 << slots.count):
        members = [int(slots.memory[i, s]) for s in range(slots.count) if entry >> s & 1]
        if m not in members:
            yield entry, frozenset(members)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(("m", "count", "seed", "shortest"), [(6, 5, 0, 0), (7, 6, 1, 1), (6, 5, 2, 3), (5, 5, 3, 0)])
def test_bounds_equal_the_definition(m, count, seed, shortest, small, device, monkeypatch):
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.bounded.devices.SMALL", 1 << 17 if small else -1)
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.bounded.timed.ROWS", 30 if seed % 2 else 1000)
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.bounded.timed.MOST_ROWS", 40)
    problem = random_problem(m, seed, shortest)
    relaxation, slots = TimedRelaxation(problem, Devices(device, device), 7), slots_of(problem, count)
    relaxation.remember(slots)
    found = relaxation.solve(np.random.default_rng(seed).integers(-40, 40, m))
    defined = Definition(relaxation, slots)
    rows = relaxation.completions
    table = relaxation.buffers["bounds"].download().reshape(-1, 1 << count)
    row = rows.buffers["row"].download()
    for i in range(m):
        for step in range(relaxation.earliest[i] // relaxation.step, relaxation.latest[i] // relaxation.step + 1):
            for entry, visited in entries(slots, i):
                expected = defined.completion(i, int(step), visited, relaxation.passes)
                assert table[row[i] + step, entry] == expected, (i, step, entry)
    starts = [int(relaxation.reduced[m, j]) + defined.completion(j, int(max(problem.time[m, j], relaxation.earliest[j])
              // relaxation.step), frozenset(), relaxation.passes) for j in range(m)
              if problem.time[m, j] <= relaxation.latest[j]]
    assert found.reduced == min(starts, default=NO_PATH)
    if found.path and relaxation.passes == 0:
        arcs = relaxation.reduced[[m, *found.path], [*found.path, m]]
        assert arcs.sum() == found.reduced


def all_orders(problem):
    """Return for each arc, and each city with its time, the cost of the best order through it, by trying all orders."""
    arcs, times, best = {}, {}, None
    for order in permutations(range(problem.cities)):
        value, time, tail = problem.value(order), 0, problem.cities
        if value is None:
            continue
        best = value if best is None else min(best, value)
        for j in order:
            time = max(time + int(problem.time[tail, j]), int(problem.earliest[j]))
            arcs[tail, j] = min(value, arcs.get((tail, j), value))
            times[j, time] = min(value, times.get((j, time), value))
            tail = j
    return arcs, times, best


@pytest.mark.parametrize("seed", range(6))
def test_nothing_of_a_good_order_is_fixed_away(seed, device, monkeypatch):
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.bounded.timed.MOST_ROWS", 40 if seed % 2 else 1000)
    problem = random_problem(7, seed, shortest=seed % 3, precede=0.03, wide=50)
    arcs, times, best = all_orders(problem)
    assert best is not None
    relaxation = TimedRelaxation(problem, Devices(device, device), 3)
    relaxation.remember(slots_of(problem, 5))
    before = (relaxation.scaled[:7, :7] != NO_SCALED_ARC).sum(), (relaxation.latest - relaxation.earliest).sum()
    relaxed = relaxation.solve(np.random.default_rng(seed).integers(-9, 9, 7))
    limit = relaxation.limit_of(best + 3)
    assert limit is not None and relaxed.reduced <= limit
    left = relaxation.fix(limit)
    for (i, j), value in arcs.items():
        assert value > best + 3 or relaxation.scaled[i, j] != NO_SCALED_ARC
    for (j, time), value in times.items():
        assert value > best + 3 or relaxation.earliest[j] <= time <= relaxation.latest[j]
    windows = (relaxation.latest - relaxation.earliest).sum()
    assert left < before[0] and windows <= before[1] and (windows < before[1] or relaxation.step > 1)


def test_all_remembered_is_exact(device):
    """With a colour for each city nothing is forgotten, so the relaxed tour, if it visits all, is the best order."""
    problem = random_problem(6, 11, precede=0, wide=60)
    relaxation = TimedRelaxation(problem, Devices(device, device), 1)
    relaxation.remember(make_slots(problem, np.ones((6, 6), np.int64), np.arange(6), 6))
    found = relaxation.solve(np.full(6, 1000))
    assert found.reduced - found.shift == all_orders(problem)[2] == problem.value(found.path)


def test_values_that_may_have_wrapped_are_not_used(device):
    problem = random_problem(6, 5, precede=0, wide=60)
    relaxation = TimedRelaxation(problem, Devices(device, device), 1 << 16)
    relaxation.remember(slots_of(problem, 5))
    relaxation.solve(np.zeros(6, np.int64))
    assert relaxation.limit_of(100) == (100 << 16) + 2 * BIAS
    assert relaxation.limit_of(1 << 15) is None  # it would not be below NO_PATH
    for multiplier in (1 << 30, 1 << 26):  # an arc that is too cheap, and tours that visit a cheap city again and again
        relaxation.solve(np.full(6, multiplier))
        assert relaxation.limit_of(0) is None

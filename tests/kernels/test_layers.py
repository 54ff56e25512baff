"""Layers of Held-Karp's states equal a plain search with Python's sets, up to the most cities that a key holds."""

import numpy as np
import pytest

from hpcsolve.algorithms.held_karp.bounded import layers as codes
from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineBounds
from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Scratch
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.algorithms.held_karp.bounded.relaxation import (
    Deal,
    Relaxation,
    colours,
    first_wishes,
    make_slots,
    wishes_for,
)
from hpcsolve.algorithms.held_karp.bounded.search import Budget, search
from hpcsolve.algorithms.held_karp.bounded.windows import TimedOrders, shortest_times
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import ResourceError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC
from tests.thread_comm import on_ranks

LIMITS = [5, 57, 58, 59, 60, 63, 64, 65, 120, 121, 122, 127, 128, 129, 191, 193, 247, 248]


def random_places(m, seed):
    """Return costs that depend on the place, with missing arcs and a few precedences."""
    rng = np.random.default_rng([m, seed])
    cost = rng.integers(1, 100, (m + 1, m, m))
    cost[rng.random(cost.shape) < 0.2] = NO_ARC
    cost[0, 1:], cost[m, :, 1:] = NO_ARC, NO_ARC
    cost[:, np.arange(m), np.arange(m)] = NO_ARC
    before = np.zeros((m, m), bool)
    before[m - 1, : m // 8] = before[m // 2, 0] = True
    return PlaceCosts(cost, before)


def relaxed(problem, device):
    wishes = first_wishes(problem)
    slots = make_slots(problem, wishes, colours(wishes, 5, None), 5)
    relaxation = Relaxation(problem, Devices(device, device), 3)
    relaxation.remember(slots)
    relaxation.solve(np.zeros(problem.cities, np.int64))
    return relaxation, slots


def expected_layer(states, place, limit, relaxation, slots):
    """Return the next layer by its definition, from the bounds that the kernels have."""
    problem, m = relaxation.problem, relaxation.problem.cities
    cost = relaxation.buffers["cost"].download()[place]
    bounds = relaxation.bounds_of(place + 1).download().reshape(m, -1)
    found = {}
    for (visited, i), value in states.items():
        for j in set(range(m)) - visited:
            entry = sum(1 << s for s in range(slots.count) if int(slots.memory[j, s]) in visited)
            own = value + int(cost[i, j])
            ready = all(other in visited for other in np.flatnonzero(problem.before[j]))
            if ready and own + int(bounds[j, entry]) <= limit:
                state = (visited | {j}, j)
                found[state] = min(own, found.get(state, own))
    return found


def layer_of(expander, states, m):
    visited = np.array([[c in cities for c in range(m)] for cities, _ in states])
    return expander.owned(codes.make_keys(visited, np.array([last for _, last in states]), expander.words),
                           np.array(list(states.values()), np.uint32))


def as_states(layer, m):
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in codes.visited(layer.keys, m)]
    return dict(zip(zip(sets, codes.last_cities(layer.keys).tolist()), layer.values.tolist()))


@pytest.mark.parametrize("m", LIMITS)
def test_the_next_layer_equals_the_definition(m, device):
    relaxation, slots = relaxed(random_places(m, 1), device)
    rng, place = np.random.default_rng(m), m - 2
    states = {}
    for _ in range(40):  # sets with nearly all cities, so that all bits of keys matter
        cities = rng.permutation(m)[:place].tolist()
        states[frozenset(cities), cities[0]] = int(rng.integers(0, 50))
    limit = 900
    for least in ((m > 5) * 20, 1):
        expander = Expander(relaxation, limit, SerialComm(), Scratch(device))
        made = expander.next(layer_of(expander, states, m), place, 10**6)
        assert made is not None
        expected = expected_layer(states, place, limit, relaxation, slots)
        assert as_states(made, m) == expected and len(expected) >= least
        assert len(made.values) == len(expected)
        bounds = sorted(expander.bounds(made, place + 1).tolist())
        assert bounds[-1] <= limit
        limit = bounds[len(bounds) // 2]  # now some bounds are the limit itself
    buckets = codes.set_hash(made.keys) >> np.uint64(64 - made.bits)
    assert (np.bincount(buckets.astype(int), minlength=1 << made.bits) == np.diff(made.begin)).all()


def random_windows(m, seed):
    """Return a problem with windows in which nearly all cities are visited by time 0 or can still be reached."""
    rng = np.random.default_rng([m, seed])
    time = rng.integers(0, 50, (m + 1, m + 1))
    time[rng.random(time.shape) < 0.1] = NO_ARC
    np.fill_diagonal(time, NO_ARC)
    earliest, latest = rng.integers(0, 60, m), rng.integers(60, 150, m)
    before = np.zeros((m, m), bool)
    before[m - 1, : m // 8] = True
    return TimedOrders(time, time, np.append(earliest, 0), np.append(latest, 300), before, np.ones((m + 1, m), bool))


@pytest.mark.parametrize("m", [6, 58, 59, 121, 122, 248])
def test_the_next_layer_in_time_equals_the_definition(m, device):
    problem, place = random_windows(m, 3), m - 3
    shortest = shortest_times(problem)
    relaxation = DeadlineBounds(problem, shortest, Devices(device, device), Deal(SerialComm(), m))
    wishes = wishes_for(shortest[:m, :m])
    slots = make_slots(problem, wishes, colours(wishes, 5, None), 5)
    relaxation.remember(slots)
    relaxation.solve()
    expander = Expander(relaxation, problem.deadline, SerialComm(), Scratch(device))
    rng, states, expected, late = np.random.default_rng(m), {}, {}, 0
    for _ in range(60):
        cities = rng.permutation(m)[:place].tolist()
        states[frozenset(cities), cities[0]] = int(rng.integers(0, 60))
    bounds = relaxation.bounds_of(place + 1).download().reshape(m, -1)
    for (visited, i), value in states.items():
        for j in set(range(m)) - visited:
            entry = sum(1 << s for s in range(slots.count) if int(slots.memory[j, s]) in visited)
            time = max(value + int(problem.time[i, j]), int(problem.earliest[j]))
            ready = all(other in visited for other in np.flatnonzero(problem.before[j]))
            if problem.time[i, j] == NO_ARC or not ready or time + int(bounds[j, entry]) > problem.deadline:
                continue
            if any(time + shortest[j, other] > problem.latest[other] for other in set(range(m)) - visited - {j}):
                late += 1
                continue
            state = (visited | {j}, j)
            expected[state] = min(time, expected.get(state, time))
    made = expander.next(layer_of(expander, states, m), place, 10**6)
    assert made is not None and as_states(made, m) == expected
    assert late and (len(expected) > 10 or m == 6)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_layers_equal_the_definition_on_any_number_of_ranks(ranks):
    """And a layer that is too wide keeps the states of least (bound, key)."""
    m, limit, width = 9, 1100, 60

    def rank(comm):
        with HostDevice(threads=2) as device:
            relaxation, _ = relaxed(random_places(m, 2), device)
            found = search(relaxation, limit, width, Budget(10**6, 10**6), comm, Scratch(device))
            return [as_states(layer, m) for layer in found.layers], found.dropped, found.pruned

    parts = on_ranks(ranks, rank)
    with HostDevice(threads=1) as device:
        relaxation, slots = relaxed(random_places(m, 2), device)
        expander = Expander(relaxation, limit, SerialComm(), Scratch(device))
        states, least = as_states(expander.first(), m), 2**31 - 1
        for place in range(1, m + 1):
            assert {k: v for part in parts for k, v in part[0][place - 1].items()} == states
            if place == m:
                break
            following = layer_of(expander, expected_layer(states, place, limit, relaxation, slots), m)
            bounds = expander.bounds(following, place + 1).tolist()
            ordered = sorted(zip(bounds, map(tuple, following.keys[:, ::-1].tolist()), as_states(following, m).items()))
            states = dict(item for _, _, item in ordered[:width])
            least = min([least, *(bound for bound, _, _ in ordered[width:])])
    assert all(part[1] == least for part in parts) and least < 2**31 - 1


@pytest.mark.parametrize("ranks", [1, 3])
def test_states_are_dropped_until_their_candidates_fit(ranks):
    m, limit, few = 9, 1100, 70 // ranks

    def rank(comm, candidates=few):
        with HostDevice(threads=1) as device:
            relaxation, _ = relaxed(random_places(m, 2), device)
            found = search(relaxation, limit, 60, Budget(10**6, candidates), comm, Scratch(device))
            assert [sum(comm.allgather(len(layer.values))) for layer in found.layers] == found.kept
            return found.kept, found.pruned, found.dropped, found.is_limited_by(60)

    kept, pruned, dropped, held = on_ranks(ranks, rank)[0]
    wide = rank(SerialComm(), 10**6)
    assert wide[3] and not held
    assert len(kept) == m and sum(kept) < sum(wide[0]) and sum(pruned) > 0 and dropped < 2**31 - 1


def test_more_cities_than_a_key_holds_are_refused():
    assert [codes.key_words(m) for m in (58, 59, 121, 122, 248)] == [1, 2, 2, 4, 4]
    assert order_problem(uniform_tsp(122), TourQuestion()).m == 121
    with pytest.raises(ResourceError, match="at most 122 here"):
        order_problem(uniform_tsp(123), TourQuestion())

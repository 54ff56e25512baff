"""The kernels of bounded Held-Karp on tiny inputs."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from unittest import mock

import numpy as np

from hpcsolve.algorithms.held_karp.bounded import devices
from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineProver
from hpcsolve.algorithms.held_karp.bounded.hours import Hours
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Scratch, last_cities, visited
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts, place_costs
from hpcsolve.algorithms.held_karp.bounded.prove import Prover
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH, Relaxation, first_wishes, make_slots
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.bounded.timed import TimedRelaxation
from hpcsolve.algorithms.held_karp.bounded.windows import TimedOrders
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC


def bounded_orders(device: Device) -> None:
    """Prove a small problem with precedences, whose best order is known, in a few rounds."""
    m = 6
    cost = np.random.default_rng(2).integers(5, 9, (m + 1, m + 1, m + 1))
    order = [m, 3, 0, 4, 1, 5, 2, m]
    for place in range(m + 1):
        cost[place, order[place], order[place + 1]] = 1
    before = np.zeros((m, m), bool)
    before[2, 3] = True
    problem = place_costs(cost, before)
    for small in (devices.SMALL, -1):  # a launch for all places, and one for each
        with mock.patch.object(devices, "SMALL", small):
            prover = Prover(problem, device, SerialComm(), Budget(1000, 1000), levels=(5,), rounds=2)
            prover.devices = devices.Devices(device, device)
            proof = prover.run()
        assert proof.optimal and proof.order == order[1:-1] and proof.value == m + 1


def extended_states(device: Device) -> None:
    """Extend states by the few arcs that there are, with keys of one word, of two and of four."""
    for m, words in ((10, 1), (66, 2), (66, 4)):
        few, then = (1, m - 3, m - 1), (2, m - 2)
        cost = np.full((m + 1, m, m), NO_ARC)
        cost[0, 0, few], cost[1:m, :, then] = 1, 1
        problem = PlaceCosts(cost, np.zeros((m, m), bool))
        relaxation = Relaxation(problem, devices.Devices(device, device), 1)
        relaxation.remember(make_slots(problem, first_wishes(problem), np.arange(m) % 5, 5))
        relaxation.buffers["cost"].upload(np.where(problem.allowed, 1, NO_PATH).astype(np.uint32))
        relaxation.buffers["bounds"].fill(0)
        expander = Expander(relaxation, 5, SerialComm(), Scratch(device), words)
        layer = expander.first()
        for place in (1, 2):
            layer = expander.next(layer, place, 1000)
        again = expander._merged(expander._filled(layer.keys, layer.values, layer.bits, range(1 << layer.bits), 8),
                                 range(1 << layer.bits))
        assert sorted(again.keys.tolist()) == sorted(layer.keys.tolist())
        found = {(tuple(np.flatnonzero(row).tolist()), last)
                 for row, last in zip(visited(layer.keys, m), last_cities(layer.keys).tolist())}
        assert found == {(tuple(sorted((a, *then))), last) for a in few for last in then}
        assert (layer.values == 3).all() and (expander.bounds(layer, 3) == 3).all()


def labels_in_time(device: Device) -> None:
    """Prove a small sum with time windows, whose order is known, with keys of each width, and some short arcs.

    Then a sum in which each unit of time has a price, whose best order is that of brute force.
    """
    m, order = 6, [3, 0, 4, 1, 5, 2]
    time = np.full((m + 1, m + 1), 2)
    time[5, 2] = time[2, 5] = 0
    cost = np.random.default_rng(3).integers(5, 9, (m + 1, m + 1))
    cost[[m, *order], [*order, m]] = 1
    np.fill_diagonal(time, NO_ARC)
    latest = np.append(np.full(m, 14), 20)
    free = TimedOrders(time, cost, np.zeros(m + 1, np.int64), latest, np.zeros((m, m), bool), np.ones((m + 1, m), bool))
    priced = replace(free, rates=np.array([1, 2, 1, 0, 3, 1, 2]))
    best = min((value, some[::-1]) for some in permutations(range(m)) if (value := priced.value(some)) is not None)
    for problem, value, expected in ((free, m + 1, order), (priced, best[0], list(best[1][::-1]))):
        prover = Prover(problem, device, SerialComm(), Budget(1000, 1000), levels=(5,), rounds=2)
        prover.devices = devices.Devices(device, device)
        proof = prover.run()
        assert proof.optimal and proof.order == expected and proof.value == value
    found = set()
    for small in (devices.SMALL, -1):  # a launch for all runs, and one for each pass over a run
        with mock.patch.object(devices, "SMALL", small):
            relaxation = TimedRelaxation(free, devices.Devices(device, device), 1)
            relaxation.remember(make_slots(free, relaxation.first_wishes(), np.arange(m) % 5, 5))
            found.add(relaxation.solve(np.zeros(m, np.int64)).reduced)
    assert len(found) == 1
    limit = relaxation.limit_of(10)
    assert limit is not None
    for words in (1, 2, 4):
        expander = Expander(relaxation, limit, SerialComm(), Scratch(device), words)
        layer = expander.next(expander.first(), 1, 1000)
        assert layer is not None and (expander.bounds(layer, 2) <= limit).all()
        again = expander._merged(expander._filled(layer.keys, layer.values, layer.bits, range(1 << layer.bits), 8),
                                 range(1 << layer.bits))
        assert sorted(zip(again.keys.tolist(), again.values)) == sorted(zip(layer.keys.tolist(), layer.values))


def ends_in_rush_hours(device: Device) -> None:
    """Prove the end of an order whose legs get shorter or longer with the departure, with keys of each width."""
    m, order = 6, [3, 0, 4, 1, 5, 2]
    tables = np.full((3, m + 1, m + 1), 9)
    tables[0, [m, *order], [*order, m]] = 3
    tables[1, [m, *order], [*order, m]] = 1
    tables[2, [m, *order], [*order, m]] = 8
    missing = np.eye(m + 1, dtype=bool)
    time, none = np.where(missing, NO_ARC, tables.min(axis=0)), np.zeros(m + 1, np.int64)
    time[m, :m] = np.where(np.arange(m) == order[0], 3, 9)
    hours = Hours(TravelTimes(np.array([2, 9, 30]), np.where(missing, 0, tables)), none)
    anywhere, before = np.ones((m + 1, m), bool), np.zeros((m, m), bool)
    free = TimedOrders(time, time, none, np.full(m + 1, 99), before, anywhere, hours=hours)
    now = 0
    for tail, head in zip([m, *order], [*order, m]):
        now = int(hours.arrivals(np.array(tail), np.array(head), np.array(now)))
    for words in (1, 2, 4):
        prover = DeadlineProver(free, device, SerialComm(), Budget(1000, 1000), words=words)
        prover.devices = devices.Devices(device, device)
        proof = prover.run()
        assert proof.optimal and proof.order == order and proof.value == now == free.finish(order)

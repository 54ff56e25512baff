"""The earliest end by deadlines equals all orders, and the lattice, down to the tour that is chosen among equal ones.

The long form: HPCSOLVE_ORDERS=2000 python -m pytest -k long.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.bounded import deadlines, windows
from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineProver
from hpcsolve.algorithms.held_karp.bounded.prove import Proof
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.bounded.windows import NEVER, timed_orders
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.algorithms.held_karp.statement import TourStatement
from hpcsolve.answers.tour import Tour
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.questions import TourQuestion, Windows
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs
from tests.order_oracle import a_day, around_a_tour, best_order, is_best_order, random_question
from tests.thread_comm import on_ranks

COUNT = int(os.environ.get("HPCSOLVE_ORDERS", "0"))
"""Instances of the long form."""
WORDS = (1, 2, 4)
CONSTRAINTS = ((), ("before",), ("position", "not-position"), ("ends", "forbidden"), ("open", "before"))


def prove(tsp: Tsp, question: TourQuestion, device: Device, comm: Comm | None = None, words: int | None = None,
          states: int = 10**6, width: int = 1000) -> tuple[Proof, list[int] | None]:
    """Return the proof, and the tour in the instance's cities."""
    problem = order_problem(tsp, question)
    budget = Budget(states, 10**6)
    prover = DeadlineProver(timed_orders(problem), device, comm or SerialComm(), budget, words=words, width=width)
    proof = prover.run()
    assert prover.best.lower <= prover.best.upper
    tour = None if proof.order is None else problem.core.tour(proof.order).tolist()
    return proof if proof.value is None else replace(proof, value=proof.value + problem.offset), tour


def same_as_all_orders(tsp: Tsp, question: TourQuestion, device: Device, words: int) -> bool:
    """Compare a proof with all orders. Return whether there is one."""
    proof, tour = prove(tsp, question, device, words=words)
    assert proof.optimal and proof.chosen
    return is_best_order(tsp, question, proof.value, tour)


@pytest.mark.parametrize("words", WORDS)
def test_proofs_equal_all_orders(words: int, device: Device) -> None:
    possible = [same_as_all_orders(*around_a_tour(3 + seed % 6, seed), device, words) for seed in range(12)]
    assert 0 < sum(possible) < len(possible)


def test_the_search_back_keeps_to_windows(device: Device) -> None:
    """The rest of this order allows a city to be reached later than its window does."""
    assert same_as_all_orders(*around_a_tour(8, 330), device, 1)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=2000")
@pytest.mark.parametrize("words", WORDS)
def test_long_proofs_equal_all_orders(words: int, device: Device) -> None:
    for seed in range(COUNT):
        same_as_all_orders(*around_a_tour(3 + seed % 7, seed), device, words)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_proofs_with_other_constraints_equal_all_orders(constraints: tuple[str, ...], device: Device) -> None:
    for seed in range(4):
        same_as_all_orders(*random_question(7 + seed % 2, seed, "finish", constraints), device, 1)


def same_as_the_lattice(tsp: Tsp, question: TourQuestion, device: Device) -> bool:
    """Compare a proof with the table of all states. Return whether there is a tour."""
    answer = orders.run(TourStatement(tsp, held_karp.Parameters(), question), device, SerialComm(), silent).answer
    proof, tour = prove(tsp, question, device)
    assert proof.optimal and proof.chosen
    assert (proof.value, tour) == ((answer.cost, answer.tour.tolist()) if isinstance(answer, Tour) else (None, None))
    return tour is not None


@pytest.mark.parametrize("seed", range(4))
def test_the_tour_is_the_one_of_the_lattice(seed: int, device: Device) -> None:
    same_as_the_lattice(*around_a_tour(14 + seed % 3, 3 * seed + 1), device)


@pytest.mark.parametrize("width", [100, 200])
def test_the_tour_of_20_stops_is_the_one_of_the_lattice(width: int, device: Device) -> None:
    """With wide windows 21,000 states are left."""
    tsp, question = a_day(21, 2, width)
    assert same_as_the_lattice(tsp, replace(question, objective="finish"), device)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=2000")
def test_long_tours_are_those_of_the_lattice(device: Device) -> None:
    """With 10 to 20 stops, a tenth as many instances as beside all orders, every second one by `around_a_tour`."""
    found = 0
    for seed in range(COUNT // 10):
        tsp, question = a_day(11 + seed % 11, seed, [20, 60, 100, 200][seed // 2 % 4])
        if seed % 2:
            tsp, question = around_a_tour(11 + seed % 11, seed)
        found += same_as_the_lattice(tsp, replace(question, objective="finish"), device)
    assert found


@pytest.mark.parametrize("width", [1, 5])
def test_the_tour_among_equal_ends_does_not_depend_on_the_width(width: int, device: Device) -> None:
    """A city that opens late decides the end, so that most orders are equally good."""
    for seed in range(4):
        cost = np.random.default_rng(seed).integers(1, 20, (8, 8))
        earliest = np.zeros(8, np.int64)
        earliest[3] = 250
        windows = Windows(earliest, np.full(8, 10**4), np.zeros(8, np.int64))
        tsp, question = from_costs(cost, "late"), TourQuestion(objective="finish", windows=windows)
        proof, tour = prove(tsp, question, device, width=width)
        assert proof.optimal and proof.chosen and is_best_order(tsp, question, proof.value, tour)


@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_ranks_finds_the_same(ranks: int) -> None:
    """Also where layers are too wide at first."""
    tsp, question = around_a_tour(14, 4)

    def rank(comm: Comm) -> tuple[int | None, list[int] | None, int, list[int]]:
        with HostDevice(threads=1) as device:
            proof, tour = prove(tsp, question, device, comm, width=3)
            return proof.value, tour, proof.states, proof.last.kept

    alone = rank(SerialComm())
    assert alone[0] is not None and on_ranks(ranks, rank) == [alone] * ranks


def test_ranks_share_the_states() -> None:
    """Each of four has a quarter of them, give or take a sixth."""
    tsp, question = a_day(21, 2, 200)

    def rank(comm: Comm) -> int:
        with HostDevice(threads=1) as own:
            proof = prove(tsp, replace(question, objective="finish"), own, comm, width=10**6)[0]
            return sum(len(layer.values) for layer in proof.last.layers)

    whole, shares = rank(SerialComm()), on_ranks(4, rank)
    assert sum(shares) == whole > 1000 and max(shares) < whole * 7 / 24


def test_too_many_states_end_the_search_with_a_bound(device: Device) -> None:
    rng = np.random.default_rng(5)
    points = rng.integers(0, 100, (22, 2))
    cost = np.abs(points[:, None] - points[None]).sum(axis=2)
    open_all_day = Windows(np.zeros(22, np.int64), np.full(22, 10**6), np.zeros(22, np.int64))
    tsp, question = from_costs(cost, "all day"), TourQuestion(objective="finish", windows=open_all_day)
    proof, tour = prove(tsp, question, device, states=4000, width=100)
    assert not proof.optimal and proof.capped and tour is not None
    assert proof.value is not None and proof.lower < proof.value == question.check(tsp, tour)


def test_tightened_windows_keep_every_order_in_time() -> None:
    """And narrow ones leave what all orders have in common."""
    left = 0
    for seed in range(40):
        tsp, question = around_a_tour(3 + seed % 5, seed)
        problem = timed_orders(order_problem(tsp, question))
        ends = ends_of_all_orders(problem)
        for deadline in {min(ends, default=0), max(ends, default=0) + 1, problem.horizon()}:
            possible = {order for end, some in ends.items() if end <= deadline for order in some}
            narrow = windows.tightened(problem, deadline, windows.shortest_times(problem))
            assert narrow is not None or not possible
            if narrow is not None:
                assert {order for end, some in ends_of_all_orders(narrow).items() if end <= deadline for order in some
                        } == possible
                reached = windows.earliest_by_place(narrow)
                assert all(reached[place, city] < NEVER for order in possible for place, city in enumerate(order, 1))
                left += int((narrow.time == NO_ARC).sum() - (problem.time == NO_ARC).sum())
    assert left > 100


def ends_of_all_orders(problem: windows.TimedOrders) -> dict[int, list[tuple[int, ...]]]:
    """Return the orders that keep all constraints by their end."""
    ends: dict[int, list[tuple[int, ...]]] = {}
    for order in permutations(range(problem.cities)):
        if (end := problem.finish(order)) is not None:
            ends.setdefault(end, []).append(order)
    return ends


@pytest.mark.parametrize("seed", [2, 8])
def test_without_memory_for_its_layers_it_has_an_order(seed: int, device: Device) -> None:
    tsp, question = a_day(40, seed, 100)
    proof, tour = prove(tsp, question, device, states=8)
    assert proof.capped and not proof.optimal and tour is not None
    assert proof.lower < proof.value == replace(question, objective="finish").check(tsp, np.array(tour))


def test_the_least_sum_of_times_is_a_bound(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches too narrow for a proof ask for it, unless an order shows that it is of no use. Proofs stay right."""
    raised, found = [], DeadlineProver._raise_by_sum

    def noted(self: DeadlineProver) -> None:
        before = self.best.lower
        found(self)
        raised.append(self.best.lower - before)

    monkeypatch.setattr(deadlines, "SUM_WIDTH", 1)
    monkeypatch.setattr(deadlines, "MOST_SLOTS", 5)
    monkeypatch.setattr(DeadlineProver, "_raise_by_sum", noted)
    for seed in range(25):
        tsp, question = a_day(8, seed, 60)
        closing = replace(question.windows, earliest=question.windows.earliest * (np.arange(8) == 3))
        question = replace(question, objective="finish", windows=closing)
        proof, tour = prove(tsp, question, device, width=1)
        value, order = best_order(tsp, question)
        assert proof.optimal and proof.value == value and (tour == order or not proof.chosen)
    assert len(raised) > 3 and max(raised) > 0 <= min(raised)

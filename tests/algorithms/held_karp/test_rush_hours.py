"""Travel times by time of departure: the earliest end and the least sum equal all orders, down to the tour chosen.

The long form: HPCSOLVE_ORDERS=2000 python -m pytest -k long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import floor
from typing import Any

import numpy as np
import pytest

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.bounded import run
from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineProver
from hpcsolve.algorithms.held_karp.bounded.hours import Hours
from hpcsolve.algorithms.held_karp.bounded.prove import Prover
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.bounded.windows import shortest_times, tightened, timed_orders
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.answers.tour import Tour
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.questions import Objective, TourQuestion, Windows
from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs
from hpcsolve.problems.windows import all_day
from tests.algorithms.held_karp.test_deadlines import COUNT, WORDS, ends_of_all_orders
from tests.thread_comm import on_ranks

OBJECTIVES: tuple[Objective, ...] = ("finish", "sum", "latency")
CONSTRAINTS: tuple[dict[str, Any], ...] = (
    {}, {"path": "open"}, {"path": "open", "start": 1, "end": 2}, {"start": 2, "precedences": ((0, 1), (3, 1))},
    {"path": "open", "forbidden": ((0, 1), (2, 0), (1, 3))}, {"path": "open", "end": 1, "precedences": ((0, 2),)},
)


def a_rush_day(n: int, seed: int, objective: Objective = "finish", closed: bool = True) -> tuple[Tsp, TourQuestion]:
    """Return an instance whose travel times change, with windows around a random tour if it is not open all day.

    There are zero legs, missing ones, equal windows, missed ones, and as steep falls as FIFO allows.
    """
    rng = np.random.default_rng([n, seed, 30])
    count, top = int(rng.integers(1, 6)), [3, 10, 40][seed % 3]
    departures = np.cumsum(rng.integers(1, [4, 20][seed % 2], count)) - 1
    tables = rng.integers(0, top, (count, n, n))
    for k, length in enumerate(np.diff(departures).tolist()):
        tables[k + 1] = np.maximum(tables[k + 1], tables[k] - length)
    missing = np.eye(n, dtype=bool) | ((rng.random((n, n)) < 0.1) & (seed % 5 == 0))
    tables[:, missing] = NO_ARC
    travel = TravelTimes(departures, tables)
    assert travel.overtaking() is None
    tour, width = [0, *(1 + rng.permutation(n - 1)).tolist()], int(rng.integers(0, 30))
    windows, now = Windows(*(np.zeros(n, np.int64) for _ in range(3))), 0
    for tail, head in pairwise(tour):
        windows.service[tail] = rng.integers(0, 3) * (seed % 2)
        now += int(windows.service[tail])
        now += 0 if missing[tail, head] else as_defined(travel, tail, head, now)
        windows.earliest[head] = max(0, now - rng.integers(0, width + 1))
        windows.latest[head] = windows.earliest[head] + rng.integers(0, width + 1) * [1, 2][int(rng.random() < 0.3)]
        now = max(now, int(windows.earliest[head]))
    windows.latest[0] = now + rng.integers(0, top + 10)
    return from_costs(rng.integers(0, top, (n, n)), f"rush-{n}-{seed}"), TourQuestion(
        objective=objective, windows=windows if closed else all_day(n), travel_times=travel,
        weights=rng.integers(0, 6, n) if objective == "latency" and seed % 2 else None)


def as_defined(travel: TravelTimes, tail: int, head: int, leave: int) -> int:
    """Return the travel time by the definition, in fractions."""
    times, takes = travel.departures.tolist(), travel.tables[:, tail, head].tolist()
    for begin, end, first, second in zip(times, times[1:], takes, takes[1:]):
        if begin <= leave <= end:
            return floor(first + Fraction(leave - begin, end - begin) * (second - first))
    return int(takes[0] if leave < times[0] else takes[-1])


def driven(n: int, question: TourQuestion) -> Iterator[tuple[list[int], int]]:
    """Yield each tour that keeps all constraints, with its value by the definition."""
    weights = [1] * n if question.weights is None else question.weights.tolist()
    windows, travel, closed = question.windows, question.travel_times, question.path == "cycle"
    assert windows is not None and travel is not None
    first = 0 if closed and question.start is None else question.start

    def from_city(tour: list[int], begin: int, cost: int) -> Iterator[tuple[list[int], int]]:
        """Go on from the last city of a tour, where service begins at this time, with the sum so far."""
        leave = begin + int(windows.service[tour[-1]])
        if len(tour) == n and not (closed and n > 1):
            yield tour, leave if question.objective == "finish" else cost
        left = [city for city in range(n) if city not in tour] or (tour[:1] if closed and n > 1 else [])
        for city in left if len(tour) < n or closed else []:
            back, ahead = len(tour) == n, {a for a, b in question.precedences if b == city} <= {*tour}
            takes = as_defined(travel, tour[-1], city, leave)
            there = leave + takes if back else max(leave + takes, int(windows.earliest[city]))
            if takes == NO_ARC or (tour[-1], city) in question.forbidden or there > windows.latest[city]:
                continue
            whole = cost + (takes if question.objective == "sum" else weights[city] * there)
            if back:
                yield tour, there if question.objective == "finish" else whole
            elif ahead and (question.end is None or (city == question.end) == (len(tour) == n - 1)):
                yield from from_city([*tour, city], there, whole)

    for city in range(n) if first is None else [first]:
        alone = any(b == city for _, b in question.precedences) or (n > 1 and city == question.end)
        if not alone and windows.earliest[city] <= windows.latest[city]:
            begin = int(windows.earliest[city])
            yield from from_city([city], begin, weights[city] * begin if question.objective == "latency" else 0)


def best_by_definition(n: int, question: TourQuestion) -> tuple[int | None, list[int] | None]:
    """Return the least value and the tour that is the smallest one read backwards, or None for both."""
    found = ((value, tour[::-1]) for tour, value in driven(n, question))
    value, backwards = min(found, default=(None, None))
    return value, None if backwards is None else backwards[::-1]


def same_as_all_orders(tsp: Tsp, question: TourQuestion, device: Device, words: int) -> bool:
    """Compare a proof with all orders. Return whether there is one."""
    problem = order_problem(tsp, question)
    prover = DeadlineProver if question.objective == "finish" else Prover
    proof = prover(timed_orders(problem), device, SerialComm(), Budget(10**6, 10**6), words=words).run()
    assert proof.optimal and proof.chosen
    tour = None if proof.order is None else problem.core.tour(proof.order).tolist()
    value = None if proof.value is None else proof.value + problem.offset
    assert (value, tour) == best_by_definition(tsp.n, question)
    if tour is not None:
        assert question.check(tsp, tour) == value == problem.value(proof.order or [])
    return tour is not None


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("words", WORDS)
def test_proofs_equal_all_orders(words: int, objective: Objective, device: Device) -> None:
    possible = [same_as_all_orders(*a_rush_day(3 + seed % 5, seed, objective), device, words) for seed in range(15)]
    assert 0 < sum(possible) < len(possible)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_proofs_without_windows_equal_all_orders(objective: Objective, device: Device) -> None:
    possible = [same_as_all_orders(*a_rush_day(3 + seed % 5, seed, objective, closed=False), device, 1)
                for seed in range(10)]
    assert sum(possible) > 8


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("asked", CONSTRAINTS)
def test_proofs_with_other_constraints_equal_all_orders(asked: dict[str, Any], objective: Objective, device: Device
                                                        ) -> None:
    for seed in range(6):
        tsp, question = a_rush_day(5 + seed % 2, seed, objective, closed=seed % 2 == 1)
        same_as_all_orders(tsp, replace(question, **asked), device, 1)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=2000")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("words", WORDS)
def test_long_proofs_equal_all_orders(words: int, objective: Objective, device: Device) -> None:
    for seed in range(COUNT):
        same_as_all_orders(*a_rush_day(3 + seed % 6, seed, objective, closed=seed % 7 > 0), device, words)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_ranks_finds_the_same(ranks: int, objective: Objective) -> None:
    """Also where layers are too wide at first."""
    tsp, question = a_rush_day(13, 4, objective)
    problem = timed_orders(order_problem(tsp, question))

    def rank(comm: Comm) -> tuple[int | None, list[int] | None, int, list[int]]:
        with HostDevice(threads=1) as device:
            prover = DeadlineProver if objective == "finish" else Prover
            proof = prover(problem, device, comm, Budget(10**6, 10**6), width=3).run()
            return proof.value, proof.order, proof.states, proof.last.kept

    alone = rank(SerialComm())
    assert alone[0] is not None and on_ranks(ranks, rank) == [alone] * ranks


@pytest.mark.parametrize("seed", range(12))
def test_arrivals_and_their_inverse(seed: int) -> None:
    """For every leg and time: the arrival is that of the definition, and the latest begin is the last in time."""
    _, question = a_rush_day(3, seed)
    travel = question.travel_times
    assert travel is not None
    leave = np.random.default_rng(seed).integers(0, 4, 3)
    hours, times = Hours.of(travel, leave), np.arange(-60, 160)
    for tail, head in product(range(3), repeat=2):
        if travel.tables[0, tail, head] == NO_ARC:
            continue
        arrivals = hours.arrivals(np.array(tail), np.array(head), times)
        after = [begin + leave[tail] for begin in times.tolist()]
        assert arrivals.tolist() == [left + as_defined(travel, tail, head, left) for left in after]
        assert (np.diff(arrivals) >= 0).all()
        for by in range(0, 60):
            begin = int(hours.begins(np.array(tail), np.array(head), np.array(by)))
            assert begin == times[arrivals <= by].max()
        for first, last in ((0, 0), (-3, 5), (0, 60), (7, 40)):
            inside = (times >= first) & (times <= last)
            least = hours.least(np.full(3, first), np.full(3, last))[tail, head]
            assert least == (arrivals - times)[inside].min()


def test_tightened_windows_keep_every_order_in_time() -> None:
    left = 0
    for seed in range(30):
        tsp, question = a_rush_day(3 + seed % 4, seed)
        problem = timed_orders(order_problem(tsp, question))
        ends = ends_of_all_orders(problem)
        for deadline in {min(ends, default=0), max(ends, default=0) + 1, problem.horizon()}:
            possible = {order for end, some in ends.items() if end <= deadline for order in some}
            narrow = tightened(problem, deadline, shortest_times(problem))
            assert narrow is not None or not possible
            if narrow is not None:
                assert {order for end, some in ends_of_all_orders(narrow).items() if end <= deadline for order in some
                        } == possible
                left += int((narrow.time == NO_ARC).sum() - (problem.time == NO_ARC).sum())
    assert left > 50


def test_every_order_ends_within_the_horizon() -> None:
    for seed in range(10):
        tsp, question = a_rush_day(5, seed, closed=False)
        problem = timed_orders(order_problem(tsp, question))
        ends = [end for order in permutations(range(4)) if (end := problem.finish(order)) is not None]
        assert max(ends, default=0) <= problem.horizon()


@pytest.mark.parametrize("asked", CONSTRAINTS)
def test_ends_without_waiting_are_sums(asked: dict[str, Any], device: Device) -> None:
    """Nobody waits where no city opens late: all orders keep their values, and the answer is that of all orders."""
    for seed in range(6):
        tsp, question = a_rush_day(5 + seed % 3, seed, closed=seed % 2 == 1)
        assert question.windows is not None
        question.windows.earliest[...] = 0
        question = replace(question, **asked, travel_times=question.travel_times if seed % 3 else None)
        problem = order_problem(tsp, question)
        same = run.as_sum(problem)
        assert same is not None and same.combine == "add"
        for order in permutations(range(problem.m)):
            assert same.value(order) == problem.value(order)
        outcome, proof = run.run(tsp, problem, device, SerialComm(), silent)
        assert proof.optimal and proof.chosen
        if question.travel_times is not None:
            answer = outcome.answer
            found = (answer.cost, answer.tour.tolist()) if isinstance(answer, Tour) else (None, None)
            assert found == best_by_definition(tsp.n, question)


def test_ends_with_waiting_are_no_sums() -> None:
    tsp, question = a_rush_day(6, 1)
    assert question.windows is not None
    assert run.as_sum(order_problem(tsp, question)) is None
    question.windows.earliest[...] = 0
    question.windows.earliest[3] = 1000
    question.windows.latest[3] = 1000
    assert run.as_sum(order_problem(tsp, question)) is None

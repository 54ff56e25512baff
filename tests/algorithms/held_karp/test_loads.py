"""Tours with loads and a capacity equal all orders, down to the tour that is chosen among equally good ones.

The long form: HPCSOLVE_ORDERS=2000 python -m pytest -k long.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import hpcsolve
from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineProver
from hpcsolve.algorithms.held_karp.bounded.places import of_orders
from hpcsolve.algorithms.held_karp.bounded.prove import Prover
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.bounded.windows import timed_orders
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.algorithms.held_karp.statement import TourStatement
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.questions import Loads, TourQuestion
from hpcsolve.problems.tsp import Tsp, from_costs
from tests.order_oracle import is_best_order, random_question, with_loads
from tests.thread_comm import on_ranks

COUNT = int(os.environ.get("HPCSOLVE_ORDERS", "0"))
"""Instances of the long form."""
WORDS = (1, 2, 4)
KINDS = (("sum", ()), ("sum", ("open", "before")), ("sum", ("ends", "forbidden")), ("latency", ()),
         ("position", ("not-position",)), ("sum", ("windows",)), ("sum", ("windows", "before")), ("finish", ()),
         ("finish", ("ends", "before")))
"""Objectives and constraints beside loads."""


def prove(tsp: Tsp, question: TourQuestion, device: Device, comm: Comm | None = None, words: int | None = None
          ) -> tuple[int | None, list[int] | None]:
    """Return the value that is proven to be the best, and the tour in the instance's cities."""
    problem, budget = order_problem(tsp, question), Budget(10**6, 10**6)
    ranks = comm or SerialComm()
    if problem.combine == "finish":
        proof = DeadlineProver(timed_orders(problem), device, ranks, budget, words=words).run()
    else:
        timed = timed_orders(problem) if problem.times is not None else of_orders(problem)
        proof = Prover(timed, device, ranks, budget, words=words, levels=(5, 6)).run()
    assert proof.optimal and proof.chosen
    if proof.order is None or proof.value is None:
        return None, None
    return proof.value + problem.offset, problem.core.tour(proof.order).tolist()


def same_as_all_orders(kind: int, seed: int, n: int, words: int, device: Device) -> bool:
    """Compare a proof with all orders. Return whether there is one."""
    objective, constraints = KINDS[kind % len(KINDS)]
    even = 2 * seed if objective == "latency" else seed  # one weight for all cities
    tsp, question = random_question(n, even, objective, constraints, top=[6, 50][seed % 2])
    asked = with_loads(tsp, question, seed)
    return is_best_order(tsp, asked, *prove(tsp, asked, device, words=words))


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_proofs_equal_all_orders(kind: int, device: Device) -> None:
    possible = [same_as_all_orders(kind, seed, 3 + seed, WORDS[seed % 3], device) for seed in range(5)]
    assert any(possible)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=2000")
@pytest.mark.parametrize("words", WORDS)
def test_long_proofs_equal_all_orders(words: int, device: Device) -> None:
    for seed in range(COUNT):
        same_as_all_orders(seed, seed, 3 + seed % 5, words, device)


def a_round(n: int, seed: int) -> tuple[Tsp, TourQuestion]:
    """Return a round that picks up and hands over: each of the first half of the cities before its partner."""
    rng = np.random.default_rng([n, seed])
    points, half = rng.integers(0, 100, (n, 2)), (n - 1) // 2
    change = np.zeros(n, np.int64)
    change[1 : 1 + half] = rng.integers(1, 4, half)
    change[1 + half : 1 + 2 * half] = -change[1 : 1 + half]
    pairs = tuple((1 + k, 1 + k + half) for k in range(half))
    cost = np.abs(points[:, None] - points[None]).sum(axis=2)
    return from_costs(cost, "round"), TourQuestion(precedences=pairs, loads=Loads(change, 6))


@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_ranks_finds_the_same(ranks: int) -> None:
    tsp, question = a_round(15, 2)

    def rank(comm: Comm) -> tuple[int | None, list[int] | None]:
        with HostDevice(threads=1 + comm.rank % 2) as device:
            return prove(tsp, question, device, comm)

    alone = rank(SerialComm())
    assert alone[0] is not None and on_ranks(ranks, rank) == [alone] * ranks
    with HostDevice(threads=1) as device:
        unlimited, _ = prove(tsp, replace(question, loads=None), device)
    assert unlimited is not None and unlimited < alone[0]


def test_the_lattice_refuses_loads() -> None:
    tsp, question = a_round(7, 1)
    with HostDevice(threads=1) as device, pytest.raises(InputError, match="not for loads"):
        orders.run(TourStatement(tsp, held_karp.Parameters(), question), device, SerialComm(), silent)


COSTS = np.array([[0, 1, 5, 9], [9, 0, 1, 5], [5, 9, 0, 1], [1, 5, 9, 0]])


@pytest.mark.parametrize(("load", "capacity", "tour"), [
    ([0, 2, 2, -4], 4, [0, 1, 2, 3]), ([0, 2, -4, 2], 4, [0, 3, 1, 2]), ([0, -2, 2, 0], 4, [0, 2, 3, 1]),
    ([3, -1, -1, -1], 3, [0, 1, 2, 3]), ([0, 0, 0, 0], 0, [0, 1, 2, 3]), ([3, 0, 0, 1], 3, []), ([-1, 1, 1, 1], 9, [])])
def test_a_vehicle_that_must_not_carry_too_much(load: list[int], capacity: int, tour: list[int]) -> None:
    """The cheapest tour is 0, 1, 2, 3."""
    result = hpcsolve.solve(COSTS, device="cpu", threads=1, load=load, capacity=capacity)
    assert result.tour.tolist() == tour


@pytest.mark.parametrize(("keys", "line"), [
    ({"load": [0, 1, 1, 1]}, "held-karp.load: it goes with capacity"),
    ({"capacity": 3}, "held-karp.capacity: it goes with load"),
    ({"load": [0, 1, 1], "capacity": 3}, "3 loads for 4 cities"),
    ({"load": [0, 1, 1, 1], "capacity": 3, "best": 2}, "remove best"),
    ({"load": [0, 1, 1, 1], "capacity": 3, "method": "lattice"}, "remove method"),
    ({"load": [0, 1, 1, 1], "capacity": 3, "objective": "bottleneck"}, "does not add up costs by place"),
    ({"load": [0, 1, 1, 1], "capacity": 3, "objective": "latency", "weights": [1, 2, 3, 4]}, "different weights"),
    ({"load": [0, 1, 1, 10**10], "capacity": 3}, "load"),
])
def test_keys_that_do_not_fit_are_refused(keys: dict[str, object], line: str) -> None:
    with pytest.raises(InputError, match=line):
        hpcsolve.solve(COSTS, device="cpu", threads=1, **keys)

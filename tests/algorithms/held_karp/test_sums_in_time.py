"""Sums and latencies with time windows by bounds equal all orders, down to the tour that is chosen of equal ones.

The long form: HPCSOLVE_ORDERS=2000 python -m pytest -k long.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hpcsolve
from hpcsolve.algorithms.held_karp.bounded import timed
from hpcsolve.algorithms.held_karp.bounded.in_time import InTime
from hpcsolve.algorithms.held_karp.bounded.prove import Proof, Prover
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.bounded.windows import shortest_times, tightened, timed_orders
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.formats import read
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs
from tests.order_oracle import a_day, around_a_tour, is_best_order, random_question
from tests.thread_comm import on_ranks

COUNT = int(os.environ.get("HPCSOLVE_ORDERS", "0"))
"""Instances of the long form."""
WORDS = (1, 2, 4)
CONSTRAINTS = (("windows",), ("windows", "before"), ("windows", "position", "not-position"),
               ("windows", "ends", "forbidden"), ("windows", "open", "before"))


OBJECTIVES = ("sum", "latency")


def around(n: int, seed: int, objective: str) -> tuple[Tsp, TourQuestion]:
    """Return an instance with windows around a random tour, and a question, every second one of latency with weights.
    """
    tsp, question = around_a_tour(n, seed)
    weights = np.random.default_rng(seed).integers(0, 6, n) if objective == "latency" and seed % 2 else None
    return tsp, replace(question, objective=objective, weights=weights)


def prove(tsp: Tsp, question: TourQuestion, device: Device, comm: Comm | None = None, words: int | None = None,
          states: int = 10**6, width: int = 30_000, levels: tuple[int, ...] = (5, 6)) -> tuple[Proof, list[int] | None]:
    """Return the proof, and the tour in the instance's cities."""
    problem = order_problem(tsp, question)
    prover = Prover(timed_orders(problem), device, comm or SerialComm(), Budget(states, 10**6), words=words,
                    width=width, levels=levels)
    proof = prover.run()
    tour = None if proof.order is None else problem.core.tour(proof.order).tolist()
    return proof if proof.value is None else replace(proof, value=proof.value + problem.offset), tour


def same_as_all_orders(tsp: Tsp, question: TourQuestion, device: Device, words: int) -> bool:
    """Compare a proof with all orders. Return whether there is one."""
    proof, tour = prove(tsp, question, device, words=words)
    assert proof.optimal and proof.chosen
    return is_best_order(tsp, question, proof.value, tour)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("words", WORDS)
def test_proofs_equal_all_orders(words: int, objective: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with steps of time so long that most arcs are short."""
    possible = []
    for seed in range(12):
        monkeypatch.setattr(timed, "MOST_ROWS", [50_000, 20][seed % 2])
        possible.append(same_as_all_orders(*around(3 + seed % 6, seed, objective), device, words))
    assert 0 < sum(possible) < len(possible)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=2000")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("words", WORDS)
def test_long_proofs_equal_all_orders(words: int, objective: str, device: Device, monkeypatch: pytest.MonkeyPatch
                                      ) -> None:
    for seed in range(COUNT):
        monkeypatch.setattr(timed, "MOST_ROWS", [50_000, 20][seed % 2])
        same_as_all_orders(*around(3 + seed % 7, seed, objective), device, words)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("constraints", CONSTRAINTS)
def test_proofs_with_other_constraints_equal_all_orders(
    constraints: tuple[str, ...], objective: str, device: Device
) -> None:
    for seed in range(4):
        tsp, question = random_question(7 + seed % 2, seed, objective, constraints, top=20)
        same_as_all_orders(tsp, question, device, 1)


@pytest.mark.parametrize("cities", [1, 2, 3])
def test_few_cities(cities: int, device: Device) -> None:
    for seed in range(4):
        for objective in OBJECTIVES:
            same_as_all_orders(*around(cities + 1, seed, objective), device, 1)


@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_ranks_finds_the_same(ranks: int) -> None:
    """Also where layers are too wide at first."""
    tsp, question = a_day(15, 4, 150)

    def rank(comm: Comm) -> tuple[int | None, list[int] | None, int, list[int]]:
        with HostDevice(threads=1 + comm.rank % 2) as device:
            proof, tour = prove(tsp, question, device, comm, width=3, levels=(5,))
            return proof.value, tour, proof.states, proof.last.kept

    alone = rank(SerialComm())
    assert alone[0] is not None and on_ranks(ranks, rank) == [alone] * ranks


def test_ranks_share_the_states() -> None:
    """Each of four has a quarter of them, give or take a sixth."""
    tsp, question = a_day(21, 2, 200)

    def rank(comm: Comm) -> int:
        with HostDevice(threads=1) as own:
            proof = prove(tsp, question, own, comm, levels=(5,))[0]
            return sum(len(layer.values) for layer in proof.last.layers)

    whole, shares = rank(SerialComm()), on_ranks(4, rank)
    assert sum(shares) == whole > 1000 and max(shares) < whole * 7 / 24


def test_too_few_states_leave_a_valid_bound_and_order(device: Device) -> None:
    unproven = 0
    for seed in range(8):
        tsp, question = a_day(15, seed, 150)
        whole, capped = (prove(tsp, question, device, states=states, levels=(5,))[0] for states in (10**6, 60))
        assert whole.optimal and whole.value is not None and capped.value is not None
        assert capped.lower <= whole.value <= capped.value and capped.optimal == (capped.lower == capped.value)
        unproven += not capped.optimal
    assert unproven


def test_a_narrow_search_by_time_finds_orders(device: Device) -> None:
    """Each that it returns keeps to all windows."""
    for seed in range(6):
        problem = timed_orders(order_problem(*a_day(20, seed, 60)))
        narrower = tightened(problem, problem.horizon(), shortest_times(problem))
        assert narrower is not None
        first = InTime(narrower).from_nothing()
        assert first is not None and problem.value(first[1]) == first[0]


def test_ties_are_decided_by_labels_that_are_later(device: Device) -> None:
    """Two orders cost the same. The one that reads smaller backwards comes later to its last cities, yet in time."""
    cost = np.full((5, 5), 10)
    cost[[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]] = cost[[0, 2, 1], [2, 1, 3]] = 1
    question = TourQuestion(objective="sum")
    tsp = from_costs(np.where(np.eye(5, dtype=bool), NO_ARC, cost), "ties")
    windows = replace(around_a_tour(5, 0)[1].windows, earliest=np.array([0, 0, 3, 0, 0]), latest=np.full(5, 50),
                      service=np.zeros(5, np.int64))
    same_as_all_orders(tsp, replace(question, windows=windows), device, 1)


def test_times_of_half_the_range(device: Device) -> None:
    """A service takes more than 2^30 units of time, in labels of which the time has 31 bits."""
    tsp, question = a_day(8, 1, 40)
    assert question.windows is not None
    service, latest = np.zeros(8, np.int64), np.full(8, 1_200_000_000)
    service[3] = 1_100_000_000
    asked = replace(question, windows=replace(question.windows, earliest=np.zeros(8, np.int64), latest=latest,
                                              service=service))
    assert same_as_all_orders(tsp, asked, device, 1)


@pytest.mark.parametrize(("keys", "cost"), [
    ({}, 5 + 10 + 20 + 23), ({"weights": [1, 0, 0, 2]}, 2 * 20 + 23), ({"path": "open", "start": 0}, 5 + 10 + 20),
    ({"path": "open"}, 5 + 10 + 20), ({"windows": {1: (0, 9), 2: (10, 13, 2), 0: (4, 40)}}, 4 + 9 + 12 + 22 + 25)])
def test_latency_counts_when_services_begin(keys: dict[str, Any], cost: int) -> None:
    """Along 0, 1, 2, 3. City 2 opens at 10, and its service takes 2."""
    costs = np.full((4, 4), 50)
    costs[[0, 1, 2, 3], [1, 2, 3, 0]] = 5, 3, 8, 3
    asked = {"windows": {1: (0, 5), 2: (10, 11, 2), 3: (0, 30)}} | keys
    result = hpcsolve.solve(costs, device="cpu", threads=1, objective="latency", **asked)
    assert result.tour.tolist() == [0, 1, 2, 3] and result.cost == cost


@pytest.mark.parametrize(("n", "keys", "cost"), [
    (1, {}, 0), (2, {"path": "open", "start": 0, "end": 1}, 7), (2, {"path": "open", "start": 1, "end": 0}, None)])
def test_no_city_beside_the_ends(n: int, keys: dict[str, object], cost: int | None) -> None:
    """Nothing is left to choose, but a window may be missed."""
    costs = np.array([[0, 7], [9, 0]])[:n, :n]
    windows = {city: (city, 8) for city in range(n)}
    result = hpcsolve.solve(costs, device="cpu", threads=1, windows=windows, **keys)
    assert len(result.tour) == (0 if cost is None else n)
    assert cost is None or result.cost == cost


@pytest.mark.parametrize(("name", "cost"), [
    ("n40w60.002.txt", 470), ("rbg067a.tw", 4625), ("pesant_rc201.2.txt", 707.653)])
def test_published_files(name: str, cost: float, device: Device, data_dir: Path) -> None:
    if not (data_dir / "tsptw").is_dir():
        pytest.skip("HPCSOLVE_DATA has no tsptw/")
    tsp = read(str(data_dir / "tsptw" / name)).problem
    assert isinstance(tsp, Tsp)
    proof, _ = prove(tsp, TourQuestion(windows=tsp.windows), device, levels=())
    assert proof.optimal and proof.value == round(cost * tsp.scale)

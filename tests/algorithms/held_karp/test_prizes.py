"""Tours that leave cities out equal all tours through all subsets, down to the one that is chosen among equal ones.

The long form: HPCSOLVE_ORDERS=2000 python -m pytest -k long.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import hpcsolve
from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.prizes.curve import selection
from hpcsolve.algorithms.held_karp.prizes.states import ByStates
from hpcsolve.algorithms.held_karp.prizes.table import ByTable
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.questions import TourQuestion, Windows
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs
from tests.order_oracle import around_a_tour, random_question
from tests.thread_comm import on_ranks

COUNT = int(os.environ.get("HPCSOLVE_ORDERS", "0"))
"""Instances of the long form."""
WORDS = (1, 2, 4, None)
"""Words of a key, or None for the table of all states."""
CONSTRAINTS: tuple[tuple[str, ...], ...] = (("forbidden",), ("ends",), ("open", "forbidden"), ("open", "windows"),
                                            ("ends", "windows"))


class Point(NamedTuple):
    """A tour with its value, so that the better one of equal prize is the smaller one."""

    prize: int
    value: int
    cities: int
    backwards: tuple[int, ...]

    @property
    def tour(self) -> list[int]:
        """The cities in order."""
        return list(self.backwards[::-1])


def end_of(tsp: Tsp, question: TourQuestion, tour: list[int]) -> int | None:
    """Return the value of a tour through some cities, or None if it breaks a constraint."""
    closed = question.path == "cycle" and len(tour) > 1
    windows, time = question.windows, 0
    for place, city in enumerate([*tour, *tour[:closed]]):
        if place:
            before, leg = tour[place - 1], int(tsp.cost[tour[place - 1], city])
            if leg == NO_ARC or (before, city) in question.forbidden:
                return None
            time += leg
        if windows is not None:
            back = place == len(tour)
            time = time if back else max(time, int(windows.earliest[city]))
            if time > windows.latest[city]:
                return None
            time += 0 if back else int(windows.service[city])
    return time


def all_points(tsp: Tsp, question: TourQuestion) -> list[Point]:
    """Return the best tour of each prize that is worth it, ascending, by all tours through all subsets."""
    start = 0 if question.path == "cycle" and question.start is None else question.start
    fixed = [city for city in (start, question.end) if city is not None]
    free = [city for city in range(tsp.n) if city not in fixed]
    best: dict[int, Point] = {}
    assert question.prizes is not None
    for size in range(len(free) + 1):
        for inner in permutations(free, size):
            tour = [*fixed[:1], *inner, *fixed[1:]] if start is not None else [*inner, *fixed]
            value = end_of(tsp, question, tour) if tour else None
            if value is None or (question.budget is not None and value > question.budget):
                continue
            point = Point(sum(int(question.prizes[city]) for city in tour), value, len(tour), tuple(tour[::-1]))
            best[point.prize] = min(best.get(point.prize, point), point)
    found: list[Point] = []
    for prize in sorted(best, reverse=True):
        if not found or best[prize].value < found[-1].value:
            found.append(best[prize])
    return found[:1] if question.budget is not None else found[::-1]


def random_prizes(n: int, seed: int) -> tuple[Tsp, TourQuestion]:
    """Return a random instance of n cities: windows or none, zero legs, equal prizes, free and fixed ends."""
    rng = np.random.default_rng([n, seed, 1])
    if seed % 2:
        tsp, question = around_a_tour(n, seed)
    else:
        constraints = CONSTRAINTS[seed // 2 % len(CONSTRAINTS)]
        tsp, question = random_question(n, seed, "sum", constraints, top=[3, 30, 1000][seed % 3])
        tsp = from_costs(np.where(tsp.cost == 1, 0, tsp.cost), "with zero legs")
    if question.path == "open" and question.start is None and seed % 3 == 0:
        question = replace(question, start=int(rng.integers(n)))
    return tsp, replace(question, objective="prize", prizes=rng.integers(0, [2, 5, 100][int(rng.integers(3))], n))


Answer = list[tuple[int, int, list[int]]]
"""The points that are found: prize, value and tour."""


def answer_of(tsp: Tsp, question: TourQuestion, device: Device, words: int | None = None, comm: Comm | None = None
              ) -> Answer:
    """Return the answer by layers of states with keys of so many words, or by the table of all states."""
    asked = selection(tsp, question)
    found: ByStates | ByTable
    if words is None:
        found = ByTable(asked, device, comm or SerialComm(), silent)
    else:
        budget = Budget(10**6, 10**6)
        found = ByStates(asked, device, comm or SerialComm(), budget, silent, words, narrow=(3, 20))
    tours = [(asked.problem.core.tour(order).tolist(), end + asked.problem.offset) for _, end, order in found.run()]
    return [(question.prize(tour), end, tour) for tour, end in tours]


def equal_to_all_tours(n: int, seed: int, device: Device, words: int | None) -> int:
    """Compare the whole curve and one budget with all tours. Return the number of points of the curve."""
    tsp, question = random_prizes(n, seed)
    expected = all_points(tsp, question)
    assert answer_of(tsp, question, device, words) == [(p.prize, p.value, p.tour) for p in expected]
    values = [point.value for point in expected] or [5]
    budget = int(np.random.default_rng(seed).integers(min(values) - 1, max(values) + 2))
    within = [point for point in expected if point.value <= budget]
    found = answer_of(tsp, replace(question, budget=budget), device, words)
    assert found == [(p.prize, p.value, p.tour) for p in within[-1:]]
    for point in expected:
        assert question.check(tsp, np.array(point.tour)) == point.value
    return len(expected)


@pytest.mark.parametrize("words", WORDS)
def test_curves_and_budgets_equal_all_tours(words: int | None, device: Device) -> None:
    points = [equal_to_all_tours(3 + seed % 5, seed, device, words) for seed in range(18)]
    assert max(points) > 5


@pytest.mark.parametrize("words", [2, None])
@pytest.mark.parametrize("budget", [None, 60])
def test_any_number_of_ranks_finds_the_same(words: int | None, budget: int | None) -> None:
    tsp, question = around_a_tour(10, 4)
    question = replace(question, objective="prize", prizes=np.arange(10) % 4, budget=budget)

    def rank(comm: Comm) -> Answer:
        with HostDevice(threads=1) as device:
            return answer_of(tsp, question, device, words, comm)

    alone = rank(SerialComm())
    assert len(alone) > (budget is None)
    for ranks in (2, 3):
        assert on_ranks(ranks, rank) == [alone] * ranks


@pytest.mark.parametrize("words", WORDS)
def test_the_ends_alone(words: int | None, device: Device) -> None:
    """Ends that no leg joins are no tour, and a first city that closes before it opens leaves none."""
    cost = np.array([[NO_ARC, NO_ARC, 1], [1, NO_ARC, 1], [NO_ARC, 2, NO_ARC]])
    ends = TourQuestion("open", 0, 1, "prize", prizes=np.array([1, 2, 0]))
    assert answer_of(from_costs(cost, "t"), ends, device, words) == [(3, 3, [0, 2, 1])]
    assert answer_of(from_costs(cost, "t"), replace(ends, budget=2), device, words) == []
    closed = Windows(np.array([5, 0, 0]), np.array([4, 9, 9]), np.zeros(3, np.int64))
    cycle = TourQuestion(objective="prize", prizes=np.array([1, 2, 0]), windows=closed)
    assert answer_of(from_costs(cost, "t"), cycle, device, words) == []


def test_too_many_states_are_an_error(device: Device) -> None:
    rng = np.random.default_rng(1)
    asked = selection(from_costs(rng.integers(1, 99, (14, 14)), "t"),
                      TourQuestion(objective="prize", prizes=rng.integers(1, 99, 14)))
    for budget in (Budget(10**6, 3000), Budget(5000, 10**6)):
        with pytest.raises(ResourceError, match="stops do not fit in the memory"):
            ByStates(asked, device, SerialComm(), budget, silent).run()


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=2000")
@pytest.mark.parametrize("words", WORDS)
def test_long_curves_and_budgets_equal_all_tours(words: int | None, device: Device) -> None:
    for seed in range(COUNT):
        equal_to_all_tours(3 + seed % 5, seed, device, words)


@pytest.mark.parametrize("method", ["lattice", "bounded"])
@pytest.mark.parametrize(("cost", "windows", "keys", "tour"), [
    (np.full((4, 4), 10), {3: (2**32, 2**32 + 100)}, {"prizes": [0, 1, 1, 5], "budget": 100}, [0, 2, 1]),
    (np.zeros((2, 2), int), {0: (0, 5, 10)}, {"prizes": [0, 1]}, [0])])
def test_what_is_too_late_is_left_out(
    cost: NDArray[np.int64], windows: dict[int, tuple[int, ...]], keys: dict[str, Any], tour: list[int], method: str,
) -> None:
    """An opening time of more than 32 bits, and a tour that would return after the first window's end."""
    result = hpcsolve.solve(cost, device="cpu", threads=1, objective="prize", windows=windows, method=method, **keys)
    assert result.tour.tolist() == tour


def test_the_round_that_large_numbers_need_is_named() -> None:
    places = np.random.default_rng(1).random((10, 2))
    keys: dict[str, Any] = {"device": "cpu", "threads": 1, "objective": "prize", "prizes": [1] * 10, "budget": 1.5}
    with pytest.raises(InputError, match=r"needs ends below 2\^30 .*; round costs and times: set round to") as error:
        hpcsolve.solve(places, **keys)
    unit = float(str(error.value).rsplit(maxsplit=1)[1])
    assert 1e-9 <= unit <= 1e-6
    assert hpcsolve.solve(places, round=unit, **keys).optimal

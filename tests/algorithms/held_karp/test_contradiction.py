"""Windows that contradict each other: by brute force they leave no tour, and fewer of them do."""

from dataclasses import replace

import numpy as np
import pytest

import hpcsolve
from hpcsolve.algorithms.held_karp.contradiction import contradiction, too_long
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.answers.tour import TOUR
from hpcsolve.problems.questions import TourQuestion, Windows
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC, from_costs
from hpcsolve.report.words import problem
from tests.order_oracle import best_order, tours_of


def random_problem(seed, path):
    """Return an instance with narrow windows, some of which never end, and a question."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    cost = rng.integers(0, 20, (n, n))
    cost[rng.random((n, n)) < 0.05] = NO_ARC
    earliest = rng.integers(0, 60, n)
    latest = np.where(rng.random(n) < 0.3, LARGEST_SUM, earliest + rng.integers(0, 30, n))
    windows = Windows(np.where(rng.random(n) < 0.3, 0, earliest), latest, rng.integers(0, 9, n))
    start = 0 if path == "cycle" or seed % 2 else None
    precedences = ((0, 1),) if start == 0 and seed % 5 == 0 else ()
    return from_costs(cost, f"narrow-{seed}"), TourQuestion(path, start, objective=("sum", "finish")[seed % 2],
                                                            windows=windows, precedences=precedences)


def with_windows_of(question, cities):
    chosen = np.isin(np.arange(len(question.windows.earliest)), cities)
    return replace(question, objective="finish", windows=Windows(
        np.where(chosen, question.windows.earliest, 0), np.where(chosen, question.windows.latest, LARGEST_SUM),
        question.windows.service))


@pytest.mark.parametrize("path", ["cycle", "open"])
def test_no_window_can_be_left_out(path):
    sizes = set()
    for seed in range(150):
        tsp, question = random_problem(seed, path)
        if best_order(tsp, question) is not None:
            continue
        found = contradiction(tsp, question, lambda asked: best_order(tsp, asked) is not None)  # noqa: B023
        cities = found.cities.tolist()
        assert found.smallest and best_order(tsp, with_windows_of(question, cities)) is None, seed
        for city in cities:
            fewer = [other for other in cities if other != city]
            assert best_order(tsp, with_windows_of(question, fewer)) is not None, (seed, city)
        sizes.add(len(cities))
    assert {1, 2, 3} <= sizes


def test_without_proofs_the_set_is_larger():
    unsure = 0
    for seed in range(150):
        tsp, question = random_problem(seed, "cycle")
        if best_order(tsp, question) is None:
            found = contradiction(tsp, question, lambda asked: None)
            assert best_order(tsp, with_windows_of(question, found.cities)) is None
            unsure += not found.smallest
    assert unsure


def earliest_end(tsp, question):
    """Return the earliest end of all tours by the check of each, or None if none keeps to the question."""
    ends = []
    for tour in tours_of(tsp.n, question):
        try:
            end = question.check(tsp, tour)
        except ValueError:
            continue
        ends.append(end - (question.windows.service[tour[-1]] if question.path == "open" else 0))
    return min(ends, default=None)


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "missing arcs", "open", "by the hour"])
def test_a_day_too_short_is_known_before_the_search(kind):
    """No tour is refused by the last moment at which one still ends, and most are a little before that."""
    refused = asked = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 6))
        cost = rng.integers(1, 40, (n, n))
        cost = cost + cost.T if kind == "symmetric" else cost
        if kind == "missing arcs":
            cost[rng.random((n, n)) < 0.1] = NO_ARC
        np.fill_diagonal(cost, 0)
        tsp, zero, begin = from_costs(cost, f"day-{seed}"), np.zeros(n, np.int64), int(rng.integers(0, 50))
        start, end = ((None, 0)[seed % 2], n - 1) if kind == "open" else (None, None)
        earliest, service = zero.copy(), rng.integers(0, 9, n)
        earliest[0] = begin if kind != "open" or start == 0 else 0
        travel = None if kind != "by the hour" else TravelTimes(
            np.array([0, 60]), np.stack([tsp.cost, np.where(tsp.cost == NO_ARC, NO_ARC, tsp.cost * 2 // 3 + 3)]))
        question = TourQuestion("open" if kind == "open" else "cycle", start, end, "finish", travel_times=travel,
                                windows=Windows(earliest, np.full(n, LARGEST_SUM), service))
        best = earliest_end(tsp, question)
        assert too_long(order_problem(tsp, question)) is None
        if best is None:
            continue
        for spare in (0, 1, -1, -3):
            latest = np.full(n, LARGEST_SUM)
            latest[0 if end is None else end] = best + spare
            asked_for = replace(question, windows=Windows(earliest, latest, service),
                                objective=("sum", "latency", "finish")[seed % 3])
            found = too_long(order_problem(tsp, asked_for))
            assert found is None or spare < 0, seed
            refused, asked = refused + (found is not None), asked + (spare < 0)
            if found is not None:
                assert earliest[0] + found.travel + found.service > best + spare
    assert refused > 0.3 * asked, "the bound is near the edge"


@pytest.mark.parametrize(("objective", "method"), [("finish", "lattice"), ("finish", "bounded"), ("sum", "auto")])
def test_a_job_names_the_windows(objective, method, tmp_path):
    """From 0 it takes 10 to city 3 and to city 7, and as long between them: both cannot be served by 12."""
    n = 12
    cost = np.where(np.eye(n, dtype=bool), 0, 10)
    windows = {3: (0, 12), 7: (0, 15), 5: (0, 200), 0: (0, 900)}
    keys = {"objective": objective, "method": method, "device": "cpu", "threads": 1}
    result = hpcsolve.solve(cost, "held-karp", windows=windows, output=tmp_path / "out.h5", **keys)
    assert result.infeasible
    assert list(TOUR.lines(result.contents)) == [
        "tour:   there is none, proven",
        "why:    the windows of these 2 cities contradict each other, those of fewer do not: 3 (0 to 12), 7 (0 to 15)"]
    alone = hpcsolve.solve(cost, "held-karp", windows={3: (0, 9), 5: (0, 200)}, **keys)
    assert "why:    the window of city 3 (0 to 9) alone cannot be kept" in list(TOUR.lines(alone.contents))
    cost = cost.astype(float)
    cost[4] = np.inf
    none = hpcsolve.solve(cost, "held-karp", windows=windows, **keys)
    assert "why:    there is no tour without time windows either" in list(TOUR.lines(none.contents))


def test_a_day_too_short_is_said_in_times(tmp_path):
    """By hand: 12 legs of 10 minutes and 11 services of 30 are 7:30, and the day has 7 hours."""
    n = 12
    windows = {0: ("07:00", "14:00"), **{city: (None, "13:00" if city == 4 else None, "0:30") for city in range(1, n)}}
    result = hpcsolve.solve(np.where(np.eye(n, dtype=bool), 0, 10), "held-karp", windows=windows, time_unit="minute",
                            objective="sum", device="cpu", threads=1, output=tmp_path / "out.h5")
    assert [result.contents.value("solution", name) for name in ("least_travel", "service")] == [120, 330]
    assert list(TOUR.lines(result.contents)) == [
        "tour:   there is none, proven",
        "why:    travel takes at least 02:00 and service 05:30, together more than the window of 0 (07:00 to 14:00) "
        "leaves"]
    assert "keeps to its constraints (windows)" in problem(result)

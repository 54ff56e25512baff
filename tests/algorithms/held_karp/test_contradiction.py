"""Windows that contradict each other: by brute force they leave no tour, and fewer of them do."""

from dataclasses import replace

import numpy as np
import pytest

import hpcsolve
from hpcsolve.algorithms.held_karp.contradiction import contradiction
from hpcsolve.answers.tour import TOUR
from hpcsolve.problems.questions import TourQuestion, Windows
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import NO_ARC, from_costs
from tests.order_oracle import best_order


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
        "why:    the windows of these 2 cities contradict each other, those of fewer do not: 3, 7"]
    alone = hpcsolve.solve(cost, "held-karp", windows={3: (0, 9), 5: (0, 200)}, **keys)
    assert "why:    the window of city 3 alone cannot be kept" in list(TOUR.lines(alone.contents))
    cost = cost.astype(float)
    cost[4] = np.inf
    none = hpcsolve.solve(cost, "held-karp", windows=windows, **keys)
    assert "why:    there is no tour without time windows either" in list(TOUR.lines(none.contents))

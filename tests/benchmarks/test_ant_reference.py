"""The Ant System in double precision draws the next city from the textbook's distribution, by every rule."""

import os
import shutil

import numpy as np
import pytest

from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.problems.questions import check_tour
from jobs.benchmarks.ants.reference import RULES, DoubleColony, load_reference

N = 90
DRAWS = {"candidates": 200_000, "textbook": 200_000, "head-tail": 2_000_000}  # head-tail draws in several ways


@pytest.fixture(scope="module")
def library():
    if shutil.which(os.environ.get("HPCSOLVE_CXX", "g++")) is None:
        pytest.skip("no C++ compiler")
    return load_reference()


@pytest.fixture(scope="module")
def colony(library):
    with DoubleColony(library, uniform_tsp(N, seed=4), seed=1) as opened:
        opened.iterate("head-tail", 2)  # after more iterations hardly any far city is drawn
        yield opened


def nearest(city, count):
    return np.argsort(uniform_tsp(N, seed=4).cost[city])[:count]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("share, head_gone", [(0, False), (0.5, False), (0.5, True), (0.9, False), (0.9, True)])
def test_next_city(colony, rule, share, head_gone):
    city = 7
    visited = np.random.default_rng(2).random(N) < share
    visited[nearest(city, 35) if head_gone else []] = True
    visited[city] = True
    drawn, weight = colony.draws(rule, city, visited, DRAWS[rule])
    assert drawn.sum() == DRAWS[rule] and not drawn[visited].any()
    order = np.argsort(weight)[np.count_nonzero(visited) :]
    expected = weight[order] / weight.sum() * DRAWS[rule]
    rare = np.searchsorted(np.cumsum(expected), 10)  # rare cities are counted together, as the test requires
    starts = np.array([0, *range(rare + 1, len(order))])
    from scipy.stats import chisquare  # takes a second, which each process that collects the tests would spend

    assert chisquare(np.add.reduceat(drawn[order], starts), np.add.reduceat(expected, starts)).pvalue > 1e-3


def test_iterations(library):
    tsp = uniform_tsp(30, seed=1)
    found = {}
    for rule in RULES:
        with DoubleColony(library, tsp, seed=3) as colony:
            best = colony.iterate(rule, 60)
            assert check_tour(tsp, colony.tour()) == best[-1]
            assert (np.diff(best) <= 0).all() and best[-1] < best[0]
        found[rule] = best[-1]
    assert max(found.values()) < 1.06 * min(found.values())

"""Lower bounds of tours by 1-trees beside brute force, the check in plain numpy, and published optima."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from hpcsolve.algorithms.tours.cities import CODES, kernel_cities
from hpcsolve.algorithms.tours.one_tree import ASSIGNMENT_FILE, can_bound, tour_bound, value_by_kernel
from hpcsolve.device.host import HostDevice
from hpcsolve.formats import read
from hpcsolve.problems.distances import METRICS
from hpcsolve.problems.one_tree import Multipliers, proven_bound
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import from_matrix, from_points
from tests.oracles import brute_force, textbook_optimum

CYCLE = TourQuestion()
PATHS = [TourQuestion(path="open"), TourQuestion(path="open", start=0), TourQuestion(path="open", end=1),
         TourQuestion(path="open", start=1, end=2)]
DATA = Path(os.environ.get("HPCSOLVE_DATA") or "missing") / "tsplib"


@pytest.fixture(scope="module")
def host():
    with HostDevice(1) as device:
        yield device


def dimensions(metric):
    return 3 if "3D" in metric or "XRAY" in metric else 2


def instance(random, n, kind):
    """Return a small instance with ties, equal points, points on a line, or asymmetric costs."""
    if kind == "matrix":
        cost = random.integers(0, int(random.choice([3, 20, 10**6])), (n, n))
        return from_matrix(cost + cost.T)
    if kind == "arcs":
        return from_matrix(random.integers(-5, int(random.choice([3, 20, 10**6])), (n, n)))
    metric = str(random.choice(list(METRICS)))
    points = random.integers(-4, int(random.choice([0, 5, 80])), (n, dimensions(metric))).astype(float)
    if kind == "line":
        points[:, 1:] = 0
    return from_points(points, metric, metric, np.arange(n))


KINDS = ["points", "line", "matrix", "arcs"]


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_bound_is_above_the_optimum_and_the_multipliers_prove_it(host, count):
    random, met = np.random.default_rng(count), 0
    for number in range(count):
        few = count == 100
        tsp = instance(random, int(random.integers(4, 8 if few else 13)), KINDS[number % 4])
        bound = tour_bound(tsp, host)
        assert bound.value == proven_bound(tsp, CYCLE, bound.proof)
        if tsp.metric:
            assert bound.value == value_by_kernel(tsp, host, CYCLE, bound.proof)
        optimum = textbook_optimum(tsp.cost)
        assert bound.value <= optimum
        met += bound.value == optimum
    assert met > 0.8 * count  # most small instances have no gap


def test_bounds_of_paths(host):
    random = np.random.default_rng(3)
    for number in range(40):
        tsp, question = instance(random, int(random.integers(3, 8)), KINDS[number % 4]), PATHS[number // 4 % 4]
        bound = tour_bound(tsp, host, question)
        assert bound.value == proven_bound(tsp, question, bound.proof)
        assert bound.value <= brute_force(tsp.cost, False, question.start, question.end)
        if tsp.metric:
            assert bound.value == value_by_kernel(tsp, host, question, bound.proof)


@pytest.mark.parametrize("metric", CODES)
@pytest.mark.parametrize("few_places", [False, True])
def test_the_tree_in_a_k_d_tree_weighs_what_prims_weighs(host, metric, few_places):
    random = np.random.default_rng(len(metric))
    points = random.uniform(-80, 80, (700, dimensions(metric)))
    if few_places:
        points = np.round(points / 20)
    if metric.startswith("XRAY"):
        points[:, 0] *= 4  # the first angle may go round
    tsp = from_points(points, metric, metric, np.arange(len(points)))
    typical = np.median(tsp.between(np.arange(699), np.arange(1, 700)))
    pi = np.rint(random.normal(0, 300 * typical**0.5, 700)).astype(np.int64)
    for proof, question in ((Multipliers(128, 5, pi), CYCLE), (Multipliers(128, -1, pi), TourQuestion(path="open"))):
        assert value_by_kernel(tsp, host, question, proof) == proven_bound(tsp, question, proof)


def test_the_same_bits_with_any_number_of_threads_and_whatever_the_order_in_the_file():
    random = np.random.default_rng(2)
    tsp = from_points(random.integers(0, 10**6, (3000, 2)).astype(float), "EUC_2D", "", np.arange(3000))
    found = []
    for threads in (1, 3):
        with HostDevice(threads) as host:
            found.append(tour_bound(tsp, host, cities=kernel_cities(tsp)))
    assert found[0].value == found[1].value and found[0].proof.special == found[1].proof.special
    assert np.array_equal(found[0].proof.entering, found[1].proof.entering)
    best = 0.7124 * np.sqrt(3000 * 10**12)  # about the optimum of points at random, a little more with so few
    assert 0.98 * best < found[0].value < 1.02 * best


def test_dual_values_of_the_assignment_problem(host):
    random = np.random.default_rng(4)
    for n in (2, 3, 10, 60):
        matrix = random.integers(0, int(random.choice([4, 1000])), (n, n)).astype(np.int32)
        solution, (rows, columns) = np.empty(n, np.uint32), np.empty((2, n), np.int64)
        host.call(ASSIGNMENT_FILE, "assignment_solve", n=n, matrix=matrix, solution=solution, rows=rows,
                  columns=columns)
        cost = np.where(np.eye(n, dtype=bool), 10**9, matrix.astype(np.int64))
        assert (cost >= rows[:, None] + columns).all()
        assert rows.sum() + columns.sum() == cost[linear_sum_assignment(cost)].sum()
        assert sorted(solution.tolist()) == list(range(n))
        assert cost[np.arange(n), solution].sum() == rows.sum() + columns.sum()
        if n > 2:
            tsp = from_matrix(matrix.astype(np.int64))
            assert tsp.symmetric or tour_bound(tsp, host).value >= rows.sum() + columns.sum()


def test_two_groups_with_one_cheap_way_between_them(host):  # whose cheap arcs alone say nothing of the other way
    random = np.random.default_rng(9)
    cost = random.integers(1, 9, (30, 30))
    cost[15:, :15] += 5000  # every tour goes back once
    assert tour_bound(from_matrix(cost), host).value > 5000


def test_clusters_move_as_a_whole(host):
    random = np.random.default_rng(1)
    centres = random.integers(0, 10**6, (12, 2))
    points = (centres[:, None] + random.integers(0, 1000, (12, 40, 2))).reshape(-1, 2).astype(float)
    apart = tour_bound(from_points(points, "EUC_2D", "", np.arange(480)), host).value
    whole = tour_bound(from_points(centres.astype(float), "EUC_2D", "", np.arange(12)), host).value
    assert apart > 0.99 * whole  # a bound by single cities stays tens of per cent below


def test_what_has_no_bound(host):
    cost = np.ones((5, 5))
    cost[0, 3] = np.inf
    assert tour_bound(from_matrix(cost), host) is None  # an arc is missing
    assert tour_bound(from_matrix(np.ones((2, 2), int)), host) is None
    assert not can_bound(from_matrix(np.full((5, 5), 2**31)), CYCLE)
    assert not can_bound(from_matrix(np.ones((5, 5), int)), TourQuestion(objective="latency"))


@pytest.mark.skipif(not DATA.is_dir(), reason="HPCSOLVE_DATA names no folder with tsplib")
def test_gaps_of_published_instances(host):
    gaps = {}
    for row in csv.DictReader((DATA / "optima.csv").open()):
        paths = [path for path in (DATA / f"{row['name']}.tsp", DATA / f"{row['name']}.atsp") if path.exists()]
        if not paths:
            continue
        tsp, optimum = read(paths[0]).problem, int(row["optimum"])
        bound = tour_bound(tsp, host)
        assert bound.value == proven_bound(tsp, CYCLE, bound.proof) <= optimum, row
        gaps[row["name"]] = 1 - bound.value / optimum
        assert gaps[row["name"]] < 0.02, row
    assert np.mean(list(gaps.values())) < 0.005 and sum(gap == 0 for gap in gaps.values()) >= 10

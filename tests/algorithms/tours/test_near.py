"""Lists of near nodes equal those by brute force in numpy, for every metric, with ties, clusters, pairs, fixed edges.

So do the costs of the functions of the host, which are in the lists, and the instance's own.
"""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms.tours.cities import CODES, FORBIDDEN, NONE, kernel_cities
from hpcsolve.algorithms.tours.near import NEAR_FILE, near_lists
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.distances import METRICS, ON_THE_GLOBE, dimensions
from hpcsolve.problems.generate import generate
from hpcsolve.problems.tsp import NO_ARC, from_matrix, from_points

OCTAVES = (3.0, 400.0, 1e6)
BYTES_A_CITY = 112
"""Coordinates, lists of 8 near nodes, order, and the tree of their search."""


def costs_between(cities):
    """Return the costs between all nodes, int64, from the instance's own, FORBIDDEN where there is no edge."""
    tsp, order = cities.tsp, cities.order
    if not cities.paired:
        costs = tsp.between(order[:, None], order) - cities.offset
        return np.where(np.eye(len(order), dtype=bool), FORBIDDEN, costs)
    costs = np.full((cities.nodes, cities.nodes), FORBIDDEN, np.int64)
    arcs = tsp.between(order[:, None], order) - cities.offset
    costs[1::2, ::2] = np.where(np.eye(len(order), dtype=bool), FORBIDDEN, arcs)
    costs[::2, 1::2] = costs[1::2, ::2].T
    return costs


def by_brute_force(cities, width, a_quadrant):
    """Return the lists, an array of nodes and one of costs, from all costs."""
    n, costs = cities.nodes, costs_between(cities)
    if cities.fixed is not None:
        partners = np.flatnonzero(cities.fixed != NONE)
        costs[partners, cities.fixed[partners]] = FORBIDDEN
    near, listed = np.repeat(np.arange(n)[:, None], width, axis=1), np.full((n, width), FORBIDDEN)
    for node in range(n):
        others = np.lexsort((np.arange(n), costs[node]))
        others = others[costs[node, others] < FORBIDDEN]
        chosen = np.zeros(len(others), bool)
        if a_quadrant:
            quadrants = quadrants_of(cities, node, others)
            for quadrant in range(4):
                chosen[np.flatnonzero(quadrants == quadrant)[:a_quadrant]] = True
        chosen[np.flatnonzero(~chosen)[: width - chosen.sum()]] = True
        kept = others[chosen]
        near[node, : len(kept)], listed[node, : len(kept)] = kept, costs[node, kept]
    return near, listed


def quadrants_of(cities, node, others):
    """Return in which quadrant of a node other nodes are."""
    axes = [0, 1]
    if cities.tsp.metric in ON_THE_GLOBE:
        axes = np.delete(np.arange(3), np.abs(cities.points[node]).argmax())
    smaller = cities.points[others][:, axes] < cities.points[node, axes]
    return smaller[:, 0] + 2 * smaller[:, 1]


def check(host, cities, width, a_quadrant):
    lists = near_lists(host, cities, width, a_quadrant)
    a_quadrant = min(a_quadrant, lists.width // 4) if cities.points is not None else 0
    near, cost = by_brute_force(cities, lists.width, a_quadrant)
    assert np.array_equal(lists.cost, cost)
    assert np.array_equal(lists.near, near)


@st.composite
def places(draw, metric):
    """Draw points with duplicates, lines, ties of rounding (halves and quarters), clusters, and large coordinates."""
    globe = metric in ON_THE_GLOBE
    bound = draw(st.sampled_from((0.5, 90.0, 180.0) if globe else OCTAVES))
    number = st.one_of(st.floats(-bound, bound), st.integers(-int(4 * bound), int(4 * bound)).map(lambda x: x / 4),
                       st.sampled_from((-bound, 0.0, bound)))
    axes = 2 if globe else dimensions(metric)
    several = draw(st.lists(st.tuples(*[number] * axes), min_size=2, max_size=40))
    repeated = draw(st.lists(st.integers(0, len(several) - 1), max_size=20))
    return np.array(several + [several[i] for i in repeated])


def test_all_metrics_have_codes():
    assert set(CODES) == set(METRICS)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_points(host, metric, data):
    points = data.draw(places(metric))
    tsp = from_points(points, metric, "some", np.arange(len(points)))
    width = data.draw(st.integers(1, 12))
    edges = []
    if data.draw(st.booleans()):
        order = data.draw(st.permutations(range(tsp.n)))
        edges = list(zip(order[::3], order[1::3]))
    check(host, kernel_cities(tsp, edges), width, data.draw(st.integers(0, width // 4)))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_matrices(host, data):
    n, high = data.draw(st.integers(2, 20)), data.draw(st.sampled_from((2, 10, 10**8)))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    costs = rng.integers(-high // 2, high, (n, n))
    if data.draw(st.booleans()):
        costs = np.tril(costs) + np.tril(costs).T
    check(host, kernel_cities(from_matrix(costs)), data.draw(st.integers(1, 12)), 0)


@pytest.mark.parametrize("kind", ["uniform", "clusters", "rows", "equal", "globe", "pole"])
@pytest.mark.parametrize("a_quadrant", [0, 2])
def test_more_cities(host, kind, a_quadrant):
    rng = np.random.default_rng(3)
    metric, n = "EUC_2D", 900
    points = rng.uniform(0, 10**4, (n, 2))
    if kind == "clusters":
        points = points[rng.integers(0, 9, n)] + rng.normal(0, 50, (n, 2)).round()
    elif kind == "rows":
        points = np.stack([np.arange(n) % 30, np.arange(n) // 30], axis=1) * 7.0
    elif kind == "equal":
        points = points[rng.integers(0, 3, n)]
    elif kind in ("globe", "pole"):
        metric, points = "GREAT_CIRCLE", np.stack([rng.uniform(-90, 90, n), rng.uniform(-180, 180, n)], axis=1)
        if kind == "pole":
            points[:, 0] = 90 - rng.uniform(0, 0.01, n)
    check(host, kernel_cities(from_points(points, metric, kind, np.arange(n))), 8, a_quadrant)


def test_lists_do_not_depend_on_threads():
    tsp = generate("tsp", "uniform-tsp", n=5000, seed=4)
    cities = kernel_cities(tsp)
    with HostDevice(1) as one, HostDevice(3) as three:
        alone, shared = near_lists(one, cities, 8, 2), near_lists(three, cities, 8, 2)
    assert np.array_equal(alone.near, shared.near) and np.array_equal(alone.cost, shared.cost)


@pytest.mark.parametrize("kind", ["equal", "line", "circle", "clusters", "ties"])
def test_no_instance_takes_quadratic_time(host, kind):
    """Twice as many cities take less than three times as long. By brute force 50,000 would take minutes."""
    seconds = []
    for n in (25_000, 50_000):
        rng, angles = np.random.default_rng(3), np.arange(n)
        points = {
            "equal": np.zeros((n, 2)),
            "line": np.repeat(rng.integers(0, 10**6, (n, 1)), 2, axis=1).astype(float),
            "circle": np.stack([np.cos(angles), np.sin(angles)], axis=1) * 1e6,
            "clusters": rng.integers(0, 10**6, (5, 2))[angles % 5] + rng.normal(0, 100, (n, 2)),
            "ties": rng.random((n, 2)) * 20,
        }[kind]
        cities = kernel_cities(from_points(points, "EUC_2D", kind, angles))
        near_lists(host, cities, 8, 2)
        started = time.process_time()
        near_lists(host, cities, 8, 2)
        seconds.append(time.process_time() - started)
    assert seconds[1] < 3 * seconds[0] + 0.5 and seconds[1] < 5


@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_memory_is_linear(host, n):
    tsp = generate("tsp", "uniform-tsp", n=n)
    near_lists(host, kernel_cities(generate("tsp", "uniform-tsp", n=10)), 8, 2)  # compiled
    tracemalloc.start()
    cities = kernel_cities(tsp)
    lists = near_lists(host, cities, 8, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = host.functions[NEAR_FILE, "near_cities_list"].most_held
    assert (peak + held) / n < BYTES_A_CITY
    assert lists.near.shape == (n, 8) and int(lists.near.max()) < n
    some = np.random.default_rng(1).integers(0, n, 50)
    costs = tsp.between(cities.order[some][:, None], cities.order[lists.near[some]])
    assert np.array_equal(costs, lists.cost[some]) and costs.max() < NO_ARC

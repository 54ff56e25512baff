"""Tours of an instance and tours of its nodes are the same tours at the same cost, whatever a job asks for.

The oracle goes through all orders of few cities.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms.tours import cities as module
from hpcsolve.algorithms.tours.cities import (
    CODES,
    FORBIDDEN,
    LARGEST_COST,
    NONE,
    OF_MATRIX,
    OF_PAIRS,
    fits,
    hilbert_places,
    kernel_cities,
    require_costs,
)
from hpcsolve.errors import InputError
from hpcsolve.problems.distances import METRICS
from hpcsolve.problems.tsp import from_matrix, from_points


def kernel_cost(cities, a, b):
    """Return the cost of an edge as cuda_src/tours/costs.cuh says."""
    if cities.metric == OF_MATRIX:
        return int(cities.matrix[a, b])
    if cities.metric == OF_PAIRS:
        leaves, enters = (a, b) if a % 2 else (b, a)
        if a % 2 == b % 2:
            return FORBIDDEN
        return 0 if leaves // 2 == enters // 2 else int(cities.matrix[leaves // 2, enters // 2])
    name = {code: name for name, code in CODES.items()}[cities.metric]
    return int(METRICS[name](*cities.points[[a, b]]))


def legs_of(tour, closed):
    return list(zip(tour, tour[1:] + tour[:1] if closed else tour[1:]))


@st.composite
def questions(draw):
    """Draw an instance of few cities, forced edges that some tour has, and the ends of paths."""
    n, kind = draw(st.integers(3, 6)), draw(st.sampled_from(("points", "symmetric", "asymmetric")))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    costs = rng.integers(-20, 50, (n, n))
    if kind == "points":
        tsp = from_points(rng.integers(0, 50, (n, 2)).astype(float), "EUC_2D", "points", np.arange(n))
    else:
        tsp = from_matrix(costs if kind == "asymmetric" else np.tril(costs) + np.tril(costs, -1).T)
    order, closed = draw(st.permutations(range(n))), draw(st.booleans())
    legs = legs_of(order, closed)
    edges = draw(st.lists(st.sampled_from(legs), max_size=n, unique=True))
    if tsp.symmetric:
        edges = [edge[::-1] if draw(st.booleans()) else edge for edge in edges]
    start = None if closed or draw(st.booleans()) else order[0]
    end = None if closed or draw(st.booleans()) else order[-1]
    return tsp, edges, closed, start, end


@settings(max_examples=150, deadline=None)
@given(questions(), st.data())
def test_tours_of_nodes_are_tours_of_the_instance(question, data):
    tsp, edges, closed, start, end = question
    cities = kernel_cities(tsp, edges, closed=closed, start=start, end=end)

    def allowed(tour):
        legs = {*legs_of(tour, closed)}
        legs |= {(b, a) for a, b in legs} if tsp.symmetric else set()
        return {*edges} <= legs and start in (None, tour[0]) and end in (None, tour[-1])

    def cost(tour):
        return sum(int(tsp.cost[leg]) for leg in legs_of(tour, closed))

    tours = [tour for tour in itertools.permutations(range(tsp.n)) if allowed(tour)]
    tours = data.draw(st.lists(st.sampled_from(tours), min_size=1, max_size=4))
    nodes = cities.nodes_of(np.array(tours))
    assert nodes.dtype == np.uint32 and nodes.shape == (len(tours), cities.nodes)
    assert (np.sort(nodes, axis=1) == np.arange(cities.nodes)).all()
    assert cities.costs_of(nodes).tolist() == [cost(tour) for tour in tours]
    turned = np.roll(nodes, data.draw(st.integers(0, cities.nodes)), axis=1)
    for same in (nodes, turned, turned[:, ::-1]):
        back = [tuple(tour) for tour in cities.tour_of(same).tolist()]
        assert all(map(allowed, back)) and [*map(cost, back)] == [*map(cost, tours)]
    for tour, order in zip(tours, nodes.tolist()):
        legs = legs_of(order, closed=True)
        if cities.nodes > 2:
            assert sum(kernel_cost(cities, *leg) for leg in legs) + cities.shift == cost(tour)
        if cities.fixed is not None:
            fixed = {(node, int(other)) for node, other in enumerate(cities.fixed) if other != NONE}
            assert fixed <= {*legs} | {(b, a) for a, b in legs}


def test_a_path_between_given_cities_needs_no_matrix():
    tsp = from_points(np.arange(40.0).reshape(20, 2), "EUC_2D", "x", np.arange(20))
    between = kernel_cities(tsp, closed=False, start=3, end=7)
    assert between.matrix is None and between.nodes == 20
    assert kernel_cities(tsp, closed=False, start=3).nodes == 21


@pytest.mark.parametrize(("edges", "message"), [
    ([(0, 1), (1, 2), (2, 0)], "forced edges close a cycle"),
    ([(0, 1), (0, 2), (0, 3)], "no tour has all forced edges at city 10"),
    ([(4, 4)], "no tour has all forced edges at city 14"),
])
def test_forced_edges_that_no_tour_has(edges, message):
    tsp = from_points(np.arange(10.0).reshape(5, 2), "EUC_2D", "x", np.arange(10, 15))
    with pytest.raises(InputError, match=message):
        kernel_cities(tsp, edges)
    assert kernel_cities(tsp, [(0, 1), (1, 0)]).nodes == 5


def test_two_arcs_that_leave_the_same_city():
    tsp = from_matrix(np.arange(25).reshape(5, 5))
    with pytest.raises(InputError, match="two forced arcs leave, or enter, the same city"):
        kernel_cities(tsp, [(0, 1), (0, 2)])


@pytest.mark.parametrize(("bits", "axes"), [(4, 2), (3, 3)])
def test_the_hilbert_curve_goes_from_cell_to_neighbouring_cell(monkeypatch, bits, axes):
    monkeypatch.setattr(module, "HILBERT_BITS", bits)
    cells = np.array([*itertools.product(range(1 << bits), repeat=axes)], float)
    places = hilbert_places(cells)
    assert sorted(places.tolist()) == [*range(len(cells))]
    steps = np.abs(np.diff(cells[np.argsort(places)], axis=0))
    assert (steps.sum(axis=1) == 1).all()


def test_what_is_near_on_the_curve_is_near_in_the_plane():
    """At fewer cities than cells, and at equal ones: a tour along the curve is at most 1.5 times a good one."""
    points = np.random.default_rng(1).uniform(-5, 1e6, (20_000, 2))
    cities = kernel_cities(from_points(points, "EUC_2D", "x", np.arange(len(points))))
    assert cities.costs_of(np.arange(cities.nodes, dtype=np.uint32))[0] < 1.5 * 0.7124 * np.sqrt(20_000 * 1e12)
    assert hilbert_places(np.ones((3, 2))).tolist() == [0, 0, 0]


def test_costs_that_do_not_fit():
    costs = np.array([[0, LARGEST_COST], [0, 0]])
    require_costs(from_matrix(costs), "edge-assembly")
    with pytest.raises(InputError, match=r"costs range from -1 to 1073741823 .* edge-assembly takes a range up to"):
        require_costs(from_matrix(costs - np.array([[0, 0], [1, 0]])), "edge-assembly")
    with pytest.raises(InputError, match="there is no arc from city 0 to city 1; edge-assembly needs one"):
        require_costs(from_matrix(np.array([[0, np.inf], [1, 0]])), "edge-assembly")


def test_coordinates_that_do_not_fit():
    """The largest distance counts where few cities' bound is too large, since that is up to 1.4 times as large."""
    points = np.array([[0, 0], [0.7, 0.7]]) * LARGEST_COST
    assert fits(from_points(points, "EUC_2D", "x", np.arange(2)))
    assert not fits(from_points(1.1 * points, "EUC_2D", "x", np.arange(2)))

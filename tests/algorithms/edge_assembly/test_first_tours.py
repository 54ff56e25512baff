"""First tours of asymmetric costs: what reduced costs keep, and tours that are patched from assignments.

And the first tour of many cities, which is improved in areas, and then as a whole.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import hpcsolve
from hpcsolve.algorithms.base import NO_STOP, silent
from hpcsolve.algorithms.edge_assembly.areas import Areas
from hpcsolve.algorithms.edge_assembly.first_tours import FirstTours, with_reduced_costs
from hpcsolve.algorithms.edge_assembly.parameters import Parameters, statement
from hpcsolve.algorithms.edge_assembly.setting import Setting
from hpcsolve.algorithms.tours.cities import LARGEST_COST, kernel_cities
from hpcsolve.algorithms.tours.near import near_lists
from hpcsolve.algorithms.tours.stop import NO_TOUR, SearchStop
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import random_matrix, uniform_tsp
from hpcsolve.problems.tsp import from_matrix


def random_costs(n, high=1000, seed=1):
    return np.random.default_rng(seed).integers(0, high, (n, n))


def first_tours(host, costs, seed=1, **asked):
    cities = with_reduced_costs(host, kernel_cities(from_matrix(costs), **asked))
    return FirstTours(host, cities, near_lists(host, cities, 6, 1), seed, host, 1)


@pytest.fixture
def host():
    with HostDevice(2) as device:
        yield device


@given(st.integers(5, 40), st.sampled_from([2, 30, 10**6]), st.integers(0, 99), st.sampled_from([0, -50]))
@settings(max_examples=40, deadline=None)
def test_reduced_costs_leave_the_order_of_tours(n, high, seed, low):
    costs = random_costs(n, high, seed) + low
    if (costs == costs.T).all():
        return
    with HostDevice(1) as host:
        before = kernel_cities(from_matrix(costs))
        after = with_reduced_costs(host, before)
        tours = np.array([np.random.default_rng(k).permutation(n) for k in range(5)])
        lengths = [after.matrix[tour, np.roll(tour, -1)].sum() + after.shift for tour in tours]
        assert lengths == [before.matrix[tour, np.roll(tour, -1)].sum() + before.shift for tour in tours]
        assert after.matrix.min() == 0 and not after.matrix[np.arange(n), after.assigned].any()
        of_solution = np.where(np.eye(n, dtype=bool), 10**9, costs)
        assert after.shift == of_solution[linear_sum_assignment(of_solution)].sum()


@pytest.mark.parametrize("asked", [{}, {"fixed_edges": [(1, 2), (2, 3)]}, {"closed": False},
                                   {"closed": False, "start": 4}])
def test_patched_tours_are_tours_that_keep_what_is_forced(host, asked):
    first = first_tours(host, random_costs(30), **asked)
    tours = first.patched(range(20))
    for order in first.cities.tour_of(tours):
        assert sorted(order.tolist()) == list(range(30))
        if "fixed_edges" in asked:
            at = order.tolist().index(1)
            assert np.roll(order, -at)[:3].tolist() == [1, 2, 3]
        if "start" in asked:
            assert order[0] == 4
    assert len(np.unique(first.cities.costs_of(tours))) > 5, "they differ"


def test_a_tour_follows_from_its_number_alone():
    tours = []
    for threads, numbers in ((1, [3, 4, 5]), (3, [5, 4, 3])):
        with HostDevice(threads) as host:
            tours.append(first_tours(host, random_costs(50)).patched(numbers))
    assert np.array_equal(tours[0], tours[1][::-1])
    with HostDevice(1) as host:
        assert not np.array_equal(first_tours(host, random_costs(50), seed=2).patched([3]), tours[0][:1])


def test_cycles_are_joined_by_the_cheapest_exchange(host):
    """Two cycles of three cities cost nothing. The cheapest arcs between them cost 3 and 4."""
    costs = np.full((6, 6), 50)
    for cycle in ((0, 1, 2), (3, 4, 5)):
        for a, b in zip(cycle, (*cycle[1:], cycle[0])):
            costs[a, b] = 0
    costs[1, 5], costs[4, 2] = 3, 4  # in the place of 1-2 and 4-5
    first = first_tours(host, costs)
    found = [first.cities.costs_of(first.patched([number]))[0] for number in range(40)]
    assert min(found) == 7


def test_patched_tours_are_taken_where_they_are_far_shorter(host):
    """Of random costs the assignment problem tells nearly all, of nearly symmetric ones nothing."""
    points = np.random.default_rng(3).integers(0, 1000, (200, 2))
    plane = np.rint(np.hypot(*(points[:, None] - points).T)).astype(int)
    plane[0, 1] += 1
    for costs, patched in ((random_costs(300, 10**6), True), (plane, False)):
        first = first_tours(host, costs)
        assert first.takes_patched is patched
        tours, lengths = first.improved([7])
        expected = (first.patched if patched else first.by_boruvka)([7])
        first.improve(expected)
        assert np.array_equal(tours, expected) and lengths[0] + first.cities.shift == first.cities.costs_of(tours)[0]


def test_reduced_costs_that_do_not_fit_are_not_taken(host):
    """Two cities can go on to city 2 alone at no cost, so entering it gets a dual value of -LARGEST_COST."""
    costs = np.zeros((6, 6), int)
    costs[:2], costs[:, 2] = LARGEST_COST, LARGEST_COST
    costs[:2, 2] = 0
    cities = kernel_cities(from_matrix(costs))
    assert with_reduced_costs(host, cities) is cities
    result = hpcsolve.solve(costs, "edge-assembly", device="cpu", bound=False)
    assert result.cost == LARGEST_COST and result.verified


def test_random_costs_are_solved_to_the_assignment_bound_nearly():
    """Random asymmetric costs: an optimal tour costs hardly more than the assignment problem's solution."""
    costs = random_costs(300, 10**6)
    result = hpcsolve.solve(costs, "edge-assembly", device="cpu", population=30, bound=False)
    of_solution = np.where(np.eye(300, dtype=bool), 10**9, costs)
    assert result.cost < 1.02 * of_solution[linear_sum_assignment(of_solution)].sum()


@pytest.mark.parametrize(("symmetric", "in_areas"), [(True, True), (False, False)])
@pytest.mark.parametrize("begins_with", ["quick Boruvka", "a tour"])
def test_a_first_tour_of_many_cities(symmetric, in_areas, begins_with, host, monkeypatch):
    """It is improved in areas, unless costs are a matrix, and then as a whole."""
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.parameters.MOST_WHOLE", 100)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.parameters.FIRST_AREA", 80)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.areas.FIRST_AT_ONCE", 1)
    assembly = statement(uniform_tsp(700, seed=2) if symmetric else random_matrix(150),
                         Parameters(population=4, bound=False), to_check=True)
    cities, comm = assembly.cities(), SerialComm()
    lists = near_lists(host, cities, 8, 2)
    first = FirstTours(host, cities, lists, 1, host, 1)
    given = None if begins_with == "quick Boruvka" else first.by_boruvka([5])[0]
    setting = Setting(assembly, cities, lists, host, comm, 1, SearchStop(comm, NO_STOP), silent, first, 1, given)
    begun = first.by_boruvka([0])[0] if given is None else given
    halfway, whole = Areas(setting, 4), Areas(setting, 4)
    for areas in (halfway, whole):
        steps = list(areas.work())
        assert np.array_equal(areas.tour, begun) and areas.length == setting.length_of(begun)
        numbers = (2, 4, 6, 8, 10, 11) if in_areas else ()
        assert steps == [(NO_TOUR, f"{done} of 11 areas of the first tour") for done in numbers]
    found, tour = halfway.cut_short(), halfway.tour[None].copy()
    assert found.best == setting.length_of(halfway.tour) and (found.best < areas.length) == in_areas
    best = int(first.improve(tour)[0])
    assert whole.finish().best == whole.length == best < found.best and np.array_equal(whole.tour, tour[0])
    first.close()

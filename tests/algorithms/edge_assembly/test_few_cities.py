"""Up to 8 cities, their ends, forced legs, costs that depend on the direction: brute force over all orders."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms.base import NO_STOP, silent
from hpcsolve.algorithms.edge_assembly import ALGORITHM, Parameters
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import from_matrix, from_points

KINDS = ("points", "globe", "symmetric", "asymmetric", "equal", "a line")


def instance(kind, n, seed):
    """Return an instance of a kind."""
    random, labels = np.random.default_rng(seed), np.arange(n)
    if kind == "points":
        return from_points(random.integers(0, 30, (n, 2)).astype(float), "EUC_2D", "points", labels)
    if kind == "globe":
        return from_points(random.uniform(-80, 80, (n, 2)), "GREAT_CIRCLE", "globe", labels)
    if kind == "a line":
        return from_points(np.stack([random.integers(0, 9, n), np.zeros(n)], 1), "MAN_2D", "a line", labels)
    table = random.integers(7, 8, (n, n)) if kind == "equal" else random.integers(-20, 80, (n, n))
    return from_matrix(np.minimum(table, table.T) if kind == "symmetric" else table)


@st.composite
def jobs(draw):
    """Draw an instance and parameters, which no tour may satisfy."""
    kind, n = draw(st.sampled_from(KINDS)), draw(st.integers(1, 8))
    path, city = draw(st.sampled_from(["cycle", "open"])), st.none() | st.integers(0, n - 1)
    start, end = draw(city), draw(city) if path == "open" else None
    assume(start is None or start != end)
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    forced = draw(st.lists(pair, max_size=3 if n > 1 else 0))
    parameters = Parameters(population=4, path=path, start=start, end=end, forced=forced)
    return instance(kind, n, draw(st.integers(0, 2**32 - 1))), parameters


def least(tsp, question):
    """Return the least cost of all orders that answer a question, None if there is none."""
    orders = np.array(list(permutations(range(tsp.n))))
    if question.path == "cycle":
        orders = orders[orders[:, 0] == (question.start or 0)]
    for city, place in ((question.start, 0), (question.end, -1)):
        orders = orders if city is None else orders[orders[:, place] == city]
    for a, b in question.forced:
        following = (orders == a) & (np.roll(orders, -1, axis=1) == b)
        before = (orders == b) & (np.roll(orders, -1, axis=1) == a)
        if question.path == "open":
            following[:, -1] = before[:, -1] = False
        orders = orders[(following | (before & tsp.symmetric)).any(axis=1)]
    if not len(orders):
        return None
    heads = np.roll(orders, -1, axis=1)
    costs = np.where(orders == heads, 0, tsp.between(orders, heads))
    return int(costs[:, : tsp.n - (question.path == "open")].sum(axis=1).min())


def solved(tsp, parameters, criteria=NO_STOP, seed=1, threads=2):
    """Return the outcome of a run on this process."""
    with HostDevice(threads) as device:
        return ALGORITHM.solve(tsp, device, SerialComm(), parameters, silent, criteria, seed)


@settings(deadline=None, max_examples=150)
@given(jobs())
def test_the_best_tour_is_found(job):
    tsp, parameters = job
    question = TourQuestion(parameters.path, parameters.start, parameters.end, forced=tuple(parameters.forced))
    best = least(tsp, question)
    if best is None:
        with pytest.raises(InputError, match=r"forced"):
            solved(tsp, parameters)
        return
    found = solved(tsp, parameters)
    assert found.answer.cost == question.check(tsp, found.answer.tour) == best


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_of_few_cities_the_tour_is_proven(kind, n):
    tsp = instance(kind, n, 5)
    found = solved(tsp, Parameters())
    assert found.answer.optimal and found.answer.cost == least(tsp, TourQuestion())


@pytest.mark.parametrize(("forced", "why"), [
    ([(0, 1), (0, 2), (0, 3)], "city 0"), ([(0, 1), (1, 2), (2, 0)], "cycle"), ([(0, 0)], "one city twice"),
    ([(0, 99)], "has no city 99"),
])
def test_forced_legs_that_no_tour_has_are_refused(forced, why):
    with pytest.raises(InputError, match=rf"edge-assembly\.forced: .*{why}"):
        solved(instance("points", 9, 1), Parameters(forced=forced))


def test_forced_legs_may_be_a_whole_tour():
    order = [3, 1, 4, 0, 2, 6, 5]
    for kind in ("points", "asymmetric"):
        found = solved(instance(kind, 7, 1), Parameters(forced=list(zip(order, [*order[1:], order[0]]))))
        assert found.answer.tour.tolist() in ([0, 2, 6, 5, 3, 1, 4], [0, 4, 1, 3, 5, 6, 2])


def test_the_plan_says_how_a_path_takes_no_matrix():
    tsp = instance("points", 50, 1)
    for ends, said in (({}, True), ({"start": 3}, True), ({"start": 3, "end": 4}, False)):
        plan = ALGORITHM.plan(ALGORITHM.statement(tsp, Parameters(path="open", **ends)), 1)
        assert ("give the path a start and an end" in plan.smaller) == said
    assert not ALGORITHM.plan(ALGORITHM.statement(tsp, Parameters()), 1).smaller

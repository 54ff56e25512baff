"""Cycles with fixed edges stand for tours: chains, ends and free ends, by brute force over all orders."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms.edge_assembly.cycle import FEWEST_NODES, ChainError, chains_of, cycle_for
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import from_matrix, from_points


@st.composite
def questions(draw, most=6):
    """Draw an instance and a question, which may have no answer."""
    n = draw(st.integers(1, most))
    kind = draw(st.sampled_from(["points", "symmetric", "asymmetric"]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "points":
        tsp = from_points(random.integers(0, 30, (n, 2)).astype(float), "EUC_2D", "points", np.arange(1, n + 1))
    else:
        table = random.integers(-20, 80, (n, n))
        tsp = from_matrix(np.minimum(table, table.T) if kind == "symmetric" else table)
    path = draw(st.sampled_from(["cycle", "open"]))
    city = st.none() | st.integers(0, n - 1)
    start, end = draw(city), draw(city) if path == "open" else None
    assume(start is None or start != end)
    pairs = st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1]),
                     max_size=4 if n > 1 else 0)
    return tsp, TourQuestion(path, start, end, forced=tuple(draw(pairs)))


def answers(tsp, question):
    """Return the costs of all orders that answer a question, by order."""
    found = {}
    for order in permutations(range(tsp.n)):
        if question.path == "open" or order[0] == (question.start or 0):
            try:
                found[order] = question.check(tsp, np.array(order))
            except ValueError:
                continue
    return found


@settings(deadline=None, max_examples=300)
@given(questions())
def test_cycles_and_tours_are_the_same_with_the_same_costs(asked):
    tsp, question = asked
    right = answers(tsp, question)
    try:
        cycle = cycle_for(tsp, question)
    except ChainError:
        assert not right
        return
    assert right
    found = {}
    for rest in permutations(range(1, cycle.nodes)):
        order = np.array([0, *rest])
        beside = [{a, b} for a, b in zip(order.tolist(), np.roll(order, -1).tolist())]
        if all(set(pair) in beside for pair in cycle.fixed):
            tour = cycle.tour_of(order)
            cost = question.check(tsp, tour)
            if cycle.nodes > 1:
                length = int(cycle.tsp.between(order, np.roll(order, -1)).sum())
                assert length + cycle.shift == cost
            found[tuple(tour.tolist())] = cost
            back = cycle.cycle_of(tour)
            assert tuple(cycle.tour_of(back)) == tuple(tour), "the cycle of a tour stands for the tour"
    assert set(found) <= set(right) and min(found.values()) == min(right.values())
    assert sorted(set(found.values())) == sorted(set(right.values())), "no tour is lost but one with the same legs"
    if cycle.nodes < FEWEST_NODES:
        cost, tour = cycle.best_of_few()
        assert cost == min(right.values()) == question.check(tsp, tour)


def test_chains_of_edges():
    assert chains_of(9, [(3, 1), (1, 8), (5, 4)], False) == [[3, 1, 8], [4, 5]]
    assert chains_of(9, [(3, 1), (8, 3), (5, 4), (5, 4)], True) == [[5, 4], [8, 3, 1]]
    assert chains_of(3, [(0, 1), (1, 2), (2, 0)], False) == [[0, 1, 2]]
    for edges, city in (([(0, 1), (0, 2), (0, 3)], 0), ([(0, 1), (1, 2), (2, 0)], None)):
        with pytest.raises(ChainError) as error:
            chains_of(4, edges, False)
        assert error.value.city == city
    with pytest.raises(ChainError) as error:
        chains_of(4, [(0, 2), (1, 2)], True)
    assert error.value.city == 2

"""Rounding against exact rational arithmetic: every cost, the finest unit, and the bound of tours and trees."""

from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.answers.rounding import at_most
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.questions import check_tour
from hpcsolve.problems.rounding import (
    NO_ARC,
    BadNumber,
    Costs,
    Precision,
    costs_from_floats,
    costs_from_integers,
    costs_from_texts,
    decimals_of,
    exact_floats,
    unit_text,
)
from hpcsolve.problems.tsp import from_matrix

FINE = 2**62 - 1


def precision(largest=2**30, fits=False, exact=False, decimals=None):
    return Precision("held-karp", lambda n, edges: largest, lambda problem: fits, exact, decimals)


def made(table, wanted):
    """Return a table's problem as the runner makes it."""
    return from_matrix(table, precision=wanted).fitted(wanted)


def nearest(number, decimals):
    """Round a text, half to even, by Python's decimals."""
    return int(Decimal(number).scaleb(decimals).to_integral_value("ROUND_HALF_EVEN"))


magnitudes = st.floats(1e-3, 1e9).flatmap(lambda top: st.lists(st.floats(top / 1e3, top), min_size=1, max_size=12))
largest_costs = st.sampled_from([2**15, 2**30, 2**40, 2**62 // 7])


@settings(max_examples=300)
@given(magnitudes, largest_costs, st.booleans())
def test_floats_are_rounded_to_the_finest_unit(numbers, largest, negative):
    numbers = [-x for x in numbers] if negative else numbers
    assume(max(map(abs, numbers)) < largest / 2)
    try:
        found = precision(largest).rounded(np.array(numbers), exact_floats(np.array(numbers)), (5, 5), "mine")
    except InputError as error:  # at least one digit of the smallest cost must be left
        assert "too far apart" in str(error) and largest == 2**15
        return
    decimals = len(str(found.scale)) - 1
    assert found.values.tolist() == [nearest(repr(x), decimals) for x in numbers]
    error = Fraction(found.rounding.error)
    assert all(abs(Fraction(int(v), found.scale) - Fraction(repr(x))) <= error
               for v, x in zip(found.values, numbers, strict=True))
    assert error == Fraction(1, 2 * found.scale) and np.abs(found.values).max() <= largest
    assert [Fraction(found.rounding.exact(i)) for i in range(len(numbers))] == [Fraction(repr(x)) for x in numbers]
    assert decimals == 18 or max(map(abs, numbers)) * 10 ** (decimals + 1) > largest * 0.99999


@given(st.integers(0, 6), st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=9))
def test_halves_go_to_the_even_neighbour(decimals, tens):
    """With `decimals` places, these floats are halves: decided by their decimal form, not by their bits."""
    numbers = [float(Decimal(10 * k + 5).scaleb(-decimals - 1)) for k in tens]
    asked = precision(FINE, decimals=decimals)
    assume(max(map(abs, numbers)) >= 10 / 10**decimals)
    found = asked.rounded(np.array(numbers), exact_floats(np.array(numbers)), (3, 3), "mine")
    assert found.values.tolist() == [k + (k % 2) for k in tens] == [nearest(repr(x), decimals) for x in numbers]


@given(st.lists(st.decimals(min_value="0.01", max_value=10**6, allow_nan=False, places=25), min_size=4, max_size=9))
def test_texts_of_any_length_count_digit_by_digit(numbers):
    texts = [str(x) for x in numbers]
    asked = precision(2**62 // 9, decimals=6)
    with pytest.raises(BadNumber, match="has too many digits"):
        costs_from_texts([*texts, "0.0000000000000000001"], 3, FINE // 3, None, "mine")
    found = costs_from_texts([*texts, "0.0000000000000000001"], 3, FINE // 3, asked, "mine")
    assert found.values.tolist() == [nearest(text, 6) for text in texts] + [0]
    assert found.scale == 10**6 and found.rounding.error == Decimal("0.5e-6")
    assert [found.rounding.exact(i) for i in range(len(texts))] == numbers, "every digit of a text counts"


@given(st.lists(st.integers(10**6, 10**15), min_size=1, max_size=9), st.integers(0, 9))
def test_exact_integers_lose_digits_in_one_step(values, decimals):
    costs = Costs(np.array([*values, NO_ARC]), 10**9)
    asked = precision(FINE, decimals=decimals)
    assume(max(values) >= 10 * 10 ** (9 - decimals))
    found = costs_from_integers(costs, 3, asked, "mine")
    exact = [nearest(Decimal(value).scaleb(-9), decimals) for value in values]
    assert found.values.tolist() == [*exact, NO_ARC] and found.scale == 10**decimals
    assert [found.rounding.exact(i) for i in range(len(values))] == [Decimal(x).scaleb(-9) for x in values]


def fractions_of(table):
    return [[Fraction(repr(x)) for x in row] for row in np.asarray(table).tolist()]


def tour_costs(cost):
    """Return the costs of all tours of a small table."""
    tours = ((0, *rest) for rest in permutations(range(1, len(cost))))
    return {tour: sum(cost[a][b] for a, b in zip(tour, (*tour[1:], 0), strict=True)) for tour in tours}


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**9), st.sampled_from([2**7, 2**10, 2**20]))
def test_tours_and_the_optimum_stay_within_the_bound(n, seed, largest):
    chance = np.random.default_rng(seed)
    table = chance.uniform(0.2, 1, (n, n))
    tsp = made(table, precision(largest))
    bound = n * Fraction(tsp.rounding.error)
    assert bound == Fraction(n, 2 * tsp.scale)
    before = tour_costs(fractions_of(table))
    after = {tour: Fraction(check_tour(tsp, tour), tsp.scale) for tour in before}
    assert all(abs(after[tour] - before[tour]) <= bound for tour in before)
    cheapest = min(after, key=after.get)
    optimum = min(before.values())
    assert abs(after[cheapest] - optimum) <= bound and before[cheapest] - optimum <= 2 * bound


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 9), st.integers(0, 10**9))
@example(3, 82)  # the decimals of two costs differ by more than their floats
def test_a_table_that_is_symmetric_but_for_noise_becomes_symmetric(n, seed):
    chance = np.random.default_rng(seed)
    table = cdist(*[chance.random((n, 2))] * 2) + 1
    # Every cost is a tie, and noise puts it on one side or the other.
    table = np.rint(table * 1e4) / 1e4 + 0.5e-4
    table = (table + table.T) / 2 + chance.choice([0, 1e-15, -1e-15], (n, n))
    tsp = made(table, precision(decimals=4))
    assert tsp.symmetric
    worst = max(abs(Fraction(int(tsp.cost[i, j]), tsp.scale) - Fraction(repr(float(table[i, j]))))
                for i in range(n) for j in range(n) if i != j)
    assert worst <= Fraction(tsp.rounding.error) <= Fraction(51, 10**6)


def test_what_is_asymmetric_stays_so():
    table = np.array([[0, 1.23456, 2.5], [1.23466, 0, 3.5], [2.5, 3.5, 0]])
    tsp = made(table, precision(decimals=4))
    assert tsp.cost[0, 1] == 12346 and tsp.cost[1, 0] == 12347 and not tsp.symmetric
    one_way = np.array([[0, 1 / 3, np.inf], [1 / 3, 0, 1], [1, 1, 0]])
    assert made(one_way, precision()).cost[0, 2] == NO_ARC and not made(one_way, precision()).symmetric


@given(st.lists(st.integers(1, 10**6), min_size=9, max_size=9), st.integers(0, 9))
def test_exact_costs_that_fit_stay_as_they_are(values, places):
    table = np.array(values).reshape(3, 3) / 10.0**places
    before = from_matrix(table)
    for kind in (table, table.tolist(), [[Decimal(repr(x)) for x in row] for row in table.tolist()]):
        after = made(kind, precision(2**15, fits=True))
        assert np.array_equal(after.cost, before.cost) and after.scale == before.scale and after.rounding is None


def test_an_asked_unit_rounds_what_has_more_decimals_and_nothing_else():
    table = [[0, 1.25, 2.5], [3.75, 0, 1.5], [10, 2, 0]]
    tsp = made(table, precision(decimals=1))
    assert (tsp.scale, tsp.rounding.error, tsp.cost[0, 1], tsp.cost[1, 0]) == (10, Decimal("0.05"), 12, 38)
    for decimals in (2, 9):
        tsp = made(table, precision(decimals=decimals))
        assert (tsp.scale, tsp.rounding) == (100, None)


def test_whole_numbers_are_left_to_the_algorithm():
    tsp = from_matrix([[0, 2**40], [2**40, 0]])
    assert tsp.fitted(precision(2**30, fits=False)) is tsp


REFUSED = [
    ([[0, 1e20, 1 / 3], [1, 0, 1], [1, 1, 0]], precision(), "too large: 1e.20 exceeds"),
    ([[0, 1 / 3, 1e20], [1, 0, 1], [1, 1, 0]], precision(), "cost .or 0. are 1e.20 apart, and held-karp takes at most"),
    ([[0, 1 / 3, 1e8], [1, 0, 1], [1, 1, 0]], precision(), "costs from 0.333333 to 1e.08 are too far apart for held"),
    ([[0, 1 / 3, 1e-30], [1, 0, 1], [1, 1, 0]], precision(), "costs from 1e-30 to 1 are too far apart"),
    ([[0, 1 / 3, 2], [1, 0, 1], [1, 1, 0]], precision(decimals=0), "round = 1 is too coarse: the largest cost is 2"),
    ([[0, 1 / 3, 2], [1, 0, 1], [1, 1, 0]], precision(decimals=12), "round = 1e-12 is too fine: .* to 1e-8 at best"),
    ([[0, 1 / 3, 2], [1, 0, 1], [1, 1, 0]], precision(exact=True), "has too many digits|cannot add up"),
    ([[0, 1.5, 2], [1, 0, 1], [1, 1, 0]], precision(exact=True), "but held-karp cannot add up costs of 1 decimal "),
    ([["0", "x"], ["1", "0"]], precision(), "holds <U1"),
    ([[0, 1 / 3, float("nan")], [1, 0, 1], [1, 1, 0]], precision(), "city 0 to city 2 is NaN"),
]


@pytest.mark.parametrize(("table", "wanted", "message"), REFUSED)
def test_refusals(table, wanted, message):
    with pytest.raises(InputError, match=message):
        made(table, wanted)


def test_a_bad_number_behind_one_with_too_many_digits_is_named():
    with pytest.raises(BadNumber, match="is not a number: 'x'") as caught:
        costs_from_texts(["1", "0.12345678901234567890", "x", "1"], 2, FINE // 2, precision(), "mine")
    assert caught.value.index == 2
    with pytest.raises(BadNumber, match=r"is too large: 1e999 exceeds"):
        costs_from_texts(["1", "0.12345678901234567890", "1e999", "1"], 2, FINE // 2, precision(), "mine")


def test_single_precision_counts_by_its_own_decimals():
    numbers = np.array([0.1, 0.7, 1 / 3, 2 / 3], np.float32)
    found = costs_from_floats(numbers, 2, 10**6, precision(10**6, decimals=5), "mine")
    assert found.values.tolist() == [10000, 70000, 33333, 66667]


@given(st.lists(st.floats(0.25, 1e4), min_size=3, max_size=9), st.booleans())
def test_weights_of_graphs(weights, whole):
    graph = from_edges(range(len(weights)), range(1, len(weights) + 1), weights)
    wanted = Precision("steiner-kmb", algorithm("steiner-kmb").largest_cost, lambda problem: True)
    found = graph.fitted(wanted, whole)
    if graph.weights.dtype.kind == "u" or not whole:
        assert found is graph
        return
    decimals = len(str(found.scale)) - 1
    exact = [nearest(repr(x), decimals) for x in weights]
    place = np.flatnonzero(found.tails() < found.heads)
    assert found.weights[place].tolist() == exact and sum(exact) < 2**62
    assert found.rounding is None or found.rounding.error == Decimal("0.5") / found.scale
    if found.rounding is not None:
        given_weights = [found.rounding.exact(index) for index in place]
        assert given_weights == [Decimal(repr(x)) for x in weights]
    else:
        assert [Fraction(x, found.scale) for x in exact] == [Fraction(repr(x)) for x in weights]
    with pytest.raises(InputError, match="exact = true, but weights are not decimals of at most nine places"):
        graph.fitted(Precision("x", wanted.largest_cost, wanted.fits, exact=True), whole)


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_says_how_large_a_rounded_cost_may_be(name):
    solver = algorithm(name)
    assert solver.largest_cost(30, 900) * 30 < 2**62 and solver.largest_cost(30, 900) >= 10**7


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(0, 10**9), st.booleans(), st.sampled_from(["cycle", "open"]))
def test_held_karp_takes_every_table_that_is_rounded_to_its_limit(n, seed, negative, path):
    solver, chance = algorithm("held-karp"), np.random.default_rng(seed)
    largest = solver.largest_cost(n, n * n)
    low, high = (-largest // 2, largest // 2) if negative else (0, largest)
    table = chance.integers(low, high, (n, n), endpoint=True)
    symmetric = np.triu(table) + np.triu(table, 1).T
    for cost in (table, symmetric):
        assert solver.statement(from_matrix(cost), solver.parameters(path=path)).fits()


def test_words():
    assert [unit_text(d) for d in (0, 1, 3, 4, 6, 18)] == ["1", "0.1", "0.001", "1e-4", "1e-6", "1e-18"]
    assert [decimals_of(x) for x in (1.0, 1e-6, 1e-18, 0.5, 10.0, 0.0, -1.0, 1e-19)] == [0, 6, 18] + [None] * 5
    exact = [Fraction(3, 10**5), Fraction(125, 10**7), Fraction(25, 2), Fraction(1, 2), Fraction(0)]
    assert [at_most(x) for x in exact] == [at_most(float(x)) for x in exact] == ["3e-5", "1.3e-5", "13", "0.5", "0"]

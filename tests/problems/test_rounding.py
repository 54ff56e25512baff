"""Rounding against exact rational arithmetic: every cost, the finest unit, bounds, and what is claimed of answers."""

import math
import pickle
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import hpcsolve
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.answers.rounding import at_most, exact_text, upward
from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.output.schema import answer_lines
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.questions import TourQuestion, check_tour
from hpcsolve.problems.rounding import (
    NO_ARC,
    BadNumber,
    Costs,
    Precision,
    costs_of,
    costs_of_table,
    decimals_of,
    exact_floats,
    exact_from_texts,
    floor_at_scale,
    unit_text,
)
from hpcsolve.problems.tsp import from_matrix
from hpcsolve.problems.unrounded import most_edges, times_counted, unrounded_paths, unrounded_tour, unrounded_tree
from tests.rounding_study import FAMILIES, HERE, table

FINE = 2**62 - 1


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=100), st.integers(0, 4))
def test_what_a_job_gives_follows_the_scale_of_the_costs(value, decimals):
    """Times, costs by leg and cutoffs are exact multiples of 1 / scale, a cutoff the largest one below it."""
    scale, number = 10**decimals, float(value)
    exact = Fraction(repr(number)) * scale
    expected = int(exact) if exact.denominator == 1 else None
    table = np.array([[[np.nan, number], [3.0, 7.5]]])
    found = []
    for make in (lambda: exact_from_texts([repr(number)], 10**9), lambda: costs_of_table(table, None, "by leg")):
        with suppress(BadNumber, InputError):  # decimals that fit no scale
            found.append(make().at(scale, 10**9))
    if expected is None:
        assert all(values is None for values in found)
    else:
        assert [x.tolist() for x in found] == [[expected], [[[NO_ARC, expected], [3 * scale, NO_ARC]]]]
    assert floor_at_scale(number, scale) == math.floor(exact)


@pytest.mark.parametrize("cell", ["-inf", "nan", "1e400", "0." + 50 * "0" + "1", "x"])
def test_what_no_time_is_has_no_integer(cell):
    with pytest.raises(BadNumber):
        exact_from_texts([cell], 10_000)


def test_what_is_too_large_at_a_scale_has_no_integer_there():
    found = exact_from_texts(["", "inf", "-1000", "7"], 10_000)
    assert found.at(10, 10_000).tolist() == [NO_ARC, NO_ARC, -10_000, 70]
    assert found.at(10, 9_999) is None and found.at(100, 10_000) is None


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
        costs_of([*texts, "0.0000000000000000001"], 3, None, "mine")
    found = costs_of([*texts, "0.0000000000000000001"], 3, asked, "mine")
    assert found.values.tolist() == [nearest(text, 6) for text in texts] + [0]
    assert found.scale == 10**6 and found.rounding.error == Decimal("0.5e-6")
    assert [found.rounding.exact(i) for i in range(len(texts))] == numbers, "every digit of a text counts"


@given(st.lists(st.integers(10**6, 10**15), min_size=1, max_size=9), st.integers(0, 9))
def test_exact_integers_lose_digits_in_one_step(values, decimals):
    costs = Costs(np.array([*values, NO_ARC]), 10**9)
    asked = precision(FINE, decimals=decimals)
    assume(max(values) >= 10 * 10 ** (9 - decimals))
    found = costs.rounded(asked, "mine")
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
        costs_of(["1", "0.12345678901234567890", "x", "1"], 2, precision(), "mine")
    assert caught.value.index == 2
    with pytest.raises(BadNumber, match=r"is too large: 1e999 exceeds"):
        costs_of(["1", "0.12345678901234567890", "1e999", "1"], 2, precision(), "mine")


def test_single_precision_counts_by_its_own_decimals():
    numbers = np.array([0.1, 0.7, 1 / 3, 2 / 3], np.float32)
    found = costs_of(numbers, 2, None, "mine").rounded(precision(10**6, decimals=5), "mine")
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


EACH = 7
"""Instances of each family; `python -m tests.rounding_study 1000` has more."""
TENTHS = Precision("held-karp", lambda n, edges: 2**40, lambda problem: False, decimals=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_claim_is_broken(family):
    cases = [FAMILIES[family](1000 + number) for number in range(EACH)]
    assert [case.broken for case in cases] == [()] * EACH
    assert all(case.loss <= case.claim for case in cases)


def test_the_study_prints_its_table_and_finds_a_broken_claim(monkeypatch):
    """With errors of legs counted once, as before, the claim of latencies is false."""
    monkeypatch.setattr("hpcsolve.problems.unrounded.times_counted", lambda n, question: 1)
    cases = [FAMILIES["latency"](seed) for seed in range(12)]
    assert any(case.broken for case in cases)
    assert next(line for line in table(cases) if "latency" in line).endswith(f"{sum(bool(c.broken) for c in cases)} |")


@pytest.mark.parametrize(("question", "count"), [
    (TourQuestion(), 4), (TourQuestion("open"), 3), (TourQuestion(objective="bottleneck"), 1),
    (TourQuestion(objective="lexicographic"), 4), (TourQuestion(objective="latency"), 1 + 2 + 3 + 4),
    (TourQuestion("open", objective="latency"), 1 + 2 + 3),
    (TourQuestion("open", objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 2 + 2 * 5 + 3 * 9),
    (TourQuestion("open", 3, objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 0 + 2 * 2 + 3 * 5),
    (TourQuestion("open", 3, 1, objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 2 + 2 * 5 + 3 * 0),
    (TourQuestion("cycle", 3, objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 0 + 2 * 2 + 3 * 5 + 4 * 9),
    (TourQuestion(objective="position", weights=np.array([5, 0, 2, 9])), 16),
])
def test_how_often_the_errors_of_four_cities_count(question, count):
    assert times_counted(4, question) == count
    assert times_counted(1, question) == 0 or question.objective == "position"


def test_every_digit_of_a_text_counts(tmp_path):
    """The exact cost of a triangle in TSPLIB's order, whose entries have more digits than floats."""
    words = ["1.12345678901234567890", "1.2", "2.00000000000000000001", "1.5", "2.25", "1.75"]
    head = "NAME: t\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\n"
    path = tmp_path / "t.tsp"
    path.write_text(f"{head}EDGE_WEIGHT_SECTION\n{words[0]} {words[1]} {words[2]}\n{words[3]} {words[4]}\n{words[5]}\n")
    tsp = read(path, TENTHS).problem
    found = unrounded_tour(tsp, TourQuestion(), np.array([0, 1, 3, 2]))
    assert found.cost == sum(map(Decimal, (words[0], words[4], words[5], words[1]))) == Decimal("6.3234567890123456789")
    assert found.error == Decimal("0.2") and tsp.cost[3, 1] == 22


def test_given_numbers_stay_on_the_rank_that_has_read_them():
    tsp = from_matrix(np.array([[0, 4 / 3], [2 / 3, 0]])).fitted(TENTHS)
    assert tsp.rounding.exact(1) == Decimal(repr(4 / 3))
    sent = pickle.loads(pickle.dumps(tsp))
    assert sent.rounding.exact is None and sent.rounding.error == tsp.rounding.error


def graph_of(*edges, directed=True, n=None):
    ends = list(zip(*edges))
    return from_edges(*ends, directed=directed, n=n).fitted(TENTHS, whole=True)


def test_a_path_of_many_short_arcs_is_not_hidden_behind_one_arc():
    """The path that is found has one arc of 10.4 tenths, the one that is hidden ten of 0.6: 4 tenths less than told."""
    short = [(k, k + 1, 0.06000001) for k in range(10)]
    graph = graph_of((0, 10, 1.04000001), *short)
    found = unrounded_paths(graph, [np.array([0])], None, None)
    assert graph.weights.tolist().count(1) == 10 and graph.weights.max() == 10
    assert found.error == Decimal("0.5") >= Decimal("1") - Decimal("0.6000001"), "ten arcs"
    assert unrounded_paths(graph, [np.array([0])], [np.array([3])], None).error == Decimal("0.15")
    assert unrounded_paths(graph, [np.array([4])], None, None).error == Decimal("0.3")
    assert unrounded_paths(graph, [np.array([0])], None, 2).error == Decimal("0.2"), "four arcs"


def test_paths_claim_their_own_arcs_and_not_all_vertices():
    """A star of 2000 vertices: two arcs, where all vertices in a row would have been claimed."""
    graph = graph_of(*((0, k, 1.03) for k in range(1, 2000)), directed=False)
    assert unrounded_paths(graph, [np.array([5])], None, None).error == Decimal("0.1")


def test_many_searches_claim_a_part_of_each_distance(monkeypatch):
    graph = graph_of((0, 1, 0.31), (1, 2, 5.04), (2, 0, 0.04))
    assert unrounded_paths(graph, [np.array([0])], None, None).part is None
    monkeypatch.setattr("hpcsolve.problems.unrounded.MOST_STEPS", 5)
    found = unrounded_paths(graph, [np.array([0])], None, None)
    assert found.error is None and Fraction(1, 6) <= Fraction(found.part) <= Fraction(167, 1000), "half of 3 tenths"


def test_the_most_edges_of_a_tree():
    """Of edges of 0, 1, 1, 2 and 5 units, those of 0.5, 0.5, 1.5 and 4.5 or more weigh 2.5 together as three."""
    weights = np.array([5, 1, 0, 2, 1], np.uint32)
    assert [most_edges(weights, 9, twice) for twice in (0, 1, 2, 4, 5, 13, 14, 2**70)] == [0, 1, 2, 2, 3, 3, 4, 4]
    assert most_edges(weights, 2, 100) == 2
    heavy = np.full(4, 2**60, np.uint64)
    assert most_edges(heavy, 4, 2**63 - 4) == 4 and most_edges(heavy, 4, 2**63 - 5) == 3


def test_the_weight_of_a_tree_is_that_of_its_decimals():
    """Python's fractions add up a thousand floats to the same sum."""
    n = 1000
    lengths = np.random.default_rng(1).random(n - 1) + 1e-3
    graph = graph_of(*((k, k + 1, x) for k, x in enumerate(lengths)), (0, n - 1, 3.0), directed=False)
    found = unrounded_tree(graph, np.arange(n - 1), np.arange(1, n))
    assert Fraction(found.cost) == sum(Fraction(repr(x)) for x in lengths.tolist())
    assert found.error <= (n - 1) * Decimal("0.05")


def lines(problem, algorithm, **keys):
    return answer_lines(hpcsolve.solve(problem, algorithm, **HERE | keys).contents)


TABLE = [[0, 1.04, 1.13], [1.04, 0, 1.21], [1.13, 1.21, 0]]


def test_lines():
    """By hand: 1.04 + 1.13 + 1.21 = 3.38, by tenths 1.0 + 1.1 + 1.2 = 3.3, and three legs of 0.05 make 0.15."""
    assert lines(TABLE, "held-karp", count=True, best=2, arcs=True)[1:] == [
        "cost:   3.3 (exactly 3.38), proven optimal for costs rounded to 0.1",
        "bound:  no tour is below 3.15, so this tour is at most 7.31 % above the optimum",
        "number: 2 optimal tours for costs rounded to 0.1",
        "best:   2 tours of cost 3.3 to 3.3 (exactly 3.38 to 3.38; no other tour is below 3.15), "
        "/solution/best_tours in the file",
        "arcs:   costs of the best tours through 6 arcs, each at most 0.15 away from its value before rounding, "
        "/solution/arc_costs in the file",
    ]
    assert lines(TABLE, "held-karp", objective="lexicographic")[1:] == [
        "cost:   3.3 (exactly 3.38), dearest leg 1.2 (exactly 1.21), proven optimal for costs rounded to 0.1",
        "bound:  no tour with a dearest leg of up to 1.21 is below 3.15, so this tour is at most 7.31 % above the "
        "optimum, and no tour has a dearest leg below 1.15",
    ]
    ants = lines(np.pad(np.array(TABLE), (0, 2), constant_values=1.04), "ant-colony", stop={"iterations": 2})
    assert ants[1:3] == [  # five legs of 0.05 make 0.25
        "cost:   5.0 (exactly 5.2), proven optimal for costs rounded to 0.1",
        "bound:  no tour is below 4.75, so this tour is at most 9.48 % above the optimum",
    ]


def test_windows_that_rounding_decides(tmp_path):
    """The traveller is at city 1 after 1.04, four hundredths late, but not by tenths, and a tour may be lost so."""
    (tmp_path / "late.csv").write_text("city,earliest,latest\n1,0,1\n")
    keys = {"objective": "finish", "windows": tmp_path / "late.csv", "path": "open", "start": 0}
    assert lines([[0, 1.04], [1.04, 0]], "held-karp", **keys)[1:] == [
        "cost:   1.0 (exactly 1.04) (time of the end), proven optimal for costs rounded to 0.1; in the costs before "
        "rounding it is 0.04 late for a window",
        "stops:  from 0 to 1, without waiting",
        "bound:  no tour that keeps all windows with 0.05 to spare is below 0.95",
    ]
    assert lines([[0, 1.06], [1.06, 0]], "held-karp", **keys) == [
        "tour:   there is none, proven for costs rounded to 0.1: there is no tour that keeps all windows with 0.05 to "
        "spare",
        "why:    the window of city 1 (0 to 1) alone cannot be kept"]


def test_lines_of_trees_and_paths():
    """By hand: edges of 0.34 and 1.13, by tenths 0.3 and 1.1, each of which may have been rounded up by 0.05."""
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 0.34), (1, 2, 1.13)])
    tree = lines(graph, "steiner-kmb", terminals=[0, 2], mode="exact")
    assert tree[2] == ("cost:   1.4 (exactly 1.47), proven optimal for costs rounded to 0.1, at most 13.1 % above the "
                       "optimum: lower bound 1.3")
    graph.add_edge(2, 3, weight=20)
    assert lines(graph, "steiner-kmb", terminals=[0, 1], mode="exact", round=1)[2] == (
        "cost:   0 (exactly 0.34), proven optimal for costs rounded to 1: lower bound 0")
    graph.remove_edge(2, 3)
    assert lines(graph, "shortest-paths", queries=[[0, 2], [0, 1]]) == [
        "query:  0 -> 2: 1.4 (exactly 1.47), 3 vertices", "query:  0 -> 1: 0.3 (exactly 0.34), 2 vertices",
        "bound:  before rounding, each distance is at most 0.1 smaller"]
    assert lines(graph, "shortest-paths", sources=[0])[-1].endswith("each distance is at most 0.1 smaller")


def test_a_batch_of_files_says_how_it_was_rounded(tmp_path):
    """Each file has a unit of its own, and the coarsest is named. That they were exact was claimed before."""
    for name, scale in (("a", 1.0), ("b", 30.0)):
        np.savetxt(tmp_path / f"{name}.csv", np.sqrt(np.arange(2, 18).reshape(4, 4)) * scale, "%.17g", ",")
    job = f'algorithm = "held-karp"\ninstance = {{ batch = "{tmp_path}" }}\noutput = "{tmp_path}/out.h5"\n'
    (tmp_path.parent / "batch.toml").write_text(job)
    from hpcsolve.cli import main

    assert main(["run", str(tmp_path.parent / "batch.toml"), "--device", "cpu", "--quiet"]) == 0
    found = hpcsolve.load(tmp_path / "out.h5").contents
    assert found.value("instance", "rounded_to") == 1e-6 and found.value("rounding", "error") == 2e-6
    tours = [[0, *order, 0] for order in permutations((1, 2, 3))]
    exact = [min(sum(Decimal(f"{scale * (2 + 4 * a + b)**0.5:.17g}") for a, b in pairwise(tour)) for tour in tours)
             for scale in (1.0, 30.0)]
    assert [Decimal(text) for text in found.value("rounding", "costs")] == exact


def test_a_batch_with_windows_says_for_which_tours_its_bound_holds(tmp_path):
    """The first tour, of 10.4 before rounding, is late for its window."""
    (tmp_path / "late.csv").write_text("city,earliest,latest\n1,0,10\n")
    costs = np.array([[[0, 10.4], [10.4, 0]], [[0, 3.3], [3.3, 0]]])
    found = hpcsolve.solve(costs, device="cpu", windows=tmp_path / "late.csv", path="open", start=0, round=1)
    assert [*answer_lines(found.contents)][1] == (
        "costs:  3 to 10, mean 6.5 (exactly 3.3 to 10.4; before rounding, each optimum that keeps all windows with 0.5 "
        "to spare is at most 0.5 less; in the costs before rounding a tour is 0.4 late for a window)")


def test_texts():
    assert [exact_text(Decimal(x)) for x in ("1e-7", "1.500", "1E+3", "0")] == ["0.0000001", "1.5", "1000", "0"]
    assert upward(Decimal("0.1")) == 0.1 and upward(Decimal("0.10000000000000000001")) == np.nextafter(0.1, 1)
    assert [at_most(Fraction(x, 3), 3) for x in (1, 3, -1, 10**9)] == ["0.334", "1", "-0.333", "3.34e+08"]

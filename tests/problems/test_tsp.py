"""Instances from matrices and the check of tours, compared with plain Python."""

import time
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError, ResourceError
from hpcsolve.problems.questions import check_tour
from hpcsolve.problems.rounding import costs_of, exact_from_floats, exact_from_texts
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_matrix, require_memory

INF = float("inf")


def exact(tsp: Tsp, row: int, column: int) -> Fraction:
    return Fraction(int(tsp.cost[row, column]), tsp.scale)


def test_integers_stay_and_the_diagonal_is_ignored():
    table = np.array([[7, -1, 2], [3, 9999, 4], [5, 6, -5]], dtype=np.int32)
    tsp = from_matrix(table, "three")
    assert tsp.cost.dtype == np.int64 and tsp.scale == 1 and tsp.labels.tolist() == [0, 1, 2]
    assert tsp.cost.tolist() == [[NO_ARC, -1, 2], [3, NO_ARC, 4], [5, 6, NO_ARC]]
    assert table[0, 0] == 7, "the caller's array must not change"
    assert not tsp.symmetric and tsp.n == 3


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_mean_their_shortest_decimals(dtype):
    tsp = from_matrix(np.array([[0, 0.1], [2.5, 0]], dtype=dtype))
    assert (tsp.scale, exact(tsp, 0, 1), exact(tsp, 1, 0)) == (10, Fraction(1, 10), Fraction(5, 2))


def test_seventeen_digits_are_kept_where_they_fit():
    tsp = from_matrix([[0, 0.1 + 0.2], [1.5, 0]])
    assert exact(tsp, 0, 1) == Fraction("0.30000000000000004")


@given(st.lists(st.decimals(-10000, 10000, places=6), min_size=4, max_size=4))
def test_floats_and_texts_agree(values):
    floats, texts = np.array([float(v) for v in values]), [str(v) for v in values]
    from_floats, scale, _ = exact_from_floats(floats, 10**17)
    from_texts, text_scale, _ = exact_from_texts(texts, 10**17)
    assert scale == text_scale and from_floats.tolist() == from_texts.tolist()
    assert [Fraction(int(v), scale) for v in from_floats] == [Fraction(v) for v in values]
    assert scale == 1 or any(v % 10 for v in from_floats), "the smallest power of ten"


@given(st.integers(10**15, 10**18), st.integers(1, 9))
def test_floats_at_the_end_of_their_precision(digits, places):
    value = digits / 10**places
    result, scale, _ = exact_from_floats(np.array([value]), 2**62)
    assert Fraction(int(result[0]), scale) == Fraction(repr(value))


@given(st.lists(st.floats(allow_nan=False, width=32, min_value=-1e6, max_value=1e6), min_size=1, max_size=6))
def test_single_precision_means_its_own_shortest_decimals(values):
    singles = np.array(values, dtype=np.float32)
    limit = (2**62 - 1) // 5
    try:
        result, scale, _ = costs_of(singles, 5, None, "singles")
    except ValueError:
        decimals = [Decimal(str(x)).normalize() for x in singles]
        needed = -min(d.as_tuple().exponent for d in decimals)
        assert needed > 18 or max(abs(d) for d in decimals).scaleb(max(needed, 0)) > limit
        return
    assert [Fraction(int(v), scale) for v in result] == [Fraction(str(x)) for x in singles]


def test_forbidden_arcs():
    for table in ([[0, INF], [1.0, 0]], np.array([[0, NO_ARC], [1, 0]]), [[None, INF], [Decimal(1), None]]):
        assert from_matrix(table).cost.tolist() == [[NO_ARC, NO_ARC], [1, NO_ARC]]


BAD_MATRICES = [
    ([[0, float("nan")], [1, 0]], "city 0 to city 1 is NaN"),
    ([[0, 1.0], [-INF, 0]], "city 1 to city 0 is -inf"),
    ([[0, 1, 2], [3, 0, 4]], r"shape \(2, 3\)"),
    ([[0, 1], [2]], "not a table of numbers"),
    ([], "an empty list is no problem; give costs"),
    (5, "int is no problem; give costs"),
    ([["a", "b"], ["c", "d"]], "must hold integers or floats"),
    ([[0, None], [1, 0]], "city 0 to city 1 is not a number: NoneType"),
    ([[False, True], [True, False]], "holds bool"),
    ([[0, 1j], [1, 0]], "holds complex128"),
    (np.ma.masked_array([[0, 1], [1, 0]]), "masked"),
    ([[0, 2**62], [1, 0]], "city 0 to city 1 is too large"),
    (np.array([[0, 2**64 - 1], [1, 0]], dtype=np.uint64), "city 0 to city 1 is too large"),
    (np.array([[0, 2**64 - 1], [1, 0]], dtype=">u8"), "city 0 to city 1 is too large: 18446744073709551615 exceeds"),
    ([[0, 10**30], [1, 0]], "city 0 to city 1 is too large"),
    ([[0, 1e300], [1, 0]], "city 0 to city 1 is too large"),
    ([[0, -(2**63)], [1, 0]], "city 0 to city 1 is too large"),
    ([[0, 1e-19], [1, 0]], "city 0 to city 1 has too many digits: '1e-19' needs 19 decimals"),
    ([[0, 1e-300], [1, 0]], "city 0 to city 1 has too many digits"),
    ([[0, 1234567.1234567891], [0.1234567890123456, 0]], "city 0 to city 1 has too many digits"),
]


@pytest.mark.parametrize(("table", "message"), BAD_MATRICES)
def test_bad_matrices_are_refused_by_entry(table, message):
    with pytest.raises(InputError, match=message) as caught:
        from_matrix(table, "mine")
    assert str(caught.value).startswith("mine: ") and "\n" not in str(caught.value)


def test_sums_stay_below_62_bits():
    largest = (2**62 - 1) // 4
    table = np.full((4, 4), largest)
    assert check_tour(from_matrix(table), np.arange(4)) == 4 * largest < 2**62
    table[2, 1] = largest + 1
    with pytest.raises(InputError, match="city 2 to city 1 is too large"):
        from_matrix(table)
    table[2, 1] = -largest - 1
    with pytest.raises(InputError, match="city 2 to city 1 is too large"):
        from_matrix(table)


def test_matrices_that_no_machine_holds_are_refused():
    with pytest.raises(ResourceError, match=r"1000000000 cities .* take 9094947 TiB.* at most"):
        require_memory(10**9)


@given(st.integers(1, 7), st.randoms(use_true_random=False))
def test_tour_costs(n, random):
    table = [[random.randint(-9, 9) for _ in range(n)] for _ in range(n)]
    tour = random.sample(range(n), n)
    tsp = from_matrix(table)
    open_cost = sum(table[a][b] for a, b in pairwise(tour))
    assert check_tour(tsp, tour, "open") == open_cost
    assert check_tour(tsp, tour, "open", start=tour[0], end=tour[-1]) == open_cost
    closing = table[tour[-1]][tour[0]] if n > 1 else 0
    assert check_tour(tsp, np.array(tour, dtype=np.int32), start=tour[0]) == open_cost + closing


BAD_TOURS = [
    ([0, 1, 2], {}, "shape"),
    ([0, 1, 2, 2], {}, "city 12 .position 2. is visited 2 times"),
    ([3, 2, 2, 2], {}, "city 10 .position 0. is missing"),
    ([0, 1, 2, 4], {}, "position 4 is out of range 0 to 3"),
    ([0, 1, 2, -1], {}, "position -1 is out of range"),
    ([0.0, 1.0, 2.0, 3.0], {}, "float64"),
    ([0, 1, 2, 3], {}, "leg 2: no arc from city 11 to 12"),
    ([1, 3, 0, 2], {"path": "open", "start": 0}, "starts at position 1, not at 0"),
    ([1, 3, 0, 2], {"path": "open", "end": 0}, "ends at position 2, not at 0"),
    ([1, 3, 0, 2], {"end": 2}, "a cycle has no end"),
    ([1, 3, 0, 2], {"path": "ring"}, "'cycle' or 'open'"),
]


@pytest.mark.parametrize(("tour", "options", "message"), BAD_TOURS)
def test_bad_tours(tour, options, message):
    table = np.ones((4, 4))
    table[1, 2] = INF
    tsp = from_matrix(table)
    tsp = Tsp("four", tsp.cost, np.array([10, 11, 12, 13]))
    with pytest.raises(ValueError, match=message):
        check_tour(tsp, tour, **options)


def test_only_the_closing_arc_is_forbidden():
    table = np.ones((4, 4))
    table[3, 0] = INF
    assert check_tour(from_matrix(table), [0, 1, 2, 3], "open") == 3
    with pytest.raises(ValueError, match="leg 4: no arc from city 3 to 0"):
        check_tour(from_matrix(table), [0, 1, 2, 3])


def test_positions_of_labels():
    tsp = Tsp("odd", np.zeros((3, 3), dtype=np.int64), np.array([50, 7, 0]))
    assert tsp.positions([0, 50, 7]).tolist() == [2, 0, 1]
    assert tsp.positions(7) == 1
    for missing in (6, 51, -1):
        with pytest.raises(InputError, match=f"no city {missing}; its cities are numbered 0 to 50"):
            tsp.positions([50, missing])


def test_a_million_random_floats_are_refused_at_once():
    begin = time.process_time()
    with pytest.raises(InputError, match="too many digits"):
        from_matrix(np.random.default_rng(1).random((1000, 1000)))
    assert time.process_time() - begin < 2
    assert from_matrix(np.random.default_rng(1).random((50, 50)).round(6)).scale == 10**6

"""Statistics against textbook numbers, enumeration of all cases, and numpy."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.analysis.collect import table_of
from hpcsolve.analysis.statistics import compare, groups, scaling, summary
from hpcsolve.errors import InputError


def table(**columns):
    return table_of(dict(zip(columns, values)) for values in zip(*columns.values()))


def test_summary_has_students_interval():
    """Of 1..5: deviation sqrt(2.5), and 2.776445 is Student's t for 4 degrees of freedom and 95 %, out of a table."""
    found = summary(table(cost=[1, 2, 3, 4, 5])).rows[0]
    assert found["runs"] == 5 and found["mean"] == 3 and found["median"] == 3
    assert found["deviation"] == pytest.approx(math.sqrt(2.5))
    half = 2.776445 * math.sqrt(2.5) / math.sqrt(5)
    assert (found["low"], found["high"]) == pytest.approx((3 - half, 3 + half), rel=1e-6)
    wide = summary(table(cost=[1, 2, 3, 4, 5]), confidence=0.99).rows[0]
    assert wide["high"] == pytest.approx(3 + 4.604095 * math.sqrt(0.5), rel=1e-6)


def test_runs_without_a_value_do_not_count():
    found = summary(table(cost=[4, None, 8, None], n=[1, 1, 1, 2]), by="n").rows
    assert (found[0]["runs"], found[0]["mean"]) == (2, 6) and found[1]["runs"] == 0
    one = summary(table(cost=[7])).rows[0]
    assert (one["mean"], one["deviation"], one["low"]) == (7, None, None)


def test_costs_above_float_integers_beside_a_run_without_a_cost():
    rows = summary(table(cost=[2**60, None, 2**60 + 2]), "cost").rows
    assert rows[0]["runs"] == 2 and rows[0]["mean"] == pytest.approx(2**60)


def test_groups_are_in_the_order_of_their_values():
    runs = table(n=[20, 8, 20, 100], kind=["b", "a", "a", "b"], cost=[1, 2, 3, 4])
    assert [group.key for group in groups(runs, "n")] == [{"n": 8}, {"n": 20}, {"n": 100}]
    assert [group.label for group in groups(runs, ["kind", "n"])] == ["a, 8", "a, 20", "b, 20", "b, 100"]
    assert [len(group.runs) for group in groups(runs, "n")] == [1, 2, 1] and len(groups(runs)) == 1
    mixed = table(key=[None, "x", 2, 1, None], cost=[1, 2, 3, 4, 5])
    assert [group.key["key"] for group in groups(mixed, "key")] == [1, 2, None, "x"]


SAMPLES = st.lists(st.integers(0, 1000), min_size=2, max_size=5)


@given(SAMPLES, SAMPLES)
def test_mann_whitney_is_the_share_of_all_divisions_that_are_as_extreme(a, b):
    """Without ties, p is found by going through all ways to divide the values into two groups of these sizes."""
    runs = table(group=["a"] * len(a) + ["b"] * len(b), cost=[*a, *b])
    found = compare(runs, by="group").rows[0]
    u = sum((x > y) + (x == y) / 2 for x, y in itertools.product(a, b))
    assert found["u"] == u and found["smaller"] == pytest.approx(1 - u / (len(a) * len(b)))
    assert (found["median_a"], found["median_b"]) == (np.median(a), np.median(b))
    values = [*a, *b]
    if len(set(values)) < len(values):
        return
    middle, far = len(a) * len(b) / 2, 0
    divisions = list(itertools.combinations(range(len(values)), len(a)))
    for division in divisions:
        first = [values[place] for place in division]
        second = [values[place] for place in range(len(values)) if place not in division]
        other = sum(x > y for x, y in itertools.product(first, second))
        far += abs(other - middle) >= abs(u - middle)
    assert found["p"] == pytest.approx(far / len(divisions))


def test_several_comparisons_are_corrected():
    runs = table(group=list("aaaaabbbbbccccc"), cost=[1, 2, 3, 4, 5, 3, 4, 6, 7, 9, 11, 12, 13, 14, 15])
    rows = compare(runs, by="group").rows
    assert [(row["a"], row["b"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    p = [row["p"] for row in rows]
    from scipy import stats  # takes a second, which each process that collects the tests would spend

    assert p == [stats.mannwhitneyu(runs["cost"][i], runs["cost"][j]).pvalue
                 for i, j in ((slice(0, 5), slice(5, 10)), (slice(0, 5), slice(10, 15)), (slice(5, 10), slice(10, 15)))]
    holm = [max(min(1, (3 - rank) * q) for rank, q in enumerate(sorted(p)) if q <= own) for own in p]
    assert [row["p_holm"] for row in rows] == pytest.approx(holm)
    assert p[1] == pytest.approx(2 / math.comb(10, 5)) and rows[1]["p_holm"] == pytest.approx(6 / math.comb(10, 5))


def test_exact_laws_are_found():
    n = np.arange(10, 20)
    power = scaling(table(n=n.tolist(), seconds=(3.0 * n**2.5).tolist())).rows[0]
    assert (power["factor"], power["growth"], power["r_squared"]) == pytest.approx((3, 2.5, 1))
    doubling = scaling(table(n=n.tolist(), seconds=(0.5 * 2.0**n).tolist()), law="exponential").rows[0]
    assert (doubling["factor"], doubling["growth"], doubling["r_squared"]) == pytest.approx((0.5, 2, 1))
    ranks = scaling(table(ranks=[1, 2, 4], seconds=[8.0, 4.0, 2.0]), against="ranks").rows[0]
    assert (ranks["growth"], ranks["low"], ranks["high"]) == pytest.approx((-1, -1, -1))


@pytest.mark.parametrize("law", ["power", "exponential"])
def test_intervals_of_a_fit_are_numpys(law):
    x = np.array([5, 6, 7, 9, 12, 16])
    y = np.array([1.1, 1.9, 4.2, 9.8, 31, 140])
    found = scaling(table(n=x.tolist(), seconds=y.tolist()), law=law, confidence=0.9).rows[0]
    (slope, start), covariance = np.polyfit(np.log(x) if law == "power" else x, np.log(y), 1, cov=True)
    half = 2.131847 * math.sqrt(covariance[0, 0])  # Student's t for 4 degrees of freedom and 90 %, out of a table
    ends = [slope, slope - half, slope + half]
    expected = ends if law == "power" else np.exp(ends)
    assert [found["growth"], found["low"], found["high"]] == pytest.approx(list(expected), rel=1e-6)
    assert found["factor"] == pytest.approx(math.exp(start)) and found["points"] == 6


def test_each_group_has_a_fit():
    runs = table(n=[1, 2, 4, 1, 2, 4], seconds=[1.0, 2, 4, 3, 12, 48], mode=list("aaabbb"))
    rows = scaling(runs, by="mode").rows
    assert [(row["mode"], round(row["growth"], 9)) for row in rows] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("call, error", [
    (lambda runs: summary(runs, "costs"), "no column 'costs'"),
    (lambda runs: summary(runs, "mode"), "the column mode has values that are not numbers, such as 'a'"),
    (lambda runs: compare(runs, "cost", by="same"), "two groups with values of cost; by='same' gives 1"),
    (lambda runs: scaling(runs, "cost"), "cost must be positive to be fitted; one value is 0"),
    (lambda runs: scaling(runs, "seconds", law="linear"), "there is no law 'linear'"),
    (lambda runs: scaling(runs, "seconds", by="mode"), "a: a fit of seconds against n needs at least three points"),
])
def test_mistakes_are_named(call, error):
    runs = table(cost=[0, 1, 2], n=[1, 2, 3], seconds=[1.0, 2.0, 3.0], mode=list("aab"), same=[1, 1, 1])
    with pytest.raises(InputError) as found:
        call(runs)
    assert error in str(found.value)

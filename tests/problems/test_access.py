"""Decays as tables of steps, against the formulas in Python's own floats, and opportunities as integers."""

import math

import numpy as np
import pytest

from hpcsolve.problems.access import LARGEST_TOTAL, ONE, Access, Steps, by_formula, opportunities_of
from hpcsolve.problems.rounding import BadNumber

FORMULAS = {
    "linear": lambda x: max(0, 1 - x), "exponential": lambda x: math.exp(-x),
    "gaussian": lambda x: math.exp(-x * x / 2),
}


def share_at(steps, distance):
    """Return the share of a distance, by going through the steps."""
    return next((share for limit, share in zip(*map(np.ndarray.tolist, steps)) if distance <= limit), 0)


@pytest.mark.parametrize("length", [0.4, 1, 60, 137.5])
@pytest.mark.parametrize("kind", FORMULAS)
def test_each_whole_distance_has_its_own_share(kind, length):
    steps = by_formula(kind, length, True)
    for distance in range(int(16 * length) + 2):
        assert share_at(steps, distance) == round(ONE * FORMULAS[kind](distance / length)), distance


@pytest.mark.parametrize("kind", FORMULAS)
def test_shares_of_long_decays(kind):
    """Millimetres, and floats: each distance has its share, and no two steps have the same."""
    for whole, length in (True, 1.5e5), (False, 0.3):
        limits, shares = by_formula(kind, length, whole)
        assert (np.diff(limits) > 0).all() and (np.diff(shares.astype(int)) < 0).all()
        distances = np.append(0, np.random.default_rng(1).uniform(0, 16, 2000) * length).astype(limits.dtype)
        found = np.append(shares, 0)[np.searchsorted(limits, distances)]
        assert found.tolist() == [round(ONE * FORMULAS[kind](x)) for x in (distances / length).tolist()]


def test_opportunities():
    assert opportunities_of(["3", "0.25", "1e2"])[:2] == (pytest.approx([300, 25, 10_000], abs=0), 100)
    assert opportunities_of(np.array([0.1, 2]))[:2] == (pytest.approx([1, 20], abs=0), 10)
    steps = Steps(np.array([5.0]), np.array([ONE // 4], np.uint32))
    access = Access(("a",), (steps,), np.array([1, 20], np.uint64), 10)
    assert access.of(np.array([5, 5.5])) == [0.025] and access.of(np.array([np.inf, 1])) == [0.5]
    assert access.opportunities_in_own_unit().tolist() == [0.1, 2]


@pytest.mark.parametrize(("numbers", "index", "reason"), [
    (["1", "-2"], 1, "is negative"), (["", "1"], 0, "is missing or infinite"), (["1", "many"], 1, "is not a number"),
    (np.array([1, np.nan]), 1, "is NaN"), (np.array([1 / 3]), 0, "has too many decimals: "),
    (np.array([LARGEST_TOTAL, 1.0]), 1, "is the last of 9.22e+12 opportunities in all, and with so many decimals"),
])
def test_wrong_opportunities(numbers, index, reason):
    with pytest.raises(BadNumber, match=reason.replace("+", ".")) as error:
        opportunities_of(numbers)
    assert error.value.index == index

"""Smaller integers for the states keep the order of tours, and 16 bits are taken only where they suffice."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.lattice.reduce import quick_tour, reduce_costs
from hpcsolve.algorithms.held_karp.problem import NO_PATH
from hpcsolve.errors import InputError
from hpcsolve.problems.tsp import NO_ARC
from tests.oracles import brute_force, cost_of


def matrices(low: int, high: int, symmetric: bool = False) -> st.SearchStrategy[NDArray[np.int64]]:
    """Square matrices of 2 to 7 cities with a forbidden diagonal and sometimes other forbidden arcs."""

    def finish(pair: tuple[NDArray[np.int64], NDArray[np.bool_]]) -> NDArray[np.int64]:
        cost, hole = pair[0].copy(), pair[1]
        if symmetric:
            cost, hole = np.minimum(cost, cost.T), hole | hole.T
        cost[hole] = NO_ARC
        np.fill_diagonal(cost, NO_ARC)
        return cost

    def of(n: int) -> st.SearchStrategy[NDArray[np.int64]]:
        entries = arrays(np.int64, (n, n), elements=st.integers(low, high))
        holes = st.one_of(st.just(np.zeros((n, n), bool)), arrays(np.bool_, (n, n)))
        return st.tuples(entries, holes).map(finish)

    return st.integers(2, 7).flatmap(of)


def shifted(cost: NDArray[np.int64], offsets: list[int]) -> NDArray[np.int64]:
    """Return the costs with large numbers added to rows and columns, which change every tour by the same sum."""
    n = len(cost)
    moves = np.add.outer(np.resize(offsets, n), np.resize(offsets[::-1], n))
    return np.where(cost == NO_ARC, cost, np.where(cost == NO_ARC, 0, cost) + moves)


HUGE = st.builds(shifted, matrices(0, 100), st.lists(st.sampled_from([0, 2**50, -(2**50), 3]), min_size=2, max_size=7))


ALL = st.one_of(
    HUGE, matrices(0, 9), matrices(-50, 50), matrices(0, 10**6), matrices(0, 10**5, True), matrices(0, 2**31)
)


@given(ALL)
def test_the_best_tour_is_kept_exactly(cost: NDArray[np.int64]) -> None:
    best = brute_force(cost)
    reduced = reduce_costs(cost)
    assert reduced.feasible or best is None
    assert ((reduced.cost >= 0) & (reduced.cost <= NO_PATH[reduced.itemsize])).all()
    if best is not None:
        small = np.where(reduced.cost == reduced.no_path, NO_ARC, reduced.cost)
        assert brute_force(small) == reduced.factor * best - reduced.shift < reduced.no_path
        assert reduced.upper_bound is None or reduced.upper_bound >= best
        if np.array_equal(cost, cost.T):
            assert reduced.symmetric


def test_large_costs_of_a_narrow_range_fit_16_bits() -> None:
    rng = np.random.default_rng(0)
    cost = 10**12 + rng.integers(0, 1000, (12, 12))
    np.fill_diagonal(cost, NO_ARC)
    assert reduce_costs(cost).itemsize == 2


def test_wide_costs_take_32_bits_and_wider_ones_are_refused() -> None:
    rng = np.random.default_rng(1)
    cost = rng.integers(0, 10**6, (12, 12))
    np.fill_diagonal(cost, NO_ARC)
    assert reduce_costs(cost).itemsize == 4
    with pytest.raises(InputError, match="32-bit"):
        reduce_costs(np.where(cost == NO_ARC, cost, cost * 10**7))


@given(matrices(0, 100))
def test_the_quick_tour_visits_every_city_once(cost: NDArray[np.int64]) -> None:
    value, tour = quick_tour(np.where(cost == NO_ARC, 10**6, cost))
    assert sorted(tour.tolist()) == list(range(len(cost)))
    real = cost_of(cost, tour.tolist())
    assert value == real if real is not None else value >= 10**6


def test_the_quick_tour_finds_the_circle() -> None:
    angle = np.random.default_rng(3).permutation(20) * 2 * np.pi / 20
    points = np.stack([np.cos(angle), np.sin(angle)], 1) * 1000
    cost = np.rint(np.linalg.norm(points[:, None] - points[None], axis=2)).astype(np.int64)
    circle = np.argsort(angle).tolist()
    assert quick_tour(cost)[0] == sum(int(cost[a, b]) for a, b in pairwise([*circle, circle[0]]))

"""The bound by chains of precedences is never above an order's cost, and contains the cost that a precedence causes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.places import NO_PATH, PlaceCosts, chain_bound, of_orders, place_costs
from hpcsolve.algorithms.held_karp.bounded.prove import Prover
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.bounded.tighten import no_incumbent
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, from_costs


def random_places(m: int, seed: int) -> PlaceCosts:
    """Return a problem with costs by place, some below 0, with missing arcs and random precedences."""
    rng = np.random.default_rng([m, seed])
    cost = rng.integers(-3 if seed % 3 == 0 else 0, [6, 1000][seed % 2], (m + 1, m + 1, m + 1))
    cost[rng.random(cost.shape) < (0.2 if seed % 5 == 0 else 0)] = NO_ARC
    rank = rng.permutation(m)
    return place_costs(cost, (rng.random((m, m)) < 0.3) & (rank[:, None] > rank))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 6])
def test_no_order_costs_less_than_the_bound(m: int) -> None:
    for seed in range(40):
        problem = random_places(m, seed)
        values = [problem.value(list(order)) for order in itertools.permutations(range(m))]
        costs = [value for value in values if value is not None]
        bound = chain_bound(problem)
        assert not costs or bound <= min(costs)
        assert bound >= sum(int(place.min()) for place in problem.cost if (place != NO_ARC).any())


def two_groups(n: int) -> tuple[NDArray[np.int64], TourQuestion]:
    """Return costs where leaving the last four cities costs 1000, and a precedence that makes a path leave them."""
    cost = np.random.default_rng(n).integers(1, 10, (n, n))
    cost[n - 4 :, : n - 4] += 1000
    np.fill_diagonal(cost, 0)
    return cost, TourQuestion("open", 0, n - 1, precedences=((n - 3, 2),))


def test_a_precedence_that_needs_a_dear_arc_is_in_the_first_bound() -> None:
    """The relaxation alone forgets the precedence: its bound of such files was a tenth of the optimum."""
    cost, question = two_groups(20)
    problem = of_orders(order_problem(from_costs(cost, "two groups"), question))
    without = of_orders(order_problem(from_costs(cost, "two groups"), replace(question, precedences=())))
    assert no_incumbent(without).lower < 1000 <= no_incumbent(problem).lower


def test_the_bound_is_far_without_arcs() -> None:
    cost = np.full((4, 4, 4), NO_ARC)
    assert chain_bound(place_costs(cost)) >= NO_PATH


def test_a_chain_without_a_path_is_the_proof_that_there_is_no_order(device: Device) -> None:
    """City 1 leads home alone, and must come before city 2. Nothing is searched."""
    cost, before = np.ones((8, 8, 8), np.int64), np.zeros((7, 7), bool)
    cost[:, 1, :7], before[2, 1] = NO_ARC, True
    prover = Prover(place_costs(cost, before), device, SerialComm(), Budget(8, 10**6), levels=(5,), rounds=1)
    proof = prover.run()
    assert (proof.optimal, proof.order, proof.states) == (True, None, 0)

"""What multipliers prove never exceeds the cheapest tour, and equals a 1-tree that scipy and brute force find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from hpcsolve.problems.distances import METRICS, prepared
from hpcsolve.problems.one_tree import Multipliers, has_bound, proven_bound
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, from_matrix, from_points
from tests.oracles import brute_force

CYCLE, PATH = TourQuestion(), TourQuestion(path="open")


def drawn(random, n, symmetric, low=-3, high=12):
    """Return a matrix of small integers, with many ties and a few negative ones."""
    cost = random.integers(low, high, (n, n))
    return np.minimum(cost, cost.T) if symmetric else cost


def proof_for(tsp, random, path="cycle", scale=4, most=20):
    """Return multipliers drawn at random."""
    special = -1 if path == "open" else int(random.integers(tsp.n))
    parts = random.integers(-most, most, (1 if tsp.symmetric else 2, tsp.n))
    return Multipliers(scale, special, *parts.astype(np.int64))


def tree_by_scipy(weights):
    """Return the weight of a minimum spanning tree of a complete graph with integers as weights, some below 1."""
    least = weights.min() - 1
    off = ~np.eye(len(weights), dtype=bool)
    return int(minimum_spanning_tree(np.where(off, weights - least, 0)).sum()) + (len(weights) - 1) * int(least)


@pytest.mark.parametrize("symmetric", [True, False])
def test_multipliers_at_random_prove_no_more_than_the_cheapest_tour(symmetric):
    random = np.random.default_rng(5)
    for _ in range(60):
        tsp = from_matrix(drawn(random, int(random.integers(3, 8)), symmetric))
        for question in (CYCLE, PATH, TourQuestion(path="open", start=1), TourQuestion(path="open", start=2, end=0)):
            optimum = brute_force(tsp.cost, question.path == "cycle", question.start, question.end)
            for _ in range(3):
                assert proven_bound(tsp, question, proof_for(tsp, random, question.path)) <= optimum


def test_the_bound_is_the_one_tree_that_scipy_finds():
    random = np.random.default_rng(6)
    for _ in range(20):
        n = int(random.integers(3, 60))
        tsp = from_points(random.integers(0, 9, (n, 2)).astype(float), "EUC_2D", "", np.arange(n))
        proof = proof_for(tsp, random)
        pi, s = proof.entering, proof.special
        costs = np.where(np.eye(n, dtype=bool), 0, tsp.cost)
        weights = proof.scale * costs + pi[:, None] + pi
        others = np.delete(np.arange(n), s)
        value = tree_by_scipy(weights[np.ix_(others, others)]) + np.sort(weights[s, others])[:2].sum() - 2 * pi.sum()
        assert proven_bound(tsp, CYCLE, proof) == -(-int(value) // proof.scale)
        path = Multipliers(proof.scale, -1, pi)
        value = tree_by_scipy(weights) + np.sort(pi)[:2].sum() - 2 * pi.sum()
        assert proven_bound(tsp, PATH, path) == -(-int(value) // proof.scale)


def test_the_bound_of_arcs_is_the_tree_that_scipy_finds():
    random = np.random.default_rng(7)
    for _ in range(20):
        n = int(random.integers(3, 40))
        tsp = from_matrix(drawn(random, n, symmetric=False))
        proof = proof_for(tsp, random)
        s, entering, leaving = proof.special, proof.entering, proof.leaving
        arcs = proof.scale * np.where(np.eye(n, dtype=bool), 0, tsp.cost) + leaving[:, None] + entering
        without = arcs.copy()
        without[s] = 10**6  # no arc of the tree leaves the special city
        added = entering.sum() + leaving.sum()
        value = tree_by_scipy(np.minimum(without, without.T)) + np.delete(arcs[s], s).min() - added
        assert proven_bound(tsp, CYCLE, proof) == -(-int(value) // proof.scale)
        value = tree_by_scipy(np.minimum(arcs, arcs.T)) + entering.min() + leaving.min() - added
        assert proven_bound(tsp, PATH, Multipliers(proof.scale, -1, entering, leaving)) == -(-int(value) // proof.scale)


@pytest.mark.parametrize("metric", METRICS)
def test_prepared_points_have_the_same_distances(metric):
    random = np.random.default_rng(8)
    points = random.uniform(-80, 80, (50, 3 if "3D" in metric or "XRAY" in metric else 2))
    ready, distance = prepared(points, metric)
    assert np.array_equal(distance(ready[:, None], ready), METRICS[metric](points[:, None], points))


def test_what_is_no_proof_is_refused():
    square = from_matrix(np.array([[0, 2, 3, 2], [2, 0, 2, 3], [3, 2, 0, 2], [2, 3, 2, 0]]))
    pi = np.zeros(4, np.int64)
    assert proven_bound(square, CYCLE, Multipliers(1, 0, pi)) == 8
    missing = square.with_costs(np.where(square.cost == 3, NO_ARC, square.cost))
    for tsp, question, proof, what in (
        (square, CYCLE, Multipliers(1, 4, pi), "special"), (square, PATH, Multipliers(1, 0, pi), "special"),
        (square, CYCLE, Multipliers(0, 0, pi), "scale"), (square, CYCLE, Multipliers(1, 0, pi[:3]), "4 multipliers"),
        (square, CYCLE, Multipliers(1, 0, pi, pi), "nothing"),
        (square, CYCLE, Multipliers(1, 0, pi + 2**50), "4 multipliers from"),
        (square, TourQuestion(objective="latency"), Multipliers(1, 0, pi), "nothing"),
        (missing, CYCLE, Multipliers(1, 0, pi), "missing"),
    ):
        with pytest.raises(ValueError, match=what):
            proven_bound(tsp, question, proof)
    assert not has_bound(from_matrix(np.ones((2, 2), int)), CYCLE)

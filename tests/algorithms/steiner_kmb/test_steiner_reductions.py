"""The reductions of modes best and exact, each alone and all but each, against brute force on tiny graphs.

The long form tries 10,000 graphs: HPCSOLVE_TINY_GRAPHS=10000 pytest --timeout=0
tests/algorithms/steiner_kmb/test_steiner_reductions.py, about 10 CPU minutes.
"""

import os
from dataclasses import replace

import numpy as np
import pytest

from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.algorithms.steiner_kmb.reductions import (
    ALL_RULES,
    KINDS,
    Effort,
    Rules,
    SteinerState,
    contractible,
    shrunk,
    too_long,
)
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.steiner import check_tree
from tests.steiner_oracle import least_weight, tiny_graph

GRAPHS = int(os.environ.get("HPCSOLVE_TINY_GRAPHS", "15"))
NONE = Rules(terminals=False, special=False, lighter=False)
CHOICES = [ALL_RULES, *(replace(ALL_RULES, **{kind: False}) for kind in KINDS),
           *(replace(NONE, **{kind: True}) for kind in KINDS)]
LITTLE = Effort(1 << 12, 2)


def wrong(graph, found, least, whole):
    """Return what is wrong with reductions, or nothing."""
    edges = whole.edges.part(found.tree)
    if check_tree(graph, edges.tails, edges.heads, edges.weights) != found.weight:
        return "the tree's weight"
    if not found.bound.value <= least <= found.weight:
        return f"{found.bound.value} <= {least} <= {found.weight}"
    left = found.smaller.offset + least_weight(found.smaller.graph)
    if not found.proven and min(left, found.weight) != least:
        return f"{least} is the optimum, {left} and {found.weight} are left"
    return ""


@pytest.fixture
def weak(monkeypatch):
    """Return a function that makes ascents end early, and trees poor, so that bounds alone do not prove tiny trees."""

    def poor_tree(net, ascents, is_over):
        return np.arange(len(net.edges))

    def weaken(seed):
        monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.bounds.MOST_WORK", 1 << 20 if seed % 3 else 30)
        monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.reductions.light_tree", poor_tree)

    return weaken


def test_no_lighter_tree_is_lost(host, weak):
    bad = []
    for seed in range(GRAPHS):
        if seed > GRAPHS // 5:  # before them: as in a run
            weak(seed)
        graph = tiny_graph(seed)
        least, whole = least_weight(graph), network(graph, host)
        for rules in CHOICES if GRAPHS > 1000 or seed % 4 == 0 else [ALL_RULES]:
            found = shrunk(SteinerState(reduced(graph)), whole, LITTLE, rules)
            if text := wrong(graph, found, least, whole):
                bad.append((seed, rules, text))
    assert not bad, bad[:5]


def test_rules_of_the_first_kind_leave_a_lightest_tree(host):
    """Without any tree to compare with: what is contracted is in a lightest tree, what is removed is in none."""
    counts = np.zeros(2, np.int64)
    for seed in range(2 * GRAPHS):
        smaller = reduced(tiny_graph(seed))
        net, least = network(smaller.graph, host), least_weight(smaller.graph)
        if len(net.terminals) < 2:
            continue
        removed = too_long(net, net.closure())
        left = smaller.edges.part(~removed)
        rest = from_edges(left.tails, left.heads, left.weights, n=net.n, terminals=net.terminals)
        assert least_weight(rest) == least, seed
        chosen = contractible(net, net.nearest(net.terminals))
        free = smaller.edges.weights.astype(np.int64)
        free[chosen] = 0
        ends = np.concatenate([smaller.edges.tails[chosen], smaller.edges.heads[chosen]])
        more = from_edges(smaller.edges.tails, smaller.edges.heads, free, n=net.n,
                          terminals=np.union1d(net.terminals, ends))
        assert least_weight(more) + int(smaller.edges.weights[chosen].sum()) == least, seed
        counts += removed.sum(), len(chosen)
    assert (counts > 10).all(), "the rules apply"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_counted(kind, host, weak):
    weak(0)
    graphs = [tiny_graph(seed) for seed in range(100)]
    states = [shrunk(SteinerState(reduced(graph)), network(graph, host), LITTLE) for graph in graphs]
    assert sum(state.smaller.counts.get(kind, 0) for state in states) > 3

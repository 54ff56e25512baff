"""Key-path exchange: each move is the best one, as a search in plain Python says, and makes the tree lighter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.steiner_kmb.network import PATHS, network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.graph import power_law_steiner
from hpcsolve.problems.steiner import check_tree
from tests.oracles import least_distances
from tests.published import published
from tests.steiner_oracle import least_tree, steiner_graphs


def key_paths(net, tree):
    """Return the key paths of a tree, as lists of edges."""
    edges = {int(e): (int(net.edges.tails[e]), int(net.edges.heads[e])) for e in tree}
    at: dict[int, list[int]] = {}
    for e, ends in edges.items():
        for v in ends:
            at.setdefault(v, []).append(e)
    keys = {v for v in at if net.is_terminal[v] or len(at[v]) != 2}
    paths = []
    for start in keys:
        for first in at[start]:
            path, v = [first], sum(edges[first]) - start
            while v not in keys:
                path.append(next(e for e in at[v] if e != path[-1]))
                v = sum(edges[path[-1]]) - v
            if start < v:
                paths.append(path)
    return paths


def gain_of(graph, net, tree, path):
    """Return how much lighter the tree becomes at most if this key path is replaced."""
    rest = sorted(set(tree.tolist()) - set(path))
    ends = [v for e in path for v in (int(net.edges.tails[e]), int(net.edges.heads[e]))]
    outer = [v for v in ends if ends.count(v) == 1]
    side = {outer[0]}
    for _ in rest:
        for e in rest:
            pair = {int(net.edges.tails[e]), int(net.edges.heads[e])}
            side |= pair if side & pair else set()
    others = {outer[1]} | {v for e in rest for v in (int(net.edges.tails[e]), int(net.edges.heads[e]))} - side
    distance = least_distances(graph, sorted(side))
    return net.weight(np.array(path)) - min(distance[v] for v in others)


def test_every_exchange_is_the_best_for_its_path(host):
    @settings(max_examples=30)
    @given(steiner_graphs(11, 5, 9), st.randoms())
    def check(graph, random):
        smaller = reduced(graph).graph
        net = network(smaller, host)
        order = random.sample(range(len(net.edges)), len(net.edges))
        shuffled = network(smaller, host).edges.weights.copy()
        net.edges.weights[:] = np.array(order, np.uint64)  # a tree that is not the lightest
        tree = net.spanning_tree(np.arange(len(net.edges)))
        net.edges.weights[:] = shuffled
        if not len(tree):
            return
        expected = sorted(gain for path in key_paths(net, tree) if (gain := gain_of(smaller, net, tree, path)) > 0)
        found = net.moves(tree, PATHS)
        assert sorted(move.gain for move in found) == expected
        for move in found:
            after = np.union1d(np.setdiff1d(tree, move.removed), move.added)
            pruned = net.edges.part(net.spanning_tree(after))
            assert check_tree(smaller, pruned.tails, pruned.heads, pruned.weights) <= net.weight(tree) - move.gain
        last = net.locally_best(tree, kinds=(PATHS,))
        edges = net.edges.part(last)
        assert check_tree(smaller, edges.tails, edges.heads, edges.weights) >= least_tree(smaller)
        assert not net.moves(last, PATHS)

    check()


def test_what_finds_no_room_is_found_later(host):
    net = network(reduced(power_law_steiner(200, 600, 100)).graph, host)
    tree = net.spanning_tree(np.arange(len(net.edges)))
    many = net.moves(tree, PATHS)
    few = net.moves(tree, PATHS, 20)
    assert 0 < len(few) < len(many) and {m.gain for m in few} <= {m.gain for m in many}


@pytest.mark.slow
def test_on_published_instances(steiner_dir, device):
    """Trees are within 1.02 times the optimum on average, and never heavier than without exchange."""
    ratios = []
    for graph, row in published(steiner_dir, below=40_000):
        with_it, without = (
            steiner_kmb.ALGORITHM.solve(graph, device, SerialComm(), steiner_kmb.Parameters(exchange=wanted)).cost
            for wanted in (True, False)
        )
        assert int(row["best_known"]) <= with_it <= without
        ratios.append(with_it / int(row["best_known"]))
    assert len(ratios) == 22 and np.mean(ratios) <= 1.02, np.mean(ratios)

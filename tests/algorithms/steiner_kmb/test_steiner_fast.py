"""Steiner trees of mode fast are valid, have a bound that can be replayed, and do not depend on order or ranks."""

import time

import numpy as np
import pytest
from hypothesis import given, settings

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.algorithms.steiner_kmb.bounds import ascent
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems import steiner
from hpcsolve.problems.generate.graph import power_law_steiner, road_steiner
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.steiner import check_tree
from tests.published import published
from tests.steiner_oracle import least_tree, steiner_graphs
from tests.thread_comm import on_ranks


def solved(graph, device, comm=None):
    return steiner_kmb.ALGORITHM.solve(graph, device, comm or SerialComm(), Parameters())


def stored(outcome):
    """Return all bytes of `/solution` and `/prices`."""
    columns = {**outcome.solution, **outcome.groups.get("prices", {})}
    return {name: (np.asarray(c.values).dtype.str, np.asarray(c.values).tobytes()) for name, c in columns.items()}


def test_trees_of_all_kinds_of_graphs(device):
    @settings(max_examples=25)
    @given(steiner_graphs())
    def check(graph):
        outcome = solved(graph, device)
        assert outcome.answer.check(graph).passed, outcome.answer.check(graph)
        optimum = least_tree(graph)
        assert int(outcome.solution["lower_bound"].values) <= optimum <= outcome.cost
        prices = outcome.groups["prices"]
        raises = list(zip(prices["terminal"].values.tolist(), prices["price"].values.tolist()))
        proven = steiner.replayed(graph, int(prices["root"].values), raises)
        assert proven == sum(price for _, price in raises) <= optimum

    check()


def test_the_closure_is_the_verifiers(host):
    @given(steiner_graphs())
    def check(graph):
        smaller, known = network(reduced(graph).graph, host).closure(), steiner.closure_spanning_tree(graph)
        assert (smaller.weight, smaller.bottleneck) == (known.weight, known.bottleneck)

    check()


def test_every_step_is_a_tree_and_gets_no_heavier(host):
    graph = road_steiner(400, 40, seed=3)
    net = network(graph, host)
    for root in range(5):
        grown = net.shortest_path_tree(root)
        better = net.improved(grown)
        weights = []
        for tree in (grown, better):
            edges = net.edges.part(tree)
            weights.append(check_tree(graph, edges.tails, edges.heads, edges.weights))
        assert weights[1] <= weights[0] <= net.closure().weight


def test_neither_ranks_nor_the_order_of_edges_nor_threads_matter(device):
    graph = power_law_steiner(300, 900, 40, low=0, high=6)
    first = solved(graph, device)
    for ranks in (2, 3):
        outcomes = on_ranks(ranks, lambda comm: solved(graph, HostDevice(2), comm))
        assert all(other.cost == first.cost for other in outcomes)
        assert {name: stored(outcomes[0])[name] for name in stored(first)} == stored(first)
        assert all({**stored(other)}.items() <= stored(first).items() for other in outcomes)
    once = np.flatnonzero(graph.tails() < graph.heads)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order, turned = rng.permutation(once), rng.random(len(once)) < 0.5
        ends = graph.tails()[order], graph.heads[order]
        ends = np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1])
        other = from_edges(*ends, graph.weights[order], n=graph.n, terminals=rng.permutation(graph.terminals))
        assert stored(solved(other, device)) == stored(first)


def test_weights_beyond_32_bits(device):
    graph = power_law_steiner(60, 200, 9, low=2**52, high=2**52 + 9)
    outcome = solved(graph, device)
    assert outcome.answer.check(graph).passed and outcome.cost > 2**53


@pytest.mark.parametrize("terminals", [[3], [3, 0], list(range(5))])
def test_one_terminal_two_and_all(terminals, device):
    graph = from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [1, 2, 3, 4, 5], terminals=terminals)
    outcome = solved(graph, device)
    assert outcome.cost == {1: 0, 2: 6, 5: 10}[len(terminals)]
    assert outcome.answer.check(graph).passed and outcome.solution["ratio"].values == 1


def test_a_tree_of_no_weight(device):
    outcome = solved(from_edges([0, 1, 2], [1, 2, 0], [0, 0, 0], terminals=[0, 2, 1]), device)
    assert (outcome.cost, outcome.solution["ratio"].values, len(outcome.solution["u"].values)) == (0, 1, 2)


def test_an_ascent_that_is_cut_short_proves_less(host, monkeypatch):
    net = network(road_steiner(400, 40, seed=3), host)
    whole = ascent(net, 0).dual
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.bounds.MOST_WORK", whole.work // 2)
    half = ascent(net, 0).dual
    assert 0 < half.value < whole.value and whole.work // 2 <= half.work < whole.work
    assert half.duals.tolist() == whole.duals[: len(half.duals)].tolist()


@pytest.mark.slow
def test_the_published_instances(steiner_dir, device):
    ratios, bounds = [], []
    for graph, row in published(steiner_dir):
        begin = time.process_time()
        outcome = solved(graph, device)
        seconds = time.process_time() - begin
        assert outcome.answer.check(graph).passed, row["name"]
        optimum, bound = int(row["best_known"]), int(outcome.solution["lower_bound"].values)
        assert bound <= optimum <= outcome.cost
        ratios.append(outcome.cost / optimum)
        bounds.append(bound / optimum)
        assert seconds < (4 if graph.n < 40_000 else 12), f"{row['name']}, lower bound and all: {seconds} s"
    assert len(ratios) == 25
    assert np.mean(ratios) <= 1.03 and np.mean(bounds) >= 0.975, (np.mean(ratios), np.mean(bounds))

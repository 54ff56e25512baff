"""Steiner trees of mode kmb are as published, and do not depend on ranks, engines, halts, batches or order."""

from itertools import cycle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.shortest_paths.engines import ENGINES
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.graph import power_law_steiner, road_steiner
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.libraries import to_networkx
from tests.published import published
from tests.steiner_oracle import least_tree, steiner_graphs
from tests.thread_comm import on_ranks


def solved(graph, device, comm=None, **keys):
    return steiner_kmb.ALGORITHM.solve(graph, device, comm or SerialComm(), Parameters(mode="kmb", **keys))


def stored(outcome):
    """Return all bytes of `/solution`."""
    return {name: np.asarray(column.values).tobytes() for name, column in outcome.solution.items()}


def is_right(graph, outcome):
    return outcome.answer.check(graph).passed is True


def test_trees_of_all_kinds_of_graphs(device):
    @settings(max_examples=25)
    @given(steiner_graphs())
    def check(graph):
        outcome = solved(graph, device)
        assert is_right(graph, outcome)
        k, optimum = len(graph.terminals), least_tree(graph)
        assert optimum <= outcome.cost and k * outcome.cost <= 2 * (k - 1) * optimum
        assert stored(solved(graph, device, halt="terminals")) == stored(outcome)

    check()


def test_as_published_where_there_are_no_ties(device):
    """With weights that make all paths of different lengths, the tree is the one of networkx."""
    rng = np.random.default_rng(4)
    for n in (12, 20, 30):
        once = np.triu_indices(n, 1)
        chosen = np.sort(rng.permutation(len(once[0]))[: 2 * n])
        ends = np.concatenate([once[0][chosen], np.arange(n - 1)]), np.concatenate([once[1][chosen], np.arange(1, n)])
        weights = rng.permutation(len(ends[0])) * 10**6 + rng.integers(1, 10**6, len(ends[0]))
        graph = from_edges(*ends, weights, n=n, terminals=rng.permutation(n)[: n // 3])
        expected = nx.algorithms.approximation.steiner_tree(to_networkx(graph), graph.terminals.tolist(), method="kou")
        outcome = solved(graph, device)
        found = set(zip(outcome.solution["u"].values.tolist(), outcome.solution["v"].values.tolist()))
        assert found == {(min(edge), max(edge)) for edge in expected.edges}


@pytest.mark.parametrize("graph", [power_law_steiner(200, 600, 25, low=0, high=5), road_steiner(300, 30)],
                         ids=lambda graph: graph.name)
def test_ranks_engines_halts_and_order_do_not_matter(graph, device):
    first = stored(solved(graph, device))
    for ranks in (2, 3, 4, 31):
        for outcome in on_ranks(ranks, lambda comm: solved(graph, HostDevice(2), comm)):
            assert stored(outcome) == first
    names = ["near-far", *(engine.name for engine in ENGINES)]
    for engine, halt in [*zip(names, cycle(("bottleneck", "terminals"))), ("tile", "terminals")]:
        assert stored(solved(graph, device, engine=engine, halt=halt)) == first, (engine, halt)
    once = np.flatnonzero(graph.tails() < graph.heads)
    order = np.random.default_rng(1).permutation(once)
    other = from_edges(graph.heads[order], graph.tails()[order], graph.weights[order], n=graph.n,
                       terminals=graph.terminals[::-1], coordinates=graph.coordinates)
    assert stored(solved(other, device)) == first


def test_small_batches_do_not_matter(device, monkeypatch):
    graph = power_law_steiner(200, 600, 75, low=1, high=5)
    first = stored(solved(graph, device))
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.engines.single.rows_at_once", lambda *_: 1)
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.engines.tile.GROUPS_A_BLOCK", 1)
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.kmb.MOST_PAIRS", 3)
    for engine in ("near-far", "tile", "p-pull"):
        assert stored(solved(graph, HostDevice(1), engine=engine, at_once=3)) == first


def test_weights_beyond_32_bits(device):
    graph = power_law_steiner(60, 200, 9, low=2**52, high=2**52 + 9)
    assert is_right(graph, solved(graph, device))


@pytest.mark.parametrize("terminals", [[3], [3, 0], list(range(5))])
def test_one_terminal_two_and_all(terminals, device):
    graph = from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [1, 2, 3, 4, 5], terminals=terminals)
    assert solved(graph, device).cost == {1: 0, 2: 6, 5: 10}[len(terminals)]


def test_published_instances(steiner_dir, device):
    """Trees of all published instances but the largest. The benchmark has means over the set."""
    ratios = []
    for graph, row in published(steiner_dir, below=5000):
        outcome = solved(graph, device)
        assert is_right(graph, outcome) and outcome.cost >= int(row["best_known"])
        ratios.append(outcome.cost / int(row["kmb"]))
    assert len(ratios) == 18 and 0.98 < np.mean(ratios) < 1.02

"""Exact reductions keep the optimum, give edges back, count what they remove, and end early on ladders."""

import time

import numpy as np
import pytest
from hypothesis import given, settings

from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.steiner import check_tree
from tests.steiner_oracle import least_tree, steiner_graphs


def graph_of(edges, terminals):
    tails, heads, weights = (list(column) for column in zip(*edges))
    return from_edges(tails, heads, weights, terminals=terminals)


def weight_of(smaller, edges):
    """Return the weight of the original edges that these stand for."""
    return int(smaller.original.weights[smaller.restored(np.array(edges, np.int64))].sum())


@settings(max_examples=60)
@given(steiner_graphs(9, 4))
def test_the_optimum_stays(graph):
    smaller = reduced(graph)
    assert least_tree(smaller.graph) == least_tree(graph)
    assert not smaller.graph.arcs or smaller.graph.weights.min() > 0
    assert smaller.graph.n <= graph.n and smaller.graph.edges <= graph.edges
    assert smaller.graph.terminals.tolist() == sorted(smaller.graph.terminals)


@settings(max_examples=60)
@given(steiner_graphs(9, 4))
def test_each_edge_comes_back_with_its_weight(graph):
    smaller = reduced(graph)
    for number, weight in enumerate(smaller.edges.weights.tolist()):
        assert weight_of(smaller, [number]) == weight
    ends = list(zip(smaller.edges.tails.tolist(), smaller.edges.heads.tolist()))
    assert ends == sorted(ends), "numbered as network() numbers them"


def test_the_whole_tree_comes_back(host):
    """Spanning trees of the reduced graph are trees of the original graph."""

    @given(steiner_graphs())
    def check(graph):
        smaller = reduced(graph)
        tree = network(smaller.graph, host).spanning_tree(np.arange(smaller.graph.edges))
        whole = network(graph, host)
        restored = whole.edges.part(whole.spanning_tree(smaller.restored(tree)))
        weight = check_tree(graph, restored.tails, restored.heads, restored.weights)
        assert weight == int(smaller.edges.weights[tree].sum())

    check()


def test_what_each_reduction_removes():
    """Edge 0 - 1 weighs 0, vertices 2 and 3 are a chain beside a heavier edge, 6 and 7 are leaves in turn."""
    more = [(3, 3, 1), (2, 1, 8), (5, 6, 1), (6, 7, 1)]
    graph = graph_of([(0, 1, 0), (1, 2, 3), (2, 3, 4), (3, 5, 5), (1, 4, 9), (4, 5, 9), *more], [0, 5])
    assert (graph.loops, graph.parallel_arcs) == (1, 1)
    smaller = reduced(graph)
    assert (smaller.graph.n, smaller.graph.edges, smaller.graph.weights.tolist()) == (2, 1, [12, 12])
    assert dict(smaller.counts) == {"contracted": 1, "parallel": 1, "ends": 2, "passed": 3}
    ends = smaller.original.part(smaller.restored(np.array([0])))
    assert list(zip(ends.tails.tolist(), ends.heads.tolist())) == [(0, 1), (1, 2), (2, 3), (3, 5)]


def test_cycles_without_terminals_and_other_components_are_removed():
    apart = [(3, 4, 1), (4, 5, 1), (5, 3, 1), (3, 5, 2)]
    smaller = reduced(graph_of([(0, 1, 2), (1, 2, 2), (1, 6, 1), (6, 7, 1), (7, 1, 1), *apart], [0, 2]))
    assert (smaller.graph.n, smaller.graph.edges) == (2, 1)


@pytest.mark.parametrize("terminals", [[2], [0, 1, 2, 3]])
def test_one_terminal_and_all(terminals):
    graph = graph_of([(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 0, 0)], terminals)
    smaller = reduced(graph)
    assert least_tree(smaller.graph) == least_tree(graph)


def test_a_point():
    assert reduced(from_edges([], [], n=1, terminals=[0])).graph.n == 1


def test_a_ladder_that_collapses_rung_by_rung_ends_in_time():
    """Every round removes two vertices from the free end of a ladder whose other end has the terminals."""
    rungs = 20_000
    first = np.arange(rungs)
    tails = np.concatenate([first, first[:-1], first[:-1] + rungs])
    heads = np.concatenate([first + rungs, first[:-1] + 1, first[:-1] + rungs + 1])
    graph = from_edges(tails, heads, np.ones(len(tails), int), terminals=[0, rungs])
    begin = time.process_time()
    smaller = reduced(graph)
    assert smaller.graph.n > rungs, "it gives up"
    assert time.process_time() - begin < 2

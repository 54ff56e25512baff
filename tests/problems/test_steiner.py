"""Steiner problems, checks of trees, and lower bounds compared with the optimum."""

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.libraries import to_networkx
from hpcsolve.problems.steiner import (
    check_tree,
    closure_bound,
    closure_spanning_tree,
    exact_sum,
    replayed,
    require_problem,
)
from tests.published import published
from tests.steiner_oracle import least_tree, steiner_graphs

# A square 10 - 11 - 12 - 13 with a diagonal 10 - 12 and a tail 13 - 14; terminals 10, 12, 13.
ENDS = [0, 1, 2, 3, 0, 3], [1, 2, 3, 0, 2, 4]
SQUARE = from_edges(*ENDS, [2, 2, 3, 9, 5, 1], terminals=[0, 2, 3], labels=range(10, 15))


def graph_of(weights, terminals, directed=False):
    """Return the path 0 - 1 - 2 - ... with these weights."""
    first = np.arange(len(weights))
    return from_edges(first, first + 1, weights, terminals=terminals, directed=directed, name="chain")


@pytest.mark.parametrize(("graph", "message"), [
    (graph_of([1, 2], [0, 2], directed=True), "a Steiner problem is undirected"),
    (graph_of([1, 2], None), "has no terminals"),
    (graph_of([1, 1 / 3], [0, 2]), "not decimals of at most nine places"),
    (graph_of([2**61, 2**61], [0, 2]), f"weigh {2**62} together; at most {2**62 - 1}"),
    (from_edges([0, 2, 3], [1, 3, 4], n=6, terminals=[0, 3, 5, 4], labels=range(1, 7), name="parts"),
     "which are in 3 components: one of 2 vertices with terminal 1; one of 3 vertices with terminals 4, 5; "
     "one of 1 vertex with terminal 6"),
    (from_edges([0], [1], n=40, terminals=range(40), name="dust"), "in 39 components: .*; and 34 more"),
])
def test_what_is_no_problem_is_one_line(graph, message):
    with pytest.raises(InputError, match=message) as caught:
        require_problem(graph)
    assert "\n" not in str(caught.value)


def test_what_is_a_problem():
    point = from_edges([], [], n=1, terminals=[0])
    for graph in (SQUARE, graph_of([0.5, 0.25], [1]), graph_of([2**61, 2**61 - 1], [0, 2]), point):
        assert require_problem(graph) is graph


def test_sums_are_exact():
    rng = np.random.default_rng(1)
    for values in (rng.integers(0, 2**64, 1000, dtype=np.uint64), rng.integers(0, 2**32, 9, dtype=np.uint32)):
        assert exact_sum(values) == sum(values.tolist())


@pytest.mark.parametrize(("edges", "message"), [
    ([(0, 1, 2), (1, 2, 2), (2, 3, 3)], ""),
    ([(1, 0, 2), (2, 1, 2), (3, 2, 3)], ""),
    ([(0, 1, 2), (1, 2, 2)], "no path leads from vertex 13 to terminal 10"),
    ([(0, 1, 2), (1, 2, 2), (2, 3, 3), (0, 3, 9)], "the edge 10 - 13 closes a cycle"),
    ([(0, 1, 2), (1, 2, 2), (2, 3, 3), (0, 1, 2)], "the edge 10 - 11 closes a cycle"),
    ([(0, 1, 2), (1, 2, 2), (2, 3, 3), (3, 4, 1)], "vertex 14 is a leaf, but no terminal"),
    ([(0, 1, 2), (1, 2, 2), (1, 3, 3)], "the graph has no edge 11 - 13"),
    ([(0, 1, 2), (1, 2, 2), (2, 3, 2)], "the edge 12 - 13 weighs 3, not 2"),
    ([(0, 1, 2), (1, 2, 2), (2, 5, 3)], "not a vertex of the graph"),
    ([(0, 1, 2), (1, 2, 2), (2, -1, 3)], "not a vertex of the graph"),
    ([(0, 1, 2.5), (1, 2, 2), (2, 3, 3)], "the edge 10 - 11 weighs 2, not 2.5"),
    ([], "no path leads from vertex 12 to terminal 10"),
])
def test_trees_are_checked(edges, message):
    tails, heads, weights = ([e[i] for e in edges] for i in range(3))
    ends = np.array(tails, np.int32), np.array(heads, np.int32)
    if message:
        with pytest.raises(ValueError, match=re.escape(message)):
            check_tree(SQUARE, *ends, weights)
    else:
        assert check_tree(SQUARE, *ends, weights) == 7


def test_ends_are_integers_of_one_shape():
    for ends in (([0.0, 1.0], [1, 2]), ([0], [1, 2]), ([[0, 1]], [[1, 2]])):
        with pytest.raises(ValueError, match="have shapes"):
            check_tree(SQUARE, *ends, [2, 2])


@given(steiner_graphs())
def test_the_closure_is_that_of_all_distances(graph):
    network = to_networkx(graph)
    lengths = dict(nx.all_pairs_dijkstra_path_length(network))
    whole, terminals = nx.Graph(), graph.labels[graph.terminals].tolist()
    whole.add_nodes_from(terminals)
    whole.add_weighted_edges_from((a, b, lengths[a][b]) for a in terminals for b in terminals if a < b)
    edges = [w for _, _, w in nx.minimum_spanning_edges(whole, data="weight")]
    weights = [d["weight"] for d in edges]
    found = closure_spanning_tree(graph)
    assert (found.weight, found.bottleneck) == (sum(weights), max(weights, default=0))
    optimum = least_tree(graph)
    assert closure_bound(found.weight, len(terminals)) <= optimum <= found.weight


@pytest.mark.parametrize(("weight", "terminals", "bound"), [(5, 3, 4), (6, 4, 4), (7, 4, 5), (7, 2, 7), (9, 1, 0)])
def test_the_bound_of_the_closure_is_rounded_up(weight, terminals, bound):
    """It is the weight over 2 - 2 / terminals, and optima are whole numbers."""
    assert closure_bound(weight, terminals) == bound


def test_the_closure_beyond_doubles():
    far = graph_of([2**60, 2**60 + 1, 1, 2**58], [0, 2, 4])
    found = closure_spanning_tree(far)
    assert (found.weight, found.bottleneck) == (2**61 + 2**58 + 2, 2**61 + 1)


def test_the_closures_of_published_instances(steiner_dir):
    closures = 0
    for graph, row in published(steiner_dir, below=50_000):
        found = closure_spanning_tree(graph)
        wanted = int(row["closure_mst"]), int(row["closure_bottleneck"])
        assert (found.weight, found.bottleneck) == wanted, row["name"]
        closures += 1
    assert closures == 22


def test_prices_prove_a_bound():
    """Each multiplier raises the set that its terminal reaches along edges that earlier multipliers have used up."""
    assert replayed(SQUARE, 0, []) == 0
    assert replayed(SQUARE, 0, [(3, 3), (2, 2), (2, 1)]) == 6
    assert replayed(SQUARE, 0, [(3, 4)]) == 4, "12 joins the set after 3, which goes on with 1"
    assert replayed(SQUARE, 0, [(3, 2), (3, 1)], most=2) is None


@pytest.mark.parametrize(("root", "prices", "message"), [
    (1, [(3, 1)], "root of the lower bound is not a terminal"),
    (0, [(4, 1)], "does not belong to a terminal"),
    (0, [(3, -1)], "is negative"),
    (0, [(0, 1)], "a set that holds the root"),
    (0, [(3, 3), (2, 4), (2, 1)], "a set that holds the root"),
])
def test_prices_that_prove_nothing(root, prices, message):
    with pytest.raises(ValueError, match=message):
        replayed(SQUARE, root, prices)

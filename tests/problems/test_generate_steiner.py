"""Generators of Steiner problems give the same bytes for a seed and the promised sizes, terminals and degrees."""

import hashlib
import time

import numpy as np
import pytest

from hpcsolve.errors import InputError
from hpcsolve.problems.generate import generate, makers
from hpcsolve.problems.generate.graph import power_law_steiner, road_steiner
from hpcsolve.problems.steiner import require_problem

SMALL = {
    "road-steiner": {"n": 300, "terminals": 20},
    "power-law-steiner": {"n": 300, "edges": 900, "terminals": 20},
}
# Recorded once: these may never change, users cite instances by their seed.
RECORDED = {"road-steiner": "bdd452cdd2f00139", "power-law-steiner": "b6dcceb3b774e562"}


def digest(graph):
    arrays = (graph.offsets, graph.heads, graph.weights, graph.labels, graph.terminals)
    return hashlib.sha256(b"".join(array.astype("<i8").tobytes() for array in arrays)).hexdigest()[:16]


def test_every_kind_is_tested():
    assert set(SMALL) == set(makers("steiner")) == set(RECORDED)


@pytest.mark.parametrize("kind", SMALL)
def test_bytes_are_the_recorded_ones(kind):
    graph = require_problem(generate("steiner", kind, **SMALL[kind]))
    assert digest(graph) == RECORDED[kind]
    other = generate("steiner", kind, **SMALL[kind], seed=2)
    assert digest(other) != RECORDED[kind] and set(other.terminals) != set(graph.terminals)
    assert (graph.n, len(np.unique(graph.terminals))) == (300, 20)
    assert all(f"{key}={value}" in graph.comment for key, value in SMALL[kind].items())


def test_few_vertices_have_most_edges():
    begin = time.process_time()
    graph = require_problem(power_law_steiner())
    assert (graph.n, graph.edges + graph.parallel_arcs, len(graph.terminals)) == (54_573, 498_202, 3000)
    assert graph.parallel_arcs < 6000 and graph.loops == 0
    degrees = np.sort(np.diff(graph.offsets))
    assert degrees[0] >= 1 and degrees[-1] > 60 * np.median(degrees)
    assert (graph.weights.min(), graph.weights.max()) == (1, 100)
    assert time.process_time() - begin < 5


def test_a_road_network_of_the_published_size():
    graph = require_problem(road_steiner(20_000, 600))
    assert (graph.n, len(graph.terminals)) == (20_000, 600) and graph.coordinates is not None
    assert 2.3 < graph.arcs / graph.n < 2.8


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest(n):
    for graph in (power_law_steiner(n, 5, n), road_steiner(n, n)):
        assert require_problem(graph).n == n == len(graph.terminals)


@pytest.mark.parametrize(("keys", "message"), [
    ({"n": 5, "terminals": 6}, "terminals is 6; a graph of 5 vertices has at most 5"),
    ({"n": 5, "edges": 3, "terminals": 2}, "edges is 3; it must be 4 to"),
    ({"n": 0}, "n is 0"),
    ({"n": 5, "terminals": 0}, "terminals is 0"),
    ({"n": 5, "terminals": 2, "low": 3, "high": 2}, "low is 3, high is 2"),
    ({"n": 5, "terminals": 2.0}, "terminals is 2.0; it must be an integer"),
])
def test_bad_keys_are_named(keys, message):
    with pytest.raises(InputError, match=message):
        power_law_steiner(**keys)

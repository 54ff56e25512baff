"""Every engine against Dijkstra's algorithm in Python's own integers: distances, predecessors, and the check itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hpcsolve
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, searcher
from hpcsolve.algorithms.shortest_paths.question import Parameters, question
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, REAL, WORD
from hpcsolve.algorithms.shortest_paths.searches import Solved, Want, row_searches
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.graph import from_edges
from tests.oracles import least_distances, smallest_predecessors

SINGLE = ["near-far", *(engine.name for engine in ENGINES if engine.delivers & Want.PATHS)]
"""The engines that search from one source after the other, for whatever is wanted."""
NEAR = st.integers(0, 20)
LARGE = st.one_of(st.integers(0, 3), st.integers(2**31 - 3, 2**31 + 3), st.integers(2**32 - 3, 2**32 + 3))


def graphs(weights):
    """Return graphs of up to 12 vertices, with parallel arcs, loops and several components, directed or not."""

    def of(n):
        arc = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), weights)
        lists = st.lists(arc, min_size=1, max_size=40)
        return st.builds(lambda arcs, directed: from_edges(*zip(*arcs), n=n, directed=directed), lists, st.booleans())

    return st.integers(1, 12).flatmap(of)


@dataclass(frozen=True)
class Found:
    """The rows of a batch."""

    keys: NDArray[Any]
    predecessor: NDArray[np.int32]
    solved: Solved


def search(graph, seeds, device, **options):
    """Search one batch, and return it with its searcher."""
    with searcher(graph, device, searches=len(seeds), **options) as prepared:
        return prepared, rows(prepared, seeds)


def rows(prepared, seeds):
    """Search one batch of a searcher."""
    keys = np.empty((len(seeds), prepared.graph.n), prepared.keys.dtype)
    before = np.empty(keys.shape, np.uint32)
    searches = row_searches([np.array(s) for s in seeds], None, prepared.graph.places())
    solved = prepared.solve(searches, Want.DISTANCES | Want.PREDECESSORS, keys, before)
    return Found(keys, before.view(np.int32), solved)


def check(graph, seeds, prepared, found):
    """Check that distances and predecessors are the oracle's, and that the device's own check finds nothing wrong."""
    assert not found.solved.wrong.any() and not found.solved.cut.any()
    values = prepared.keys.decode(found.keys)
    nothing = np.inf if prepared.keys is REAL else prepared.keys.no_path
    for row, mine in enumerate(seeds):
        expected = least_distances(graph, mine)
        assert values[row].tolist() == [nothing if d is None else d for d in expected]
        assert found.predecessor[row].tolist() == smallest_predecessors(graph, mine, expected)


@pytest.mark.parametrize("engine", SINGLE)
@given(graph=graphs(NEAR), delta=st.sampled_from([None, 1, 7, 1000]))
def test_equals_dijkstra(engine, graph, delta):
    device = HostDevice(1)
    seeds = [[0], [graph.n - 1], sorted({0, graph.n // 2})]
    check(graph, seeds, *search(graph, seeds, device, engine=engine, delta=delta))


@pytest.mark.parametrize("engine", SINGLE)
@given(graph=graphs(LARGE))
def test_long_integers(engine, graph):
    check(graph, [[0]], *search(graph, [[0]], HostDevice(1), engine=engine, keys=LONG))


@pytest.mark.parametrize("engine", SINGLE)
@given(graph=graphs(st.floats(0, 1e300).filter(lambda x: x == 0 or x > 1e-300).map(lambda x: x + 0.1234567890123)))
def test_floats_are_added_as_they_are(engine, graph):
    assume(graph.weights.dtype == np.float64)  # whole numbers are kept as integers
    prepared, found = search(graph, [[0]], HostDevice(1), engine=engine)
    values = prepared.keys.decode(found.keys)[0].tolist()
    expected = [np.inf if d is None else d for d in least_distances(graph, [0])]
    assert values == expected and not found.solved.wrong.any()


def random_graph(n, arcs, largest, seed=0, least=0):
    """Return a directed graph with parallel arcs and loops."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, arcs))
    return from_edges(*ends, rng.integers(least, largest + 1, arcs), n=n, directed=True)


@pytest.mark.parametrize("engine", SINGLE)
@pytest.mark.parametrize("largest", [1, 5, 1000])
def test_larger_graphs_on_every_device(engine, largest, device):
    graph = random_graph(300, 1200, largest, seed=largest)
    seeds = [[0], [299], [3, 70, 140]]
    check(graph, seeds, *search(graph, seeds, device, engine=engine))


def test_a_full_near_queue_loses_nothing(device):
    """All 20000 leaves of a star behind one arc wait at once, five times as many as the near queue holds."""
    n = 20000
    leaves = np.arange(2, n)
    tails = np.concatenate([[0], np.ones(n - 2, int), leaves[:-1]])
    heads = np.concatenate([[1], leaves, leaves[1:]])
    weights = np.concatenate([[1], 1 + leaves % 7, np.full(n - 3, 1)])
    graph = from_edges(tails, heads, weights, n=n, directed=True)
    _, wide = search(graph, [[0]], device, delta=10**6)
    _, exact = search(graph, [[0]], device, engine="dijkstra")
    assert np.array_equal(wide.keys, exact.keys) and np.array_equal(wide.predecessor, exact.predecessor)


def test_a_cutoff_is_exact_and_is_seen(device):
    graph = random_graph(400, 1600, 50, least=1)
    everything = least_distances(graph, [0])
    for engine in SINGLE:
        prepared, found = search(graph, [[0]], device, engine=engine, cutoff=40)
        expected = [d if d is not None and d <= 40 else prepared.keys.no_path for d in everything]
        assert found.keys[0].tolist() == expected
        assert found.solved.cut[0] > 0 and not found.solved.wrong.any()


@given(st.integers(0, 10**9))
@example(29)  # 0.29 * 100 in floats is below 29
def test_a_cutoff_is_that_of_its_decimals(hundredths):
    length = hundredths / 100
    graph = from_edges([0, 1], [1, 2], [length, 0.01])
    asked = question(graph, Parameters(sources=[1], cutoff=length))
    assert asked.cutoff == Fraction(str(length)) * graph.scale


@pytest.mark.parametrize("engine", ["near-far", "phast"])
def test_a_vertex_just_at_the_cutoff_is_reached(engine):
    graph = from_edges([0, 1], [1, 2], [0.29, 0.01])
    solved = hpcsolve.solve(graph, "shortest-paths", sources=[0], cutoff=0.29, engine=engine, device="cpu")
    assert np.array_equal(solved.distance, [[0, 0.29, np.inf]])


@pytest.mark.parametrize(("keys", "limit"), [(WORD, 2**31 - 2), (LONG, 2**63 - 2)])
def test_what_does_not_fit_is_cut_and_seen(keys, limit, device):
    weights = np.array([limit - 5, 5, 1], np.uint64)
    chain = from_edges([0, 1, 2], [1, 2, 3], weights, n=4, directed=True)
    _, found = search(chain, [[0]], device, keys=keys)
    assert found.keys[0].tolist() == [0, limit - 5, limit, keys.no_path] and found.solved.cut[0] == 1
    _, whole = search(chain, [[0]], device, keys=keys, engine="bellman-ford-push")
    assert whole.keys[0].tolist() == [0, limit - 5, limit, limit + 1] and whole.solved.cut[0] == 0


def test_threads_and_batches_do_not_matter(device):
    graph = random_graph(200, 900, 9)
    seeds = [[v] for v in range(40)]
    _, together = search(graph, seeds, device)
    alone = [search(graph, [s], HostDevice(2))[1] for s in seeds]
    assert np.array_equal(together.keys, np.concatenate([f.keys for f in alone]))
    assert np.array_equal(together.predecessor, np.concatenate([f.predecessor for f in alone]))


def test_near_far_does_little_more_than_dijkstra():
    """On a grid with weights 1..100, at the default delta."""
    rows = np.arange(60 * 60).reshape(60, 60)
    tails = np.concatenate([rows[:, :-1].ravel(), rows[:-1].ravel()])
    heads = np.concatenate([rows[:, 1:].ravel(), rows[1:].ravel()])
    graph = from_edges(tails, heads, np.random.default_rng(0).integers(1, 101, len(tails)), n=3600)
    _, near_far = search(graph, [[0]], HostDevice(1))
    _, dijkstra = search(graph, [[0]], HostDevice(1), engine="dijkstra")
    assert dijkstra.solved.relaxed[0] == graph.arcs
    assert graph.arcs <= near_far.solved.relaxed[0] <= 1.35 * graph.arcs

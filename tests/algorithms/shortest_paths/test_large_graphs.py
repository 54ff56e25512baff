"""Large graphs: distances equal scipy's Dijkstra, predecessors their definition, sums of roads the published ones.

scipy adds doubles, which is exact here: all distances of integers stay below 2^53.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.engines import searcher
from hpcsolve.algorithms.shortest_paths.searches import Want, row_searches
from hpcsolve.device.host import HostDevice
from hpcsolve.formats import read_graph
from hpcsolve.problems.generate import generate
from hpcsolve.problems.libraries import to_scipy
from tests.algorithms.shortest_paths.test_shortest_paths import SINGLE
from tests.road_networks import REFERENCES, splitmix_weights

ENGINES = ("near-far-block", "near-far-grid", "dijkstra")
BY_ROUNDS = ("bellman-ford-push", "bellman-ford-pull", "k-pull")
LONG = 2**40
GENERATED = {
    "road-graph": {"n": 50_000},
    "grid-graph": {"rows": 1000, "columns": 1000},
    "rmat-graph": {"scale": 16},
    "geometric-graph": {"n": 100_000},
    "path-graph": {"n": 20_000},
    "star-graph": {"n": 1_000_000},
    "hub-graph": {"n": 20_000},
    "random-graph": {"n": 200_000, "parts": 3, "directed": True},
}


@pytest.fixture
def roads(data_dir):
    """Return the folder of road networks."""
    if not (data_dir / "roads").is_dir():
        pytest.skip("HPCSOLVE_DATA has no roads/")
    return data_dir / "roads"


def check(graph, sources, engines):
    """Check every engine's distances and predecessors from these sources, and return the distances."""
    expected = np.asarray(dijkstra(to_scipy(graph).astype(np.float64), indices=sources))
    assert graph.weights.dtype.kind == "f" or expected[np.isfinite(expected)].max() < 2**53
    before = np.stack([smallest_before(graph, source, row) for source, row in zip(sources, expected)])
    for engine in engines:
        with searcher(graph, HostDevice(1), engine=engine) as prepared:
            keys, found = np.empty(expected.shape, prepared.keys.dtype), np.empty(expected.shape, np.uint32)
            searches = row_searches([np.array([source]) for source in sources], None, prepared.graph.places())
            solved = prepared.solve(searches, Want.DISTANCES | Want.PREDECESSORS, keys, found)
        values = prepared.keys.decode(keys)
        assert np.array_equal(np.where(keys == prepared.keys.no_path, np.inf, values), expected), engine
        assert np.array_equal(found.view(np.int32), before), engine
        assert not solved.wrong.any() and not solved.cut.any(), engine
    return expected


def smallest_before(graph, source, distance):
    """Return the smallest vertex with an arc that fits, -1 if there is none, in a graph of positive weights."""
    assert graph.weights.min() > 0
    tails = graph.tails().astype(np.int64)
    fits = (distance[tails] + graph.weights == distance[graph.heads]) & np.isfinite(distance[tails])
    before = np.full(graph.n, graph.n)
    np.minimum.at(before, graph.heads[fits], tails[fits])
    assert np.array_equal(np.flatnonzero((before == graph.n) & np.isfinite(distance)), [source])
    return np.where(before == graph.n, -1, before)


@pytest.mark.parametrize("name", REFERENCES)
def test_road_networks(roads, name):
    places = roads / name.replace(".gr", ".co")
    graph = read_graph(roads / name, *([places] if places.exists() else [])).problem
    if ".pace" in name:
        graph = replace(graph, weights=splitmix_weights(graph).astype(np.uint32))
    distance = check(graph, [0, graph.n // 2], ENGINES)[0]
    if ".pace" not in name:
        check(graph, [0], BY_ROUNDS)
    reached = np.isfinite(distance)
    sums = int(reached.sum()), int(distance[reached].max()), int(distance[reached].astype(np.int64).sum())
    assert sums == REFERENCES[name]


@pytest.mark.parametrize("kind", GENERATED)
def test_generated_graphs(kind):
    graph = generate("graph", kind, **GENERATED[kind])
    busiest = int(np.argmax(np.diff(graph.offsets)))
    check(graph, sorted({busiest, graph.n // 3}), ENGINES)


@pytest.mark.parametrize("engine", BY_ROUNDS)
def test_bellman_ford(engine):
    check(generate("graph", "grid-graph", rows=300, columns=300), [0], (engine,))


def longer(graph):
    """Return the graph with distances far beyond 32 bits."""
    return replace(graph, weights=graph.weights.astype(np.uint64) + np.uint64(LONG))


def fractional(graph):
    """Return the graph with weights whose sums are rounded."""
    return replace(graph, weights=graph.weights / 3)


@pytest.mark.parametrize("weighted", [longer, fractional])
def test_long_and_fractional_weights(weighted):
    check(weighted(generate("graph", "geometric-graph", n=50_000)), [0], tuple(SINGLE))

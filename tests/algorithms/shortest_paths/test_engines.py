"""Every engine of the list against scipy's Dijkstra and against one in Python's own integers, in all that it delivers.

A new engine is tested by being in the list.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

import hpcsolve
from hpcsolve.algorithms import shortest_paths
from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.shortest_paths import Parameters
from hpcsolve.algorithms.shortest_paths.choice import Way, request_of
from hpcsolve.algorithms.shortest_paths.engines import BLOCK, ENGINES, PHAST
from hpcsolve.algorithms.shortest_paths.pairs import solve_pairs
from hpcsolve.algorithms.shortest_paths.question import PathStatement
from hpcsolve.algorithms.shortest_paths.reductions import solve_summaries
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, REAL, WORD
from hpcsolve.algorithms.shortest_paths.searches import Request, Want, filled_rows, row_searches
from hpcsolve.algorithms.shortest_paths.solve import memory as memory_of
from hpcsolve.algorithms.shortest_paths.tables import SearchCheckpoints
from hpcsolve.device.base import DeviceInfo
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate import generate
from hpcsolve.problems.graph import Graph, from_edges
from hpcsolve.problems.libraries import to_scipy
from hpcsolve.problems.questions import PathQuestion, Reduction
from tests.algorithms.shortest_paths.test_shortest_paths import graphs, random_graph
from tests.oracles import least_distances, smallest_predecessors

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
SMALL = st.one_of(st.integers(0, 9), st.integers(0, 2000))
LARGE = st.one_of(st.integers(0, 3), st.integers(2**30 - 2, 2**30 + 2), st.integers(2**45, 2**46))
KINDS = {"32": (WORD, 1), "64": (LONG, 2**33), "floats": (REAL, 1 / 3)}


def weighted(graph, factor):
    """Return the graph with other weights."""
    return Graph(**{**vars(graph), "weights": graph.weights * (factor if factor < 1 else np.uint64(factor))})


def prepared(engine, graph, device, keys, **options):
    """Return a graph that is ready to be searched."""
    return engine.prepare(graph, device, Request(graph.n, graph.arcs, keys, **options))


def scipys(graph, sources, cutoff=np.inf):
    """Return the rows of scipy's Dijkstra."""
    return np.asarray(dijkstra(to_scipy(graph).astype(np.float64), indices=sources, limit=cutoff))


def distances(ready, keys):
    """Return keys as scipy's distances, infinite where no path leads."""
    return np.where(keys == ready.keys.no_path, np.inf, ready.keys.decode(keys).astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
@every_engine
def test_all_that_an_engine_delivers(engine, kind, device):
    """Rows, rows of targets, rows cut off, predecessors, paths, summaries, and the check."""
    keys, factor = KINDS[kind]
    if keys is REAL and not engine.floats:
        pytest.skip("takes integers alone")
    graph = weighted(random_graph(150, 600, 40, seed=3), factor)
    sources, targets = np.arange(0, 150, 4), np.array([7, 149, 7, 0])
    right, cutoff = scipys(graph, sources), float(np.quantile(graph.weights, 0.9)) * 2
    with prepared(engine, graph, device, keys, searches=len(sources), trees=True) as ready:
        seeds, places = list(sources[:, None]), ready.graph.places()
        rows = np.empty(right.shape, keys.dtype)
        solved = ready.solve(row_searches(seeds, None, places), Want.DISTANCES, rows)
        assert np.array_equal(distances(ready, rows), right)
        assert not solved.wrong.any() and not solved.cut.any() and (solved.relaxed.sum() > 0)
        some = np.empty((len(sources), len(targets)), keys.dtype)
        ready.solve(row_searches(seeds, targets, places), Want.TARGETS, some)
        assert np.array_equal(some, rows[:, targets])
        if engine.delivers & Want.PREDECESSORS:
            before = np.empty(right.shape, np.uint32)
            ready.solve(row_searches(seeds, None, places), Want.DISTANCES | Want.PREDECESSORS, rows, before)
            for row, source in enumerate(sources.tolist()):
                least = [None if np.isinf(value) else value for value in right[row].tolist()]
                assert before[row].view(np.int32).tolist() == smallest_predecessors(graph, [source], least)
        if engine.delivers & Want.SEVERAL_SEEDS:
            ready.solve(row_searches([sources], None, places), Want.DISTANCES, rows[:1])
            assert np.array_equal(distances(ready, rows[:1])[0], right.min(axis=0))
        if engine.delivers & Want.PATHS:
            pairs = np.array([[source, target] for source in sources[:3] for target in targets])
            found = solve_pairs(ready, pairs, silent)
            assert np.array_equal(found.keys, some[:3].ravel()) and len(found.path) == found.length.sum()
        if engine.delivers & Want.CHECKED:
            kept = solve_summaries(ready, seeds, targets, Reduction(nearest=2), silent, SearchCheckpoints()).keys
            assert kept[:, 0].tolist() == np.isfinite(right[:, targets]).sum(axis=1).tolist()
    with prepared(engine, graph, device, keys, searches=len(sources), cutoff=cutoff) as ready:
        solved = ready.solve(row_searches(seeds, None, ready.graph.places()), Want.DISTANCES, rows)
        assert np.array_equal(distances(ready, rows), scipys(graph, sources, cutoff)) and not solved.wrong.any()


@pytest.mark.parametrize("keys", [WORD, LONG], ids=["32", "64"])
@pytest.mark.parametrize("engine", [e for e in ENGINES if e.delivers & Want.CHECKED], ids=lambda each: each.name)
def test_what_does_not_fit_is_cut_and_seen(engine, keys, device):
    limit = engine.limit(keys)
    chain = from_edges([0, 1, 2], [1, 2, 3], np.array([limit - 5, 5, 1], np.uint64), n=4, directed=True)
    with prepared(engine, chain, device, keys) as ready:
        rows = np.empty((1, 4), keys.dtype)
        solved = ready.solve(row_searches([np.array([0])], None, ready.graph.places()), Want.DISTANCES, rows)
    assert rows.tolist() == [[0, limit - 5, limit, keys.no_path]] and solved.cut.tolist() == [1]
    assert not solved.wrong.any()


@pytest.mark.parametrize(("weights", "keys"), [(SMALL, WORD), (SMALL, LONG), (LARGE, LONG)], ids=["32", "64", "far"])
@every_engine
def test_any_graph_any_sources(engine, weights, keys, device):
    """Graphs are directed or not, with components, loops and weights of 0. Sources repeat, and exceed a group."""

    @settings(max_examples=15)
    @given(graphs(weights), st.data())
    def check(graph, data):
        vertex = st.integers(0, graph.n - 1)
        sources = np.array(data.draw(st.lists(vertex, min_size=1, max_size=40)))
        columns = data.draw(st.one_of(st.none(), st.lists(vertex, min_size=1, max_size=5).map(np.array)))
        cutoff = data.draw(st.one_of(st.none(), st.integers(0, 3000)))
        most = engine.limit(keys) if cutoff is None else cutoff
        assume(int(graph.weights.sum()) <= engine.limit(keys))
        with prepared(engine, graph, device, keys, searches=len(sources), targets=columns, cutoff=cutoff) as ready:
            (found, _), = filled_rows(ready, [sources], columns)
        for row, source in zip(found.tolist(), sources.tolist()):
            whole = [keys.no_path if d is None or d > most else d for d in least_distances(graph, [source])]
            assert row == (whole if columns is None else [whole[v] for v in columns])

    check()


@every_engine
def test_what_searches_take_was_foreseen(engine):
    """Nothing is allocated on a device beyond what is foreseen, nor much less."""
    graph, device = generate("graph", "road-graph", n=3000), HostDevice(2)
    request = Request(graph.n, graph.arcs, WORD, 64, np.arange(3), trees=True)
    with engine.prepare(graph, device, request) as ready:
        rows = np.empty((64, 3), np.uint32)
        ready.solve(row_searches(list(np.arange(64)[:, None]), np.arange(3), ready.graph.places()), Want.TARGETS, rows)
    foreseen = engine.nbytes(request, device.info)
    assert device.memory_peak <= foreseen + 10_000  # the table of searches, and counters
    assert device.memory_peak > 0.6 * foreseen or engine.study


@pytest.mark.parametrize(("n", "memory", "groups", "blocks"), [
    (264_346, 0, 126, 660), (264_346, 141 * 10**9, 126, 660), (264_346, 8 * 10**9, 59, 660),
    (24_000_000, 0, 16, 660), (24_000_000, 141 * 10**9, 11, 183), (24_000_000, 80 * 10**9, 6, 104),
])
def test_searches_take_what_a_gpu_has(n, memory, groups, blocks):
    """A job by sweeps needs room for Near-Far too, in case that no hierarchy is made.

    A group of 32 sources takes 384 bytes a vertex with its rows, a block of Near-Far 16, of the road networks of New
    York and the USA. Where the memory is not known, there is no limit.
    """
    graph = SimpleNamespace(n=n, arcs=27 * n // 10, weights=np.ones(1), directed=False)
    asked = PathQuestion(np.arange(9000), tuple(np.arange(9000)[:, None]), None)
    stated = PathStatement(graph, Parameters(sources="all"), asked)  # type: ignore[arg-type]
    info = DeviceInfo("cuda", "", "", "", 132, memory=memory)
    request = request_of(stated, WORD, 9000)
    assert PHAST.together(request, info) == 32 * groups and BLOCK.together(request, info) == blocks
    device, _, shared = memory_of(stated, WORD, Way(PHAST.name), [9000], info)
    assert not memory or device[0] + shared <= memory


def test_scipy_ends_where_its_floats_do():
    """At 2^53 - 1 a distance is exact, and from 2^53 on another engine finds it."""
    graph = from_edges([0, 1, 2], [1, 2, 3], np.array([2**52, 2**52 - 1, 1], np.uint64), n=4)
    (scipy,) = (engine for engine in ENGINES if engine.name == "scipy")
    assert scipy.limit(LONG) == 2**53 - 1
    whole = hpcsolve.solve(graph, "shortest-paths", sources=[0], engine="scipy", device="cpu")
    assert whole.contents.value("solution", "distance").tolist() == [[0, 2**52, 2**53 - 1, 2**53]]


@pytest.mark.parametrize("keys", [{"queries": [[1, 2]]}, {"sources": [1], "predecessors": True},
                                  {"sources": [1, 2], "voronoi": True}])
def test_what_an_engine_does_not_deliver_is_refused(keys):
    with pytest.raises(InputError, match=r'"scipy" only makes tables, not .*; choose "auto"'):
        hpcsolve.solve(generate("graph", "road-graph", n=100), "shortest-paths", engine="scipy", device="cpu", **keys)


def test_a_wrong_search_is_found_by_numpy(monkeypatch):
    monkeypatch.setattr("scipy.sparse.csgraph.dijkstra", lambda matrix, indices, limit: np.add(
        dijkstra(matrix, indices=indices, limit=limit), np.arange(matrix.shape[0]) == 5))
    graph = generate("graph", "road-graph", n=100)
    for targets in (None, [7]):  # whole rows are checked, whatever is kept of them
        parameters = Parameters(sources=[1, 2], targets=targets, engine="scipy")
        outcome = shortest_paths.ALGORITHM.solve(graph, HostDevice(1), SerialComm(), parameters)
        assert outcome.wrong == "2 entries contradict the arcs"

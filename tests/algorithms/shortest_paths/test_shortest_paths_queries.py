"""Paths between pairs, searches that end early or overflow, against Dijkstra's algorithm in Python."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.shortest_paths.engines import searcher, single
from hpcsolve.algorithms.shortest_paths.pairs import by_source, shares, solve_pairs
from hpcsolve.algorithms.shortest_paths.searches import Want, row_searches
from hpcsolve.algorithms.shortest_paths.tables import CUT, WRONG
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.generate.graph import grid_graph, rmat_graph
from hpcsolve.problems.generate.plane import road_graph
from tests.algorithms.shortest_paths.test_shortest_paths import NEAR, SINGLE, graphs, random_graph, rows
from tests.oracles import least_distances, smallest_predecessors


def expected(graph, source, target):
    """Return the distance and the path of smallest predecessors, followed back from the target."""
    distances = least_distances(graph, [source])
    if distances[target] is None:
        return None, []
    before, path = smallest_predecessors(graph, [source], distances), [target]
    while path[-1] != source:
        path.append(before[path[-1]])
    return distances[target], path[::-1]


def answers(graph, pairs, device, **options):
    """Return what the searches find, in the order of the pairs."""
    order = by_source(pairs)
    with searcher(graph, device, searches=len(pairs), **options) as prepared:
        found = solve_pairs(prepared, pairs[order], silent)
        none, keys = prepared.keys.no_path, prepared.keys.decode(found.keys).tolist()
    assert not found.work[:, [WRONG, CUT]].any()
    ends = np.cumsum(found.length)
    paths = [found.path[end - length : end].tolist() for end, length in zip(ends, found.length)]
    result = [(None, [])] * len(pairs)
    for place, key, path in zip(order.tolist(), keys, paths, strict=True):
        result[place] = (None if key == none else key, path)
    return result


@pytest.mark.parametrize("engine", SINGLE)
@given(graph=graphs(NEAR), data=st.data())
def test_equals_the_path_of_smallest_predecessors(engine, graph, data):
    vertex = st.integers(0, graph.n - 1)
    pairs = np.array(data.draw(st.lists(st.tuples(vertex, vertex), min_size=1, max_size=6)))
    found = answers(graph, pairs, HostDevice(1), engine=engine)
    assert found == [expected(graph, *pair) for pair in pairs.tolist()]


@pytest.mark.parametrize("engine", SINGLE)
def test_larger_graphs_on_every_device(engine, device):
    graph = random_graph(300, 1200, 40, least=1)
    pairs = np.random.default_rng(3).integers(0, 300, (40, 2))
    found = answers(graph, pairs, device, engine=engine)
    assert found == [expected(graph, *pair) for pair in pairs.tolist()]


@pytest.mark.parametrize("engine", ["near-far-block", "near-far-grid", "dijkstra"])
def test_a_near_target_ends_the_search(engine, device):
    graph = grid_graph(60, 60)
    seeds = [np.array([0])]
    with searcher(graph, device, engine=engine) as prepared:
        places, keys = prepared.graph.places(), np.empty((1, graph.n), np.uint32)
        whole = prepared.solve(row_searches(seeds, None, places), Want.DISTANCES, keys)
        near = prepared.solve(row_searches(seeds, np.array([2, 61]), places), Want.TARGETS)
        far = prepared.solve(row_searches(seeds, np.array([2, 3599]), places), Want.TARGETS)
    assert near.target_keys.tolist() == keys[0, [2, 61]].tolist()
    assert far.target_keys.tolist() == keys[0, [2, 3599]].tolist()
    assert near.relaxed[0] < whole.relaxed[0] / 20 and far.relaxed[0] > whole.relaxed[0] / 2
    assert not near.wrong.any() and not near.cut.any()


def test_paths_that_find_no_room_are_asked_again(device, monkeypatch):
    graph = road_graph(400, 5)
    pairs = np.array([[s, t] for s in (0, 7, 399) for t in range(0, 400, 9)])
    roomy = answers(graph, pairs, device)
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.pairs.PATH_ROOM", 0)
    assert answers(graph, pairs, device) == roomy == [expected(graph, *pair) for pair in pairs.tolist()]


@pytest.mark.parametrize("room", [1, 30])
def test_a_full_far_queue_is_handed_to_the_grid(room, device, monkeypatch):
    handed = []
    solve = single.Searcher.solve_by_grid
    monkeypatch.setattr(single.Searcher, "solve_by_grid", lambda *given: (handed.append(given[2]), solve(*given)))
    graph, seeds = random_graph(300, 1200, 40, least=1), [[0], [17], [250]]
    with searcher(graph, device, searches=3) as right, searcher(graph, device, searches=3, delta=1) as small:
        small.room = room
        expected_rows, found = rows(right, seeds), rows(small, seeds)
    assert np.array_equal(found.keys, expected_rows.keys)
    assert np.array_equal(found.predecessor, expected_rows.predecessor)
    assert not found.solved.wrong.any() and (found.solved.relaxed > 0).all()
    assert handed == [0, 1, 2]


@pytest.mark.parametrize("batch", [1, 3, None])
@pytest.mark.parametrize("hub", [0, 8, 4096])
def test_hubs_and_batches_do_not_matter(hub, batch, device):
    graph = rmat_graph(9, seed=4)
    source = int(np.argmax(np.diff(graph.offsets)))
    with searcher(graph, device, engine="near-far-grid", batch=batch) as prepared:
        prepared.hub = hub
        found = rows(prepared, [[source]])
    with searcher(graph, device, engine="dijkstra") as prepared:
        assert np.array_equal(found.keys, rows(prepared, [[source]]).keys)
    assert not found.solved.wrong.any()


@pytest.mark.parametrize(("threads", "shared"), [(4, 1), (32, 0), (64, 3)])
@pytest.mark.parametrize("engine", SINGLE)
def test_block_sizes_do_not_matter(engine, threads, shared, device):
    """Blocks are real threads only on the stub driver with real threads. Elsewhere this repeats other tests."""
    graph, seeds = random_graph(60, 240, 9), [[0], [3, 41]]
    with searcher(graph, device, engine=engine, searches=2) as prepared:
        prepared.threads, prepared.tuning = threads, replace(prepared.tuning, shared=shared)
        found = rows(prepared, seeds)
    for row, mine in enumerate(seeds):
        distances = least_distances(graph, mine)
        none = prepared.keys.no_path
        assert found.keys[row].tolist() == [none if d is None else d for d in distances]
        assert found.predecessor[row].tolist() == smallest_predecessors(graph, mine, distances)


def test_no_more_blocks_work_than_fit(device, monkeypatch):
    """The driver's number counts where it is smaller than the one that the estimate assumes."""
    graph = random_graph(60, 240, 9)
    monkeypatch.setattr(device, "resident_blocks", lambda file, name, threads: 1)
    with searcher(graph, device, searches=40) as prepared:
        assert prepared.blocks == 1 and prepared.work["keys"].shape[0] == 1
        assert not rows(prepared, [[0], [7], [31]]).solved.wrong.any()


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 5))
def test_every_query_has_a_rank(sources, size):
    pairs = np.array([[s, 0] for s in sorted(sources)], np.int64).reshape(-1, 2)
    parts = shares(pairs, size)
    assert [i for part in parts for i in part] == list(range(len(pairs)))
    counts = [len({int(pairs[i, 0]) for i in part}) for part in parts]
    assert sum(counts) == len(set(sources)) and max(counts) - min(counts) <= 1

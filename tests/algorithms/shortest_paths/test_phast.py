"""The hierarchy and the sweep against Near-Far, whose answers test_shortest_paths.py compares with Dijkstra's."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hpcsolve
from hpcsolve.algorithms.shortest_paths.choice import Attempt, worth_trying
from hpcsolve.algorithms.shortest_paths.engines import hierarchy as hierarchies
from hpcsolve.algorithms.shortest_paths.engines import searcher
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import (
    AHEAD,
    OUT_OF_ROOM,
    UNLIMITED,
    Contraction,
    Hierarchy,
    Refusal,
    build_hierarchy,
    contracted,
)
from hpcsolve.algorithms.shortest_paths.engines.kept import Kept
from hpcsolve.algorithms.shortest_paths.engines.phast import WIDTHS, Shape, Sweeper
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, first_keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Want, row_searches
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.formats import read_graph
from hpcsolve.problems.generate import generate
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.libraries import to_scipy
from tests.oracles import least_distances
from tests.road_networks import REFERENCES

GRAPHS = int(os.environ.get("HPCSOLVE_PHAST_GRAPHS", "15"))
TREES = Want.DISTANCES | Want.PREDECESSORS


@dataclass(frozen=True)
class Tables:
    """Rows of distances and predecessors."""

    keys: NDArray[Any]
    before: NDArray[np.uint32]
    wrong: NDArray[np.int64]
    cut: NDArray[np.uint32]


def random_graph(seed):
    """Return a graph of up to 90 vertices: directed or not, with ties, perhaps weights of 0, several components."""
    rng = np.random.default_rng(seed)
    n, least, largest = int(rng.integers(1, 90)), int(rng.integers(2)), int(rng.choice([2, 5, 1000]))
    ends = rng.integers(0, n, (2, int(rng.integers(1, 4 * n))))
    weights = rng.integers(least, largest, ends.shape[1])
    return from_edges(*ends, weights, n=n, directed=bool(rng.integers(2)), name=f"random-{seed}")


def searched(graph, keys, sources, cutoff=None):
    """Return the tables by Near-Far."""
    found, before = np.empty((len(sources), graph.n), keys.dtype), np.empty((len(sources), graph.n), np.uint32)
    with searcher(graph, HostDevice(1), keys, cutoff=cutoff, searches=len(sources)) as prepared:
        searches = row_searches(list(sources[:, None]), None, prepared.graph.places())
        solved = prepared.solve(searches, TREES, found, before)
    return Tables(found, before, solved.wrong, solved.cut)


def swept(given, device, keys, sources, shape, cutoff=None, threads=64):
    """Return the tables by sweeps, with so many sources a group and groups at a time."""
    n, limit = given.graph.n, keys.limit if cutoff is None else min(keys.limit, cutoff)
    found, before = np.empty((len(sources), n), keys.dtype), np.empty((len(sources), n), np.uint32)
    with Sweeper(device, given, keys, limit, shape, True, threads) as sweeper:
        searches = row_searches(list(sources[:, None]), None, given.graph.places())
        solved = sweeper.solve(searches, TREES, found, before)
    return Tables(found, before, solved.wrong, solved.cut)


def hierarchy_of(graph, keys, in_parts):
    """Return the hierarchy of a graph, however much work it takes."""
    found = build_hierarchy(lay_out(graph, keys), keys, in_parts, 1)
    assert isinstance(found, Hierarchy)
    return found


def agree(mine, other, what):
    """Check that two tables are equal, and that the checks on the device found nothing."""
    assert not mine.wrong.any() and not other.wrong.any(), what
    assert np.array_equal(mine.keys, other.keys) and np.array_equal(mine.before, other.before), what


def test_small_graphs_equal_near_far(monkeypatch):
    """From all vertices, perhaps cut off, with keys of 32 or 64 bits, in parts and depth first, and all widths.

    HPCSOLVE_PHAST_GRAPHS=10000 tries so many; it takes 20 minutes.
    """
    device = HostDevice(1)
    for seed in range(GRAPHS):
        graph, rng = random_graph(seed), np.random.default_rng(seed)
        keys, cutoff = (WORD, LONG)[seed % 2], int(rng.integers(0, 1500)) if seed % 3 else None
        sources = np.arange(graph.n)
        expected = searched(graph, keys, sources, cutoff)
        for part in (0, 512, 1 + seed % 9):
            monkeypatch.setattr(hierarchies, "PART", part)
            given = hierarchy_of(graph, keys, part > 0)
            for width in WIDTHS[keys.code]:
                mine = swept(given, device, keys, sources, Shape(width, 1 + seed % 3), cutoff)
                agree(mine, expected, (seed, part, width))


@pytest.mark.parametrize("most", [1, 2, 3, 8, 9, 40, 512])
def test_no_arc_joins_two_parts_of_a_launch(most, monkeypatch):
    """Nor two vertices of a level, and every arc leads to an ancestor in the tree, with a smaller number."""
    monkeypatch.setattr(hierarchies, "PART", most)
    launches = []
    for graph in (*(random_graph(seed) for seed in range(GRAPHS)), roads(500), generate("graph", "star-graph", n=300)):
        given = hierarchy_of(graph, WORD, True)
        n, place = graph.n, [np.searchsorted(begins[1:], np.arange(begins[-1]), side="right")
                             for begins in (given.level, given.part, given.launch)]
        level = place[0]
        part = place[1][level]
        launch = place[2][part]
        assert (given.level[-1], given.part[-1], given.launch[-1]) == (n, len(given.level) - 1, len(given.part) - 1)
        assert all(np.all(np.diff(begins.astype(int)) > 0) for begins in (given.level, given.part, given.launch))
        above, ancestors = given.parent.tolist(), [{v} for v in range(n)]
        for v, own in enumerate(ancestors):
            while (v := above[v]) < n:
                own.add(v)
        for offsets, arcs in ((given.up_offsets, given.up_arcs), (given.down_offsets, given.down_arcs)):
            lower = np.repeat(np.arange(n), np.diff(offsets.astype(int)))
            higher = arcs[0 : 2 * len(lower) : 2].astype(int)
            assert np.all(higher < lower) and np.all(level[higher] < level[lower]), graph.name
            assert all(high in ancestors[low] for low, high in zip(lower.tolist(), higher.tolist())), graph.name
            assert np.all((part[higher] == part[lower]) | (launch[higher] < launch[lower])), graph.name
        assert np.diff(given.level.astype(int)).max() < max(2, most), graph.name
        launches.append(len(given.launch) - 1)
    assert (max(launches) == 1) == (most == 512)


def test_a_sweep_takes_few_launches():
    """One for each stage of a road network, whose sizes are 8 times those of the one before. Its levels are many."""
    given = hierarchy_of(generate("graph", "road-network", n=40_000), WORD, True)
    assert len(given.launch) - 1 == 3 and given.levels > 60


def test_small_graphs_equal_dijkstra_in_pythons_integers():
    for seed in range(1000, 1000 + GRAPHS // 4):
        graph = random_graph(seed)
        mine = swept(hierarchy_of(graph, WORD, False), HostDevice(1), WORD, np.arange(graph.n), Shape(32, 1))
        for row, keys in enumerate(mine.keys.tolist()):
            expected = least_distances(graph, [row])
            assert keys == [WORD.no_path if d is None else d for d in expected], (seed, row)


@pytest.mark.parametrize(("keys", "directed"), [(WORD, False), (LONG, True)], ids=["32", "64"])
def test_larger_graphs_on_every_device(keys, directed, device, monkeypatch):
    """There are several launches, each with several blocks for a group, and some weights are 0."""
    monkeypatch.setattr(hierarchies, "PART", 40)
    graph = roads(3000, directed)
    sources = np.arange(0, graph.n, 29)
    expected = searched(graph, keys, sources)
    given = hierarchy_of(graph, keys, device.info.kind == "cuda")
    for width in WIDTHS[keys.code]:
        agree(swept(given, device, keys, sources, Shape(width, 2)), expected, width)


@pytest.mark.parametrize("threads", [32, 96])
def test_rows_of_a_few_threads_by_sweeps(threads, device, monkeypatch):
    """Where a block is real threads (test_on_stub_driver.py), it has so many."""
    monkeypatch.setattr(hierarchies, "PART", 5)
    for keys, seed in ((WORD, 3), (LONG, 8), (WORD, 14)):
        graph = random_graph(seed)
        sources = np.arange(min(graph.n, 20))
        expected = searched(graph, keys, sources)
        given = hierarchy_of(graph, keys, device.info.kind == "cuda")
        for width in WIDTHS[keys.code]:
            agree(swept(given, device, keys, sources, Shape(width, 1), threads=threads), expected, (seed, width))


def roads(n, directed=False):
    """Return a graph that looks like roads, a tenth of its weights 0, or if it is directed a third."""
    graph = generate("graph", "road-graph", n=n)
    rng = np.random.default_rng(n)
    if not directed:
        return replace(graph, weights=np.where(graph.weights % 10 == 0, 0, graph.weights).astype(graph.weights.dtype))
    weights = graph.weights * rng.integers(0, 3, graph.arcs).astype(graph.weights.dtype)
    return from_edges(graph.tails(), graph.heads, weights, n=graph.n, directed=True)


def test_only_the_columns_of_targets(device):
    graph = roads(500)
    sources, targets = np.arange(40), np.array([7, 499, 7, 0])
    given = hierarchy_of(graph, WORD, device.info.kind == "cuda")
    with Sweeper(device, given, WORD, WORD.limit, Shape(16, 2)) as sweeper:
        searches = row_searches(list(sources[:, None]), targets, given.graph.places())
        solved = sweeper.solve(searches, Want.TARGETS)
    assert np.array_equal(solved.target_keys.reshape(40, 4), searched(graph, WORD, sources).keys[:, targets])
    assert not solved.wrong.any()


def test_restricted_sweeps_equal_whole_ones(device, monkeypatch):
    """On small graphs and on roads, with every width.

    HPCSOLVE_PHAST_GRAPHS=10000 tries so many, in 7 minutes.
    """
    for seed in range(GRAPHS):
        graph, rng = random_graph(seed) if seed % 5 else roads(700, bool(seed % 2)), np.random.default_rng(seed)
        keys = (WORD, LONG)[seed % 2]
        monkeypatch.setattr(hierarchies, "PART", (512, 4, 60)[seed % 3])
        given = hierarchy_of(graph, keys, seed % 2 > 0 or device.info.kind == "cuda")
        sources = rng.choice(graph.n, min(graph.n, 40), replace=False)
        targets = rng.integers(0, graph.n, int(rng.integers(1, 4)))
        part = given.above(given.graph.places()[targets], keys)
        if part is None:
            continue
        expected = searched(graph, keys, sources).keys[:, targets]
        for width in WIDTHS[keys.code]:
            with Sweeper(device, given, keys, keys.limit, Shape(width, 2), restriction=part) as sweeper:
                solved = sweeper.solve(row_searches(list(sources[:, None]), targets, given.graph.places()),
                                       Want.TARGETS)
            assert np.array_equal(solved.target_keys.reshape(expected.shape), expected), (seed, width)


def test_when_a_sweep_is_restricted():
    """Only to a few targets, where every distance fits the keys."""
    graph = roads(3000)
    given = hierarchy_of(graph, WORD, True)
    part = given.above(np.array([2999, 5, 5], np.uint32), WORD)
    assert part is not None and 2 < len(part.vertex) < 400 and {5, 2999} <= set(part.vertex.tolist())
    assert int(part.level[-1]) == len(part.vertex) and int(part.down_offsets[-1]) + AHEAD == len(part.down_arcs) // 2
    assert given.above(np.arange(1500, 3000, dtype=np.uint32), WORD) is None
    heavy = replace(given, up_arcs=given.up_arcs + np.uint32(WORD.limit // given.levels // 2))
    assert heavy.above(np.array([2999], np.uint32), WORD) is None


def test_what_does_not_fit_is_cut_and_seen(device):
    for keys in (WORD, LONG):
        weights = np.array([keys.limit - 5, 5, 1], np.uint64)
        chain = from_edges([0, 1, 2], [1, 2, 3], weights, n=4, directed=True)
        given = hierarchy_of(chain, keys, device.info.kind == "cuda")
        found = swept(given, device, keys, np.array([0, 1]), Shape(16, 1))
        assert found.keys.tolist() == [[0, keys.limit - 5, keys.limit, keys.no_path], [keys.no_path, 0, 5, 6]]
        assert found.cut.tolist() == [1, 0] and not found.wrong.any()


def test_the_check_finds_wrong_distances(device):
    """A hierarchy with a weight that is too large or too small makes some distance wrong, which the check counts."""
    graph = generate("graph", "road-graph", n=300)
    given = hierarchy_of(graph, WORD, device.info.kind == "cuda")
    for change in (np.add, np.subtract):
        arcs = given.down_arcs.copy()
        weights = arcs[1 : 2 * int(given.down_offsets[-1]) : 2]
        change(weights, 1, out=weights)
        wrong = replace(given, down_arcs=arcs)
        assert swept(wrong, device, WORD, np.arange(20), Shape(32, 1)).wrong.all()


def test_the_order_follows_from_the_topology():
    """A hierarchy has the arcs of the graph, and the weights do not change the order."""
    graph = roads(800)
    heavier = replace(graph, weights=graph.weights + np.arange(graph.arcs, dtype=graph.weights.dtype) % 3)
    host = HostDevice(1)
    found = [contracted(lay_out(each, WORD), UNLIMITED, host) for each in (graph, heavier)]
    assert isinstance(found[0], Contraction) and isinstance(found[1], Contraction)
    assert np.array_equal(found[0].order, found[1].order) and np.array_equal(found[0].head, found[1].head)
    assert sorted(found[0].order.tolist()) == list(range(graph.n))
    assert all(np.all(np.diff(part.astype(int)) > 0) for part in np.split(found[0].head, found[0].first[1:-1]))


def test_a_hierarchy_is_as_small_as_its_order_allows():
    """No arc that is left is as long as another path: leaving any out makes a distance longer."""
    graph = generate("graph", "road-graph", n=60)
    given = hierarchy_of(graph, WORD, False)
    everyone, host = np.arange(graph.n), HostDevice(1)
    right = swept(given, host, WORD, everyone, Shape(64, 1)).keys
    for arc in range(int(given.down_offsets[-1])):
        arcs = given.down_arcs.copy()
        arcs[2 * arc + 1] = WORD.limit
        less = replace(given, down_arcs=arcs, up_arcs=arcs)
        assert not np.array_equal(swept(less, host, WORD, everyone, Shape(64, 1)).keys, right), arc


def test_contraction_ends_when_it_does_not_pay():
    """In a grid it is seen from the lists of neighbours long before it is too late, in a road network it goes on."""
    host, grid = HostDevice(1), generate("graph", "grid-graph", rows=60, columns=60)
    whole = contracted(lay_out(grid, WORD), UNLIMITED, host)
    assert isinstance(whole, Contraction) and whole.work > 1000 * (grid.n + grid.arcs)
    found = contracted(lay_out(grid, WORD), whole.work // 3, host)
    assert isinstance(found, Refusal) and "no small separators" in found.reason and not found.forever
    road = generate("graph", "road-network", n=3000)
    made = contracted(lay_out(road, WORD), 360 * (road.n + road.arcs), host)
    assert isinstance(made, Contraction) and made.work < 360 * (road.n + road.arcs)
    assert isinstance(contracted(lay_out(road, WORD), made.work // 2, host), Refusal)


def test_lists_of_neighbours_keep_to_their_room(host):
    """A path takes the places that its lists begin with, two entries each. The hub of a star takes more."""
    report, outcomes = np.empty(2, np.uint64), []
    for graph in (generate("graph", "path-graph", n=40), generate("graph", "star-graph", n=40)):
        arcs = {"n": graph.n, "offsets": graph.offsets.astype(np.uint32), "heads": graph.heads.astype(np.uint32),
                "in_offsets": None, "tails": None}
        for room in (80, 79, 1000):
            host.call("host/contraction", "contraction_contract", worth=UNLIMITED, room=room, most=1000,
                      order=np.empty(graph.n, np.uint32), report=report, graph=arcs)
            outcomes.append(int(report[0]))
    assert outcomes == [0, OUT_OF_ROOM, 0, OUT_OF_ROOM, OUT_OF_ROOM, 0]


def first_arcs(graph, count):
    """Return a graph with the first arcs of another one."""
    return replace(graph, heads=graph.heads[:count], weights=graph.weights[:count],
                   offsets=np.minimum(graph.offsets, count))


@pytest.mark.parametrize(("searches", "cores", "kept", "worth"), [
    (31, 1, None, None), (32, 1, None, 32), (33, 1, None, 33),  # 32 searches save 364.8 steps, and 360 are needed
    (62, 2, None, None), (63, 2, None, 32), (512, 17, None, None), (513, 17, None, None), (527, 17, None, None),
    (528, 17, None, 32), (1, 1, Kept(100, True), UNLIMITED), (1, 64, Kept(10**9, True), UNLIMITED),
    (12, 1, Kept(1500, False), None), (13, 1, Kept(1500, False), 13),  # 140 steps for each arc: 210,000 of 16,473 each
])
def test_a_hierarchy_is_tried_when_it_may_pay(searches, cores, kept, worth):
    """`worth` in searches of a core."""
    road = generate("graph", "road-network", n=500)
    graph = first_arcs(road, 945)
    assert graph.n + graph.arcs == 1445
    tried = worth_trying(graph, searches, cores, kept)
    if worth is None:
        assert isinstance(tried, Refusal) and tried.reason.startswith(f"{searches} search")
        assert (f" on {cores} cores take" in tried.reason) == (cores > 1)
    else:
        assert isinstance(tried, Attempt) and (tried.searches, tried.kept) == (searches, kept)
        assert tried.worth == (UNLIMITED if worth == UNLIMITED else worth * 16473)


def test_graphs_denser_than_roads_are_tried_for_more_searches():
    """64 searches save 729.6 steps for each vertex and arc, and 720 are needed, or 360 up to 3.5 arcs a vertex."""
    dense = generate("graph", "rmat-graph", scale=8, edge_factor=8)
    graphs = [first_arcs(dense, 7 * dense.n // 2), first_arcs(dense, 7 * dense.n // 2 + 1)]
    tried = [[isinstance(worth_trying(graph, searches), Attempt) for searches in (31, 32, 63, 64)]
             for graph in graphs]
    assert tried == [[False, True, True, True], [False, False, False, True]]


def test_which_graphs_are_not_tried():
    road, dense = generate("graph", "road-graph", n=500), generate("graph", "rmat-graph", scale=8, edge_factor=8)
    reasons = {
        "arcs per vertex": worth_trying(dense, 256),
        "floats": worth_trying(replace(road, weights=road.weights / 3), 256, kept=Kept(9, True)),
    }
    for words, found in reasons.items():
        assert isinstance(found, Refusal) and words in found.reason
    assert isinstance(worth_trying(dense, 1, kept=Kept(9, True)), Attempt)
    assert isinstance(worth_trying(road, 257, steps=2.0), Refusal)
    assert isinstance(worth_trying(road, 258, steps=2.0), Attempt)


def test_floats_are_refused_by_name():
    road = generate("graph", "road-graph", n=100)
    with pytest.raises(InputError, match="floats, which a hierarchy would add in another order"):
        hpcsolve.solve(replace(road, weights=road.weights / 3), "shortest-paths", sources=[1], engine="phast")


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.slow
def test_published_road_networks(name, data_dir):
    """Distances are scipy's and predecessors Near-Far's.

    HPCSOLVE_PHAST_GRAPHS=10000 searches from 64 sources in place of 4, and on the largest network too.
    """
    from scipy.sparse.csgraph import dijkstra

    if name.startswith("NE") and GRAPHS < 1000:
        pytest.skip("a minute: HPCSOLVE_PHAST_GRAPHS=10000 tries it")
    graph = read_graph(str(data_dir / "roads" / name)).problem
    keys, count = first_keys(graph), 64 if GRAPHS >= 1000 else 4
    sources = np.random.default_rng(0).choice(graph.n, count, replace=False)
    expected = searched(graph, keys, sources)
    by_scipy = dijkstra(to_scipy(graph).astype(float), indices=sources[:4])
    for in_parts in (False, True) if GRAPHS >= 1000 else (False,):
        mine = swept(hierarchy_of(graph, keys, in_parts), HostDevice(2), keys, sources, Shape(16, 2))
        agree(mine, expected, in_parts)
        found = np.where(mine.keys[:4] == keys.no_path, np.inf, mine.keys[:4])
        assert np.array_equal(found, by_scipy)

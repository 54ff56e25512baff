"""Generators of graphs give the same bytes for a seed and the promised shapes, degrees and weights."""

import hashlib
import math
import time
from collections import Counter

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from hpcsolve import memory
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import UNLIMITED, Contraction, contracted
from hpcsolve.algorithms.shortest_paths.search_graph import first_keys, lay_out
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.problems.generate import generate, makers
from hpcsolve.problems.generate.plane import SIDE
from hpcsolve.problems.libraries import to_scipy

SMALL = {
    "road-graph": {"n": 500},
    "road-network": {"n": 500},
    "grid-graph": {"rows": 9, "columns": 13},
    "rmat-graph": {"scale": 8},
    "geometric-graph": {"n": 500},
    "path-graph": {"n": 40},
    "star-graph": {"n": 40},
    "hub-graph": {"n": 40},
    "random-graph": {"n": 200},
}
# Recorded once. These must never change, because users cite instances by their seed.
RECORDED = {
    "road-graph": "de8bbc171ca782c3",
    "road-network": "87f618bc28632514",
    "grid-graph": "deb757d6e73ee5da",
    "rmat-graph": "f34216cf1e79858e",
    "geometric-graph": "dbe422b90143aa35",
    "path-graph": "4dc747588426cc37",
    "star-graph": "4f8e7a3a63b37cb7",
    "hub-graph": "ae502f111c2f5b88",
    "random-graph": "2493bb0d12c835cd",
}


def digest(graph):
    places = b"" if graph.coordinates is None else graph.coordinates.astype("<f8").tobytes()
    parts = [array.astype("<i8").tobytes() for array in (graph.offsets, graph.heads, graph.weights, graph.labels)]
    return hashlib.sha256(b"".join(parts) + places).hexdigest()[:16]


def components(graph):
    return connected_components(to_scipy(graph))[0]


def test_every_kind_is_tested():
    assert set(SMALL) == set(makers("graph")) == set(RECORDED)


@pytest.mark.parametrize("kind", SMALL)
def test_bytes_are_the_recorded_ones(kind):
    graph = generate("graph", kind, **SMALL[kind])
    assert digest(graph) == RECORDED[kind] == digest(generate("graph", kind, **SMALL[kind], seed=1))
    assert digest(generate("graph", kind, **SMALL[kind], seed=2)) != RECORDED[kind]


@pytest.mark.parametrize("kind", SMALL)
def test_what_all_kinds_promise(kind):
    graph = generate("graph", kind, **SMALL[kind], seed=7)
    assert graph.labels.tolist() == list(range(1, graph.n + 1)) and graph.weights.dtype == np.uint32
    assert graph.weights.min() >= 1 and graph.scale == 1 and not graph.directed
    matrix = to_scipy(graph)
    assert (matrix != matrix.T).nnz == 0 and graph.comment.startswith(kind + " ") and "seed=7" in graph.comment
    if kind != "random-graph":
        assert graph.parallel_arcs == graph.loops == 0


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 3000, 40_000])
def test_roads(n):
    """They are connected and sparse with mean degree 2.5, and denser in towns."""
    graph = generate("graph", "road-graph", n=n, seed=3)
    degrees = np.diff(graph.offsets)
    assert (graph.n, components(graph)) == (n, 1)
    if n < 3000:
        return
    assert 2.4 < degrees.mean() < 2.7 and degrees.max() <= 8
    cells = (graph.coordinates // (SIDE / 16)).astype(int) @ [16, 1]
    counts = np.sort(np.bincount(cells, minlength=256))
    assert counts[-13:].sum() > 3 * n * 13 / 256 and counts[:128].sum() < n / 3
    assert np.abs(graph.tails().astype(int) - graph.heads).mean() < n / 20, "neighbours have near numbers"


def test_road_edges_have_no_detour():
    """They contain every edge of the relative neighbourhood graph, found by brute force, and few others."""
    graph = generate("graph", "road-graph", n=300, seed=5)
    x, y = graph.coordinates.astype(np.int64).T
    squares = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    nearer = np.array([(np.maximum(squares[a], squares) < squares[a][:, None]).any(axis=1) for a in range(300)])
    true = {(a, b) for a, b in np.argwhere(~nearer).tolist() if a != b}
    arcs = set(zip(graph.tails().tolist(), graph.heads.tolist(), strict=True))
    assert true <= arcs and len(arcs) < 1.1 * len(true)
    lengths = np.sqrt(squares[graph.tails(), graph.heads]) * (1000 * math.sqrt(300) / SIDE)
    factors = graph.weights / lengths
    kinds = [(np.abs(lengths * factor - graph.weights) <= 0.5).mean() for factor in (1.0, 0.7, 0.45)]
    assert factors.min() > 0.3 and abs(kinds[0] - 0.75) < 0.08 and abs(kinds[1] - 0.2) < 0.08 and 0 < kinds[2] < 0.12


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 3000, 20_000])
def test_road_networks(n):
    """They are connected, and of the roads of road-graph few lead from one half of a region of 2^b to the other."""
    graph, roads = generate("graph", "road-network", n=n, seed=3), generate("graph", "road-graph", n=n, seed=3)
    assert (graph.n, components(graph)) == (n, 1) and np.array_equal(graph.coordinates, roads.coordinates)
    if n < 3000:
        return
    assert 2.25 < graph.arcs / n < 2.4
    arcs = [set(zip(g.tails().tolist(), g.heads.tolist())) for g in (graph, roads)]
    assert arcs[0] < arcs[1]
    for bits in range(1, n.bit_length() + 1):
        crossings = [Counter(a >> bits for a, b in each if a < b and (a ^ b).bit_length() == bits) for each in arcs]
        assert max(crossings[0].values(), default=0) <= 4 + 2 * 2 ** (bits / 3), bits
        if bits >= 10:
            assert sum(crossings[0].values()) < (0.6 if bits >= 13 else 1) * sum(crossings[1].values()), bits
    lengths = np.linalg.norm(np.diff(graph.coordinates[[graph.tails(), graph.heads]], axis=0)[0], axis=1)
    factors = graph.weights / (lengths * (1000 * math.sqrt(n) / SIDE))
    level = np.array([(a ^ b).bit_length() for a, b in zip(graph.tails().tolist(), graph.heads.tolist())])
    expected = np.where(level < 8, 1.0, np.where(level < 14, 0.7, 0.45))
    assert np.median(np.abs(factors - expected)) < 0.01


def test_road_networks_have_small_separators():
    """Contraction of 30,000 vertices takes as few steps a vertex and arc as that of real road networks."""
    graph = generate("graph", "road-network", n=30_000)
    with HostDevice(1) as host:
        found = contracted(lay_out(graph, first_keys(graph)), UNLIMITED, host)
    assert isinstance(found, Contraction) and found.work < 320 * (graph.n + graph.arcs)


def test_shuffled_roads_are_the_same_graph():
    graph, shuffled = (generate("graph", "road-graph", n=400, shuffle=mixed) for mixed in (False, True))
    assert shuffled.labels.tolist() == graph.labels.tolist() and digest(shuffled) != digest(graph)
    assert sorted(map(tuple, shuffled.coordinates)) == sorted(map(tuple, graph.coordinates))
    sources = {id(graph): 0, id(shuffled): position(shuffled, graph)}
    distances = [sorted(dijkstra(to_scipy(g), indices=sources[id(g)]).tolist()) for g in (graph, shuffled)]
    assert distances[0] == distances[1]


def position(shuffled, graph):
    return int(np.flatnonzero((shuffled.coordinates == graph.coordinates[0]).all(axis=1))[0])


@pytest.mark.parametrize(("n", "degree"), [(1, 12), (2, 12), (50, 0), (50, 1000), (3000, 12), (20_000, 3)])
def test_geometric_graphs(n, degree):
    """Their edges are exactly the pairs that a k-d tree finds."""
    graph = generate("graph", "geometric-graph", n=n, degree=degree, seed=4)
    radius = math.sqrt(int(min(degree / (math.pi * n), 2) * SIDE * SIDE))
    pairs = cKDTree(graph.coordinates).query_pairs(radius)
    mine = zip(graph.tails().tolist(), graph.heads.tolist(), strict=True)
    assert {(a, b) for a, b in mine if a < b} == pairs
    if n >= 3000:
        assert 0.9 * degree < graph.arcs / n < 1.05 * degree


def test_grid():
    graph = generate("graph", "grid-graph", rows=20, columns=30, seed=2)
    assert (graph.n, graph.edges, components(graph)) == (600, 20 * 29 + 19 * 30, 1)
    steps = np.abs(graph.coordinates[graph.tails()] - graph.coordinates[graph.heads])
    assert (steps.sum(axis=1) == 1).all() and set(graph.weights.tolist()) == set(range(1, 101))
    assert 45 < graph.weights.mean() < 56


def test_rmat_has_hubs_and_isolated_vertices():
    graph = generate("graph", "rmat-graph", scale=13, seed=2)
    degrees = np.sort(np.diff(graph.offsets))
    assert graph.n == 8192 and 12 * 8192 < graph.edges < 16 * 8192
    assert 0.15 < (degrees == 0).mean() < 0.45 and degrees[-1] > 50 * degrees.mean()
    assert degrees[-82:].sum() > graph.arcs / 6, "1 % of the vertices have a sixth of all arcs"
    assert np.abs(np.corrcoef(np.diff(graph.offsets), np.arange(8192))[0, 1]) < 0.05, "in random order"
    assert (graph.weights.min(), graph.weights.max()) == (1, 255)


def test_hard_shapes():
    path, star, hub = (generate("graph", f"{kind}-graph", n=100) for kind in ("path", "star", "hub"))
    assert [np.diff(g.offsets).max() for g in (path, star, hub)] == [2, 99, 51]
    assert [components(g) for g in (path, star, hub)] == [1, 1, 1] and path.edges == star.edges == hub.edges == 99
    hops = [dijkstra(to_scipy(g), unweighted=True, indices=0).max() for g in (path, star, hub)]
    assert hops == [99, 1, 50]
    assert [generate("graph", f"{kind}-graph", n=1).arcs for kind in ("path", "star", "hub")] == [0, 0, 0]


def test_weights_of_every_size():
    assert set(generate("graph", "path-graph", n=9, low=0, high=0).weights.tolist()) == {0}
    assert set(generate("graph", "random-graph", n=99, low=0, high=1).weights.tolist()) == {0, 1}
    near = generate("graph", "star-graph", n=999, low=2**31 - 5, high=2**31 + 5)
    assert set(near.weights.tolist()) == set(range(2**31 - 5, 2**31 + 6)) and near.weights.dtype == np.uint32
    huge = generate("graph", "grid-graph", rows=20, columns=20, low=2**63, high=2**63 + 2)
    assert set(huge.weights.tolist()) == {2**63, 2**63 + 1, 2**63 + 2} and huge.weights.dtype == np.uint64


def test_random_graphs_have_parts_loops_and_parallel_arcs():
    graph = generate("graph", "random-graph", n=60, degree=20, parts=3, seed=5)
    assert components(graph) == 3 and graph.loops > 5 and graph.parallel_arcs > 50
    assert ((graph.tails().astype(int) - graph.heads) % 3 == 0).all()
    one_way = generate("graph", "random-graph", n=60, degree=5, directed=True)
    assert one_way.directed and one_way.arcs + one_way.loops + one_way.parallel_arcs == 300
    assert generate("graph", "random-graph", n=5, degree=0).arcs == 0
    assert generate("graph", "random-graph", n=5, degree=9, parts=7).loops == 22


@pytest.mark.parametrize("kind", SMALL)
def test_too_large_graphs_allocate_nothing(kind, monkeypatch):
    """The machine pretends to have 1 GiB, since a large one would really generate them."""
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    keys = {"grid-graph": {"rows": 2**15, "columns": 2**15}, "rmat-graph": {"scale": 30}}
    begin = time.process_time()
    with pytest.raises(ResourceError, match=r"^generating a graph of .* 1 GiB is free; take at most some .* vertices"):
        generate("graph", kind, **keys.get(kind, {"n": 2**31 - 1}))
    assert time.process_time() - begin < 0.5
    assert generate("graph", kind, **SMALL[kind]).n > 0


BAD = [
    ("road", {"n": 5}, "unknown generator 'road'; did you mean road-graph"),
    ("road-graph", {}, "road-graph needs the key n"),
    ("road-graph", {"n": 5, "sead": 1}, "no key 'sead'; did you mean seed"),
    ("road-graph", {"n": 0}, "n is 0; it must be 1 to"),
    ("road-graph", {"n": 2**31}, "n is 2147483648"),
    ("road-graph", {"n": 5, "shuffle": 1}, "shuffle is 1; it must be true or false"),
    ("road-graph", {"n": 5, "seed": -1}, "seed is -1"),
    ("grid-graph", {"rows": 5}, "grid-graph needs the key columns"),
    ("grid-graph", {"rows": 2**20, "columns": 2**20}, "1099511627776 vertices are too many"),
    ("grid-graph", {"rows": 2, "columns": 2, "low": 5, "high": 4}, "low is 5, high is 4"),
    ("grid-graph", {"rows": 2, "columns": 2, "low": -1}, "low is -1"),
    ("grid-graph", {"rows": 2, "columns": 2, "high": 2**40}, "0 <= low <= high < low"),
    ("grid-graph", {"rows": 2, "columns": 2, "low": 2**64 - 9, "high": 2**64 - 1}, "high < 2"),
    ("grid-graph", {"rows": 2, "columns": 2, "low": 1.5}, "low is 1.5; it must be an integer"),
    ("rmat-graph", {"scale": 31}, "2147483648 vertices are too many"),
    ("rmat-graph", {"scale": 5, "edge_factor": 0}, "edge_factor is 0"),
    ("geometric-graph", {"n": 5, "degree": -1}, "degree is -1"),
    ("random-graph", {"n": 5, "parts": 0}, "parts is 0"),
    ("random-graph", {"n": 5, "directed": "yes"}, "directed is 'yes'; it must be true or false"),
]


@pytest.mark.parametrize(("kind", "keys", "message"), BAD)
def test_bad_keys(kind, keys, message):
    with pytest.raises(InputError, match=message):
        generate("graph", kind, **keys)


def test_each_kind_has_its_own():
    with pytest.raises(InputError, match="unknown generator 'road-graph'"):
        generate("tsp", "road-graph", n=5)
    with pytest.raises(InputError, match="unknown generator 'uniform-tsp'"):
        generate("graph", "uniform-tsp", n=5)

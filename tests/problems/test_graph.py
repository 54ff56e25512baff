"""Graphs, their conversions, vertex orders and labels, compared with plain Python, and bad arguments."""

import math
from fractions import Fraction

import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra, reverse_cuthill_mckee

from hpcsolve.errors import InputError
from hpcsolve.problems.generate import generate
from hpcsolve.problems.graph import (
    from_edges,
    z_order,
)
from hpcsolve.problems.labels import Labels
from hpcsolve.problems.libraries import from_networkx, from_scipy, to_networkx, to_scipy
from hpcsolve.problems.rounding import exact_weights


def arcs_of(graph):
    weights = [Fraction(weight) / graph.scale for weight in graph.weights.tolist()]
    return dict(zip(zip(graph.tails().tolist(), graph.heads.tolist(), strict=True), weights, strict=True))


weights = st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 2), st.sampled_from([2**31, 2**32 - 1, 2**32, 2**63]))
edge_lists = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), weights), max_size=40)
    )
)


@given(edge_lists, st.booleans())
def test_rows_hold_the_least_of_parallel_arcs(drawn, directed):
    n, edges = drawn
    columns = [[edge[place] for edge in edges] for place in range(3)]
    graph = from_edges(*columns, n=n, directed=directed)
    least, dropped = {}, 0
    for a, b, weight in edges:
        key = (a, b) if directed else (min(a, b), max(a, b))
        if a != b:
            dropped += key in least
            least[key] = min(weight, least.get(key, weight))
    both = least if directed else least | {(b, a): weight for (a, b), weight in least.items()}
    assert arcs_of(graph) == both and graph.heads.tolist() == [b for _, b in sorted(both)]
    assert (graph.n, graph.parallel_arcs, graph.loops) == (n, dropped, sum(a == b for a, b, _ in edges))
    assert graph.weights.dtype == (np.uint64 if max(both.values(), default=0) >= 2**32 else np.uint32)
    assert graph.arcs == len(both) and graph.edges == len(least)
    back = graph.reversed()
    assert arcs_of(back) == {(b, a): weight for (a, b), weight in both.items()}
    assert (np.diff(back.tails() * n + back.heads) > 0).all()


@given(edge_lists, st.booleans(), st.randoms(use_true_random=False))
def test_permuted_graphs_are_the_same_graph(drawn, directed, random):
    n, edges = drawn
    columns = [[edge[place] for edge in edges] for place in range(3)]
    points = [(random.random(), random.random()) for _ in range(n)]
    graph = from_edges(*columns, n=n, directed=directed, labels=range(10, 10 + n), terminals=[n - 1, 0, n - 1],
                       coordinates=points)
    assert graph.repeated_terminals == (2 if n == 1 else 1)
    order = random.sample(range(n), n)
    moved = graph.permuted(order)
    assert moved.labels.tolist() == [10 + old for old in order]
    assert arcs_of(moved) == {(order.index(a), order.index(b)): weight for (a, b), weight in arcs_of(graph).items()}
    assert moved.labels[moved.terminals].tolist() == graph.labels[graph.terminals].tolist()
    assert moved.coordinates.tolist() == [list(points[old]) for old in order]
    assert moved.positions(graph.labels[order]).tolist() == list(range(n))


EXACT = [
    ([1, 2, 3], np.uint32, 1, [1, 2, 3]),
    ([True, False], np.uint32, 1, [1, 0]),
    ([2**32 - 1], np.uint32, 1, [2**32 - 1]),
    ([2**32], np.uint64, 1, [2**32]),
    ([2**63 + 1, 1], np.uint64, 1, [2**63 + 1, 1]),
    ([2**64 - 2, 0], np.uint64, 1, [2**64 - 2, 0]),
    ([0.5, 0.25], np.uint32, 100, [50, 25]),
    ([3.0, 1e15], np.uint64, 1, [3, 10**15]),
    ([0.1, 1e-10], np.float64, 1, [0.1, 1e-10]),
    ([-0.0, 1e300], np.float64, 1, [0.0, 1e300]),
    ([math.pi], np.float64, 1, [math.pi]),
    ([1e17], np.float64, 1, [1e17]),
    (np.array([0.1], dtype=np.float32), np.float64, 1, [float(np.float32(0.1))]),
    (np.array([7], dtype=">i2"), np.uint32, 1, [7]),
    ([], np.uint32, 1, []),
]


@pytest.mark.parametrize(("values", "dtype", "scale", "wanted"), EXACT)
def test_weights_are_exact(values, dtype, scale, wanted):
    found, factor = exact_weights(values, 3)
    assert (found.dtype, factor, found.tolist()) == (dtype, scale, wanted)
    assert not np.signbit(found).any()


def test_decimals_that_could_overflow_stay_floats():
    """As integers, the sums along a path of 10^7 vertices could exceed 63 bits."""
    assert exact_weights([123456.123456789], 10)[1] == 10**9
    assert exact_weights([123456.123456789], 10**7)[0].dtype == np.float64


BAD_EDGES = [
    (([0], [1], [-1]), {}, r"the weight of arc 0 \(0 to 1\) is negative: -1"),
    (([0, 0], [1, 1], [1, -0.5]), {}, r"the weight of arc 1 \(0 to 1\) is negative: -0.5"),
    (([0], [1], [math.nan]), {}, "is NaN; give a number"),
    (([0], [1], [math.inf]), {}, "is infinite; leave out arcs"),
    (([0], [1], [2**64 - 1]), {}, "the weight of arc 0 .*is too large, above 18446744073709551614"),
    (([0], [1], [2**70]), {}, "the weight of arc 0 is too large"),
    (([0], [1], [-(2**70)]), {}, "the weight of arc 0 is negative"),
    (([0], [1], ["x"]), {}, "the weights are <U1; give integers or floats"),
    (([0], [1], [1j]), {}, "the weights are complex128"),
    (([0], [1], [[1]]), {}, r"have shapes \(1,\), \(1,\), \(1, 1\)"),
    (([0, 1], [1], [1]), {}, "have shapes"),
    (([0.5], [1], [1]), {}, "tails are float64"),
    (([0], [3], [1]), {"n": 3}, "an end of arc 0 is 3, out of range 0 to 2"),
    (([-1], [1], [1]), {}, "an end of arc 0 is -1"),
    (([], [], []), {"n": 2**31}, "2147483648 vertices"),
    (([], [], []), {"n": -1}, "-1 vertices"),
    (([0], [1], [1]), {"terminals": [2]}, "terminal 2 is out of range 0 to 1"),
    (([0], [1], [1]), {"labels": [1]}, r"labels have shape \(1,\)"),
    (([0], [1], [1]), {"coordinates": [[1, 2]]}, r"coordinates have shape \(1, 2\)"),
]


@pytest.mark.parametrize(("columns", "options", "message"), BAD_EDGES)
def test_bad_edges(columns, options, message):
    with pytest.raises(InputError, match=message) as caught:
        from_edges(*columns, **options, name="my graph")
    assert str(caught.value).startswith("my graph: ")


def test_small_things():
    empty = from_edges([], [], [])
    assert (empty.n, empty.arcs, empty.offsets.tolist()) == (0, 0, [0])
    assert from_edges([0, 4], [1, 2]).weights.tolist() == [1, 1, 1, 1]
    assert empty.permuted([]).n == 0 and empty.spatial_order().tolist() == []
    assert from_edges([], [], [], n=3).offsets.tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="permutation of 0 to 4"):
        from_edges([0, 4], [1, 2]).permuted([0, 1, 2, 3, 3])
    with pytest.raises(InputError, match="no vertex 9; its vertices are numbered 0 to 4"):
        from_edges([0, 4], [1, 2]).positions([2, 9])
    with pytest.raises(InputError, match="has no vertices"):
        empty.positions([1])
    with pytest.raises(InputError, match="takes a sparse matrix, not list"):
        from_scipy([[0, 1], [1, 0]])
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        from_scipy(scipy.sparse.eye(2, 3))


@given(edge_lists, st.booleans())
def test_scipy_and_networkx_there_and_back(drawn, directed):
    n, edges = drawn
    small = [(a, b, weight % 2**50 / 4) for a, b, weight in edges]
    graph = from_edges(*([edge[place] for edge in small] for place in range(3)), n=n, directed=directed)
    again = from_scipy(to_scipy(graph))
    assert arcs_of(again) == arcs_of(graph) == arcs_of(from_scipy(to_scipy(graph), directed=directed))
    assert directed or arcs_of(again.undirected()) == arcs_of(graph)
    theirs = networkx.MultiDiGraph() if directed else networkx.MultiGraph()
    theirs.add_nodes_from(range(n))
    theirs.add_weighted_edges_from(small)
    mine = from_networkx(theirs)
    assert (arcs_of(mine), mine.directed, mine.parallel_arcs) == (arcs_of(graph), directed, graph.parallel_arcs)
    back = to_networkx(graph)
    assert back.is_directed() == directed and arcs_of(from_networkx(back)) == arcs_of(graph)
    for source in range(n):
        theirs = networkx.single_source_dijkstra_path_length(back, source)
        distance = dijkstra(to_scipy(graph), indices=source)
        assert {v: d for v, d in enumerate(distance.tolist()) if d < math.inf} == theirs


def test_nodes_that_are_no_numbers():
    theirs = networkx.Graph([("Oslo", "Rome", {"km": 5}), ("Rome", "Bonn", {"km": 3})])
    graph = from_networkx(theirs, weight="km")
    assert graph.vertex_names == ("Oslo", "Rome", "Bonn") and graph.labels.tolist() == [0, 1, 2]
    assert sorted(to_networkx(graph).edges(data="weight")) == [("Oslo", "Rome", 5), ("Rome", "Bonn", 3)]
    assert graph.permuted([2, 0, 1]).vertex_names == ("Bonn", "Oslo", "Rome")
    assert from_networkx(networkx.path_graph([7, 3])).labels.tolist() == [7, 3]


def test_attributes_as_osmnx_has_them():
    streets = networkx.MultiDiGraph()
    streets.add_edge(7, 3, length=25.5, osmid=123, oneway=True)
    streets.add_edge(7, 3, length=24.25, osmid=[4, 5], oneway=True)
    streets.add_edge(3, 9, length=10, osmid=6, oneway=False)
    graph = from_networkx(streets, weight="length")
    assert arcs_of(graph) == {(0, 1): Fraction(97, 4), (1, 2): 10} and graph.labels.tolist() == [7, 3, 9]
    assert (graph.directed, graph.parallel_arcs) == (True, 1)
    with pytest.raises(InputError, match=r"no edge has the attribute 'weight'; edges have length, osmid: .*\"length\""):
        from_networkx(streets)
    assert arcs_of(from_networkx(streets, weight=None)) == {(0, 1): 1, (1, 2): 1}
    streets.add_edge(3, 8, osmid=7)
    with pytest.raises(InputError, match="the edge 3 - 8 has no attribute 'length', which other edges have"):
        from_networkx(streets, weight="length")


@pytest.mark.parametrize(("crs", "keys", "kind", "places"), [
    ("epsg:4326", "xy", "degrees", [[48.25, 16.5], [47.0, 15.5]]),  # as OSMnx has them
    ("epsg:32633", "xy", "", [[16.5, 48.25], [15.5, 47.0]]),
    (None, ("lon", "lat"), "degrees", [[48.25, 16.5], [47.0, 15.5]]),
    (None, ("lon", "height"), "", None),
])
def test_nodes_have_places(crs, keys, kind, places):
    streets = networkx.MultiDiGraph(crs=crs)
    for node, place in {7: (16.5, 48.25), 3: (15.5, 47)}.items():
        streets.add_node(node, **dict(zip(keys, place)))
    streets.add_edge(7, 3, weight=1)
    graph = from_networkx(streets)
    assert graph.coordinates_kind == kind
    assert places == (None if graph.coordinates is None else graph.coordinates.tolist())


def test_places_of_networkx_itself():
    wheel = networkx.wheel_graph(5)
    for node, place in networkx.spring_layout(wheel, seed=1).items():
        wheel.nodes[node]["pos"] = place
    assert from_networkx(wheel).coordinates.shape == (5, 2)
    networkx.set_node_attributes(wheel, 95, "lat")
    networkx.set_node_attributes(wheel, 7, "lon")
    with pytest.raises(InputError, match="latitude"):
        from_networkx(wheel)


BAD_ATTRIBUTES = [
    ({"km": None}, "'km' of the edge Rome - Bonn is None"),
    ({"km": "12.5"}, "'km' of the edge Rome - Bonn is a str, '12.5'"),
    ({"km": math.nan}, r"the weight of arc 1 \(Rome to Bonn\) is NaN"),
    ({"km": np.float64("inf")}, r"the weight of arc 1 \(Rome to Bonn\) is infinite"),
    ({"km": -1}, r"the weight of arc 1 \(Rome to Bonn\) is negative"),
    ({}, "the edge Rome - Bonn has no attribute 'km', which other edges have"),
]


@pytest.mark.parametrize(("attributes", "message"), BAD_ATTRIBUTES)
def test_the_edge_without_a_weight_is_named(attributes, message):
    theirs = networkx.DiGraph([("Oslo", "Rome", {"km": 5}), ("Rome", "Bonn", attributes)])
    with pytest.raises(InputError, match=message):
        from_networkx(theirs, weight="km")


def test_edges_without_numbers_weigh_one_only_by_default():
    theirs = networkx.Graph([(0, 1, {"name": "High Street", "open": True}), (1, 2)])
    assert arcs_of(from_networkx(theirs)) == {(0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1}
    assert from_networkx(theirs).notes == ("read:   each edge weighs 1, since edges have no numbers",)
    assert from_networkx(theirs, weight=None).comment == ""
    with pytest.raises(InputError, match="no edge has the attribute 'km'; edges have no attribute that is a number"):
        from_networkx(theirs, weight="km")
    assert from_networkx(networkx.empty_graph(2)).edges == 0


def test_spatial_order():
    """It is the Z-order curve of the coordinates, or without them scipy's reverse Cuthill-McKee order."""
    places = np.array([(x, y) for y in range(4) for x in range(4)], dtype=float)
    assert z_order(places).tolist() == [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
    assert z_order(np.zeros((3, 2))).tolist() == [0, 1, 2]
    assert z_order(places - 1e9).tolist() == z_order(places * 1e-9).tolist() == z_order(places).tolist()
    path = generate("graph", "path-graph", n=50).permuted(np.random.default_rng(1).permutation(50))
    order = path.spatial_order()
    assert order.tolist() == reverse_cuthill_mckee(scipy.sparse.csr_matrix(to_scipy(path)), True).tolist()
    moved = path.permuted(order)
    assert np.abs(moved.tails() - moved.heads).max() == 1
    assert sorted(generate("graph", "random-graph", n=50, directed=True).spatial_order().tolist()) == list(range(50))


names = st.sampled_from(["Wien", "Graz", "0", "1", "7", "-3", "007", "1.0", "", " "])


def found(labels, searched, names=()):
    return Labels(np.array(labels), names, "town", "city", "cities").positions(searched)


@given(st.lists(names, min_size=1, max_size=8), st.data())
def test_a_number_is_a_label_and_a_text_a_name(called, data):
    """Whatever is found has the label or the name that was asked for, and no other city has it."""
    n = len(called)
    labels = data.draw(st.lists(st.integers(-4, 8), min_size=n, max_size=n, unique=True))
    asked = data.draw(names | st.integers(-5, 9))
    try:
        position = int(found(labels, [asked], called)[0])
    except InputError:
        position = None
    if isinstance(asked, str):
        assert position == (called.index(asked) if called.count(asked) == 1 else None)
    else:
        conflict = any(name == str(asked) and label != asked for name, label in zip(called, labels, strict=True))
        assert position == (labels.index(asked) if asked in labels and not conflict else None)


def test_lists_of_both():
    assert found([5, 6, 7], ["b", 5, "c", np.int64(6)], ["a", "b", "c"]).tolist() == [1, 0, 2, 1]
    assert found([5, 6], [(1, "x"), 6.0], ["(1, 'x')", "b"]).tolist() == [0, 1]
    assert found([5, 6], np.array([[6, 5], [5, 5]])).tolist() == [[1, 0], [0, 0]]
    assert found([5, 6], []).tolist() == []


@pytest.mark.parametrize(("searched", "message"), [
    (["Viena"], "town has no city 'Viena'; did you mean 'Vienna'?"),
    (["vienna"], "town has no city 'vienna'; did you mean 'Vienna'?"),
    (["Xyz"], "town has no city 'Xyz'; its cities have names such as 'Vienna'"),
    (["Graz"], "town has 2 cities named 'Graz', such as 11 and 12; give the number"),
    (["13"], "town has no city '13' by name; 13 is a label of its cities, to be given as a number"),
    ([9], "town has no city 9; its cities are numbered 10 to 13"),
    ([10], "10 is the number of 'Vienna' in town, and another city has '10' as its name; write the name that you mean"),
    ([2**70], "town has no city '1180591620717411303424'"),
    ([None], "town has no city 'None'"),
    ([True], "town has no city 'True'"),
])
def test_messages(searched, message):
    with pytest.raises(InputError) as caught:
        found([10, 11, 12, 13], searched, ["Vienna", "Graz", "Graz", "10"])
    assert str(caught.value).startswith(message)


def test_names_where_there_are_none():
    with pytest.raises(InputError, match="town has no city 'Wien'; its cities have numbers, 1 to 2, and no names"):
        found([1, 2], ["Wien"])


def test_a_near_miss_among_a_million_names_is_found_at_once():
    called = [f"house {i}" for i in range(1_000_000)]
    with pytest.raises(InputError, match="did you mean 'house 7'"):
        found(np.arange(1_000_000), ["house  7"], called)

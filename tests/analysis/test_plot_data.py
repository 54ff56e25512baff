"""What is drawn are the numbers of the result, on maps with degrees, aspect, scale bar and names apart."""

import math
import re

import networkx
import numpy as np
import pytest

from hpcsolve.analysis import plot
from hpcsolve.analysis.plot.canvas import GREY, SERIES, SKY
from hpcsolve.analysis.plot.distances import pairs_of
from hpcsolve.analysis.plot.maps import emptiest_corner, round_length
from hpcsolve.analysis.plot.tour import ARROW
from hpcsolve.errors import InputError
from hpcsolve.formats import write_graph
from hpcsolve.problems.generate.graph import road_steiner
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.generate.tsp import clustered_tsp, uniform_tsp
from hpcsolve.problems.libraries import from_networkx
from hpcsolve.problems.tsp import from_costs, from_points
from hpcsolve.report.pictures import WIDE, _map_size, answer_pictures
from hpcsolve.report.words import answer, farthest_pairs
from tests.analysis.results import FRIENDS, changed, solved
from tests.answers.test_edges import PLACES, streets


def line_of(axes, gid):
    (line,) = [line for line in axes.lines if line.get_gid() == gid]
    return line.get_xydata()


def test_a_tour_is_closed_and_an_open_path_is_not(results, pyplot):
    tour, path = results("tour"), results("path")
    drawn = plot.plot_tour(tour).lines[0].get_xydata()
    assert np.array_equal(drawn, tour.coordinates[[*tour.tour, tour.tour[0]]])
    axes = plot.plot_tour(path)
    assert len(axes.lines[0].get_xydata()) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["start", "end"]
    assert [text.get_text() for text in plot.plot_tour(tour).get_legend().get_texts()] == ["depot"]


def test_a_tree_lies_over_its_network(results, pyplot):
    """The graph of a program's memory is gone, so it is given."""
    graph, result = road_steiner(60, 7), results("tree")
    axes = plot.plot_tree(result, network=graph)
    tree, below = line_of(axes, "tree"), line_of(axes, "network")
    u, v = (result.contents.value("solution", end) for end in "uv")
    assert np.array_equal(tree[::3], result.coordinates[u]) and np.array_equal(tree[1::3], result.coordinates[v])
    assert np.isnan(tree[2::3]).all() and len(below) == 3 * graph.edges
    edges = [{tuple(edge.ravel()) for edge in np.stack([line[::3], line[1::3]], 1)} for line in (tree, below)]
    assert edges[0] < edges[1]
    assert [line.get_gid() for line in plot.plot_tree(result).lines] == ["tree"]


def test_the_network_is_read_again_unless_it_was_changed(tmp_path, pyplot):
    file = tmp_path / "town.stp"
    write_graph(road_steiner(60, 7), str(file))
    result = solved(str(file), "steiner-kmb")
    assert [line.get_gid() for line in plot.plot_tree(result).lines] == ["network", "tree"]
    assert [line.get_gid() for line in plot.plot_tree(result, network=False).lines] == ["tree"]
    file.write_text(re.sub(r"(?m)^(E \d+ \d+) .*", r"\1 999999", file.read_text(), count=1))
    assert [line.get_gid() for line in plot.plot_tree(result).lines] == ["tree"]
    file.unlink()
    assert [line.get_gid() for line in plot.plot_tree(result).lines] == ["tree"]


def test_a_tour_runs_along_its_streets(tmp_path, pyplot):
    """There along the curve of a street, back another way. Streets far from the stops do not widen the map."""
    graph, at = streets(), {node: list(place) for node, place in PLACES.items()}
    graph.add_edge(104, 101, key=0, length=10.125)
    graph.add_node(900, x=20.0, y=50.0)
    graph.add_edge(900, 900, key=0, length=1.0)
    result = solved(graph, stops=[101, 103, 104], weight="length")
    below, tour = plot.plot_tour(result, network=from_networkx(graph, "length")).lines
    curve = [at[101], [16.005, 48.005], at[102], at[103], at[104], at[101]]
    assert below.get_gid() == "network" and tour.get_xydata().tolist() == curve
    straight = [at[node] for node in (101, 103, 104, 101)]
    assert [line.get_xydata().tolist() for line in plot.plot_tour(result).lines] == [straight]

    plain = networkx.DiGraph(list(graph.edges()))
    for node, (x, y) in {**PLACES, 900: (20.0, 50.0)}.items():
        plain.add_node(node, x=x, y=y)
    networkx.set_edge_attributes(plain, 5.0, "length")
    networkx.write_graphml(plain, tmp_path / "city.graphml")
    result = solved(str(tmp_path / "city.graphml"), stops=[101, 103, 104], weight="length")
    axes = plot.plot_tour(result)
    assert axes.lines[1].get_xydata().tolist() == [at[node] for node in (101, 102, 103, 104, 101)]
    assert axes.get_xlim()[1] < 16.1
    plain.edges[103, 104]["length"] = 9.0  # then the legs cost something else
    networkx.write_graphml(plain, tmp_path / "city.graphml")
    assert plot.plot_tour(result).lines[1].get_xydata().tolist() == straight
    plain.nodes[103]["x"] = 16.03
    networkx.write_graphml(plain, tmp_path / "city.graphml")
    assert len(plot.plot_tour(result).lines) == 1


def test_terminals_are_named(results, pyplot, tmp_path):
    """Terminals that were given by places have the names of these, and streets their curves."""
    axes = plot.plot_tree(results("tree of names"))
    assert {text.get_text() for text in axes.texts} == {"Ann", "Dan", "Eve"}
    (tmp_path / "shops.csv").write_text("name,lat,lon\nBaker,48.0001,16\nSmith,48.01,16.02\n")
    tree = solved(streets(), "steiner-kmb", terminals=tmp_path / "shops.csv", weight="length", directed=False)
    axes = plot.plot_tree(tree, network=from_networkx(streets(), "length", directed=False))
    assert {text.get_text() for text in axes.texts} == {"Baker", "Smith"}
    corner = [16.005, 48.005]
    assert corner in line_of(axes, "tree").tolist() and corner in line_of(axes, "network").tolist()


def test_access_by_each_decay_with_its_targets(pyplot):
    """On a line of three vertices the ends have access within half an edge to themselves, the middle one has none."""
    path = networkx.path_graph(3)
    for vertex in path:
        path.add_node(vertex, x=16 + vertex / 1000, y=48.0)
    found = solved(path, "shortest-paths", sources="all", targets=[0, 2], reduce=["access"], weight=None,
                   decays=[0.5, {"linear": 2}])
    for decay, values in enumerate(([1, 0, 1], [1, 1, 1])):
        axes = plot.plot_reductions(found, decay=decay)
        assert axes.collections[0].get_array().tolist() == values
        assert line_of(axes, "targets").tolist() == [[16.0, 48.0], [16.002, 48.0]]
    texts = [picture.text for picture in answer_pictures(found)]
    assert [text[:text.index(")") + 1] for text in texts] == ["Access (within 0.5)", "Access (linear 2)"]
    assert [line for line in answer(found) if line.startswith("Access")] == [
        "Access: within 0.5: 0 to 1, largest at 0.", "Access: linear 2: 1 to 1, largest at 0."]
    with pytest.raises(InputError, match="no decay 2; they are numbered 0 to 1"):
        plot.plot_reductions(found, decay=2)


def test_a_tree_without_coordinates_is_drawn_around_its_centre(results, pyplot):
    """As far from Cleo as edges lead there: Bob and Dan are next to Cleo, Ann and Eve to Bob."""
    result = results("tree of names")
    line = line_of(plot.plot_tree(result), "tree")
    rings = np.round(np.hypot(*np.stack([line[::3], line[1::3]], axis=1).transpose(2, 0, 1)), 9)
    found = {name: ring for edge, both in zip(result.tree, rings.tolist()) for name, ring in zip(edge, both)}
    assert found == {"Cleo": 0, "Bob": 1, "Dan": 1, "Ann": 2, "Eve": 2}


def test_distances_are_colours_at_the_vertices(results, pyplot):
    result = results("distances")
    for source, row in ((None, 0), (30, 1)):
        axes = plot.plot_distances(result, source=source)
        marks = axes.collections[0]
        assert np.array_equal(marks.get_offsets(), result.coordinates)
        assert np.array_equal(marks.get_array(), result.distance[row])
        star = result.coordinates[result.contents.value("solution", "source")[row]]
        assert np.array_equal(axes.lines[0].get_xydata(), [star])


def test_unreached_vertices_are_crosses(pyplot):
    result = solved(road_graph(60), "shortest-paths", sources=[1], cutoff=4000)
    axes = plot.plot_distances(result)
    reached = np.isfinite(result.distance[0])
    assert 0 < reached.sum() < 60
    assert len(axes.collections[0].get_offsets()) == reached.sum()
    assert np.array_equal(axes.lines[0].get_xydata(), result.coordinates[~reached])
    assert f"crosses: {60 - reached.sum()} of 60 vertices are not reached" in axes.get_xlabel()


def test_without_coordinates_the_vertices_are_counted(results, pyplot):
    axes = plot.plot_distances(results("distances of names"))
    assert [list(line.get_xdata()) for line in axes.lines] == [[0, 2, 3, 5, 9], [0, 4, 7, 8, 9]]  # by hand
    assert all(list(line.get_ydata()) == [1, 2, 3, 4, 5] for line in axes.lines)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Ann", "Dan"]


def test_cells_have_the_colours_of_their_sources(results, pyplot):
    from matplotlib.colors import to_rgba

    result = results("nearest")
    nearest, sources = (result.contents.value("solution", name) for name in ("nearest", "source"))
    colors = plot.plot_voronoi(result).collections[0].get_facecolors()
    expected = [to_rgba(SERIES[sources.tolist().index(source)]) for source in nearest[0]]
    assert np.array_equal(colors, expected) and len(set(expected)) == 2
    cut = solved(road_graph(60), "shortest-paths", sources=[1, 30], voronoi=True, cutoff=2000)
    lost = cut.contents.value("solution", "nearest")[0] < 0
    drawn = plot.plot_voronoi(cut).collections[0].get_facecolors()
    assert lost.any() and (drawn[lost] == to_rgba(GREY)).all() and not (drawn[~lost] == to_rgba(GREY)).all(axis=1).any()


def test_a_histogram_counts_each_pair_once(results, pyplot):
    """numpy's counts over the pairs: of an undirected graph without those that an earlier source has, and no vertex."""
    targets, tree, roads = results("targets"), results("tree"), results("distances")
    matrix = tree.contents.value("solution", "matrix")
    first, second = roads.contents.value("solution", "source")
    rest = np.setdiff1d(np.arange(60), [first, second])
    once = np.concatenate([roads.distance[0, rest], roads.distance[1, rest], [roads.distance[0, second]]])
    for result, values in ((targets, targets.distance.ravel()), (tree, matrix[np.triu_indices(7, 1)]), (roads, once)):
        axes = plot.plot_histogram(result)
        counts, edges = np.histogram(values, bins=30)
        assert [bar.get_height() for bar in axes.patches] == counts.tolist() and counts.sum() == len(values)
        assert np.allclose([bar.get_x() for bar in axes.patches], edges[:-1])
        (median,) = axes.lines
        assert set(median.get_xdata()) == {np.median(values)}


def test_a_directed_pair_counts_both_ways_and_lost_ones_are_said(pyplot):
    """Arcs 0 -> 1 -> 2 -> 0 of 1, 10 and 100, and vertex 3, to which none leads: by hand."""
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 1), (1, 2, 10), (2, 0, 100), (3, 0, 5)])
    result = solved(graph, "shortest-paths", sources=[0, 1, 2])
    pairs = pairs_of(result)
    assert sorted(pairs.distance[pairs.once]) == [1, 10, 11, 100, 101, 110, np.inf, np.inf, np.inf]
    named = [(pairs.rows[a], pairs.columns[b]) for a, b in pairs.farthest(2)]
    assert named == [(1, 0), (2, 1)] and pairs.unreached == 3
    assert "not drawn: 3 pairs without a path" in plot.plot_histogram(result).get_xlabel()


def test_the_farthest_of_many_are_those_of_a_sort(results):
    pairs = pairs_of(results("distances"))
    every = [(-pairs.distance[a, b], a, b) for a, b in zip(*np.nonzero(pairs.once))]
    for most in (1, 7, len(every), len(every) + 9):
        assert pairs.farthest(most) == [(a, b) for _, a, b in sorted(every)[:most]]


def test_a_quantity_of_each_source_is_a_colour_or_a_line(results, pyplot):
    roads = results("reductions")
    expected = {None: roads.access[:, 0], "closeness": roads.closeness, "farthest": roads.eccentricity,
                "count": roads.contents.value("solution", "count")[:, 1]}
    for quantity, values in expected.items():
        marks = plot.plot_reductions(roads, quantity=quantity).collections[0]
        assert np.array_equal(marks.get_array(), values) and np.array_equal(marks.get_offsets(), roads.coordinates)
    friends = results("reductions of names")
    line = plot.plot_reductions(friends).lines[0]
    assert line.axes.get_xlabel() == "distance of the farthest of the 2 nearest targets"
    assert list(line.get_ydata()) == [1, 2, 3, 4, 5]
    assert np.array_equal(line.get_xdata(), np.sort(friends.contents.value("solution", "nearest_distance")[:, 1]))


def test_paths_go_along_their_vertices(results, pyplot):
    result = results("queries")
    places = dict(zip(result.contents.value("instance", "label").tolist(), result.coordinates))
    lines = [line.get_xydata() for line in plot.plot_path(result).lines if line.get_linestyle() == "-"]
    for query, line in enumerate(lines):
        assert np.array_equal(line, [places[vertex] for vertex in result.path(query)])
    assert len(lines) == 2
    table = results("distances")
    (line,) = [line for line in plot.plot_path(table, ends=(1, 7)).lines if line.get_linestyle() == "-"]
    assert np.array_equal(line.get_xydata(), [places[vertex] for vertex in table.path(1, 7)])


def test_a_path_without_coordinates_is_a_row_of_names(results, pyplot):
    axes = plot.plot_path(results("queries of names"))
    assert [text.get_text() for text in axes.texts] == ["Ann", "Bob", "Cleo", "Dan"]
    assert axes.get_legend().get_texts()[0].get_text() == "Ann to Dan: 9"


def test_a_query_without_a_path_is_said(pyplot):
    apart = FRIENDS.copy()
    apart.add_edge("Kim", "Lee", weight=1)
    axes = plot.plot_path(solved(apart, "shortest-paths", queries=[[0, 6]]))
    assert axes.get_legend().get_texts()[0].get_text() == "Ann to Lee: not reached"


def colony_costs(result, colony):
    return result.improvements["cost"][result.improvements["colony"] == colony]


def test_convergence_and_colonies(results, pyplot):
    result = results("ants")
    history, costs = result.table("history"), result.table("colonies")["cost"]
    lines = {line.get_label(): line for line in plot.plot_convergence(result).lines}
    assert np.array_equal(lines["best so far"].get_ydata(), history["best"])
    assert np.array_equal(lines["mean of all tours"].get_ydata(), history["mean"])
    assert np.array_equal(lines["best tour of a colony"].get_ydata(), costs)
    assert np.array_equal(lines["best so far of a colony"].get_ydata()[:-1], colony_costs(result, 0))
    drawn = [line.get_xydata()[-1] for line in plot.plot_convergence(result).lines if line.get_color() == SKY]
    assert sorted(map(tuple, drawn)) == sorted((7, cost) for cost in costs), "a line a colony, up to the last iteration"
    assert set(lines["optimum that the job names"].get_ydata()) == {100}
    assert np.array_equal(plot.plot_colonies(result).lines[0].get_ydata(), costs)


def test_convergence_of_several_seeds(pyplot):
    """A line for each run, up to the last step of all, that of the best thicker."""
    runs = [solved(uniform_tsp(20), "ant-colony", seed=seed, bound=False, stop={"iterations": 3 + seed})
            for seed in (1, 2, 3)]
    axes = plot.plot_convergence(runs[1], others=[runs[0], runs[2]])
    drawn = [(line.get_xdata().tolist(), line.get_ydata().tolist(), line.get_linewidth()) for line in axes.lines]
    expected = [([*run.history["step"], 5], [*run.history["best"], run.history["best"][-1]])
                for run in (runs[0], runs[2], runs[1])]
    assert [(steps, costs) for steps, costs, _ in drawn] == expected
    assert drawn[2][2] > drawn[1][2] == drawn[0][2]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["best so far of another seed", "best so far"]


def test_convergence_of_a_population(results, pyplot):
    result = results("population")
    drawn = plot.plot_convergence(result)
    lines = {line.get_label(): line.get_ydata() for line in drawn.lines}
    assert set(lines) == {"best so far", "mean of all tours", "lower bound"}
    assert np.array_equal(lines["best so far"], result.history["best"])
    assert np.array_equal(lines["mean of all tours"], result.history["mean"])
    assert set(lines["lower bound"]) == {result.lower_bound}
    assert drawn.get_xlabel().startswith("generation")


def test_convergence_of_a_tree(results, pyplot):
    result = results("best tree")
    lines = {line.get_label(): line for line in plot.plot_convergence(result).lines}
    assert set(lines) == {"best so far", "a lighter tree", "lower bound"}
    drawn = lines["best so far"]
    assert np.array_equal(drawn.get_xdata(), result.history["step"])
    assert np.array_equal(drawn.get_ydata(), result.history["best"])
    assert lines["a lighter tree"].get_ydata()[-1] == result.cost
    assert set(lines["lower bound"].get_ydata()) == {result.lower_bound}


def test_layers(results, pyplot):
    layers = results("tour").table("layers")
    axes = plot.plot_layers(results("tour"))
    assert [bar.get_height() for bar in axes.patches] == layers["states"].tolist()
    seconds = axes.figure.axes[1].lines[0].get_ydata()
    assert np.array_equal(seconds, layers["seconds"])


def test_layers_of_an_exact_tree(results, pyplot):
    """The sizes of sets begin at 1, and no seconds are known."""
    layers = results("exact tree").table("layers")
    axes = plot.plot_layers(results("exact tree"))
    assert [bar.get_height() for bar in axes.patches] == layers["states"].tolist()
    assert axes.get_xticks().tolist() == layers["size"].tolist() and len(axes.figure.axes) == 1
    with pytest.raises(InputError, match="reductions and bounds were enough for this tree"):
        plot.plot_layers(changed(results("exact tree"), "layers", **{name: np.empty(0, int) for name in layers}))


def test_the_bars_of_ranks_add_up(results, pyplot):
    """Four ranks, whose seconds are made up: the top of the last area is the time of the rank."""
    times = {f"seconds_{name}": np.arange(4.0) + index for index, name in enumerate(
        ("read", "build", "copy", "kernel", "wait", "check", "write"))} | {"seconds_run": np.arange(4.0) * 3 + 20}
    few = {"host": np.array(["a"] * 4, object), "device": np.array(["b"] * 4, object), "peak_bytes": np.ones(4, int)}
    result = changed(results("tour"), "ranks", **few, **times)
    areas = plot.plot_ranks(result).patches
    top = areas[-1].get_data().values[::2]
    outside = sum(times[f"seconds_{name}"] for name in ("read", "build", "check", "write"))
    assert np.allclose(top, outside + times["seconds_run"])
    assert len(areas) == 8


@pytest.mark.parametrize("ranks", [1, 1000])
def test_any_number_of_ranks(ranks, results, pyplot):
    times = {f"seconds_{name}": np.ones(ranks) for name in ("read", "build", "copy", "kernel", "wait", "run")}
    axes = plot.plot_ranks(changed(results("tour"), "ranks", **times))
    assert len(axes.patches) <= 8, "an area for each phase, not one for each rank"


CITIES = np.array([[48.12, 16.22], [50.50, 4.21], [42.41, 23.19], [45.48, 15.58]])  # Vienna, Brussels, Sofia, Zagreb


def tour_of(coordinates, names=()):
    n = len(coordinates)
    cost = np.arange(n * n, dtype=np.int64).reshape(n, n) % 17 + 1
    return solved(from_costs(cost, "few", coordinates=coordinates, city_names=names))


def scale_bar(axes):
    """Return length in data coordinates, and text."""
    (bar,) = [artist for artist in axes.artists if artist.get_gid() == "scale-bar"]
    return bar.size_bar.get_children()[0].get_width(), bar.txt_label.get_text()


@pytest.mark.parametrize(("kind", "longitude"), [("degrees.minutes", 16 + 22 / 60), ("degrees", 16.22)])
def test_degrees(kind, longitude, pyplot):
    result = changed(tour_of(CITIES), "instance", coordinates_kind=kind)
    axes = plot.plot_tour(result)
    x = axes.lines[0].get_xdata()
    assert np.isclose(x[result.tour.tolist().index(0)], longitude)
    assert "longitude (°)" in axes.get_xlabel() and axes.get_ylabel() == "latitude (°)"
    low, high = axes.lines[0].get_ydata().min(), axes.lines[0].get_ydata().max()
    assert np.isclose(axes.get_aspect(), 1 / math.cos(math.radians((low + high) / 2)))
    length, text = scale_bar(axes)
    kilometres = float(text.removesuffix(" km"))
    assert np.isclose(length * math.cos(math.radians((low + high) / 2)) * 2 * math.pi * 6371.0088 / 360, kilometres)


def test_old_files_are_told_that_they_are_geographic(pyplot):
    axes = plot.plot_tour(tour_of(CITIES), geographic=True)
    assert np.isclose(axes.lines[0].get_xdata().min(), 4 + 21 / 60)


def test_a_plane_keeps_its_coordinates(pyplot):
    axes = plot.plot_tour(tour_of(CITIES))
    length, text = scale_bar(axes)
    assert axes.get_aspect() == 1 and float(text) == length
    assert axes.get_xlabel().startswith("x (unit of the coordinates)")


def test_places_in_one_point_or_line_can_be_drawn(pyplot, tmp_path):
    for coordinates in (np.zeros((4, 2)), np.array([[0, 0], [0, 1], [0, 2], [0, 5.0]])):
        plot.plot_tour(tour_of(coordinates)).figure.savefig(tmp_path / "x.png")


@pytest.mark.parametrize(("longest", "expected"), [
    (3, 2), (5, 5), (9.99, 5), (10, 10), (0.03, 0.02), (0, 0), (1e300, 1e300), (math.inf, 0),
])
def test_round_lengths(longest, expected):
    assert round_length(longest) == pytest.approx(expected)


def test_the_corner_without_points_is_taken():
    corners = np.array([[0.95, 0.05], [0.05, 0.05], [0.9, 0.95]])
    assert emptiest_corner(corners) == "upper left"


def boxes(axes):
    axes.figure.canvas.draw()
    return [text.get_window_extent() for text in axes.texts]


def assert_apart(axes):
    """No name lies on another one, on a mark, on a line to a point, or outside of the axes."""
    found = boxes(axes)
    inner = [box.padded(-0.2) for box in found]
    assert not any(a.overlaps(b) for i, a in enumerate(inner) for b in inner[:i])
    points = axes.transData.transform(axes.lines[0].get_xydata())
    assert not any(box.contains(*point) for box in inner for point in points)
    assert all(axes.bbox.padded(0.2).containsx(x) and axes.bbox.padded(0.2).containsy(y)
               for box in found for x, y in (box.min, box.max))
    leaders = [axes.transData.transform(line) for collection in axes.collections if collection.get_gid() == "leaders"
               for line in collection.get_segments()]
    along = [begin + (end - begin) * part for begin, end in leaders for part in np.linspace(0.02, 0.98, 50)]
    assert not any(box.contains(*point) for box in inner for point in along)
    return found, leaders


@pytest.mark.parametrize("n", [10, 60, 200])
def test_names_do_not_overlap(n, pyplot):
    axes = plot.plot_tour(solved(clustered_tsp(n), "ant-colony", stop={"iterations": 2}))
    found, leaders = assert_apart(axes)
    assert 0 < len(found) <= n and (n > 60 or len(leaders) > 0 or n == 10)
    said = f"{len(found)} of {n} names shown"
    assert (said in axes.get_xlabel()) == (len(found) < n)


@pytest.mark.parametrize("coordinates", ["uniform", "clusters", "none"])
def test_all_names_of_forty_places_are_shown(coordinates, pyplot):
    """On the page's map, in clusters too: each number and name beside its mark, or with a line to it."""
    random = np.random.default_rng(3)
    places = random.uniform(0, 100, (40, 2))
    if coordinates == "clusters":
        places = np.repeat(random.uniform(0, 100, (8, 2)), 5, axis=0) + random.normal(0, 2, (40, 2))
    cost = np.round(np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))).astype(np.int64)
    names = tuple(f"{street} Street {n}" for n, street in enumerate(["Alder", "Birch", "Juniper", "Elm"] * 10))
    given = None if coordinates == "none" else places
    result = solved(from_costs(cost, "forty", coordinates=given, city_names=names), "edge-assembly", population=5)
    axes = pyplot.subplots(figsize=_map_size(result, WIDE), layout="constrained")[1]
    assert plot.plot_tour(result, axes) is axes
    found, _ = assert_apart(axes)
    expected = [f"{place} {name}" for place, name in enumerate(result.tour_labels, 1)]
    assert [text.get_text() for text in axes.texts] == expected and len(found) == 40


def test_pairs_have_the_names_of_their_places(tmp_path):
    """Two of the places stand for one vertex. A vertex without a place has its own name."""
    (tmp_path / "homes.csv").write_text("name,x,y\nAnn,1,1\nBob,9,1\nCleo,10,0\n")
    town, homes = networkx.Graph([(0, 1, {"weight": 10}), (1, 2, {"weight": 10})]), str(tmp_path / "homes.csv")
    for node, (x, y) in enumerate(((0, 0), (10, 0), (10, 10))):
        town.nodes[node].update(x=x, y=y)
    from_homes = farthest_pairs(solved(town, "shortest-paths", sources=homes))
    assert from_homes[1] == [["Ann", 2, "20"], ["Ann", 1, "10"], ["Bob, Cleo", 2, "10"]]
    to_homes = farthest_pairs(solved(town, "shortest-paths", sources=[2], targets=homes))
    assert to_homes[1] == [[2, "Ann", "20"], [2, "Bob, Cleo", "10"]]
    matrix = solved(town, "steiner-kmb", terminals=homes, mode="kmb", matrix=True)
    assert farthest_pairs(matrix)[1] == [["Ann", "Bob, Cleo", "10"]]


def test_names_without_room_leave_their_numbers(pyplot):
    """On the small map of a telephone, each number stands there once, most of them without the name."""
    names = tuple(f"{n} Long Winding Street" for n in range(80))
    tsp = from_points(np.random.default_rng(5).uniform(0, 100, (80, 2)), "EUC_2D", "eighty", np.arange(80),
                      city_names=names)
    axes = plot.plot_tour(solved(tsp, "ant-colony", stop={"iterations": 2}),
                          pyplot.subplots(figsize=(4.8, 4.8), layout="constrained")[1])
    found, _ = assert_apart(axes)
    texts = [text.get_text() for text in axes.texts]
    numbers, named = [int(text.split()[0]) for text in texts], [text for text in texts if "Street" in text]
    assert len(set(numbers)) == len(found) > 2 * len(named) > 0 and set(numbers) <= set(range(1, 81))
    assert f"{len(named)} of 80 names shown" in axes.get_xlabel()


def test_arrows_lead_from_each_stop_to_the_next(pyplot):
    result = tour_of(CITIES)
    line = plot.plot_tour(result, names=False).lines[0].get_xydata()
    (arrows,) = [found for found in plot.plot_tour(result).collections if found.get_gid() == "direction"]
    ahead = np.diff(line, axis=0)
    assert np.allclose(arrows.XY, line[:-1] + ahead / 2)
    assert np.allclose(np.stack([arrows.U, arrows.V], 1) * np.hypot(*ahead.T)[:, None], ahead * ARROW)


def test_the_crowded_case_is_crowded(pyplot):
    axes = plot.plot_tour(solved(clustered_tsp(200), "ant-colony", stop={"iterations": 2}))
    assert len(axes.texts) < 200


def test_very_many_cities_are_a_line_in_the_colours_of_their_order(pyplot, monkeypatch):
    """Each leg is drawn once, and no city has a mark that would cover it."""
    monkeypatch.setattr("hpcsolve.analysis.plot.tour.MARKED_UP_TO", 999)
    places = np.random.default_rng(1).uniform(0, 9, (1000, 2))
    result = changed(tour_of(places[:4]), "instance", x=places[:, 0], y=places[:, 1], label=np.arange(1000))
    order = np.random.default_rng(2).permutation(1000).astype(np.int32)
    axes = plot.plot_tour(changed(result, "solution", tour=order))
    drawn = [np.column_stack(line.get_data()) for line in axes.lines]
    assert np.array_equal(np.concatenate([drawn[0][:1], *[part[1:] for part in drawn]]), places[[*order, order[0]]])
    assert len(axes.collections) == 1, "the depot"
    assert all(line.get_rasterized() for line in axes.lines)
    assert len({line.get_color() for line in axes.lines}) > 200 and "not marked: the cities" in axes.get_xlabel()


def test_many_cities_are_not_named(pyplot):
    result = solved(uniform_tsp(201), "ant-colony", stop={"iterations": 1})
    assert not plot.plot_tour(result).texts and plot.plot_tour(result, names=True).texts


def test_the_stops_of_a_tour_over_time(pyplot):
    """By hand: 15 to city 1, 40 on to city 2, which opens at 60 and takes 5, 50 back. Windows are cut."""
    costs = [[0, 15, 20], [30, 0, 40], [50, 60, 0]]
    result = solved(costs, objective="finish", windows={2: (60, 65, 5), 1: (0, None)})
    axes = plot.plot_schedule(result)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1", "2", "0"]
    drawn = {container.get_label(): [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height() / 2)
                                     for bar in container] for container in axes.containers}
    assert drawn["waiting"] == [(55, 60, 2)] and drawn["service"] == [(60, 65, 2)]
    low, high = axes.get_xlim()
    assert drawn["window"] == pytest.approx(np.array([(0, high, 0), (0, high, 1), (60, 65, 2), (0, high, 3)]))
    travel = next(line for line in axes.lines if line.get_label() == "travel")
    assert travel.get_xdata().tolist() == [0, 15, 15, 55, 65, 115]
    assert travel.get_ydata().tolist() == [0, 1, 1, 2, 2, 3]
    assert low < 0 and high > 115
    clock = plot.plot_schedule(solved(costs, objective="finish", time_unit="minute", windows={2: ("1:00", "1:05", 5)}))
    assert "01:00" in [label.get_text() for label in clock.get_xticklabels()]

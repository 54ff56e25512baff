"""`hpcsolve.Result` as a table, as a graph and as a sparse matrix, saved, and as notebooks show it."""

import html.parser
import importlib.util
import inspect
import pydoc
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise

import h5py
import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

import hpcsolve
from hpcsolve.answers.tour import TOUR
from hpcsolve.errors import EnvironmentFault, HpcsolveError, InputError
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.geographic import from_places
from hpcsolve.problems.steiner import with_terminals
from hpcsolve.runner.verify import verify_file
from tests.cli.seen import solution

ROADS = nx.DiGraph()
ROADS.add_weighted_edges_from([("Ann", "Bob", 1.5), ("Bob", "Cleo", 2.25), ("Dan", "Ann", 1.125), ("Ann", "Cleo", 4)])
NAMES = list(ROADS)
COSTS = np.round(np.random.default_rng(5).random((8, 8)) * 9, 2)
SYMMETRIC = np.maximum(COSTS, COSTS.T)
HERE = {"device": "cpu", "threads": 1}
PANDAS = importlib.util.find_spec("pandas") is not None
VIENNA = from_places([48.2, 48.3, 48.1, 48.25], [16.3, 16.4, 16.5, 16.35], city_names=["A", "B", "C", "D"])
TOWN = road_graph(12, 1)


@pytest.fixture(scope="module")
def results():
    """Return a result of each kind of answer."""
    paths = {"algorithm": "shortest-paths", **HERE}
    return {
        "tour": hpcsolve.solve(COSTS, **HERE), "symmetric": hpcsolve.solve(SYMMETRIC, **HERE),
        "open": hpcsolve.solve(COSTS, path="open", **HERE),
        "ants": hpcsolve.solve(COSTS, "ant-colony", colonies=2, stop={"iterations": 5}, **HERE),
        "none": hpcsolve.solve([[0, 1, np.inf], [1, 0, np.inf], [np.inf, 1, 0]], **HERE),
        "rows": hpcsolve.solve(ROADS, sources=[0, 1], predecessors=True, **paths),
        "row": hpcsolve.solve(ROADS, sources=[3], predecessors=True, **paths),
        "voronoi": hpcsolve.solve(ROADS, sources=[1, 3], voronoi=True, predecessors=True, **paths),
        "targets": hpcsolve.solve(ROADS, sources=[0], targets=[2, 3], **paths),
        "pairs": hpcsolve.solve(ROADS, queries=[[0, 2], [0, 3]], **paths),
        "tree": hpcsolve.solve(ROADS.to_undirected(), "steiner-kmb", terminals=["Ann", "Cleo"], mode="kmb", matrix=True,
                               **HERE),
        "places": hpcsolve.solve(VIENNA, count=True, best=2, **HERE),
        "bounds": hpcsolve.solve(SYMMETRIC, method="bounded", stop={"seconds": 60}, **HERE),
        "batch": hpcsolve.solve(np.stack([COSTS, COSTS.T]), **HERE),
        "cells": hpcsolve.solve(TOWN, sources=[1, 3], voronoi=True, **paths),
        "field": hpcsolve.solve(TOWN, sources=[1, 3], **paths),
        "routes": hpcsolve.solve(TOWN, queries=[[1, 2], [3, 1]], **paths),
        "sums": hpcsolve.solve(TOWN, sources="all", reduce=["sum", "farthest", "access"], decays=[900], **paths),
        "joined": hpcsolve.solve(with_terminals(TOWN, [1, 4]), "steiner-kmb", **HERE),
    }


def steps(result, closed=True):
    order = result.tour.tolist()
    return list(pairwise([*order, order[0]] if closed else order))


def test_several_tours_and_their_number(results):
    """Costs 1 there and 9 back: the three open paths along the arcs of cost 1, then the others, by hand."""
    costs = np.array([[0, 1, 9], [9, 0, 1], [1, 9, 0]]) / 4
    several = hpcsolve.solve(costs, path="open", count=True, best=5, **HERE)
    assert several.optimal_tours == 3 and several.best_costs.tolist() == [0.5, 0.5, 0.5, 4.5, 4.5]
    assert several.best_tours.shape == (5, 3) and several.best_tours[0].tolist() == several.tour.tolist()
    legs = [costs[tour[:-1], tour[1:]].sum() for tour in several.best_tours]
    assert legs == several.best_costs.tolist() and len(set(map(tuple, several.best_tours.tolist()))) == 5
    one, none = results["tour"], results["none"]
    assert one.optimal_tours is None and one.best_tours.tolist() == [one.tour.tolist()] and one.best_costs == [one.cost]
    assert none.optimal_tours is None and none.best_tours.shape == (0, 0) and none.best_costs.shape == (0,)


def test_a_tour_with_time_windows_says_when_each_city_is_reached_and_left(tmp_path):
    """By hand: 3.5 to city 2, 1 to city 1, where the traveller waits from 4.5 to 5 and serves 1.5, and 2 back: 8.5."""
    (tmp_path / "open.csv").write_text("city,earliest,latest,service\n1,5,,1.5\n2,,4,\n")
    keys = {"objective": "finish", "windows": tmp_path / "open.csv", **HERE}
    tour = hpcsolve.solve(np.array([[0, 4, 7], [4, 0, 2], [7, 2, 0]]) / 2, output=tmp_path / "tour.h5", **keys)
    assert (tour.cost, tour.tour.tolist()) == (8.5, [0, 2, 1])
    (rows,) = TOUR.rows(tour.contents)
    assert rows["departure"].tolist() == [0, 3.5, 6.5] and rows["arrival"].tolist()[1:] == [3.5, 4.5]
    assert rows["begin"].tolist() == [0, 3.5, 5] and rows["earliest"].tolist() == [0, 0, 5]
    assert rows["latest"].tolist() == [np.inf, 4, np.inf]
    assert "stops:  from 0 to 8.5, with 0.5 waiting, 1.5 service" in TOUR.lines(tour.contents)
    np.save(tmp_path / "costs.npy", np.array([[0, 4, 7], [4, 0, 2], [7, 2, 0]]) / 2)
    assert verify_file(str(tmp_path / "tour.h5"), str(tmp_path / "costs.npy"))[1].passed
    with h5py.File(tmp_path / "tour.h5", "r+") as file:
        file["legs/departure"][1] += 1
    verdict = verify_file(str(tmp_path / "tour.h5"), str(tmp_path / "costs.npy"))[1]
    assert verdict.passed is False and "/legs/departure does not follow from answer and instance" in verdict.reason
    path = hpcsolve.solve(np.array([[0, 4, 7], [4, 0, 2], [7, 2, 0]]) / 2, path="open", start=0, **keys)
    (rows,) = TOUR.rows(path.contents)
    assert rows["departure"].tolist() == [0, 3.5, 6.5] and rows["arrival"].tolist()[1:] == [3.5, 4.5]
    assert path.cost == 6.5, "the end is that of the service at the last city"
    (tmp_path / "open.csv").write_text("city,earliest,latest\n0,0,9\n1,5,4.5\n")
    with pytest.raises(InputError, match=r"open.csv:3: the window of city 1 is empty: 5 is after 4.5; earliest must"):
        hpcsolve.solve(np.ones((3, 3)) / 2, **keys)
    assert "departure" not in hpcsolve.solve(np.ones((3, 3)), **HERE).table("legs")
    (tmp_path / "open.csv").write_text("city,earliest,latest\n0,08:30,9:00\n")
    with pytest.raises(InputError, match=r"open.csv:2: 08:30 is a time of day; set time-unit to what a unit of the"):
        hpcsolve.solve(np.ones((3, 3)), **keys)


@pytest.mark.parametrize("name", ["tour", "open", "symmetric", "ants"])
def test_a_tour_as_table_graph_and_matrix(name, results):
    result, costs = results[name], SYMMETRIC if name == "symmetric" else COSTS
    legs = steps(result, name != "open")
    table = result.to_pandas() if PANDAS else None
    if table is not None:
        assert table["label"].tolist() == result.tour_labels and table["order"].tolist() == list(range(1, 9))
        assert table["leg"].dropna().tolist() == [costs[leg] for leg in legs]
        assert table["cumulative"].iloc[-1] == result.cost == pytest.approx(table["leg"].sum())
    graph = result.to_networkx()
    assert graph.is_directed() == (name != "symmetric") and graph.number_of_edges() == len(legs)
    assert sum(w for _, _, w in graph.edges(data="weight")) == pytest.approx(result.cost)
    assert all(graph[a][b]["weight"] == costs[a, b] for a, b in legs) and set(graph) == set(range(8))
    matrix = result.to_csr()
    assert matrix.shape == (8, 8) and {(a, b): matrix[a, b] for a, b in legs} == {leg: costs[leg] for leg in legs}
    assert matrix.nnz == len(legs) and result.n == 8


def test_a_tree_as_table_graph_and_matrix(results):
    tree = results["tree"]
    graph = tree.to_networkx()
    assert nx.is_tree(graph) and graph["Ann"]["Bob"]["weight"] == 1.5
    assert [node for node, there in graph.nodes(data="terminal") if there] == ["Ann", "Cleo"]
    distance = dijkstra(tree.to_csr(), directed=False, indices=0)
    assert distance[NAMES.index("Cleo")] == tree.cost == 3.75
    if PANDAS:
        rows = tree.to_pandas()
        assert set(zip(rows["u"], rows["v"], rows["weight"])) == {("Ann", "Bob", 1.5), ("Bob", "Cleo", 2.25)}


def test_shortest_paths_as_table_graph_and_matrix(results):
    rows = results["rows"]
    lengths = {name: nx.single_source_dijkstra_path_length(ROADS, name) for name in NAMES}
    for number, source in enumerate(["Ann", "Bob"]):
        graph = rows.to_networkx(number)
        assert nx.single_source_dijkstra_path_length(graph, source) == lengths[source]
        assert nx.is_arborescence(graph) and set(graph) == set(lengths[source])
        found = dijkstra(rows.to_csr(number), indices=number)
        assert found.tolist() == [lengths[source].get(name, np.inf) for name in NAMES]
    with pytest.raises(InputError, match="2 searches, numbered from 0: choose one"):
        rows.to_networkx()
    with pytest.raises(InputError, match="there is no number 2"):
        rows.to_csr(2)
    assert set(results["row"].to_networkx()) == set(lengths["Dan"]), "of one search no number is needed"
    forest = results["voronoi"].to_networkx()
    assert nx.is_branching(forest) and set(forest) == {"Bob", "Cleo", "Dan", "Ann"}
    with pytest.raises(InputError, match="predecessors = true"):
        results["targets"].to_networkx()
    path = results["pairs"].to_networkx(0)
    assert list(nx.topological_sort(path)) == ["Ann", "Bob", "Cleo"] and len(results["pairs"].to_networkx(1)) == 0
    assert list(path.edges(data="weight")) == [("Ann", "Bob", 1.5), ("Bob", "Cleo", 2.25)]
    assert results["pairs"].to_csr(0).sum() == results["pairs"].distance[0] and results["pairs"].to_csr(1).nnz == 0
    groups = {name: group for name, group in results["pairs"].contents.groups.items() if name != "edges"}
    older = hpcsolve.Result(replace(results["pairs"].contents, groups=groups))  # of a version without /edges
    assert list(older.to_networkx(0).edges(data=True)) == [("Ann", "Bob", {}), ("Bob", "Cleo", {})]
    with pytest.raises(InputError, match="does not have the weights"):
        older.to_csr(0)


def test_tables_of_shortest_paths(results):
    pytest.importorskip("pandas", reason="pandas is not installed (pip install pandas)")
    rows = results["rows"].to_pandas()
    assert list(rows) == ["source", "vertex", "distance", "predecessor"] and len(rows) == 8
    ways = rows.set_index(["source", "vertex"])
    assert ways.loc[("Ann", "Cleo")].tolist() == [3.75, "Bob"] and np.isinf(ways.loc[("Bob", "Ann"), "distance"])
    assert ways["predecessor"].isna()[("Bob", "Ann")]
    near = results["voronoi"].to_pandas().set_index("vertex")
    assert list(near) == ["distance", "predecessor", "nearest"], "one search from all sources"
    assert near["nearest"].to_dict() == {"Ann": "Dan", "Bob": "Bob", "Cleo": "Bob", "Dan": "Dan"}
    assert results["targets"].to_pandas().to_dict("list") == {
        "source": ["Ann"] * 2, "target": ["Cleo", "Dan"], "distance": [3.75, np.inf]}
    pairs = results["pairs"].to_pandas()
    assert pairs["path"].tolist() == [["Ann", "Bob", "Cleo"], []] and pairs["source"].tolist() == ["Ann", "Ann"]


def test_no_tour_has_no_rows(results):
    none = results["none"]
    assert none.to_networkx().number_of_edges() == 0 and none.to_csr().nnz == 0
    if PANDAS:
        assert len(none.to_pandas()) == 0


def test_one_and_two_cities():
    one, two = hpcsolve.solve([[0]], **HERE), hpcsolve.solve([[0, 2], [3, 0]], **HERE)
    assert one.to_csr().nnz == 0 and list(one.to_networkx()) == [0]
    assert two.to_csr().toarray().tolist() == [[0, 2], [3, 0]]
    if PANDAS:
        assert one.to_pandas()["cumulative"].tolist() == [0] and two.to_pandas()["cumulative"].tolist()[-1] == 5


def test_names_that_are_not_unique_are_replaced_by_numbers(results):
    import dataclasses

    from hpcsolve.answers.contents import Dataset

    contents = results["tour"].contents
    twice = Dataset("text", "", "city").column(["Springfield"] * 8)
    groups = {**contents.groups, "instance": {**contents.groups["instance"], "city_name": twice}}
    result = hpcsolve.Result(dataclasses.replace(contents, groups=groups))
    assert len(result.to_networkx()) == 8 and set(result.tour_labels) == {"Springfield"}


def test_numbers_of_a_run(results):
    ants, tour = results["ants"], results["tour"]
    assert ants.table("colonies")["cost"].min() == ants.cost, "in the own unit, as the cost"
    assert list(ants.history) == ["step", "seconds", "best", "mean"] and ants.history["best"][-1] == ants.cost
    assert list(ants.improvements) == ["colony", "iteration", "cost"] and tour.improvements == {}
    assert ants.improvements["cost"].min() == ants.cost, "in the own unit, as the cost"
    assert tour.history == {} and tour.n == 8 and results["tree"].n == 4
    ranks = ants.table("ranks")
    assert 0 < ranks["seconds_run"][0] <= ants.seconds < 60 and ranks["seconds_check"][0] > 0


@pytest.mark.parametrize("name", ["tour", "ants", "none", "rows", "voronoi", "targets", "pairs", "tree"])
def test_a_saved_result_is_the_file_that_solve_writes(name, results, tmp_path):
    result = results[name]
    result.save(tmp_path / "sub" / "a.h5")
    loaded = hpcsolve.load(tmp_path / "sub" / "a.h5")
    assert (loaded.algorithm, loaded.job) == (result.algorithm, result.job)
    own_names = [own for own in ("tour_labels", "distance", "predecessor", "tree") if hasattr(result, own)]
    assert [own for own in own_names if hasattr(loaded, own)] == own_names != []
    for own in own_names:
        assert np.array_equal(getattr(loaded, own), getattr(result, own)), own
    loaded.save(tmp_path / "b.h5")
    assert solution(tmp_path / "b.h5") == solution(tmp_path / "sub" / "a.h5")
    if name == "rows":
        hpcsolve.solve(ROADS, "shortest-paths", sources=[0, 1], predecessors=True, output=tmp_path / "c.h5", **HERE)
        assert solution(tmp_path / "b.h5") == solution(tmp_path / "c.h5")
    with pytest.raises(InputError, match="exists"):
        result.save(tmp_path / "b.h5")
    result.save(tmp_path / "b.h5", overwrite=True)


def test_notebooks_show_a_table_and_no_foreign_html():
    hostile = nx.Graph()
    hostile.add_edge("<script>alert(1)</script>", "b", weight=1)
    hostile.graph["name"] = hostile.name = "<img src=x onerror=alert(1)>"
    shown = hpcsolve.solve(hostile, "shortest-paths", sources=[0], **HERE)._repr_html_()
    tags = []
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(shown)
    assert set(tags) == {"table", "caption", "tr", "th", "td"} and "distance 1 x 2" in shown


def test_an_optional_library_that_is_missing(results, monkeypatch):
    for name in ("pandas", "networkx"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(EnvironmentFault, match=f"{name} is not installed: pip install {name}"):
            getattr(results["tour"], f"to_{name}")()


def test_the_module_shows_what_it_has():
    assert {"solve", "load", "join", "Result", "__version__"} <= set(dir(hpcsolve))
    text = pydoc.plain(pydoc.render_doc(hpcsolve))
    assert "Solve a problem and return its result." in text and "Read a result file." in text
    assert "Return the answer as a `pandas.DataFrame`" in text


def test_the_legs_of_two_cities_add_up():
    """The two legs of a symmetric instance are two arcs, not one edge."""
    result = hpcsolve.solve([[0, 5], [5, 0]], device="cpu")
    assert result.to_networkx().size("weight") == result.cost == result.to_csr().sum() == 10


KINDS = ("tour", "symmetric", "open", "ants", "none", "rows", "row", "voronoi", "targets", "pairs", "tree", "places",
         "bounds", "batch", "cells", "field", "routes", "sums", "joined")
OWN = {  # property -> the results of this module that have it
    "tour": {"tour", "symmetric", "open", "ants", "none", "places", "bounds"},
    "distance": {"rows", "row", "voronoi", "targets", "pairs", "cells", "field", "routes"},
    "predecessor": {"rows", "row", "voronoi", "targets", "cells", "field"}, "tree": {"tree", "joined"},
    "closeness": {"sums"}, "access": {"sums"}, "cost": set(KINDS), "lower_bound": set(KINDS), "infeasible": set(KINDS),
    "sources": {"rows", "row", "voronoi", "targets", "pairs", "cells", "field", "routes", "sums"},
}
OWN |= {"tour_labels": OWN["tour"], "best_tours": OWN["tour"], "best_costs": OWN["tour"], "targets": OWN["sources"],
        "optimal_tours": OWN["tour"], "prize": OWN["tour"], "curve": OWN["tour"], "eccentricity": {"sums"},
        "centre": {"sums"},
        "terminals": OWN["sources"] | OWN["tree"]}
ARGUMENTS = {  # calls of a method that takes arguments
    "named": [([0, 1],), (7,), ([10**9],), ("Ann",), ([-1],)],
    "path": [(), (0,), (99,), ("Ann",), ("Ann", "Cleo"), ("Ann", "Zoe"), (1, 2, 3)],
    "table": [("ranks",), ("history",), ("solution",), ("job",), ("",)], "to_networkx": [(), (0,), (-1,), (99,)],
    "to_csr": [(), (0,), (99,)], "plot": [(), ("map",)], "save": [],
}
OPTIONS = ({}, {"network": True}, {"network": False}, {"network": TOWN}, {"network": ROADS}, {"network": 5},
           {"names": True}, {"geographic": True}, {"source": "Zoe"}, {"queries": [99]}, {"quantity": "mean"})


@pytest.mark.parametrize("name", KINDS)
def test_every_call_of_every_result_works_or_says_why_not(name, results, monkeypatch, tmp_path):
    """All public properties and methods, and all pictures with all options: one line says what there is instead."""
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    from hpcsolve.analysis import plot

    result, kinds = results[name], set()
    monkeypatch.chdir(tmp_path)
    calls = {f"{member}{words}": partial(getattr(result, member), *words)
             for member, several in ARGUMENTS.items() for words in several}
    calls |= {f"plot {options}": partial(result.plot, **options) for options in OPTIONS}
    calls |= {f"{drawn} {options}": partial(getattr(plot, drawn), result, **options)
              for drawn in plot.__all__ for options in ({}, {"network": TOWN}) if set(options) <= taken(plot, drawn)}
    calls |= {member: partial(getattr, result, member) for member in dir(type(result))
              if not member.startswith("__") and member not in ARGUMENTS}
    for call, function in calls.items():
        try:
            function()
        except HpcsolveError as error:
            assert len(str(error)) > 20 and "\n" not in str(error), call
        except AttributeError as error:
            assert str(error).startswith("this result has ") and f" and no {call}; it has " in str(error)
            kinds.add(call)
        finally:
            pyplot.close("all")
    assert kinds == {member for member, owners in OWN.items() if name not in owners}
    assert not any(hasattr(result, member) for member in kinds)


def taken(plot, name):
    """Return the parameters of a function that draws."""
    return set(inspect.signature(getattr(plot, name)).parameters)


def test_a_property_of_another_kind_says_what_there_is(results):
    with pytest.raises(AttributeError, match=r"this result has a tour and no tree; it has best_costs, .*tour_lab"):
        results["tour"].tree  # noqa: B018
    with pytest.raises(AttributeError, match="this result has a Steiner tree and no distance; it has te"):
        _ = results["tree"].distance
    with pytest.raises(InputError, match=r"plot_tour, which draws this result, has no option 'queries'; its optio"):
        results["tour"].plot(queries=[0])
    with pytest.raises(InputError, match=r"str is not axes of matplotlib; give what pyplot.gca\(\)"):
        results["tour"].plot("map")

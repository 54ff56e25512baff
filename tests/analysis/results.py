"""Small results of every kind, for tests of pictures and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import networkx
import numpy as np

import hpcsolve
from hpcsolve.answers.contents import Column, Contents, Dataset
from hpcsolve.problems.generate.graph import road_steiner
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.generate.tsp import random_matrix, uniform_tsp
from hpcsolve.problems.tsp import from_matrix
from tests.steiner_oracle import hypercube

HOSTILE = (
    "<script>alert(1)</script>", "a$b$c", "$\\frac{$", 'x\n"y"', "&amp;", "</svg>", "\N{RIGHT-TO-LEFT OVERRIDE}z",
    "http://example.org/x.png", "a" * 300,
)
FRIENDS = networkx.Graph()
FRIENDS.add_weighted_edges_from([("Ann", "Bob", 2), ("Bob", "Cleo", 3), ("Cleo", "Dan", 4), ("Bob", "Eve", 1)])


def solved(problem: Any, algorithm: str = "held-karp", **keys: Any) -> hpcsolve.Result:
    """Solve on one thread of the CPU."""
    return hpcsolve.solve(problem, algorithm, device="cpu", threads=1, **keys)


def hostile() -> hpcsolve.Result:
    """Return a tour through cities whose names try to become elements, formulas and addresses."""
    tsp = from_matrix(random_matrix(len(HOSTILE)).cost, "<img src=x onerror=alert(1)>", city_names=HOSTILE)
    return solved(tsp)


BATCH_COSTS = (9, 12, 3, 3, 21, 6, 15, 18, 24)
"""The costs of the tours of `BATCH`, whose last instance has none."""
BATCH = [*([[0, c / 3, 99], [99, 0, c / 3], [c / 3, 99, 0]] for c in BATCH_COSTS),
         [[0, 1, np.inf], [1, 0, np.inf], [np.inf, 1, 0]]]
PROBLEMS: Mapping[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "tour": (lambda: uniform_tsp(14), "held-karp", {}),
    "path": (lambda: [[0, 1, 9], [9, 0, 1], [1, 9, 0]], "held-karp", {"path": "open"}),
    "paths": (lambda: [[0, 1, 9], [9, 0, 1], [1, 9, 0]], "held-karp", {
        "path": "open", "objective": "latency", "count": True, "best": 4}),
    "windows": (lambda: uniform_tsp(11), "held-karp", {
        "objective": "finish", "time_unit": "second", "windows": {
            1: ("6:00", "9:00"), 4: ("7:10", "7:20", "0:05"), 7: ("6:30", None, 30), 9: (None, "8:00")}}),
    "prizes": (lambda: uniform_tsp(9), "held-karp", {"objective": "prize", "prizes": [0, 3, 0, 5, 2, 4, 1, 9, 1]}),
    "infeasible": (lambda: [[0, 1, np.inf], [1, 0, np.inf], [np.inf, 1, 0]], "held-karp", {}),
    "ants": (lambda: uniform_tsp(30), "ant-colony",
             {"colonies": 3, "bound": False, "optimum": 100, "stop": {"iterations": 8}}),
    "population": (lambda: uniform_tsp(60), "edge-assembly", {"population": 5}),
    "batch": (lambda: np.array(BATCH), "held-karp", {}),
    "tree": (lambda: road_steiner(60, 7), "steiner-kmb", {"mode": "kmb", "matrix": True}),
    "best tree": (lambda: road_steiner(400, 40), "steiner-kmb", {"mode": "best"}),
    "exact tree": (lambda: hypercube(5, 12, high=100), "steiner-kmb", {"mode": "exact"}),
    "tree of names": (lambda: FRIENDS, "steiner-kmb", {"terminals": ["Ann", "Dan", "Eve"]}),
    "distances": (lambda: road_graph(60), "shortest-paths", {"sources": [1, 30], "predecessors": True}),
    "distances of names": (lambda: FRIENDS, "shortest-paths", {"sources": [0, 3]}),
    "nearest": (lambda: road_graph(60), "shortest-paths", {"sources": [1, 30], "voronoi": True}),
    "targets": (lambda: road_graph(60), "shortest-paths", {"sources": [1, 30], "targets": [5, 6, 7]}),
    "reductions": (lambda: road_graph(60), "shortest-paths", {
        "sources": "all", "reduce": ["count", "nearest", "sum", "farthest", "access"], "cutoffs": [900, 5000], "k": 2,
        "decays": [{"gaussian": 900}]}),
    "reductions of names": (lambda: FRIENDS, "shortest-paths", {"sources": "all", "reduce": ["nearest"], "k": 2}),
    "queries": (lambda: road_graph(60), "shortest-paths", {"queries": [[1, 30], [5, 50]]}),
    "queries of names": (lambda: FRIENDS, "shortest-paths", {"queries": [[0, 3]]}),
}
"""Problem, algorithm and parameters for a result of each kind, with and without coordinates."""


def changed(result: hpcsolve.Result, group: str, **values: Any) -> hpcsolve.Result:
    """Return the result with other values of some datasets of a group."""
    old = result.contents.groups[group]
    columns = {name: old.get(name, Column("", Dataset("text", ""))) for name in values}
    new = {name: replace(column, values=values[name]) for name, column in columns.items()}
    groups = {**result.contents.groups, group: {**old, **new}}
    return hpcsolve.Result(Contents(result.contents.attributes, groups, result.contents.tables))

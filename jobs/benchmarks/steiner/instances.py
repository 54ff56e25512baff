"""The instances of the Steiner benchmark by name, what is known of them, and what a tree is worth there."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hpcsolve.errors import InputError
from hpcsolve.formats import read_graph
from hpcsolve.problems.generate.steiner import steiner_kinds
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import require_problem
from jobs.benchmarks.shortest_paths_graphs import WrongAnswerError

Pairs = NDArray[np.int64]
"""Edges of a tree: shape (edges, 2), positions of both ends."""
GENERATED: dict[str, Callable[[int, int], dict[str, int]]] = {
    "road": lambda n, terminals: {"n": n, "terminals": terminals},
    "power-law": lambda n, terminals: {"n": n, "edges": 9 * n, "terminals": terminals},
}
HOW_TO_NAME = "of HPCSOLVE_DATA/steiner (lin37, pace3_079, b01), or a kind, vertices and terminals: road:20000:500, \
power-law:5000:300"


@dataclass(frozen=True, eq=False)
class Instance:
    """A Steiner problem.

    Attributes
    ----------
    entry
        Of a job file.
    optimum
        None if it is not known.
    closure
        Weight and longest edge of the closure's spanning tree, by a program that is not hpcsolve; or None.
    """

    name: str
    entry: str
    graph: Graph
    optimum: int | None = None
    closure: tuple[int, int] | None = None

    @property
    def terminals(self) -> NDArray[np.int64]:
        """Positions."""
        assert self.graph.terminals is not None
        return self.graph.terminals

    def ratio(self, weight: int) -> str:
        """Of a tree to the optimum, as far as that is known."""
        return f"{weight / self.optimum:.4f}" if self.optimum else "-"

    def with_terminals(self, count: int) -> Instance:
        """The same with some of the terminals only, which are drawn; of it nothing is known."""
        if count >= len(self.terminals):
            return self
        some = np.sort(np.random.default_rng(0).choice(self.terminals, count, replace=False))
        return Instance(self.name, "", replace(self.graph, terminals=some))


def every_name() -> list[str]:
    """All files of HPCSOLVE_DATA/steiner that have a known optimum, from few vertices to many."""
    return list(_table())


def instance(name: str) -> Instance:
    """An instance by its name.

    Raises
    ------
    InputError
        There is none.
    """
    kind, _, size = name.partition(":")
    if kind in GENERATED:
        return _generated(name, kind, size)
    table = _table()
    row = table.get(name) or next((row for row in table.values() if row["name"].split(".")[0] == name), None)
    if row is None:
        raise InputError(f"there is no instance {name}; name one {HOW_TO_NAME}")
    path = _folder() / row["name"]
    closure = int(row["closure_mst"]), int(row["closure_bottleneck"])
    graph = require_problem(read_graph(str(path)).problem)
    return Instance(name, f'"{path}"', graph, int(row["best_known"]), closure)


def _generated(name: str, kind: str, size: str) -> Instance:
    numbers = size.split(":")
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        raise InputError(f"{name}: name an instance {HOW_TO_NAME}")
    keys = GENERATED[kind](*map(int, numbers))
    entry = ", ".join(f"{key} = {value}" for key, value in keys.items())
    graph = steiner_kinds()[f"{kind}-steiner"](**keys)
    return Instance(name, f'{{ generate = "{kind}-steiner", {entry} }}', graph)


def _folder() -> Path:
    folder = Path(os.environ.get("HPCSOLVE_DATA") or "") / "steiner"
    if "HPCSOLVE_DATA" not in os.environ or not (folder / "optima.csv").exists():
        raise InputError("HPCSOLVE_DATA must name a folder with steiner/optima.csv; or generate: --instances road:9:3")
    return folder


def _table() -> dict[str, dict[str, str]]:
    """What the two tables say of each file; by its name in SteinLib, where the file is named otherwise."""
    rows: dict[str, dict[str, str]] = {}
    for table in ("optima.csv", "reference.csv"):
        with open(_folder() / table, encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                rows[row["name"]] = rows.get(row["name"], {}) | row
    ordered = sorted(rows.values(), key=lambda row: int(row["vertices"]))
    return {_name(row): row for row in ordered}


def _name(row: dict[str, str]) -> str:
    return row["source"].rpartition(" = ")[2] if " = " in row["source"] else row["name"].split(".")[0]


def edges_of(graph: Graph) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Both ends and the weight of each edge, once."""
    tails = graph.tails()
    once = np.flatnonzero(tails < graph.heads)
    return tails[once], graph.heads[once], graph.weights[once].astype(np.int64)


def weight_of(where: Instance, pairs: Pairs) -> int:
    """The weight of a tree that any program found; ends that are no terminals are allowed.

    Raises
    ------
    WrongAnswerError
        It is no tree of the graph, does not join the terminals, or is lighter than a proven optimum.
    """
    graph = where.graph
    ends = np.unique(np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1), axis=0)
    keys = graph.tails().astype(np.int64) * graph.n + graph.heads
    wanted = ends[:, 0] * graph.n + ends[:, 1]
    place = np.searchsorted(keys, wanted)
    if not np.array_equal(keys[np.minimum(place, graph.arcs - 1)], wanted):
        raise WrongAnswerError(f"{where.name}: a tree has an edge that the graph has not")
    shape = (graph.n, graph.n)
    count, part = connected_components(coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape))
    weight: int = sum(graph.weights[place].tolist())
    if count != graph.n - len(ends) or len(set(part[where.terminals].tolist())) != 1:
        raise WrongAnswerError(f"{where.name}: a tree has a circle, or joins not all terminals")
    if weight < (where.optimum or 0):
        raise WrongAnswerError(f"{where.name}: a tree weighs {weight}, less than the optimum, {where.optimum}")
    return weight

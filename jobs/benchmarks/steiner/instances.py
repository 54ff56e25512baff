"""The instances of the Steiner benchmark by name, what is known about them, and the weight of a tree on them."""

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
from hpcsolve.problems.generate import makers
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import require_problem
from jobs.benchmarks.common.answers import WrongAnswerError

TreeEdges = NDArray[np.int64]
"""Edges of a tree: positions of both ends, shape (edges, 2)."""
GENERATED: dict[str, Callable[[int, int], dict[str, int]]] = {
    "road": lambda n, terminals: {"n": n, "terminals": terminals},
    "power-law": lambda n, terminals: {"n": n, "edges": 9 * n, "terminals": terminals},
}
"""Kinds of generated instances: the generator's parameters for n vertices and so many terminals."""
HOW_TO_NAME = "a file of HPCSOLVE_DATA/steiner (lin37, pace3_079, b01), or kind:vertices:terminals (road:20000:500, \
power-law:5000:300)"


@dataclass(frozen=True, eq=False)
class Instance:
    """A Steiner problem.

    Attributes
    ----------
    job_instance
        The value of `instance` that stands for it in a job file.
    optimum
        None if it is not known.
    closure
        Weight and longest edge of the minimum spanning tree of the terminal distance graph (metric closure), found by
        a program that is not hpcsolve; None if they are not known.
    """

    name: str
    job_instance: str
    graph: Graph
    optimum: int | None = None
    closure: tuple[int, int] | None = None

    @property
    def terminals(self) -> NDArray[np.int64]:
        """The positions of the terminals, shape (k,)."""
        assert self.graph.terminals is not None
        return self.graph.terminals

    def ratio(self, weight: int) -> str:
        """Return a tree's weight divided by the optimum, or "-" if that is not known."""
        return f"{weight / self.optimum:.4f}" if self.optimum else "-"

    def with_terminals(self, count: int) -> Instance:
        """Return the instance with `count` random terminals, or itself if it has no more than these."""
        if count >= len(self.terminals):
            return self
        some = np.sort(np.random.default_rng(0).choice(self.terminals, count, replace=False))
        return Instance(self.name, "", replace(self.graph, terminals=some))


def every_name() -> list[str]:
    """Return the names of all files listed in HPCSOLVE_DATA/steiner/optima.csv, by number of vertices."""
    return list(_table())


def read_instance(name: str) -> Instance:
    """Read or generate an instance by its name.

    Raises
    ------
    InputError
        If there is no such instance.
    """
    kind, _, size = name.partition(":")
    if kind in GENERATED:
        return _generated(name, kind, size)
    table = _table()
    row = table.get(name) or next((row for row in table.values() if row["name"].split(".")[0] == name), None)
    if row is None:
        raise InputError(f"there is no instance {name}; name {HOW_TO_NAME}")
    path = _folder() / row["name"]
    closure = int(row["closure_mst"]), int(row["closure_bottleneck"])
    graph = require_problem(read_graph(str(path)).problem)
    return Instance(name, f'"{path}"', graph, int(row["best_known"]), closure)


def _generated(name: str, kind: str, size: str) -> Instance:
    numbers = size.split(":")
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        raise InputError(f"there is no instance {name}; name {HOW_TO_NAME}")
    keys = GENERATED[kind](*map(int, numbers))
    parameters = ", ".join(f"{key} = {value}" for key, value in keys.items())
    graph = makers("steiner")[f"{kind}-steiner"](**keys)
    return Instance(name, f'{{ generate = "{kind}-steiner", {parameters} }}', graph)


def _folder() -> Path:
    folder = Path(os.environ.get("HPCSOLVE_DATA") or "") / "steiner"
    if "HPCSOLVE_DATA" not in os.environ or not (folder / "optima.csv").exists():
        raise InputError("HPCSOLVE_DATA must name a folder with steiner/optima.csv; or generate an instance: "
                         "--instances road:9:3")
    return folder


def _table() -> dict[str, dict[str, str]]:
    """Return the rows of the two tables, joined, by the instance's name in SteinLib or else the file's name."""
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
    """Return tails, heads and weights of the edges, each edge once."""
    tails = graph.tails()
    once = np.flatnonzero(tails < graph.heads)
    return tails[once], graph.heads[once], graph.weights[once].astype(np.int64)


def weight_of(instance: Instance, edges: TreeEdges) -> int:
    """Return the weight of a tree that any program found. Leaves that are no terminals are allowed.

    Raises
    ------
    WrongAnswerError
        If it is not a tree of the graph, does not join the terminals, or is lighter than the optimum.
    """
    graph = instance.graph
    ends = np.unique(np.sort(np.asarray(edges, np.int64).reshape(-1, 2), axis=1), axis=0)
    keys = graph.tails().astype(np.int64) * graph.n + graph.heads
    tree_keys = ends[:, 0] * graph.n + ends[:, 1]
    arcs = np.searchsorted(keys, tree_keys)
    if not np.array_equal(keys[np.minimum(arcs, graph.arcs - 1)], tree_keys):
        raise WrongAnswerError(f"{instance.name}: a tree has an edge that is not in the graph")
    shape = (graph.n, graph.n)
    count, component = connected_components(coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape))
    weight: int = sum(graph.weights[arcs].tolist())
    if count != graph.n - len(ends) or len(set(component[instance.terminals].tolist())) != 1:
        raise WrongAnswerError(f"{instance.name}: a tree has a cycle, or does not join all terminals")
    if weight < (instance.optimum or 0):
        raise WrongAnswerError(f"{instance.name}: a tree weighs {weight}, less than the optimum {instance.optimum}")
    return weight

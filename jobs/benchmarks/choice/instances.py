"""The instances: files of HPCSOLVE_DATA, and generated places, matrices and streets, each written as a user has it."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_graph, write
from hpcsolve.formats.steinlib import write_steinlib
from hpcsolve.problems.generate import generate
from hpcsolve.problems.generate.graph import power_law_steiner, road_steiner
from hpcsolve.problems.generate.tsp import clustered_tsp, random_matrix, uniform_tsp
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import to_scipy
from hpcsolve.problems.tsp import Tsp, from_costs

TSPLIB = ("burma14", "br17", "gr17", "ulysses16", "gr21", "ulysses22", "gr24", "fri26", "bayg29", "bays29", "ftv33",
          "ftv38", "p43", "ry48p", "eil51", "berlin52", "eil76", "kroA100", "ch150", "d198")
"""Files of HPCSOLVE_DATA/tsplib."""
STEINLIB = ("b01", "cc6-2p", "hc6u", "b18", "bipe2p", "pace3_017", "pace3_027", "pace2_002", "pace3_079")
"""Files of HPCSOLVE_DATA/steiner with 5 to 200 terminals."""
TOURS = ("uniform:10", "uniform:40", "uniform:60", "uniform:90", "uniform:122", "uniform:200", "clustered:50",
         "clustered:100", "symmetric:35", "symmetric:60", "symmetric:100", "asymmetric:30", "asymmetric:50",
         "asymmetric:80", "asymmetric:100", "asymmetric:121", "asymmetric:180", "walk:25", "walk:70", "walk:115")
"""Generated tours: the kind and the number of cities."""
TREES = ("road:400:12", "road:1000:5", "road:2000:30", "road:3000:100", "road:5000:60", "road:10000:12",
         "road:20000:200", "power-law:1000:20", "power-law:2000:8", "grid:900:20", "grid:2500:40")
"""Generated Steiner problems: the kind, the number of vertices, and that of terminals."""
HOW_TO_NAME = "a file of HPCSOLVE_DATA, such as ry48p or b18, or kind:cities or kind:vertices:terminals, such as \
uniform:40, clustered:40, symmetric:40, asymmetric:40, walk:40, road:400:12, power-law:400:12, grid:400:12"


@dataclass(frozen=True)
class Instance:
    """An instance in a file.

    Attributes
    ----------
    size
        What it has, in words: `40 cities`.
    is_tree
        Whether it is a Steiner problem, else one of tours.
    best
        The best known cost, or None.
    """

    name: str
    path: Path
    size: str
    is_tree: bool
    best: float | None = None


def made(name: str, folder: Path) -> Instance | None:
    """Return an instance, whose file is written into a folder if it is generated, or None if HPCSOLVE_DATA lacks it.

    Raises
    ------
    InputError
        There is no such kind of instance.
    """
    kind, *numbers = name.split(":")
    if not numbers:
        return _published(name)
    if kind in _TOURS:
        return _tour(name, kind, int(numbers[0]), folder)
    if kind in _TREES:
        graph = _TREES[kind](int(numbers[0]), int(numbers[1]))
        path = folder / f"{name.replace(':', '-')}.stp"
        write_steinlib(graph, str(path))
        return Instance(name, path, _size_of_graph(graph), True)
    raise InputError(f"there is no instance {name}; name {HOW_TO_NAME}")


def _tour(name: str, kind: str, n: int, folder: Path) -> Instance:
    """Return generated cities: places as a TSPLIB file, costs as a table."""
    path = folder / f"{name.replace(':', '-')}{'.tsp' if kind in ('uniform', 'clustered') else '.csv'}"
    write(_TOURS[kind](n), str(path))
    return Instance(name, path, f"{n} cities", False)


def _walk(n: int) -> Tsp:
    """Return the distances between random junctions of a road network."""
    graph = generate("graph", "road-graph", n=5000, seed=2)
    chosen = np.sort(np.random.default_rng(n).choice(graph.n, n, replace=False))
    return from_costs(dijkstra(to_scipy(graph), indices=chosen)[:, chosen].astype(np.int64), f"walk-{n}")


def _grid(n: int, terminals: int) -> Graph:
    side = round(n**0.5)
    graph = generate("graph", "grid-graph", rows=side, columns=side, seed=1)
    return graph.with_terminals_at(np.sort(np.random.default_rng(n).choice(graph.n, terminals, replace=False)))


_TOURS: dict[str, Callable[[int], Tsp]] = {
    "uniform": lambda n: uniform_tsp(n, seed=3), "clustered": lambda n: clustered_tsp(n, seed=3), "walk": _walk,
    "symmetric": lambda n: random_matrix(n, seed=5, symmetric=True), "asymmetric": lambda n: random_matrix(n, seed=4),
}
_TREES: dict[str, Callable[[int, int], Graph]] = {
    "road": lambda n, terminals: road_steiner(n, terminals), "grid": _grid,
    "power-law": lambda n, terminals: power_law_steiner(n, 9 * n, terminals),
}


def _published(name: str) -> Instance | None:
    for part, column in (("tsplib", "optimum"), ("steiner", "best_known")):
        folder = Path(os.environ.get("HPCSOLVE_DATA") or "/nowhere") / part
        found = sorted(path for path in folder.glob(f"{name}.*") if ".tour" not in path.name)
        known = _column(folder / "optima.csv", column) if found else {}
        if found and part == "steiner" and found[0].name in known:
            size = _size_of_graph(read_graph(str(found[0])).problem)
            return Instance(name, found[0], size, True, known[found[0].name])
        if found and part == "tsplib" and name in known:
            return Instance(name, found[0], f"{read(str(found[0])).problem.n} cities", False, known[name])
    return None


def _column(table: Path, column: str) -> dict[str, float]:
    """Return the values of a column by name."""
    with open(table, encoding="utf-8") as lines:
        return {row["name"]: float(row[column]) for row in csv.DictReader(lines)}


def _size_of_graph(graph: Graph) -> str:
    assert graph.terminals is not None
    return f"{graph.n} vertices, {len(graph.terminals)} terminals"

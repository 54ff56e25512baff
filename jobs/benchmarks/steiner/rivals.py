"""The rivals: other solvers of Steiner problems from PyPI, each optional (networkx, rustworkx, scipy, OGDF)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from pathlib import Path

import numpy as np

from hpcsolve.problems.graph import Graph
from jobs.benchmarks.common.compiled import compile_library, pointer
from jobs.benchmarks.steiner import with_scipy
from jobs.benchmarks.steiner.instances import TreeEdges, edges_of

Call = Callable[[], TreeEdges]
OGDF = Path(__file__).with_name("with_ogdf.cpp")
OGDF_METHODS = ("Kou", "Mehlhorn", "Takahashi")
"""OGDF's algorithms, in the order of their numbers in with_ogdf.cpp."""
KOU, EACH_TERMINAL = "networkx, kou", "scipy, a search a terminal"


@dataclass(frozen=True)
class Rival:
    """A solver to compare with.

    Attributes
    ----------
    prepare
        Takes a graph, does what need not be timed, and returns the call that is timed; that returns the tree's edges.
    """

    name: str
    prepare: Callable[[Graph], Call]


def all_rivals() -> tuple[list[Rival], list[str]]:
    """Return the rivals that are installed, and a line for each package that is not."""
    rivals = scipy_rivals()
    skipped = []
    for package, maker in (("networkx", _networkx), ("rustworkx", _rustworkx), ("ogdf-wheel", _ogdf)):
        try:
            rivals += maker()
        except (ImportError, metadata.PackageNotFoundError):
            skipped.append(f"{package}: not installed")
    return rivals, skipped


def scipy_rivals() -> list[Rival]:
    """Return the rivals written with scipy and numpy, `EACH_TERMINAL` first."""
    return [
        Rival(EACH_TERMINAL, partial(with_scipy.each_terminal, halt=False)),
        Rival("scipy, to the bottleneck", partial(with_scipy.each_terminal, halt=True)),
        Rival("scipy, Mehlhorn", with_scipy.all_terminals),
    ]


def _networkx() -> list[Rival]:
    networkx = import_module("networkx")

    def prepare(method: str, graph: Graph) -> Call:
        tails, heads, weights = (column.tolist() for column in edges_of(graph))
        given, terminals = networkx.Graph(), _terminals(graph)
        given.add_weighted_edges_from(zip(tails, heads, weights, strict=True))
        solve = networkx.approximation.steiner_tree
        return lambda: np.array(list(solve(given, terminals, method=method).edges), np.int64)

    return [Rival(f"networkx, {method}", partial(prepare, method)) for method in ("kou", "mehlhorn")]


def _rustworkx() -> list[Rival]:
    rustworkx = import_module("rustworkx")

    def prepare(graph: Graph) -> Call:
        tails, heads, weights = (column.tolist() for column in edges_of(graph))
        given, terminals = rustworkx.PyGraph(multigraph=False), _terminals(graph)
        given.add_nodes_from(range(graph.n))
        given.add_edges_from(list(zip(tails, heads, map(float, weights), strict=True)))
        return lambda: np.array(rustworkx.steiner_tree(given, terminals, float).edge_list(), np.int64)

    return [Rival("rustworkx", prepare)]


def _ogdf() -> list[Rival]:
    """Return OGDF's algorithms, called from with_ogdf.cpp, which is optimised as the wheel's library is."""
    files = metadata.files("ogdf-wheel") or []
    folder = next(Path(str(file.locate())).resolve().parent for file in files if file.name == "libOGDF.so")
    include = folder.parent / "include"
    flags = f"-O3 -std=c++17 -fPIC -shared -I{include} -I{include}/ogdf-release"
    library = compile_library(OGDF, f"{flags} -L{folder} -Wl,--no-as-needed -lOGDF -Wl,-rpath,{folder}")
    library.ogdf_read.restype = ctypes.c_void_p

    def prepare(method: int, graph: Graph) -> Call:
        tails, heads, weights = edges_of(graph)
        terminals = np.array(_terminals(graph), np.int32)
        arrays = [pointer(array) for array in (tails, heads, weights, terminals)]
        problem = ctypes.c_void_p(library.ogdf_read(graph.n, len(tails), *arrays[:3], len(terminals), arrays[3]))

        def call() -> TreeEdges:
            chosen = np.zeros(len(tails), np.uint8)
            library.ogdf_solve(problem, method, pointer(chosen))
            return np.stack([tails, heads], axis=1)[chosen > 0].astype(np.int64)

        return call

    return [Rival(f"OGDF, {name}", partial(prepare, number)) for number, name in enumerate(OGDF_METHODS)]


def _terminals(graph: Graph) -> list[int]:
    assert graph.terminals is not None
    found: list[int] = graph.terminals.tolist()
    return found

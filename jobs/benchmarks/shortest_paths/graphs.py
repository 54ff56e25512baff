"""The graphs of the shortest-paths benchmark, and the searches that all its parts make on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.engines import searcher
from hpcsolve.algorithms.shortest_paths.engines.single import Searcher
from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph, first_keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Searches, Solved, Want, row_searches
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.formats import read_graph
from hpcsolve.problems.generate import generate
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import to_scipy

NEW_YORK = "new-york"
FILES = {NEW_YORK: "USA-road-d.NY"}
"""Names of files without suffix, where they are not the graph's name."""
SEARCH_ALONE = Want.DISTANCES | Want.UNCHECKED
"""What a search returns by default: distances, without the check that every run of hpcsolve makes."""
GENERATED: dict[str, Callable[[int], dict[str, int]]] = {
    "road": lambda size: {"n": size},
    "road-network": lambda size: {"n": size},
    "grid": lambda size: {"rows": size, "columns": size},
    "geometric": lambda size: {"n": size},
    "rmat": lambda size: {"scale": size},
}
"""Kinds of generated graphs: the generator's parameters for a size."""
HOW_TO_NAME = f"""{NEW_YORK}, the NAME of HPCSOLVE_DATA/roads/NAME.gr and NAME.co (DIMACS arcs and coordinates, \
perhaps .gz) or of NAME.pace.gr (BAY, NE), or a kind and a size: road:1000000, road-network:1000000, \
grid:1024 (side), geometric:500000, rmat:20 (scale)"""


@dataclass(frozen=True, eq=False)
class Network:
    """A graph in hpcsolve's layout, and for scipy in two orders of the vertices.

    Attributes
    ----------
    sources
        Positions of random vertices that have arcs, shape (sources,).
    """

    name: str
    graph: Graph
    keys: Keys
    search_graph: SearchGraph
    sources: NDArray[np.int64]

    @cached_property
    def places(self) -> NDArray[np.uint32]:
        """The position of each vertex in the layout, shape (n,)."""
        return self.search_graph.places()

    @cached_property
    def in_layout_order(self) -> Any:
        """The graph as a csr_array for scipy, with the same order of vertices and arcs as in hpcsolve's layout."""
        laid_out, n = self.search_graph, self.graph.n
        heads, weights = laid_out.arcs[0::2].astype(np.int32), laid_out.arcs[1::2].astype(np.float64)
        return csr_array((weights, heads, laid_out.offsets.astype(np.int32)), shape=(n, n))

    @cached_property
    def in_file_order(self) -> Any:
        """The graph as a csr_array for scipy, with the vertices in the order of the file."""
        return to_scipy(self.graph).astype(np.float64)

    def prepared(self, engine: str = "near-far-block", delta: float | None = None, batch: int | None = None,
                 device: Device | None = None) -> Searcher:
        """Return hpcsolve's search engine for this graph, on one core unless a device is given."""
        core = device or HostDevice(1)
        return searcher(self.graph, core, self.keys, engine, delta, search_graph=self.search_graph, batch=batch)

    def searches(self) -> list[Searches]:
        """Return a search to all vertices for each source."""
        return [row_searches([np.array([source])], None, self.places) for source in self.sources]

    def expected(self) -> NDArray[np.float64]:
        """Return scipy's distances in the order of the file, without hpcsolve's layout, shape (sources, n)."""
        return np.asarray(dijkstra(self.in_file_order, indices=self.sources))

    def arcs_of_dijkstra(self, distance: NDArray[np.float64]) -> int:
        """Return how many arcs Dijkstra's algorithm scans: those of all reached vertices, each once."""
        return int(np.diff(self.graph.offsets)[np.isfinite(distance)].sum())


def read_network(name: str, sources: int) -> Network:
    """Read or generate a graph by its name, lay it out, and draw this many sources.

    Raises
    ------
    InputError
        If there is no such graph.
    """
    graph = read_graph_named(name)
    keys = first_keys(graph)
    candidates = np.flatnonzero(np.diff(graph.offsets))
    chosen = np.random.default_rng(0).choice(candidates, min(sources, len(candidates)), replace=False)
    return Network(name, graph, keys, lay_out(graph, keys), chosen)


def read_graph_named(name: str) -> Graph:
    """Read or generate a graph by its name. Raises `InputError` if there is none of that name."""
    if ":" not in name:
        return read_graph(*map(str, _roads(name))).problem
    kind, parameters = _generator(name)
    return generate("graph", kind, **parameters)


def job_instance(name: str) -> str:
    """Return the value of `instance` that stands for this graph in a job file."""
    if ":" not in name:
        roads, *coordinates = _roads(name)
        beside = "".join(f', coordinates = "{each}"' for each in coordinates)
        return f'{{ file = "{roads}"{beside} }}'
    kind, parameters = _generator(name)
    return f'{{ generate = "{kind}", ' + ", ".join(f"{key} = {value}" for key, value in parameters.items()) + " }"


def _generator(name: str) -> tuple[str, dict[str, int]]:
    kind, _, size = name.partition(":")
    if kind not in GENERATED or not size.isdigit():
        raise InputError(f"there is no graph {name}; name {HOW_TO_NAME}")
    return kind if kind == "road-network" else f"{kind}-graph", GENERATED[kind](int(size))


def _roads(name: str) -> tuple[Path, ...]:
    """Return the paths of a road network's files: with arcs, and with coordinates if there are any."""
    stem, data = FILES.get(name, name), os.environ.get("HPCSOLVE_DATA")
    for suffix in ("", ".gz", ".xz"):
        for ends in ((".gr", ".co"), (".pace.gr",)):
            files = tuple(Path(data or "") / "roads" / f"{stem}{end}{suffix}" for end in ends)
            if data and all(file.exists() for file in files):
                return files
    raise InputError(f"HPCSOLVE_DATA must name a folder with roads/{stem}.gr and {stem}.co, perhaps .gz; "
                     f"or name another graph: {HOW_TO_NAME}")


def solve(prepared: Searcher, searches: Searches, wanted: int = SEARCH_ALONE) -> tuple[NDArray[Any], Solved]:
    """Run the searches and return their keys, shape (searches, n), and what else they found.

    The arrays of the results are allocated here, because scipy also allocates its results in the time that is measured.
    """
    shape = len(searches), prepared.graph.n
    keys = np.empty(shape, prepared.keys.dtype)
    before = np.empty(shape, np.uint32) if wanted & Want.PREDECESSORS else None
    return keys, prepared.solve(searches, wanted, keys, before)


def distances(prepared: Searcher, keys: NDArray[Any]) -> NDArray[np.float64]:
    """Return keys as distances of type float64, with infinity for unreached vertices, as scipy has them."""
    return np.where(keys == prepared.keys.no_path, np.inf, prepared.keys.decode(keys).astype(np.float64))

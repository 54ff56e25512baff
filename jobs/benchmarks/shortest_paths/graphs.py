"""The graphs of the shortest-paths benchmark, and what all its parts do with them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.engines import Engine
from hpcsolve.algorithms.shortest_paths.jobs import UNCHECKED, WANTS_DISTANCES, WANTS_PREDECESSORS, Jobs, row_jobs
from hpcsolve.algorithms.shortest_paths.keys import Keys, first_keys
from hpcsolve.algorithms.shortest_paths.layout import Layout, lay_out
from hpcsolve.algorithms.shortest_paths.searcher import Searcher, Solved, searcher
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.formats import read_graph
from hpcsolve.problems.generate.graph import generate_graph
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_convert import to_scipy

NEW_YORK = "new-york"
ALONE = WANTS_DISTANCES | UNCHECKED
GENERATED: dict[str, Callable[[int], dict[str, int]]] = {
    "road": lambda size: {"n": size},
    "grid": lambda size: {"rows": size, "columns": size},
    "geometric": lambda size: {"n": size},
    "rmat": lambda size: {"scale": size},
}
HOW_TO_NAME = f"{NEW_YORK}, or a kind and a size: road:1000000, grid:1024 (a side), geometric:500000, rmat:20 (scale)"


class WrongAnswerError(HpcsolveError):
    """A solver is wrong about a distance or a path."""

    exit_code = 1


@dataclass(frozen=True, eq=False)
class Network:
    """A graph, laid out for hpcsolve and in two orders for scipy.

    Attributes
    ----------
    sources
        Shape (sources,): positions of vertices with arcs, at random.
    """

    name: str
    graph: Graph
    keys: Keys
    layout: Layout
    sources: NDArray[np.int64]

    @cached_property
    def places(self) -> NDArray[np.uint32]:
        """Where each vertex comes in the layout."""
        return self.layout.places()

    @cached_property
    def in_order(self) -> Any:
        """For scipy, a csr_array: the very rows that hpcsolve searches, vertices in the layout's order."""
        heads, weights = self.layout.arcs[0::2].astype(np.int32), self.layout.arcs[1::2].astype(np.float64)
        return csr_array((weights, heads, self.layout.offsets.astype(np.int32)), shape=(self.graph.n, self.graph.n))

    @cached_property
    def as_read(self) -> Any:
        """For scipy, a csr_array: vertices in the order of the file."""
        return to_scipy(self.graph).astype(np.float64)

    def prepared(self, engine: Engine = "near-far-block", delta: float | None = None, batch: int | None = None,
                 device: HostDevice | None = None) -> Searcher:  # fmt: skip
        """The graph on one core."""
        core = device or HostDevice(1)
        return searcher(self.graph, core, self.keys, engine, delta, layout=self.layout, batch=batch)

    def jobs(self) -> list[Jobs]:
        """A search from each source."""
        return [row_jobs([np.array([source])], None, self.places) for source in self.sources]

    def expected(self) -> NDArray[np.float64]:
        """scipy's distances, shape (sources, n), in the order of the file: without our layout."""
        return np.asarray(dijkstra(self.as_read, indices=self.sources))

    def arcs_of_dijkstra(self, distance: NDArray[np.float64]) -> int:
        """Arcs that Dijkstra's algorithm follows: those of all that is reached, each once."""
        return int(np.diff(self.graph.offsets)[np.isfinite(distance)].sum())


def network(name: str, sources: int) -> Network:
    """A graph by its name, laid out.

    Raises
    ------
    InputError
        There is no such graph.
    """
    graph = _read(name)
    keys = first_keys(graph)
    candidates = np.flatnonzero(np.diff(graph.offsets))
    chosen = np.random.default_rng(0).choice(candidates, min(sources, len(candidates)), replace=False)
    return Network(name, graph, keys, lay_out(graph, keys), chosen)


def _read(name: str) -> Graph:
    if name == NEW_YORK:
        return read_graph(*map(str, _new_york())).problem
    kind, parameters = _generator(name)
    return generate_graph(kind, **parameters)


def instance(name: str) -> str:
    """The graph's entry in a job file."""
    if name == NEW_YORK:
        roads, places = _new_york()
        return f'{{ file = "{roads}", coordinates = "{places}" }}'
    kind, parameters = _generator(name)
    return f'{{ generate = "{kind}", ' + ", ".join(f"{key} = {value}" for key, value in parameters.items()) + " }"


def _generator(name: str) -> tuple[str, dict[str, int]]:
    kind, _, size = name.partition(":")
    if kind not in GENERATED or not size.isdigit():
        raise InputError(f"there is no graph {name}; name {HOW_TO_NAME}")
    return f"{kind}-graph", GENERATED[kind](int(size))


def _new_york() -> tuple[Path, Path]:
    """Files of arcs and of coordinates."""
    folder = Path(os.environ.get("HPCSOLVE_DATA") or "") / "roads"
    files = folder / "USA-road-d.NY.gr.gz", folder / "USA-road-d.NY.co.gz"
    if "HPCSOLVE_DATA" not in os.environ or not all(file.exists() for file in files):
        raise InputError(f"HPCSOLVE_DATA must name a folder with roads/{files[0].name} and .co.gz; or use --graphs")
    return files


def solve(prepared: Searcher, jobs: Jobs, wanted: int = ALONE) -> tuple[NDArray[Any], Solved]:
    """Keys, shape (searches, n), and what the searches took; makes room for what it finds, as scipy does."""
    shape = len(jobs), prepared.layout.n
    keys = np.empty(shape, prepared.keys.dtype)
    before = np.empty(shape, np.uint32) if wanted & WANTS_PREDECESSORS else None
    return keys, prepared.solve(jobs, wanted, keys, before)


def require_equal(name: str, equal: bool) -> None:
    """Stop where solvers disagree: no time counts then.

    Raises
    ------
    WrongAnswerError
        They do.
    """
    if not equal:
        raise WrongAnswerError(f"{name}: the solvers do not agree")


def distances(prepared: Searcher, keys: NDArray[Any]) -> NDArray[np.float64]:
    """As scipy has them."""
    return np.where(keys == prepared.keys.unreached, np.inf, prepared.keys.decode(keys).astype(np.float64))


def least_seconds(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """CPU seconds of each call, the best of several; taken in turn, so that all see the same load."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - started)
    return best

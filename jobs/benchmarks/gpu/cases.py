"""What is timed on a GPU: problems with their parameters, and the least time that each may take on an H200.

The floors are those of jobs/benchmarks/gpu.md. Published instances that HPCSOLVE_DATA lacks are replaced by generated
ones of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hpcsolve.algorithms.base import NO_STOP, StopCriteria
from hpcsolve.algorithms.held_karp.lattice.split import split_cities
from hpcsolve.errors import InputError
from hpcsolve.problems.generate import call_generator, makers
from jobs.benchmarks.ants.instances import read_or_generate
from jobs.benchmarks.held_karp.peak import min_adds
from jobs.benchmarks.shortest_paths.graphs import NEW_YORK, read_graph_named
from jobs.benchmarks.steiner.instances import read_instance

MEMORY_RATE, ADD_RATE = 4.3e12, {2: 2.97e13, 4: 1.48e13}
"""Bytes a second of an H200's memory, and min-adds a second by bytes of a state."""
SEARCH_SECONDS, GRID_SECONDS = 12e-6, 0.6e-3
"""The least time of a search: on New York beside many others, and on R-MAT 20 alone."""
CITIES = {2: (24, 26, 28, 30, 32, 34), 4: (24, 26, 28, 30, 32, 33)}
TREES = {"alue7080": ("road:30000:2344", 6e-3), "G103": ("road:78000:3033", 12e-3), "I083": ("road:89000:4991", 60e-3)}
"""Steiner problems: the generated one that replaces a missing file, and the least seconds of all searches."""
COLONIES = (1, 32, 160)


@dataclass(frozen=True)
class Case:
    """A problem to be solved.

    Attributes
    ----------
    problem
        Reads or generates it.
    floor
        The least seconds of its kernels, None if not known.
    """

    algorithm: str
    problem: Callable[[], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stop: StopCriteria = NO_STOP
    floor: float | None = None


def cases(small: bool) -> dict[str, Case]:
    """Return all cases by name. The small ones take a second each on the stub driver."""
    found = {**_held_karp(small), **_paths(small), **_trees(small), **_ants(small)}
    return {name: replace(case, floor=None) for name, case in found.items()} if small else found


def _held_karp(small: bool) -> dict[str, Case]:
    found = {}
    for width, sizes in CITIES.items():
        for n in (10, 12) if small else sizes:
            make = _generated("tsp", "random-matrix", n=n, seed=n, high=1000 if width == 2 else 10**6)
            found[f"held-karp-{n}-u{width}"] = Case("held-karp", make, floor=held_karp_floor(n, width))
    return found


def held_karp_floor(n: int, width: int) -> float:
    """Return the least seconds for n asymmetric cities on an H200: of arithmetic or memory, whichever takes longer."""
    moved = 2 * split_cities(n).mid * 2 ** (n - 2) * width
    return max(min_adds(n) / ADD_RATE[width], moved / MEMORY_RATE)


def _paths(small: bool) -> dict[str, Case]:
    found = {}
    size = 2000 if small else 264346
    for sources in (6, 24) if small else (264, 528, 1584):
        asked = {"sources": list(range(1, size, size // sources))[:sources]}
        make = (lambda: read_graph_named("road:2000")) if small else _new_york
        found[f"new-york-{sources}"] = Case("shortest-paths", make, asked, floor=sources * SEARCH_SECONDS)
    scale = 9 if small else 20
    asked = {"sources": [1], "engine": "near-far-grid"}
    found[f"rmat-{scale}"] = Case("shortest-paths", _generated("graph", "rmat-graph", scale=scale), asked,
                                  floor=GRID_SECONDS)
    return found


def _trees(small: bool) -> dict[str, Case]:
    asked = {"mode": "kmb", "engine": "tile"}
    if small:
        return {"kmb-small": Case("steiner-kmb", lambda: read_instance("road:300:20").graph, asked)}
    return {f"kmb-{name}": Case("steiner-kmb", _tree(name, other), asked, floor=floor)
            for name, (other, floor) in TREES.items()}


def _ants(small: bool) -> dict[str, Case]:
    names, iterations = (("small40",), 4) if small else (("pr1002", "pr2392"), 40)
    stop, found = StopCriteria(iterations=iterations), {}
    for name in names:
        found[f"ant-system-{name}"] = Case("ant-colony", _cities(name), {"variant": "ant-system"}, stop)
    name = "small40" if small else "pcb442"
    for colonies in COLONIES[: 2 if small else None]:
        found[f"max-min-{name}-{colonies}"] = Case("ant-colony", _cities(name), {"colonies": colonies}, stop)
    return found


def _generated(kind: str, name: str, **keys: Any) -> Callable[[], Any]:
    return lambda: call_generator(makers(kind), name, keys)


def _cities(name: str) -> Callable[[], Any]:
    return lambda: read_or_generate(name).tsp


def _new_york() -> Any:
    try:
        return read_graph_named(NEW_YORK)
    except InputError:
        return read_graph_named("road:264346")


def _tree(name: str, other: str) -> Callable[[], Any]:
    def read() -> Any:
        try:
            return read_instance(name).graph
        except InputError:
            return read_instance(other).graph

    return read

"""What is timed on a GPU: problems with their parameters, and the least time that each may take on an H200.

The floors are those of jobs/benchmarks/gpu.md. Published instances that HPCSOLVE_DATA lacks are replaced by generated
ones of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np

from hpcsolve.algorithms.base import NO_STOP, StopCriteria
from hpcsolve.algorithms.held_karp.bounded import devices
from hpcsolve.algorithms.held_karp.bounded.prove import LEVELS
from hpcsolve.algorithms.held_karp.lattice.split import split_cities
from hpcsolve.errors import InputError
from hpcsolve.problems.generate import generate
from hpcsolve.problems.rounding import Costs
from hpcsolve.problems.tsp import NO_ARC, TspBatch, part_of_costs
from jobs.benchmarks.ants.instances import read_or_generate
from jobs.benchmarks.held_karp.peak import min_adds
from jobs.benchmarks.shortest_paths.graphs import NEW_YORK, read_graph_named
from jobs.benchmarks.steiner.instances import read_instance

MEMORY_RATE, ADD_RATE = 4.3e12, {2: 2.97e13, 4: 1.48e13}
"""Bytes a second of an H200's memory, and min-adds a second by bytes of a state."""
SEARCH_SECONDS, GRID_SECONDS = 12e-6, 0.6e-3
"""The least time of a search by Near-Far: on New York beside many others, and on R-MAT 20 alone."""
SWEEP_LINES = 10.33
"""Lines of 128 bytes a vertex that a sweep from 32 sources, its check and its rows move on New York (phast.py)."""
NEW_YORK_VERTICES = 264346
CITIES = {2: (24, 26, 28, 30, 32, 34), 4: (24, 26, 28, 30, 32, 33)}
BOUND_ROUNDS = {32: 365}
"""Rounds of bounds in a proof, the same on every device: the launches of bounds_price that
`python -m jobs.benchmarks.gpu.measure bounded-32` counts."""
BATCH = 100_000
TREES = {"alue7080": ("road:30000:2344", 6e-3), "G103": ("road:78000:3033", 12e-3), "I083": ("road:89000:4991", 60e-3)}
"""Steiner problems: the generated one that replaces a missing file, and the least seconds of all searches by tile."""
COLONIES = (1, 32, 160)
POPULATION = 500
"""Tours of edge assembly: its default for so few cities."""


@dataclass(frozen=True)
class Case:
    """A problem to be solved.

    Attributes
    ----------
    problem
        Reads or generates it.
    kernels
        The kernels that the case is made for. A run on a GPU must launch all of them.
    floor
        The least seconds of its kernels, None if not known.
    setting
        Returns a context manager in which a run is timed.
    """

    algorithm: str
    problem: Callable[[], Any]
    kernels: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stop: StopCriteria = NO_STOP
    floor: float | None = None
    setting: Callable[[], AbstractContextManager[Any]] = nullcontext


def cases(small: bool) -> dict[str, Case]:
    """Return all cases by name. The small ones take a second each on the stub driver."""
    found: dict[str, Case] = {}
    for kind in (_lattices, _bounds, _proofs, _batches, _paths, _trees, _ants, _populations):
        found |= kind(small)
    return {name: replace(case, floor=None) for name, case in found.items()} if small else found


def _lattices(small: bool) -> dict[str, Case]:
    found = {}
    for width, sizes in CITIES.items():
        for n in (10, 12) if small else sizes:
            make = _generated("tsp", "random-matrix", n=n, seed=n, high=1000 if width == 2 else 10**6)
            found[f"held-karp-{n}-u{width}"] = Case("held-karp", make, (f"held_karp_step_u{width}",),
                                                    {"method": "lattice"}, floor=held_karp_floor(n, width))
    return found


def held_karp_floor(n: int, width: int) -> float:
    """Return the least seconds for n asymmetric cities on an H200: of arithmetic or memory, whichever takes longer."""
    moved = 2 * split_cities(n).mid * 2 ** (n - 2) * width
    return max(min_adds(n) / ADD_RATE[width], moved / MEMORY_RATE)


def _bounds(small: bool) -> dict[str, Case]:
    """Return the cases of bounds, all of whose tables are on the GPU, though a core is faster with the small ones."""
    kernels = ("bounds_relax", "bounds_price", "bounds_walk", "bounds_through", "layers_expand_w1")
    return {f"bounded-{n}": Case("held-karp", _generated("tsp", "random-matrix", n=n, seed=n, high=1000), kernels,
                                 {"method": "bounded"}, floor=bounds_floor(n, BOUND_ROUNDS.get(n, 0)),
                                 setting=lambda: mock.patch.object(devices, "SMALL", -1))
            for n in ((14,) if small else (32,))}


def _proofs(small: bool) -> dict[str, Case]:
    """Return proofs by bounds, whose parts run where hpcsolve has them run."""
    made = {"14": _generated("tsp", "random-matrix", n=14, seed=14, high=1000)} if small else {
        "32": _generated("tsp", "random-matrix", n=32, seed=32, high=1000), "eil51": _cities("eil51")}
    return {f"proof-{name}": Case("held-karp", make, (), {"method": "bounded"}) for name, make in made.items()}


def bounds_floor(n: int, rounds: int) -> float:
    """Return the least seconds of so many rounds of bounds for n cities on an H200: their min-adds of 32 bits."""
    return rounds * (n - 1) ** 3 * 2 ** (LEVELS[-1] - 1) / ADD_RATE[4]


def _batches(small: bool) -> dict[str, Case]:
    n, count = 12, 100 if small else BATCH
    return {f"batch-{n}": Case("held-karp", lambda: _batch(n, count), ("batch_solve",),
                               floor=count * min_adds(n) / ADD_RATE[4])}


def _paths(small: bool) -> dict[str, Case]:
    found, size = {}, 2000 if small else NEW_YORK_VERTICES
    make = (lambda: read_graph_named("road:2000")) if small else _new_york
    for sources in (6, 24) if small else (264, 528, 1584):
        asked = {"sources": list(range(1, size, size // sources))[:sources]}
        groups = -(-sources // 32)
        swept = groups * NEW_YORK_VERTICES * SWEEP_LINES * 128 / MEMORY_RATE
        climb_and_sweep = ("phast_mark_u4_32", "phast_climb_u4_32", "phast_sweep_u4_32")
        found[f"near-far-{sources}"] = Case("shortest-paths", make, ("near_far_solve_u4",),
                                            {**asked, "engine": "near-far"}, floor=sources * SEARCH_SECONDS)
        found[f"phast-{sources}"] = Case("shortest-paths", make, (*climb_and_sweep, "phast_rows_u4_32"),
                                         {**asked, "engine": "phast"}, floor=swept)
        found[f"sums-{sources}"] = Case("shortest-paths", make, (*climb_and_sweep, "summaries_fold_u4_32"),
                                        {**asked, "engine": "phast", "reduce": ["sum"]}, floor=swept)
    scale = 9 if small else 20
    asked = {"sources": [1], "engine": "near-far-grid"}
    found[f"rmat-{scale}"] = Case("shortest-paths", _generated("graph", "rmat-graph", scale=scale),
                                  ("near_far_grid_step_u4",), asked, floor=GRID_SECONDS)
    return found


def _trees(small: bool) -> dict[str, Case]:
    asked, kernels = {"mode": "kmb", "engine": "tile"}, ("tile_search_u4",)
    if small:
        return {"kmb-small": Case("steiner-kmb", lambda: read_instance("road:300:20").graph, kernels, asked)}
    return {f"kmb-{name}": Case("steiner-kmb", _tree(name, other), kernels, asked, floor=floor)
            for name, (other, floor) in TREES.items()}


def _ants(small: bool) -> dict[str, Case]:
    names, iterations = (("small40",), 4) if small else (("pr1002", "pr2392"), 40)
    stop, found = StopCriteria(iterations=iterations), {}
    for name in names:
        found[f"ant-system-{name}"] = Case("ant-colony", _cities(name), ("head_tail_construct", "ant_system_update"),
                                           {"variant": "ant-system", "bound": False}, stop)
    name = "small40" if small else "pcb442"
    for colonies in COLONIES[: 2 if small else None]:
        kernels = ("max_min_construct", "k_opt_matrix_u2", "max_min_update")
        keys = {"colonies": colonies, "bound": False}
        found[f"max-min-{name}-{colonies}"] = Case("ant-colony", _cities(name), kernels, keys, stop)
    return found


def _populations(small: bool) -> dict[str, Case]:
    """Return edge assembly's case: the GPU improves the first tours, and a generation follows on the host."""
    name, keys = ("small40", {"population": 8}) if small else ("pr1002", {"population": POPULATION})
    return {f"edge-assembly-{name}": Case("edge-assembly", _cities(name), ("k_opt_euclidean_u4",),
                                          {**keys, "bound": False}, StopCriteria(iterations=1))}


def _generated(kind: str, name: str, **keys: Any) -> Callable[[], Any]:
    return lambda: generate(kind, name, **keys)


def _batch(n: int, count: int) -> TspBatch:
    costs = np.random.default_rng(1).integers(1, 1000, (count, n, n))
    costs[:, range(n), range(n)] = NO_ARC
    return TspBatch("random", (part_of_costs(Costs(costs, 1), "random"),))


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

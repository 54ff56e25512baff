"""What is counted for the benchmark's cases: the same problems with fewer sources, ants, instances or cities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.algorithms.held_karp.lattice.split import Share, split_cities
from hpcsolve.algorithms.tours import k_opt
from hpcsolve.problems.generate import generate
from jobs.benchmarks.gpu.cases import BATCH, BOUND_ROUNDS, POPULATION, Case, bounds_floor, cases
from jobs.benchmarks.held_karp.instructions import GPU as REGISTERS
from jobs.benchmarks.held_karp.instructions import work
from jobs.benchmarks.steiner.instances import read_instance

BENCHMARK = cases(small=False)
LATTICE, BOUNDED, BATCHED, GROUP, SCALE, ANTS, ROAD, TOURS = 20, 16, 8, 32, 14, 32, 6000, 4
"""What is counted: cities of the lattice and of bounds, instances of a batch, sources, the scale of an
R-MAT graph, ants, vertices of a road network, tours of a population."""

ROUNDS = 25
"""Rounds of bounds for so few cities: the launches of bounds_price."""

SEARCHES = 11.6
"""How many times as long as those of the first two iterations the searches of all 40 take on a CPU: later tours have
fewer edges that the incumbent has not."""


@dataclass(frozen=True)
class Counted:
    """What stands for a case of the benchmark.

    Attributes
    ----------
    case
        What is run and counted.
    times
        How many times as much work the benchmark's case is.
    launches
        How many times as many launches it makes.
    space
        How many times as many bytes share the L2 at a time. The L2 that is counted with is smaller by so much.
    why
        What these follow from.
    by_kernel
        `times` of kernels whose work grows in another way.
    """

    case: Case
    times: float
    launches: float
    space: float
    why: str
    by_kernel: Mapping[str, float] = field(default_factory=dict)


def counted() -> dict[str, Counted]:
    """Return what is counted, by name of the benchmark's case."""
    found = {f"held-karp-32-u{width}": _lattice(width) for width in (2, 4)}
    found["bounded-32"] = _bounded()
    found["batch-12"] = Counted(replace(BENCHMARK["batch-12"], problem=_batch), BATCH / BATCHED, 1, 1320 / BATCHED,
                                "instances, of which 1320 are resident")
    found["near-far-264"] = _paths("near-far-264", 2, 264 / 2, 59,
                                   "sources; 12 bytes a vertex for each beside the graph")
    for name in ("phast-264", "sums-264"):
        found[name] = _paths(name, GROUP, -(-264 // GROUP), 6,
                             "groups of 32 sources, which share launches and the hierarchy")
    grown = 2.0 ** (20 - SCALE)
    found["rmat-20"] = Counted(_other("rmat-20", lambda: generate("graph", "rmat-graph", scale=SCALE)), grown, 2, grown,
                               "arcs; launches assumed to double")
    terminals = 2344 * ROAD // 30000  # as dense, so that those of a group are as near to each other
    found["kmb-alue7080"] = Counted(_other("kmb-alue7080", lambda: read_instance(f"road:{ROAD}:{terminals}").graph),
                                    (30000 / ROAD) ** 2, 1, (30000 / ROAD) ** 2,
                                    "groups of 32 terminals, and vertices")
    case = replace(BENCHMARK["ant-system-pr1002"], parameters={"variant": "ant-system", "ants": ANTS},
                   stop=StopCriteria(iterations=1))
    found["ant-system-pr1002"] = Counted(case, 40 * 1002 / ANTS, 40, 1, "ants and iterations; the tables are the same",
                                         {"ant_system_update": 40, "best_tours": 40})
    case = replace(BENCHMARK["max-min-pcb442-1"], stop=StopCriteria(iterations=2))
    crowded = replace(case, setting=lambda: mock.patch.object(k_opt, "MOST_WARPS", 1))  # as 160 colonies have it
    for colonies, stands in ((1, case), (160, crowded)):
        found[f"max-min-pcb442-{colonies}"] = Counted(stands, 20 * colonies, 20, colonies, "colonies and iterations",
                                                      {"k_opt_matrix_u2": SEARCHES * colonies})
    name, tours = "edge-assembly-pr1002", {"population": TOURS}
    case = replace(BENCHMARK[name], parameters={**BENCHMARK[name].parameters, **tours})
    found[name] = Counted(case, POPULATION / TOURS, 1, POPULATION / TOURS, "tours, of which all are resident")
    return found


def _other(name: str, problem: Callable[[], Any]) -> Case:
    return replace(BENCHMARK[name], problem=problem)


def _lattice(width: int) -> Counted:
    registers = REGISTERS[width == 4]
    small, large = (work(split_cities(n - 1), registers).min_adds for n in (LATTICE, 32))
    few, many = (sum(_steps(cities, width) for cities in (n - 1, n - 2 - split_cities(n - 1).middle))
                 for n in (LATTICE, 32))
    case = _other(f"held-karp-32-u{width}", lambda: generate("tsp", "random-matrix", n=LATTICE, seed=LATTICE,
                                                             high=1000 if width == 2 else 10**6))
    return Counted(case, large / small, many / few, 170,
                   "min-adds that warps execute (jobs.benchmarks.held_karp.instructions), steps of the wave, and "
                   "blocks of a step with twice as many planes")


def _steps(cities: int, width: int) -> int:
    """Return the steps of a half run's wave: of the whole tour, or to recover its longer half."""
    return Share(split_cities(cities), 1, 0, False, width, "cuda").steps


def _bounded() -> Counted:
    case = _other("bounded-32", lambda: generate("tsp", "random-matrix", n=BOUNDED, seed=BOUNDED, high=1000))
    rounds = BOUND_ROUNDS[32] / ROUNDS
    return Counted(case, rounds * bounds_floor(32, 1) / bounds_floor(BOUNDED, 1), rounds * 31 / (BOUNDED - 1), 4,
                   "min-adds of a round; rounds and their layers; squares of cities")


def _batch() -> Any:
    from jobs.benchmarks.gpu.cases import _batch as instances

    return instances(12, BATCHED)


def _paths(name: str, sources: int, times: float, space: float, why: str) -> Counted:
    case = BENCHMARK[name]
    asked = {**case.parameters, "sources": case.parameters["sources"][:sources]}
    return Counted(replace(case, parameters=asked), times, 1, space, why)

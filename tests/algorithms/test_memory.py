"""The estimated memory of jobs of each algorithm, beside what the arrays of a run take at their peak.

Python's tracemalloc counts the bytes of numpy's arrays, and so those of a CPU's buffers too. Functions of the host
count their own. The libraries are left out, which are loaded by a run before. Of two more runs the larger peak of the
device counts: what the threads hold at the same time depends on which of them come first. Of Python's peaks the smaller
one counts, since now and then something else is held meanwhile.
"""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest

from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate import generate
from hpcsolve.problems.tsp import from_matrix
from tests.solvers import plan_of

ROADS = ("road-graph", {"n": 30000})
POWER = ("rmat-graph", {"scale": 13, "edge_factor": 16})
TERMINALS = ("road-steiner", {"n": 20000, "terminals": 500})
MANY = {"sources": list(range(1, 101)), "engine": "near-far"}
TILE = {"engine": "tile"}
"""Of a hierarchy only a bound is known (test_phast_run.py, test_steiner_row_choice.py)."""
JOBS = {
    "planes": ("held-karp", ("random-matrix", {"n": 19}), {}),
    "planes, symmetric": ("held-karp", ("uniform-tsp", {"n": 21}), {}),
    "planes, 32-bit states": ("held-karp", ("random-matrix", {"n": 19, "high": 10**8}), {}),
    "compact": ("held-karp", ("random-matrix", {"n": 17}), {"layout": "compact"}),
    "open path": ("held-karp", ("uniform-tsp", {"n": 20}), {"path": "open"}),
    "one colony": ("ant-colony", ("uniform-tsp", {"n": 400}), {}),
    "colonies": ("ant-colony", ("random-matrix", {"n": 300}), {"colonies": 20}),
    "many cities": ("ant-colony", ("uniform-tsp", {"n": 1500}), {"local_search": "none"}),
    "ant system": ("ant-colony", ("uniform-tsp", {"n": 400}), {"variant": "ant-system"}),
    "ant systems": ("ant-colony", ("uniform-tsp", {"n": 200}), {"variant": "ant-system", "colonies": 6}),
    "tours": ("edge-assembly", ("uniform-tsp", {"n": 4000}), {"population": 20, "bound": False}),
    "many tours": ("edge-assembly", ("uniform-tsp", {"n": 1500}), {"population": 300, "bound": False}),
    "tours and a bound": ("edge-assembly", ("clustered-tsp", {"n": 5000}), {"population": 10}),
    "paired tours": ("edge-assembly", None, {"population": 40, "bound": False}),  # _one_way_streets
    "areas": ("edge-assembly", ("uniform-tsp", {"n": 60000}), {"population": 6, "bound": False}),
    "areas and a bound": ("edge-assembly", ("uniform-tsp", {"n": 20000}), {"population": 3}),
    "rows": ("shortest-paths", ROADS, {**MANY}),
    "predecessors": ("shortest-paths", ROADS, {**MANY, "predecessors": True}),
    "a power law, one source": ("shortest-paths", POWER, {"sources": [1]}),
    "all pairs": ("shortest-paths", ("road-graph", {"n": 3000}), {"sources": "all", "engine": "near-far"}),
    "targets": ("shortest-paths", ROADS, {**MANY, "targets": [5, 6]}),
    "queries": ("shortest-paths", ROADS, {"queries": [(1, 9000), (3, 29000), (200, 4)]}),
    "fast": ("steiner-kmb", TERMINALS, {}),
    "fast, with exchange": ("steiner-kmb", TERMINALS, {"exchange": True}),
    "fast, a power law": ("steiner-kmb", ("power-law-steiner", {"n": 5000, "edges": 45000, "terminals": 300}), {}),
    "kmb": ("steiner-kmb", TERMINALS, {"mode": "kmb", **TILE}),
    "kmb, a matrix": (
        "steiner-kmb", ("road-steiner", {"n": 9000, "terminals": 1500}), {"mode": "kmb", "matrix": True, **TILE}),
    "kmb by single searches": ("steiner-kmb", TERMINALS, {"mode": "kmb", "engine": "dijkstra"}),
    "best": ("steiner-kmb", TERMINALS, {"mode": "best", "shakes": 0, **TILE}),
    "best, few terminals": ("steiner-kmb", ("power-law-steiner", {"n": 5000, "edges": 45000, "terminals": 30}),
                            {"mode": "best", "shakes": 0, **TILE}),
}


OWN_BYTES = 3 << 17
"""Bytes of small objects of Python that a run makes, whatever its size. No estimate counts them."""


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.slow
def test_an_estimate_is_what_a_run_takes_or_up_to_a_fifth_more(name):
    solver, problem, parameters = solved = _job(*JOBS[name])
    peaks = [_peak(*solved) for _ in range(3)][1:]
    with HostDevice(2) as device:
        need = plan_of(solver, problem, parameters, 1, device.info)
    traced, on_device = min(host for host, _ in peaks), max(device for _, device in peaks)
    assert traced - OWN_BYTES <= need.needed[0] <= 1.2 * traced, (need.needed[0] / traced, need, traced)
    assert abs(need.device_bytes[0] - on_device) <= 0.2 * on_device, (need.device_bytes[0], on_device)


def _job(name, instance, parameters):
    solver = algorithm(name)
    problem = generate(solver.kind, instance[0], **instance[1]) if instance else _one_way_streets()
    return solver, problem, solver.parameters(**parameters)


def _one_way_streets():
    """Return costs that are nearly symmetric: tours of random costs are alike, and take less memory in pairs."""
    costs = generate("tsp", "uniform-tsp", n=500).cost.copy()
    costs[np.arange(499), np.arange(1, 500)] += 40
    np.fill_diagonal(costs, 0)
    return from_matrix(costs)


@dataclass(eq=False)
class CountingDevice(HostDevice):
    """The CPU, with the most bytes that Python's arrays and the vectors of a function held together."""

    peak: int = 0

    def call(self, file, name, /, **arguments):
        before = tracemalloc.get_traced_memory()[0]
        found = super().call(file, name, **arguments)
        self.peak = max(self.peak, before + self.functions[file, name].most_held)
        return found


def _peak(solver, problem, parameters):
    """Return the bytes that the arrays of a run take at their peak, and those of its device."""
    iterations = {"ant-colony": 3, "edge-assembly": 1 if problem.n > 12_000 else 12}
    stop = StopCriteria(iterations=iterations.get(solver.name))
    tracemalloc.start()
    with CountingDevice(2) as device:
        outcome = solver.solve(problem, device, SerialComm(), parameters, silent, stop)
        peak, on_device = max(tracemalloc.get_traced_memory()[1], device.peak), device.memory_peak
    tracemalloc.stop()
    assert outcome.answer is not None
    return peak, on_device

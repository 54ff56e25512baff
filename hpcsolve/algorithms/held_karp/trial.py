"""Estimates how long a job takes from a smaller one, since the numbers of operations of both are known exactly."""

from __future__ import annotations

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Estimate, Outcome, StopCriteria, Stopwatch, Trial, silent
from hpcsolve.algorithms.held_karp.core import Parameters, core_problem
from hpcsolve.algorithms.held_karp.reduce import reduce_costs
from hpcsolve.algorithms.held_karp.solve import estimate, run
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.tsp import Tsp

CITIES = {"planes": 26, "compact": 20}
"""Layout -> most cities of the instance that is solved. They take some tenths of a second on four cores."""
WARM_UP_CITIES = 12
"""Cities of the instance that is solved first, to load the kernels."""
LARGEST_RANDOM_COST = {2: 900, 4: 2 * 10**7}
"""Bytes of a state -> the largest random cost of an instance whose states need so many bytes."""


def trial(tsp: Tsp, parameters: Parameters, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
    """Solve a random instance with states of the same kind, and as many cities as take a second at most."""
    reduced, given = reduce_costs(core_problem(tsp, parameters).cost), Parameters(layout=parameters.layout)
    high = LARGEST_RANDOM_COST[reduced.itemsize]

    def solved(cities: int) -> tuple[Tsp, Outcome, float]:
        small, watch = random_matrix(cities, high=high, symmetric=reduced.symmetric), Stopwatch()
        return small, run(small, device, SerialComm(), given, silent, NO_STOP, seed), watch.seconds()

    setup = solved(WARM_UP_CITIES)[2]
    small, outcome, seconds = solved(min(tsp.n, CITIES[parameters.layout]))
    own, whole = estimate(small, given, 1, device.info), estimate(tsp, parameters, ranks, device.info)
    ratio = _operations_a_rank(whole) / _operations_a_rank(own) if reduced.feasible else 0.0
    return Trial(small, given, outcome, setup, seconds * ratio, f"{small.n} random cities")


def _operations_a_rank(need: Estimate) -> float:
    """Return the operations of each rank that has work."""
    return max(1, need.operations) / (len(need.device_bytes) - int(need.details[WITHOUT_WORK]))

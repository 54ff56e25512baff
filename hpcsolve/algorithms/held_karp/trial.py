"""Estimates how long a job takes from a smaller one, since the numbers of operations of both are known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Estimate, Outcome, StopCriteria, silent
from hpcsolve.algorithms.held_karp.core import core_problem
from hpcsolve.algorithms.held_karp.lattice import planes
from hpcsolve.algorithms.held_karp.lattice.half_run import Statistics
from hpcsolve.algorithms.held_karp.lattice.orders import run as orders
from hpcsolve.algorithms.held_karp.lattice.plan import plan
from hpcsolve.algorithms.held_karp.lattice.reduce import reduce_costs
from hpcsolve.algorithms.held_karp.lattice.split import FEWEST_CITIES, split_cities
from hpcsolve.algorithms.held_karp.method import is_bounded
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, Parameters, asked, extra_answers
from hpcsolve.algorithms.held_karp.solve import estimate, run
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Request, SerialComm
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.tsp import Tsp
from hpcsolve.problems.tsp_batch import TspBatch

CITIES = {"planes": 26, "compact": 20, "orders": 18}
"""Layout, or "orders" for other objectives and constraints -> most cities of the instance that is solved.

They take some tenths of a second on four cores.
"""
BATCH_INSTANCES = 1000
"""Instances of a batch that are solved."""
WARM_UP_CITIES = 12
"""Cities of the instance that is solved first, to load the kernels."""
LARGEST_RANDOM_COST = {2: 900, 4: 2 * 10**7}
"""Bytes of a state -> the largest random cost of an instance whose states need so many bytes."""


def trial(
    tsp: Tsp | TspBatch, parameters: Parameters, criteria: StopCriteria, ranks: int, device: Device, seed: int
) -> Trial:
    """Solve a random instance with states of the same kind, and as many cities as take a second at most.

    For several ranks the work of rank 0 on this instance is done too, with messages that are copied but reach nobody.
    How long ranks wait for each other depends on what else their cores do, and is not foreseen.
    """
    if isinstance(tsp, TspBatch):
        return _trial_of_batch(tsp, parameters, ranks, device)
    if is_bounded(tsp, parameters):
        return _trial_of_bounds(criteria, device, seed)
    if not asked(tsp, parameters).plain or extra_answers(parameters) != NO_EXTRA_ANSWERS:
        return _trial_of_orders(tsp, parameters, ranks, device, seed)
    reduced, given = reduce_costs(core_problem(tsp, parameters).cost), Parameters(layout=parameters.layout)
    high = LARGEST_RANDOM_COST[reduced.itemsize]

    def solved(cities: int) -> tuple[Tsp, Outcome, float]:
        small, watch = random_matrix(cities, high=high, symmetric=reduced.symmetric), Stopwatch()
        return small, run(small, device, SerialComm(), given, silent, NO_STOP, seed), watch.seconds()

    setup = solved(WARM_UP_CITIES)[2]
    small, outcome, seconds = solved(min(tsp.n, CITIES[parameters.layout]))
    shared = ranks > 1 and parameters.layout == "planes" and small.n > FEWEST_CITIES
    if shared:
        seconds = _share_of_rank_0(small, given, ranks, device)
    own = estimate(small, given, ranks if shared else 1, device.info)
    whole = estimate(tsp, parameters, ranks, device.info)
    ratio = _operations_a_rank(whole) / _operations_a_rank(own) if reduced.feasible else 0.0
    return Trial(small, given, outcome, setup, seconds * ratio, f"{small.n} random cities")


def _trial_of_bounds(criteria: StopCriteria, device: Device, seed: int) -> Trial:
    """Solve a small random instance, which says what a run does once and nothing of the states that will be left."""
    given, small, watch = Parameters(method="bounded"), random_matrix(CITIES["orders"]), Stopwatch()
    outcome = run(small, device, SerialComm(), given, silent, NO_STOP, seed)
    open_end = "how many states the bounds leave cannot be foreseen"
    label = f"{small.n} random cities"
    return Trial(small, given, outcome, watch.seconds(), criteria.seconds, label, open_end=open_end)


def _trial_of_orders(tsp: Tsp, parameters: Parameters, ranks: int, device: Device, seed: int) -> Trial:
    """Solve a random instance by latency, which fills the same kind of table, with as many cities as take a second."""
    question, given = asked(tsp, parameters), Parameters(objective="latency")
    whole = orders.estimate(tsp, question, ranks, extra_answers(parameters))

    def solved(cities: int) -> tuple[Tsp, Outcome, float]:
        small, watch = random_matrix(cities), Stopwatch()
        return small, run(small, device, SerialComm(), given, silent, NO_STOP, seed), watch.seconds()

    setup = solved(WARM_UP_CITIES)[2]
    small, outcome, seconds = solved(max(2, min(tsp.n, CITIES["orders"])))
    ratio = _operations_a_rank(whole) / _operations_a_rank(estimate(small, given, 1, device.info))
    return Trial(small, given, outcome, setup, seconds * ratio, f"{small.n} random cities")


def _trial_of_batch(batch: TspBatch, parameters: Parameters, ranks: int, device: Device) -> Trial:
    """Solve some of a batch's instances."""
    def some(count: int) -> TspBatch:
        return TspBatch(batch.name, (batch.costs[0][:count],), batch.scale)

    def solved(part: TspBatch) -> tuple[Outcome, float]:
        watch = Stopwatch()
        return run(part, device, SerialComm(), parameters, silent), watch.seconds()

    setup = solved(some(1))[1]
    part = some(BATCH_INSTANCES)
    outcome, seconds = solved(part)
    own, whole = (estimate(problem, parameters, 1).operations for problem in (part, batch))
    return Trial(part, parameters, outcome, setup, seconds * whole / max(1, own) / ranks, f"{part.count} instances")


class _Undelivered(SerialComm):
    """The communicator of rank 0 alone. It copies messages to and from others as MPI does on one host."""

    def __init__(self, ranks: int) -> None:
        self.size = ranks

    def send(self, array: NDArray[Any], to: int) -> Request:
        """Copy the array, as its sender does."""
        array.copy()
        return _Done()

    def receive(self, array: NDArray[Any], source: int) -> Request:
        """Fill the array from elsewhere in memory, with zeros."""
        array[...] = np.zeros_like(array)
        return _Done()


class _Done:
    """A message that has arrived."""

    def wait(self) -> None:
        """Return at once."""


def _share_of_rank_0(tsp: Tsp, parameters: Parameters, ranks: int, device: Device) -> float:
    """Return the seconds that rank 0 of several works on an instance, without waiting. What it finds means nothing."""
    core = core_problem(tsp, parameters)
    watch = Stopwatch()
    reduced = reduce_costs(core.cost)
    part = plan(split_cities(len(core.cities)), ranks, 0, reduced.symmetric, reduced.itemsize)
    planes.meet(reduced, part, device, _Undelivered(ranks), silent, Statistics())
    return watch.seconds()


def _operations_a_rank(need: Estimate) -> float:
    """Return the operations of each rank that has work."""
    return max(1, need.operations) / (len(need.device_bytes) - int(need.details[WITHOUT_WORK]))

"""The calls of the runner: the choice of the method, `estimate` before anything is allocated, `run`, and `trial`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Estimate, Outcome, Report, StopCriteria, silent
from hpcsolve.algorithms.held_karp import batch
from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.algorithms.held_karp.lattice import planes
from hpcsolve.algorithms.held_karp.lattice import run as lattice
from hpcsolve.algorithms.held_karp.lattice.plan import FEWEST_SPLIT, plan, split_cities
from hpcsolve.algorithms.held_karp.lattice.planes import FILE as PLANES_FILE
from hpcsolve.algorithms.held_karp.lattice.reduce import reduce_costs
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.algorithms.held_karp.problem import MOST_INNER_CITIES, core_problem, order_problem
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, Parameters, asked, extra_answers
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.tour import NoTour
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.select import memory_for_rank
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.parallel.comm import Comm, Request, SerialComm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.tsp import Tsp, TspBatch

LATTICE_CITIES, ORDERED_CITIES = 28, 20
"""The most cities for which `method = "auto"` takes the lattice: for plain sums, and for other questions.

The lattice then takes about a second. For other questions its table takes up to eight times the memory and the work.
"""
MOST_CITIES = MOST_INNER_CITIES + 1
"""The most cities of a cycle that any method takes: the first city, and those that a state's key of bounds holds."""
FEWEST_BOUNDED = 10
"""Fewer cities are always solved by the lattice."""
BOUNDED = (*bounded.FILES, "ants/max_min", "ants/local_search")
KERNEL_FILES = (PLANES_FILE, orders.FILE, batch.FILE, *BOUNDED)
TRIAL_CITIES = {"planes": 26, "compact": 20, "orders": 18}
"""Layout, or "orders" for other objectives and constraints -> most cities of the instance that is solved.

They take some tenths of a second on four cores.
"""
BATCH_INSTANCES = 1000
"""Instances of a batch that are solved."""
WARM_UP_CITIES = 12
"""Cities of the instance that is solved first, to load the kernels."""
LARGEST_RANDOM_COST = {2: 900, 4: 2 * 10**7}
"""Bytes of a state -> the largest random cost of an instance whose states need so many bytes."""


def is_bounded(tsp: Tsp | TspBatch, parameters: Parameters, stops: bool = False) -> bool:
    """Return whether a job is solved by bounds.

    Parameters
    ----------
    stops
        Whether the job has criteria to stop at, which the lattice cannot honour.

    Raises
    ------
    InputError
        The method cannot solve this kind of problem.
    """
    obstacle = "a batch is solved by tables" if isinstance(tsp, TspBatch) else why_not_bounded(parameters)
    if parameters.method == "bounded" and obstacle:
        raise InputError(f'held-karp.method: "bounded" cannot do this: {obstacle}; use "auto" or "lattice"')
    if parameters.method == "auto" and stops and obstacle:
        raise InputError(f'stop: only held-karp.method = "bounded" can be stopped early, but {obstacle}; remove [stop]')
    if parameters.method == "lattice" or obstacle or isinstance(tsp, TspBatch) or tsp.n < FEWEST_BOUNDED:
        return False
    return parameters.method == "bounded" or stops or tsp.n > most_in_lattice(parameters, bool(tsp.precedences))


def may_be_bounded(tsp: Tsp | TspBatch, parameters: Parameters) -> bool:
    """Return whether bounds may solve a job in place of a lattice that does not fit in the memory."""
    possible = parameters.method == "auto" and not isinstance(tsp, TspBatch) and tsp.n >= FEWEST_BOUNDED
    return possible and not why_not_bounded(parameters)


def most_in_lattice(parameters: Parameters, precedences: bool) -> int:
    """Return the most cities for which "auto" takes the lattice. `precedences`: whether the instance has some."""
    plain = parameters.objective == "sum" and not (parameters.before or precedences)
    return LATTICE_CITIES if plain and not (parameters.position or parameters.not_position) else ORDERED_CITIES


def why_not_bounded(parameters: Parameters) -> str:
    """Return why bounds cannot solve what the parameters ask for, in words, or ""."""
    if parameters.layout != "planes":
        return f'layout = "{parameters.layout}" belongs to the lattice'
    if extra_answers(parameters) != NO_EXTRA_ANSWERS:
        return "more than one optimal tour needs all states (count, best, arcs)"
    if parameters.objective not in ("sum", "latency", "position"):
        return f'objective = "{parameters.objective}" does not add up costs by place'
    if parameters.objective == "latency" and len(set(parameters.weights or ())) > 1:
        return "with different weights of the cities the costs depend on which cities are left"
    return ""


def estimate(tsp: Tsp | TspBatch, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """Return what a run on so many ranks will need.

    Raises
    ------
    InputError
        The parameters do not fit the instance, or its costs do not fit 32 bits.
    ResourceError
        So many cities that no machine could hold them, or more ranks than can share one problem.
    """
    if isinstance(tsp, TspBatch):
        return batch.estimate(tsp, asked(tsp, parameters), ranks, info)
    if not is_bounded(tsp, parameters):
        need = lattice.estimate(tsp, parameters, ranks)
        if may_be_bounded(tsp, parameters):
            return replace(need, otherwise=_bounded_estimate(tsp, parameters, ranks))
        return need
    return _bounded_estimate(tsp, parameters, ranks)


def _bounded_estimate(tsp: Tsp, parameters: Parameters, ranks: int) -> Estimate:
    problem = order_problem(tsp, asked(tsp, parameters))
    return bounded.estimate(tsp, problem, ranks, lambda: _beside(tsp, parameters, ranks))


def _beside(tsp: Tsp, parameters: Parameters, ranks: int) -> dict[str, int | str]:
    """Return what the lattice would need, as a line of the estimate."""
    try:
        need = lattice.estimate(tsp, parameters, ranks)
    except HpcsolveError as error:
        return {"the lattice": str(error)}
    return {"the lattice": f"{max(need.needed):,} bytes per rank, {need.operations:.4g} operations ({need.operation})"}


def run(
    tsp: Tsp | TspBatch, device: Device, comm: Comm, parameters: Parameters, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
) -> Outcome:
    """Return the optimum, with a proof. `tsp` is the same on all ranks, and so is the outcome but for `rank`."""
    if isinstance(tsp, TspBatch):
        return batch.run(tsp, asked(tsp, parameters), device, comm, report)
    outcome = _by_method(tsp, device, comm, parameters, report, criteria, seed, checkpoints)
    if (saved := checkpoints.saved) is not None and isinstance(outcome.answer, NoTour):
        def refuse_tour() -> None:
            """Refuse a checkpoint that proves that there is no tour, if the cities as they stand are one."""
            problem = order_problem(tsp, asked(tsp, parameters))
            saved.require(problem.value(range(problem.m)) is None, "the proof that there is no tour")

        on_rank_0(comm, refuse_tour)
    return outcome


def _by_method(
    tsp: Tsp, device: Device, comm: Comm, parameters: Parameters, report: Report, criteria: StopCriteria, seed: int,
    checkpoints: Checkpoints,
) -> Outcome:
    """Return the outcome of bounds or of the lattice."""
    if _takes_bounds(tsp, parameters, criteria, device, comm, checkpoints):
        question = comm.bcast(asked(tsp, parameters) if comm.rank == 0 else None)
        assert question is not None
        problem = order_problem(tsp, question)
        outcome, proof = bounded.run(tsp, problem, device, comm, report, criteria, checkpoints, seed)
        if not proof.capped or proof.optimal or not lattice_fits(tsp, parameters, device, comm):
            return outcome
        if comm.rank == 0:
            device.notes.append('method: lattice, because the states of "bounded" do not fit in the memory')
        checkpoints = replace(checkpoints, saved=None)
    return lattice.run(tsp, device, comm, parameters, report, checkpoints)


def _takes_bounds(tsp: Tsp, parameters: Parameters, criteria: StopCriteria, device: Device, comm: Comm,
                  checkpoints: Checkpoints) -> bool:
    """Return whether the run is by bounds. A run from a checkpoint keeps to its method. Collective."""
    if checkpoints.saved is not None:
        return bounded.LEVEL in checkpoints.saved.numbers
    if is_bounded(tsp, parameters, criteria != NO_STOP):
        return True
    if not may_be_bounded(tsp, parameters) or lattice_fits(tsp, parameters, device, comm):
        return False
    if comm.rank == 0:
        device.notes.append('method: bounded, because the table of "lattice" does not fit in the memory')
    return True


def lattice_fits(tsp: Tsp, parameters: Parameters, device: Device, comm: Comm) -> bool:
    """Return whether the method is "auto" and every rank has the memory for the lattice. Collective."""
    if comm.bcast(parameters.method != "auto"):
        return False
    needed = None
    if comm.rank == 0:
        try:
            needed = lattice.estimate(tsp, parameters, comm.size).needed
        except HpcsolveError:  # it is refused
            needed = (2**62,) * comm.size
    needed = comm.bcast(needed)
    assert needed is not None
    return all(comm.allgather(needed[comm.rank] <= memory_for_rank(device, comm)))


def fits(tsp: Tsp | TspBatch, parameters: Parameters) -> bool:
    """Return whether the method's states suffice for the costs as they are. Raises as `core_problem`."""
    if isinstance(tsp, TspBatch):
        return batch.fits(tsp, asked(tsp, parameters))
    if not is_bounded(tsp, parameters):
        return lattice.fits(tsp, parameters)
    question = asked(tsp, parameters)
    return orders.fits(tsp, question) and bounded.fits(order_problem(tsp, question))


def files_of(parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria) -> tuple[str, ...]:
    """Return the kernel files to build ahead for a job.

    Parameters
    ----------
    instance
        As in the job. With a generator, the number of cities is known, and there are no precedences.

    Returns
    -------
    tuple of str
        The files of bounds are missing where "auto" takes the lattice. If that does not fit in the memory, and bounds
        take its place, their files are built when they are loaded.
    """
    if isinstance(instance, dict) and "batch" in instance:
        return (batch.FILE,)
    generated = isinstance(instance, dict) and "generate" in instance
    n = instance.get("n") if isinstance(instance, dict) and generated else None
    n = n if isinstance(n, int) else None  # a wrong value is refused where the instance is made
    constrained = parameters.before or parameters.position or parameters.not_position
    lattice: tuple[str, ...] = (orders.FILE,)
    if parameters.objective == "sum" and not constrained and extra_answers(parameters) == NO_EXTRA_ANSWERS:
        lattice = (PLANES_FILE,) if generated else (PLANES_FILE, orders.FILE)  # a file may have precedences
    if parameters.method == "lattice" or why_not_bounded(parameters):
        return lattice
    if parameters.method == "bounded":
        return BOUNDED if n is not None and n >= FEWEST_BOUNDED else (*lattice, *BOUNDED)
    few = n is not None and n <= most_in_lattice(parameters, precedences=False) and criteria == NO_STOP
    return lattice if few else (*lattice, *BOUNDED)


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
    plain = asked(tsp, parameters).plain and extra_answers(parameters) == NO_EXTRA_ANSWERS
    draw: Callable[..., Tsp] = random_matrix
    if plain:
        reduced, given = reduce_costs(core_problem(tsp, parameters).cost), Parameters(layout=parameters.layout)
        cities, feasible = min(tsp.n, TRIAL_CITIES[parameters.layout]), reduced.feasible
        draw = partial(random_matrix, high=LARGEST_RANDOM_COST[reduced.itemsize], symmetric=reduced.symmetric)
    else:  # by latency, which fills the same kind of table
        given, feasible = Parameters(objective="latency"), True
        cities = max(2, min(tsp.n, TRIAL_CITIES["orders"]))

    def solved(cities: int) -> tuple[Tsp, Outcome, float]:
        small, watch = draw(cities), Stopwatch()
        return small, run(small, device, SerialComm(), given, silent, NO_STOP, seed), watch.seconds()

    setup = solved(WARM_UP_CITIES)[2]
    small, outcome, seconds = solved(cities)
    shared = plain and ranks > 1 and parameters.layout == "planes" and small.n > FEWEST_SPLIT
    if shared:
        seconds = _share_of_rank_0(small, given, ranks, device)
    own = lattice.estimate(small, given, ranks if shared else 1)
    whole = lattice.estimate(tsp, parameters, ranks)
    ratio = _operations_a_rank(whole) / _operations_a_rank(own) if feasible else 0.0
    return Trial(small, given, outcome, setup, seconds * ratio, f"{small.n} random cities")


def _trial_of_bounds(criteria: StopCriteria, device: Device, seed: int) -> Trial:
    """Solve a small random instance, which says what a run does once and nothing of the states that will be left."""
    given, small, watch = Parameters(method="bounded"), random_matrix(TRIAL_CITIES["orders"]), Stopwatch()
    outcome = run(small, device, SerialComm(), given, silent, NO_STOP, seed)
    open_end = "how many states the bounds leave cannot be foreseen"
    label = f"{small.n} random cities"
    return Trial(small, given, outcome, watch.seconds(), criteria.seconds, label, open_end=open_end)


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

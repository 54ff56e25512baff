"""What the runner calls: the choice of the method, the plan of a run, the run, and a trial of its time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import (
    NO_STOP,
    WITHOUT_WORK,
    Algorithm,
    Outcome,
    Plan,
    Report,
    StopCriteria,
    silent,
)
from hpcsolve.algorithms.held_karp import batch, each
from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.algorithms.held_karp.contradiction import TooLong, contradiction, too_long
from hpcsolve.algorithms.held_karp.lattice import planes
from hpcsolve.algorithms.held_karp.lattice import run as lattice
from hpcsolve.algorithms.held_karp.lattice.reduce import reduce_costs
from hpcsolve.algorithms.held_karp.lattice.split import FEWEST_SPLIT
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.outcome import LAYERS, Statistics, rank_group
from hpcsolve.algorithms.held_karp.prizes import run as prizes
from hpcsolve.algorithms.held_karp.problem import NO_PATH
from hpcsolve.algorithms.held_karp.statement import (
    FEWEST_BOUNDED,
    FILES,
    MOST_CITIES,
    BatchStatement,
    Parameters,
    TourStatement,
    statement,
)
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.multipliers import MULTIPLIERS
from hpcsolve.answers.tour import TOUR, NoTour, Tour
from hpcsolve.answers.tours import TOURS
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.select import memory_for_rank
from hpcsolve.errors import HpcsolveError, ResourceError
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import BatchPart, Tsp, TspBatch, batch_of

GROUPS = {"layers": LAYERS, "multipliers": MULTIPLIERS}
LATTICE, BOUNDED = "lattice", "bounded"
"""The methods, as in job files."""
KERNEL_FILES = (planes.FILE, orders.FILE, batch.FILE, *bounded.FILES, *prizes.FILES[-1:])
TRIAL_CITIES = {"planes": 26, "compact": 20, "orders": 18}
"""Layout, or "orders" for other objectives and constraints -> most cities of the instance that is solved.

They take some tenths of a second on four cores.
"""
BATCH_INSTANCES = 1000
"""Instances of a batch that are solved."""
CONTRADICTION_BYTES = 1 << 26
"""Memory for the states of each proof by bounds with which windows are found that contradict each other."""
WARM_UP_CITIES = 12
"""Cities of the instance that is solved first, to load the kernels."""
LARGEST_RANDOM_COST = {2: 900, 4: 2 * 10**7}
"""Bytes of a state -> the largest random cost of an instance whose states need so many bytes."""


class HeldKarp(Algorithm):
    """Held-Karp by the table of all states or by bounds, and of a batch each instance by one rank."""

    name, kind, answers, parameters = "held-karp", "tsp", (TOUR, TOURS), Parameters
    kernel_files, cores, files, groups, batches = KERNEL_FILES, bounded.FILES, FILES, GROUPS, True

    def kernels_of(
        self, parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria
    ) -> tuple[str, ...]:
        """Return the kernel files to build ahead for a job.

        The files of bounds are missing where "auto" takes the lattice. If that does not fit in the memory, and bounds
        take its place, their files are built when they are loaded. So is that of sums with windows if the windows are
        those of the instance's file, and what large instances in an array of a batch need.

        Parameters
        ----------
        instance
            As in the job. With a generator, the number of cities is known, and there are no precedences.
        """
        if isinstance(instance, dict) and "batch" in instance:
            arrays = isinstance(instance["batch"], str) and not os.path.isdir(instance["batch"])
            few = arrays and parameters.objective == "sum" and parameters.method != "bounded"
            return (batch.FILE,) if few else (batch.FILE, *self.kernels_of(parameters, "", criteria))
        generated = isinstance(instance, dict) and "generate" in instance
        n = instance.get("n") if isinstance(instance, dict) and generated else None
        n = n if isinstance(n, int) else None  # a wrong value is refused where the instance is made
        constrained = parameters.before or parameters.position or parameters.not_position
        timed = parameters.windows is not None or parameters.travel_times is not None
        if parameters.objective == "prize":
            return prizes.FILES
        if timed and parameters.objective != "finish":
            return bounded.FILES_OF_SUMS_IN_TIME
        if parameters.travel_times is not None:
            return bounded.FILES_OF_ENDS
        bounds = bounded.FILES_OF_ENDS if parameters.objective == "finish" else bounded.FILES_WITHOUT_WINDOWS
        tables: tuple[str, ...] = (orders.FILE,)
        if parameters.objective == "sum" and not constrained and parameters.one_answer():
            tables = (planes.FILE,) if generated else (planes.FILE, orders.FILE)  # a file may have precedences
        if parameters.load is not None:
            return bounds
        if parameters.method == "lattice" or parameters.why_not_bounded():
            return tables
        if parameters.method == "bounded":
            return (*(tables if n is None or n < FEWEST_BOUNDED else ()), *bounds)
        few = n is not None and n <= parameters.most_in_lattice(precedences=False) and criteria == NO_STOP
        return tables if few else (*tables, *bounds)

    def largest_cost(self, n: int, edges: int) -> int:
        """Return the largest cost of n cities with which every sum of costs fits a state of 32 bits.

        Costs of symmetric instances are doubled, and a tour must stay below 2^31. An open path adds a depot to the
        cities.
        """
        return NO_PATH[4] // 2 // (n + 1)

    def statement(
        self, problem: Tsp | TspBatch, parameters: Parameters, to_check: bool = False
    ) -> TourStatement | BatchStatement:
        """Return the question about an instance, or about each of a batch."""
        if not to_check and isinstance(problem, Tsp) and problem.n <= MOST_CITIES:
            _ = problem.cost  # made once, and broadcast: the ranks of a host share its memory
        return statement(problem, parameters)

    def plan(
        self, stated: TourStatement | BatchStatement, ranks: int, info: DeviceInfo = ONE_CORE,
        criteria: StopCriteria = NO_STOP,
    ) -> Plan:
        """Return the plan by the table of all states, if need be with bounds in its place, or by bounds.

        Raises
        ------
        InputError
            The method cannot solve this kind of problem, or the costs do not fit 32 bits.
        ResourceError
            So many cities that no machine could hold them, or more ranks than can share one problem.
        """
        if isinstance(stated, BatchStatement):
            return each.plan(stated, ranks, info, lambda one: self.plan(one, 1, info, criteria))
        if stated.is_bounded(criteria, info.kind):
            return _plan_by_bounds(stated, ranks, info)
        try:
            table = replace(_plan_by_table(stated, ranks, info), method=LATTICE)
        except HpcsolveError:
            if not stated.is_bounded(criteria):
                raise
            return _plan_by_bounds(stated, ranks, info)  # as on a CPU
        if not stated.may_be_bounded():
            return table
        note = 'method: bounded, because the table of "lattice" does not fit in the memory'
        return replace(table, otherwise=replace(_plan_by_bounds(stated, ranks, info), note=note))

    def run(
        self, stated: TourStatement | BatchStatement, device: Device, comm: Comm, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return the optimum, with a proof: the same outcome on all ranks but for `rank`.

        A run from a checkpoint keeps to its method. Of a batch each instance has the method that it has alone.
        """
        if isinstance(stated, BatchStatement):
            return each.run(stated, device, comm, report, checkpoints, lambda one, alone, kept: self._solved(
                one, device, alone, silent, criteria, seed, kept, "")[0])
        outcome, by_bounds = self._solved(stated, device, comm, report, criteria, seed, checkpoints, method)
        windows = stated.question.windows
        limited = windows is not None and bool((windows.earliest > 0).any() or (windows.latest < LARGEST_SUM).any())
        whole = stated.question.objective != "prize" and outcome.complete
        if isinstance(outcome.answer, NoTour) and limited and whole:
            outcome = replace(outcome, answer=_with_contradiction(stated, by_bounds, device, comm, seed))
        return outcome

    def _solved(
        self, stated: TourStatement, device: Device, comm: Comm, report: Report, criteria: StopCriteria, seed: int,
        checkpoints: Checkpoints, method: str,
    ) -> tuple[Outcome, bool]:
        """Return the outcome for one instance, and whether it is by bounds."""
        tsp, saved = stated.problem, checkpoints.saved
        if saved is not None:
            method = BOUNDED if bounded.LEVEL in saved.numbers else LATTICE
        if not method:
            method = _method(stated, criteria, device, comm)
        if stated.question.objective == "prize":
            return prizes.run(stated, method == BOUNDED, device, comm, report), method == BOUNDED
        if _too_long(stated, comm) is not None:
            return Outcome(NoTour(True), {}, rank_group([], 0, stored_bytes=0)), method == BOUNDED
        outcome = None
        if method == BOUNDED:
            outcome, proof = bounded.run(tsp, stated.orders, device, comm, report, criteria, checkpoints, seed,
                                         stated.question)
            if proof.capped and not proof.optimal and lattice_fits(stated, device, comm):
                if comm.rank == 0:
                    device.notes.append('method: lattice, because the states of "bounded" do not fit in the memory')
                checkpoints, outcome = replace(checkpoints, saved=None), None
        by_bounds, outcome = outcome is not None, outcome or lattice.run(stated, device, comm, report, checkpoints)
        if saved is not None and isinstance(outcome.answer, NoTour):
            possible = on_rank_0(comm, lambda: stated.orders.value(range(stated.orders.m)) is not None)
            saved.require(not possible, "the proof that there is no tour")  # the cities as they stand are one
        return outcome, by_bounds

    def trial(
        self, stated: TourStatement | BatchStatement, criteria: StopCriteria, ranks: int, device: Device, seed: int,
        method: str = "",
    ) -> Trial:
        """Solve a random instance with states of the same kind, and as many cities as take a second at most.

        For several ranks the work of rank 0 on this instance is done too, with messages that are copied but reach
        nobody. How long ranks wait for each other depends on what else their cores do, and is not foreseen.
        """
        if isinstance(stated, BatchStatement):
            return self._trial_of_batch(stated, criteria, ranks, device, seed)
        tsp, parameters = stated.problem, stated.parameters
        if (method or _method(stated, criteria, device, SerialComm())) == BOUNDED:
            return self._trial_of_bounds(criteria, device, seed)
        draw: Callable[..., Tsp] = random_matrix
        if stated.plain:
            reduced, given = stated.reduced, Parameters(layout=parameters.layout)
            cities, feasible = min(tsp.n, TRIAL_CITIES[parameters.layout]), reduced.feasible
            draw = partial(random_matrix, high=LARGEST_RANDOM_COST[reduced.itemsize], symmetric=reduced.symmetric)
        else:  # by latency, which fills the same kind of table
            given, feasible = Parameters(objective="latency"), True
            cities = max(2, min(tsp.n, TRIAL_CITIES["orders"]))

        def solved(cities: int) -> tuple[TourStatement, Outcome, float]:
            watch = Stopwatch()
            small = statement(draw(cities), given)
            assert isinstance(small, TourStatement)
            return small, self.run(small, device, SerialComm(), seed=seed), watch.seconds()

        setup = solved(WARM_UP_CITIES)[2]
        small, outcome, seconds = solved(cities)
        shared = stated.plain and ranks > 1 and parameters.layout == "planes" and small.problem.n > FEWEST_SPLIT
        if shared:
            seconds = _share_of_rank_0(small, ranks, device)
        own, whole = (max(1, need.operations) / (len(need.device_bytes) - int(need.details[WITHOUT_WORK]))
                      for need in (lattice.plan(small, ranks if shared else 1), lattice.plan(stated, ranks)))
        ratio = whole / own if feasible else 0.0  # of the operations of each rank that has work
        return Trial(small, outcome, setup, seconds * ratio, f"{small.problem.n} random cities")

    def _trial_of_bounds(self, criteria: StopCriteria, device: Device, seed: int) -> Trial:
        """Solve a small random instance, which says what a run does once and nothing of the states that are left."""
        small, watch = random_matrix(TRIAL_CITIES["orders"]), Stopwatch()
        stated = statement(small, Parameters(method="bounded"))
        outcome = self.run(stated, device, SerialComm(), seed=seed)
        open_end = "how many states the bounds leave cannot be foreseen"
        label = f"{small.n} random cities"
        return Trial(stated, outcome, watch.seconds(), criteria.seconds, label, open_end=open_end)

    def _trial_of_batch(
        self, stated: BatchStatement, criteria: StopCriteria, ranks: int, device: Device, seed: int
    ) -> Trial:
        """Solve some of the instances that the kernel of batches takes, and a trial of the largest of the others."""
        batch, others = stated.problem, np.flatnonzero(~stated.by_kernel)

        def solved(some: TspBatch, parameters: Parameters) -> tuple[BatchStatement, Outcome, float]:
            watch = Stopwatch()
            small = statement(some, parameters)
            assert isinstance(small, BatchStatement)
            return small, self.run(small, device, SerialComm(), seed=seed), watch.seconds()

        def sample(count: int) -> TspBatch:
            place, at = batch.place_of(int(np.argmax(stated.by_kernel)))
            part = batch.parts[place]
            costs = part.costs()[stated.by_kernel[batch.begins[place] :][: part.count]][:count]
            return TspBatch(batch.name, (BatchPart(part.instance(at), costs),))

        kernels, measured, seconds, setup, open_end = 0.0, [], 0.0, 0.0, ""
        if stated.by_kernel.any():
            setup = solved(sample(1), stated.parameters)[2]
            small, outcome, seconds = solved(sample(BATCH_INSTANCES), stated.parameters)
            kernels = each.kernel_operations(stated)
            seconds *= kernels / max(1.0, each.kernel_operations(small))
            measured.append(f"{small.problem.count} instances")
        else:
            small, outcome, setup = solved(batch_of([random_matrix(2)], "random"), Parameters())
        work: float | None = seconds
        if len(others):
            number = int(others[np.argmax(batch.cities[others])])
            one = self.trial(stated.of(number), criteria, 1, device, seed)
            measured.append(one.measured_on)
            open_end, setup = one.open_end, max(setup, one.setup)
            if one.open_end:
                work = None if one.work is None else seconds + one.work * len(others)
            elif one.work is not None:
                own = max(1, self.plan(stated.of(number), 1, device.info, criteria).operations)
                whole = self.plan(stated, 1, device.info, criteria).operations - kernels
                work = seconds + one.work * whole / own
        return Trial(small, outcome, setup, None if work is None else work / ranks, " and ".join(measured),
                     open_end=open_end)


def _plan_by_table(stated: TourStatement, ranks: int, info: DeviceInfo) -> Plan:
    if stated.question.objective == "prize":
        return prizes.plan_by_table(stated, ranks)
    return lattice.plan(stated, ranks, info.kind)


def _plan_by_bounds(stated: TourStatement, ranks: int, info: DeviceInfo) -> Plan:
    def table() -> dict[str, int | str]:
        """Return what the lattice would need, as a line of the estimate."""
        try:
            need = _plan_by_table(stated, ranks, info)
        except HpcsolveError as error:
            return {"the lattice": str(error)}
        return {"the lattice": f"{max(need.needed):,} bytes per rank, {need.operations:.4g} operations "
                               f"({need.operation})"}

    if stated.question.objective == "prize":
        return replace(prizes.plan_by_states(stated, ranks), method=BOUNDED, beside=table)
    return replace(bounded.plan(stated.problem, stated.orders, ranks, info, table), method=BOUNDED)


def _method(stated: TourStatement, criteria: StopCriteria, device: Device, comm: Comm) -> str:
    """Return the method of a run without a plan. Collective."""
    if stated.is_bounded(criteria, comm.bcast(device.info.kind)):
        return BOUNDED
    as_on_a_cpu = not stated.is_bounded(criteria)
    return LATTICE if as_on_a_cpu or lattice_fits(stated, device, comm) else BOUNDED


def lattice_fits(stated: TourStatement, device: Device, comm: Comm) -> bool:
    """Return whether the method is "auto" and every rank has the memory for the lattice. Collective."""
    if stated.parameters.method != "auto":
        return False

    def needed() -> tuple[int, ...]:
        try:
            return _plan_by_table(stated, comm.size, device.info).needed
        except HpcsolveError:  # it is refused
            return (2**62,) * comm.size

    return all(comm.allgather(on_rank_0(comm, needed)[comm.rank] <= memory_for_rank(device, comm)))


def _too_long(stated: TourStatement, comm: Comm) -> TooLong | None:
    """Return what clearly takes longer than there is time, or None. Collective."""
    if stated.question.windows is None:
        return None
    return on_rank_0(comm, lambda: too_long(stated.orders))  # by floats of a library, so on one rank


def _with_contradiction(stated: TourStatement, by_bounds: bool, device: Device, comm: Comm, seed: int) -> NoTour:
    """Return the statement that there is no tour, with the windows that contradict each other. Collective."""
    tsp, notes = stated.problem, list(device.notes)
    assert isinstance(tsp, Tsp)
    any_tour = StopCriteria(memory=CONTRADICTION_BYTES, target=float(LARGEST_SUM))

    def has_tour(question: TourQuestion) -> bool | None:
        asked = TourStatement(tsp, Parameters(), question)
        if _too_long(asked, comm) is not None:
            return False
        if not by_bounds:
            return isinstance(lattice.run(asked, device, comm, silent, NONE).answer, Tour)
        try:
            found, proof = bounded.run(tsp, asked.orders, device, comm, silent, any_tour, NONE, seed)
        except ResourceError:
            return None
        return True if isinstance(found.answer, Tour) else False if proof.optimal else None

    short, core = _too_long(stated, comm), stated.orders.core
    found = contradiction(tsp, stated.question, has_tour, None if short is None else (*core.before, *core.after))
    device.notes[:] = notes  # those of the proofs say nothing of the answer
    if short is None:
        return NoTour(True, found.cities, found.smallest)
    return NoTour(True, found.cities, found.smallest, short.travel, short.service)


T = TypeVar("T")


class _Undelivered(SerialComm):
    """The communicator of rank 0 alone. It copies messages to and from others as MPI does on one host."""

    def __init__(self, ranks: int) -> None:
        self.size, self.elsewhere = ranks, np.empty(0, np.uint8)

    def allgather(self, value: T) -> list[T]:
        """Return the value for each rank."""
        return [value] * self.size

    def message(self, memory: NDArray[Any] | tuple[int, int], peer: int, sends: bool, tag: int) -> _Copied:
        """Return a message that is sent to or comes from elsewhere in memory."""
        nbytes = memory.nbytes if isinstance(memory, np.ndarray) else memory[1]
        if nbytes > len(self.elsewhere):
            self.elsewhere = np.zeros(nbytes, np.uint8)
        return _Copied(self.elsewhere[:nbytes])


@dataclass
class _Copied:
    """A message that takes a copy in memory."""

    content: NDArray[np.uint8]

    def start(self) -> None:
        """Copy."""
        self.content.copy()

    def done(self) -> bool:
        """Return true."""
        return True

    def free(self) -> None:
        """Do nothing."""


def _share_of_rank_0(stated: TourStatement, ranks: int, device: Device) -> float:
    """Return the seconds that rank 0 of several works on an instance, without waiting. What it finds means nothing."""
    watch = Stopwatch()
    reduced = reduce_costs(stated.core.cost)
    undelivered = _Undelivered(ranks)
    share = lattice.share_of(reduced, device, undelivered)
    planes.meet(reduced, share, device, undelivered, silent, Statistics())
    return watch.seconds()

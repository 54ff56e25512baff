"""A job's calls for a batch, `plan` and `run`. Instances are dealt to the ranks, and each is solved by one rank alone.

Plain sums of few cities go to the kernel of batches (batch.py), many at a time. Any other instance is solved by its own
method, with the code that solves it alone. The tie rule is the same, and so are the answers, on any number of ranks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report
from hpcsolve.algorithms.held_karp import batch as kernel
from hpcsolve.algorithms.held_karp.problem import parts_of_tour
from hpcsolve.algorithms.held_karp.statement import BatchStatement, TourStatement
from hpcsolve.answers.tour import Tour
from hpcsolve.answers.tours import Tours
from hpcsolve.checkpoint.checkpoints import Boundary, Checkpoints, without_writer
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.errors import HpcsolveError, InputError, NoAnswer, ResourceError, Stopped, agree
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import TspBatch
from hpcsolve.wording import counted

SECONDS_A_ROUND = 30.0
"""How long a rank solves instances before it meets the other ranks, to save or to stop."""
Pieces = list[NDArray[np.int64]]
"""Pieces of a rank's work, the last one first: numbers of instances of one part for the kernel, or of a single one."""
FLAGS = 0
"""The column of `Solved.rows` with the flags below."""
DONE, FOUND, OPTIMAL = 1, 2, 4
"""Flags: the instance has been solved, has a tour, and its tour, or that there is none, is proven."""


class Alone(SerialComm):
    """The communicator of a rank that solves an instance alone, while others of its host do so too."""

    def __init__(self, comm: Comm) -> None:
        self.local_size = comm.local_size


def plan(stated: BatchStatement, ranks: int, info: DeviceInfo, plan_alone: Callable[[TourStatement], Plan]) -> Plan:
    """Return what a run will need: on each rank the memory of its largest piece of work, and the work of all.

    Raises
    ------
    InputError, ResourceError
        An instance cannot be solved, whatever the memory.
    """
    batch = stated.problem
    alone: dict[int, Plan] = {}
    for number in np.flatnonzero(~stated.by_kernel).tolist():
        try:
            alone[number] = plan_alone(stated.of(number))
        except (InputError, ResourceError) as error:
            raise type(error)(f"{batch.named(number)}: {error}") from None
    inner = [_inner_cities(stated, place) for place in range(len(batch.parts))]
    dealt, small = deal(stated, ranks), int(stated.by_kernel.sum())
    work = kernel_operations(stated) + sum(one.operations for one in alone.values())
    units = dict.fromkeys([*(["min-add"] if small else []), *(one.operation for one in alone.values())])
    methods = Counter(f"by {one.method}" if one.method else "alone" for one in alone.values())
    methods += Counter({"by the kernel of batches": small})
    details: dict[str, int | str] = {
        "instances": batch.count, WITHOUT_WORK: sum(not pieces for pieces in dealt),
        "methods": ", ".join(f"{count} {how}" for how, count in methods.items())}

    def largest(free: Sequence[int]) -> int:
        return plan_alone(stated.of(int(batch.cities.argmax()))).largest([min(free)])

    def whole(plans: dict[int, Plan]) -> Plan:
        """Return the plan of the batch, given the plans of the instances that are solved alone."""
        found: list[tuple[int, int]] = []
        for pieces in dealt:
            needs = [_need(piece, plans, inner[batch.place_of(int(piece[0]))[0]], info) for piece in pieces]
            found.append((max((d for d, _ in needs), default=0), max((h for _, h in needs), default=0)))
        kept = 8 * int(batch.offset[-1]) + 64 * batch.count
        shared = max((one.shared_bytes for one in plans.values()), default=0)
        return Plan(tuple(d for d, _ in found), tuple(h + kept for _, h in found), work, " and ".join(units),
                    (0,) * ranks, details, largest, shared)

    if not any(one.otherwise for one in alone.values()):
        return whole(alone)
    note = 'method: bounded for instances whose table of "lattice" does not fit in the memory'
    return replace(whole(alone), otherwise=replace(
        whole({number: one.otherwise or one for number, one in alone.items()}), note=note))


def _need(piece: NDArray[np.int64], plans: dict[int, Plan], m: int, info: DeviceInfo) -> tuple[int, int]:
    """Return the bytes of the device and of the host that a piece of work takes."""
    one = plans.get(int(piece[0]))
    return (kernel.device_bytes(len(piece), m, info), 0) if one is None else (one.device_bytes[0], one.host_bytes[0])


def kernel_operations(stated: BatchStatement) -> int:
    """Return the work of the kernel of batches, in min-adds."""
    counts = np.add.reduceat(stated.by_kernel.astype(np.int64), stated.problem.begins[:-1])
    return sum(int(count) * kernel.operations(_inner_cities(stated, place)) for place, count in enumerate(counts))


def _inner_cities(stated: BatchStatement, place: int) -> int:
    """Return the number of cities beside the depot of the instances of a part."""
    return len(parts_of_tour(stated.problem.parts[place].first.n, stated.question[place])[1])


def deal(stated: BatchStatement, ranks: int, done: NDArray[np.bool_] | None = None) -> list[Pieces]:
    """Return the pieces of work of each rank: what the kernel takes, then the others, those of most cities first.

    Parameters
    ----------
    done
        Which instances have been solved already.
    """
    batch = stated.problem
    left = np.ones(batch.count, bool) if done is None else ~done
    small, others = (np.flatnonzero(left & which) for which in (stated.by_kernel, ~stated.by_kernel))
    others = others[np.argsort(-batch.cities[others], kind="stable")]
    return [[*_together(batch, small[share.start : share.stop]), *others[rank::ranks, None]][::-1]
            for rank, share in enumerate(even_shares(len(small), ranks))]


def _together(batch: TspBatch, numbers: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield ascending numbers, those of one part together, as many as are on the device at a time."""
    cuts = np.flatnonzero(np.diff(np.searchsorted(batch.begins, numbers, "right"))) + 1
    for run in np.split(numbers, cuts):
        yield from (run[begin : begin + kernel.PIECE] for begin in range(0, len(run), kernel.PIECE))


@dataclass
class Solved:
    """What a rank knows of the instances: those that it has solved, and on rank 0 those of the checkpoint.

    Attributes
    ----------
    rows
        Shape (instances, 4), int64: flags, value, lower bound and dearest leg, at the scale of the batch.
    tours
        As in `Tours`.
    """

    batch: TspBatch
    rows: NDArray[np.int64] = field(init=False)
    tours: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        """Make room for all instances."""
        self.rows = np.zeros((self.batch.count, 4), np.int64)
        self.tours = np.full(int(self.batch.offset[-1]), -1, np.int32)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Shape (instances,): which are solved."""
        return self.rows[:, FLAGS] > 0

    def put(self, numbers: NDArray[np.int64], rows: Any, tours: NDArray[np.int32]) -> None:
        """Note what is known of instances, given in ascending order, with their tours one after the other."""
        own = np.zeros(self.batch.count, bool)
        own[numbers] = True
        self.rows[own], self.tours[np.repeat(own, self.batch.cities)] = rows, tours

    def taken(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return the numbers, rows and tours of what is solved, as `put` takes them."""
        own = self.done
        return np.flatnonzero(own), self.rows[own], self.tours[np.repeat(own, self.batch.cities)]

    def put_alone(self, number: int, outcome: Outcome) -> None:
        """Note the outcome of an instance that was solved alone."""
        tsp, answer = self.batch.instance(number), outcome.answer
        factor, place = self.batch.scale // tsp.scale, slice(*self.batch.offset[number : number + 2].tolist())
        if not isinstance(answer, Tour):
            self.rows[number, FLAGS] = DONE | OPTIMAL
            return
        lower = answer.cost if answer.lower_bound is None else answer.lower_bound
        flags = DONE | FOUND | (OPTIMAL if answer.optimal else 0)
        values = [value * factor for value in (answer.cost, lower, answer.dearest or 0)]
        if max(map(abs, values)) > LARGEST_SUM:
            raise InputError(f"its value is too large to be kept with {len(str(self.batch.scale)) - 1} decimals, as "
                             "another instance of the batch has; round the costs")
        self.rows[number] = flags, *values
        self.tours[place] = answer.tour

    def answer(self, has_dearest: bool) -> Tours:
        """Return the answer. All instances must be solved."""
        flags, values, lower, dearest = self.rows.T
        proven = (flags & OPTIMAL) > 0
        return Tours(values.copy(), (flags & FOUND) > 0, self.tours, self.batch.offset,
                     proven=None if proven.all() else proven, lower_bounds=None if proven.all() else lower.copy(),
                     dearest_legs=dearest.copy() if has_dearest else None)

    def state(self) -> State:
        """Return what a checkpoint keeps."""
        numbers, rows, tours = self.taken()
        parts = [part("number", 0, numbers), part("row", 0, rows), part("tours", 0, tours)]
        return State({}, parts, f"after {counted(len(numbers), 'instance')} on rank 0")

    def load(self, saved: Saved) -> None:
        """Take what a checkpoint has, of all ranks."""
        count = self.batch.count
        numbers = saved.gathered("number", (), np.int64, range(count + 1), range(count))
        saved.require(len(np.unique(numbers)) == len(numbers), "an instance that is there twice")
        rows = saved.gathered("row", (4,), np.int64, range(len(numbers), len(numbers) + 1))
        saved.require(bool((rows[:, FLAGS] & DONE).all()), "an instance that is not solved")
        each = self.batch.cities[numbers].astype(np.int64)
        total = int(each.sum())
        tours = saved.gathered("tours", (), np.int32, range(total, total + 1), range(-1, int(self.batch.cities.max())))
        order = np.argsort(numbers)
        parts = np.split(tours, np.cumsum(each)[:-1])
        self.put(numbers[order], rows[order], np.concatenate([tours[:0], *(parts[at] for at in order)]))


def run(
    stated: BatchStatement, device: Device, comm: Comm, report: Report, checkpoints: Checkpoints,
    solve_alone: Callable[[TourStatement, Comm, Checkpoints], Outcome],
) -> Outcome:
    """Return the best tour of each instance, on rank 0. Collective."""
    batch, solved = stated.problem, Solved(stated.problem)
    if checkpoints.saved is not None:
        solved.load(checkpoints.saved)
    waiting = deal(stated, comm.size, solved.done)[comm.rank]
    if comm.rank > 0:
        solved = Solved(batch)  # rank 0 hands over what the checkpoint has
    alone, inner = Alone(comm), replace(without_writer(checkpoints), begun=None)
    mine, rank = sum(map(len, waiting)), {"operations": 0, "bytes_sent": 0, "stored_bytes": 0}
    notes: list[tuple[int, str]] = []
    failed: HpcsolveError | None = None
    report(0.0)

    def solve(piece: NDArray[np.int64]) -> bool:
        """Solve a piece of work, and return whether it has come to its end."""
        number = int(piece[0])
        if stated.by_kernel[number]:
            place, _ = batch.place_of(number)
            own, factor = batch.parts[place], batch.scale // batch.parts[place].first.scale
            values, tours = kernel.solved(own, stated.question[place], piece - batch.begins[place], device)
            flags = np.where(tours[:, 0] < 0, DONE | OPTIMAL, DONE | FOUND | OPTIMAL)
            solved.rows[piece] = np.column_stack([flags, values * factor, values * factor, np.zeros_like(values)])
            solved.tours[batch.offset[piece][:, None] + np.arange(tours.shape[1])] = tours
            rank["operations"] += len(piece) * kernel.operations(_inner_cities(stated, place))
            return True
        before = len(device.notes)
        try:
            outcome = solve_alone(stated.of(number), alone, inner)
        except Stopped:
            return False
        except NoAnswer as error:  # the other instances go on
            solved.rows[number, FLAGS] = DONE
            device.notes.append(str(error))
            outcome = None
        notes.extend((number, note) for note in device.notes[before:])
        del device.notes[before:]
        if outcome is None:
            return True
        if outcome.complete:
            solved.put_alone(number, outcome)
            for name in rank:
                value = int(outcome.rank.get(name, 0))
                rank[name] = max(rank[name], value) if name == "stored_bytes" else rank[name] + value
        return outcome.complete

    for first in Boundary(comm, checkpoints, device.synchronize).while_any(
            waiting, solved.state, lambda: solved.rows.nbytes + solved.tours.nbytes):
        piece, begun = first, time.monotonic()
        try:
            while (whole := solve(piece)) and waiting and time.monotonic() - begun < SECONDS_A_ROUND:
                report(1 - sum(map(len, waiting)) / mine)
                piece = waiting.pop()
            if not whole:
                waiting.append(piece)
        except HpcsolveError as error:  # which the other ranks learn at the end
            failed = type(error)(f"{batch.named(int(piece[0]))}: {error}")
            waiting.clear()
        report(1 - sum(map(len, waiting)) / mine)
    agree(comm, failed)
    gathered = comm.gather((solved.taken(), notes))
    if gathered is None:
        return Outcome(None, {}, rank)
    for taken, _ in gathered:
        solved.put(*taken)
    device.notes.extend(f"{batch.named(number)}: {note}" for number, note in sorted(
        pair for _, several in gathered for pair in several))
    return Outcome(solved.answer(stated.parameters.objective == "lexicographic"), {}, rank)

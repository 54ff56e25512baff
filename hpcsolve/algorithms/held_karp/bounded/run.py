"""A job's calls: `plan` and `run` by bounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hpcsolve.algorithms import edge_assembly
from hpcsolve.algorithms.base import NO_STOP, WITHOUT_WORK, Outcome, Plan, Report, StopCriteria
from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineProver, slots_for
from hpcsolve.algorithms.held_karp.bounded.layers import FILE as LAYER_FILE
from hpcsolve.algorithms.held_karp.bounded.layers import key_words
from hpcsolve.algorithms.held_karp.bounded.places import of_orders, potentials
from hpcsolve.algorithms.held_karp.bounded.prove import LEVEL as LEVEL
from hpcsolve.algorithms.held_karp.bounded.prove import LEVELS, Proof, Prover, Watch
from hpcsolve.algorithms.held_karp.bounded.relaxation import FEWEST_SLOTS, MOST_BOUNDS, NO_PATH
from hpcsolve.algorithms.held_karp.bounded.relaxation import FILE as BOUNDS
from hpcsolve.algorithms.held_karp.bounded.search import Budget, budget_of, state_bytes
from hpcsolve.algorithms.held_karp.bounded.tighten import DESCENT_FILE, PENALTY, good_order
from hpcsolve.algorithms.held_karp.bounded.timed import FILE as TIMED_BOUNDS
from hpcsolve.algorithms.held_karp.bounded.timed import MOST_ROWS, MOST_WORK
from hpcsolve.algorithms.held_karp.bounded.windows import shortest_times, timed_orders
from hpcsolve.algorithms.held_karp.outcome import layers_table
from hpcsolve.algorithms.held_karp.problem import MOST_INNER_CITIES, MOST_INNER_CITIES_WITH_WINDOWS, OrderProblem
from hpcsolve.algorithms.tours import one_tree
from hpcsolve.answers.multipliers import multipliers_group
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.device.select import memory_for_rank
from hpcsolve.errors import NoAnswer, Stopped
from hpcsolve.memory import available_memory
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.clock import UNIT_OF, clock_text
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, Tsp

FILES = {
    BOUNDS: True, TIMED_BOUNDS: True, LAYER_FILE: True, DESCENT_FILE: False,
    **dict.fromkeys((*edge_assembly.WHOLE_TOUR_FILES, *one_tree.FILES), False),
}
"""Kernel files, as `Algorithm.cores` has them."""
FILES_WITHOUT_WINDOWS = tuple(file for file in FILES if file != TIMED_BOUNDS)
FILES_OF_ENDS, FILES_OF_SUMS_IN_TIME = (BOUNDS, TIMED_BOUNDS, LAYER_FILE), (TIMED_BOUNDS, LAYER_FILE)
"""Those that a job needs with time windows, of "finish", to which a sum may be a bound, and of "sum"."""
ROOM = 4
"""How many times the value of a quick order must fit the values of bounds."""
SHARE = 0.8
"""Share of the free memory that states may take by default."""


def fits(problem: OrderProblem) -> bool:
    """Return whether the values of good orders are so far below 2^31 that saturated bounds can prove something.

    Judged by a quick order: with the value of a good one at two thirds of 2^31, nothing was proven of 40 cities. With
    windows all times must be below 2^31, and so must travel times by departure.
    """
    if problem.earliest is not None:
        timed = timed_orders(problem)
        longest = 0 if timed.hours is None else int(timed.hours.tables.max(initial=0))
        return max(timed.horizon(), longest) < NO_PATH
    places = of_orders(problem)
    order = places.nearest_neighbour(np.where(places.allowed, places.cost, PENALTY), 0)
    value = places.value(order)
    return value is None or value <= NO_PATH // ROOM


def plan(
    tsp: Tsp, problem: OrderProblem, ranks: int, info: DeviceInfo, lattice: Callable[[], Mapping[str, int | str]],
) -> Plan:
    """Return what a run on so many ranks needs beside its states, whose number cannot be foreseen.

    Parameters
    ----------
    lattice
        Returns lines about what the lattice would need.
    """
    m, ends, timed = problem.m, tsp.n - problem.m, problem.earliest is not None
    most_cities = MOST_INNER_CITIES_WITH_WINDOWS if timed else MOST_INNER_CITIES

    def host_bytes(m: int) -> int:
        """Beside a GPU with the tables that serve best there or on the host's cores, as far as they are large."""
        return _host_bytes(m, timed) + (_table_bytes(problem, m) if info.kind == "cuda" else 0)

    details: dict[str, int | str] = {
        "method": "bounded: how many states remain cannot be foreseen",
        "states": f"at most what [stop] memory allows on each rank; by default {SHARE:.0%} of the free memory",
        WITHOUT_WORK: 0,
    }

    def largest(free: Sequence[int]) -> int:
        most = (m for m in range(most_cities, 0, -1) if _table_bytes(problem, m) + host_bytes(m) <= min(free))
        return next(most, 0) + ends

    device, host = (_table_bytes(problem, m),) * ranks, (host_bytes(m),) * ranks
    work = MOST_WORK if timed else m * m * m << (LEVELS[-1] - 1)
    return Plan(device, host, work, "min-add, in one round of bounds", (0,) * ranks, details, largest,
                    beside=lattice)


def run(
    tsp: Tsp, problem: OrderProblem, device: Device, comm: Comm, report: Report,
    criteria: StopCriteria = NO_STOP, checkpoints: Checkpoints = NONE, seed: int = 1,
    question: TourQuestion | None = None,
) -> tuple[Outcome, Proof]:
    """Return the best order that is found, with its proof or a lower bound, and the proof. Collective.

    The lower bound is the greater one of the search's own and that of 1-trees, which the result can prove.

    Parameters
    ----------
    question
        What is asked for, to which the bound by 1-trees belongs. Without it there is none.

    Raises
    ------
    NoAnswer
        Neither an order was found nor a proof that there is none.
    Stopped
        Interrupted without an order. The state is saved.
    """
    started, scaled = time.perf_counter(), criteria.scaled_target(tsp.scale)
    problem = as_sum(problem) or problem
    target = None if scaled is None else scaled - problem.offset
    def by_one_trees() -> one_tree.TourBound | None:
        found = one_tree.bound_beside(tsp, device, question) if question is not None and comm.rank == 0 else None
        return comm.bcast(found)

    bound = by_one_trees() if criteria.gap is not None else None

    def near_enough(lower: int) -> int:
        own = lower + problem.offset
        return criteria.good_enough(own if bound is None else max(own, bound.value)) - problem.offset

    watch = Watch(comm, checkpoints, criteria.seconds, target, None if criteria.gap is None else near_enough,
                  started=checkpoints.clock())

    def say(line: str) -> None:
        if comm.rank == 0:
            checkpoints.note(f"{time.perf_counter() - started:.2f} s: {line}")

    report(0.0)
    prover: Prover | DeadlineProver
    budget = _budget(problem, criteria, device, comm)
    if problem.combine == "finish":
        unit = UNIT_OF.get(tsp.unit)
        when = str if unit is None else lambda time: clock_text(time, unit, tsp.scale)
        prover = DeadlineProver(timed_orders(problem), device, comm, budget, say, report, watch, when=when)
    elif problem.earliest is not None:
        prover = Prover(timed_orders(problem), device, comm, budget, note=say, report=report, watch=watch)
    else:
        values = comm.bcast(potentials(problem) if comm.rank == 0 else None)  # by floats of a library, so on one rank

        def assembled(number: int) -> tuple[int, list[int]] | None:
            if comm.rank > 0:
                return comm.bcast(None)
            return comm.bcast(good_order(problem, values, prover.devices, seed, number, watch.left(), checkpoints))

        prover = Prover(of_orders(problem), device, comm, budget, assembled, values, say, report, watch)
    proof = prover.run()
    if comm.rank == 0 and (note := prover.devices.note()):
        device.notes.append(note)
    if comm.rank == 0 and not proof.chosen and proof.optimal:
        device.notes.append("other tours are as good, and the lattice may return another one: there are too many of "
                            "them to choose by the tie rule")
    if proof.order is None and not watch.complete:
        raise Stopped(watch.ended)
    if proof.order is None and not proof.optimal:
        why = f"{watch.ended or 'layers are wider than the memory allows'}; allow more in [stop]"
        raise NoAnswer(f"no tour was found, and it is not proven that there is none: {why}")
    if proof.order is not None and not proof.optimal and bound is None:
        bound = by_one_trees()
    return _outcome(problem, proof, prover, watch, bound), proof


def as_sum(problem: OrderProblem) -> OrderProblem | None:
    """Return the sum that gives the orders of a problem the same values, or None if there is none.

    Where no city opens so late that anybody waits, an order ends when all its legs and services have been done. Sums
    have multipliers, and so better bounds than ends.
    """
    if problem.combine != "finish" or problem.m == 0:
        return None
    timed = timed_orders(problem)
    shortest = shortest_times(timed)
    back = int((shortest[-1, :-1] + shortest[:-1, -1]).min())
    if (timed.earliest > np.append(shortest[-1, :-1], back)).any():
        return None
    leave = np.zeros(problem.m + 1, np.int64) if problem.travel is None or problem.leave is None else problem.leave
    missing = problem.cost == NO_ARC
    cost = np.where(missing, NO_ARC, problem.cost - leave[:, None])
    whole = cost if problem.by_place else np.broadcast_to(cost[0], cost.shape)
    return replace(problem, combine="add", cost=whole, times=timed.time, offset=problem.offset + int(leave.sum()))


def _outcome(
    problem: OrderProblem, proof: Proof, prover: Prover | DeadlineProver, watch: Watch, bound: one_tree.TourBound | None
) -> Outcome:
    """Return the outcome with a table of the last search, and a lower bound by 1-trees if that is greater. Collective.
    """
    last, tables = proof.last, {}
    if last.layers:
        tables["layers"] = layers_table(
            prover.comm, last.kept, state_bytes(key_words(problem.m), _has_labels(problem)), last.seconds,
            last.bytes_sent,
            cities=np.arange(1, len(last.kept) + 1, dtype=np.int32), pruned=np.array(last.pruned, np.int64))
    rank: dict[str, float | int] = {
        "operations": proof.states, "bytes_sent": prover.deal.bytes_sent + sum(last.bytes_sent),
        "stored_bytes": prover.state_bytes,
    }
    ended = watch.ended or ("the layers are too wide for the memory" if proof.capped and not proof.optimal else "")
    if proof.order is None or proof.value is None:
        return Outcome(NoTour(True), tables, rank, ended, watch.complete)
    lower = None if proof.optimal else proof.lower + problem.offset
    answer = Tour(proof.value + problem.offset, problem.core.tour(proof.order), proof.optimal, lower_bound=lower)
    if lower is not None and bound is not None and bound.value > lower:
        answer = one_tree.with_bound(answer, bound.value)
        tables |= multipliers_group(bound.proof) if prover.comm.rank == 0 else {}
    return Outcome(answer, tables, rank, ended, watch.complete)


def _budget(problem: OrderProblem, criteria: StopCriteria, device: Device, comm: Comm) -> Budget:
    """Return the most that a search may hold in memory, which is the same on all ranks. Collective."""
    m, nbytes = problem.m, criteria.memory
    if nbytes is None:  # layers are computed on the device and kept on the host
        free = min(memory_for_rank(device, comm), available_memory() // comm.local_size)
        free -= _table_bytes(problem, m)
        nbytes = max(0, int(SHARE * min(comm.allgather(free))))
    return budget_of(nbytes, key_words(m), comm.size, _has_labels(problem))


def _has_labels(problem: OrderProblem) -> bool:
    """Return whether the values of states are labels, of time and cost."""
    return problem.earliest is not None and problem.combine == "add"


def _table_bytes(problem: OrderProblem, m: int) -> int:
    """Return the most device memory of the tables of bounds and of the local search, of m cities in place of its own.
    """
    of_arcs = 64 * (m + 1) ** 2 + 4096
    by_hour = 0 if problem.travel is None else 4 * (len(problem.travel.departures) + m) * (m + 1) ** 2
    if problem.earliest is not None:  # of sums completions and beginnings, of ends not at the same time
        of_ends = 4 * (m * (m + 1) << slots_for(m)) if problem.combine == "finish" else 0
        return max(of_ends, 2 * 4 * max(MOST_BOUNDS, MOST_ROWS << FEWEST_SLOTS)) + of_arcs + by_hour
    layer, arcs = m << LEVELS[-1], (m + 1) * m * m
    return 4 * layer * (m + 3) + arcs * (8 + 4 + 4 + 8) + m * m * 8 + 64 * m + 4096


def _host_bytes(m: int, timed: bool) -> int:
    """Return the host memory of the costs by place with copies of them, and of the messages with bounds."""
    if timed:
        return (m + 1) ** 2 * 8 * 64 + (m + 1) * m * m
    return (m + 1) * m * m * 8 * 5 + 4 * (m << LEVELS[-1])

"""Objectives and constraints beyond plain sums: `plan` and `run` with the table of all states.

For the value of the best order through each arc two tables are filled: one of the orders, one of the orders read
backwards. An order in which the arc from i to j comes after the set S consists of a path through S that ends in i,
which the first table has, the arc, and a path from j through all other cities, which the second one has. So the values
of a layer of the first table are joined with those of the opposite layer of the second one, as soon as that is filled;
a set and its complement are on one rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report
from hpcsolve.algorithms.held_karp.orders.states import (
    STRIDE,
    Encoded,
    best_orders,
    count_optimal,
    encode,
    values_by_end,
)
from hpcsolve.algorithms.held_karp.orders.table import BACK, OrderCheckpoints, Slices, Table, table_bytes
from hpcsolve.algorithms.held_karp.orders.table import FILE as FILE
from hpcsolve.algorithms.held_karp.outcome import Statistics, layers_table, rank_group
from hpcsolve.algorithms.held_karp.problem import OrderProblem, order_problem, question_without_dearer
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, ExtraAnswers
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import Device
from hpcsolve.errors import ResourceError
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import Tsp

MOST_CITIES = 31
"""The most cities beside the depot: a set is a word of 32 bits, and a row of costs has one more place."""
MOST_RANKS = 512
"""The most ranks of a run. Not all of them need have work."""
ENTRIES = STRIDE * STRIDE
"""Values that are kept on the device for the arcs."""
Arcs = NDArray[np.int64]
"""Shape (arcs, 3): tail, head, and the value of the best order through the arc (city m: the depot). Ascending by tail,
then by head; arcs that no order uses are left out."""


def statement(tsp: Tsp, question: TourQuestion) -> OrderProblem:
    """Return the order problem of a question, with at most `MOST_CITIES` beside the depot.

    Raises
    ------
    InputError
        As `order_problem`.
    ResourceError
        There are more than `MOST_CITIES`.
    """
    problem = order_problem(tsp, question)
    if problem.m > MOST_CITIES:
        most = MOST_CITIES + tsp.n - problem.m
        why = f"the table of all states doubles with every city, so there may be {most} at most"
        raise ResourceError(f"{tsp.n} cities are too many for this objective and these constraints: {why}")
    return problem


def require_ranks(ranks: int) -> None:
    """Raise `ResourceError` if these are more than `MOST_RANKS`."""
    if ranks > MOST_RANKS:
        raise ResourceError(f"{ranks} ranks are too many: at most {MOST_RANKS} can share one problem; start fewer")


def plan(tsp: Tsp, question: TourQuestion, ranks: int, extra: ExtraAnswers = NO_EXTRA_ANSWERS) -> Plan:
    """Return what a run on so many ranks will need. Raises as `statement`, and as `require_ranks`."""
    require_ranks(ranks)
    problem = statement(tsp, question)
    if problem.m == 0:
        none = (0,) * ranks
        return Plan(none, none, 0, "join", none, {WITHOUT_WORK: ranks - 1}, lambda free: tsp.n)
    runs = [encode(problem)]
    if question.objective == "lexicographic":
        runs.append(encode(statement(tsp, replace(question, objective="sum"))))
    shares, itemsize = [Slices(problem.m, ranks, rank) for rank in range(ranks)], max(run.itemsize for run in runs)
    details: dict[str, int | str] = {
        "split": f"one table of all sets, {shares[0].slices} slices" + (", filled twice" if len(runs) > 1 else "")
        + (", and one of the orders read backwards" if extra.arcs else ""),
        "states": f"{8 * itemsize}-bit",
        WITHOUT_WORK: sum(not share.own for share in shares),
    }

    def device_bytes(share: Slices) -> int:
        tables = [table_bytes(share, run.dtype, len(run.cost) > 1) for run in runs]
        beside = tables[-1] + ENTRIES * runs[-1].itemsize if extra.arcs else 0  # the table of orders read backwards
        return max(*tables, tables[-1] + beside)

    def host_bytes(share: Slices) -> int:
        return sum(share.largest_exchange) * itemsize

    def needed(m: int, rank: int) -> int:
        share = Slices(m, ranks, rank)
        least = share.states * runs[0].itemsize
        return least if least > 2**44 else device_bytes(share) + host_bytes(share)

    def largest(free: Sequence[int]) -> int:
        fitting = (m for m in range(MOST_CITIES, 0, -1) if all(needed(m, r) <= have for r, have in enumerate(free)))
        return next(fitting, 0) + tsp.n - problem.m

    sent = sum(run.itemsize for run in runs) + 2 * extra.arcs * runs[-1].itemsize
    return Plan(
        tuple(device_bytes(share) for share in shares), tuple(host_bytes(share) for share in shares),
        (len(runs) + 2 * extra.arcs) * sum(share.operations() for share in shares), "join",
        tuple(sent * share.values_sent() for share in shares), details, largest)


@dataclass(frozen=True)
class Solved:
    """The best orders with their values, in order, and what is asked for beside them.

    Attributes
    ----------
    count
        The number of optimal orders.
    arcs
        For each arc the value of the best order through it.
    """

    ranked: list[tuple[int, list[int]]]
    count: int
    arcs: Arcs


@dataclass(frozen=True)
class OrderRun:
    """What the tables of a run share."""

    device: Device
    comm: Comm
    report: Report
    checkpoints: OrderCheckpoints
    statistics: Statistics

    def best(self, number: int, tables: int, problem: OrderProblem, encoded: Encoded | None,
             extra: ExtraAnswers = NO_EXTRA_ANSWERS) -> Solved | None:
        """Return what is asked for of the best orders, None if there is none. Collective.

        Parameters
        ----------
        number, tables
            Which of how many tables it is.
        """
        if encoded is None:
            value = problem.value([])
            return None if value is None else Solved([(value, [])], 1, np.array([[0, 0, value]]))
        slices = Slices(encoded.m, self.comm.size, self.comm.rank)
        with Table(encoded, slices, self.device, self.comm) as table:
            begin = self.checkpoints.load(number, table)
            table.fill(self.statistics, lambda done: self.report((number + done) / tables), begin,
                       lambda layer: self.checkpoints.reached(number, tables, layer, table))
            found = best_orders(encoded, table.read, extra.best)
            if not found:
                return None
            count = count_optimal(encoded, table.read) if extra.count else 0
            arcs = self._arcs(number, tables, problem, table) if extra.arcs else np.empty((0, 3), np.int64)
        return Solved([(encoded.decoded(value), order) for value, order in found], count, arcs)

    def _arcs(self, number: int, tables: int, problem: OrderProblem, table: Table) -> Arcs:
        """Return for each arc the value of the best order through it, with a second table. Collective."""
        m, encoded = table.encoded.m, encode_backwards(problem, table.encoded.itemsize)
        with Table(encoded, table.slices, self.device, self.comm) as back:
            joiner, begin = Joiner(table, back, self.statistics), self.checkpoints.load(number, back, BACK)
            for layer in range(begin):  # they come from a checkpoint
                back.exchange(layer, self.statistics)
                joiner.join(layer)

            def reached(layer: int) -> None:
                joiner.join(layer)
                self.checkpoints.reached(number, tables, m - 1, table, back, layer + 1)

            back.fill(self.statistics, lambda done: self.report((number + 1 + done) / tables), begin, reached)
            arcs = joiner.values()
            joiner.close()
        values = [encoded.decoded(value) for value in arcs[:, 2].tolist()]
        return np.column_stack([arcs[:, :2], np.array(values, np.int64)])


def run(tsp: Tsp, question: TourQuestion, device: Device, comm: Comm, report: Report,
        checkpoints: Checkpoints = NONE, extra: ExtraAnswers = NO_EXTRA_ANSWERS) -> Outcome:
    """Return the best order, with a proof. Collective."""
    problem = statement(tsp, question)
    m, twice = problem.m, question.objective == "lexicographic"
    statistics = Statistics()
    statistics.begin(device, m)
    work = OrderRun(device, comm, report, OrderCheckpoints(device, comm, checkpoints), statistics)
    encoded = encode(problem) if m else None
    found, tables_in_all = None, 1 + twice + extra.arcs
    if work.checkpoints.first is None:
        found = work.best(0, tables_in_all, problem, encoded, NO_EXTRA_ANSWERS if twice else extra)
        work.checkpoints.first = found.ranked[0][0] if twice and found else None
    dearest = work.checkpoints.first
    if dearest is not None:
        whole = encode(statement(tsp, replace(question, objective="sum"))) if m else None
        problem = statement(tsp, question_without_dearer(tsp, question, dearest))
        encoded = encode(problem, whole.itemsize) if whole else None
        found = work.best(1, tables_in_all, problem, encoded, extra)
    tables, ranks = {}, {}
    if encoded is not None:
        sizes, own = range(m), Slices(m, comm.size, comm.rank)
        states = [comb(m, size) * (m - size) for size in sizes]
        tables["layers"] = layers_table(comm, states, encoded.itemsize, statistics.layer_seconds,
                                        statistics.layer_bytes_sent, cities=np.array(sizes, np.int32))
        ranks = rank_group([statistics], (1 + twice + 2 * extra.arcs) * own.operations())
    if found is None:
        return Outcome(NoTour(True), tables, ranks)
    value, order = found.ranked[0]
    tour = Tour(value, problem.core.tour(order), True, dearest, optimal_tours=found.count if extra.count else None)
    if extra.arcs:
        tails, heads, values = in_instance(problem, question, found.arcs).T
        tour = replace(tour, arc_tails=tails.astype(np.int32), arc_heads=heads.astype(np.int32),
                       arc_costs=values.copy())
    if extra.best > 1:
        tour = replace(tour, best_costs=np.array([value for value, _ in found.ranked], np.int64),
                       best_tours=np.concatenate([problem.core.tour(order) for _, order in found.ranked]))
    return Outcome(tour, tables, ranks)


def encode_backwards(problem: OrderProblem, least: int) -> Encoded:
    """Return the problem whose orders are those of another one read backwards, with the same values, as `encode`."""
    m = problem.m
    after = tuple(sum(1 << j for j in range(m) if problem.before[j] >> i & 1) for i in range(m))
    encoded = encode(replace(problem, cost=problem.cost[::-1].transpose(0, 2, 1), before=after), least)
    if problem.weights is None:
        return encoded
    # An arc delays the cities behind it. Read backwards, these are the depot and the cities that have been visited.
    return replace(encoded, weight=-encoded.weight.astype(np.int64), factor=int(problem.weights[m]))


def in_instance(problem: OrderProblem, question: TourQuestion, arcs: Arcs) -> Arcs:
    """Return arcs between positions in the instance, in the same form. Arcs of a depot that is no city are left out."""
    own, last = problem.core, problem.core.after or (problem.core.before if question.path == "cycle" else ())
    tail, head = (np.array([*own.cities, *(ends or (-1,))]) for ends in (own.before, last))
    named = np.stack([tail[arcs[:, 0]], head[arcs[:, 1]], arcs[:, 2]], axis=1)
    named = named[(named[:, :2] >= 0).all(axis=1) & (named[:, 0] != named[:, 1])]
    ascending: Arcs = named[np.lexsort([named[:, 1], named[:, 0]])]
    return ascending


class Joiner:
    """Joins a filled table with the layers of the table of the orders read backwards, while that is filled."""

    def __init__(self, forward: Table, back: Table, statistics: Statistics) -> None:
        self._forward, self._back, self._statistics = forward, back, statistics
        self._through = forward.device.upload(np.full(ENTRIES, forward.encoded.no_path, forward.encoded.dtype))

    def join(self, filled: int) -> None:
        """Join the sets of the second table's layer, which has just been filled, with their complements. Collective."""
        m = self._forward.slices.m
        if filled == 0:  # the complement is all cities: `values` adds the arcs from and to the depot
            return
        self._forward.exchange(m - filled, self._statistics)
        timer = self._statistics.layer_timers[filled]
        timer.start()
        self._forward.join(self._back, m - filled, self._through)
        timer.stop()

    def values(self) -> Arcs:
        """Return the arcs with values in the kernel's integers, after all layers have been joined. Collective."""
        forward, back = self._forward, self._back
        m, none = forward.slices.m, forward.encoded.no_path
        table = np.full((m + 1, m + 1), none, np.int64)
        parts = forward.comm.allgather(self._through.download())
        table[:m, :m] = np.min(parts, axis=0).reshape(STRIDE, STRIDE)[:m, :m]
        table[:m, m] = values_by_end(forward.encoded, forward.read)
        table[m, :m] = values_by_end(back.encoded, back.read)
        tails, heads = np.nonzero(table < none)
        return np.stack([tails, heads, table[tails, heads]], axis=1)

    def close(self) -> None:
        """Free the values on the device."""
        self._through.free()

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
from hpcsolve.algorithms.held_karp.orders import states
from hpcsolve.algorithms.held_karp.orders.states import STRIDE, Encoded, encode
from hpcsolve.algorithms.held_karp.orders.table import BACK, OrderCheckpoints, Slices, Table
from hpcsolve.algorithms.held_karp.orders.table import FILE as FILE
from hpcsolve.algorithms.held_karp.outcome import Statistics, layers_table, rank_group
from hpcsolve.algorithms.held_karp.problem import Core, OrderProblem, order_problem, question_without_dearer
from hpcsolve.algorithms.held_karp.statement import Parameters, TourStatement
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import Device
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import Comm

MOST_CITIES = 31
"""The most cities beside the depot: a set is a word of 32 bits, and a row of costs has one more place."""
MOST_RANKS = 512
"""The most ranks of a run. Not all of them need have work."""
Arcs = NDArray[np.int64]
"""Shape (arcs, 3): tail, head, and the value of the best order through the arc (city m: the depot). Ascending by tail,
then by head; arcs that no order uses are left out."""


def _problem(stated: TourStatement) -> OrderProblem:
    """Return the order problem of a job.

    Raises
    ------
    InputError
        The problem has more than one value for each state, or as `order_problem`.
    ResourceError
        There are too many cities beside the depot.
    """
    tsp, problem = stated.problem, stated.orders
    if problem.times is not None and problem.m:
        raise InputError("not for time windows but with the earliest end, since states have a cost and a time then")
    if problem.loads is not None and problem.m:
        raise InputError("not for loads, which exclude sets of cities")
    if problem.m > MOST_CITIES:
        most = MOST_CITIES + tsp.n - problem.m
        why = f"the table of all states doubles with every city, so there may be {most} at most"
        raise ResourceError(f"{tsp.n} cities are too many for this objective and these constraints: {why}")
    return problem


def require_ranks(ranks: int) -> None:
    """Raise `ResourceError` if these are more than `MOST_RANKS`."""
    if ranks > MOST_RANKS:
        raise ResourceError(f"{ranks} ranks are too many: at most {MOST_RANKS} can share one problem; start fewer")


def plan(stated: TourStatement, ranks: int) -> Plan:
    """Return what a run on so many ranks will need.

    Raises
    ------
    InputError
        As `_problem`.
    ResourceError
        There are too many cities or ranks.
    """
    require_ranks(ranks)
    problem, arcs = _problem(stated), stated.parameters.arcs
    ends: int = stated.problem.n - problem.m
    if problem.m == 0:
        none = (0,) * ranks
        return Plan(none, none, 0, "join", none, {WITHOUT_WORK: ranks - 1}, lambda free: ends)
    runs = [encode(problem)]
    if stated.question.objective == "lexicographic":
        runs.append(encode(order_problem(stated.problem, replace(stated.question, objective="sum"))))
    shares, itemsize = [Slices(problem.m, ranks, rank) for rank in range(ranks)], max(run.itemsize for run in runs)
    details: dict[str, int | str] = {
        "split": f"one table of all sets, {shares[0].slices} slices" + (", filled twice" if len(runs) > 1 else "")
        + (", and one of the orders read backwards" if arcs else ""),
        "states": f"{8 * itemsize}-bit",
        WITHOUT_WORK: sum(not share.own for share in shares),
    }

    def device_bytes(share: Slices) -> int:
        tables = [share.table_bytes(run.dtype, len(run.cost) > 1) for run in runs]
        beside = tables[-1] + STRIDE**2 * runs[-1].itemsize if arcs else 0  # the table of orders read backwards
        return max(*tables, tables[-1] + beside)

    def host_bytes(share: Slices) -> int:
        return sum(share.largest_exchange) * itemsize

    def needed(m: int, rank: int) -> int:
        share = Slices(m, ranks, rank)
        least = share.states * runs[0].itemsize
        return least if least > 2**44 else device_bytes(share) + host_bytes(share)

    def largest(free: Sequence[int]) -> int:
        fitting = (m for m in range(MOST_CITIES, 0, -1) if all(needed(m, r) <= have for r, have in enumerate(free)))
        return next(fitting, 0) + ends

    sent = sum(run.itemsize for run in runs) + 2 * arcs * runs[-1].itemsize
    return Plan(
        tuple(device_bytes(share) for share in shares), tuple(host_bytes(share) for share in shares),
        (len(runs) + 2 * arcs) * sum(share.operations() for share in shares), "join",
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
    """What the tables of a run share.

    Attributes
    ----------
    tables
        How many tables are filled in all.
    """

    device: Device
    comm: Comm
    report: Report
    checkpoints: OrderCheckpoints
    statistics: Statistics
    tables: int

    def best(self, number: int, problem: OrderProblem, encoded: Encoded | None, extra: Parameters | None
             ) -> Solved | None:
        """Return the best orders and what is asked for beside them, None if there is no order. Collective.

        Parameters
        ----------
        number
            Which of the tables it is.
        extra
            Says what is asked for beside the best order, or None for nothing.
        """
        if encoded is None:
            value = problem.value([])
            return None if value is None else Solved([(value, [])], 1, np.array([[0, 0, value]]))
        slices = Slices(encoded.m, self.comm.size, self.comm.rank)
        with Table(encoded, slices, self.device, self.comm) as table:
            begin = self.checkpoints.load(number, table)
            table.fill(self.statistics, lambda done: self.report((number + done) / self.tables), begin,
                       lambda layer: self.checkpoints.reached(number, self.tables, layer, table))
            found = states.best_orders(encoded, table.read, extra.best if extra else 1)
            if not found:
                return None
            count = states.count_optimal(encoded, table.read) if extra and extra.count else 0
            arcs = self._arcs(number, problem, table) if extra and extra.arcs else np.empty((0, 3), np.int64)
        return Solved([(encoded.decoded(value), order) for value, order in found], count, arcs)

    def _arcs(self, number: int, problem: OrderProblem, table: Table) -> Arcs:
        """Return for each arc the value of the best order through it, with a second table. Collective."""
        forward, m, none = table.encoded, table.encoded.m, table.encoded.no_path
        encoded = encode_backwards(problem, forward.itemsize)
        through = self.device.upload(np.full(STRIDE**2, none, forward.dtype))
        with Table(encoded, table.slices, self.device, self.comm) as back:
            begin = self.checkpoints.load(number, back, BACK)

            def join(filled: int) -> None:
                """Join the sets of the second table's layer, which has just been filled, with their complements."""
                if filled == 0:  # the complement is all cities: the arcs from and to the depot are added below
                    return
                table.exchange(m - filled, self.statistics)
                timer = self.statistics.layer_timers[filled]
                timer.start()
                table.join(back, m - filled, through)
                timer.stop()

            def reached(layer: int) -> None:
                join(layer)
                self.checkpoints.reached(number, self.tables, m - 1, table, back, layer + 1)

            for layer in range(begin):  # they come from a checkpoint
                back.exchange(layer, self.statistics)
                join(layer)
            back.fill(self.statistics, lambda done: self.report((number + 1 + done) / self.tables), begin, reached)
            values = np.full((m + 1, m + 1), none, np.int64)
            inner = np.min(self.comm.allgather(through.download()), axis=0)
            values[:m, :m] = inner.reshape(STRIDE, STRIDE)[:m, :m]
            values[:m, m] = states.values_by_end(forward, table.read)
            values[m, :m] = states.values_by_end(encoded, back.read)
        through.free()
        tails, heads = np.nonzero(values < none)
        decoded = [encoded.decoded(value) for value in values[tails, heads].tolist()]
        return np.column_stack([tails, heads, np.array(decoded, np.int64)])


def run(stated: TourStatement, device: Device, comm: Comm, report: Report, checkpoints: Checkpoints = NONE) -> Outcome:
    """Return the best order, with a proof. Collective."""
    tsp, question, extra, problem = stated.problem, stated.question, stated.parameters, _problem(stated)
    m, twice = problem.m, question.objective == "lexicographic"
    statistics, kept = Statistics(), OrderCheckpoints(device, comm, checkpoints)
    statistics.begin(device, m)
    work = OrderRun(device, comm, report, kept, statistics, 1 + twice + extra.arcs)
    encoded = encode(problem) if m else None
    found = None
    if kept.first is None:
        found = work.best(0, problem, encoded, None if twice else extra)
        kept.first = found.ranked[0][0] if twice and found else None
    dearest = kept.first
    if dearest is not None:
        whole = encode(order_problem(tsp, replace(question, objective="sum"))) if m else None
        problem = order_problem(tsp, question_without_dearer(tsp, question, dearest))
        encoded = encode(problem, whole.itemsize) if whole else None
        found = work.best(1, problem, encoded, extra)
    tables, ranks = {}, {}
    if encoded is not None:
        sizes, own = range(m), Slices(m, comm.size, comm.rank)
        held = [comb(m, size) * (m - size) for size in sizes]
        tables["layers"] = layers_table(comm, held, encoded.itemsize, statistics.layer_seconds,
                                        statistics.layer_bytes_sent, cities=np.array(sizes, np.int32))
        ranks = rank_group([statistics], (1 + twice + 2 * extra.arcs) * own.operations())
    if found is None:
        return Outcome(NoTour(True), tables, ranks)
    value, order = found.ranked[0]
    tour = Tour(value, problem.core.tour(order), True, dearest, optimal_tours=found.count if extra.count else None)
    if extra.arcs:
        tails, heads, values = in_instance(problem.core, found.arcs).T
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


def in_instance(core: Core, arcs: Arcs) -> Arcs:
    """Return arcs between positions in the instance, in the same form. Arcs of a depot that is no city are left out."""
    tail, head = (np.array([*core.cities, *(ends or (-1,))]) for ends in (core.before, core.last))
    named = np.stack([tail[arcs[:, 0]], head[arcs[:, 1]], arcs[:, 2]], axis=1)
    named = named[(named[:, :2] >= 0).all(axis=1) & (named[:, 0] != named[:, 1])]
    ascending: Arcs = named[np.lexsort([named[:, 1], named[:, 0]])]
    return ascending

"""The plan and the run of a job with a table of all states, and how the tour is found in it.

The dynamic program keeps its middle layer alone, so the tour is found from two problems of about half the cities, which
are solved in the same way until they are so small that all orders can be tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report, silent
from hpcsolve.algorithms.held_karp.lattice import compact
from hpcsolve.algorithms.held_karp.lattice.planes import Meeting, Meetings, meet
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import FEWEST_SPLIT, Share, Split, split_cities
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.outcome import Statistics, layers_table, outcome, rank_group
from hpcsolve.algorithms.held_karp.problem import FOR_MORE, tie
from hpcsolve.algorithms.held_karp.statement import MOST_LATTICE_CITIES, TourStatement
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, without_writer
from hpcsolve.device.base import Device
from hpcsolve.errors import ResourceError
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.parallel.launch import on_rank_0

Found = tuple[int, list[int]]
"""The cost of the cheapest tours, and the order of the answer."""


def plan(stated: TourStatement, ranks: int, kind: str = "cpu") -> Plan:
    """Return what a run on so many ranks will need, if rank 0 has a device of this kind.

    Raises
    ------
    InputError
        The costs do not fit 32 bits.
    ResourceError
        So many cities that no machine could hold them, or more ranks than can share one problem.
    """
    if not stated.plain:
        return orders.plan(stated, ranks)
    m, n = stated.cities_in_lattice, stated.problem.n
    if stated.parameters.layout == "compact":
        return compact.plan(m, ranks, n - m)
    if m > MOST_LATTICE_CITIES:
        why = f"Held-Karp's memory doubles with every city, so there may be {MOST_LATTICE_CITIES + 1} at most"
        raise ResourceError(f"{n} cities are too many: {why}; {FOR_MORE}")
    orders.require_ranks(ranks)
    return _plan_planes(m, stated.reduced.symmetric, stated.reduced.itemsize, ranks, n - m, kind)


def _plan_planes(m: int, symmetric: bool, itemsize: int, ranks: int, ends: int, kind: str) -> Plan:
    def parts_of(m: int) -> Iterator[Share]:
        return (Share(split_cities(m), ranks, rank, symmetric, itemsize, kind) for rank in range(ranks))

    def largest(free: Sequence[int]) -> int:
        # Lazily, since mostly the first rank needs too much already.
        for more in range(MOST_LATTICE_CITIES, FEWEST_SPLIT - 1, -1):
            if all(p.peak_bytes() + p.host_bytes() <= most for p, most in zip(parts_of(more), free, strict=True)):
                return more + ends
        return FEWEST_SPLIT - 1 + ends

    if m < FEWEST_SPLIT:
        none = (0,) * ranks
        work = m * max(0, m - 1) << max(0, m - 2)
        table: dict[str, int | str] = {"layout": "one small table", WITHOUT_WORK: ranks - 1}
        return Plan(none, none, work, "min-add", none, table, largest)
    parts = list(parts_of(m))
    split = parts[0].split
    details: dict[str, int | str] = {
        "split": f"{split.low} low, {split.mid} mid, {split.top} top cities: {split.slices} slices",
        "states": f"{8 * itemsize}-bit, {'symmetric: half the work' if symmetric else 'asymmetric'}",
        WITHOUT_WORK: sum(not p.slices for p in parts),
    }
    device, host = tuple(p.peak_bytes() for p in parts), tuple(p.host_bytes() for p in parts)
    sent = tuple(p.bytes_sent() for p in parts)
    return Plan(device, host, sum(p.operations() for p in parts), "min-add", sent, details, largest)


def run(stated: TourStatement, device: Device, comm: Comm, report: Report, checkpoints: Checkpoints) -> Outcome:
    """Return the optimum, with a proof. All ranks have the same statement and outcome but for `rank`."""
    if not stated.plain:
        return orders.run(stated, device, comm, report, checkpoints)
    started = time.perf_counter()
    reduced = on_rank_0(comm, lambda: stated.reduced)
    core = stated.core
    if stated.parameters.layout == "compact":
        return compact.run(core, reduced, device, comm, report)
    begun = Statistics(seconds_wait=time.perf_counter() - started if comm.rank else 0.0)
    runs: list[Statistics] = []
    found = cheapest_order(reduced, device, comm, runs, report, checkpoints) if reduced.feasible else None
    order = found[1] if found else None
    if not runs:
        return outcome(core, order, {}, rank_group([begun], 0, stored_bytes=0))
    part = share_of(reduced, device, comm)
    table = layers_table(comm, part.states(), part.itemsize, runs[0].layer_seconds, runs[0].layer_bytes_sent,
                         mid_cities=np.arange(part.split.middle + 1, dtype=np.int32))
    rank = rank_group([begun, *runs], part.operations(), stored_bytes=part.stored_bytes())
    return outcome(core, order, {"layers": table}, rank)


def cheapest_order(
    reduced: ReducedCosts, device: Device, comm: Comm, statistics: list[Statistics], report: Report = silent,
    checkpoints: Checkpoints = NONE,
) -> Found | None:
    """Return the cost of the cheapest tours and the order of the answer, or None if there is no tour. Collective.

    Where several states of the middle layer are on cheapest tours, these tours are compared. Where the states are too
    many to be listed, the cities are found one by one, from the last: each is the first by the tie rule that leaves a
    problem, with one city less, of the right cost.

    Parameters
    ----------
    statistics
        The statistics of each run of the dynamic program over all ranks are appended to it.
    """
    depot = reach = len(reduced.cost) - 1
    least = _least(reduced, device, comm, statistics, report, checkpoints)
    if least is None:
        return None
    value = left = least[0]
    cities, after, checkpoints = list(range(depot)), list[int](), without_writer(checkpoints)
    while least[1] is None:
        for last in sorted(cities, key=lambda city: tie([city, *after])):
            before, part = [c for c in cities if c != last], left - int(reduced.cost[last, reach])
            path = _path(reduced, before, depot, last)
            found = _least(path, device, comm, statistics, silent, checkpoints) if part >= 0 else None
            if found is not None and found[0] == part:
                break
        else:
            raise AssertionError(f"no tour costs {value}")
        least, cities, left, reach, after = found, before, part, last, [last, *after]
    order = comm.bcast(least[1]() if comm.rank == 0 else [])
    return value, [cities[i] for i in order] + after


def _least(
    reduced: ReducedCosts, device: Device, comm: Comm, statistics: list[Statistics], report: Report,
    checkpoints: Checkpoints,
) -> tuple[int, Callable[[], list[int]] | None] | None:
    """Return the cost of the cheapest tours and a function that returns the answer, or None if there is no tour.

    Instead of the function there is None if too many states are on cheapest tours. Collective.
    """
    m = len(reduced.cost) - 1
    if m < FEWEST_SPLIT:  # all orders, the first by the tie rule first
        orders = np.array(sorted(permutations(range(m)), key=tie), np.int64)
        path = np.pad(orders, ((0, 0), (1, 1)), constant_values=m)
        values = reduced.cost[path[:, :-1], path[:, 1:]].sum(axis=1)
        chosen = orders[values.argmin()].tolist()
        return (int(values.min()), lambda: chosen) if values.min() < reduced.no_path else None
    part = share_of(reduced, device, comm)
    statistics.append(Statistics())
    meetings = meet(reduced, part, device, comm, report, statistics[-1], checkpoints)
    if meetings.value >= reduced.no_path:
        return None
    return meetings.value, partial(_order_through, meetings, reduced, part.split, device) if meetings.complete else None


def share_of(reduced: ReducedCosts, device: Device, comm: Comm) -> Share:
    """Return this rank's share of a run. Collective."""
    kind = comm.bcast(device.info.kind)
    return Share(split_cities(len(reduced.cost) - 1), comm.size, comm.rank, reduced.symmetric, reduced.itemsize, kind)


def _order_through(meetings: Meetings, reduced: ReducedCosts, split: Split, device: Device) -> list[int]:
    """Return the m cities in the order of the answer, which goes through one of these states."""
    m = split.cities

    def through(meeting: Meeting) -> list[int]:
        first, city = meeting.cities_before(split), split.low + meeting.city
        rest = [c for c in range(m) if c not in first and c != city]
        before_value, before = _half(reduced, first, leave=m, reach=city, device=device)
        after_value, after = _half(reduced, rest, leave=city, reach=m, device=device)
        if before_value + after_value != meetings.value:
            raise AssertionError(f"the halves cost {before_value} + {after_value}, the tour {meetings.value}")
        return [*before, city, *after]

    return min(map(through, meetings.states), key=tie)


def _half(reduced: ReducedCosts, cities: list[int], leave: int, reach: int, device: Device) -> Found:
    """Return cost and order of the cheapest path from `leave` through all of `cities` to `reach`, by the tie rule."""
    if not cities:
        return int(reduced.cost[leave, reach]), []
    found = cheapest_order(_path(reduced, cities, leave, reach), device, SerialComm(), [])
    if found is None:
        raise AssertionError("half of a tour that exists has no path")
    return found[0], [cities[i] for i in found[1]]


def _path(reduced: ReducedCosts, cities: list[int], leave: int, reach: int) -> ReducedCosts:
    """Return the problem of a path from `leave` through all of `cities` to `reach`."""
    m = len(cities)
    cost: NDArray[np.int64] = np.full((m + 1, m + 1), reduced.no_path, np.int64)
    cost[:m, :m] = reduced.cost[np.ix_(cities, cities)]
    cost[m, :m], cost[:m, m] = reduced.cost[leave, cities], reduced.cost[cities, reach]
    return ReducedCosts(cost, reduced.itemsize, 1, 0, True, None)

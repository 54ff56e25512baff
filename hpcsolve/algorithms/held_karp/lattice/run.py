"""A job's calls, `estimate` and `run` with all states, and the recovery of the tour from where its halves meet.

Each half is a problem of about half the cities, which is solved in the same way until it is small enough for one table
in numpy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Estimate, Outcome, Report, silent
from hpcsolve.algorithms.held_karp.lattice import compact, planes
from hpcsolve.algorithms.held_karp.lattice.plan import BINOMIAL, FEWEST_SPLIT, Plan, Split, plan, split_cities
from hpcsolve.algorithms.held_karp.lattice.planes import Meeting, Statistics
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts, reduce_costs
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.outcome import layers_table, outcome
from hpcsolve.algorithms.held_karp.problem import Core, core_problem
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, Parameters, asked, extra_answers
from hpcsolve.checkpoint.checkpoints import Checkpoints
from hpcsolve.device.base import Device
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.tsp import Tsp

MOST_CITIES = 46
"""The most cities for which a block of the kernel has room. Memory ends long before."""


@dataclass(frozen=True)
class _Prepared:
    core: Core
    reduced: ReducedCosts


def estimate(tsp: Tsp, parameters: Parameters, ranks: int) -> Estimate:
    """Return what a run on so many ranks will need.

    Raises
    ------
    InputError
        The parameters do not fit the instance, or its costs do not fit 32 bits.
    ResourceError
        So many cities that no machine could hold them, or more ranks than can share one problem.
    """
    question = asked(tsp, parameters)
    extra = extra_answers(parameters)
    if not question.plain or extra != NO_EXTRA_ANSWERS:
        return orders.estimate(tsp, question, ranks, extra)
    core = core_problem(tsp, parameters)
    m = len(core.cities)
    if parameters.layout == "compact":
        return compact.estimate(m, ranks, tsp.n - m)
    if m > MOST_CITIES:
        why = f"Held-Karp's memory doubles with every city, so there may be {MOST_CITIES + 1} at most"
        raise ResourceError(f"{tsp.n} cities are too many: {why}; use a heuristic or branch and cut")
    orders.require_ranks(ranks)
    reduced = reduce_costs(core.cost)
    return _estimate_planes(m, reduced.symmetric, reduced.itemsize, ranks, tsp.n - m)


def run(
    tsp: Tsp, device: Device, comm: Comm, parameters: Parameters, report: Report, checkpoints: Checkpoints
) -> Outcome:
    """Return the optimum, with a proof. `tsp` is the same on all ranks, and so is the outcome but for `rank`."""
    extra = extra_answers(parameters)
    if comm.bcast(not asked(tsp, parameters).plain or extra != NO_EXTRA_ANSWERS if comm.rank == 0 else None):
        return orders.run(tsp, lambda: asked(tsp, parameters), device, comm, report, checkpoints, extra)
    started = time.perf_counter()
    # Heuristics and scipy work on rank 0 alone, so that all ranks have the same integers.
    prepared = comm.bcast(_prepare(tsp, parameters) if comm.rank == 0 else None)
    assert prepared is not None
    statistics = Statistics(seconds_wait=time.perf_counter() - started if comm.rank else 0.0)
    if parameters.layout == "compact":
        return compact.run(prepared.core, prepared.reduced, device, comm, report)
    return _run_planes(prepared, device, comm, report, statistics, checkpoints)


def largest_cost(n: int, edges: int) -> int:
    """Return the largest cost of n cities with which every sum of costs fits a state of 32 bits.

    Costs of symmetric instances are doubled, and a tour must stay below 2^31. An open path adds a depot to the cities.
    """
    return (2**30 - 1) // (n + 1)


def fits(tsp: Tsp, parameters: Parameters) -> bool:
    """Return whether states of 32 bits suffice for the costs as they are. Raises as `core_problem`."""
    question = asked(tsp, parameters)
    if not question.plain:
        return orders.fits(tsp, question)
    core = core_problem(tsp, parameters)
    if len(core.cities) > MOST_CITIES:  # `estimate` refuses them with a better message
        return True
    try:
        reduce_costs(core.cost)
    except InputError:
        return False
    return True


def _prepare(tsp: Tsp, parameters: Parameters) -> _Prepared:
    core = core_problem(tsp, parameters)
    return _Prepared(core, reduce_costs(core.cost))


def _run_planes(
    prepared: _Prepared, device: Device, comm: Comm, report: Report, statistics: Statistics, checkpoints: Checkpoints
) -> Outcome:
    core, reduced = prepared.core, prepared.reduced
    order: list[int] | None = None
    part: Plan | None = None
    if len(core.cities) < FEWEST_SPLIT:
        found = cheapest_order(reduced, device) if comm.rank == 0 and reduced.feasible else None
        order = comm.bcast(found[1] if found else None)
    elif reduced.feasible:
        split = split_cities(len(core.cities))
        part = plan(split, comm.size, comm.rank, reduced.symmetric, reduced.itemsize)
        meeting = planes.meet(reduced, part, device, comm, report, statistics, checkpoints)
        if meeting.value < reduced.infinity:
            order = comm.bcast(order_through(meeting, reduced, split, device) if comm.rank == 0 else None)
    tables = {"layers": layers_table(part, comm, statistics)} if part else {}
    return outcome(core, order, tables, _rank(part, statistics))


def _rank(part: Plan | None, statistics: Statistics) -> dict[str, float | int]:
    return {
        "operations": part.operations() if part else 0,
        "stored_bytes": part.stored_bytes() if part else 0,
        "bytes_sent": sum(statistics.layer_bytes_sent),
        "seconds_kernel": sum(t.seconds for t in (*statistics.layer_timers, *statistics.middle_timer)),
        "seconds_copy": statistics.seconds_copy,
        "seconds_wait": statistics.seconds_wait,
    }


def _estimate_planes(m: int, symmetric: bool, itemsize: int, ranks: int, ends: int) -> Estimate:
    largest = partial(_largest, symmetric, itemsize, ranks, ends)
    if m < FEWEST_SPLIT:
        none = (0,) * ranks
        work = m * max(0, m - 1) << max(0, m - 2)
        table: dict[str, int | str] = {"layout": "one small table", WITHOUT_WORK: ranks - 1}
        return Estimate(none, none, work, "min-add", none, table, largest)
    split = split_cities(m)
    parts = [plan(split, ranks, rank, symmetric, itemsize) for rank in range(ranks)]
    details: dict[str, int | str] = {
        "split": f"{split.low} low, {split.mid} mid, {split.top} top cities: {split.slices} slices",
        "states": f"{8 * itemsize}-bit, {'symmetric: half the work' if symmetric else 'asymmetric'}",
        WITHOUT_WORK: sum(not p.slices for p in parts),
    }
    device, host = tuple(_device_bytes(p) for p in parts), tuple(p.host_bytes() for p in parts)
    sent = tuple(p.bytes_sent() for p in parts)
    return Estimate(device, host, sum(p.operations() for p in parts), "min-add", sent, details, largest)


def _device_bytes(part: Plan) -> int:
    return max(part.device_bytes(), part.recovery_bytes())


def _largest(symmetric: bool, itemsize: int, ranks: int, ends: int, free: Sequence[int]) -> int:
    """Return the most cities of an instance that fit in so many bytes per rank."""
    for m in range(MOST_CITIES, FEWEST_SPLIT - 1, -1):
        need = _needs(m, symmetric, itemsize, ranks)  # lazily: mostly the first rank needs too much already
        if all(a <= b for a, b in zip(need, free, strict=True)):
            return m + ends
    return FEWEST_SPLIT - 1 + ends


def _needs(m: int, symmetric: bool, itemsize: int, ranks: int) -> Iterator[int]:
    parts = (plan(split_cities(m), ranks, rank, symmetric, itemsize) for rank in range(ranks))
    return (_device_bytes(p) + p.host_bytes() for p in parts)


def order_through(meeting: Meeting, reduced: ReducedCosts, split: Split, device: Device) -> list[int]:
    """Return the m cities in the order of the best tour, which starts and ends at the depot."""
    m = split.cities
    first, city = cities_before(meeting, split), split.low + meeting.city
    rest = [c for c in range(m) if c not in first and c != city]
    before_value, before = _half(reduced, first, leave=m, reach=city, device=device)
    after_value, after = _half(reduced, rest, leave=city, reach=m, device=device)
    if before_value + after_value != meeting.value:
        raise AssertionError(f"the halves cost {before_value} + {after_value}, the tour {meeting.value}")
    return [*before, city, *after]


def cities_before(meeting: Meeting, split: Split) -> list[int]:
    """Return the cities that the best tour visits before the meeting's city, ascending."""
    rank, low_set = divmod(meeting.entry, 1 << split.low)
    squeezed, size = 0, split.middle
    for element in range(split.mid - 2, -1, -1):
        if size and BINOMIAL[element, size] <= rank:
            squeezed |= 1 << element
            rank -= int(BINOMIAL[element, size])
            size -= 1
    below = (1 << meeting.city) - 1
    mid_set = (squeezed & below) | (squeezed & ~below) << 1
    whole = low_set | mid_set << split.low | meeting.top_set << (split.low + split.mid)
    return [c for c in range(split.cities) if whole >> c & 1]


def cheapest_order(reduced: ReducedCosts, device: Device) -> tuple[int, list[int]] | None:
    """Return the cost and the order of a problem's cheapest tour, found by one rank, or None if there is no tour."""
    if len(reduced.cost) - 1 < FEWEST_SPLIT:
        return cheapest_in_one_table(np.where(reduced.cost < reduced.infinity, reduced.cost, INFINITE))
    split = split_cities(len(reduced.cost) - 1)
    part = plan(split, 1, 0, reduced.symmetric, reduced.itemsize)
    meeting = planes.meet(reduced, part, device, SerialComm(), silent, Statistics())
    if meeting.value >= reduced.infinity:
        return None
    return meeting.value, order_through(meeting, reduced, split, device)


def _half(reduced: ReducedCosts, cities: list[int], leave: int, reach: int, device: Device) -> tuple[int, list[int]]:
    """Return the cost and the order of a cheapest path from `leave` through all of `cities` to `reach`."""
    m = len(cities)
    cost: NDArray[np.int64] = np.full((m + 1, m + 1), reduced.infinity, np.int64)
    cost[:m, :m] = reduced.cost[np.ix_(cities, cities)]
    cost[m, :m], cost[:m, m] = reduced.cost[leave, cities], reduced.cost[cities, reach]
    if m == 0:
        return int(reduced.cost[leave, reach]), []
    part = ReducedCosts(cost, reduced.itemsize, 1, 0, True, None)
    found = cheapest_order(part, device)
    if found is None:
        raise AssertionError("half of a tour that exists has no path")
    return found[0], [cities[i] for i in found[1]]


INFINITE = np.int64(1) << 60


def cheapest_in_one_table(cost: NDArray[np.int64]) -> tuple[int, list[int]] | None:
    """Return the cost and the order of a cheapest tour from the depot through all cities.

    Parameters
    ----------
    cost
        Shape (m + 1, m + 1), the depot last; `INFINITE` or more where there is no arc. Time m^2 2^m, memory m 2^m
        values.

    Returns
    -------
        The cost and the cities 0..m-1 in their order (of equal tours the one whose last city is the smallest, and so
        on backwards); None if there is no tour.
    """
    m = len(cost) - 1
    if m == 0:
        return (int(cost[0, 0]), []) if cost[0, 0] < INFINITE else None
    # best[S, j]: the cheapest path from the depot through all of S that ends in its member j.
    best = np.full((1 << m, m), INFINITE)
    best[1 << np.arange(m), np.arange(m)] = cost[m, :m]
    for sets in _sets_by_size(m)[2:]:
        for j in range(m):
            ending = sets[sets >> j & 1 == 1]
            arrive = best[ending ^ (1 << j)] + np.minimum(cost[:m, j], INFINITE)
            best[ending, j] = np.minimum(arrive.min(axis=1), INFINITE)
    closed = best[-1] + np.minimum(cost[:m, m], INFINITE)
    value = int(closed.min())
    return None if value >= INFINITE else (value, _walk_back(best, cost, int(closed.argmin())))


def _walk_back(best: NDArray[np.int64], cost: NDArray[np.int64], last: int) -> list[int]:
    m = len(cost) - 1
    order, left = [last], (1 << m) - 1 ^ 1 << last
    while left:
        before = int((best[left] + cost[:m, order[-1]]).argmin())
        order.append(before)
        left ^= 1 << before
    return order[::-1]


def _sets_by_size(m: int) -> list[NDArray[np.int64]]:
    sets = np.arange(1 << m)
    sizes = sum((sets >> bit & 1 for bit in range(m)), np.zeros_like(sets))
    return [sets[sizes == size] for size in range(m + 1)]

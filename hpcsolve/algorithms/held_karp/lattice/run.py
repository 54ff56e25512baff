"""A job's calls: `estimate` and `run` with a table of all states."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from hpcsolve.algorithms.base import WITHOUT_WORK, Estimate, Outcome, Report
from hpcsolve.algorithms.held_karp.lattice import compact
from hpcsolve.algorithms.held_karp.lattice.plan import FEWEST_SPLIT, Plan, plan, split_cities
from hpcsolve.algorithms.held_karp.lattice.recover import cheapest_order
from hpcsolve.algorithms.held_karp.lattice.reduce import reduce_costs
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.outcome import Statistics, layers_table, outcome, rank_group
from hpcsolve.algorithms.held_karp.problem import core_problem
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, Parameters, asked, extra_answers
from hpcsolve.checkpoint.checkpoints import Checkpoints
from hpcsolve.device.base import Device
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import Tsp

MOST_CITIES = 46
"""The most cities for which a block of the kernel has room. Memory ends long before."""


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


def _estimate_planes(m: int, symmetric: bool, itemsize: int, ranks: int, ends: int) -> Estimate:
    def parts_of(m: int) -> Iterator[Plan]:
        return (plan(split_cities(m), ranks, rank, symmetric, itemsize) for rank in range(ranks))

    def largest(free: Sequence[int]) -> int:
        for more in range(MOST_CITIES, FEWEST_SPLIT - 1, -1):  # lazily: mostly the first rank needs too much already
            if all(p.peak_bytes() + p.host_bytes() <= most for p, most in zip(parts_of(more), free, strict=True)):
                return more + ends
        return FEWEST_SPLIT - 1 + ends

    if m < FEWEST_SPLIT:
        none = (0,) * ranks
        work = m * max(0, m - 1) << max(0, m - 2)
        table: dict[str, int | str] = {"layout": "one small table", WITHOUT_WORK: ranks - 1}
        return Estimate(none, none, work, "min-add", none, table, largest)
    parts = list(parts_of(m))
    split = parts[0].split
    details: dict[str, int | str] = {
        "split": f"{split.low} low, {split.mid} mid, {split.top} top cities: {split.slices} slices",
        "states": f"{8 * itemsize}-bit, {'symmetric: half the work' if symmetric else 'asymmetric'}",
        WITHOUT_WORK: sum(not p.slices for p in parts),
    }
    device, host = tuple(p.peak_bytes() for p in parts), tuple(p.host_bytes() for p in parts)
    sent = tuple(p.bytes_sent() for p in parts)
    return Estimate(device, host, sum(p.operations() for p in parts), "min-add", sent, details, largest)


def run(
    tsp: Tsp, device: Device, comm: Comm, parameters: Parameters, report: Report, checkpoints: Checkpoints
) -> Outcome:
    """Return the optimum, with a proof. `tsp` is the same on all ranks, and so is the outcome but for `rank`."""
    extra = extra_answers(parameters)
    if comm.bcast(not asked(tsp, parameters).plain or extra != NO_EXTRA_ANSWERS if comm.rank == 0 else None):
        return orders.run(tsp, lambda: asked(tsp, parameters), device, comm, report, checkpoints, extra)
    started = time.perf_counter()
    prepared = None
    if comm.rank == 0:  # heuristics and scipy work on one rank alone, so that all ranks have the same integers
        core = core_problem(tsp, parameters)
        prepared = core, reduce_costs(core.cost)
    prepared = comm.bcast(prepared)
    assert prepared is not None
    core, reduced = prepared
    if parameters.layout == "compact":
        return compact.run(core, reduced, device, comm, report)
    begun = Statistics(seconds_wait=time.perf_counter() - started if comm.rank else 0.0)
    runs: list[Statistics] = []
    found = cheapest_order(reduced, device, comm, runs, report, checkpoints) if reduced.feasible else None
    order = found[1] if found else None
    if not runs:
        return outcome(core, order, {}, rank_group([begun], 0, stored_bytes=0))
    part = plan(split_cities(len(core.cities)), comm.size, comm.rank, reduced.symmetric, reduced.itemsize)
    table = layers_table(comm, part.states(), part.itemsize, runs[0].layer_seconds, runs[0].layer_bytes_sent,
                         mid_cities=np.arange(part.split.middle + 1, dtype=np.int32))
    rank = rank_group([begun, *runs], part.operations(), stored_bytes=part.stored_bytes())
    return outcome(core, order, {"layers": table}, rank)


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

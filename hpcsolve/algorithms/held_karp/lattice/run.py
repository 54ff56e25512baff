"""A job's calls: `plan` and `run` with a table of all states."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report
from hpcsolve.algorithms.held_karp.lattice import compact
from hpcsolve.algorithms.held_karp.lattice.recover import cheapest_order
from hpcsolve.algorithms.held_karp.lattice.split import FEWEST_SPLIT, Share, share_of, split_cities
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.outcome import Statistics, layers_table, outcome, rank_group
from hpcsolve.algorithms.held_karp.statement import MOST_LATTICE_CITIES, TourStatement
from hpcsolve.checkpoint.checkpoints import Checkpoints
from hpcsolve.device.base import Device
from hpcsolve.errors import ResourceError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0


def plan(stated: TourStatement, ranks: int) -> Plan:
    """Return what a run on so many ranks will need.

    Raises
    ------
    InputError
        The costs do not fit 32 bits.
    ResourceError
        So many cities that no machine could hold them, or more ranks than can share one problem.
    """
    if not stated.plain:
        return orders.plan(stated.problem, stated.question, ranks, stated.extra)
    m, n = len(stated.core.cities), stated.problem.n
    if stated.parameters.layout == "compact":
        return compact.plan(m, ranks, n - m)
    if m > MOST_LATTICE_CITIES:
        why = f"Held-Karp's memory doubles with every city, so there may be {MOST_LATTICE_CITIES + 1} at most"
        raise ResourceError(f"{n} cities are too many: {why}; use a heuristic or branch and cut")
    orders.require_ranks(ranks)
    return _plan_planes(m, stated.reduced.symmetric, stated.reduced.itemsize, ranks, n - m)


def _plan_planes(m: int, symmetric: bool, itemsize: int, ranks: int, ends: int) -> Plan:
    def parts_of(m: int) -> Iterator[Share]:
        return (share_of(split_cities(m), ranks, rank, symmetric, itemsize) for rank in range(ranks))

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
        return orders.run(stated.problem, stated.question, device, comm, report, checkpoints, stated.extra)
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
    part = share_of(split_cities(len(core.cities)), comm.size, comm.rank, reduced.symmetric, reduced.itemsize)
    table = layers_table(comm, part.states(), part.itemsize, runs[0].layer_seconds, runs[0].layer_bytes_sent,
                         mid_cities=np.arange(part.split.middle + 1, dtype=np.int32))
    rank = rank_group([begun, *runs], part.operations(), stored_bytes=part.stored_bytes())
    return outcome(core, order, {"layers": table}, rank)

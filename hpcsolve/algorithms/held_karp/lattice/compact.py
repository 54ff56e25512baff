"""The layout for study: all states stand in one table of m 2^(m-1) values, which is filled layer by layer.

The tour is read back from the values. One rank works; the others are idle. This is an independent check of the planes
where brute force takes too long, and the simplest form of the method on a GPU, to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report
from hpcsolve.algorithms.held_karp.lattice.planes import BLOCK_THREADS, FILE, cost_patterns
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import BINOMIAL, COST_STRIDE
from hpcsolve.algorithms.held_karp.outcome import outcome
from hpcsolve.algorithms.held_karp.problem import NO_PATH, Core, tie
from hpcsolve.device.base import Device
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm

MOST_CITIES = 27
"""With more cities, a layer has 2^31 or more pairs of a set and a city."""
GRID = 512


def plan(cities: int, ranks: int, ends: int) -> Plan:
    """Return the bytes and operations of a table for `cities` cities, where the instance has `ends` more."""
    device = (_table_bytes(cities) + BINOMIAL.nbytes + COST_STRIDE**2 * 4,) + (0,) * (ranks - 1)
    host = (_table_bytes(cities),) + (0,) * (ranks - 1)

    def largest(free: Sequence[int]) -> int:
        return max((m for m in range(1, MOST_CITIES + 1) if 2 * _table_bytes(m) <= free[0]), default=0) + ends

    work = cities * max(0, cities - 1) << max(0, cities - 2)
    details: dict[str, int | str] = {"layout": "one table of all states", WITHOUT_WORK: ranks - 1}
    return Plan(device, host, work, "min-add", (0,) * ranks, details, largest)


def run(core: Core, reduced: ReducedCosts, device: Device, comm: Comm, report: Report) -> Outcome:
    """Return the optimum, which rank 0 finds.

    Raises
    ------
    InputError
        There are more than `MOST_CITIES` cities beside the depot.
    """
    m = len(core.cities)
    if m > MOST_CITIES:
        raise InputError(f'held-karp.layout: "compact" takes at most {MOST_CITIES + 1} cities; use "planes"')
    order: list[int] | None = [] if m == 0 and reduced.cost[0, 0] < reduced.no_path else None
    rank: dict[str, float | int] = {}
    if comm.rank == 0 and reduced.feasible and m > 0:
        order = _walk_back(_fill(m, reduced, device, report), reduced)
        rank = {"operations": m * (m - 1) << max(0, m - 2)}
    return outcome(core, comm.bcast(order), {}, rank)


def _fill(m: int, reduced: ReducedCosts, device: Device, report: Report) -> NDArray[np.uint32]:
    """Return the states, uint32 of shape (m, 2^(m - 1)): g(S, j) stands at [j, S without bit j]."""
    wide = replace(reduced, itemsize=4, cost=np.where(reduced.cost < reduced.no_path, reduced.cost, NO_PATH[4]))
    kernel = device.kernel(FILE, "held_karp_compact")
    buffers = {"binomial": device.upload(BINOMIAL), "cost": device.upload(cost_patterns(wide.cost, wide)),
               "table": device.empty(m << (m - 1), np.uint32)}
    for layer in range(m):
        kernel(GRID, BLOCK_THREADS, cities=m, layer=layer, sets=comb(m - 1, layer), **buffers)
        report((layer + 1) / m)
    table = buffers["table"].download().reshape(m, -1)
    for buffer in buffers.values():
        buffer.free()
    return table


def _walk_back(table: NDArray[np.uint32], reduced: ReducedCosts) -> list[int] | None:
    """Return the order of the best tour, of equal ones by the tie rule, or None if no tour is finite."""
    m = len(table)
    cost = np.where(reduced.cost < reduced.no_path, reduced.cost, NO_PATH[4])
    left, order = (1 << m) - 1, list[int]()
    while left:
        arrive = {}
        for i in (i for i in range(m) if left >> i & 1):
            below = (1 << i) - 1  # the bits above i move down by one
            state = table[i, (left & below) | (left >> 1 & ~below)]
            arrive[i] = int(state) + int(cost[i, order[0] if order else m]), tie([i, *order])
        last = min(arrive, key=arrive.__getitem__)
        if arrive[last][0] >= NO_PATH[4]:
            return None
        order.insert(0, last)
        left &= ~(1 << last)
    return order


def _table_bytes(cities: int) -> int:
    return 4 * cities << max(0, cities - 1)

"""Batches of small instances: a block of threads solves one after the other (kernel: batch.cu), dealt to the ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report
from hpcsolve.algorithms.held_karp.lattice.planes import BLOCK_THREADS
from hpcsolve.algorithms.held_karp.lattice.split import BINOMIAL
from hpcsolve.algorithms.held_karp.problem import NO_PATH as NO_PATHS
from hpcsolve.answers.tours import Tours
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import Comm, even_shares
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, TspBatch

FILE = "held_karp/batch"
MOST_CITIES = 15
"""The most cities of an instance."""
NO_PATH = NO_PATHS[4]
PIECE = 8192
"""Instances that are on the device at a time."""
BLOCKS_PER_UNIT = {"cpu": 1, "cuda": 8}


def plan(batch: TspBatch, question: TourQuestion, ranks: int, info: DeviceInfo) -> Plan:
    """Return what a run will need.

    Raises
    ------
    ResourceError
        An instance has more than `MOST_CITIES`.
    """
    n = int(batch.cities.max())
    if n > MOST_CITIES:
        where = int(batch.cities.argmax())
        raise ResourceError(f"{batch.named(where)} has {n} cities; a batch takes at most {MOST_CITIES}: solve it alone")
    shares, m = even_shares(batch.count, ranks), _cities(n, question)
    device = tuple(_bytes(min(PIECE, len(share)), m, _blocks(info)) if len(share) else 0 for share in shares)
    sizes, counts = np.unique(batch.cities, return_counts=True)
    work = sum(int(count) * _operations(_cities(int(size), question)) for size, count in zip(sizes, counts))
    details: dict[str, int | str] = {"instances": batch.count, WITHOUT_WORK: sum(not len(s) for s in shares)}
    host = (8 * int(batch.offset[-1]),) * ranks
    sent = (0,) * ranks
    return Plan(device, host, work, "min-add", sent, details, lambda free: MOST_CITIES)


def run(batch: TspBatch, question: TourQuestion, device: Device, comm: Comm, report: Report) -> Outcome:
    """Return the best tour of each instance, with a proof. Collective."""
    share = even_shares(batch.count, comm.size)[comm.rank]
    closed = question.path == "cycle"
    costs = np.zeros(len(share), np.int64)
    found = np.zeros(len(share), bool)
    tours = np.full(int(batch.offset[share.stop] - batch.offset[share.start]), -1, np.int32)
    for number, some in _pieces(batch, share):
        orders, values = _solved(batch, number, some, closed, device)
        own = slice(number - share.start, number - share.start + len(some))
        begin = int(batch.offset[number] - batch.offset[share.start])
        costs[own], found[own] = values, orders[:, 0] >= 0
        tours[begin : begin + orders.size] = orders.reshape(-1)
        report(own.stop / len(share))
    gathered = comm.gather((costs, found, tours))
    rank = {"operations": sum(_operations(_cities(int(n), question)) for n in batch.cities[share.start : share.stop])}
    if gathered is None:
        return Outcome(None, {}, rank)
    all_costs, all_found, all_tours = (np.concatenate(parts) for parts in zip(*gathered, strict=True))
    return Outcome(Tours(all_costs, all_found, all_tours, batch.offset), {}, rank)


def fits(batch: TspBatch, question: TourQuestion) -> bool:
    """Return whether states of 32 bits suffice for the costs of all instances as they are."""
    closed = question.path == "cycle"
    return all((_reduced(costs if closed else _with_free_depot(costs))[2] < NO_PATH).all() for costs in batch.costs)


def _pieces(batch: TspBatch, share: range) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the costs of a rank's instances, at most `PIECE` of one size together, with the number of the first."""
    at = 0
    for costs in batch.costs:
        begin, end = max(share.start, at), min(share.stop, at + len(costs))
        for number in range(begin, end, PIECE):
            yield number, costs[number - at : min(number + PIECE, end) - at]
        at += len(costs)


def _cities(n: int, question: TourQuestion) -> int:
    """Return the number of cities beside the depot."""
    return n - 1 if question.path == "cycle" else n


def _operations(m: int) -> int:
    return m * max(0, m - 1) << max(0, m - 2)


def _blocks(info: DeviceInfo) -> int:
    return info.units * BLOCKS_PER_UNIT[info.kind]


def _bytes(count: int, m: int, blocks: int) -> int:
    """Return the bytes of device memory of a piece."""
    table = min(count, blocks) * m << max(0, m - 1)
    return 4 * (table + count * ((m + 1) ** 2 + m + 1)) + BINOMIAL.nbytes


def _solved(batch: TspBatch, number: int, costs: NDArray[np.int64], closed: bool, device: Device
            ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the tours of some instances of one size, -1 where there is none, and their costs."""
    core = costs if closed else _with_free_depot(costs)
    count, m = len(core), core.shape[1] - 1
    if m == 0:
        return np.zeros((count, 1), np.int32), np.zeros(count, np.int64)
    reduced, shift, dearest = _reduced(np.roll(core, (-1, -1), (1, 2)) if closed else core)
    if (dearest >= NO_PATH).any():
        which = number + int(np.argmax(dearest >= NO_PATH))
        raise InputError(f"the costs of {batch.named(which)} are too far apart for 32-bit states: round them")
    blocks = min(count, _blocks(device.info))
    buffers = {"binomial": device.upload(BINOMIAL), "costs": device.upload(reduced),
               "tables": device.empty(blocks * m << (m - 1), np.uint32), "orders": device.empty((count, m), np.int32),
               "values": device.empty(count, np.uint32)}
    device.kernel(FILE, "batch_solve")(blocks, BLOCK_THREADS, instances=count, cities=m, **buffers)
    orders, values = buffers["orders"].download(), buffers["values"].download().astype(np.int64)
    for buffer in buffers.values():
        buffer.free()
    missing = values >= NO_PATH
    tours = np.concatenate([np.zeros((count, 1), np.int32), orders + 1], axis=1) if closed else orders
    tours = np.where(missing[:, None], np.int32(-1), tours)
    return tours, np.where(missing, 0, values + shift)


def _with_free_depot(costs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return instances with one more city, the last, which costs nothing to leave and to reach."""
    count, n = costs.shape[:2]
    core = np.zeros((count, n + 1, n + 1), np.int64)
    core[:, :n, :n] = costs
    core[:, n, n] = NO_ARC
    return core


def _reduced(core: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Return costs of at least 0 in 32 bits, what each tour costs more than by them, and a bound of it by them.

    The costs are right only where that bound fits 32 bits.
    """
    known = core != NO_ARC
    least = np.where(known, core, NO_ARC).min(axis=2)
    least = np.where(least == NO_ARC, 0, least)
    reduced = np.where(known, np.where(known, core, 0) - least[:, :, None], NO_PATH)
    dearest = np.minimum(np.where(known, reduced, 0).max(axis=2), NO_PATH).sum(axis=1)
    return np.ascontiguousarray(reduced.astype(np.uint32)), least.sum(axis=1), dearest

"""Plain sums of small instances: a block of threads solves one after the other (kernel: batch.cu)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.lattice.planes import BLOCK_THREADS
from hpcsolve.algorithms.held_karp.lattice.split import BINOMIAL
from hpcsolve.algorithms.held_karp.problem import NO_PATH as NO_PATHS
from hpcsolve.algorithms.held_karp.problem import Core, core_of
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, BatchPart

FILE = "held_karp/batch"
MOST_CITIES = 15
"""The most cities of an instance."""
NO_PATH = NO_PATHS[4]
PIECE = 8192
"""Instances that are on the device at a time."""
BLOCKS_PER_UNIT = {"cpu": 1, "cuda": 8}


def takes(part: BatchPart, question: TourQuestion) -> NDArray[np.bool_]:
    """Return for each instance whether the kernel solves it: plain, small, its costs not too far apart for 32 bits."""
    found = np.zeros(part.count, bool)
    if not question.plain or part.first.n > MOST_CITIES:
        return found
    for begin in range(0, part.count, PIECE):
        piece = slice(begin, begin + PIECE)
        found[piece] = _reduced(_core(part, question, piece).cost)[2] < NO_PATH
    return found


def operations(m: int) -> int:
    """Return the work on an instance with m cities beside the depot, in min-adds."""
    return m * max(0, m - 1) << max(0, m - 2)


def device_bytes(count: int, m: int, info: DeviceInfo) -> int:
    """Return the bytes of device memory of so many instances that are there at a time."""
    table = min(count, _blocks(info)) * m << max(0, m - 1)
    return 4 * (table + count * ((m + 1) ** 2 + m + 1)) + BINOMIAL.nbytes


def solved(part: BatchPart, question: TourQuestion, piece: NDArray[np.int64], device: Device
           ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the costs and the tours of some instances that the kernel takes, -1 in the tours of those without one.

    Parameters
    ----------
    piece
        Their numbers in the part, ascending.
    """
    core = _core(part, question, piece)
    count, m = len(piece), len(core.cities)
    if m == 0:
        values, orders = core.cost[:, 0, 0], np.zeros((count, 0), np.int32)
        missing = values == NO_ARC
    else:
        reduced, shift, _ = _reduced(core.cost)
        blocks = min(count, _blocks(device.info))
        buffers = {"binomial": device.upload(BINOMIAL), "costs": device.upload(reduced),
                   "tables": device.empty(blocks * m << (m - 1), np.uint32),
                   "orders": device.empty((count, m), np.int32), "values": device.empty(count, np.uint32)}
        device.kernel(FILE, "batch_solve")(blocks, BLOCK_THREADS, instances=count, cities=m, **buffers)
        orders, values = buffers["orders"].download(), buffers["values"].download().astype(np.int64)
        for buffer in buffers.values():
            buffer.free()
        missing, values = values >= NO_PATH, values + shift
    tours = core.tour(np.where(missing[:, None], 0, orders))
    return np.where(missing, 0, values), np.where(missing[:, None], np.int32(-1), tours)


def _core(part: BatchPart, question: TourQuestion, piece: NDArray[np.int64] | slice) -> Core:
    return core_of(part.first, question, part.costs()[piece])


def _blocks(info: DeviceInfo) -> int:
    return info.units * BLOCKS_PER_UNIT[info.kind]


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

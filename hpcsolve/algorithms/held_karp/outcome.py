"""What a run of Held-Karp leaves in the result file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import comb

import numpy as np

from hpcsolve.algorithms.base import Outcome
from hpcsolve.algorithms.held_karp.lattice.plan import Plan
from hpcsolve.algorithms.held_karp.lattice.planes import Statistics
from hpcsolve.algorithms.held_karp.orders.table import Slices
from hpcsolve.algorithms.held_karp.problem import Core
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.parallel.comm import Comm

LAYERS = {
    "mid_cities": Dataset("int32", "Mid cities in each set of the layer", "layer", optional=True),
    "cities": Dataset("int32", "Cities in each set of the layer, where a layer is all sets of one size", "layer",
                      optional=True),
    "states": Dataset("int64", "Stored states of the layer, all ranks and half runs", "layer"),
    "pruned": Dataset("int64", "States of the layer that were dropped because it was too wide", "layer", optional=True),
    "bytes": Dataset("int64", "Memory of the stored states", "layer", "byte"),
    "seconds": Dataset("float64", "Kernel time, of the slowest rank", "layer", "s"),
    "bytes_sent": Dataset("int64", "Messages between ranks", "layer", "byte"),
}
"""The group `/layers`."""


def outcome(
    core: Core, order: list[int] | None, tables: Mapping[str, Mapping[str, Column]], rank: Mapping[str, float | int]
) -> Outcome:
    """Return the outcome of an order of the core's cities, or of the proof that there is none."""
    if order is None:
        return Outcome(NoTour(True), tables, rank)
    loop = [len(order), *order, len(order)]
    cost = sum(int(core.cost[a, b]) for a, b in pairwise(loop))
    return Outcome(Tour(cost, core.tour(order), True), tables, rank)


def order_layers_table(slices: Slices, itemsize: int, comm: Comm, statistics: Statistics) -> Mapping[str, Column]:
    """Return rank 0's table of the layers by size: as `layers_table`. Collective."""
    sizes = range(slices.m)
    seconds = comm.gather([timer.seconds for timer in statistics.layer_timers]) or [[0.0]]
    sent = comm.gather(statistics.layer_bytes_sent) or [[0]]
    states = np.array([comb(slices.m, size) * (slices.m - size) for size in sizes])
    return columns(LAYERS, {
        "cities": np.array(sizes, np.int32), "states": states, "bytes": states * itemsize,
        "seconds": np.array(seconds).max(axis=0), "bytes_sent": np.array(sent).sum(axis=0),
    })


def layers_table(part: Plan, comm: Comm, statistics: Statistics) -> Mapping[str, Column]:
    """Return rank 0's table of all ranks' layers: sums of states and bytes, the slowest rank's seconds. Collective."""
    split, sizes = part.split, range(part.split.middle + 1)
    seconds = comm.gather([timer.seconds for timer in statistics.layer_timers]) or [[0.0]]
    sent = comm.gather(statistics.layer_bytes_sent) or [[0]]
    states = np.array([split.slices * split.mid * split.plane(size) * len(part.half_runs()) for size in sizes])
    return columns(LAYERS, {
        "mid_cities": np.array(sizes, np.int32),
        "states": states,
        "bytes": states * part.itemsize,
        "seconds": np.array(seconds).max(axis=0),
        "bytes_sent": np.array(sent).sum(axis=0),
    })

"""What a run of Held-Karp leaves in the result file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from hpcsolve.algorithms.base import Column, Outcome, as_column
from hpcsolve.algorithms.held_karp.core import Core
from hpcsolve.algorithms.held_karp.plan import Plan
from hpcsolve.algorithms.held_karp.planes import Statistics
from hpcsolve.parallel.comm import Comm


def outcome(core: Core, order: list[int] | None, tables: Mapping[str, Mapping[str, Column]],
            rank: Mapping[str, float | int]) -> Outcome:
    """The outcome of an order of the core's cities, or of the proof that there is none."""
    if order is None:
        infeasible = Column(True, "Whether it is proven that no tour exists")
        return Outcome(None, {"infeasible": infeasible}, tables=tables, rank=rank)
    loop = [len(order), *order, len(order)]
    cost = sum(int(core.cost[a, b]) for a, b in pairwise(loop))
    tour = as_column(core.tour(order), "Cities in the order of the tour, positions from 0", "1", "place")
    optimal = Column(True, "Whether the tour is proven to be the cheapest")
    return Outcome(cost, {"tour": tour, "optimal": optimal}, tables=tables, rank=rank)


def layers_table(part: Plan, comm: Comm, statistics: Statistics) -> Mapping[str, Column]:
    """Rank 0's table of all ranks' layers: sums of states and bytes, the slowest rank's seconds. Collective."""
    split, sizes = part.split, range(part.split.middle + 1)
    seconds = comm.gather([timer.seconds for timer in statistics.layer_timers]) or [[0.0]]
    sent = comm.gather(statistics.layer_bytes_sent) or [[0]]
    states = np.array([split.slices * split.mid * split.plane(size) * len(part.half_runs()) for size in sizes])
    return {
        "mid_cities": as_column(np.array(sizes, np.int32), "Mid cities in each set of the layer", "1", "layer"),
        "states": as_column(states, "Stored states of the layer, all ranks and half runs", "1", "layer"),
        "bytes": as_column(states * part.itemsize, "Memory of the stored states", "byte", "layer"),
        "seconds": as_column(np.array(seconds).max(axis=0), "Kernel time, of the slowest rank", "s", "layer"),
        "bytes_sent": as_column(np.array(sent).sum(axis=0), "Messages between ranks", "byte", "layer"),
    }

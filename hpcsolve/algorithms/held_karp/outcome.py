"""What a run of Held-Karp leaves in the result file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from hpcsolve.algorithms.base import Outcome
from hpcsolve.algorithms.held_karp.problem import Core
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.device.base import Device, Timer
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


@dataclass
class Statistics:
    """What a rank did, for `/layers` and `/ranks`. Times and bytes are by layer."""

    layer_timers: list[Timer] = field(default_factory=list)
    layer_bytes_sent: list[int] = field(default_factory=list)
    seconds_wait: float = 0.0

    def begin(self, device: Device, layers: int) -> None:
        """Count from here the layers of a run on a device."""
        self.layer_timers, self.layer_bytes_sent = [device.timer() for _ in range(layers)], [0] * layers

    @property
    def layer_seconds(self) -> list[float]:
        """The time of each layer."""
        return [timer.seconds for timer in self.layer_timers]


def rank_group(runs: Sequence[Statistics], operations: int, **others: int) -> dict[str, float | int]:
    """Return this rank's share of `/ranks` after some runs."""
    return {
        "operations": operations,
        **others,
        "bytes_sent": sum(sum(run.layer_bytes_sent) for run in runs),
        "seconds_wait": sum(run.seconds_wait for run in runs),
    }


def layers_table(comm: Comm, states: Sequence[int], itemsize: int, seconds: list[float], bytes_sent: list[int],
                 **others: ArrayLike) -> dict[str, Column]:
    """Return rank 0's table of the layers: the slowest rank's seconds, all ranks' messages. Collective."""
    all_seconds, all_sent = comm.gather(seconds) or [seconds], comm.gather(bytes_sent) or [bytes_sent]
    held = np.array(states, np.int64)
    return columns(LAYERS, {
        **others, "states": held, "bytes": held * itemsize, "seconds": np.max(all_seconds, axis=0),
        "bytes_sent": np.sum(all_sent, axis=0, dtype=np.int64),
    })


def outcome(
    core: Core, order: list[int] | None, tables: Mapping[str, Mapping[str, Column]], rank: Mapping[str, float | int]
) -> Outcome:
    """Return the outcome of an order of the core's cities, or of the proof that there is none."""
    if order is None:
        return Outcome(NoTour(True), tables, rank)
    loop = [len(order), *order, len(order)]
    cost = sum(int(core.cost[a, b]) for a, b in pairwise(loop))
    return Outcome(Tour(cost, core.tour(order), True), tables, rank)

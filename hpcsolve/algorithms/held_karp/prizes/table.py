"""The curve by the table of all states, which knows the best tour through every set of cities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.held_karp.orders.states import encode
from hpcsolve.algorithms.held_karp.orders.table import Slices, Table
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.algorithms.held_karp.prizes.curve import Curve, Pair, Selection
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm

Sets = NDArray[np.uint32]
"""Sets of cities as bit masks."""
HALF = 16
"""Cities whose prizes are added up in one table."""


@dataclass
class ByTable:
    """Finds the curve of a selection, and its orders.

    Attributes
    ----------
    statistics
        Of the layers, a layer more than the table has: the ends of the orders through all cities.
    """

    asked: Selection
    device: Device
    comm: Comm
    report: Report

    def __post_init__(self) -> None:
        """Begin with the order without a city."""
        self.encoded, self.statistics = encode(self.asked.problem), Statistics()
        self.slices = Slices(self.encoded.m, self.comm.size, self.comm.rank)

    def run(self) -> list[tuple[int, int, list[int]]]:
        """Return prize, end and order of each point of the curve, ascending. Collective."""
        m, asked, curve = self.encoded.m, self.asked, Curve(self.asked.whole)
        ends = dict[Pair, Sets]()  # pair -> this rank's sets of fewest cities whose best order is one
        self.statistics.begin(self.device, m + 1)
        if asked.nothing is not None:
            curve.add(np.zeros(1, np.int64), np.array([asked.nothing]))
            ends[curve.pairs[0]] = np.zeros(1, np.uint32)
        sums = [_sums(asked.prizes[:HALF]), _sums(asked.prizes[HALF:])]
        with Table(self.encoded, self.slices, self.device, self.comm) as table:
            table.fill(self.statistics, lambda done: self.report(done / 2))
            for size in range(1, m + 1):
                table.exchange(size, self.statistics)
                sets, values = table.ends(size)
                values = np.maximum(values, self.encoded.depot_earliest)
                kept = values <= self.encoded.depot_latest
                sets, values = sets[kept], values[kept]
                prizes = sums[0][sets & ((1 << HALF) - 1)] + sums[1][sets >> HALF]
                for pair, states in curve.add_all(prizes, values, self.comm).items():
                    ends.setdefault(pair, sets[states])
                self.report((1 + size / m) / 2)
            return [(*pair, self._order(table, ends[pair], pair[1])) for pair in curve.pairs]

    def _order(self, table: Table, sets: Sets, end: int) -> list[int]:
        """Return the first order by the tie rule of those that go through one of these sets by an end. Collective."""
        own, order, head = self.encoded, list[int](), self.encoded.m
        sets = np.unique(np.concatenate(self.comm.allgather(sets)))
        needed = np.full(len(sets), end, np.int64)
        while sets[0]:
            arcs = (own.back if head == own.m else own.cost[0, : own.m, head]).astype(np.int64)
            at, city = np.nonzero(sets[:, None] >> np.arange(own.m, dtype=np.uint32) & np.uint32(1))
            before, by = sets[at] ^ np.uint32(1) << city.astype(np.uint32), needed[at] - arcs[city]
            found = (arcs[city] < own.no_path) & (table.read(before, city) <= by)
            head = int(city[found].min())
            found &= city == head
            sets, needed = before[found], np.minimum(by[found], int(own.latest[head]))
            order.insert(0, head)
        return order


def _sums(prizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of the prizes of each set of some cities."""
    sums = np.zeros(1, np.int64)
    for prize in prizes:
        sums = np.append(sums, sums + prize)
    return sums

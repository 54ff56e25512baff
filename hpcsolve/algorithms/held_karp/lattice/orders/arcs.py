"""For each arc the value of the best order through it: what a choice costs.

Two tables are filled: one of the orders, one of the orders read backwards. An order in which the arc from i to j comes
after the set S consists of a path through S that ends in i, which the first table has, the arc, and a path from j
through all other cities, which the second one has. So the values of a layer of the first table are joined with those of
the opposite layer of the second one, as soon as that is filled; a set and its complement are on one rank.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.lattice.half_run import Statistics
from hpcsolve.algorithms.held_karp.lattice.orders.encode import STRIDE, Encoded, encode
from hpcsolve.algorithms.held_karp.lattice.orders.table import Table
from hpcsolve.algorithms.held_karp.lattice.orders.walk import arrivals
from hpcsolve.algorithms.held_karp.problem import OrderProblem
from hpcsolve.problems.order import TourQuestion

ENTRIES = STRIDE * STRIDE
"""Values that are kept on the device for the arcs."""

Arcs = NDArray[np.int64]
"""Shape (arcs, 3): tail, head, and the value of the best order through the arc (city m: the depot). Ascending by tail,
then by head; arcs that no order uses are left out."""


def encode_backwards(problem: OrderProblem, least: int) -> Encoded:
    """Return the problem whose orders are those of another one read backwards, with the same values, as `encode`."""
    m = problem.m
    after = tuple(sum(1 << j for j in range(m) if problem.before[j] >> i & 1) for i in range(m))
    encoded = encode(replace(problem, cost=problem.cost[::-1].transpose(0, 2, 1), before=after), least)
    if problem.weights is None:
        return encoded
    # An arc delays the cities behind it. Read backwards, these are the depot and the cities that have been visited.
    return replace(encoded, weight=-encoded.weight.astype(np.int64), factor=int(problem.weights[m]))


def in_instance(problem: OrderProblem, question: TourQuestion, arcs: Arcs) -> Arcs:
    """Return arcs between positions in the instance, in the same form. Arcs of a depot that is no city are left out."""
    own, last = problem.core, problem.core.after or (problem.core.before if question.path == "cycle" else ())
    tail, head = (np.array([*own.cities, *(ends or (-1,))]) for ends in (own.before, last))
    named = np.stack([tail[arcs[:, 0]], head[arcs[:, 1]], arcs[:, 2]], axis=1)
    named = named[(named[:, :2] >= 0).all(axis=1) & (named[:, 0] != named[:, 1])]
    ascending: Arcs = named[np.lexsort([named[:, 1], named[:, 0]])]
    return ascending


class Joiner:
    """Joins a filled table with the layers of the table of the orders read backwards, while that is filled."""

    def __init__(self, forward: Table, back: Table, statistics: Statistics) -> None:
        self._forward, self._back, self._statistics = forward, back, statistics
        self._through = forward.device.upload(np.full(ENTRIES, forward.encoded.no_path, forward.encoded.dtype))

    def join(self, filled: int) -> None:
        """Join the sets of the second table's layer, which has just been filled, with their complements. Collective."""
        m = self._forward.slices.m
        if filled == 0:  # the complement is all cities: `values` adds the arcs from and to the depot
            return
        self._forward.exchange(m - filled, self._statistics)
        timer = self._statistics.layer_timers[filled]
        timer.start()
        self._forward.join(self._back, m - filled, self._through)
        timer.stop()

    def join_again(self, filled: int) -> None:
        """Join a layer of the second table that comes from a checkpoint. Collective."""
        self._back.exchange(filled, self._statistics)
        self.join(filled)

    def values(self) -> Arcs:
        """Return the arcs with values in the kernel's integers, after all layers have been joined. Collective."""
        forward, back = self._forward, self._back
        m, none = forward.slices.m, forward.encoded.no_path
        table = np.full((m + 1, m + 1), none, np.int64)
        parts = forward.comm.allgather(self._through.download())
        table[:m, :m] = np.min(parts, axis=0).reshape(STRIDE, STRIDE)[:m, :m]
        whole = (1 << m) - 1
        for city, value in arrivals(forward.encoded, forward.read, whole, m):
            table[city, m] = value
        for city, value in arrivals(back.encoded, back.read, whole, m):
            table[m, city] = value
        tails, heads = np.nonzero(table < none)
        return np.stack([tails, heads, table[tails, heads]], axis=1)

    def close(self) -> None:
        """Free the values on the device."""
        self._through.free()

"""The whole method: bounds on few slots, then more; narrow searches for orders; wider ones until nothing is dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hpcsolve.algorithms.held_karp.bounded import canonical
from hpcsolve.algorithms.held_karp.bounded.improve import Improver
from hpcsolve.algorithms.held_karp.bounded.layers import Scratch
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.algorithms.held_karp.bounded.relaxation import INFINITY, Relaxation, scale_for
from hpcsolve.algorithms.held_karp.bounded.search import Searched, search
from hpcsolve.algorithms.held_karp.bounded.tighten import STEP, Incumbent, Tightener
from hpcsolve.algorithms.held_karp.bounded.trace import Tracer
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import FORBIDDEN

LEVELS = (6, 8, 10, 12)
"""Slots of one level after another."""
ROUNDS = 60
"""Rounds of the subgradient method in a level, three times as many in the first."""
BEAM = 2000
FIRST_WIDTH = 30_000
WIDER = 16


@dataclass
class Proof:
    """What is known in the end.

    Attributes
    ----------
    value, order
        The best order and its value; both None if there is none.
    lower
        Proven lower bound. With `optimal` it is the value.
    optimal
        Whether the order is proven to be best, or that there is none.
    last
        The last search, for `/layers`.
    """

    value: int | None
    order: list[int] | None
    lower: int
    optimal: bool
    last: Searched
    states: int = 0


@dataclass
class Prover:
    """The proof of one problem.

    Attributes
    ----------
    by_planes
        Whether equally good orders are chosen as the lattice of planes chooses them, else by the smallest last city.
    most_states
        The most states of a layer, of all ranks.
    reached
        Called after each layer; returns False to end.
    note
        Called with lines for the log.
    levels
        Slots of one level after another.
    """

    problem: PlaceCosts
    device: Device
    comm: Comm
    by_planes: bool
    most_states: int
    first: Callable[[], tuple[int, list[int]] | None] = lambda: None
    reached: Callable[[Searched], bool] = lambda searched: True
    note: Callable[[str], None] = lambda line: None
    levels: tuple[int, ...] = LEVELS
    states: int = 0
    last: Searched = field(default_factory=Searched)

    def run(self) -> Proof:
        """Return what is proven. Collective."""
        improver, scratch = Improver(self.problem, self.device), Scratch(self.device)
        problem = self.problem
        halved = halve(problem) if problem.reversible and problem.cities > 2 else problem
        best = _nothing(problem)
        best.offer(self.first())
        best.offer(improver.from_nothing())
        self.note(f"first order {best.upper}" if best.order else "no order yet")
        relaxation = Relaxation(halved, self.device, scale_for(problem, best.upper))
        tightener = Tightener(halved, relaxation, improver, best)
        try:
            return self._prove(tightener, scratch, halved is not problem)
        finally:
            relaxation.close()
            improver.close()
            scratch.close()

    def _prove(self, own: Tightener, scratch: Scratch, halved: bool) -> Proof:
        best = own.best
        for level, count in enumerate(self.levels):
            if self._tighten(own, scratch, count, ROUNDS * (1 if level else 3), STEP if not level else STEP * 2 // 5):
                return Proof(None, None, best.lower, True, self.last, self.states)
        width = min(FIRST_WIDTH, self.most_states)
        while True:
            before = best.upper
            found = self._search(own, scratch, own.limit(), width)
            if found.dropped == INFINITY and not found.stopped:
                return self._conclude(own, found, halved)
            best.raise_lower(-(-(found.dropped - own.relaxation.shift) // own.relaxation.scale))
            self.note(f"width {width}: {best.lower} to {best.upper}, {found.states} states")
            if best.upper < before:
                while self._tighten(own, scratch, self.levels[-1], ROUNDS, STEP * 3 // 10):
                    pass
                continue
            if width >= self.most_states or found.stopped:
                return Proof(best.upper if best.order else None, best.order, best.lower,
                             best.order is not None and best.lower >= best.upper, self.last, self.states)
            width = min(width * WIDER, self.most_states)

    def _tighten(self, own: Tightener, scratch: Scratch, count: int, rounds: int, step: int) -> bool:
        """Improve the bounds, search narrowly, fix arcs. Return whether it is proven that there is no order."""
        own.level(count, rounds, step)
        if own.infeasible:
            return True
        self._search(own, scratch, own.limit(), BEAM)
        left = own.fix()
        self.note(f"{count} slots: {own.best.lower} to {own.best.upper}, {left} arcs left")
        return False

    def _search(self, own: Tightener, scratch: Scratch, limit: int, width: int) -> Searched:
        """Search, and offer the order that was found, improved too."""
        found = self.last = search(own.relaxation, limit, width, self.comm, scratch, self.reached)
        self.states += found.states
        if found.stopped or len(found.layers) < self.problem.cities or not found.kept[-1]:
            return found
        tracer = self._tracer(own, found)
        least, _, _ = tracer.ends(single=True)
        if least <= limit:
            order = tracer.order()
            value = self.problem.value(order)
            if value is None or own.relaxation.scale * value + own.relaxation.shift != least:
                raise AssertionError(f"the order costs {value}, its state {least}")
            own.best.offer((value, order))
            own.best.offer(own.improver.improve([order]))
        return found

    def _tracer(self, own: Tightener, found: Searched) -> Tracer:
        return Tracer(found.layers, own.relaxation.buffers["cost"].download(), self.comm)

    def _conclude(self, own: Tightener, found: Searched, halved: bool) -> Proof:
        best = own.best
        if not found.kept[-1] or len(found.layers) < self.problem.cities:
            return Proof(None, None, best.lower, True, found, self.states)
        optimal = self._tracer(own, found).optimal()
        if optimal is not None:
            optimal = canonical.with_reversed(optimal, self.problem.cities) if halved else optimal
            choose = canonical.as_by_planes if self.by_planes else canonical.smallest_last
            order = choose(optimal)
            value = self.problem.value(order)
            assert value is not None and value <= best.upper
            best.upper, best.order = value, order
        return Proof(best.upper, best.order, best.upper, True, found, self.states)


def halve(problem: PlaceCosts) -> PlaceCosts:
    """Return a problem whose orders are half of a reversible one's: one of two cities far apart comes first."""
    m = problem.cities
    cost = np.where(problem.cost[1] == FORBIDDEN, -1, problem.cost[1])
    first, second = np.unravel_index(int(cost.argmax()), cost.shape)
    before = problem.before.copy()
    before[second, first] = True
    table = problem.cost.copy()
    table[1:m, second, first] = FORBIDDEN
    table[0, 0, second] = FORBIDDEN
    table[m, first, 0] = FORBIDDEN
    return PlaceCosts(table, before)


def _nothing(problem: PlaceCosts) -> Incumbent:
    """Return the incumbent without an order: above the sum of each place's dearest arc."""
    allowed = [costs[costs != FORBIDDEN] for costs in problem.cost]
    dearest, cheapest = (sum(int(f(costs)) if len(costs) else 0 for costs in allowed) for f in (max, min))
    return Incumbent(dearest + 1, None, cheapest)

"""The whole method: bounds with more and more slots, then searches of growing width until one is a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hpcsolve.algorithms.base import Report, silent
from hpcsolve.algorithms.held_karp.bounded import canonical
from hpcsolve.algorithms.held_karp.bounded.deal import Deal
from hpcsolve.algorithms.held_karp.bounded.descent import Improver
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Scratch
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts, halve
from hpcsolve.algorithms.held_karp.bounded.potentials import Potentials
from hpcsolve.algorithms.held_karp.bounded.proof import Proof
from hpcsolve.algorithms.held_karp.bounded.relaxation import INFINITY, Relaxation, scale_for
from hpcsolve.algorithms.held_karp.bounded.resume import first_upper, restore, saved_layers, state_of
from hpcsolve.algorithms.held_karp.bounded.search import Budget, Searched, search
from hpcsolve.algorithms.held_karp.bounded.tighten import STEP, Tightener, no_incumbent
from hpcsolve.algorithms.held_karp.bounded.trace import Tracer
from hpcsolve.algorithms.held_karp.bounded.watch import Watch
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import State
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm

LEVELS = (6, 8, 10, 12)
"""Slots of one level after another."""
ROUNDS = 60
"""Rounds of the subgradient method in a level."""
FIRST_STEP, LATER_STEP, STEP_AGAIN = STEP, STEP * 2 // 5, STEP * 3 // 10
"""Step lengths at the beginning of the first level, of a later one, and after a better order."""
BEAM = 2000
"""Width of the narrow search after each level."""
FIRST_WIDTH = 30_000
"""Width of the first search after all levels."""
WIDER = 16
"""Factor from the width of one search to that of the next."""

Found = tuple[int, list[int]]
"""The value of an order, and the order."""


@dataclass
class Prover:
    """The proof of one problem.

    Attributes
    ----------
    by_planes
        Whether equally good orders are chosen as the lattice of planes chooses them, else by the smallest last city.
    colony
        Returns an order that the ant colony of this number finds, or None where ants cannot search. Called on every
        rank before each level, with the level's number.
    values
        Values of the cities, with which the bounds begin, or None.
    note, report
        Called with lines for the log, and with the progress.
    levels
        Slots of one level after another.
    rounds
        Rounds of the subgradient method in a level, three times as many in the first.
    level, width, states
        Levels that are done, the width of the present search, and the states of all searches so far.
    first_upper
        The upper bound at the start, from which the scale follows.
    deal
        Which rows of the bounds' tables this rank computes.
    before
        The state before the present rounds of bounds, from which a run goes on that is interrupted in them; None before
        the first ones.
    """

    problem: PlaceCosts
    device: Device
    comm: Comm
    by_planes: bool
    budget: Budget
    colony: Callable[[int], Found | None] = lambda number: None
    values: Potentials | None = None
    note: Callable[[str], None] = lambda line: None
    report: Report = silent
    watch: Watch | None = None
    levels: tuple[int, ...] = LEVELS
    rounds: int = ROUNDS
    level: int = 0
    width: int = FIRST_WIDTH
    states: int = 0
    first_upper: int = 0
    last: Searched = field(default_factory=Searched)
    scratch: Scratch = field(init=False)
    deal: Deal = field(init=False)
    before: State | None = None

    def __post_init__(self) -> None:
        """Begin to watch, and deal the rows of the bounds to ranks."""
        self.scratch = Scratch(self.device)
        self.deal = Deal(self.comm, self.problem.cities, max(self.comm.allgather(self.device.info.units)))
        self.watch = self.watch or Watch(self.comm)

    def run(self) -> Proof:
        """Return what is proven. Collective."""
        problem, saved = self.problem, self._watch.checkpoints.saved
        improver, best = Improver(problem, self.device), no_incumbent(problem)
        if saved is None:
            best.offer(self.colony(0) or improver.from_nothing())
            self.note(f"first order: {best.upper}" if best.order else "no order yet")
        halved = halve(problem) if problem.reversible and problem.cities > 2 else problem
        self.first_upper = first_upper(saved, problem) if saved else best.upper
        relaxation = Relaxation(halved, self.device, scale_for(problem, self.first_upper), self.deal)
        bounds = Tightener(halved, relaxation, improver, best, goes_on=lambda: self._in_rounds(bounds))
        if self.values is not None:
            bounds.multiplier = self.values.multipliers(relaxation.scale)
            best.raise_lower(self.values.bound)
        try:
            if saved is not None:
                restore(saved, self, bounds)
            return self._prove(bounds, saved)
        finally:
            for held in (relaxation, improver, self.scratch):
                held.close()

    @property
    def _watch(self) -> Watch:
        assert self.watch is not None
        return self.watch

    def _prove(self, bounds: Tightener, saved: Saved | None) -> Proof:
        proof = self._through_levels(bounds)
        while proof is None:
            proof = self._widened(bounds, saved)
            saved = None
        return proof

    def _through_levels(self, bounds: Tightener) -> Proof | None:
        """Tighten the bounds level by level. Return a proof if the run ends here."""
        best = bounds.best
        for level in range(self.level, len(self.levels)):
            if best.lower >= best.upper and best.order is None:  # every order is dearer than any can be
                return self._no_order(bounds)
            rounds, step = (3 * self.rounds, FIRST_STEP) if level == 0 else (self.rounds, LATER_STEP)
            if self._tighten(bounds, self.levels[level], rounds, step, colony=level):
                return self._no_order(bounds)
            self.level = level + 1
            if not self._goes_on(bounds):
                return self._ended_early(bounds, capped=False)
            if best.lower >= best.upper and best.order is not None:
                break
        self.level = len(self.levels)
        return None

    def _widened(self, bounds: Tightener, saved: Saved | None) -> Proof | None:
        """Search at the present width. Return a proof, or widen the next search and return None."""
        before = bounds.best.upper
        self._search_at_width(bounds, saved)
        if self._watch.ended:
            return self._ended_early(bounds, capped=False)
        self._offer(bounds, self.last)
        lower = self._bound(bounds, self.last.dropped)
        if self.last.dropped == INFINITY or lower > bounds.best.upper:  # no state of a best order was dropped
            return self._conclude(bounds)
        bounds.best.raise_lower(lower)
        self.note(f"width {self.width}: {bounds.best.lower} to {bounds.best.upper}, {self.last.states} states")
        while bounds.best.upper < before and self._goes_on(bounds):
            before = bounds.best.upper
            if self._tighten(bounds, self.levels[-1], self.rounds, STEP_AGAIN):
                return self._no_order(bounds)
        if not self.last.is_held_by(self.width):
            return self._last_resort(bounds)
        self.width *= WIDER
        return None if self._goes_on(bounds) else self._ended_early(bounds, capped=False)

    def _search_at_width(self, bounds: Tightener, saved: Saved | None, margin: int = 0) -> None:
        """Search for orders that beat the incumbent by at least `margin`, and keep the search as `last`."""
        self.last = Searched()  # frees the states of the search before
        bounds.settle()
        limit = bounds.limit(margin)
        begun = None
        if saved is not None and saved.integer("layers", most=self.problem.cities):
            expander = Expander(bounds.relaxation, limit, self.comm, self.scratch)
            begun = saved_layers(saved, expander)
            expander.close()

        def reached(found: Searched) -> bool:
            places, best = bounds.problem.cities, bounds.best
            self.report(len(found.layers) / places, f"{found.kept[-1]} states; {best.lower} to {best.upper}")
            return self._goes_on(bounds, None if margin else found)  # layers of another limit are of no use

        self.last = search(bounds.relaxation, limit, self.width, self.budget, self.comm, self.scratch, reached, begun)
        self.states += self.last.states

    def _in_rounds(self, bounds: Tightener) -> bool:
        """Report the progress of the bounds, and return whether they go on."""
        best, rounds = bounds.best, self.rounds * (len(self.levels) + 2)
        self.report(min(1.0, bounds.rounds / rounds), f"bounds {best.lower} to {best.upper}")
        return self._watch.goes_on_inside(best.value, self.before)

    def _goes_on(self, bounds: Tightener, found: Searched | None = None) -> bool:
        nbytes = sum(layer.nbytes for layer in found.layers) if found else 0
        return self._watch.goes_on(bounds.best.value, lambda: state_of(self, bounds, found), lambda: nbytes)

    def _tighten(self, bounds: Tightener, count: int, rounds: int, step: int, colony: int = 0) -> bool:
        """Improve the bounds, search narrowly and remove arcs. Return whether it is proven that there is no order.

        Before that, the ant colony of this number looks for a better order. Number 0 has done so already.
        """
        self.before = None if bounds.colours is None else state_of(self, bounds, None)
        if colony:
            bounds.best.offer(self.colony(colony))
        bounds.level(count, rounds, step)
        if bounds.infeasible or self._watch.ended:
            return bounds.infeasible
        found = search(bounds.relaxation, bounds.limit(), BEAM, self.budget, self.comm, self.scratch)
        self.states += found.states
        self._offer(bounds, found)
        left = bounds.fix()
        self.note(f"{count} slots: {bounds.best.lower} to {bounds.best.upper}, {left} arcs left")
        return False

    def _offer(self, bounds: Tightener, found: Searched) -> None:
        """Offer the best order of a search, and what local search makes of it."""
        if not found.whole(self.problem.cities):
            return
        tracer = self._tracer(bounds, found)
        least, _, _ = tracer.ends(single=True)
        if least >= INFINITY:
            return
        order = tracer.order()
        value = self.problem.value(order)
        if value is None or bounds.relaxation.scale * value + bounds.relaxation.shift != least:
            raise AssertionError(f"the order costs {value}, its state {least}")
        bounds.best.offer((value, order))
        bounds.best.offer(bounds.improver.improve([order]))

    def _tracer(self, bounds: Tightener, found: Searched) -> Tracer:
        return Tracer(found.layers, bounds.relaxation.buffers["cost"].download(), self.comm)

    def _bound(self, bounds: Tightener, reduced: int) -> int:
        """Return a lower bound of the cost of orders whose reduced cost is at least this."""
        return -(-(reduced - bounds.relaxation.shift) // bounds.relaxation.scale)

    def _no_order(self, bounds: Tightener) -> Proof:
        if bounds.best.order is not None:
            raise AssertionError("the bounds exclude an order that there is")
        return Proof(None, None, bounds.best.lower, True, self.last, self.states)

    def _ended_early(self, bounds: Tightener, capped: bool) -> Proof:
        """Return what is proven where the search ends early."""
        best = bounds.best
        proven = best.order is not None and best.lower >= best.upper
        return Proof(best.value, best.order, best.lower, proven, self.last, self.states, chosen=False, capped=capped)

    def _last_resort(self, bounds: Tightener) -> Proof:
        """Prove the value alone, without the states of orders that are as good as the incumbent."""
        if bounds.best.order is not None and bounds.best.lower < bounds.best.upper and self._goes_on(bounds):
            self._search_at_width(bounds, None, margin=1)
            if self.last.dropped == INFINITY and not self._watch.ended:
                self._offer(bounds, self.last)
                bounds.best.raise_lower(bounds.best.upper)
            elif not self._watch.ended:
                bounds.best.raise_lower(self._bound(bounds, self.last.dropped))
        return self._ended_early(bounds, capped=not self._watch.ended)

    def _conclude(self, bounds: Tightener) -> Proof:
        """Return the proof, with the one of all optimal orders that the lattice returns."""
        if not self.last.whole(self.problem.cities):
            return self._no_order(bounds)
        bounds.best.raise_lower(bounds.best.upper)
        order = self._chosen(bounds)
        if order is None:
            return self._ended_early(bounds, capped=False)
        if self.problem.value(order) != bounds.best.upper:
            raise AssertionError(f"the chosen order costs {self.problem.value(order)}, not {bounds.best.upper}")
        return Proof(bounds.best.upper, order, bounds.best.upper, True, self.last, self.states)

    def _chosen(self, bounds: Tightener) -> list[int] | None:
        """Return the order that the lattice returns, or None if too many states are on optimal orders. Collective."""
        halved = bounds.problem is not self.problem
        if not self.by_planes and not halved:
            return self._tracer(bounds, self.last).order()
        optimal = self._tracer(bounds, self.last).optimal()
        if optimal is None:
            return None
        if halved:
            optimal = canonical.with_reversed(optimal, self.problem.cities)
        return (canonical.as_by_planes if self.by_planes else canonical.smallest_last)(optimal)

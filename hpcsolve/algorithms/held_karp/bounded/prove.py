"""The whole method: bounds with more and more slots, then searches of growing width until one is a proof.

A proof may end early, by `[stop]` or an interruption, after rounds of bounds, levels and layers. A checkpoint keeps
multipliers, memories, the arcs left, the best order, and the layers so far. The states of a layer are spread by the
hash of their visited set, so any number of ranks can take them over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hpcsolve.algorithms.base import Report, silent
from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.in_time import InTime
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Scratch
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts, Potentials
from hpcsolve.algorithms.held_karp.bounded.relaxation import (
    FEWEST_SLOTS,
    NO_PATH,
    NO_SCALED_ARC,
    Deal,
    Relaxation,
    scale_for,
    with_memory,
)
from hpcsolve.algorithms.held_karp.bounded.search import (
    BothWaysTracer,
    Budget,
    Searched,
    TooManyOrders,
    Tracer,
    layer_parts,
    saved_layers,
    search,
)
from hpcsolve.algorithms.held_karp.bounded.tighten import STEP, Improver, Incumbent, Tightener, no_incumbent
from hpcsolve.algorithms.held_karp.bounded.timed import TimedRelaxation, timed_scale
from hpcsolve.algorithms.held_karp.bounded.windows import TimedOrders, shortest_times, tightened
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, Wish, agreed
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.rounding import LARGEST_SUM

LEVELS = (6, 8, 10, 12)
"""Slots of one level after another."""
TIMED_LEVELS = (5, 7, 9, 11)
"""Those of bounds by time, of which a city has a row for each step of its window."""
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
LEVEL = "level"
"""A number that only checkpoints of a proof by bounds have."""
MULTIPLIERS = range(-(2**61), 2**61)
"""What multipliers may be: beyond that their sum with a cost would overflow."""
FEW = ("order", "multiplier", "wishes", "colours", "memory", "arcs", "windows", "counts")
"""Tables of rank 0, as int64 vectors."""
Found = tuple[int, list[int]]
"""The value of an order, and the order."""


@dataclass
class Proof:
    """What is known in the end about the best order.

    Attributes
    ----------
    value, order
        The best order and its value; both None if there is none, or none is known.
    lower
        Proven lower bound. Of a proven order it is the value.
    optimal
        Whether it is proven that the order is best, or that there is none.
    chosen
        Whether the order is the answer by the tie rule.
    capped
        Whether the search ended without a proof because layers were too wide for the memory.
    last
        The last search, for `/layers`.
    states
        States of all searches.
    """

    value: int | None
    order: list[int] | None
    lower: int
    optimal: bool
    last: Searched
    states: int
    chosen: bool = True
    capped: bool = False


@dataclass
class Prover:
    """The proof of one problem.

    Attributes
    ----------
    assembled
        Returns the order that edge assembly finds with the population of this number, or None where it cannot search.
        Called on every rank before each level, with the level's number.
    values
        Values of the cities, with which the bounds begin, or None.
    note, report
        Called with lines for the log, and with the progress.
    levels
        Slots of one level after another, by default `LEVELS`, and with windows `TIMED_LEVELS`.
    rounds
        Rounds of the subgradient method in a level, three times as many in the first.
    words
        Words of a key, by default as few as the cities need.
    level, width, states
        Levels that are done, the width of the present search, and the states of all searches so far.
    first_upper
        The upper bound at the start, from which the scale follows.
    devices
        This rank's GPU, if it has one, and its CPU cores.
    deal
        Which rows of the bounds' tables this rank computes.
    bounds
        The bounds of the present level, with the best order so far, from the beginning of `run` on.
    before
        The state before the present rounds of bounds, from which a run goes on that is interrupted in them; None before
        the first ones.
    """

    problem: PlaceCosts | TimedOrders
    device: Device
    comm: Comm
    budget: Budget
    assembled: Callable[[int], Found | None] = lambda number: None
    values: Potentials | None = None
    note: Callable[[str], None] = lambda line: None
    report: Report = silent
    watch: Watch | None = None
    levels: tuple[int, ...] = ()
    rounds: int = ROUNDS
    words: int | None = None
    level: int = 0
    width: int = FIRST_WIDTH
    states: int = 0
    first_upper: int = 0
    last: Searched = field(default_factory=Searched)
    devices: Devices = field(init=False)
    scratch: Scratch = field(init=False)
    deal: Deal = field(init=False)
    before: State | None = None
    bounds: Tightener = field(init=False)
    _watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        """Begin to watch, and deal the rows of the bounds to ranks."""
        self.levels = self.levels or (TIMED_LEVELS if isinstance(self.problem, TimedOrders) else LEVELS)
        self.devices, self.scratch = Devices(self.device), Scratch(self.device)
        self.deal = Deal(self.comm, self.problem.cities, max(self.comm.allgather(self.device.info.units)))
        self._watch = self.watch or Watch(self.comm)

    @property
    def best(self) -> Incumbent:
        """The best order so far, and the best lower bound."""
        return self.bounds.best

    @property
    def state_bytes(self) -> int:
        """This rank's bytes of the last search's states, and of the memory in which layers were computed."""
        return sum(layer.nbytes for layer in self.last.layers) + self.scratch.nbytes

    def run(self) -> Proof:
        """Return what is proven. Collective."""
        problem, saved = self.problem, self._watch.checkpoints.saved
        improver: Improver | InTime
        relaxation: Relaxation | TimedRelaxation
        if isinstance(problem, TimedOrders):
            possible = tightened(problem, problem.horizon(), shortest_times(problem))
            if possible is None:
                self.devices.close()
                return Proof(None, None, -LARGEST_SUM, True, self.last, 0)
            self.problem = problem = possible
            improver = InTime(problem)
        else:
            improver = Improver(problem, self.devices)
        best = no_incumbent(problem)
        if saved is None:
            best.offer(self.assembled(0) or improver.from_nothing())
            self.note(f"first order: {best.upper}" if best.order else "no order yet")
        self.first_upper = saved.integer("first", -LARGEST_SUM, best.upper) if saved else best.upper
        if isinstance(problem, TimedOrders):
            relaxation = TimedRelaxation(problem, self.devices, timed_scale(problem, self.first_upper))
        else:
            halved = problem.halved() if problem.reversible and problem.cities > 2 else problem
            relaxation = Relaxation(halved, self.devices, scale_for(problem, self.first_upper), self.deal)
        self.bounds = Tightener(relaxation.problem, relaxation, improver, best, goes_on=self._in_rounds)
        if self.values is not None:
            self.bounds.multiplier = self.values.multipliers(relaxation.scale)
            best.raise_lower(self.values.bound)
        try:
            if saved is not None:
                self._restore(saved)
            proof = self._through_levels()
            while proof is None:
                proof, saved = self._widened(saved), None
            return proof
        finally:
            for held in (relaxation, improver, self.scratch, self.devices):
                held.close()

    def _through_levels(self) -> Proof | None:
        """Tighten the bounds level by level. Return a proof if the run ends here."""
        for level in range(self.level, len(self.levels)):
            # The lower bound meets the value that no order can exceed, and no order was found: there is none.
            if self.best.lower >= self.best.upper and self.best.order is None:
                return self._no_order()
            rounds, step = (3 * self.rounds, FIRST_STEP) if level == 0 else (self.rounds, LATER_STEP)
            if self._tighten(self.levels[level], rounds, step, population=level):
                return self._no_order()
            self.level = level + 1
            if not self._goes_on():
                return self._ended_early(capped=False)
            if self.best.lower >= self.best.upper and self.best.order is not None:
                break
        self.level = len(self.levels)
        return None

    def _widened(self, saved: Saved | None) -> Proof | None:
        """Search at the present width. Return a proof, or widen the next search and return None."""
        before = self.best.upper
        self._search_at_width(saved)
        if self._watch.ended:
            return self._ended_early(capped=False)
        self._offer(self.last)
        lower = self._bound(self.last.dropped)
        if self.last.complete or lower > self.best.upper:  # no state of a best order was dropped
            return self._conclude()
        self.best.raise_lower(lower)
        self.note(f"width {self.width}: {self.best.lower} to {self.best.upper}, {self.last.states} states")
        while self.best.upper < before and self._goes_on():
            before = self.best.upper
            if self._tighten(self.levels[-1], self.rounds, STEP_AGAIN):
                return self._no_order()
        if not self.last.is_limited_by(self.width):
            return self._last_resort()
        self.width *= WIDER
        return None if self._goes_on() else self._ended_early(capped=False)

    def _search_at_width(self, saved: Saved | None, margin: int = 0) -> None:
        """Search for orders that beat the incumbent by at least `margin`, and keep the search as `last`."""
        self.last = Searched()  # frees the states of the search before
        self.bounds.settle()
        limit = self.bounds.limit(margin)
        begun = None
        if saved is not None and saved.integer("layers", most=self.problem.cities):
            expander = Expander(self.bounds.relaxation, limit, self.comm, self.scratch, self.words)
            begun = saved_layers(saved, expander)
            expander.close()

        def reached(found: Searched) -> bool:
            words = f"{found.kept[-1]} states; {self.best.lower} to {self.best.upper}"
            self.report(len(found.layers) / self.problem.cities, words)
            return self._goes_on(None if margin else found)  # layers of another limit are of no use

        relaxation = self.bounds.relaxation
        self.last = search(relaxation, limit, self.width, self.budget, self.comm, self.scratch, reached, begun,
                           self.words)
        self.states += self.last.states

    def _in_rounds(self) -> bool:
        """Report the progress of the bounds, and return whether they go on."""
        rounds = self.rounds * (len(self.levels) + 2)
        self.report(min(1.0, self.bounds.rounds / rounds), f"bounds {self.best.lower} to {self.best.upper}")
        self._watch.lower = self.best.lower
        return self._watch.goes_on_inside(self.best.value, self.before)

    def _goes_on(self, found: Searched | None = None) -> bool:
        nbytes = sum(layer.nbytes for layer in found.layers) if found else 0
        self._watch.lower = self.best.lower
        return self._watch.goes_on(self.best.value, lambda: self._state(found), lambda: nbytes)

    def _tighten(self, count: int, rounds: int, step: int, population: int = 0) -> bool:
        """Improve the bounds, search narrowly and remove arcs. Return whether it is proven that there is no order.

        Before that, the population of this number looks for a better order. Number 0 has done so already.
        """
        self.before = None if self.bounds.colours is None else self._state()
        if population:
            self.best.offer(self.assembled(population))
        self.bounds.level(count, rounds, step)
        if self.bounds.infeasible or self._watch.ended:
            return self.bounds.infeasible
        found = search(self.bounds.relaxation, self.bounds.limit(), BEAM, self.budget, self.comm, self.scratch,
                       words=self.words)
        self.states += found.states
        self._offer(found)
        if self.bounds.relaxation.labels:  # time windows leave few states, and the next level may not be needed
            self.best.raise_lower(self._bound(found.dropped))
        left = self.bounds.fix()
        where = self.devices.words(self.bounds.relaxation.device)
        self.note(f"{count} slots{where}: {self.best.lower} to {self.best.upper}, {left} arcs left")
        return False

    def _offer(self, found: Searched) -> None:
        """Offer the best order of a search, and what local search makes of it."""
        if not found.has_orders(self.problem.cities):
            return
        tracer = Tracer(found.layers, self.bounds.relaxation, self.comm)
        least = tracer.least()
        if least >= NO_PATH or (not self.bounds.improver.improves and self._bound(least) >= self.best.upper):
            return
        order = tracer.order()
        value = self.problem.value(order)
        if value is None or self.bounds.relaxation.scale * value + self.bounds.relaxation.shift != least:
            raise AssertionError(f"the order costs {value}, its state {least}")
        self.best.offer((value, order))
        self.best.offer(self.bounds.improver.improve([order]))

    def _bound(self, reduced: int) -> int:
        """Return a lower bound of the cost of orders whose reduced cost is at least this."""
        return -(-(reduced - self.bounds.relaxation.shift) // self.bounds.relaxation.scale)

    def _no_order(self) -> Proof:
        if self.best.order is not None:
            raise AssertionError("the bounds exclude an order that there is")
        return Proof(None, None, self.best.lower, True, self.last, self.states)

    def _ended_early(self, capped: bool) -> Proof:
        """Return what is proven where the search ends early."""
        proven = self.best.order is not None and self.best.lower >= self.best.upper
        return Proof(self.best.value, self.best.order, self.best.lower, proven, self.last, self.states, chosen=False,
                     capped=capped)

    def _last_resort(self) -> Proof:
        """Prove the value alone, without the states of orders that are as good as the incumbent."""
        if self.best.order is not None and self.best.lower < self.best.upper and self._goes_on():
            self._search_at_width(None, margin=1)
            if self.last.complete and not self._watch.ended:
                self._offer(self.last)
                self.best.raise_lower(self.best.upper)
            elif not self._watch.ended:
                self.best.raise_lower(self._bound(self.last.dropped))
        return self._ended_early(capped=not self._watch.ended)

    def _conclude(self) -> Proof:
        """Return the proof, with the answer by the tie rule."""
        if not self.last.has_orders(self.problem.cities):
            return self._no_order()
        self.best.raise_lower(self.best.upper)
        tracer, relaxation = Tracer(self.last.layers, self.bounds.relaxation, self.comm), self.bounds.relaxation
        if self.bounds.problem is not self.problem:  # half of the orders
            assert isinstance(relaxation, Relaxation)
            tracer = BothWaysTracer(self.last.layers, relaxation, self.comm)
        try:
            order = tracer.order()
        except TooManyOrders:
            return self._ended_early(capped=False)
        if self.problem.value(order) != self.best.upper:
            raise AssertionError(f"the chosen order costs {self.problem.value(order)}, not {self.best.upper}")
        return Proof(self.best.upper, order, self.best.upper, True, self.last, self.states)

    def _state(self, searched: Searched | None = None) -> State:
        """Return this rank's share of what a proof must know to go on."""
        bounds, best, slots = self.bounds, self.bounds.best, self.bounds.relaxation.slots
        assert slots is not None and bounds.colours is not None
        found = searched or Searched()
        numbers = {
            LEVEL: self.level, "width": self.width, "upper": best.upper, "lower": best.lower,
            "ordered": int(best.order is not None), "states": self.states, "slots": slots.count,
            "first": self.first_upper,
            "layers": len(found.layers), "dropped": found.dropped,
        }
        tables = (best.order or [], bounds.multiplier, bounds.wishes, bounds.colours, slots.memory,
                  np.packbits(bounds.relaxation.scaled != NO_SCALED_ARC), bounds.relaxation.windows,
                  [*found.kept, *found.pruned])
        # Copies, since the state may be written later, after rounds that change the wishes in place.
        few = [part(name, 0, np.array(values, np.int64).reshape(-1)) for name, values in zip(FEW, tables, strict=True)]
        parts = (few if self.comm.rank == 0 else []) + layer_parts(found)
        at = f"at {len(found.layers)} of {bounds.problem.cities} cities, " if found.layers else ""
        return State(numbers, parts, f"{at}with bounds {best.lower} to {best.upper}")

    def _restore(self, saved: Saved) -> None:
        """Bring the proof to where the checkpoint was written. The layers are read by `saved_layers`."""
        bounds, m = self.bounds, self.problem.cities
        best, relaxation = bounds.best, bounds.relaxation
        slots, ordered = saved.integer("slots", FEWEST_SLOTS, max(self.levels)), saved.integer("ordered", most=1)
        of_problem = {  # lengths and values
            "order": (ordered * m, range(m)), "multiplier": (m, MULTIPLIERS), "wishes": (m * m, range(LARGEST_SUM + 1)),
            "colours": (m, range(slots)), "memory": (m * slots, range(m + 1)),
            "arcs": (-(-relaxation.scaled.size // 8), range(256)),
            "windows": (relaxation.windows.size, range(NO_PATH)),
        }
        few = {name: saved.gathered(name, (), np.int64, range(length, length + 1), within)
               for name, (length, within) in of_problem.items()}
        self.level = saved.integer(LEVEL, most=len(self.levels))
        self.width, self.states = saved.integer("width", 1), saved.integer("states")
        best.upper = saved.integer("upper", -LARGEST_SUM, no_incumbent(self.problem).upper)
        best.lower = saved.integer("lower", -LARGEST_SUM, best.upper)
        best.order = few["order"].tolist() if ordered else None
        fits = len(set(few["order"].tolist())) == ordered * m
        fits = fits and (best.order is None or self.problem.value(best.order) == best.upper)
        saved.require(fits, "its best order")
        bounds.multiplier, bounds.colours = few["multiplier"], few["colours"]
        bounds.wishes = few["wishes"].reshape(m, m)
        memory = few["memory"].reshape(m, slots).astype(np.uint8)
        left = np.unpackbits(few["arcs"].astype(np.uint8), count=relaxation.scaled.size).astype(bool)
        relaxation.scaled[~left.reshape(relaxation.scaled.shape)] = NO_SCALED_ARC
        relaxation.windows[...] = few["windows"].reshape(relaxation.windows.shape)
        relaxation.remember(with_memory(bounds.problem, memory))


@dataclass
class Watch:
    """Ends or saves a proof where that is possible: after rounds of bounds, levels and layers.

    Attributes
    ----------
    seconds
        Time limit since the start, or None.
    target
        A value, in scaled integers, that is good enough, or None.
    good_enough
        Returns the largest value that is near enough to a lower bound, both in scaled integers, or None.
    lower
        The greatest lower bound so far.
    ended
        Why the proof ends early, in words, or "".
    complete
        False once an interruption has ended the proof.
    """

    comm: Comm
    checkpoints: Checkpoints = NONE
    seconds: float | None = None
    target: int | None = None
    good_enough: Callable[[int], int] | None = None
    lower: int = -LARGEST_SUM
    ended: str = ""
    complete: bool = True
    started: float = field(default_factory=time.perf_counter)

    def left(self) -> float | None:
        """Return the seconds that are left, a little more than 0 at least, or None without a time limit."""
        return None if self.seconds is None else max(1e-3, self.seconds - (time.perf_counter() - self.started))

    def goes_on(self, upper: int | None, state: Callable[[], State], nbytes: Callable[[], int]) -> bool:
        """Save a checkpoint if one is due, and return whether the proof goes on. Collective.

        Parameters
        ----------
        upper
            The value of the best order so far, or None.
        state, nbytes
            What a checkpoint keeps, and about how many bytes that are of this rank.
        """
        if self.ended:
            return False
        wish = agreed(self.comm.allgather(self.checkpoints.wish(nbytes())))
        if wish == Wish.SAVE:
            self.checkpoints.save(state(), last=False)
        if wish == Wish.STOP:
            self._interrupted(state())
        self.ended = self.ended or self.comm.bcast(self._criterion(upper))
        return not self.ended

    def goes_on_inside(self, upper: int | None, before: State | None) -> bool:
        """Return whether the proof goes on inside a piece of work, of which no state can be saved. Collective.

        A run that is interrupted here saves the state before the piece, and does the piece again.

        Parameters
        ----------
        before
            What a checkpoint keeps: the state before this piece. Without one an interruption ends a run that has an
            order, and no checkpoint is written.
        """
        if self.ended:
            return False
        wish = agreed(self.comm.allgather(self.checkpoints.wish()))
        if wish == Wish.STOP and before is not None:
            self._interrupted(before)
        elif wish == Wish.STOP and upper is not None:
            self.ended, self.complete = "interrupted in the first bounds", False
        self.ended = self.ended or self.comm.bcast(self._criterion(upper))
        return not self.ended

    def _interrupted(self, state: State) -> None:
        self.checkpoints.save(state, last=True)
        self.ended, self.complete = f"interrupted {state.words}", False

    def _criterion(self, upper: int | None) -> str:
        """Return which criterion of `[stop]` is met, in words."""
        if self.seconds is not None and time.perf_counter() - self.started >= self.seconds:
            return f"[stop] seconds = {self.seconds:g}"
        if self.target is not None and upper is not None and upper <= self.target:
            return "[stop] target is reached"
        if self.good_enough is not None and upper is not None and upper <= self.good_enough(self.lower):
            return "[stop] gap is reached"
        return ""


@dataclass
class WatchInside(Watch):
    """Watches a proof whose lower bound also bounds the value of another proof.

    It ends when the other proof does, or once an order shows that its bound cannot exceed `least`. It keeps no state.

    Attributes
    ----------
    outer
        The watch of the other proof.
    value, least, before
        The value of the other proof's best order so far, or None, its lower bound, and its state before this proof.
    """

    outer: Watch = field(kw_only=True)
    value: int | None = field(kw_only=True)
    least: int = field(kw_only=True)
    before: State = field(kw_only=True)

    def goes_on(self, upper: int | None, state: Callable[[], State], nbytes: Callable[[], int]) -> bool:
        """Return whether the proof goes on. Collective."""
        return self.goes_on_inside(upper, None)

    def goes_on_inside(self, upper: int | None, before: State | None) -> bool:
        """Return whether the proof goes on. Collective."""
        going = self.outer.goes_on_inside(self.value, self.before)
        useless = upper is not None and upper <= self.least
        self.ended = self.outer.ended or ("of no use" if useless else "")
        return going and not useless

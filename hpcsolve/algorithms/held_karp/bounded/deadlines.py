"""The earliest end of a tour with time windows, found by trying deadlines.

A deadline makes all windows narrower (windows.py), so that few orders are left that could keep to it. The proof tries
later and later deadlines, from the lower bound on, until an order is found; the states that remain contain the best
order. Where a search at the present width drops states, the next one looks for an order that ends before the best one
so far. Then the width grows.

The bounds are those of sums (bounds.cu), backwards in time: bound(place, city, memory) is how long before the deadline
the traveller must have begun service there, since a relaxed order that forgets cities returns too late otherwise. Where
travel times depend on the departure, a leg at a place takes the least time of the departures that are possible there.
States have their true times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report, silent
from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.hours import Times
from hpcsolve.algorithms.held_karp.bounded.in_time import InTime
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Scratch
from hpcsolve.algorithms.held_karp.bounded.prove import LEVEL, TIMED_LEVELS, Proof, Prover, Watch, WatchInside
from hpcsolve.algorithms.held_karp.bounded.relaxation import (
    MOST_BOUNDS,
    NO_PATH,
    BoundTables,
    Completion,
    Deal,
    colours,
    make_slots,
    wishes_for,
)
from hpcsolve.algorithms.held_karp.bounded.search import Budget, Searched, Tracer, layer_parts, saved_layers, search
from hpcsolve.algorithms.held_karp.bounded.tighten import Incumbent
from hpcsolve.algorithms.held_karp.bounded.windows import (
    NEVER,
    TimedOrders,
    due_times,
    earliest_by_place,
    least_by_place,
    shortest_times,
    tightened,
)
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import NO_ARC

MOST_SLOTS = 10
FIRST_WIDTH = 500
"""Width of the first searches."""
WIDER = 8
"""Factor from the width of one search to that of the next."""
MOST_STEPS = 64
"""About the most steps from the lower bound to the best end, if these are far apart."""
SUM_WIDTH = FIRST_WIDTH * WIDER
"""Width of the searches after which the least sum of times is tried as a bound."""
SUM_LEVELS = TIMED_LEVELS[:3]
"""Levels of the bounds of the least sum of times."""
CHOOSING_STATES = 400_000
"""About the most states of the search for the first order by the tie rule, of those that end at the proven time.

Where the last window to open decides that time, nearly all orders end then, and no memory holds their states.
"""


def slots_for(cities: int) -> int:
    """Return the number of slots of so many cities."""
    return next(count for count in range(MOST_SLOTS, 0, -1) if cities * (cities + 1) << count <= MOST_BOUNDS)


class DeadlineBounds(BoundTables):
    """How long before the deadline service must begin, so that a relaxed order still returns by then."""

    sooner_first = True
    """By the bounds all states of a search can keep to its deadline. The earliest have most room for detours."""

    def __init__(self, problem: TimedOrders, shortest: Times, devices: Devices, deal: Deal) -> None:
        super().__init__(problem, devices, deal)
        self.timed, self.shortest = problem, shortest
        self.range_step = problem.cities
        self.cost_step = 0 if problem.hours is None else problem.cities**2

    def arcs_of_a_place(self) -> int:
        """Return the arcs between cities."""
        return int((self.timed.time[:-1, :-1] != NO_ARC).sum())

    def own_tables(self, device: Device) -> dict[str, Buffer]:
        """Return times as costs, and the windows at each place as ranges."""
        m, timed = self.cities, self.timed
        reached, deadline = earliest_by_place(timed), timed.deadline
        time = np.where(timed.time == NO_ARC, NO_PATH, timed.time).astype(np.uint32)
        never = reached >= NEVER
        least = np.where(never, NO_PATH, deadline - np.minimum(timed.latest[:m], deadline))
        legs = timed.time[:m, :m] if timed.hours is None else least_by_place(timed, reached)
        tables: dict[str, NDArray[np.integer]] = {
            "cost": np.where(legs == NO_ARC, NO_PATH, legs), "first": time[m, :m], "last": time[:m, m],
            "earliest": timed.earliest[:m], "least": least, "most": np.where(never, 0, deadline - reached),
        }
        return {name: device.upload(np.ascontiguousarray(table, np.uint32)) for name, table in tables.items()}

    def first_costs(self) -> Buffer:
        """Return the times from the depot."""
        return self.buffers["first"]

    def completion(self) -> Completion:
        """Return the function of when an order ends, as `Completing` has it."""
        schedule, depot = self.timed.schedule, self.cities

        def ended(value: int, path: Sequence[int]) -> int:
            begins = schedule([*path, depot], value)
            return NO_PATH if begins is None else begins[-1]

        return ended

    def earliest(self) -> Buffer:
        """Return when the windows begin."""
        return self.buffers["earliest"]

    def layer_tables(self) -> dict[str, NDArray[Any]]:
        """Return the travel times by departure as the kernels of layers have them, none where there are none."""
        return {} if self.timed.hours is None else self.timed.hours.layer_tables()

    def tables_of(self, place: int, bounds_place: int) -> dict[str, Argument]:
        """Return the costs of a place, the bounds of one, and the number of tables of travel times."""
        hours = self.timed.hours
        return {**super().tables_of(place, bounds_place), "hours": 0 if hours is None else len(hours.departures)}

    def due_times(self) -> NDArray[np.int64]:
        """Return by when service must begin at each city, as `Bounds` has it."""
        return due_times(self.timed.latest[:-1], self.shortest)

    def solve(self) -> bool:
        """Compute the bounds. Return whether a relaxed order returns by the deadline. Collective."""
        self.from_the_end(self.buffers["last"], 1)
        return bool((self.first_values(self.timed.deadline) < 2**32 - 1).any())


@dataclass
class DeadlineProver:
    """The proof of the earliest end of one problem.

    Attributes
    ----------
    note, report, watch
        As `Prover` has them.
    words
        Words of a key, by default as few as the cities need.
    width
        Of the present searches.
    step
        How far the next deadline is above the lower bound. None: it is just below the best end so far.
    best
        The best order with its end (without an order a time after every possible end), and the proven lower bound.
    when
        Returns a time in words, perhaps as a time of day.
    last, searched, states
        The last search, its deadline and width, and the states of all searches.
    """

    problem: TimedOrders
    device: Device
    comm: Comm
    budget: Budget
    note: Callable[[str], None] = lambda line: None
    report: Report = silent
    watch: Watch | None = None
    words: int | None = None
    when: Callable[[int], str] = str
    width: int = FIRST_WIDTH
    step: int | None = 0
    states: int = 0
    last: Searched = field(default_factory=Searched)
    searched: tuple[int, int] = (0, 0)
    best: Incumbent = field(init=False)
    shortest: Times = field(init=False)
    devices: Devices = field(init=False)
    scratch: Scratch = field(init=False)
    deal: Deal = field(init=False)
    _watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        """Begin without an order, and with the lower bound of each city's earliest visit and the return."""
        self.devices, self.scratch = Devices(self.device), Scratch(self.device)
        self.deal = Deal(self.comm, self.problem.cities, max(self.comm.allgather(self.device.info.units)))
        self._watch = self.watch or Watch(self.comm)
        self.shortest = shortest_times(self.problem)
        earliest = np.maximum(self.problem.earliest[:-1], self.shortest[-1, :-1])
        none = self.problem.horizon() + 1
        lower = max(int(self.problem.earliest[-1]), int((earliest + self.shortest[:-1, -1]).max()))
        self.best = Incumbent(none, None, min(none, lower))

    @property
    def state_bytes(self) -> int:
        """This rank's bytes of the last search's states, and of the memory in which layers were computed."""
        return sum(layer.nbytes for layer in self.last.layers) + self.scratch.nbytes

    def run(self) -> Proof:
        """Return what is proven. Collective."""
        saved, proof = self._watch.checkpoints.saved, None
        try:
            if saved is not None:
                self._restore(saved)
            while proof is None:
                proof, saved = self._next(saved), None
            return proof
        finally:
            self.scratch.close()
            self.devices.close()

    def _next(self, saved: Saved | None) -> Proof | None:
        """Ask for orders by the next deadline. Return a proof, or choose the deadline after that and return None."""
        before = self.best.upper
        if self.best.lower >= before:
            return self._chosen(saved) if self.best.order is not None else self._no_order()
        deadline = before - 1 if self.step is None else min(before - 1, self.best.lower + self.step)
        whole = self._search_by(deadline, self.width, saved)
        if self._watch.ended:
            return self._ended_early()
        if whole and self.best.upper <= deadline:
            return self._proven()
        if self.best.lower >= self.best.upper:
            return None
        better = self.best.upper < before
        if whole:
            self.best.raise_lower(deadline + 1)
            self.step = None if self.step is None else max(1, 2 * self.step, (before - deadline) // MOST_STEPS)
        elif (deadline < before - 1 and not better) or (better and not self.last.is_limited_by(self.width)):
            self.step = None
        elif self.last.is_limited_by(self.width):
            if self.width == SUM_WIDTH and self.problem.hours is None:
                self._raise_by_sum()
                if self._watch.ended:
                    return self._ended_early()
            self.width, self.step = self.width * WIDER, 0
        else:
            return self._ended_early(capped=True)
        return None

    def _chosen(self, saved: Saved | None) -> Proof:
        """Return the proof of the best order's end, with the answer by the tie rule if its search drops no state.

        That search ends with the first layer that drops one.
        """
        width = max(self.width, CHOOSING_STATES // self.problem.cities)
        if not self.last.complete and self.searched[0] == self.best.upper and self.searched[1] >= width:
            return self._ended_early()  # the same search would drop states again
        whole = self._search_by(self.best.upper, width, saved, narrow=False)
        return self._proven() if whole and not self._watch.ended else self._ended_early()

    def _search_by(self, deadline: int, width: int, saved: Saved | None, narrow: bool = True) -> bool:
        """Search for orders that return by a deadline. Return whether no state of such an order was dropped.

        With `narrow=False` the search ends after the first layer that drops a state.
        """
        self.last, self.searched = Searched(), (deadline, width)  # frees the states of the search before
        problem = tightened(self.problem, deadline, self.shortest)
        if problem is None:
            return True
        relaxation = DeadlineBounds(problem, self.shortest, self.devices, self.deal)
        try:
            relaxation.remember(make_slots(problem, *self._memories(problem)))
            if not relaxation.solve():
                return True
            begun = None
            if saved is not None and saved.integer("layers", most=problem.cities):
                saved.require(saved.integer("deadline") == deadline, "the deadline of its layers")
                expander = Expander(relaxation, deadline, self.comm, self.scratch, self.words)
                begun = saved_layers(saved, expander)
                expander.close()

            def reached(found: Searched) -> bool:
                self.report(len(found.layers) / problem.cities, f"{found.kept[-1]} states by {self.when(deadline)}")
                return self._goes_on(deadline, found) and (narrow or found.complete)

            self.last = search(relaxation, deadline, width, self.budget, self.comm, self.scratch, reached, begun,
                               self.words)
            self.states += self.last.states
            if self.last.has_orders(problem.cities):
                self._offer(Tracer(self.last.layers, relaxation, self.comm), deadline)
        finally:
            relaxation.close()
        whole = self.last.complete
        kept = "ended early" if self._watch.ended else "all" if whole else f"the best {width} a layer"
        between = f"{self.when(self.best.lower)} to {self.when(self.best.upper)}"
        self.note(f"by {self.when(deadline)}: {kept}, {self.last.states} states; {between}")
        return whole

    def _raise_by_sum(self) -> None:
        """Raise the lower bound by that of the least sum of times, whose order is taken if it ends sooner. Collective.
        """
        self.last = Searched()  # frees the states of the search before
        watch = WatchInside(self.comm, outer=self._watch, value=self.best.value, least=self.best.lower,
                            before=self._state(0, self.last))
        budget = Budget(min(CHOOSING_STATES, self.budget.states), self.budget.candidates)
        proof = Prover(self.problem, self.device, self.comm, budget, levels=SUM_LEVELS, watch=watch,
                       words=self.words).run()
        self.states += proof.states
        self.best.raise_lower(proof.lower)
        end = None if proof.order is None else self.problem.finish(proof.order)
        if end is not None and end < self.best.upper:
            self.best.upper, self.best.order = end, proof.order
        self.note(f"least sum of times: {proof.lower}{' or more' if not proof.optimal else ''}; "
                  f"{self.best.lower} to {self.best.upper}")

    def _memories(self, problem: TimedOrders) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return wishes, colours and the number of slots. A city remembers near cities whose order with it is open."""
        m, count = problem.cities, slots_for(problem.cities)
        wishes = wishes_for(self.shortest[:m, :m] + self.shortest[:m, :m].T)
        wishes[problem.before | problem.before.T] = 0
        return wishes, colours(wishes, count, None), count

    def _offer(self, tracer: Tracer, deadline: int) -> None:
        """Offer the best order of a search."""
        least = tracer.least()
        if least > deadline:
            return
        order = tracer.order()
        if self.problem.finish(order) != least:
            raise AssertionError(f"the order ends at {self.problem.finish(order)}, its state at {least}")
        if least <= self.best.upper:  # of an equal end too, since the last search chooses by the tie rule
            self.best.upper, self.best.order = least, order

    def _goes_on(self, deadline: int, found: Searched) -> bool:
        self._watch.lower = self.best.lower
        nbytes = sum(layer.nbytes for layer in found.layers)
        return self._watch.goes_on(self.best.value, lambda: self._state(deadline, found), lambda: nbytes)

    def _proven(self) -> Proof:
        """Return the proof with the answer by the tie rule, the order of a search that has dropped no state."""
        self.best.raise_lower(self.best.upper)
        return Proof(self.best.upper, self.best.order, self.best.upper, True, self.last, self.states)

    def _no_order(self) -> Proof:
        return Proof(None, None, self.best.lower, True, self.last, self.states)

    def _ended_early(self, capped: bool = False) -> Proof:
        """Return what is proven where the answer by the tie rule is not.

        If the memory was too small for any order, the order is the one of `InTime.from_nothing`, if that finds one.
        """
        best = self.best
        if capped and best.order is None and (found := InTime(self.problem).from_nothing()) is not None:
            end = self.problem.finish(found[1])
            assert end is not None
            best.upper, best.order = end, found[1]
        proven = best.order is not None and best.lower >= best.upper
        return Proof(best.value, best.order, best.lower, proven, self.last, self.states, chosen=False, capped=capped)

    def _state(self, deadline: int, found: Searched) -> State:
        """Return this rank's share of what a proof must know to go on."""
        best = self.best
        numbers = {
            LEVEL: 0, "deadline": deadline, "width": self.width, "step": -1 if self.step is None else self.step,
            "upper": best.upper, "lower": best.lower, "ordered": int(best.order is not None), "states": self.states,
            "layers": len(found.layers), "dropped": found.dropped,
        }
        tables = {"order": best.order or [], "counts": [*found.kept, *found.pruned]}
        few = [part(name, 0, np.array(values, np.int64)) for name, values in tables.items()]
        parts = (few if self.comm.rank == 0 else []) + layer_parts(found)
        words = f"at {len(found.layers)} of {self.problem.cities} cities, by the deadline {self.when(deadline)}"
        between = f"{self.when(best.lower)} to {self.when(best.upper)}"
        return State(numbers, parts, f"{words}, with bounds {between}")

    def _restore(self, saved: Saved) -> None:
        """Bring the proof to where the checkpoint was written. The layers are read by `saved_layers`."""
        m, best = self.problem.cities, self.best
        ordered, step = saved.integer("ordered", most=1), saved.integer("step", least=-1, most=best.upper)
        order = saved.gathered("order", (), np.int64, range(ordered * m, ordered * m + 1), range(m)).tolist()
        self.width, self.states = saved.integer("width", 1), saved.integer("states")
        self.step = None if step < 0 else step
        best.upper = saved.integer("upper", most=best.upper)
        best.lower, best.order = saved.integer("lower", most=best.upper), order if ordered else None
        fits = len(set(order)) == ordered * m
        saved.require(fits and (not ordered or self.problem.finish(order) == best.upper), "its best order")

"""Tours that may leave cities out: the most prize within a budget, or the best tour for each prize that is worth it.

The states are those of a shortest tour, a set of visited cities and the last of them, each with its least value: the
cost so far or, with time windows, the time. Here a tour may end after each of them. The layers are made by `Expander`
(bounded/layers.py), with the shortest way back as the only bound, and kernels of their own
(cuda_src/held_karp/prizes.cu) drop the states that cannot collect enough.

What is enough follows from the best tours so far, the frontier: pairs of prize and end, of which none collects as much
as another one and ends as early. A state stays if it may still reach a *goal*: the prize of a point by its end, or more
prize before the next point's end. So no state is dropped that a tour of the answer needs, and of equally good ones none
that the rule of ties needs. Searches of a few states a layer find a good frontier first.

Equally good are tours of equal prize and equal end. Of these the answer is one with the fewest cities, and among them
the first by `tie`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report, silent
from hpcsolve.algorithms.held_karp.bounded import layers
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Keys, Layer, Scratch, key_words, last_cities
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH, Slots, with_memory
from hpcsolve.algorithms.held_karp.bounded.search import STATE_BYTES, Budget, Tracer, budget_of, smallest
from hpcsolve.algorithms.held_karp.bounded.windows import NEVER, TimedOrders, shortest_times, timed_orders
from hpcsolve.algorithms.held_karp.outcome import layers_table
from hpcsolve.algorithms.held_karp.problem import OrderProblem, order_problem
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.device.select import memory_for_rank
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.memory import available_memory
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, Tsp

FILE = "held_karp/prizes"
FILES = (layers.FILE, FILE)
NARROW = (100, 1000)
"""Widths of the searches before the one that drops no state."""
SHARE = 0.8
"""Share of the free memory that states may take."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Cities with prizes, any of which an order may leave out.

    Attributes
    ----------
    timed
        The cities and the depot, where the latest end is the budget, if there is one. Costs are times, and without
        windows all are open always.
    prizes
        Shape (m,), int64.
    whole
        Whether all prizes count that are worth it, or only the most one.
    nothing
        The end of the order without a city, or None if there is none.
    """

    timed: TimedOrders
    prizes: NDArray[np.int64]
    whole: bool
    nothing: int | None

    @property
    def limit(self) -> int:
        """The latest end of an order."""
        return max(self.timed.horizon(), self.nothing or 0)


def selection(tsp: Tsp, question: TourQuestion, problem: OrderProblem) -> Selection:
    """Return the statement of a question whose `order_problem` is given. Ends are those of tours less its offset."""
    assert question.prizes is not None
    timed, core = timed_orders(problem), problem.core
    if question.budget is not None:
        timed.latest[-1] = min(timed.latest[-1], question.budget - problem.offset)
    nothing = None
    if ends := [*core.before, *core.after]:
        try:
            nothing = question.check(tsp, ends) - problem.offset
        except ValueError:
            nothing = None
    return Selection(timed, question.prizes[list(core.cities)], question.budget is None, nothing)


@dataclass
class Frontier:
    """The best pairs of prize and end so far, both ascending.

    Attributes
    ----------
    whole
        Whether pairs with less than the most prize count.
    """

    whole: bool
    prizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    ends: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def best_ends(self, prizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each prize the earliest end with so much or more, `NEVER` if there is none."""
        return np.append(self.ends, NEVER)[np.searchsorted(self.prizes, prizes)]

    def add(self, prizes: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Take in pairs."""
        prizes, ends = np.append(self.prizes, prizes), np.append(self.ends, ends)
        order = np.lexsort([ends, -prizes])
        prizes, ends = prizes[order], ends[order]
        better = ends < np.append(NEVER, np.minimum.accumulate(ends)[:-1])[: len(ends)]
        kept = np.flatnonzero(better)[::-1][slice(None) if self.whole else slice(-1, None)]
        self.prizes, self.ends = prizes[kept], ends[kept]

    def goals(self, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return ends and prizes, both ascending, of which a state must be able to reach one to be of use."""
        if not len(self.ends):
            return np.array([limit]), np.zeros(1, np.int64)
        later = np.append(self.ends[1:] - 1, limit)
        ends = np.stack([self.ends, later], axis=1).reshape(-1)
        prizes = np.stack([self.prizes, self.prizes + 1], axis=1).reshape(-1)
        if self.whole:
            ends, prizes = np.append(self.ends[0] - 1, ends), np.append(0, prizes)
        return ends, prizes


class WayBack:
    """The shortest way back to the depot as the bound of each state, as layers have `Bounds`."""

    labels, no_arc = False, NO_PATH

    def __init__(self, asked: Selection, device: Device) -> None:
        self.problem, self.device, self.limit = asked.timed, device, asked.limit
        own, m = asked.timed, asked.timed.cities
        self.shortest = shortest_times(own)
        self.latest = np.minimum(own.latest[:m], self.limit - self.shortest[:m, m])
        self.time = np.where(own.time == NO_ARC, NO_PATH, np.minimum(own.time, NO_PATH))
        self.slots: Slots | None = with_memory(own, np.full((m, 1), m, np.uint8))
        bounds = np.repeat(np.clip(self.limit - self.latest, 0, NO_PATH), 2)
        tables = {"cost": self.time[:m, :m], "earliest": own.earliest[:m], "bounds": bounds}
        self.buffers = {name: device.upload(np.ascontiguousarray(table, np.uint32)) for name, table in tables.items()}

    def open_arcs(self) -> NDArray[np.bool_]:
        """Return which arcs there are."""
        return (self.time[:-1, :-1] < NO_PATH)[None]

    def arc_values(self) -> list[NDArray[np.int64]]:
        """Return the times of arcs, the same at each place."""
        m = self.problem.cities
        return list(np.broadcast_to(self.time[:m, :m], (m + 1, m, m)))

    def ended(self, values: NDArray[Any], last: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return when the orders end that have these last states, and by when these must have been reached for that."""
        back = self.time[:-1, -1][last]
        ends = np.maximum(values + back, self.problem.earliest[-1])
        return ends, self.within(ends - back, last)

    def within(self, needed: NDArray[np.int64], city: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the times needed, none later than the end of the city's window."""
        return np.minimum(needed, self.problem.latest[city])

    def first_values(self, limit: int) -> NDArray[np.uint32]:
        """Return the value of the state with each city alone, the largest number where it is too late."""
        there = np.maximum(self.time[-1, :-1], self.problem.earliest[:-1])
        return np.where(there <= self.latest, there, 2**32 - 1).astype(np.uint32)

    def layer_tables(self) -> dict[str, NDArray[np.uint32]]:
        """Return no tables beside those on the device."""
        return {}

    def due_times(self) -> NDArray[np.int64] | None:
        """Return None: no city must be reached."""
        return None

    def tables_of(self, place: int, bounds_place: int) -> dict[str, Argument]:
        """Return times, windows and bounds, the same at each place."""
        return {**self.buffers}

    def close(self) -> None:
        """Free the memory on the device."""
        for buffer in self.buffers.values():
            buffer.free()


class Judge:
    """Says what states have collected, and which of them may still reach a goal."""

    def __init__(self, asked: Selection, bounds: WayBack, words: int) -> None:
        self.asked, self.device, self.words, m = asked, bounds.device, words, asked.timed.cities
        a, b = asked.timed.earliest, np.append(bounds.latest, bounds.limit)
        legs = np.where(bounds.time >= NO_PATH, NEVER, bounds.time)
        legs[:m] = np.where(a[:m, None] + legs[:m] > b, NEVER, np.maximum(legs[:m], a - b[:m, None]))
        detour, ends = (np.minimum(table, NO_PATH) for table in _detours(legs))
        prizes = asked.prizes.tolist()
        order = sorted(range(m), key=lambda q: (-Fraction(prizes[q], max(1, int(detour[q]))) if detour[q] else -NEVER, q))
        until = np.clip(np.minimum(bounds.latest - bounds.shortest[:m, :m], NO_PATH) + 1, 0, NO_PATH)
        tables = {"order": np.array(order, np.int32), "prize": asked.prizes.astype(np.uint64),
                  "detour": detour.astype(np.uint32),
                  "ends": ends.astype(np.uint32), "until": until.astype(np.uint32)}
        self.buffers: dict[str, Buffer] = {name: self.device.upload(table) for name, table in tables.items()}

    def collected(self, layer: Layer) -> NDArray[np.int64]:
        """Return the sum of the prizes of each state's cities."""
        sums = np.empty(len(layer.values), np.uint64)
        self._launch("collected", layer, Frontier(True), collected=sums)
        return sums.astype(np.int64)

    def promises(self, layer: Layer, collected: NDArray[np.int64], frontier: Frontier) -> NDArray[np.uint64]:
        """Return 1 plus the most that each state may have collected at the first goal in its reach, 0 without one."""
        promises = np.empty(len(layer.values), np.uint64)
        self._launch("promise", layer, frontier, promises=promises, collected=collected.astype(np.uint64))
        return promises

    def _launch(self, name: str, layer: Layer, frontier: Frontier, **tables: NDArray[np.uint64]) -> None:
        """Launch a kernel whose result is the first of the tables."""
        ends, prizes = frontier.goals(self.asked.limit)
        device, (result, *_) = self.device, tables
        given = {"goal_end": ends.clip(0).astype(np.uint32), "goal_prize": prizes.astype(np.uint64),
                 "keys": layer.keys.reshape(-1), "values": layer.values}
        own = {key: device.constant(table) for key, table in given.items()}
        others = {key: device.output(table) if key == result else device.constant(table)
                  for key, table in tables.items()}
        count = len(layer.values)
        device.kernel(FILE, f"prizes_{name}_w{self.words}")(
            -(-count // layers.STATES_A_BLOCK), layers.THREADS,
            tables={"cities": self.asked.timed.cities, "goals": len(ends), **self.buffers,
                    "goal_end": own["goal_end"], "goal_prize": own["goal_prize"]},
            states={"count": count, "keys": own["keys"], "values": own["values"]}, **others)
        others[result].download(tables[result])

    def close(self) -> None:
        """Free the memory on the device."""
        for buffer in self.buffers.values():
            buffer.free()


def _detours(legs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two cheapest legs to and from each city together, and the least from it plus the least to the depot.

    A city between others is reached from a city, and left to another one or the depot.
    """
    m = len(legs) - 1
    detour = np.empty(m, np.int64)
    for city in range(m):
        both = legs[:m, city][:, None] + legs[city]
        np.fill_diagonal(both, NEVER)
        both[city], both[:, city] = NEVER, NEVER
        detour[city] = both.min()
    inner = legs[:m].copy()
    np.fill_diagonal(inner, NEVER)
    return detour, inner.min(axis=1) + inner[:, m].min()


@dataclass
class Ends:
    """The states of this rank where orders of a pair of prize and end stop.

    Attributes
    ----------
    place
        Number of their cities.
    needed
        By when each must have been reached.
    """

    place: int
    keys: Keys
    needed: NDArray[np.int64]


@dataclass
class Searched:
    """What a search found.

    Attributes
    ----------
    layers
        This rank's states, that of place k at index k - 1.
    ends
        Pair of prize and end -> the states with the fewest cities that reach it.
    whole
        Whether no state was dropped that may reach a goal.
    kept
        By layer, of all ranks: states that were kept.
    seconds, bytes_sent
        By layer: time, and bytes that this rank has sent.
    """

    layers: list[Layer] = field(default_factory=list)
    ends: dict[tuple[int, int], Ends] = field(default_factory=dict)
    whole: bool = True
    kept: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)


@dataclass
class Chooser:
    """Searches for the frontier of a selection, and for its orders.

    Attributes
    ----------
    words
        Words of a key, by default as few as the cities need.
    states
        The states of all searches.
    """

    asked: Selection
    device: Device
    comm: Comm
    budget: Budget
    report: Report = silent
    words: int | None = None
    narrow: Sequence[int] = NARROW
    states: int = 0
    frontier: Frontier = field(init=False)
    last: Searched = field(default_factory=Searched)

    def __post_init__(self) -> None:
        """Begin with the order without a city."""
        self.frontier = Frontier(self.asked.whole)
        self.words = self.words or key_words(self.asked.timed.cities)
        if self.asked.nothing is not None:
            self.frontier.add(np.zeros(1, np.int64), np.array([self.asked.nothing]))

    def run(self) -> list[tuple[int, int, list[int]]]:
        """Return prize, end and order of each point of the frontier, ascending. Collective.

        Raises
        ------
        ResourceError
            The states do not fit in the memory.
        """
        nothing = list(zip(self.frontier.prizes.tolist(), self.frontier.ends.tolist()))
        if not self.asked.timed.cities:
            return [(prize, end, []) for prize, end in nothing]
        bounds = WayBack(self.asked, self.device)
        judge, scratch = Judge(self.asked, bounds, self.words or 1), Scratch(self.device)
        try:
            for width in (*self.narrow, None):
                self._search(bounds, judge, scratch, width)
                if self.last.whole:
                    break
            tracer = Tracer(self.last.layers, bounds, self.comm)
            pairs = zip(self.frontier.prizes.tolist(), self.frontier.ends.tolist())
            return [(*pair, [] if pair in nothing else self._order(tracer, self.last.ends[pair])) for pair in pairs]
        finally:
            scratch.close()
            judge.close()
            bounds.close()

    def _search(self, bounds: WayBack, judge: Judge, scratch: Scratch, width: int | None) -> None:
        """Search through all layers, in each of them at most `width` states, or all."""
        found, m, limit = Searched(), self.asked.timed.cities, self.asked.limit
        self.last = found  # frees the states of the search before
        expander = Expander(bounds, limit, self.comm, scratch, self.words)
        try:
            layer: Layer | None = expander.first()
            for place in range(1, m + 1):
                started, sent = time.perf_counter(), expander.bytes_sent
                if place > 1:
                    layer = expander.next(found.layers[-1], place - 1, self.budget.candidates)
                if layer is None:
                    raise ResourceError(f"the states of {place} cities do not fit in the memory; a smaller budget, "
                                        "narrower windows or more ranks need less")
                layer = self._kept(found, layer, place, bounds, judge, width)
                count = sum(self.comm.allgather(len(layer.values)))
                found.layers.append(layer)
                found.kept.append(count)
                found.seconds.append(time.perf_counter() - started)
                found.bytes_sent.append(expander.bytes_sent - sent)
                self.states += count
                if sum(found.kept) > self.budget.states:
                    raise ResourceError("the states do not fit in the memory; a smaller budget, narrower windows or "
                                        "more ranks need less")
                self.report(place / m, f"{count} states")
                if not count:
                    break
        finally:
            expander.close()

    def _kept(self, found: Searched, layer: Layer, place: int, bounds: WayBack, judge: Judge, width: int | None
              ) -> Layer:
        """Note the orders that end with a state of a layer, and return the states that may reach a goal."""
        collected = judge.collected(layer)
        self._end(found, layer, place, bounds, collected)
        promises = judge.promises(layer, collected, self.frontier)
        keep = promises > 0
        if width is not None and sum(self.comm.allgather(int(keep.sum()))) > width:
            found.whole = False
            keep[keep] = smallest([~promises[keep], *layer.keys[keep].T[::-1]], width, self.comm)
        begin = np.searchsorted(np.flatnonzero(keep), layer.begin)
        return Layer(layer.keys[keep], layer.values[keep], begin)

    def _end(self, found: Searched, layer: Layer, place: int, bounds: WayBack, collected: NDArray[np.int64]) -> None:
        """Bring the frontier up to date with the orders that end with a state of a layer."""
        ends, needed = bounds.ended(layer.values.astype(np.int64), last_cities(layer.keys))
        good = np.flatnonzero((ends <= self.asked.limit) & (ends <= self.frontier.best_ends(collected)))
        mine = Frontier(self.asked.whole)
        mine.add(collected[good], ends[good])
        for prizes, some in self.comm.allgather((mine.prizes, mine.ends)):
            self.frontier.add(prizes, some)
        known = np.minimum(np.searchsorted(self.frontier.prizes, collected[good]), len(self.frontier.prizes) - 1)
        hit = (self.frontier.prizes[known] == collected[good]) & (self.frontier.ends[known] == ends[good])
        good, known = good[hit], known[hit]
        for point in sorted(set().union(*self.comm.allgather(set(known.tolist())))):
            pair = int(self.frontier.prizes[point]), int(self.frontier.ends[point])
            if pair not in found.ends:
                states = good[known == point]
                found.ends[pair] = Ends(place, layer.keys[states], needed[states])

    def _order(self, tracer: Tracer, ends: Ends) -> list[int]:
        """Return the first order by the tie rule of those that stop at some states. Collective."""
        keys, needed, order = ends.keys, ends.needed, list[int]()
        city = min(self.comm.allgather(int(last_cities(keys).min(initial=self.asked.timed.cities))))
        mine = last_cities(keys) == city
        parts = self.comm.allgather((keys[mine], needed[mine]))
        keys, needed = (np.concatenate(arrays) for arrays in zip(*parts))
        for place in range(ends.place, 0, -1):
            last = last_cities(keys)
            chosen = last == last.min()
            order.insert(0, int(last.min()))
            if place > 1:
                keys, needed = tracer.before(keys[chosen], needed[chosen], place)
        return order


def fits(tsp: Tsp, question: TourQuestion) -> bool:
    """Return whether all values fit 32 bits."""
    try:
        return selection(tsp, question, order_problem(tsp, question)).limit < NO_PATH // 2
    except InputError:
        return False


def plan(tsp: Tsp, question: TourQuestion, ranks: int) -> Plan:
    """Return what a run on so many ranks needs beside its states, whose number cannot be foreseen.

    Raises
    ------
    InputError
        The values do not fit 32 bits.
    """
    if not fits(tsp, question):
        raise InputError('held-karp.objective: "prize" needs costs and times whose sums are below 2^30; scale them down')
    m = order_problem(tsp, question).m
    table = 64 * (m + 1) ** 2 + 4096
    details: dict[str, int | str] = {
        "method": "states that may not reach the frontier are dropped: how many remain cannot be foreseen",
        "states": f"at most {SHARE:.0%} of the free memory of each rank", WITHOUT_WORK: 0,
    }
    return Plan((table,) * ranks, (table,) * ranks, m * m << min(m, 60), "extensions of states at most",
                (0,) * ranks, details, lambda free: tsp.n)


def run(tsp: Tsp, question: TourQuestion, problem: OrderProblem, device: Device, comm: Comm, report: Report) -> Outcome:
    """Return the tour of most prize, or the whole frontier, with a proof. Collective."""
    asked = selection(tsp, question, problem)
    words, free = key_words(problem.m), min(memory_for_rank(device, comm), available_memory() // comm.local_size)
    chooser = Chooser(asked, device, comm, budget_of(int(SHARE * min(comm.allgather(free))), words, comm.size), report)
    points, last = chooser.run(), chooser.last
    tables = {} if not last.layers else {"layers": layers_table(
        comm, last.kept, STATE_BYTES[words], last.seconds, last.bytes_sent,
        cities=np.arange(1, len(last.kept) + 1, dtype=np.int32))}
    rank = {"operations": chooser.states, "bytes_sent": sum(last.bytes_sent),
            "stored_bytes": sum(layer.nbytes for layer in last.layers)}
    if not points:
        return Outcome(NoTour(True), tables, rank)
    tours = [problem.core.tour(order) for _, _, order in points]
    answer = Tour(points[-1][1] + problem.offset, tours[-1], True, prize=question.prize(tours[-1]))
    if asked.whole:
        answer = replace(
            answer, frontier_prizes=np.array([question.prize(tour) for tour in tours], np.int64),
            frontier_costs=np.array([end + problem.offset for _, end, _ in points], np.int64),
            frontier_tours=np.concatenate(tours), frontier_offset=np.cumsum([0, *map(len, tours)], dtype=np.int64))
    return Outcome(answer, tables, rank)

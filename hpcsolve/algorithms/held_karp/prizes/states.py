"""The curve by layers of the states that may still reach a point of it, or a better one.

The layers are made by `Expander` (../bounded/layers.py), with the shortest path to the depot as the only bound. Kernels
of their own (cuda_src/held_karp/prizes.cu) drop the states that cannot collect enough. What is enough follows from the
curve so far: a state stays if it may still reach a *target*, which is the prize of a point by its end, or more prize
before the next point's end. So no state is dropped that a tour of the answer needs, nor one that the rule of ties
needs. Searches of a few states a layer find a good curve first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.held_karp.bounded import layers
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Keys, Layer, Scratch, key_words, last_cities
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH, Slots, with_memory
from hpcsolve.algorithms.held_karp.bounded.search import Budget, keys_before, rows_with, smallest
from hpcsolve.algorithms.held_karp.bounded.windows import NEVER, shortest_times, timed_orders
from hpcsolve.algorithms.held_karp.prizes.curve import Curve, Pair, Selection
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.errors import ResourceError
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import NO_ARC

FILE = "held_karp/prizes"
NARROW = (100, 1000)
"""Widths of the searches before the one that drops no state that may be of use."""


def latest_end(asked: Selection) -> int:
    """Return a time by which every order has ended that has no reason to wait any longer."""
    horizon = timed_orders(asked.problem).horizon()
    return horizon if asked.nothing is None else max(horizon, asked.nothing)


def targets(curve: Curve, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ends and prizes, both ascending, of which a state must be able to reach one to be of use.

    Parameters
    ----------
    limit
        The latest end of an order.
    """
    if not len(curve.ends):
        return np.array([limit]), np.zeros(1, np.int64)
    later = np.append(curve.ends[1:] - 1, limit)
    ends = np.stack([curve.ends, later], axis=1).reshape(-1)
    prizes = np.stack([curve.prizes, curve.prizes + 1], axis=1).reshape(-1)
    if curve.whole:
        ends, prizes = np.append(curve.ends[0] - 1, ends), np.append(0, prizes)
    return ends, prizes


class ToDepot:
    """The shortest path to the depot as the only bound of a state, in the place of `Bounds`."""

    labels = False
    slope = 0
    sooner_first = False

    def __init__(self, asked: Selection, device: Device) -> None:
        self.problem, self.device, self.limit = timed_orders(asked.problem), device, latest_end(asked)
        own, m = self.problem, self.problem.cities
        self.shortest = shortest_times(own)
        self.latest = np.minimum(own.latest[:m], self.limit - self.shortest[:m, m])
        self.time = np.where(own.time == NO_ARC, NO_PATH, np.minimum(own.time, NO_PATH))
        self.slots: Slots | None = with_memory(own, np.full((m, 1), m, np.uint8))
        bounds = np.repeat(np.clip(self.limit - self.latest, 0, NO_PATH), 2)
        tables = {"cost": self.time[:m, :m], "earliest": np.minimum(own.earliest[:m], NO_PATH), "bounds": bounds}
        self.buffers = {name: device.upload(np.ascontiguousarray(table, np.uint32)) for name, table in tables.items()}

    def open_arcs(self) -> NDArray[np.bool_]:
        """Return which arcs there are."""
        return (self.time[:-1, :-1] < NO_PATH)[None]

    def ended(self, values: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return when the orders end that have these last states, and by when these must have been reached for that."""
        back = self.time[:-1, -1][last]
        ends = np.maximum(values + back, self.problem.earliest[-1])
        return ends, np.minimum(ends - back, self.problem.latest[last])

    def first_values(self, limit: int) -> NDArray[np.uint32]:
        """Return the value of the state with each city alone, the largest number where it is too late."""
        there = np.maximum(self.time[-1, :-1], self.problem.earliest[:-1])
        return np.where(there <= self.latest, there, 2**32 - 1).astype(np.uint32)

    def layer_tables(self) -> dict[str, NDArray[Any]]:
        """Return no tables beside those on the device."""
        return {}

    def due_times(self) -> NDArray[np.int64] | None:
        """Return None: no city must be reached."""
        return None

    def tables_of(self, place: int, bounds_place: int) -> dict[str, Argument]:
        """Return times, windows and bounds, the same at each place."""
        return {**self.buffers, "hours": 0, "departures": None, "travel": None, "leave": None}

    def close(self) -> None:
        """Free the memory on the device."""
        for buffer in self.buffers.values():
            buffer.free()


class Judge:
    """Says what states have collected, and which of them may still reach a target."""

    def __init__(self, asked: Selection, bounds: ToDepot, words: int) -> None:
        self.device, self.words, self.limit, m = bounds.device, words, bounds.limit, bounds.problem.cities
        self.cities, a, b = m, bounds.problem.earliest, np.append(bounds.latest, bounds.limit)
        legs = np.where(bounds.time >= NO_PATH, NEVER, bounds.time)
        legs[:m] = np.where(a[:m, None] + legs[:m] > b, NEVER, np.maximum(legs[:m], a - b[:m, None]))
        detour, ends = (np.minimum(table, NO_PATH) for table in _detours(legs))
        prizes = asked.prizes.tolist()
        # A city without a detour is always taken.
        order = sorted(range(m), key=lambda q: (bool(detour[q]), -Fraction(prizes[q], max(1, int(detour[q]))), q))
        until = np.clip(np.minimum(bounds.latest - bounds.shortest[:m, :m], NO_PATH) + 1, 0, NO_PATH)
        tables = {"order": np.array(order, np.int32), "prize": asked.prizes.astype(np.uint64),
                  "detour": detour.astype(np.uint32),
                  "ends": ends.astype(np.uint32), "until": until.astype(np.uint32)}
        self.buffers: dict[str, Buffer] = {name: self.device.upload(table) for name, table in tables.items()}

    def collected(self, expander: Expander, layer: Layer) -> NDArray[np.uint64]:
        """Return the sum of the prizes of each state's cities."""
        return self._judged(expander, layer, "collected", np.zeros(0, np.int64), np.zeros(0, np.int64))

    def promises(self, expander: Expander, layer: Layer, collected: NDArray[np.uint64], curve: Curve
                 ) -> NDArray[np.uint64]:
        """Return 1 plus the most that each state may have collected at the first target in its reach, 0 without one."""
        held = expander.scratch.constant("collected", collected)
        return self._judged(expander, layer, "promises", *targets(curve, self.limit), collected=held)

    def _judged(self, expander: Expander, layer: Layer, name: str, ends: NDArray[np.int64], prizes: NDArray[np.int64],
                **more: Argument) -> NDArray[np.uint64]:
        """Return what the kernel of this name finds of each state."""
        scratch, found = expander.scratch, np.empty(len(layer.values), np.uint64)
        out = scratch.output(name, found)
        tables: dict[str, Argument] = {
            "cities": self.cities, "targets": len(ends), **self.buffers,
            "target_end": scratch.constant("targets' ends", ends.clip(0).astype(np.uint32)),
            "target_prize": scratch.constant("targets' prizes", prizes.astype(np.uint64))}
        kernel = self.device.kernel(FILE, f"prizes_{name}_w{self.words}")
        kernel(-(-len(found) // layers.STATES_A_BLOCK), layers.THREADS, tables=tables, states=expander.states(layer),
               **more, **{name: out})
        return out.download(found)

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
class PrizeSearch:
    """What a search for the curve found.

    Attributes
    ----------
    layers
        This rank's states, that of place k at index k - 1.
    ends
        Pair of prize and end -> the states with the fewest cities where orders with it stop.
    whole
        Whether no state was dropped that may reach a target.
    kept
        By layer, of all ranks: states that were kept.
    seconds, bytes_sent
        By layer: time, and bytes that this rank has sent.
    """

    layers: list[Layer] = field(default_factory=list)
    ends: dict[Pair, Ends] = field(default_factory=dict)
    whole: bool = True
    kept: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)


@dataclass
class ByStates:
    """Finds the curve of a selection, and its orders.

    Attributes
    ----------
    words
        Words of a key, by default as few as the cities need.
    narrow
        As `NARROW`.
    last, states
        The last search, and the states of all searches.
    """

    asked: Selection
    device: Device
    comm: Comm
    budget: Budget
    report: Report
    words: int | None = None
    narrow: Sequence[int] = NARROW
    states: int = 0
    last: PrizeSearch = field(default_factory=PrizeSearch)
    curve: Curve = field(init=False)
    bounds: ToDepot = field(init=False)
    judge: Judge = field(init=False)
    scratch: Scratch = field(init=False)

    def run(self) -> list[tuple[int, int, list[int]]]:
        """Return prize, end and order of each point of the curve, ascending. Collective.

        Raises
        ------
        ResourceError
            The states do not fit in the memory.
        """
        asked, self.curve = self.asked, Curve(self.asked.whole)
        if latest_end(asked) < 0:
            return []
        self.bounds, self.scratch = ToDepot(asked, self.device), Scratch(self.device)
        self.judge = Judge(asked, self.bounds, self.words or key_words(asked.problem.m))
        if asked.nothing is not None:
            self.curve.add(np.zeros(1, np.int64), np.array([asked.nothing]))
        nothing = self.curve.pairs
        try:
            for width in (*self.narrow, None):
                self._search(width)
                if self.last.whole:
                    break
            return [(*pair, [] if pair in nothing else self._order(self.last.ends[pair])) for pair in self.curve.pairs]
        finally:
            self.scratch.close()
            self.judge.close()
            self.bounds.close()

    def _search(self, width: int | None) -> None:
        """Search through all layers, in each of them at most `width` states, or all that may be of use."""
        m = self.bounds.problem.cities
        found = self.last = PrizeSearch()  # frees the states of the search before
        expander = Expander(self.bounds, self.bounds.limit, self.comm, self.scratch, self.words)
        try:
            for place in range(1, m + 1):
                started, sent = time.perf_counter(), expander.bytes_sent
                layer = expander.next(found.layers[-1], place - 1, self.budget.candidates) if found.layers else \
                    expander.first()
                if layer is None or sum(found.kept) > self.budget.states:
                    raise ResourceError(f"the states of {place} stops do not fit in the memory; a smaller budget or "
                                        "narrower windows leave fewer of them, and more ranks share them")
                layer = self._kept(expander, layer, place, width)
                count = sum(self.comm.allgather(len(layer.values)))
                found.layers.append(layer)
                found.kept.append(count)
                found.seconds.append(time.perf_counter() - started)
                found.bytes_sent.append(expander.bytes_sent - sent)
                self.states += count
                self.report(place / m, f"{count} states")
                if not count:
                    break
        finally:
            expander.close()

    def _kept(self, expander: Expander, layer: Layer, place: int, width: int | None) -> Layer:
        """Take in the orders that end with a state of a layer, and return the states that may reach a target."""
        collected = self.judge.collected(expander, layer)
        ends, needed = self.bounds.ended(layer.values.astype(np.int64), last_cities(layer.keys))
        timely = np.flatnonzero(ends <= min(self.bounds.limit, self.bounds.problem.deadline))
        for pair, some in self.curve.add_all(collected[timely].astype(np.int64), ends[timely], self.comm).items():
            states = timely[some]
            self.last.ends.setdefault(pair, Ends(place, layer.keys[states], needed[states]))
        promises = self.judge.promises(expander, layer, collected, self.curve)
        keep = promises > 0
        if width is not None and sum(self.comm.allgather(int(keep.sum()))) > width:
            self.last.whole = False
            keep[keep] = smallest([~promises[keep], *layer.keys[keep].T[::-1]], width, self.comm)
        begin = np.searchsorted(np.flatnonzero(keep), layer.begin)
        return Layer(layer.keys[keep], layer.values[keep], begin)

    def _order(self, ends: Ends) -> list[int]:
        """Return the first order by the tie rule of those that stop at some states. Collective."""
        order = list[int]()
        city = min(self.comm.allgather(int(last_cities(ends.keys).min(initial=self.bounds.problem.cities))))
        mine = last_cities(ends.keys) == city
        parts = self.comm.allgather((ends.keys[mine], ends.needed[mine]))
        keys, needed = (np.concatenate(arrays) for arrays in zip(*parts))
        for place in range(ends.place, 0, -1):
            last = last_cities(keys)
            chosen = last == last.min()
            order.insert(0, int(last.min()))
            if place > 1:
                keys, needed = self._before(keys[chosen], needed[chosen], place)
        return order

    def _before(self, keys: Keys, needed: NDArray[np.int64], place: int) -> tuple[Keys, NDArray[np.int64]]:
        """Return the states of one city less that lead to some in time, and by when they must be reached. Collective.

        Parameters
        ----------
        keys
            Of states with the same last city.
        """
        state, wanted = keys_before(keys, self.bounds.problem.cities)
        last = last_cities(wanted)
        by = np.minimum(needed[state] - self.bounds.time[last, last_cities(keys)[0]], self.bounds.problem.latest[last])
        layer = self.last.layers[place - 2]
        rows, number = rows_with(layer, wanted)
        hits = np.concatenate(self.comm.allgather(number[layer.values[rows] <= by[number]]))
        return wanted[hits], by[hits]

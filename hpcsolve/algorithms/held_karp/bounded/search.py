"""One search through all layers, with all states or with a limited width, and the search back for orders.

An order is found from its last city to its first. With the cities so far as its end, a state of the layer before is on
an order of the least value if its value, followed along this end, gives that value. The ranks look for such states in
the layers that they have kept, and of equal ones take the first by the tie rule.

With windows the values of a sum are labels. Those that are not dominated suffice for the tie rule: if a best order
comes through (set, i) with a label that was dropped, the label that dominates it is not later and not dearer. Followed
along the same end it gives no greater value, so it gives the least one too.

Where legs cost what they take at their departure, a label dominates a later one of its state if it costs less by at
least as much as it is ahead (`slope` for each unit of time). Let both go on by the same order. The sooner one begins
service at each city ahead by some time, never less than 0, since arrivals never fall (FIFO). If it is ahead by a where
a leg begins, and by c where the leg arrives, it drives a - c longer, and after a wait it is ahead by c at most. So
these differences add up to no more than the first a: the sooner one loses no more than what it is ahead, and keeps all
windows that the later one keeps.

Where only half of the orders were searched, because each costs the same backwards, the answer may be the reverse of an
order of that half.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.layers import (
    LAST_SHIFT,
    Expander,
    Keys,
    Layer,
    Scratch,
    are_states,
    hashed,
    last_cities,
    masks_of,
    set_hash,
    visited,
)
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH, Bounds, Completing, Relaxation
from hpcsolve.algorithms.held_karp.problem import tie
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Part, part
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.rounding import LARGEST_SUM

LABEL_CANDIDATE_BYTES = 32
"""What a label takes more than another value, as a candidate."""
CANDIDATE_BYTES = {1: 96, 2: 128, 4: 192}
"""64-bit words of a key -> the most bytes for each candidate while its layer is computed.

They cover the candidate's place in a bucket, half as much spare room, and its part of the hash table; copies of the
merged states and of those received from other ranks; the bounds, and the sorting of states of equal bounds.
"""
FEWEST_CANDIDATES = 1 << 16
"""Candidates that a rank may have however little memory is allowed."""
PIECE = 1 << 20
"""Values that are counted at a time: `np.bincount` copies them to 64 bits."""
FEW_ROWS = 1000
"""Rows of all ranks that are sorted at once."""
MOST_STATES = 5_000_000
"""The most states of orders of least cost that are listed."""


@dataclass(frozen=True)
class Budget:
    """The most that a search may hold in memory.

    Attributes
    ----------
    states
        States of all layers and ranks. A layer has at most an eighth of them, and at most half of what is left.
    candidates
        Candidates of a layer on one rank: its states extended by a city, before equal ones are merged.
    """

    states: int
    candidates: int


def state_bytes(words: int, labels: bool) -> int:
    """Return the bytes of a state: its key of so many words, and its value or label."""
    return 8 * words + (8 if labels else 4)


def budget_of(nbytes: int, words: int, ranks: int, labels: bool = False) -> Budget:
    """Return the budget for so many bytes on each rank, half for states, or labels, and half for candidates."""
    half, state = nbytes // 2, state_bytes(words, labels)
    candidate = CANDIDATE_BYTES[words] + LABEL_CANDIDATE_BYTES * labels
    return Budget(max(8, half // state * ranks), max(FEWEST_CANDIDATES, half // candidate))


@dataclass
class Searched:
    """What a search found.

    Attributes
    ----------
    layers
        This rank's states, that of place k at index k - 1. They end early if the run was told to stop, or no state was
        left.
    dropped
        The least bound, a reduced cost or the time of a visit, of a state that was dropped because a layer was too
        wide; `NO_PATH` if none was.
    kept, pruned
        By layer, of all ranks: states that were kept, and those that were dropped.
    seconds, bytes_sent
        By layer: time, and bytes that this rank has sent.
    """

    layers: list[Layer] = field(default_factory=list)
    dropped: int = NO_PATH
    kept: list[int] = field(default_factory=list)
    pruned: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)

    @property
    def states(self) -> int:
        """Number of states of all layers and ranks."""
        return sum(self.kept)

    @property
    def complete(self) -> bool:
        """Whether no state was dropped."""
        return self.dropped == NO_PATH

    def has_orders(self, cities: int) -> bool:
        """Return whether the layer of all cities has states."""
        return len(self.layers) == cities and self.kept[-1] > 0

    def is_limited_by(self, width: int) -> bool:
        """Return whether a layer lost states for this width, and not for want of memory."""
        return any(dropped and kept >= width for kept, dropped in zip(self.kept, self.pruned, strict=True))


def search(
    relaxation: Bounds, limit: int, width: int, budget: Budget, comm: Comm, scratch: Scratch,
    reached: Callable[[Searched], bool] = lambda searched: True, begun: Searched | None = None,
    words: int | None = None,
) -> Searched:
    """Return the layers with the states whose bound is within a limit, at most `width` in each. Collective.

    Parameters
    ----------
    limit
        Reduced cost.
    reached
        Called after each layer on every rank, alike; the search ends where it returns False.
    begun
        Layers to go on from.
    words
        Words of a key, by default as few as the cities need.
    """
    expander, found = Expander(relaxation, limit, comm, scratch, words), begun or Searched()
    try:
        for place in range(len(found.layers) + 1, relaxation.problem.cities + 1):
            started, sent = time.perf_counter(), expander.bytes_sent
            layer = _extended(expander, found, place, budget)
            most = expander.states_for(budget.candidates)
            most = min(most, width, budget.states // 8, (budget.states - found.states) // 2)
            layer, count, pruned = _narrowed(expander, layer, place, max(1, most), found)
            found.layers.append(layer)
            found.kept.append(count)
            found.pruned.append(pruned)
            found.seconds.append(time.perf_counter() - started)
            found.bytes_sent.append(expander.bytes_sent - sent)
            if not count or not reached(found):
                break
    finally:
        expander.close()
    return found


def layer_parts(found: Searched) -> list[Part]:
    """Return this rank's states as parts of a checkpoint."""
    parts = list[Part]()
    for place, layer in enumerate(found.layers, 1):
        parts += [part(f"keys of {place}", 0, layer.keys), part(f"values of {place}", 0, layer.values)]
    return parts


def saved_layers(saved: Saved, expander: Expander) -> Searched:
    """Return the layers of a checkpoint that this rank owns.

    Raises
    ------
    InputError
        The checkpoint is damaged.
    """
    m, any_number = expander.relaxation.problem.cities, range(LARGEST_SUM + 1)
    found, layers = Searched(dropped=saved.integer("dropped", most=NO_PATH)), saved.integer("layers", most=m)
    counts = saved.gathered("counts", (), np.int64, range(2 * layers, 2 * layers + 1), any_number).tolist()
    found.kept, found.pruned = counts[:layers], counts[layers:]
    for place, count in enumerate(found.kept, 1):
        rows = range(count, count + 1)
        keys = saved.gathered(f"keys of {place}", (expander.words,), np.uint64, rows)
        saved.require(are_states(keys, m, place), f"a state of {place} cities")
        found.layers.append(expander.owned(keys, saved.gathered(f"values of {place}", (), expander.value, rows)))
        found.seconds.append(0.0)
        found.bytes_sent.append(0)
    return found


def _extended(expander: Expander, found: Searched, place: int, budget: Budget) -> Layer:
    """Return the layer of `place` cities. Drops states of the layer before it until the candidates fit. Collective."""
    if not found.layers:
        return expander.first()
    while (layer := expander.next(found.layers[-1], place - 1, budget.candidates)) is None:
        fewer = min(expander.states_for(budget.candidates), found.kept[-1] * 9 // 10)
        found.layers[-1], found.kept[-1], pruned = _narrowed(
            expander, found.layers[-1], place - 1, max(1, fewer), found)
        found.pruned[-1] += pruned
    return layer


def _narrowed(expander: Expander, layer: Layer, place: int, width: int, found: Searched) -> tuple[Layer, int, int]:
    """Return the layer with its first `width` states, how many these are, and how many were dropped.

    First are those of least (bound, key), or of least (value, key) where the sooner states go first.
    """
    comm = expander.comm
    count = sum(comm.allgather(len(layer.values)))
    if count <= width:
        return layer, count, 0
    bounds = layer.values if expander.relaxation.sooner_first else expander.bounds(layer, place)
    keep = smallest([bounds, *layer.keys.T[::-1], *([layer.values] if expander.relaxation.labels else [])], width, comm)
    dropped = min(comm.allgather(int(bounds[~keep].min(initial=NO_PATH))))
    found.dropped = min(found.dropped, dropped)
    begin = np.searchsorted(np.flatnonzero(keep), layer.begin)
    return Layer(layer.keys[keep], layer.values[keep], begin), width, count - width


def smallest(words: Sequence[NDArray[np.unsignedinteger]], room: int, comm: Comm) -> NDArray[np.bool_]:
    """Return which of this rank's rows are among the `room` smallest of all ranks, which have more rows. Collective.

    Parameters
    ----------
    words
        Columns of a table whose rows all differ. The first one is compared first.
    """
    chosen, left = np.zeros(len(words[0]), bool), np.arange(len(words[0]))
    for number, word in enumerate(words):
        values = word[left]
        for shift in range(8 * word.itemsize - 8, -1, -8):
            digits = (values >> word.dtype.type(shift)).astype(np.uint8)
            counts = np.zeros(256, np.int64)
            for first in range(0, len(digits), PIECE):
                counts += np.bincount(digits[first : first + PIECE], minlength=256)
            counts = np.sum(comm.allgather(counts), axis=0)
            up_to = np.cumsum(counts)
            at = int(np.searchsorted(up_to, room, side="right"))  # the digit at position `room` of all ranks' rows
            room -= int(up_to[at] - counts[at])
            chosen[left[digits < at]] = True
            if not room:
                return chosen
            left, values = left[digits == at], values[digits == at]
            if counts[at] <= FEW_ROWS:
                parts = comm.allgather(np.stack([rest[left].astype(np.uint64) for rest in words[number:]]))
                first = sum(part.shape[1] for part in parts[: comm.rank])
                order = np.lexsort(np.concatenate(parts, axis=1)[::-1])[:room] - first
                chosen[left[order[(order >= 0) & (order < len(left))]]] = True
                return chosen
    return chosen


class Tracer:
    """Looks for the order of least value in the layers of all ranks.

    Parameters
    ----------
    layers
        This rank's layers, that of place k at index k - 1.
    relaxation
        The bounds with which the layers were made.
    """

    def __init__(self, layers: list[Layer], relaxation: Completing, comm: Comm) -> None:
        self.layers, self.comm, self.cities = layers, comm, relaxation.problem.cities
        self.completion = relaxation.completion()

    def least(self) -> int:
        """Return the least value of an order, `NO_PATH` or more if there is none. Collective."""
        last = self.layers[-1]
        values = map(self.completion, last.values.tolist(), last_cities(last.keys)[:, None].tolist())
        return min(self.comm.allgather(min(values, default=NO_PATH)))

    def order(self) -> list[int]:
        """Return the order of least value, of equal ones by the tie rule. Collective."""
        least, order, key = self.least(), list[int](), np.zeros(0, np.uint64)
        for place in range(self.cities, 0, -1):
            layer, found = self.layers[place - 1], dict[int, NDArray[np.uint64]]()
            rows = self._rows(layer, key) if order else np.arange(len(layer.values))
            keys = layer.keys[rows]
            for city, value, before in zip(last_cities(keys).tolist(), layer.values[rows].tolist(), keys):
                if city not in found and self.completion(value, [city, *order]) == least:
                    found[city] = before
            found = {city: state for some in self.comm.allgather(found) for city, state in some.items()}
            if not found:
                raise AssertionError(f"no state of {place} cities is on an order of the least value")
            city = min(found, key=lambda city: tie([city, *order]))
            order, key = [city, *order], found[city]
        return order

    def _rows(self, layer: Layer, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the rows of this rank's states in a layer from which the state with this key may come."""
        return rows_with(layer, keys_before(key[None], self.cities)[1])[0]


class BothWaysTracer(Tracer):
    """Looks for orders in the layers of a problem of costs of which half of the orders were searched."""

    def __init__(self, layers: list[Layer], relaxation: Relaxation, comm: Comm) -> None:
        super().__init__(layers, relaxation, comm)
        self.arcs = relaxation.arc_values()

    def order(self) -> list[int]:
        """Return the first order by the tie rule of those of least cost, or of their reverses. Collective.

        Raises
        ------
        TooManyOrders
            Too many states are on such orders.
        """
        return min(super().order(), self._reverse(), key=tie)

    def _reverse(self) -> list[int]:
        """Return the first by the tie rule of the reverses of the orders of least cost. Raises as `order`."""
        least, last = self.least(), self.layers[-1]
        ends = map(self.completion, last.values.tolist(), last_cities(last.keys)[:, None].tolist())
        mine = np.flatnonzero(np.fromiter(ends, np.int64, len(last.values)) == least)
        parts = self.comm.allgather((last.keys[mine], last.values[mine].astype(np.int64)))
        keys, values = (np.concatenate(arrays) for arrays in zip(*parts))
        found, held = [(keys, values)], len(keys)
        for place in range(self.cities, 1, -1):
            keys, values = self._before(keys, values, place)
            held += len(keys)
            if held > MOST_STATES:
                raise TooManyOrders
            found.append((keys, values))
        keys, values = found.pop()
        follow, end = np.arange(len(keys)), list[int]()  # which of them continue the order, and its reverse so far
        while True:
            cities = last_cities(keys)
            at = min(follow.tolist(), key=lambda i: tie([int(cities[i]), *end]))
            end.insert(0, int(cities[at]))
            if not found:
                return end
            members, value = masks_of(visited(keys[at : at + 1], self.cities), keys.shape[1]), values[at]
            keys, values = found.pop()
            last_of = last_cities(keys)
            added = masks_of(np.eye(self.cities, dtype=bool)[last_of], keys.shape[1])
            sets = masks_of(visited(keys, self.cities), keys.shape[1])
            follows = (sets == members | added).all(axis=1) & (sets != members).any(axis=1)
            follow = np.flatnonzero(follows & (values == value + self.arcs[len(end)][end[0], last_of]))

    def _before(self, keys: Keys, values: NDArray[np.int64], place: int) -> tuple[Keys, NDArray[np.int64]]:
        """Return the different states from which some states of a place come at these costs, with their own costs."""
        state, wanted = keys_before(keys, self.cities)
        needed = values[state] - self.arcs[place - 1][last_cities(wanted), last_cities(keys)[state]]
        _, first, number = np.unique(_names(wanted), return_index=True, return_inverse=True)
        layer = self.layers[place - 2]
        rows, which = rows_with(layer, wanted[first])
        known = np.full(len(first), -1)
        known[which] = layer.values[rows]
        hits = np.concatenate(self.comm.allgather(np.flatnonzero(known[number] == needed)))
        if not len(hits):
            raise AssertionError(f"no state comes before the states of {place} cities")
        chosen = hits[np.unique(number[hits], return_index=True)[1]]
        return wanted[chosen], needed[chosen]


class TooManyOrders(Exception):
    """So many states are on orders of the least cost that their reverses are not compared."""


def rows_with(layer: Layer, wanted: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of this rank's states in a layer that have a wanted key, and the number of the key of each.

    All wanted keys differ.
    """
    none = np.zeros(0, np.int64)
    if not len(wanted) or not len(layer.values):
        return none, none
    bucket = (set_hash(wanted) >> np.uint64(64 - layer.bits)).astype(np.int64)
    buckets = np.unique(bucket)
    begin, sizes = layer.begin[buckets], layer.begin[buckets + 1] - layer.begin[buckets]
    rows = np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    names, own = _names(wanted), _names(layer.keys[rows])
    order = np.argsort(names)
    number = order[np.minimum(np.searchsorted(names, own, sorter=order), len(wanted) - 1)]
    hits = np.flatnonzero((wanted[number] == layer.keys[rows]).all(axis=1))
    return rows[hits], number[hits]


def keys_before(keys: Keys, cities: int) -> tuple[NDArray[np.int64], Keys]:
    """Return the keys of states that may come before some states, and the number of the state that each is before."""
    last, words = last_cities(keys), keys.shape[1]
    state, city = np.nonzero(visited(keys, cities))
    other = city != last[state]
    state, city = state[other], city[other]
    wanted, shift = keys[state], np.uint64(LAST_SHIFT[words])
    wanted[np.arange(len(state)), last[state] >> 6] ^= np.uint64(1) << (last[state] & 63).astype(np.uint64)
    wanted[:, -1] ^= (last[state] ^ city).astype(np.uint64) << shift
    return state, wanted


def _names(keys: Keys) -> NDArray[np.uint64]:
    """Return a number for each key that tells it from others: the key itself, or the hash of its words.

    Raises
    ------
    AssertionError
        Two keys have one hash. With 10^6 states that happens once in 10^7 runs.
    """
    if keys.shape[1] == 1:
        return keys[:, 0]
    names = hashed(keys)
    order = np.argsort(names, kind="stable")
    alike = names[order][1:] == names[order][:-1]
    if (keys[order][1:][alike] != keys[order][:-1][alike]).any():
        raise AssertionError("two states have the same hash")
    return names

"""One search through all layers, with all states or with a limited width, and the search back for orders.

A state (set, j) comes from (set without j, i) if that one's value leaves room for the arc from i to j. The ranks look
for these states in the layers that they have kept, and of equal ones take the first by the tie rule. Of costs the room
is just what the value is, since a smaller one would make a better order. Of times it may be less: who waits at j may
come from any order that is in time for the rest.

With windows the values of a sum are labels. The label before must have the cost that is needed, and a time that is
early enough for the rest of the order. Labels that are not dominated suffice: if a best order comes through (set, i),
no beginning to it that is early enough costs less than the order's own. So the label that dominates this one has the
same cost.

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
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH, Bounds
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
        The least bound, in reduced cost, of a state that was dropped because a layer was too wide; `NO_PATH` if none.
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

    def whole(self, cities: int) -> bool:
        """Return whether the last layer has states, so that there are orders."""
        return len(self.layers) == cities and self.kept[-1] > 0

    def is_held_by(self, width: int) -> bool:
        """Return whether a layer lost states for this width, so that a wider search would keep more of them."""
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
    """Return the layer with its `width` states of least (bound, key), how many these are, and how many were dropped."""
    comm = expander.comm
    count = sum(comm.allgather(len(layer.values)))
    if count <= width:
        return layer, count, 0
    bounds = expander.bounds(layer, place)
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
    chosen, left = np.zeros(len(words[0]), bool), np.ones(len(words[0]), bool)
    for word in words:
        for shift in range(8 * word.itemsize - 16, -1, -16):
            digits = (word[left] >> word.dtype.type(shift)).astype(np.uint16)
            counts = np.zeros(1 << 16, np.int64)
            for first in range(0, len(digits), PIECE):
                counts += np.bincount(digits[first : first + PIECE], minlength=1 << 16)
            counts = np.sum(comm.allgather(counts), axis=0)
            up_to = np.cumsum(counts)
            at = int(np.searchsorted(up_to, room, side="right"))  # the digit at position `room` of all ranks' rows
            room -= int(up_to[at] - counts[at])
            chosen[left] = digits < at
            left[left] = digits == at
    return chosen


class Tracer:
    """Looks for predecessors in the layers of all ranks.

    Parameters
    ----------
    layers
        This rank's layers, that of place k at index k - 1.
    relaxation
        The bounds with which the layers were made.
    """

    def __init__(self, layers: list[Layer], relaxation: Bounds, comm: Comm) -> None:
        self.layers, self.relaxation, self.comm = layers, relaxation, comm
        self.cities, self.arcs = relaxation.problem.cities, relaxation.arc_values()

    def ends(self) -> tuple[int, Keys, NDArray[np.int64]]:
        """Return the least value of an order, and of the last states of such orders keys and values needed.

        Collective. The value is `NO_PATH` if there is no order. The time of a label needed is the latest in time.
        """
        last = self.layers[-1]
        total, values = self.relaxation.ended(last.values, last_cities(last.keys))
        least = min(self.comm.allgather(int(total.min(initial=NO_PATH))))
        mine = np.flatnonzero(total == least) if least < NO_PATH else np.zeros(0, np.int64)
        parts = self.comm.allgather((last.keys[mine], values[mine]))
        keys, values = (np.concatenate(arrays) for arrays in zip(*parts))
        return least, keys, values

    def order(self) -> list[int]:
        """Return the order of least cost, of equal ones by the tie rule. Collective."""
        _, keys, values = self.ends()
        order = list[int]()
        for place in range(self.cities, 0, -1):
            cities = last_cities(keys).tolist()
            at = min(range(len(cities)), key=lambda i: tie([cities[i], *order]))
            order.insert(0, cities[at])
            if place > 1:
                keys, values = self._before(keys[at : at + 1], values[at : at + 1], place)
        return order

    def order_or_reverse(self) -> list[int] | None:
        """Return the first order by the tie rule of those of least cost and their reverses. Collective.

        It is None if too many states are on such orders.
        """
        reverse = self._reverse()
        return None if reverse is None else min(self.order(), reverse, key=tie)

    def _reverse(self) -> list[int] | None:
        """Return the first by the tie rule of the reverses of the orders of least cost.

        It is None if too many states are on such orders.
        """
        _, keys, values = self.ends()
        found, held = [(keys, values)], len(keys)
        for place in range(self.cities, 1, -1):
            keys, values = self._before(keys, values, place)
            held += len(keys)
            if held > MOST_STATES:
                return None
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
            last = last_cities(keys)
            added = masks_of(np.eye(self.cities, dtype=bool)[last], keys.shape[1])
            sets = masks_of(visited(keys, self.cities), keys.shape[1])
            follows = (sets == members | added).all(axis=1) & (sets != members).any(axis=1)
            follow = np.flatnonzero(follows & (values == value + self.arcs[len(end)][end[0], last]))

    def _before(self, keys: Keys, values: NDArray[np.int64], place: int) -> tuple[Keys, NDArray[np.int64]]:
        """Return the different states before some states of a place, with the values needed."""
        state, wanted, needed = self._candidates(keys, values, place)
        hits = self._lookup(self.layers[place - 2], wanted, needed)
        states = np.concatenate(self.comm.allgather(hits))
        _, first = np.unique(_names(wanted[states]), return_index=True)
        if len(states) == 0 or len(set(state[states].tolist())) < len(keys):
            raise AssertionError(f"a state of {place} cities has no state before it")
        return wanted[states][first], needed[states][first]

    def _candidates(self, keys: Keys, values: NDArray[np.int64], place: int
                    ) -> tuple[NDArray[np.int64], Keys, NDArray[np.int64]]:
        """Return, for every state and every city that may come before, its index, the key and the value needed."""
        last, words = last_cities(keys), keys.shape[1]
        arcs = self.arcs[place - 1][:, last].T  # (states, cities)
        state, city = np.nonzero(visited(keys, self.cities) & (arcs < self.relaxation.no_arc))
        other = city != last[state]
        state, city = state[other], city[other]
        wanted, shift = keys[state], np.uint64(LAST_SHIFT[words])
        wanted[np.arange(len(state)), last[state] >> 6] ^= np.uint64(1) << (last[state] & 63).astype(np.uint64)
        wanted[:, -1] ^= (last[state] ^ city).astype(np.uint64) << shift
        return state, wanted, self.relaxation.before(values[state], city, last[state], arcs[state, city])

    def _lookup(self, layer: Layer, wanted: Keys, needed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of the wanted states are in this rank's layer with at most the value needed."""
        if not len(wanted) or not len(layer.values):
            return np.zeros(0, np.int64)
        bucket = (set_hash(wanted) >> np.uint64(64 - layer.bits)).astype(np.int64)
        buckets = np.unique(bucket)
        begin, sizes = layer.begin[buckets], layer.begin[buckets + 1] - layer.begin[buckets]
        rows = np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        if not len(rows):
            return np.zeros(0, np.int64)
        keys, values = layer.keys[rows], layer.values[rows].astype(np.int64)
        if self.relaxation.labels:  # those of a state have different costs
            keys, wanted = (np.column_stack([key, (label & 0xFFFFFFFF).astype(np.uint64)])
                            for key, label in ((keys, values), (wanted, needed)))
            values, needed = values >> 32, needed >> 32
        names = _names(keys)
        order = np.argsort(names)
        row = order[np.minimum(np.searchsorted(names, _names(wanted), sorter=order), len(rows) - 1)]
        return np.flatnonzero((keys[row] == wanted).all(axis=1) & (values[row] <= needed))


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

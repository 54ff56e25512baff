"""One search through all layers, with all states or with a limited width."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.keys import Keys
from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Layer, Scratch
from hpcsolve.algorithms.held_karp.bounded.relaxation import INFINITY, Relaxation
from hpcsolve.parallel.comm import Comm

STATE_BYTES = {1: 12, 2: 20}
"""64-bit words of a key -> bytes of a state: its key and its value."""
CANDIDATE_BYTES = {1: 96, 2: 128}
"""64-bit words of a key -> the most bytes for each candidate while its layer is computed.

They cover the candidate's place in a bucket, half as much spare room, and its part of the hash table; copies of the
merged states and of those received from other ranks; the bounds, and the sorting of states of equal bounds.
"""
FEWEST_CANDIDATES = 1 << 16
"""Candidates that a rank may have however little memory is allowed."""
PIECE = 1 << 20
"""Values that are counted at a time: `np.bincount` copies them to 64 bits."""


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


def budget_of(nbytes: int, words: int, ranks: int) -> Budget:
    """Return the budget for so many bytes on each rank, half for states and half for candidates."""
    half = nbytes // 2
    return Budget(max(8, half // STATE_BYTES[words] * ranks), max(FEWEST_CANDIDATES, half // CANDIDATE_BYTES[words]))


@dataclass
class Searched:
    """What a search found.

    Attributes
    ----------
    layers
        This rank's states, that of place k at index k - 1. They end early if the run was told to stop, or no state was
        left.
    dropped
        The least bound, in reduced cost, of a state that was dropped because a layer was too wide; `INFINITY` if none.
    kept, pruned
        By layer, of all ranks: states that were kept, and those that were dropped.
    seconds, bytes_sent
        By layer: time, and bytes that this rank has sent.
    """

    layers: list[Layer] = field(default_factory=list)
    dropped: int = INFINITY
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
    relaxation: Relaxation, limit: int, width: int, budget: Budget, comm: Comm, scratch: Scratch,
    reached: Callable[[Searched], bool] = lambda searched: True, begun: Searched | None = None,
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
    """
    expander, found = Expander(relaxation, limit, comm, scratch), begun or Searched()
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
    threshold, room = _threshold(bounds, width, comm)
    keep = bounds < threshold
    tied = np.flatnonzero(bounds == threshold)
    keep[tied[_smallest(layer.keys[tied], room, comm)]] = True
    dropped = min(comm.allgather(int(bounds[~keep].min(initial=INFINITY))))
    found.dropped = min(found.dropped, dropped)
    begin = np.searchsorted(np.flatnonzero(keep), layer.begin)
    return Layer(layer.keys[keep], layer.values[keep], begin), width, count - width


def _threshold(bounds: NDArray[np.uint32], width: int, comm: Comm) -> tuple[int, int]:
    """Return the bound of the state at position `width` of all ranks' states, and how many with this bound fit."""
    high, room = _digit(_digits(bounds, 16), width, comm)
    low, room = _digit(_digits(bounds[_digits(bounds, 16) == high], 0), room, comm)
    return high << 16 | low, room


def _smallest(keys: Keys, room: int, comm: Comm) -> NDArray[np.int64]:
    """Return which of this rank's keys are among the `room` smallest of all ranks'. There are more, and all differ."""
    chosen, left = [], np.arange(len(keys))
    for word in range(keys.shape[1] - 1, -1, -1):
        for shift in (48, 32, 16, 0):
            digits = _digits(keys[left, word], shift)
            at, room = _digit(digits, room, comm)
            chosen.append(left[digits < at])
            left = left[digits == at]
    return np.concatenate(chosen)


def _digits(values: NDArray[np.unsignedinteger], shift: int) -> NDArray[np.uint16]:
    """Return the 16 bits of each value from bit `shift` on."""
    return (values >> values.dtype.type(shift)).astype(np.uint16)


def _digit(digits: NDArray[np.uint16], room: int, comm: Comm) -> tuple[int, int]:
    """Return the digit of position `room` of all ranks' sorted digits, and how many with this digit come before it."""
    counts = np.zeros(1 << 16, np.int64)
    for first in range(0, len(digits), PIECE):
        counts += np.bincount(digits[first : first + PIECE], minlength=1 << 16)
    counts = np.sum(comm.allgather(counts), axis=0)
    up_to = np.cumsum(counts)
    at = int(np.searchsorted(up_to, room, side="right"))
    return at, room - int(up_to[at] - counts[at])

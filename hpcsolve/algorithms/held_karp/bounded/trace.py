"""From the last layer back to the first: an order of least cost, or all of them as a graph of optimal states.

A state (set, j) comes from (set without j, i) if the values differ by the cost of the arc from i to j. The ranks look
for these states in the layers that they have kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.keys import LAST_SHIFT, Keys, hashed, last_cities, set_hash, visited
from hpcsolve.algorithms.held_karp.bounded.layers import Layer
from hpcsolve.algorithms.held_karp.bounded.relaxation import INFINITY
from hpcsolve.parallel.comm import Comm

MOST_STATES = 5_000_000
"""The most states of a graph of optimal orders."""


@dataclass(frozen=True)
class Optimal:
    """The optimal states of all layers, and the arcs between them.

    Attributes
    ----------
    keys
        For each place 1 to m the keys of the states, at index place - 1.
    arcs
        For each place 2 to m, at index place - 2, an array of shape (2, arcs): indices of the states before and here.
    """

    keys: list[Keys]
    arcs: list[NDArray[np.int64]]


class Tracer:
    """Looks for predecessors in the layers of all ranks.

    Parameters
    ----------
    layers
        This rank's layers, that of place k at index k - 1.
    cost
        Shape (m + 1, m, m), uint32: the reduced costs with which the layers were made.
    """

    def __init__(self, layers: list[Layer], cost: NDArray[np.uint32], comm: Comm) -> None:
        self.layers, self.cost, self.comm, self.cities = layers, cost.astype(np.int64), comm, cost.shape[1]

    def ends(self, single: bool) -> tuple[int, Keys, NDArray[np.int64]]:
        """Return the least reduced cost of an order, and the keys and values of the last states of such orders.

        If `single`, that is the one whose last city is the smallest. The cost is `INFINITY` if there is no order.
        """
        last = self.layers[-1]
        total = last.values + self.cost[self.cities, last_cities(last.keys), 0]
        least = min(self.comm.allgather(int(total.min(initial=INFINITY))))
        mine = np.flatnonzero(total == least) if least < INFINITY else np.zeros(0, np.int64)
        keys, values = self._together(last.keys[mine], last.values[mine].astype(np.int64))
        order = np.argsort(last_cities(keys), kind="stable")[: 1 if single else None]
        return least, keys[order], values[order]

    def order(self) -> list[int]:
        """Return an order of least cost: the one whose last city is the smallest, and so on backwards. Collective."""
        _, keys, values = self.ends(single=True)
        order = []
        for place in range(self.cities, 0, -1):
            order.append(int(last_cities(keys)[0]))
            if place > 1:
                keys, values, _ = self._before(keys, values, place)
                first = last_cities(keys).argmin()
                keys, values = keys[first : first + 1], values[first : first + 1]
        return order[::-1]

    def optimal(self) -> Optimal | None:
        """Return all orders of least cost, or None if they have too many states. Collective."""
        _, keys, values = self.ends(single=False)
        found, arcs, states = [keys], [], len(keys)
        for place in range(self.cities, 1, -1):
            keys, values, pairs = self._before(keys, values, place)
            states += len(keys)
            if states > MOST_STATES:
                return None
            found.append(keys)
            arcs.append(pairs)
        return Optimal(found[::-1], arcs[::-1])

    def _before(self, keys: Keys, values: NDArray[np.int64], place: int
                ) -> tuple[Keys, NDArray[np.int64], NDArray[np.int64]]:
        """Return the different states before some states of a place, with their values, and the arcs between them."""
        state, wanted, needed = self._candidates(keys, values, place)
        hits = self._lookup(self.layers[place - 2], wanted, needed)
        states = np.concatenate(self.comm.allgather(hits))
        _, first, number = np.unique(_names(wanted[states]), return_index=True, return_inverse=True)
        if len(states) == 0 or len(set(state[states].tolist())) < len(keys):
            raise AssertionError(f"a state of {place} cities has no state before it")
        return (wanted[states][first], needed[states][first], np.stack([number.reshape(-1), state[states]]))

    def _candidates(self, keys: Keys, values: NDArray[np.int64], place: int
                    ) -> tuple[NDArray[np.int64], Keys, NDArray[np.int64]]:
        """Return, for every state and every city that may come before, its index, the key and the value needed."""
        last, words = last_cities(keys), keys.shape[1]
        arcs = self.cost[place - 1][:, last].T  # (states, cities)
        state, city = np.nonzero(visited(keys, self.cities) & (arcs < INFINITY))
        other = city != last[state]
        state, city = state[other], city[other]
        wanted, shift = keys[state], np.uint64(LAST_SHIFT[words])
        wanted[np.arange(len(state)), last[state] >> 6] ^= np.uint64(1) << (last[state] & 63).astype(np.uint64)
        wanted[:, -1] ^= (last[state] ^ city).astype(np.uint64) << shift
        return state, wanted, values[state] - arcs[state, city]

    def _lookup(self, layer: Layer, wanted: Keys, needed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of the wanted states are in this rank's layer with the value needed."""
        if not len(wanted) or not len(layer.values):
            return np.zeros(0, np.int64)
        bucket = (set_hash(wanted) >> np.uint64(64 - layer.bits)).astype(np.int64)
        buckets = np.unique(bucket)
        begin, sizes = layer.begin[buckets], layer.begin[buckets + 1] - layer.begin[buckets]
        rows = np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        if not len(rows):
            return np.zeros(0, np.int64)
        names = _names(layer.keys[rows])
        order = np.argsort(names)
        at = np.minimum(np.searchsorted(names, _names(wanted), sorter=order), len(rows) - 1)
        row = rows[order[at]]
        same = (layer.keys[row] == wanted).all(axis=1) & (layer.values[row] == needed)
        return np.flatnonzero(same)

    def _together(self, keys: Keys, values: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
        parts = self.comm.allgather((keys, values))
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _names(keys: Keys) -> NDArray[np.uint64]:
    """Return a number for each key that tells it from others: the key itself, or the hash of its two words.

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

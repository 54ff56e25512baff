"""Recovers the tree of a state, since no state keeps where it came from.

The weight of a state is that of a state of the same set at a neighbour plus the edge from there, or that of two states
of disjoint sets at the same vertex.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.exact.families import Layers
from hpcsolve.algorithms.steiner_kmb.exact.meeting import NOTHING
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.network import edge_numbers, spanning_tree
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices


def recovered(space: Space, layers: Layers, ids: tuple[int, ...]) -> Indices:
    """Return the edges of the tree of a meeting (`Meeting.ids`)."""
    *families, vertex = ids
    waiting = [(family, vertex) for family in families if family != NOTHING]
    edges: list[tuple[int, int]] = []
    while waiting:
        family, v = waiting.pop()
        before = _before(space, layers, family, v)
        edges.extend((v, u) for _, u in before if u != v)
        waiting.extend(before)
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return spanning_tree(space.net, np.unique(edge_numbers(space.net, ends[:, 0], ends[:, 1])))


def _before(space: Space, layers: Layers, family: int, v: int) -> list[tuple[int, int]]:
    """Return the states (family, vertex) that a state follows from: one, two, or none at a terminal.

    Raises
    ------
    AssertionError
        There is none: the weights of the states contradict each other.
    """
    net, weight = space.net, _weight(layers, family, v)
    assert weight is not None
    if not weight:
        return []
    for arc in range(int(net.offsets[v]), int(net.offsets[v + 1])):
        before = _weight(layers, family, int(net.heads[arc]))
        if before is not None and before + int(net.weights[arc]) == weight:
            return [(family, int(net.heads[arc]))]
    sets = layers.families.sets
    for first in np.flatnonzero(_within(sets, sets[family])).tolist():
        second = _family(layers, sets[family] & ~sets[first])
        if second is not None and second != family:
            one, other = _weight(layers, first, v), _weight(layers, second, v)
            if one is not None and other is not None and one + other == weight:
                return [(first, v), (second, v)]
    raise AssertionError("a state of the subset program follows from no other one: the families are inconsistent")


def _within(sets: NDArray[np.uint64], whole: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which sets are proper subsets of `whole`."""
    found: NDArray[np.bool_] = ~(sets & ~whole).any(axis=1) & (sets != whole).any(axis=1)
    return found


def _family(layers: Layers, wanted: NDArray[np.uint64]) -> int | None:
    """Return the number of the family with this set, or None."""
    found = np.flatnonzero((layers.families.sets == wanted).all(axis=1))
    return int(found[0]) if len(found) else None


def _weight(layers: Layers, family: int, v: int) -> int | None:
    """Return the weight of a state, or None if it is not kept."""
    own = layers.families
    begin, end = int(own.begin[family]), int(own.begin[family + 1])
    place = begin + int(np.searchsorted(own.vertices[begin:end], v))
    return int(own.weights[place]) if place < end and own.vertices[place] == v else None

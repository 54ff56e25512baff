"""Finds the tree of a state again, since no state keeps where it came from.

A state's weight is that of a state of the same set at a neighbour, and the edge from there; or the sum of two states of
disjoint sets at the vertex.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.exact.families import Layers
from hpcsolve.algorithms.steiner_kmb.exact.meeting import NOTHING
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.network import edge_numbers, spanning_tree
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices


def recovered(space: Space, layers: Layers, who: tuple[int, ...]) -> Indices:
    """Return the edges of the tree where these families meet (`Meeting.who`)."""
    *parts, vertex = who
    waiting, edges = [(part, vertex) for part in parts if part != NOTHING], []
    while waiting:
        family, v = waiting.pop()
        step = _step(space, layers, family, v)
        if len(step) == 1:
            waiting.append((family, step[0]))
            edges.append((v, step[0]))
        waiting.extend((part, v) for part in step if len(step) == 2)
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return spanning_tree(space.net, np.unique(edge_numbers(space.net, ends[:, 0], ends[:, 1])))


def _step(space: Space, layers: Layers, family: int, v: int) -> tuple[int, ...]:
    """Return the neighbour that a state comes from, or the two families that meet there, or nothing at a terminal.

    Raises
    ------
    AssertionError
        There is none: the weights of the states contradict each other.
    """
    net, weight = space.net, _weight(layers, family, v)
    assert weight is not None
    if not weight:
        return ()
    for arc in range(int(net.offsets[v]), int(net.offsets[v + 1])):
        before = _weight(layers, family, int(net.heads[arc]))
        if before is not None and before + int(net.weights[arc]) == weight:
            return (int(net.heads[arc]),)
    sets = layers.all.sets
    for first in np.flatnonzero(_within(sets, sets[family])).tolist():
        second = _family(layers, sets[family] & ~sets[first])
        if second is not None and second != family:
            one, other = _weight(layers, first, v), _weight(layers, second, v)
            if one is not None and other is not None and one + other == weight:
                return (first, second)
    raise AssertionError("a state of the subset program follows from no other one: the families are inconsistent")


def _within(sets: NDArray[np.uint64], whole: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which sets are in another one, but not the whole of it."""
    found: NDArray[np.bool_] = ~(sets & ~whole).any(axis=1) & (sets != whole).any(axis=1)
    return found


def _family(layers: Layers, wanted: NDArray[np.uint64]) -> int | None:
    """Return the number of the family with this set, or None."""
    found = np.flatnonzero((layers.all.sets == wanted).all(axis=1))
    return int(found[0]) if len(found) else None


def _weight(layers: Layers, family: int, v: int) -> int | None:
    """Return the weight of a state, or None if it is not kept."""
    own = layers.all
    begin, end = int(own.begin[family]), int(own.begin[family + 1])
    place = begin + int(np.searchsorted(own.vertices[begin:end], v))
    return int(own.weights[place]) if place < end and own.vertices[place] == v else None

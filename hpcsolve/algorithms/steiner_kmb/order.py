"""The order of nodes in which those that follow each other are near each other: who is searched from together."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.shortest_paths.tile import GROUP
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree


def walk(net: Network, near: ClosureTree) -> Indices:
    """The terminals' numbers as a walk through their spanning tree comes to them."""
    first, second = (np.searchsorted(net.terminals, end) for end in (near.first, near.second))
    return depth_first(len(net.terminals), first, second)


def depth_first(count: int, first: Indices, second: Indices) -> Indices:
    """The order in which a walk comes to the nodes of a tree, from number 0, depth first, short edges first.

    Parameters
    ----------
    first, second
        The ends of the tree's edges, the shortest first.
    """
    branches: list[list[int]] = [[] for _ in range(count)]
    for tail, head in zip(first[::-1].tolist(), second[::-1].tolist()):  # the longest edge first: it is taken last
        branches[tail].append(head)
        branches[head].append(tail)
    order, seen, waiting = [], bytearray(count), [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        seen[node] = 1
        waiting.extend(other for other in branches[node] if not seen[other])
    return np.array(order)


def shares_of_walk(terminals: int, ranks: int) -> list[Indices]:
    """The places in the walk that each rank searches from: groups of the tile engine, in turn, since they differ."""
    group = max(1, min(GROUP, -(-terminals // ranks)))
    owner = np.arange(terminals) // group % ranks
    return [np.flatnonzero(owner == rank) for rank in range(ranks)]

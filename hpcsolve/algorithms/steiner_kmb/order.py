"""The order in which terminals are searched from. Those near each other in their spanning tree stand together."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.shortest_paths.engines.rows import TILE_SOURCES
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree


def walk(net: Network, closure_tree: ClosureTree) -> Indices:
    """Return the terminals' numbers in the depth-first order of their spanning tree."""
    first, second = (np.searchsorted(net.terminals, end) for end in (closure_tree.first, closure_tree.second))
    return depth_first(len(net.terminals), first, second)


def depth_first(count: int, first: Indices, second: Indices) -> Indices:
    """Return the nodes of a tree in depth-first order, from number 0, short edges first.

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
    """Return each rank's places in the walk: whole groups of the engine "tile", dealt in turn for even loads."""
    group = max(1, min(TILE_SOURCES, -(-terminals // ranks)))
    owner = np.arange(terminals) // group % ranks
    return [np.flatnonzero(owner == rank) for rank in range(ranks)]

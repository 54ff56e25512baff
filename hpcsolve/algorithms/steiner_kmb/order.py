"""The order of the terminals in which those that follow each other are near each other: who is searched from together.
"""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.algorithms.steiner_kmb.trees import Closure


def walk(net: Network, near: Closure) -> Indices:
    """The terminals' numbers as a walk through their spanning tree, depth first, short edges first, comes to them."""
    branches: list[list[int]] = [[] for _ in net.terminals]
    ends = (np.searchsorted(net.terminals, end)[::-1].tolist() for end in (near.first, near.second))
    for tail, head in zip(*ends):  # the longest edge first: it is taken last
        branches[tail].append(head)
        branches[head].append(tail)
    order, seen, waiting = [], bytearray(len(branches)), [0]
    while waiting:
        terminal = waiting.pop()
        order.append(terminal)
        seen[terminal] = 1
        waiting.extend(other for other in branches[terminal] if not seen[other])
    return np.array(order)

"""Local search by key-vertex elimination, after key-path exchange. A pass makes moves that share no vertex.

See cuda_src/host/tree_moves.cpp.
"""

from __future__ import annotations

from collections.abc import Callable

from hpcsolve.algorithms.steiner_kmb.key_path import Move, after, exchanged, found_moves, never, untouched
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.algorithms.steiner_kmb.trees import improved

BUDGET = 1 << 22
"""The most arcs and vertices that a pass may look at. In a graph where it would look at more, it does nothing: little
would be gained for the time."""


def locally_best(net: Network, tree: Indices, is_over: Callable[[], bool] = never) -> Indices:
    """Return the tree after key-path exchange and key-vertex elimination, until neither makes it lighter."""
    while True:
        tree = exchanged(net, tree, is_over)
        if not len(tree) or is_over():
            return tree
        candidate = after(net, tree, untouched(net, eliminations(net, tree)))
        if candidate is None:
            return tree
        tree = improved(net, candidate)


def eliminations(net: Network, tree: Indices) -> list[Move]:
    """Return the best move of each key vertex that has one, the greatest gain first."""
    return found_moves(net, tree, "vertices", 4 * net.n, budget=BUDGET)

"""Local search: key-path exchange, and key-vertex elimination after it. A pass makes all moves that share no vertex.

See cuda_src/host/tree_moves.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Network, edge_numbers, improved, spanning_tree, vertices_of
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices

MOVES_FILE = "host/tree_moves"
BUDGET = 1 << 22
"""The most arcs and vertices that a pass may look at. In a graph where it would look at more, it does nothing: little
would be gained for the time."""


@dataclass(frozen=True)
class Move:
    """The exchange of key paths for lighter ones between the components that their removal leaves.

    Attributes
    ----------
    gain
        How much lighter the tree becomes.
    removed, added
        Edges of the key paths and of the paths in their place.
    vertices
        The ends of all of them.
    """

    gain: int
    removed: Indices
    added: Indices
    vertices: NDArray[np.uint32]


def never() -> bool:
    """Return False: nothing ends a search."""
    return False


def locally_best(net: Network, tree: Indices, is_over: Callable[[], bool] = never) -> Indices:
    """Return the tree after key-path exchange and key-vertex elimination, until neither makes it lighter."""
    while True:
        tree = exchanged(net, tree, is_over)
        if not len(tree) or is_over():
            return tree
        lighter = after_moves(net, tree, eliminations(net, tree))
        if lighter is None:
            return tree
        tree = lighter


def exchanged(net: Network, tree: Indices, is_over: Callable[[], bool] = never) -> Indices:
    """Return the tree after passes of exchanges, which end when none makes it lighter, or when the search is over."""
    while len(tree) and not is_over():
        lighter = after_moves(net, tree, exchanges(net, tree))
        if lighter is None:
            return tree
        tree = lighter
    return tree


def exchanges(net: Network, tree: Indices) -> list[Move]:
    """Return the best move of each key path that has one, the greatest gain first."""
    return found_moves(net, tree, "paths", 8 * net.n)


def eliminations(net: Network, tree: Indices) -> list[Move]:
    """Return the best move of each key vertex that has one, the greatest gain first."""
    return found_moves(net, tree, "vertices", 4 * net.n, budget=BUDGET)


def found_moves(net: Network, tree: Indices, of: str, room: int, **more: int) -> list[Move]:
    """Return the moves that a function of tree_moves.cpp finds, the greatest gain first.

    Parameters
    ----------
    of
        "paths" or "vertices".
    room
        The most edges in all moves of a pass. A move that does not fit is left to the next pass.
    """
    made = net.device.call(MOVES_FILE, f"tree_moves_{of}", net=net.group(), root=int(net.terminals[0]), edges=len(tree),
                           edge=tree.astype(np.uint32), room=room, **more)
    pairs = made["pairs"].reshape(-1, 2)
    edges, found, begin = edge_numbers(net, pairs[:, 0], pairs[:, 1]), [], 0
    for gain, (middle, end) in zip(made["gains"].tolist(), (made["ends"] // 2).reshape(-1, 2).tolist()):
        found.append(Move(gain, edges[begin:middle], edges[middle:end], pairs[begin:end].reshape(-1)))
        begin = end
    return sorted(found, key=lambda move: -move.gain)


def after_moves(net: Network, tree: Indices, found: list[Move]) -> Indices | None:
    """Return a lighter tree, improved, after all moves that share no vertex with one before them.

    If that is no lighter tree, it is the one after the first half, quarter, ... of these moves, or else None.
    """
    touched, chosen = np.zeros(net.n, dtype=bool), list[Move]()
    for move in found:
        if not touched[move.vertices].any():
            touched[move.vertices] = True
            chosen.append(move)
    while chosen:
        left = np.setdiff1d(tree, np.concatenate([move.removed for move in chosen]))
        candidate = spanning_tree(net, np.union1d(left, np.concatenate([move.added for move in chosen])))
        inside = vertices_of(net, candidate)
        whole = int(inside.sum()) == len(candidate) + 1 and bool(inside[net.terminals].all())
        if whole and net.weight(candidate) < net.weight(tree):
            return improved(net, candidate)
        chosen = chosen[: len(chosen) // 2]
    return None

"""Local search by key-path exchange, in passes. Each pass makes all moves that share no vertex.

See cuda_src/steiner/key_path.cu.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Given, Network, New, edge_numbers, launched, spanning_tree
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.algorithms.steiner_kmb.trees import improved, nearest, vertices_of


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
        The vertices on all of them.
    """

    gain: int
    removed: Indices
    added: Indices
    vertices: NDArray[np.uint32]


def never() -> bool:
    """Return False: nothing ends a search."""
    return False


def exchanged(net: Network, tree: Indices, is_over: Callable[[], bool] = never) -> Indices:
    """Return the tree after passes of exchanges, which end when none makes it lighter, or when the search is over."""
    while len(tree) and not is_over():
        candidate = after(net, tree, untouched(net, moves(net, tree)))
        if candidate is None:
            return tree
        tree = improved(net, candidate)
    return tree


def moves(net: Network, tree: Indices) -> list[Move]:
    """Return the best move of each key path that has one, the greatest gain first."""
    n, arcs = net.n, len(net.heads)
    near = nearest(net, np.flatnonzero(vertices_of(net, tree)).astype(np.uint32))
    tails, chosen = in_tree(net, tree)
    out: Given = {
        "room": room_for(n), "gains": New(n, np.uint64), "ends": New(3 * n, np.uint32),
        "paths": New(room_for(n), np.uint32), "count": New(1, np.uint32),
    }
    made = launched(
        net.device, "steiner/key_path", "key_path_find", net=net.group(), root=int(net.terminals[0]), tails=tails,
        chosen=chosen, distance=near.distance, before=near.before, base=near.base,
        words=New(14 * n + 2 * arcs, np.uint32, scratch=True), distances=New(n, np.uint64, scratch=True), found=out,
    )
    gains, ends, paths = made["gains"], made["ends"], made["paths"]
    found, begin = [], 0
    for number in range(int(made["count"][0])):
        first, second, third = ends[3 * number : 3 * number + 3].tolist()
        found.append(_move(net, int(gains[number]), paths[begin:first], paths[first:second], paths[second:third]))
        begin = third
    return sorted(found, key=lambda move: -move.gain)


def in_tree(net: Network, tree: Indices) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the vertex in whose row each arc stands, and 1 for the arcs of the tree, else 0."""
    tails = net.tails()
    chosen = np.zeros(len(net.edges), np.uint32)
    chosen[tree] = 1
    return tails, chosen[edge_numbers(net, tails, net.heads)]


def room_for(n: int) -> int:
    """Return the room for the vertices of all paths of a pass. A move that does not fit is left to the next pass."""
    return 8 * n


def _move(
    net: Network, gain: int, one: NDArray[np.uint32], other: NDArray[np.uint32], key_path: NDArray[np.uint32]
) -> Move:
    """Return the move with these vertices: both halves of the new path, from its middle arc on, and the key path."""
    new_path = np.concatenate([one[::-1], other])
    removed, added = (edge_numbers(net, vertices[:-1], vertices[1:]) for vertices in (key_path, new_path))
    return Move(gain, removed, added, np.concatenate([new_path, key_path]))


def untouched(net: Network, found: list[Move]) -> list[Move]:
    """Return the moves that share no vertex with a chosen move before them."""
    touched = np.zeros(net.n, dtype=bool)
    chosen = []
    for move in found:
        if not touched[move.vertices].any():
            touched[move.vertices] = True
            chosen.append(move)
    return chosen


def after(net: Network, tree: Indices, chosen: list[Move]) -> Indices | None:
    """Return a lighter tree after all of these moves, or else the first half, quarter, ... of them, or None."""
    weight = net.weight(tree)
    while chosen:
        left = np.setdiff1d(tree, np.concatenate([move.removed for move in chosen]))
        candidate = spanning_tree(net, np.union1d(left, np.concatenate([move.added for move in chosen])))
        inside = vertices_of(net, candidate)
        whole = int(inside.sum()) == len(candidate) + 1 and bool(inside[net.terminals].all())
        if whole and net.weight(candidate) < weight:
            return candidate
        chosen = chosen[: len(chosen) // 2]
    return None

"""Local search by exchanging key paths (cuda_src/key_path.cu): all moves that agree with each other, time and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Given, Network, New, edge_numbers, launched, spanning_tree
from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.algorithms.steiner_kmb.trees import improved, nearest, vertices_of


@dataclass(frozen=True)
class Move:
    """A path of the tree, and a shorter way between the two parts that are left without it.

    Attributes
    ----------
    removed, added
        Edges of the path and of the way.
    vertices
        On both.
    """

    gain: int
    removed: Indices
    added: Indices
    vertices: NDArray[np.uint32]


def exchanged(net: Network, tree: Indices) -> Indices:
    """The tree after all exchanges that make it lighter."""
    while len(tree):
        candidate = _after(net, tree, _agreeing(net, moves(net, tree)))
        if candidate is None:
            return tree
        tree = improved(net, candidate)
    return tree


def moves(net: Network, tree: Indices) -> list[Move]:
    """For each key path of the tree the best exchange, where there is one; the one that saves most comes first."""
    n, arcs = net.n, len(net.heads)
    inside = vertices_of(net, tree)
    near = nearest(net, np.flatnonzero(inside).astype(np.uint32))
    tails = np.repeat(np.arange(n, dtype=np.uint32), np.diff(net.offsets))
    in_tree = np.zeros(len(net.edges), np.uint32)
    in_tree[tree] = 1
    chosen = in_tree[edge_numbers(net, tails, net.heads)]
    out: Given = {
        "room": room_for(n), "gains": New(n, np.uint64), "ends": New(3 * n, np.uint32),
        "ways": New(room_for(n), np.uint32), "count": New(1, np.uint32),
    }
    made = launched(
        net.device, "steiner/key_path", "key_path_find", net=net.group(), root=int(net.terminals[0]), tails=tails,
        chosen=chosen, distance=near.distance, before=near.before, base=near.base,
        words=New(14 * n + 2 * arcs, np.uint32, scratch=True), distances=New(n, np.uint64, scratch=True), found=out,
    )
    gains, ends, ways = made["gains"], made["ends"], made["ways"]
    found, begin = [], 0
    for number in range(int(made["count"][0])):
        first, second, third = ends[3 * number : 3 * number + 3].tolist()
        found.append(_move(net, int(gains[number]), ways[begin:first], ways[first:second], ways[second:third]))
        begin = third
    return sorted(found, key=lambda move: -move.gain)


def room_for(n: int) -> int:
    """Vertices of all ways and paths together, for a graph of n; what finds no room is found in the next pass."""
    return 8 * n


def _move(
    net: Network, gain: int, one: NDArray[np.uint32], other: NDArray[np.uint32], path: NDArray[np.uint32]
) -> Move:  # fmt: skip
    way = np.concatenate([one[::-1], other])
    removed, added = (edge_numbers(net, vertices[:-1], vertices[1:]) for vertices in (path, way))
    return Move(gain, removed, added, np.concatenate([way, path]))


def _agreeing(net: Network, found: list[Move]) -> list[Move]:
    """Of moves that touch the same vertex the one that comes first."""
    touched = np.zeros(net.n, dtype=bool)
    agreed = []
    for move in found:
        if not touched[move.vertices].any():
            touched[move.vertices] = True
            agreed.append(move)
    return agreed


def _after(net: Network, tree: Indices, agreed: list[Move]) -> Indices | None:
    """The tree after as many of the first moves as leave it in one piece; None if there are none."""
    weight = net.weight(tree)
    while agreed:
        left = np.setdiff1d(tree, np.concatenate([move.removed for move in agreed]))
        candidate = spanning_tree(net, np.union1d(left, np.concatenate([move.added for move in agreed])))
        inside = vertices_of(net, candidate)
        whole = int(inside.sum()) == len(candidate) + 1 and bool(inside[net.terminals].all())
        if whole and net.weight(candidate) < weight:
            return candidate
        agreed = agreed[: len(agreed) // 2]
    return None

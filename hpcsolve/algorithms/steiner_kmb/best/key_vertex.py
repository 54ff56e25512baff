"""Local search by key-vertex elimination, after key-path exchange. A pass makes moves that share no vertex.

See cuda_src/steiner/key_vertex.cu.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hpcsolve.algorithms.steiner_kmb.key_path import Move, after, exchanged, in_tree, never, room_for, untouched
from hpcsolve.algorithms.steiner_kmb.network import Given, Network, New, edge_numbers, launched
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.algorithms.steiner_kmb.trees import improved, nearest, vertices_of

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
    n, arcs = net.n, len(net.heads)
    near = nearest(net, np.flatnonzero(vertices_of(net, tree)).astype(np.uint32))
    tails, chosen = in_tree(net, tree)
    out: Given = {
        "room": room_for(n), "gains": New(n, np.uint64), "ends": New(2 * n, np.uint32),
        "pairs": New(room_for(n), np.uint32), "count": New(1, np.uint32),
    }
    made = launched(
        net.device, "steiner/key_vertex", "key_vertex_find", net=net.group(), root=int(net.terminals[0]), budget=BUDGET,
        tails=tails, chosen=chosen, distance=near.distance, before=near.before, base=near.base,
        words=New(13 * n + arcs, np.uint32, scratch=True), distances=New(n, np.uint64, scratch=True), found=out,
    )
    found, begin = [], 0
    for gain, ends in zip(made["gains"].tolist(), made["ends"][: 2 * int(made["count"][0])].reshape(-1, 2).tolist()):
        removed, added = (made["pairs"][first:last].reshape(-1, 2) for first, last in ((begin, ends[0]), ends))
        gone, new = (edge_numbers(net, pairs[:, 0], pairs[:, 1]) for pairs in (removed, added))
        found.append(Move(gain, gone, new, np.unique(made["pairs"][begin : ends[1]])))
        begin = ends[1]
    return sorted(found, key=lambda move: -move.gain)

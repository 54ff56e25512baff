"""Finds edges that are in no lightest tree, by the special distance.

cuda_src/steiner/reductions.cu has the method: nearest and compare.
"""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.steiner_kmb.network import Given, Network, New, launched
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Mask
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree

SLOTS = 5
"""The number of nearest terminals of a vertex that are tried as the first terminal of a path."""


def too_long(net: Network, closure_tree: ClosureTree) -> Mask:
    """Return which edges have a path between their ends, from terminal to terminal, whose legs are all shorter."""
    slots = min(SLOTS, len(net.terminals))
    near = launched(
        net.device, "steiner/reductions", "reductions_nearest", net=net.group(), count=slots,
        scratch=New(2 * net.n, np.uint32, scratch=True), distance=New(slots * net.n, np.uint64),
        base=New(slots * net.n, np.uint32),
    )
    closure: Given = {"count": len(closure_tree.length), "first": closure_tree.first, "second": closure_tree.second,
                      "length": closure_tree.length}
    edges = net.edges
    found = launched(
        net.device, "steiner/reductions", "reductions_compare", near={"n": net.n, "count": slots, **near},
        closure=closure, edges=len(edges), tails=edges.tails.astype(np.uint32), heads=edges.heads.astype(np.uint32),
        weights=edges.weights, words=New(2 * net.n, np.uint32, scratch=True),
        lengths=New(net.n, np.uint64, scratch=True), removed=New(len(edges), np.uint32),
    )
    return found["removed"] > 0

"""Finds edges that are in no lightest tree, by the special distance.

cuda_src/host/reductions.cpp has the method.
"""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.steiner_kmb.network import REDUCTIONS_FILE, Network
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Mask
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree
from hpcsolve.device.host import Given

SLOTS = 5
"""The number of nearest terminals of a vertex that are tried as the first terminal of a path."""


def too_long(net: Network, closure_tree: ClosureTree) -> Mask:
    """Return which edges have a path between their ends, from terminal to terminal, whose legs are all shorter."""
    edges, removed = net.edges, np.empty(len(net.edges), np.uint32)
    closure: Given = {"count": len(closure_tree.length), "first": closure_tree.first, "second": closure_tree.second,
                      "length": closure_tree.length}
    net.device.call(
        REDUCTIONS_FILE, "reductions_special", net=net.group(), slots=min(SLOTS, len(net.terminals)), closure=closure,
        edges=len(edges), tails=edges.tails.astype(np.uint32), heads=edges.heads.astype(np.uint32),
        weights=edges.weights, removed=removed,
    )
    return removed > 0

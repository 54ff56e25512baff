"""The part of a hierarchy above some targets, on which a sweep finds their distances alone (RPHAST).

Delling, Goldberg, Werneck: Faster Batched Shortest Paths in Road Networks, ATMOS 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import AHEAD, Hierarchy
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.search_graph import gathered

MOST = 0.5
"""A sweep that would still go over more than this part of the hierarchy's arcs is not restricted: it saves little."""


@dataclass(frozen=True)
class Restriction:
    """The vertices from which the targets are reached downwards, and the arcs that enter them.

    Attributes
    ----------
    vertex
        Shape (vertices,), uint32: ascending.
    level
        Shape (levels + 1,), uint32: where each level begins in `vertex`.
    down_offsets, down_arcs
        The arcs to each of these vertices, as in `Hierarchy`.
    """

    vertex: NDArray[np.uint32]
    level: NDArray[np.uint32]
    down_offsets: NDArray[np.uint32]
    down_arcs: NDArray[Any]


def restriction_above(hierarchy: Hierarchy, targets: NDArray[np.uint32], keys: Keys) -> Restriction | None:
    """Return the part of a hierarchy above targets, or None if the sweep should go over all of it.

    A restricted sweep does not see all vertices, so nothing tells whether a distance has become too large for the keys.
    Where that could happen, all of the hierarchy is swept.

    Parameters
    ----------
    targets
        Vertices of the hierarchy.
    """
    if not _fits(hierarchy, keys):
        return None
    above = _above(hierarchy, targets)
    arc, offsets = gathered(hierarchy.down_offsets, above)
    if len(arc) > MOST * int(hierarchy.down_offsets[-1]):
        return None
    arcs = np.zeros((len(arc) + AHEAD, 2), keys.dtype)
    arcs[: len(arc)] = hierarchy.down_arcs.reshape(-1, 2)[arc]
    vertex, level = above.astype(np.uint32), np.searchsorted(above, hierarchy.level).astype(np.uint32)
    return Restriction(vertex, level, offsets.astype(np.uint32), arcs.reshape(-1))


def restriction_bytes(n: int, arcs: int, keys: Keys) -> int:
    """Return the most bytes of a restriction of a hierarchy with so many vertices and arcs, and of making it."""
    return 17 * n + int(MOST * arcs) * (2 * keys.dtype.itemsize + 8)


def _fits(hierarchy: Hierarchy, keys: Keys) -> bool:
    """Return whether every distance fits the keys: no path has more arcs up, or down, than there are levels."""
    heaviest = max(int(arcs[1::2].max(initial=0)) for arcs in (hierarchy.up_arcs, hierarchy.down_arcs))
    return 2 * hierarchy.levels * heaviest <= keys.limit


def _above(hierarchy: Hierarchy, targets: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the vertices from which a target is reached downwards, the targets among them, ascending."""
    found = np.zeros(hierarchy.graph.n, bool)
    new = np.unique(targets).astype(np.int64)
    tails = hierarchy.down_arcs[0::2]
    while len(new):
        found[new] = True
        arc, _ = gathered(hierarchy.down_offsets, new)
        above = np.unique(tails[arc]).astype(np.int64)
        new = above[~found[above]]
    return np.flatnonzero(found)

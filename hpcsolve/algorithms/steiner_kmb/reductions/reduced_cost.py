"""Finds edges that are in no tree lighter than a given weight, by the reduced costs that dual ascents leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.dual_ascent import Ascent
from hpcsolve.algorithms.steiner_kmb.network import REDUCTIONS_FILE, Network, edge_numbers
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices, Mask


@dataclass(frozen=True)
class Arcs:
    """The arcs of a network.

    Attributes
    ----------
    net
        The network. An arc is an entry of its rows.
    """

    net: Network

    @cached_property
    def tails(self) -> NDArray[np.uint32]:
        """The vertex in whose row each arc stands."""
        return self.net.tails()

    @cached_property
    def edge(self) -> Indices:
        """The edge of each arc."""
        return edge_numbers(self.net, self.tails, self.net.heads)

    @cached_property
    def back(self) -> NDArray[np.uint32]:
        """The opposite of each arc. Rows ascend, and so do the heads in each: a sort by heads gives the opposites."""
        return np.argsort(self.net.heads, kind="stable").astype(np.uint32)

    @cached_property
    def forth(self) -> Indices:
        """The arc of each edge that stands in the row of its smaller end."""
        return np.flatnonzero(self.tails < self.net.heads)


@dataclass(frozen=True)
class Distances:
    """Distances in what an ascent has left of the weights, each of shape (n,).

    Attributes
    ----------
    from_root, to_terminal
        From the root to each vertex, and from each vertex to the nearest terminal but the root.
    """

    from_root: NDArray[np.uint64]
    to_terminal: NDArray[np.uint64]


def distances_left(arcs: Arcs, ascent: Ascent) -> Distances:
    """Return the distances in what an ascent has left of the weights."""
    net = arcs.net
    found = Distances(*np.empty((2, net.n), np.uint64))
    net.device.call(
        REDUCTIONS_FILE, "reductions_search", net=net.group(), root=ascent.bound.root, rest=ascent.rest, back=arcs.back,
        from_root=found.from_root, to_terminal=found.to_terminal,
    )
    return found


def too_heavy(arcs: Arcs, ascent: Ascent, left: Distances, limit: int) -> Mask:
    """Return which edges are in no tree lighter than `limit`.

    A tree with the arc (u, v), directed away from the root, has a path from the root to u, along the arc, and from v to
    a terminal. It weighs at least the bound plus what is left of the weights on that path.
    """
    tails, heads = arcs.net.edges.tails, arcs.net.edges.heads
    there = left.from_root[tails] + ascent.rest[arcs.back[arcs.forth]] + left.to_terminal[heads]
    back = left.from_root[heads] + ascent.rest[arcs.forth] + left.to_terminal[tails]
    found: Mask = np.minimum(there, back) >= np.uint64(max(0, limit - ascent.bound.value))
    return found

"""Finds edges that are in no tree lighter than a given weight, by the reduced costs that dual ascents leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.dual_ascent import Ascent
from hpcsolve.algorithms.steiner_kmb.network import Network, New, edge_numbers, launched
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
    tails: NDArray[np.uint32] = field(init=False)

    def __post_init__(self) -> None:
        """Find the vertex in whose row each arc stands."""
        net = self.net
        object.__setattr__(self, "tails", np.repeat(np.arange(net.n, dtype=np.uint32), np.diff(net.offsets)))

    @cached_property
    def edge(self) -> Indices:
        """The edge of each arc."""
        return edge_numbers(self.net, self.tails, self.net.heads)

    @cached_property
    def back(self) -> NDArray[np.uint32]:
        """The opposite of each arc. Rows and their heads ascend, so sorting by heads sorts the opposites."""
        return np.argsort(self.net.heads, kind="stable").astype(np.uint32)

    @cached_property
    def forth(self) -> Indices:
        """The arc of each edge that stands in the row of its smaller end."""
        return np.flatnonzero(self.tails < self.net.heads)


@dataclass(frozen=True)
class Ways:
    """Lengths of shortest paths by what an ascent has left of the weights, each of shape (n,).

    Attributes
    ----------
    down, on
        From the root to each vertex, and from each vertex to the nearest other terminal.
    """

    down: NDArray[np.uint64]
    on: NDArray[np.uint64]


def distances_left(arcs: Arcs, ascent: Ascent) -> Ways:
    """Return the distances by what an ascent has left of the weights."""
    net = arcs.net
    found = launched(
        net.device, "steiner/reductions", "reductions_search", net=net.group(), root=ascent.bound.root,
        rest=ascent.rest, back=arcs.back, scratch=New(2 * net.n, np.uint32, scratch=True), down=New(net.n, np.uint64),
        on=New(net.n, np.uint64),
    )
    return Ways(found["down"], found["on"])


def too_heavy(arcs: Arcs, ascent: Ascent, ways: Ways, limit: int) -> Mask:
    """Return which edges are in no tree lighter than `limit`.

    A tree with an arc u - v, directed away from the root, leads from the root to u, by the arc, and from v on to a
    terminal. It weighs at least the bound and what is left of the weights on that path.
    """
    tails, heads = arcs.net.edges.tails, arcs.net.edges.heads
    there = ways.down[tails] + ascent.rest[arcs.back[arcs.forth]] + ways.on[heads]
    back = ways.down[heads] + ascent.rest[arcs.forth] + ways.on[tails]
    found: Mask = np.minimum(there, back) >= np.uint64(max(0, limit - ascent.bound.value))
    return found

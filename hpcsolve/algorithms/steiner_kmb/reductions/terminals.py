"""Finds edges that are in some lightest tree, by two tests at the terminals (Duin and Volgenant, Networks 19, 1989).

Both look at a cut around a terminal: the edges that leave the terminal alone, or its region, the vertices to which no
other terminal is nearer. Every tree has an edge of the cut. Extend the lightest edge of the cut by shortest paths, to
the terminal and to a terminal outside. If this path is no longer than the second lightest edge of the cut, it can take
the place of any other edge of the cut in a tree, so some lightest tree has the lightest edge. (Special cases: a
terminal of degree 1, and a terminal whose lightest edge leads to another terminal.)

The edges are contracted one after the other. A test still holds if no edge of its cut has been contracted: then the cut
has the same edges, and no path has become longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Network, edge_numbers
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices, first_of_runs
from hpcsolve.algorithms.steiner_kmb.trees import Regions

NO_EDGE = np.uint64(2**64 - 1)
"""In place of the weight of the second lightest edge of a cut that has only one edge."""


def contractible(net: Network, near: Regions) -> Indices:
    """Return edges that are all together in some lightest tree, given the regions of the terminals."""
    tails, heads = net.tails(), net.heads
    across = near.base[tails] != near.base[heads]
    lengths = near.distance[tails] + net.weights + near.distance[heads]
    at_terminals = _passing(tails, net.weights, lengths, net.is_terminal[tails] > 0, across)
    at_regions = _passing(near.base[tails], net.weights, lengths, across, across)
    chosen = np.concatenate([at_terminals, at_regions])
    is_region = np.arange(len(chosen)) >= len(at_terminals)
    order = np.lexsort((is_region, chosen, net.weights[chosen]))
    edges = edge_numbers(net, tails[chosen], heads[chosen])
    return _one_after_the_other(net, near.base, tails[chosen[order]], edges[order], is_region[order])


def _passing(
    cut: NDArray[np.uint32], weights: NDArray[np.uint64], lengths: NDArray[np.uint64], inside: NDArray[np.bool_],
    across: NDArray[np.bool_],
) -> Indices:
    """Return the lightest arc of each cut for which the test holds.

    Parameters
    ----------
    cut
        The number of the cut of each arc.
    lengths
        The length of each arc, extended to terminals at both ends.
    inside
        Which arcs belong to a cut.
    across
        Which arcs lead from one region to another.
    """
    arcs = np.flatnonzero(inside)
    arcs = arcs[np.lexsort((weights[arcs], cut[arcs]))]
    owner = cut[arcs]
    first = np.flatnonzero(first_of_runs(owner))
    second = np.minimum(first + 1, len(arcs) - 1)
    has_two = (second > first) & (owner[second] == owner[first])
    limit = np.where(has_two, weights[arcs[second]], NO_EDGE)
    found: Indices = arcs[first[(across[arcs[first]] & (lengths[arcs[first]] <= limit)) | ~has_two]]
    return found


def _one_after_the_other(
    net: Network, base: NDArray[np.uint32], owners: NDArray[np.uint32], edges: Indices, is_region: NDArray[np.bool_]
) -> Indices:
    """Return the edges whose cut no edge before them has crossed. `owners` are vertices of the cuts."""
    touched, crossed, chosen = set[int](), set[int](), []
    ends = zip(net.edges.tails[edges].tolist(), net.edges.heads[edges].tolist())
    for edge, owner, region, (tail, head) in zip(edges.tolist(), owners.tolist(), is_region.tolist(), ends):
        if int(base[owner]) in crossed if region else owner in touched:
            continue
        chosen.append(edge)
        touched |= {tail, head}
        if base[tail] != base[head]:
            crossed |= {int(base[tail]), int(base[head])}
    return np.array(chosen, np.int64)

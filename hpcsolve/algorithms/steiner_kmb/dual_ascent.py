"""Lower bounds by dual ascent (cuda_src/host/dual_ascent.cpp), and the edges that they show to be in no lighter tree.

Bounds on the graph as it was read can be checked again by their dual values. What an ascent leaves of the weights are
reduced costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Mask
from hpcsolve.parallel.comm import Comm

DUAL_ASCENT_FILE, REDUCTIONS_FILE = "host/dual_ascent", "host/reductions"
MOST_WORK = 1 << 30
"""The most arcs that an ascent scans. It then ends with the bound so far. A tenth is enough for 10^5 vertices."""
ROOTS = 8
CHEAP = 1 << 24
"""At most ROOTS terminals are tried as the root, fewer if all ascents together would scan more than CHEAP arcs."""
HEAD_START = 3
"""By how many roots rank 0 has less to do: it also reduces the graph, which takes about as long."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on Steiner trees, with its certificate.

    Attributes
    ----------
    value
        The sum of the dual values: no tree is lighter.
    root
        Position of the root.
    terminals, duals
        The raises, in order: the terminal (position) whose set was raised, and by how much the set's dual value rose.
    work
        Number of arcs that the ascent scanned.
    """

    value: int
    root: int
    terminals: NDArray[np.uint32]
    duals: NDArray[np.uint64]
    work: int


@dataclass(frozen=True)
class Ascent:
    """An ascent with all that it leaves behind.

    Attributes
    ----------
    rest
        Shape (arcs,): what is left of the weight of each arc, in the row of its head.
    cuts
        Shape (raises, words): the terminals in each raised set, a bit for each by its number. There are 0 words if the
        sets were not asked for.
    """

    bound: Bound
    rest: NDArray[np.uint64]
    cuts: NDArray[np.uint64]


def own_bound(net: Network, comm: Comm) -> Bound | None:
    """Return the best bound of this rank's ascents, or None without any. Roots are dealt to the ranks. Collective."""
    most = min(ROOTS, len(net.terminals))
    mine = [ascent(net, comm.rank).bound] if comm.rank < most else []
    roots = min(most, -(-CHEAP // max(1, comm.bcast(mine[0].work if comm.rank == 0 else 0))))
    others = _dealt(roots, comm.size)[comm.rank]
    return _best([*(mine if comm.rank < roots else []), *(ascent(net, root).bound for root in others)])


def best_bound(mine: Bound | None, comm: Comm) -> Bound | None:
    """Return the best bound of all ranks on rank 0, elsewhere None. Of equal ones, the smallest root's. Collective."""
    found = comm.gather(mine)
    return None if found is None else _best([bound for bound in found if bound is not None])


def _dealt(roots: int, ranks: int) -> list[list[int]]:
    """Return the roots of each rank beside its first one, which has the number of the rank."""
    shares: list[list[int]] = [[] for _ in range(ranks)]
    for root in range(ranks, roots):
        least = min(range(ranks), key=lambda rank: len(shares[rank]) + HEAD_START * (rank == 0))
        shares[least].append(root)
    return shares


def _best(found: Sequence[Bound]) -> Bound | None:
    return max(found, key=lambda bound: (bound.value, -bound.root), default=None)


def ascent(net: Network, root: int, words: int = 0) -> Ascent:
    """Return the ascent whose root is terminal number `root`, with cuts of `words` words of 64 bits."""
    rest = np.empty(len(net.heads), np.uint64)
    found = net.device.call(
        DUAL_ASCENT_FILE, "dual_ascent_climb", net=net.group(), root=root, budget=MOST_WORK, words=words,
        number=net.terminal_numbers(), rest=rest,
    )
    raised, duals, sets = found["raised"], found["duals"], found["sets"]
    bound = Bound(int(duals.sum()), int(net.terminals[root]), raised, duals, int(found["work"][0]))
    return Ascent(bound, rest, sets.reshape(len(duals), words))


def distances_left(net: Network, ascent: Ascent) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the distances in what an ascent has left of the weights, each of shape (n,).

    The first are those from the root to each vertex, the second those from each vertex to the nearest terminal but the
    root.
    """
    from_root, to_terminal = np.empty((2, net.n), np.uint64)
    net.device.call(
        REDUCTIONS_FILE, "reductions_search", net=net.group(), root=ascent.bound.root, rest=ascent.rest, back=net.back,
        from_root=from_root, to_terminal=to_terminal,
    )
    return from_root, to_terminal


def too_heavy(
    net: Network, ascent: Ascent, from_root: NDArray[np.uint64], to_terminal: NDArray[np.uint64], limit: int
) -> Mask:
    """Return which edges are in no tree lighter than `limit`, given the distances in what an ascent has left.

    A tree with the arc (u, v), directed away from the root, has a path from the root to u, along the arc, and from v to
    a terminal. It weighs at least the bound plus what is left of the weights on that path.
    """
    tails, heads = net.edges.tails, net.edges.heads
    forth = np.flatnonzero(net.tails < net.heads)  # the arc of each edge that stands in the row of its smaller end
    there = from_root[tails] + ascent.rest[net.back[forth]] + to_terminal[heads]
    back = from_root[heads] + ascent.rest[forth] + to_terminal[tails]
    found: Mask = np.minimum(there, back) >= np.uint64(max(0, limit - ascent.bound.value))
    return found

"""The lower bound by dual ascent (cuda_src/dual_ascent.cu), on the graph as it was read: its prices can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import Network, New, launched
from hpcsolve.parallel.comm import Comm

MOST_WORK = 1 << 30
"""Arcs that an ascent may look at: it ends then with the bound that it has. 10^5 vertices take a tenth of that."""
ROOTS = 8
CHEAP = 1 << 24
"""So many terminals are tried as the root, or as many as cost that many arcs if each costs as many as the first."""
HEAD_START = 3
"""Rank 0, which prepares the graph while the others ascend, has so many roots less: that takes about as long."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on Steiner trees, with its reason.

    Attributes
    ----------
    value
        The sum of the prices: no tree is lighter.
    root
        Position of the root.
    terminals, prices
        Whose set was raised (positions), and by how much, in order.
    work
        Arcs looked at.
    """

    value: int
    root: int
    terminals: NDArray[np.uint32]
    prices: NDArray[np.uint64]
    work: int


def ascended(net: Network, comm: Comm) -> Bound | None:
    """The best of this rank's ascents, if it has any: from several roots, dealt to the ranks. Collective."""
    most = min(ROOTS, len(net.terminals))
    mine = [climb(net, root) for root in range(most)[comm.rank : comm.rank + 1]]
    roots = min(most, -(-CHEAP // max(1, comm.bcast(mine[0].work if comm.rank == 0 else 0))))
    others = _dealt(roots, comm.size)[comm.rank]
    return _best([*mine[: roots > comm.rank], *(climb(net, root) for root in others)])


def best_bound(mine: Bound | None, comm: Comm) -> Bound | None:
    """The best of what the ranks have, of equal ones that of the first root; on rank 0, collective."""
    found = comm.gather(mine)
    return None if found is None else _best([bound for bound in found if bound is not None])


def _dealt(roots: int, ranks: int) -> list[list[int]]:
    """Who takes which roots after the first ones, of which each rank has one."""
    shares: list[list[int]] = [[] for _ in range(ranks)]
    for root in range(ranks, roots):
        least = min(range(ranks), key=lambda rank: len(shares[rank]) + HEAD_START * (rank == 0))
        shares[least].append(root)
    return shares


def _best(found: Sequence[Bound]) -> Bound | None:
    return max(found, key=lambda bound: (bound.value, -bound.root), default=None)


def climb(net: Network, root: int) -> Bound:
    """The ascent from terminal number `root`."""
    arcs = len(net.heads)
    found = launched(
        net.device, "steiner/dual_ascent", "dual_ascent_climb", net=net.group(), root=root, budget=MOST_WORK,
        rest=New(arcs, np.uint64, scratch=True), scratch=New(5 * net.n + arcs, np.uint32, scratch=True),
        raised=New(arcs, np.uint32), prices=New(arcs, np.uint64), result=New(2, np.uint64),
    )
    raised, prices, result = found["raised"], found["prices"], found["result"]
    count = int(result[0])
    value = int(prices[:count].sum())
    return Bound(value, int(net.terminals[root]), raised[:count], prices[:count], int(result[1]))

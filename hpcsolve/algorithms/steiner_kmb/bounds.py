"""Lower bounds on the weight of Steiner trees, and the edges that a dual ascent shows to be in no lighter tree.

A search carries one `LowerBound` in its state (reductions.py), and ends when the bound meets the weight of the best
tree. It begins with `certified_bound`, of the graph as it was read. The result has the proof of that one: the dual
values of the best ascent, or the terminal distance graph. `SteinerState.raised` raises it where `bounds_of` a reduced
graph, or the program over sets of terminals, proves more. Of this the search itself is the only proof: mode exact has
it in the result, mode best the certified bound alone. A new bound is one more value in `bounds_of`.

Ascents are made by cuda_src/host/dual_ascent.cpp. What an ascent leaves of the weights are reduced costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, Mask
from hpcsolve.answers.tree import DUAL, SEARCH
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.steiner import closure_bound

DUAL_ASCENT_FILE, REDUCTIONS_FILE = "host/dual_ascent", "host/reductions"
MOST_WORK = 1 << 30
"""The most arcs that an ascent scans. It then ends with the bound so far. A tenth is enough for 10^5 vertices."""
ROOTS = 8
CHEAP = 1 << 24
"""At most ROOTS terminals are tried as the root, fewer if all ascents together would scan more than CHEAP arcs."""
HEAD_START = 3
"""By how many roots rank 0 has less to do: it also reduces the graph, which takes about as long."""


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the weight of every tree in the graph as it was read.

    Attributes
    ----------
    value, certified
        The greatest one that is known, and the greatest one whose proof a result holds.
    """

    value: int = 0
    certified: int = 0

    @property
    def proof(self) -> str:
        """The name of the proof in the result, as in `answers.tree.Tree`."""
        return SEARCH if self.value > self.certified else DUAL


@dataclass(frozen=True)
class DualSolution:
    """The raises of a dual ascent, which prove a lower bound.

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

    net: Network
    dual: DualSolution
    rest: NDArray[np.uint64]
    cuts: NDArray[np.uint64]

    def distances(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the distances in what is left of the weights, each of shape (n,).

        The first are those from the root to each vertex, the second those from each vertex to the nearest terminal but
        the root.
        """
        from_root, to_terminal = np.empty((2, self.net.n), np.uint64)
        self.net.device.call(
            REDUCTIONS_FILE, "reductions_search", net=self.net.group(), root=self.dual.root, rest=self.rest,
            back=self.net.back, from_root=from_root, to_terminal=to_terminal,
        )
        return from_root, to_terminal

    def tree(self, root: int) -> Indices:
        """Return a tree grown from terminal number `root` on the saturated edges, improved on all edges."""
        net, saturated = self.net, np.zeros(len(self.net.edges), dtype=bool)
        saturated[net.edge_of_arc[self.rest == 0]] = True
        arcs = saturated[net.edge_of_arc]
        counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(arcs)])
        part = replace(net, edges=net.edges.part(saturated), offsets=counts[net.offsets].astype(np.uint32),
                       heads=net.heads[arcs], weights=net.weights[arcs])
        return net.improved(np.flatnonzero(saturated)[part.shortest_path_tree(root)])

    def too_heavy(self, limit: int, from_root: NDArray[np.uint64], to_terminal: NDArray[np.uint64]) -> Mask:
        """Return which edges are in no tree lighter than `limit`, given the `distances`.

        A tree with the arc (u, v), directed away from the root, has a path from the root to u, along the arc, and from
        v to a terminal. It weighs at least the bound plus what is left of the weights on that path.
        """
        net, tails, heads = self.net, self.net.edges.tails, self.net.edges.heads
        forth = np.flatnonzero(net.tails < net.heads)  # the arc of each edge that stands in the row of its smaller end
        there = from_root[tails] + self.rest[net.back[forth]] + to_terminal[heads]
        back = from_root[heads] + self.rest[forth] + to_terminal[tails]
        found: Mask = np.minimum(there, back) >= np.uint64(max(0, limit - self.dual.value))
        return found


def certified_bound(dual: DualSolution, closure_tree: ClosureTree, terminals: int) -> LowerBound:
    """Return the greater one of the bounds on the graph as it was read by its dual ascent and its terminal distances.
    """
    value = max(dual.value, closure_bound(closure_tree.weight, terminals))
    return LowerBound(value, value)


def bounds_of(net: Network, ascents: Iterable[int]) -> Iterator[int]:
    """Yield lower bounds on the weight of trees in a reduced graph, given those that its dual ascents prove."""
    yield from ascents


def own_dual(net: Network, comm: Comm) -> DualSolution | None:
    """Return the best of this rank's ascents, or None without any. Roots are dealt to the ranks. Collective."""
    most = min(ROOTS, len(net.terminals))
    mine = [ascent(net, comm.rank).dual] if comm.rank < most else []
    roots = min(most, -(-CHEAP // max(1, comm.bcast(mine[0].work if comm.rank == 0 else 0))))
    shares: list[list[int]] = [[] for _ in range(comm.size)]  # beside the first root of each, the number of the rank
    for root in range(comm.size, roots):
        min(shares, key=lambda share: len(share) + HEAD_START * (share is shares[0])).append(root)
    return _best([*(mine if comm.rank < roots else []), *(ascent(net, root).dual for root in shares[comm.rank])])


def best_dual(mine: DualSolution | None, comm: Comm) -> DualSolution | None:
    """Return the best ascent of all ranks on rank 0, elsewhere None. Of equal ones, the smallest root's. Collective."""
    found = comm.gather(mine)
    return None if found is None else _best([dual for dual in found if dual is not None])


def _best(found: Sequence[DualSolution]) -> DualSolution | None:
    return max(found, key=lambda dual: (dual.value, -dual.root), default=None)


def ascent(net: Network, root: int, words: int = 0) -> Ascent:
    """Return the ascent whose root is terminal number `root`, with cuts of `words` words of 64 bits."""
    rest = np.empty(len(net.heads), np.uint64)
    found = net.device.call(
        DUAL_ASCENT_FILE, "dual_ascent_climb", net=net.group(), root=root, budget=MOST_WORK, words=words,
        number=net.terminal_numbers(), rest=rest,
    )
    raised, duals, sets = found["raised"], found["duals"], found["sets"]
    dual = DualSolution(int(duals.sum()), int(net.terminals[root]), raised, duals, int(found["work"][0]))
    return Ascent(net, dual, rest, sets.reshape(len(duals), words))

"""What the program needs of the reduced graph: its network, and several dual ascents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.dual_ascent import ascent
from hpcsolve.algorithms.steiner_kmb.exact.families import CELLS, runs
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reductions.reduced_cost import Arcs, distances_left, too_heavy
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Mask
from hpcsolve.device.host import Given
from hpcsolve.parallel.comm import Comm

MOST_TERMINALS = 128
"""The most terminals that the functions' sets can hold."""
CHEAP = 1 << 19
"""The number of edges times that of terminals up to which a graph is small: ascents are cheap there."""
BOUND_RULE, SEPARATOR_RULE = 1, 2
"""The rules that discard states (cuda_src/host/subset_program.cpp), as bits."""


@dataclass(frozen=True)
class Cuts:
    """A dual ascent as the bound rule needs it.

    Attributes
    ----------
    root, bound
        The number of the root among the terminals, and the sum of the dual values.
    sets, duals
        Shapes (cuts, words) and (cuts,): the different sets of terminals in the cuts, and the sum of the dual values of
        each.
    reach
        Shape (n,): distances from the root in what the ascent left of the weights.
    """

    root: int
    bound: int
    sets: NDArray[np.uint64]
    duals: NDArray[np.uint64]
    reach: NDArray[np.uint64]


@dataclass(frozen=True)
class Space:
    """The problem as the program's functions read it.

    Attributes
    ----------
    net, words
        The network, and the number of 64-bit words in a set of its terminals.
    rules
        `BOUND_RULE` and `SEPARATOR_RULE`, or one of them, or 0 for none.
    ascents
        The functions' group `dual`.
    cell
        As in `Layers`.
    """

    net: Network
    words: int
    rules: int
    ascents: dict[str, Given]
    cell: NDArray[np.uint64]

    @property
    def terminals(self) -> int:
        """Number of terminals."""
        return len(self.net.terminals)

    @property
    def half(self) -> int:
        """Number of terminals in the largest sets that are needed."""
        return self.terminals // 2

    @property
    def nbytes(self) -> int:
        """Bytes of the ascents."""
        return sum(table.nbytes for table in self.ascents.values() if isinstance(table, np.ndarray))


def is_small(terminals: int, edges: int) -> bool:
    """Return whether a graph is so small that ascents from all terminals pay: they make the program shorter."""
    return terminals * edges <= CHEAP


def several_ascents(
    net: Network, comm: Comm, limit: int, words: int = 0, is_over: Callable[[int], bool] = lambda nbytes: False,
) -> tuple[list[Cuts], Mask] | None:
    """Return dual ascents, and which edges they show to be in no tree lighter than `limit`.

    In a small graph, the roots are all terminals. In a large one, they are half of the terminals and one more, so that
    each set of at most half has a root outside: more roots would discard few more states. The ascents are dealt to the
    ranks, which exchange one of each rank at a time, so that no message is long. The result is None if the search must
    end before all ascents are done. Collective.

    Parameters
    ----------
    words
        Number of 64-bit words in a set, 0 for as many as are needed.
    is_over
        Returns whether the search must end, given the bytes that all ascents take. Called before each. Collective.
    """
    k, arcs = len(net.terminals), Arcs(net)
    words = words or -(-k // 64)
    ascents: list[Cuts] = []
    heavy = np.zeros(len(net.edges), dtype=bool)
    count = k if is_small(k, len(net.edges)) else k // 2 + 1
    for first in range(0, count, comm.size):
        if is_over(16 * net.n * count):
            return None
        number = first + comm.rank
        mine = _cuts(arcs, number * k // count, words, limit) if number < count else None
        for found in comm.allgather(mine):
            if found is not None:
                ascents.append(found[0])
                heavy |= found[1]
    return ascents, heavy


def space_of(net: Network, ascents: Sequence[Cuts], rules: int = BOUND_RULE | SEPARATOR_RULE) -> Space:
    """Return what the program needs of a problem with 2 to `MOST_TERMINALS` terminals, given its dual ascents."""
    begin = np.cumsum([0, *(len(cuts.duals) for cuts in ascents)]).astype(np.uint64)
    group: dict[str, Given] = {
        "count": len(ascents), "roots": np.array([cuts.root for cuts in ascents], np.uint32),
        "bounds": np.array([cuts.bound for cuts in ascents], np.uint64), "begin": begin,
        "cuts": np.concatenate([cuts.sets for cuts in ascents]).reshape(-1),
        "duals": np.concatenate([cuts.duals for cuts in ascents]),
        "reach": np.stack([cuts.reach for cuts in ascents], axis=1).reshape(-1),
    }
    return Space(net, ascents[0].sets.shape[1], rules, group, _cells(net))


def _cuts(arcs: Arcs, root: int, words: int, limit: int) -> tuple[Cuts, Mask]:
    """Return the ascent from terminal number `root`, and the edges that it shows to be in no tree lighter than `limit`.

    Cuts with the same terminals become one.
    """
    found = ascent(arcs.net, root, words)
    order = np.lexsort(found.cuts.T)
    sets = found.cuts[order]
    first = runs(sets)
    duals = np.add.reduceat(found.bound.duals[order], first)
    left = distances_left(arcs, found)
    return Cuts(root, found.bound.value, sets[first], duals, left.from_root), too_heavy(arcs, found, left, limit)


def _cells(net: Network) -> NDArray[np.uint64]:
    """Return which of the `CELLS` cells each vertex is in. A cell is a stretch of a breadth-first order."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    ones = np.ones(len(net.heads), np.int8)
    pattern = csr_array((ones, net.heads.astype(np.int32), net.offsets.astype(np.int32)), shape=(net.n, net.n))
    walk = breadth_first_order(pattern, int(net.terminals[0]), directed=False, return_predecessors=False)
    cell = np.zeros(net.n, np.uint64)
    cell[walk] = np.arange(len(walk)) * CELLS // max(1, len(walk))
    return cell

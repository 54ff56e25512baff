"""What the program needs of the reduced graph: its network, and several dual ascents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.dual_ascent import ascent
from hpcsolve.algorithms.steiner_kmb.exact.families import BLOCKS
from hpcsolve.algorithms.steiner_kmb.network import Given, Network
from hpcsolve.algorithms.steiner_kmb.reductions.reduced_cost import Arcs, distances_left, too_heavy
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Mask
from hpcsolve.parallel.comm import Comm

MOST_TERMINALS = 128
"""The most terminals that the kernels' sets can hold."""
CHEAP = 1 << 19
"""In a small graph, whose number of edges times that of its terminals is at most this, ascents are cheap."""
BOUND_RULE, SEPARATOR_RULE = 1, 2
"""The rules that discard states (cuda_src/steiner/subset_program.cu), as bits."""


@dataclass(frozen=True)
class Cuts:
    """A dual ascent as the bound rule needs it.

    Attributes
    ----------
    root, bound
        The number of the root among the terminals; the sum of the dual values.
    sets, duals
        Shape (cuts, words) and (cuts,): the terminals in the cuts, each set once, and the sums of their dual values.
    reach
        Shape (n,): distances from the root in what is left of the weights.
    """

    root: int
    bound: int
    sets: NDArray[np.uint64]
    duals: NDArray[np.uint64]
    reach: NDArray[np.uint64]


@dataclass(frozen=True)
class Space:
    """The problem as the program's kernels read it.

    Attributes
    ----------
    net, words
        The network, and the number of 64-bit words in a set of its terminals.
    rules
        `BOUND_RULE` and `SEPARATOR_RULE`, or one of them, or 0 for none.
    ascents
        The kernels' group of that name.
    part
        As in `Layers`.
    """

    net: Network
    words: int
    rules: int
    ascents: dict[str, Given]
    part: NDArray[np.uint64]

    @property
    def terminals(self) -> int:
        """Number of terminals."""
        return len(self.net.terminals)

    @property
    def half(self) -> int:
        """Number of terminals in the largest sets that are needed."""
        return self.terminals // 2

    def numbers(self) -> NDArray[np.uint32]:
        """Return the number of each terminal, by vertex."""
        return np.cumsum(self.net.is_terminal, dtype=np.uint32) - self.net.is_terminal

    @property
    def nbytes(self) -> int:
        """Bytes of the ascents."""
        return sum(table.nbytes for table in self.ascents.values() if isinstance(table, np.ndarray))


def is_small(terminals: int, edges: int) -> bool:
    """Return whether a graph is so small that ascents from all terminals pay, as they make the program shorter."""
    return terminals * edges <= CHEAP


def several_ascents(
    net: Network, comm: Comm, limit: int, words: int = 0, is_over: Callable[[int], bool] = lambda nbytes: False,
) -> tuple[list[Cuts], Mask] | None:
    """Return dual ascents, and which edges they show to be in no tree lighter than `limit`.

    Collective. The roots are all terminals in a small graph. In a large one they are half of them and one more, so that
    each set of at most half has a root outside: more roots would discard few more states. The ascents are dealt to the
    ranks, which exchange them one by one, so that no message is long. The result is None if the search must end before
    all ascents are done.

    Parameters
    ----------
    words
        Number of 64-bit words in a set, 0 for as many as are needed.
    is_over
        Called before each ascent with the bytes that all of them take. Returns whether the search must end. Collective.
    """
    words, arcs, every = words or -(-len(net.terminals) // 64), Arcs(net), list[Cuts]()
    heavy = np.zeros(len(net.edges), dtype=bool)
    k = len(net.terminals)
    count = k if is_small(k, len(net.edges)) else k // 2 + 1
    for first in range(0, count, comm.size):
        if is_over(16 * net.n * count):
            return None
        number = first + comm.rank
        mine = _cuts(arcs, number * k // count, words, limit) if number < count else None
        for found in comm.allgather(mine):
            if found is not None:
                every.append(found[0])
                heavy |= found[1]
    return every, heavy


def space_of(net: Network, every: Sequence[Cuts], rules: int = BOUND_RULE | SEPARATOR_RULE) -> Space:
    """Return what the program needs of a problem with 2 to `MOST_TERMINALS` terminals, given several ascents."""
    begin = np.cumsum([0, *(len(cuts.duals) for cuts in every)]).astype(np.uint64)
    ascents: dict[str, Given] = {
        "count": len(every), "roots": np.array([cuts.root for cuts in every], np.uint32),
        "bounds": np.array([cuts.bound for cuts in every], np.uint64), "begin": begin,
        "cuts": np.concatenate([cuts.sets for cuts in every]).reshape(-1),
        "duals": np.concatenate([cuts.duals for cuts in every]),
        "reach": np.stack([cuts.reach for cuts in every], axis=1).reshape(-1),
    }
    return Space(net, every[0].sets.shape[1], rules, ascents, _parts(net))


def _cuts(arcs: Arcs, root: int, words: int, limit: int) -> tuple[Cuts, Mask]:
    """Return the ascent from terminal number `root`, and the edges in no tree lighter than `limit` by it.

    Cuts with the same terminals become one.
    """
    found = ascent(arcs.net, root, words)
    order = np.lexsort(found.cuts.T)
    sets = found.cuts[order]
    first = np.flatnonzero(np.concatenate([[True], (sets[1:] != sets[:-1]).any(axis=1)]))
    duals = np.add.reduceat(found.bound.duals[order], first)
    ways = distances_left(arcs, found)
    return Cuts(root, found.bound.value, sets[first], duals, ways.down), too_heavy(arcs, found, ways, limit)


def _parts(net: Network) -> NDArray[np.uint64]:
    """Return in which of the `BLOCKS` parts each vertex is. A part is a stretch of a breadth-first search."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    ones = np.ones(len(net.heads), np.int8)
    pattern = csr_array((ones, net.heads.astype(np.int32), net.offsets.astype(np.int32)), shape=(net.n, net.n))
    walk = breadth_first_order(pattern, int(net.terminals[0]), directed=False, return_predecessors=False)
    place = np.zeros(net.n, np.uint64)
    place[walk] = np.arange(len(walk)) * BLOCKS // max(1, len(walk))
    return place

"""What the program needs of the reduced graph: its network, and dual ascents from all terminals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.dual_ascent import ascent
from hpcsolve.algorithms.steiner_kmb.exact.families import BLOCKS
from hpcsolve.algorithms.steiner_kmb.network import Given, Network
from hpcsolve.algorithms.steiner_kmb.reductions.reduced_cost import Arcs, distances_left
from hpcsolve.parallel.comm import Comm

MOST_TERMINALS = 128
"""The most terminals that the kernels' sets can hold."""
BOUND_RULE, SEPARATOR_RULE = 1, 2
"""The rules that discard states (cuda_src/steiner/subset_program.cu), as bits."""


@dataclass(frozen=True)
class Cuts:
    """A dual ascent as the bound rule needs it.

    Attributes
    ----------
    bound
        The sum of the dual values.
    sets, duals
        Shape (cuts, words) and (cuts,): the terminals in the cuts, each set once, and the sums of their dual values.
    reach
        Shape (n,): distances from the root in what is left of the weights.
    """

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


def space_of(
    net: Network, comm: Comm, rules: int = BOUND_RULE | SEPARATOR_RULE, words: int = 0,
    is_over: Callable[[int], bool] = lambda nbytes: False,
) -> Space | None:
    """Return what the program needs of a problem with 2 to `MOST_TERMINALS` terminals. Collective.

    The result is None if the search must end before all ascents are done. They are dealt to the ranks, which exchange
    them one by one, so that no message is long.

    Parameters
    ----------
    words
        Number of 64-bit words in a set, 0 for as many as are needed.
    is_over
        Called before each ascent with the bytes that all of them take. Returns whether the search must end. Collective.
    """
    words, arcs, every = words or -(-len(net.terminals) // 64), Arcs(net), list[Cuts]()
    for first in range(0, len(net.terminals), comm.size):
        if is_over(16 * net.n * len(net.terminals)):
            return None
        root = first + comm.rank
        mine = _cuts(arcs, root, words) if root < len(net.terminals) else None
        every += [cuts for cuts in comm.allgather(mine) if cuts is not None]
    begin = np.cumsum([0, *(len(cuts.duals) for cuts in every)]).astype(np.uint64)
    ascents: dict[str, Given] = {
        "bounds": np.array([cuts.bound for cuts in every], np.uint64), "begin": begin,
        "cuts": np.concatenate([cuts.sets for cuts in every]).reshape(-1),
        "duals": np.concatenate([cuts.duals for cuts in every]),
        "reach": np.stack([cuts.reach for cuts in every], axis=1).reshape(-1),
    }
    return Space(net, words, rules, ascents, _parts(net))


def _cuts(arcs: Arcs, root: int, words: int) -> Cuts:
    """Return the ascent from terminal number `root`. Cuts with the same terminals become one."""
    found = ascent(arcs.net, root, words)
    sets, member = np.unique(found.cuts, axis=0, return_inverse=True)
    duals = np.zeros(len(sets), np.uint64)
    np.add.at(duals, member.reshape(-1), found.bound.duals)
    reach, _ = distances_left(arcs, found.bound.root, found.rest)
    return Cuts(found.bound.value, sets, duals, reach)


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

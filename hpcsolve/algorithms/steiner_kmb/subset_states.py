"""States of the program over sets of terminals, and what the program needs of the graph: several dual ascents.

A state is a set of terminals and a vertex; a family is all states of one set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.bounds import ascent
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Mask, first_of_runs
from hpcsolve.device.host import Given
from hpcsolve.parallel.comm import Comm

CELLS = 64
"""Number of cells into which the vertices are divided. A family has a bit for each cell in which it has a vertex."""
MOST_TERMINALS = 128
"""The most terminals that the functions' sets can hold."""
CHEAP = 1 << 19
"""The number of edges times that of terminals up to which a graph is small: ascents are cheap there."""
BOUND_RULE, SEPARATOR_RULE = 1, 2
"""The rules that discard states (cuda_src/host/subset_program.cpp), as bits."""


@dataclass(frozen=True)
class Families:
    """The families of one layer, sorted by set (the last word is the most significant), or several layers in turn.

    Attributes
    ----------
    sets
        Shape (families, words), uint64: a bit for each terminal, by its number.
    begin
        Shape (families + 1,), uint64: where each family's states begin.
    vertices, weights
        Shape (states,), uint32 and uint64, by ascending vertex in each family.
    least
        Shape (families,), uint64: a lower bound on the weight of the trees that have one of the family's states.
    """

    sets: NDArray[np.uint64]
    begin: NDArray[np.uint64]
    vertices: NDArray[np.uint32]
    weights: NDArray[np.uint64]
    least: NDArray[np.uint64]

    def __len__(self) -> int:
        """Number of families."""
        return len(self.sets)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in vars(self).values())

    @classmethod
    def none(cls, words: int) -> Families:
        """Return an empty layer, for sets of `words` words of 64 bits."""
        return cls(np.empty((0, words), np.uint64), np.zeros(1, np.uint64), np.empty(0, np.uint32),
                   np.empty(0, np.uint64), np.empty(0, np.uint64))

    @classmethod
    def of_states(cls, sets: NDArray[np.uint64], counts: NDArray[np.int64], vertices: NDArray[np.uint32],
                  weights: NDArray[np.uint64], least: NDArray[np.uint64]) -> Families:
        """Return the families of these sets, sorted, from their numbers of states and all states in the same order."""
        family = np.repeat(np.arange(len(counts)), counts)
        states = np.argsort(family * (int(vertices.max(initial=0)) + 1) + vertices)  # no two keys are equal
        return cls.joined([cls(sets, begins(counts), vertices[states], weights[states], least)])

    @classmethod
    def joined(cls, parts: Sequence[Families], by_set: bool = True) -> Families:
        """Return all families of several parts, sorted by set or one part after the other.

        The states of each family are sorted already. Beside the parts and the result it takes little memory if each
        part is small.
        """
        sets = np.concatenate([part.sets for part in parts])
        counts = np.concatenate([np.diff(part.begin) for part in parts]).astype(np.int64)
        order = np.lexsort(sets.T) if by_set else np.arange(len(sets))
        begin = begins(counts[order])
        starts = np.empty(len(order), np.int64)
        starts[order] = begin[:-1]
        vertices, weights, first = np.empty(begin[-1], np.uint32), np.empty(begin[-1], np.uint64), 0
        for part in parts:
            shift = starts[first : first + len(part)] - part.begin[:-1].astype(np.int64)
            rows = np.arange(len(part.vertices)) + np.repeat(shift, counts[first : first + len(part)])
            vertices[rows], weights[rows] = part.vertices, part.weights
            first += len(part)
        return cls(sets[order], begin, vertices, weights, np.concatenate([part.least for part in parts])[order])

    def weight(self, family: int, v: int) -> int | None:
        """Return the weight of a state, or None if it is not kept."""
        begin, end = int(self.begin[family]), int(self.begin[family + 1])
        place = begin + int(np.searchsorted(self.vertices[begin:end], v))
        return int(self.weights[place]) if place < end and self.vertices[place] == v else None

    def part(self, first: int, last: int) -> Families:
        """Return the families number `first` to `last - 1`."""
        begin = self.begin[first : last + 1]
        states = slice(int(begin[0]), int(begin[-1]))
        return Families(self.sets[first:last], begin - begin[0], self.vertices[states], self.weights[states],
                        self.least[first:last])


def begins(counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return where families with these numbers of states begin, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.uint64)


@dataclass
class Layers:
    """The families of all sizes so far, as the functions read them.

    Attributes
    ----------
    families
        The families of size 1, of size 2, ...
    sizes
        Numbers of families by size, from size 1.
    cell
        Shape (n,): which of the `CELLS` cells each vertex is in.
    cells
        Shape (families,): a bit for each cell in which the family has a vertex.
    """

    families: Families
    cell: NDArray[np.uint64]
    sizes: list[int] = field(default_factory=list)
    cells: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    def add(self, layer: Families) -> None:
        """Add the families of the next size."""
        bits = np.uint64(1) << self.cell[layer.vertices]
        found = np.bitwise_or.reduceat(bits, layer.begin[:-1].astype(np.int64)) if len(layer) else bits
        self.cells = np.concatenate([self.cells, found])
        self.families = Families.joined([self.families, layer], by_set=False)
        self.sizes.append(len(layer))

    def first_of(self, size: int) -> int:
        """Return the number of the first family of this size."""
        return sum(self.sizes[: size - 1])

    def group(self, half: int) -> dict[str, Given]:
        """Return the functions' group `all`, for sizes up to `half`. Sizes to come have no families yet."""
        layers = np.array([0, *(self.first_of(size) for size in range(1, half + 3))], np.uint64)
        own = self.families
        return {"sets": own.sets.reshape(-1), "layers": layers, "begin": own.begin, "cells": self.cells,
                "vertices": own.vertices, "weights": own.weights}

    @property
    def nbytes(self) -> int:
        """Bytes of all families."""
        return self.families.nbytes + self.cells.nbytes


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

    @classmethod
    def of(cls, net: Network, ascents: Sequence[Cuts], rules: int = BOUND_RULE | SEPARATOR_RULE) -> Space:
        """Return what the program needs of a problem with 2 to `MOST_TERMINALS` terminals, given its dual ascents.

        A cell is a stretch of a breadth-first order.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        begin = np.cumsum([0, *(len(cuts.duals) for cuts in ascents)]).astype(np.uint64)
        group: dict[str, Given] = {
            "count": len(ascents), "roots": np.array([cuts.root for cuts in ascents], np.uint32),
            "bounds": np.array([cuts.bound for cuts in ascents], np.uint64), "begin": begin,
            "cuts": np.concatenate([cuts.sets for cuts in ascents]).reshape(-1),
            "duals": np.concatenate([cuts.duals for cuts in ascents]),
            "reach": np.stack([cuts.reach for cuts in ascents], axis=1).reshape(-1),
        }
        ones = np.ones(len(net.heads), np.int8)
        pattern = csr_array((ones, net.heads.astype(np.int32), net.offsets.astype(np.int32)), shape=(net.n, net.n))
        walk = breadth_first_order(pattern, int(net.terminals[0]), directed=False, return_predecessors=False)
        cell = np.zeros(net.n, np.uint64)
        cell[walk] = np.arange(len(walk)) * CELLS // max(1, len(walk))
        return cls(net, ascents[0].sets.shape[1], rules, group, cell)

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
    k = len(net.terminals)
    words = words or -(-k // 64)
    ascents: list[Cuts] = []
    heavy = np.zeros(len(net.edges), dtype=bool)
    count = k if is_small(k, len(net.edges)) else k // 2 + 1
    for first in range(0, count, comm.size):
        if is_over(16 * net.n * count):
            return None
        number = first + comm.rank
        mine = _cuts(net, number * k // count, words, limit) if number < count else None
        for found in comm.allgather(mine):
            if found is not None:
                ascents.append(found[0])
                heavy |= found[1]
    return ascents, heavy


def _cuts(net: Network, root: int, words: int, limit: int) -> tuple[Cuts, Mask]:
    """Return the ascent from terminal number `root`, and the edges that it shows to be in no tree lighter than `limit`.

    Cuts with the same terminals become one.
    """
    found = ascent(net, root, words)
    order = np.lexsort(found.cuts.T)
    sets = found.cuts[order]
    first = np.flatnonzero(first_of_runs(sets))
    duals = np.add.reduceat(found.dual.duals[order], first)
    left = found.distances()
    return Cuts(root, found.dual.value, sets[first], duals, left[0]), found.too_heavy(limit, *left)

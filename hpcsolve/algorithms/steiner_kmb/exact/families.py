"""The families of states: for each set of terminals the vertices and weights that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.host import Given

CELLS = 64
"""Number of cells into which the vertices are divided. A family has a bit for each cell in which it has a vertex."""


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

    def part(self, first: int, last: int) -> Families:
        """Return the families number `first` to `last - 1`."""
        begin = self.begin[first : last + 1]
        states = slice(int(begin[0]), int(begin[-1]))
        return Families(self.sets[first:last], begin - begin[0], self.vertices[states], self.weights[states],
                        self.least[first:last])


def no_families(words: int) -> Families:
    """Return an empty layer, for sets of `words` words of 64 bits."""
    return from_states(np.empty((0, words), np.uint64), np.empty(0, np.int64), np.empty(0, np.uint32),
                       np.empty(0, np.uint64), np.empty(0, np.uint64))


def from_states(sets: NDArray[np.uint64], counts: NDArray[np.int64], vertices: NDArray[np.uint32],
                weights: NDArray[np.uint64], least: NDArray[np.uint64]) -> Families:
    """Return the families of these sets, sorted, from their numbers of states and all states in the same order."""
    family = np.repeat(np.arange(len(counts)), counts)
    states = np.argsort(family * (int(vertices.max(initial=0)) + 1) + vertices)  # no two keys are equal
    return joined([Families(sets, begins(counts), vertices[states], weights[states], least)])


def joined(parts: Sequence[Families]) -> Families:
    """Return all families of several parts, sorted by set. The states of each are sorted already.

    Beside the parts and the result it takes little memory if each part is small.
    """
    sets, counts = np.concatenate([part.sets for part in parts]), _counts(parts)
    order = np.lexsort(sets.T)
    begin = begins(counts[order])
    starts = np.empty(len(order), np.int64)
    starts[order] = begin[:-1]
    vertices, weights, first = np.empty(begin[-1], np.uint32), np.empty(begin[-1], np.uint64), 0
    for part in parts:
        shift = starts[first : first + len(part)] - part.begin[:-1].astype(np.int64)
        rows = np.arange(len(part.vertices)) + np.repeat(shift, counts[first : first + len(part)])
        vertices[rows], weights[rows] = part.vertices, part.weights
        first += len(part)
    return Families(sets[order], begin, vertices, weights, np.concatenate([part.least for part in parts])[order])


def stacked(layers: Sequence[Families]) -> Families:
    """Return the families of all layers, one layer after the other."""
    return Families(np.concatenate([layer.sets for layer in layers]), begins(_counts(layers)),
                    np.concatenate([layer.vertices for layer in layers]),
                    np.concatenate([layer.weights for layer in layers]),
                    np.concatenate([layer.least for layer in layers]))


def runs(sets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return where each run of equal sets begins."""
    return np.flatnonzero(np.concatenate([np.ones(min(len(sets), 1), bool), (sets[1:] != sets[:-1]).any(axis=1)]))


def _counts(parts: Sequence[Families]) -> NDArray[np.int64]:
    """Return the numbers of states of all families of all parts."""
    return np.concatenate([np.diff(part.begin) for part in parts]).astype(np.int64)


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
        self.families = stacked([self.families, layer])
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

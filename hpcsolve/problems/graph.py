"""Weighted graphs in compressed sparse rows (CSR): the arcs that leave a vertex stand together, their heads ascend.

Of parallel arcs the lightest one is kept, and loops are dropped, since no shortest path or tree needs them; both are
counted. An undirected graph holds each edge as two arcs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.labels import positions_of
from hpcsolve.problems.rounding import Rounding
from hpcsolve.problems.weights import Weights

LARGEST_ORDER = 2**31 - 1
"""Largest number of vertices, since positions are 32-bit integers."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with weights of at least 0, and perhaps with the terminals of a Steiner problem.

    Attributes
    ----------
    offsets
        Shape (n + 1,), int64: the arcs that leave vertex v are `offsets[v]` to `offsets[v + 1]` of `heads`, `weights`.
    heads
        Shape (m,), int32: positions 0..n-1, strictly ascending in each row.
    weights
        Shape (m,), uint32, uint64 or float64 (see `problems.weights`); in the input's own unit `weights / scale`.
    directed
        If False, each edge stands in both directions, with the same weight.
    labels
        Shape (n,), int64: the numbers of the vertices in the input.
    rounding
        How weights were rounded, with the given ones by the index of the arc; None if weights are as they were given.
    coordinates
        Shape (n, 2 or 3), float64, as in the input, or None.
    terminals
        Positions of the terminals, int64, in the input's order, or None.
    vertex_names
        A name for each vertex where the input has names in place of numbers, else empty.
    coordinates_kind
        `geographic.DEGREES` if coordinates are latitudes and longitudes, else empty.
    parallel_arcs, loops, repeated_terminals
        Number of arcs (edges of an undirected graph) and of terminals that were dropped.
    notes
        How the input was taken, and what it has beside the graph, in lines for the log of a run (see `problems.notes`).
    """

    name: str
    offsets: NDArray[np.int64]
    heads: NDArray[np.int32]
    weights: Weights
    directed: bool
    labels: NDArray[np.int64]
    scale: int = 1
    coordinates: NDArray[np.float64] | None = None
    terminals: NDArray[np.int64] | None = None
    comment: str = ""
    vertex_names: tuple[str, ...] = ()
    coordinates_kind: str = ""
    parallel_arcs: int = 0
    loops: int = 0
    repeated_terminals: int = 0
    rounding: Rounding | None = None
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def arcs(self) -> int:
        """Number of arcs, two for each edge of an undirected graph."""
        return len(self.heads)

    @property
    def edges(self) -> int:
        """Number of edges of an undirected graph, of arcs of a directed one."""
        return self.arcs if self.directed else self.arcs // 2

    def tails(self) -> NDArray[np.int32]:
        """Return the vertex that each arc leaves, shape (m,)."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.offsets))


def vertex_positions(graph: Graph, vertices: ArrayLike | Iterable[Any]) -> NDArray[np.int64]:
    """Return the positions (from 0) of vertices by label or name, with the errors of `positions_of`."""
    return positions_of(graph.labels, vertices, graph.name, "vertex", "vertices", graph.vertex_names)


def with_terminals_at(graph: Graph, positions: NDArray[np.int64]) -> Graph:
    """Return the graph with the vertices at these positions as its terminals. Repeated ones are dropped and counted."""
    first = np.sort(np.unique(positions, return_index=True)[1])
    return replace(graph, terminals=positions[first], repeated_terminals=len(positions) - len(first))


def require_order(n: int, name: str) -> None:
    """Refuse a number of vertices that is negative or does not fit 32 bits.

    Raises
    ------
    InputError
        The message names the largest number.
    """
    if not 0 <= n <= LARGEST_ORDER:
        raise InputError(f"{n} vertices; a graph has 0 to {LARGEST_ORDER}", name)


def require_in_range(values: NDArray[np.int64], n: int, name: str, message: str) -> None:
    """Refuse positions out of range 0..n-1.

    Parameters
    ----------
    message
        For the first wrong position, with fields `{index}` and `{value}`.

    Raises
    ------
    InputError
        A position is out of range.
    """
    if values.size and (values.min() < 0 or values.max() >= n):
        index = int(np.argmax((values < 0) | (values >= n)))
        raise InputError(message.format(index=index, value=values[index]), name)

"""Reduces rows of distances in plain numpy, independently of the algorithms, for the check of their reductions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.verify.distances import NO_VERTEX, unreached_of
from hpcsolve.problems.verify.host_paths import distance_rows

BATCH = 16
"""Number of rows that are searched again at a time."""


@dataclass(frozen=True)
class Reduction:
    """What is kept of each row of distances in place of the row itself.

    Attributes
    ----------
    cutoffs
        The number of targets within each of these distances is kept. In the unit of `graph.weights`.
    nearest
        Number of nearest targets that are kept.
    sums, farthest
        Whether the sum of the distances is kept, and the farthest target.
    whole
        Whether all vertices are sources and targets, so that radius, diameter and centre of the graph are known.
    """

    cutoffs: tuple[int | float, ...] = ()
    nearest: int = 0
    sums: bool = False
    farthest: bool = False
    whole: bool = False


def reduced_row(distance: NDArray[Any], names: NDArray[np.int64], reduction: Reduction) -> dict[str, Any]:
    """Return what is kept of a row, by the names of the datasets.

    Parameters
    ----------
    distance
        Shape (targets,), uint64 or float64; the largest value of the type (infinity) is unreached.
    names
        Shape (targets,): the position of each target.
    """
    none = unreached_of(distance.dtype)
    there = distance != none
    order = np.lexsort((names, distance))[: int(there.sum())]
    near, last = order[: reduction.nearest], distance[order[-1:]]
    farthest = names[there & (distance == (last[0] if len(last) else none))]
    missing = reduction.nearest - len(near)
    found: dict[str, Any] = {"reached": len(order)}
    if reduction.cutoffs:
        found["count"] = [int((distance[there] <= cutoff).sum()) for cutoff in reduction.cutoffs]
    if reduction.nearest:
        found["nearest_target"] = names[near].tolist() + missing * [NO_VERTEX]
        found["nearest_distance"] = distance[near].tolist() + missing * [none]
    if reduction.sums:
        found["sum"] = sum(distance[there].tolist())
    if reduction.farthest:
        found["farthest_target"] = int(farthest.min()) if len(farthest) else NO_VERTEX
        found["farthest_distance"] = last[0].item() if len(last) else none
    return found


def check_reductions(
    graph: Graph, sources: NDArray[np.int64], targets: NDArray[np.int64] | None, reduction: Reduction,
    claimed: Mapping[str, NDArray[Any]], rows: NDArray[np.int64], cutoff: float | None = None,
) -> None:
    """Search again from some of the sources, and check what is kept of their rows.

    Parameters
    ----------
    sources
        Positions, one for each row.
    targets
        Positions, or None for all vertices.
    claimed
        What is kept of all rows, by the names of the datasets.
    rows
        Numbers of the rows to check.
    cutoff
        In the unit of `graph.weights`: vertices farther away count as unreached.

    Raises
    ------
    ValueError
        A value is wrong. The message names the row and the dataset.
    """
    names = np.arange(graph.n) if targets is None else targets
    for begin in range(0, len(rows), BATCH):
        some = rows[begin : begin + BATCH]
        for row, distance in zip(some.tolist(), distance_rows(graph, sources[some], cutoff), strict=True):
            for name, found in reduced_row(distance[names], names, reduction).items():
                had = _widened(claimed[name][row]).tolist()
                if had != found:
                    raise ValueError(f"row {row}: {name} is {had}, but a search on the host finds {found}")


def _widened(values: NDArray[Any]) -> NDArray[Any]:
    """Return 32-bit distances as those of 64 bits, where another number stands for "unreached"."""
    if values.dtype != np.uint32:
        return values
    return np.where(values == unreached_of(np.uint32), np.uint64(unreached_of(np.uint64)), values.astype(np.uint64))

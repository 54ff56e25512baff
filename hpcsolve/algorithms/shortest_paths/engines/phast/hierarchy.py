"""A contraction hierarchy with weights, on which one sweep finds distances (cuda_src/paths/hierarchy.cu)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Contraction
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph, gathered, renumbered
from hpcsolve.device.base import Argument, Device

FILE = "paths/hierarchy"
AHEAD = 12
"""Number of arcs of padding behind the last one, because a sweep prefetches this far (`ahead` in phast.cu)."""


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy whose vertices are numbered from the top down.

    Attributes
    ----------
    graph
        The graph itself, with the vertices of the hierarchy.
    level
        Shape (levels + 1,), uint32: the first vertex of each level; (2,) if the vertices are in depth-first order.
    up_offsets, up_arcs
        Shapes (n + 1,), uint32, and (2 (arcs + AHEAD),), keys: the arcs from each vertex to higher ones, as
        (head, weight), and `AHEAD` arcs of padding.
    down_offsets, down_arcs
        The arcs to each vertex from higher ones, as (tail, weight); in an undirected graph the same arrays.
    levels
        Number of levels.
    """

    graph: SearchGraph
    level: NDArray[np.uint32]
    up_offsets: NDArray[np.uint32]
    up_arcs: NDArray[Any]
    down_offsets: NDArray[np.uint32]
    down_arcs: NDArray[Any]
    levels: int


@dataclass(frozen=True)
class _Weighted:
    """The arcs of a contraction with weights, by rank. `kept` has bit 0 set for arcs up that stay, bit 1 for down."""

    up: NDArray[Any]
    down: NDArray[Any]
    kept: NDArray[np.uint8]


def weighing_bytes(n: int, directed: bool, filled: int, keys: Keys) -> int:
    """Return the most bytes that `hierarchy` takes for a contraction of `filled` arcs, these arcs included."""
    return filled * (17 + (3 + directed) * keys.dtype.itemsize) + 48 * n + hierarchy_bytes(n, directed, filled, keys)


def hierarchy_bytes(n: int, directed: bool, filled: int, keys: Keys) -> int:
    """Return the most bytes of a hierarchy without its graph, for a contraction of `filled` arcs."""
    return (1 + directed) * (4 * (n + 1) + 2 * keys.dtype.itemsize * (filled + AHEAD)) + 4 * (n + 1)


def hierarchy(graph: SearchGraph, contraction: Contraction, keys: Keys, host: Device, in_levels: bool) -> Hierarchy:
    """Return the hierarchy of a graph that has been contracted.

    Parameters
    ----------
    host
        The CPU.
    in_levels
        Whether vertices are numbered by level, as a GPU wants them, or depth first, which suits caches.
    """
    weighted = _weighted(graph, contraction, keys, host)
    place, level, levels = _arranged(contraction, weighted, host, in_levels)
    up = _rows(contraction, place, weighted.up, weighted.kept & 1 != 0)
    down = up if weighted.down is weighted.up else _rows(contraction, place, weighted.down, weighted.kept & 2 != 0)
    new = np.empty_like(place)  # the new number of each vertex of the graph
    new[contraction.order] = place
    return Hierarchy(renumbered(graph, new), level, *up, *down, levels)


def _weighted(graph: SearchGraph, contraction: Contraction, keys: Keys, host: Device) -> _Weighted:
    """Return the arcs of a contraction with their weights, customised and pruned."""
    count = len(contraction.head)
    up = np.empty(count, keys.dtype)
    found = _Weighted(up, up if graph.in_arcs is graph.arcs else np.empty_like(up), np.empty(count, np.uint8))
    weights = {"up": host.output(found.up)}
    weights["down"] = weights["up"] if found.down is up else host.output(found.down)
    rows: Argument = {"n": graph.n, "first": host.constant(contraction.first), "head": host.constant(contraction.head),
                      **weights}
    host.kernel(FILE, f"hierarchy_customise_{keys.code}")(
        1, 1, h=rows, offsets=host.constant(graph.offsets), arcs=host.constant(graph.arcs),
        rank=host.constant(contraction.rank()))
    widest = int(np.diff(contraction.first).max(initial=0))
    other = host.empty(2 * widest, keys.dtype)
    host.kernel(FILE, f"hierarchy_prune_{keys.code}")(
        1, 1, h=rows, ties=not graph.plateaus, widest=widest, other=other, kept=host.output(found.kept))
    other.free()
    return found


def _arranged(contraction: Contraction, weighted: _Weighted, host: Device, in_levels: bool
              ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
    """Return the place of each rank in the new numbering, where levels begin in it, and their number."""
    n = len(contraction.order)
    place, level, counts = np.empty(n, np.uint32), np.empty(n + 1, np.uint32), np.empty(3, np.uint32)
    inside = {name: host.empty(n, np.uint32) for name in ("tier", "heads")}
    inside |= {"next": host.empty(n + 1, np.uint32), "below": host.empty(len(contraction.head), np.uint32)}
    host.kernel(FILE, "hierarchy_arrange")(
        1, 1, n=n, in_levels=in_levels, first=host.constant(contraction.first), head=host.constant(contraction.head),
        kept=host.constant(weighted.kept), place=host.output(place), level=host.output(level),
        counts=host.output(counts), **inside)
    for buffer in inside.values():
        buffer.free()
    levels = int(counts[0])
    return place, level[: levels + 1].copy() if in_levels else np.array([0, n], np.uint32), levels


def _rows(contraction: Contraction, place: NDArray[np.uint32], weights: NDArray[Any], stays: NDArray[np.bool_]
          ) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return the offsets and arcs that stay, by the place of their lower ends, as (higher end, weight) pairs."""
    before = np.concatenate([[0], np.cumsum(stays)])[contraction.first]  # arcs kept of all lower ranks
    order = np.empty(len(place), np.int64)  # the rank at each place
    order[place] = np.arange(len(place))
    arc, offsets = gathered(before, order)
    arcs = np.zeros((len(arc) + AHEAD, 2), weights.dtype)
    arcs[: len(arc), 0], arcs[: len(arc), 1] = place[contraction.head[stays]][arc], weights[stays][arc]
    return offsets.astype(np.uint32), arcs.reshape(-1)

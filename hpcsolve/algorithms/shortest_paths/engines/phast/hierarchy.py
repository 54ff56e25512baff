"""A contraction hierarchy with weights, on which one sweep finds distances (cuda_src/host/hierarchy.cpp)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Contraction
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph, gathered, renumbered
from hpcsolve.device.host import Given, HostDevice

FILE = "host/hierarchy"
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


def hierarchy(graph: SearchGraph, contraction: Contraction, keys: Keys, host: HostDevice, in_levels: bool) -> Hierarchy:
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


def _weighted(graph: SearchGraph, contraction: Contraction, keys: Keys, host: HostDevice) -> _Weighted:
    """Return the arcs of a contraction with their weights, customised and pruned."""
    count = len(contraction.head)
    up = np.empty(count, keys.dtype)
    found = _Weighted(up, up if graph.in_arcs is graph.arcs else np.empty_like(up), np.empty(count, np.uint8))
    host.call(
        FILE, f"hierarchy_weigh_{keys.code}", h=_arcs(contraction), ties=not graph.plateaus, up=found.up,
        graph={"offsets": graph.offsets, "arcs": graph.arcs, "rank": contraction.rank()},
        down=None if found.down is up else found.down, kept=found.kept)
    return found


def _arranged(contraction: Contraction, weighted: _Weighted, host: HostDevice, in_levels: bool
              ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
    """Return the place of each rank in the new numbering, where levels begin in it, and their number."""
    n = len(contraction.order)
    place = np.empty(n, np.uint32)
    level = host.call(FILE, "hierarchy_arrange", h=_arcs(contraction), kept=weighted.kept, in_levels=in_levels,
                      place=place)["level"]
    return place, level if in_levels else np.array([0, n], np.uint32), len(level) - 1


def _arcs(contraction: Contraction) -> dict[str, Given]:
    """Return the functions' group `h`."""
    return {"n": len(contraction.order), "first": contraction.first, "head": contraction.head}


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

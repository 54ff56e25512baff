"""The order and the arcs of a contraction hierarchy, from the topology of a graph (cuda_src/host/contraction.cpp)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph
from hpcsolve.device.host import Given, HostDevice

FILE = "host/contraction"
KEYS = 1 << 16
"""Number of stacks (`most_keys` in contraction.cpp)."""
TOO_MUCH_WORK, OUT_OF_ROOM = 1, 2
"""How contraction may end besides 0, finished (`ending` in contraction.cpp)."""
DENSEST = 4
"""Graphs with more arcs per vertex, on average, are not contracted at all."""
ROOM = 12
"""Entries of the lists of neighbours per vertex and arc."""
LEAST_ROOM = 1 << 18
"""The least number of entries, which is enough for any graph of two hundred vertices."""


@dataclass(frozen=True)
class Contraction:
    """An order of the vertices of a `SearchGraph`, and the arcs of a hierarchy in that order.

    Attributes
    ----------
    order
        Shape (n,), uint32: the vertex of each rank, which is contracted after those of lower ranks.
    first, head
        Shapes (n + 1,) and (arcs,), uint32: the ranks of the higher neighbours of each rank, ascending.
    work
        Steps that contraction has taken, as contraction.cpp counts them.
    """

    order: NDArray[np.uint32]
    first: NDArray[np.uint32]
    head: NDArray[np.uint32]
    work: int

    def rank(self) -> NDArray[np.uint32]:
        """Return the rank of each vertex, shape (n,)."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(len(self.order), dtype=np.uint32)
        return found


@dataclass(frozen=True)
class Refusal:
    """Why no hierarchy is made of a graph, in words for the log.

    Attributes
    ----------
    forever
        Whether there is none however much work it may take.
    """

    reason: str
    forever: bool = False


def room_for(n: int, arcs: int) -> int:
    """Return the most entries that all lists of neighbours may have together."""
    return min(max(ROOM * (n + arcs), LEAST_ROOM), 2**32 - 2)


def most_arcs(n: int, arcs: int) -> int:
    """Return the most arcs that the hierarchy of a graph may have."""
    return room_for(n, arcs) // 2


def contraction_bytes(n: int, arcs: int) -> int:
    """Return the most bytes that `contracted` takes: lists, the arcs twice, and words for vertices and arcs."""
    return 4 * room_for(n, arcs) + 8 * most_arcs(n, arcs) + 4 * (15 * n + 2 * arcs) + 4 * KEYS


def too_dense(n: int, arcs: int) -> Refusal | None:
    """Return a refusal if the graph has too many arcs for contraction to be tried, else None."""
    if arcs <= DENSEST * n and n:
        return None
    return Refusal(f"{arcs / max(n, 1):.1f} arcs per vertex, more than {DENSEST}: such graphs have no small separators")


def contracted(graph: SearchGraph, worth: int, host: HostDevice) -> Contraction | Refusal:
    """Return the contraction of a graph, or a refusal if it takes too much work or memory.

    Parameters
    ----------
    worth
        Contraction is given up as soon as the rest of it would take more steps. Its memory is limited by `room_for`.
    host
        The CPU.
    """
    n, arcs = graph.n, len(graph.arcs) // 2
    order, report = np.empty(n, np.uint32), np.empty(2, np.uint64)
    entering: dict[str, Given] = {"in_offsets": None, "tails": None}
    if graph.in_arcs is not graph.arcs:
        entering = {"in_offsets": graph.in_offsets, "tails": _ends(graph.in_arcs)}
    found = host.call(
        FILE, "contraction_contract", worth=worth, room=room_for(n, arcs), most=most_arcs(n, arcs), order=order,
        report=report, graph={"n": n, "offsets": graph.offsets, "heads": _ends(graph.arcs), **entering})
    ending, work = map(int, report)
    if ending == TOO_MUCH_WORK:
        return too_much_work(worth, n, arcs)
    if ending == OUT_OF_ROOM:
        return Refusal(_no_separators(f"{ROOM} list entries"), forever=True)
    return Contraction(order, found["first"], found["head"], work)


def too_much_work(worth: int, n: int, arcs: int) -> Refusal:
    """Return the refusal of a graph whose contraction takes more steps than it is worth."""
    return Refusal(_no_separators(f"{worth / (n + arcs):.3g} steps"))


def _no_separators(limit: str) -> str:
    """Return why a graph is refused whose contraction exceeds a limit."""
    return f"no small separators: contraction takes more than {limit} per vertex and arc"


def _ends(arcs: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the other ends of (end, weight) pairs."""
    return arcs[0::2].astype(np.uint32)

"""The order and the arcs of a contraction hierarchy, from the topology of a graph (cuda_src/paths/contraction.cu)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph
from hpcsolve.device.base import Device

FILE = "paths/contraction"
KEYS, SIZES = 1 << 16, 32
"""Number of stacks, and number of sizes of places (`most_keys` and `spare` in contraction.cu)."""
TOO_MUCH_WORK, OUT_OF_MEMORY = 1, 2
"""Outcomes of the kernel besides 0, finished (`outcome` in contraction.cu)."""
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
        Steps that contraction has taken, as contraction.cu counts them.
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


def contracted(graph: SearchGraph, worth: int, host: Device) -> Contraction | Refusal:
    """Return the contraction of a graph, or a refusal if it takes too much work or memory.

    Parameters
    ----------
    worth
        Contraction is given up as soon as the rest of it would take more steps. Its memory is limited by `room_for`.
    host
        The CPU.
    """
    n, arcs = graph.n, len(graph.arcs) // 2
    near, waiting, others = _workspace(n, arcs, host)
    try:
        return _contracted(graph, worth, host, near, waiting, others)
    finally:
        for buffer in (*near.values(), *waiting.values(), *others.values()):
            if not isinstance(buffer, int):
                buffer.free()


def _contracted(
    graph: SearchGraph, worth: int, host: Device, near: dict[str, Any], waiting: dict[str, Any], others: dict[str, Any]
) -> Contraction | Refusal:
    """Return what `contracted` returns, with the arrays of `_workspace`."""
    n, arcs = graph.n, len(graph.arcs) // 2
    order, report = np.empty(n, np.uint32), np.zeros(2, np.uint64)
    heads = host.constant(_ends(graph.arcs))
    tails = heads if graph.in_arcs is graph.arcs else host.constant(_ends(graph.in_arcs))
    host.kernel(FILE, "contraction_order")(
        1, 1, n=n, worth=worth, offsets=host.constant(graph.offsets), heads=heads,
        in_offsets=host.constant(graph.in_offsets), tails=tails, near=near, waiting=waiting, order=host.output(order),
        report=host.output(report), **others)
    outcome, work = map(int, report)
    if outcome == TOO_MUCH_WORK:
        return too_much_work(worth, n, arcs)
    if outcome == OUT_OF_MEMORY or int(near["count"].download().sum(dtype=np.int64)) > most_arcs(n, arcs):
        return Refusal(_no_separators(f"{ROOM} list entries"), forever=True)
    return _sorted(order, near, host, work)


def too_much_work(worth: int, n: int, arcs: int) -> Refusal:
    """Return the refusal of a graph whose contraction takes more steps than it is worth."""
    return Refusal(_no_separators(f"{worth / (n + arcs):.3g} steps"))


def _no_separators(limit: str) -> str:
    """Return why a graph is refused whose contraction exceeds a limit."""
    return f"no small separators: contraction takes more than {limit} per vertex and arc"


def _ends(arcs: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the other ends of (end, weight) pairs."""
    return arcs[0::2].astype(np.uint32)


def _workspace(n: int, arcs: int, host: Device) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the kernel's groups `near` and `waiting`, and its other arrays to work in."""
    room = room_for(n, arcs)
    near = {name: host.empty(n, np.uint32) for name in ("begin", "count", "bits")}
    near["entry"], near["spare"] = host.empty(room, np.uint32), host.empty(SIZES, np.uint32)
    near["used"] = host.zeros(1, np.uint32)
    waiting = {name: host.empty(n, np.uint32) for name in ("key", "before", "after")}
    waiting["first"] = host.empty(KEYS, np.uint32)
    for empty in (near["spare"], waiting["first"]):
        empty.fill(255)
    return {"room": room, **near}, waiting, {name: host.zeros(n, np.uint32) for name in ("depth", "mark")}


def _sorted(order: NDArray[np.uint32], near: dict[str, Any], host: Device, work: int) -> Contraction:
    """Return the contraction from the order and the lists of neighbours that the kernel has left."""
    n = len(order)
    count = int(near["count"].download().sum(dtype=np.int64))
    found = Contraction(order, np.empty(n + 1, np.uint32), np.empty(count, np.uint32), work)
    inside = {"next": host.empty(n + 1, np.uint32), "below": host.empty(count, np.uint32)}
    host.kernel(FILE, "contraction_arcs")(
        1, 1, n=n, entry=near["entry"], begin=near["begin"], count=near["count"], order=host.constant(order),
        rank=host.constant(found.rank()), first=host.output(found.first), head=host.output(found.head), **inside)
    for buffer in inside.values():
        buffer.free()
    return found

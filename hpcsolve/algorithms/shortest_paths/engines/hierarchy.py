"""Contraction hierarchies: order and arcs, weights, and the parts of them that sweeps need.

The order and the arcs follow from the graph's topology (cuda_src/host/contraction.cpp), then the arcs get weights, with
which one sweep finds distances (cuda_src/host/hierarchy.cpp). Across arcs of weight 0 predecessors need a rule of their
own (cuda_src/paths/plateaus.cu). If distances to some targets are wanted alone, a sweep goes over the part of a
hierarchy above them (RPHAST: Delling, Goldberg, Werneck: Faster Batched Shortest Paths in Road Networks, ATMOS 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.search_graph import Keys, SearchGraph, gathered
from hpcsolve.device.host import Given, HostDevice

CONTRACTION_FILE, HIERARCHY_FILE, PLATEAUS_FILE = "host/contraction", "host/hierarchy", "paths/plateaus"
STACKS = 1 << 16
"""Number of stacks (`most_keys` in contraction.cpp)."""
UNLIMITED = 2**63
"""More steps than contraction ever takes."""
TOO_MUCH_WORK, OUT_OF_ROOM = 1, 2
"""How contraction may end besides 0, finished (`ending` in contraction.cpp)."""
ROOM = 12
"""Entries of the lists of neighbours per vertex and arc."""
LEAST_ROOM = 1 << 18
"""The least number of entries, which is enough for any graph of two hundred vertices."""
AHEAD = 12
"""Number of arcs of padding behind the last one, because a sweep prefetches this far (`ahead` in phast.cu)."""
NO_MEMBER = NO_PARENT = np.uint32(2**32 - 1)
PART = 512
"""The most vertices of a part in the lowest stage (`number_in_parts` in hierarchy.cpp)."""
MOST_SWEPT = 0.5
"""A sweep that would still go over more than this part of the hierarchy's arcs is not restricted: it saves little."""


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

    def rows(
        self, place: NDArray[np.uint32], weights: NDArray[Any], stays: NDArray[np.bool_]
    ) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return the arcs that stay, by the place of their lower ends: offsets, and (higher end, weight) pairs."""
        before = np.concatenate([[0], np.cumsum(stays)])[self.first]  # arcs kept of all lower ranks
        order = np.empty(len(place), np.int64)  # the rank at each place
        order[place] = np.arange(len(place))
        arc, offsets = gathered(before, order)
        arcs = np.zeros((len(arc) + AHEAD, 2), weights.dtype)
        arcs[: len(arc), 0], arcs[: len(arc), 1] = place[self.head[stays]][arc], weights[stays][arc]
        return offsets.astype(np.uint32), arcs.reshape(-1)


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
        entering = {"in_offsets": graph.in_offsets, "tails": graph.in_arcs[0::2].astype(np.uint32)}
    found = host.call(
        CONTRACTION_FILE, "contraction_contract", worth=worth, room=room_for(n, arcs), most=most_arcs(n, arcs),
        order=order, report=report,
        graph={"n": n, "offsets": graph.offsets, "heads": graph.arcs[0::2].astype(np.uint32), **entering})
    ending, work = map(int, report)
    if ending == TOO_MUCH_WORK:
        return too_much(f"{worth / (n + arcs):.3g} steps")
    if ending == OUT_OF_ROOM:
        return too_much(f"{ROOM} list entries", forever=True)
    return Contraction(order, found["first"], found["head"], work)


def too_much(limit: str, forever: bool = False) -> Refusal:
    """Return the refusal of a graph whose contraction exceeds a limit."""
    return Refusal(f"no small separators: contraction takes more than {limit} per vertex and arc", forever)


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy whose vertices are numbered from the top down.

    Attributes
    ----------
    graph
        The graph itself, with the vertices of the hierarchy.
    launch, part, level
        uint32, each with one entry more than there are: the first part of each launch of a sweep, the first level of
        each part, the first vertex of each level. If the vertices are in depth-first order, there is one of each.
    parent
        Shape (n,), uint32: the vertex above each one in the elimination tree, `NO_PARENT` for roots.
    up_offsets, up_arcs
        Shapes (n + 1,), uint32, and (2 (arcs + AHEAD),), keys: the arcs from each vertex to higher ones, as
        (head, weight), and `AHEAD` arcs of padding.
    down_offsets, down_arcs
        The arcs to each vertex from higher ones, as (tail, weight); in an undirected graph the same arrays.
    levels
        The most vertices on a path of arcs that lead up.
    """

    graph: SearchGraph
    launch: NDArray[np.uint32]
    part: NDArray[np.uint32]
    level: NDArray[np.uint32]
    parent: NDArray[np.uint32]
    up_offsets: NDArray[np.uint32]
    up_arcs: NDArray[Any]
    down_offsets: NDArray[np.uint32]
    down_arcs: NDArray[Any]
    levels: int

    @classmethod
    def of(
        cls, graph: SearchGraph, contraction: Contraction, keys: Keys, host: HostDevice, in_parts: bool
    ) -> Hierarchy:
        """Return the hierarchy of a graph that has been contracted.

        Parameters
        ----------
        host
            The CPU.
        in_parts
            Whether vertices are numbered by part and level, as a GPU wants them, or depth first, which suits caches.
        """
        n, undirected = len(contraction.order), graph.in_arcs is graph.arcs
        arcs: dict[str, Given] = {"n": n, "first": contraction.first, "head": contraction.head}
        up = np.empty(len(contraction.head), keys.dtype)  # the weights of arcs up, by rank
        down = up if undirected else np.empty_like(up)
        kept = np.empty(len(up), np.uint8)  # bit 0 is set for arcs up that stay, bit 1 for arcs down
        host.call(
            HIERARCHY_FILE, f"hierarchy_weigh_{keys.code}", h=arcs, ties=not graph.plateaus, up=up,
            graph={"offsets": graph.offsets, "arcs": graph.arcs, "rank": contraction.rank()},
            down=None if undirected else down, kept=kept)
        place, parent, levels = np.empty(n, np.uint32), np.empty(n, np.uint32), np.zeros(1, np.uint32)
        arranged = host.call(HIERARCHY_FILE, "hierarchy_arrange", h=arcs, kept=kept, most=PART if in_parts else 0,
                             place=place, parent=parent, levels=levels)  # `place`: of each rank in the new numbering
        above = np.full(n, NO_PARENT)
        inner = np.flatnonzero(parent != NO_PARENT)
        above[place[inner]] = place[parent[inner]]
        rows_up = contraction.rows(place, up, kept & 1 != 0)
        rows_down = rows_up if undirected else contraction.rows(place, down, kept & 2 != 0)
        new = np.empty_like(place)  # the new number of each vertex of the graph
        new[contraction.order] = place
        return cls(graph.renumbered(new), arranged["launch"], arranged["part"], arranged["level"], above, *rows_up,
                   *rows_down, int(levels[0]))

    def above(self, targets: NDArray[np.uint32], keys: Keys) -> Restriction | None:
        """Return the part from which targets are reached downwards, or None if the sweep should go over all of it.

        A restricted sweep does not see all vertices, so nothing tells whether a distance has become too large for the
        keys. Where that could happen, all of the hierarchy is swept.

        Parameters
        ----------
        targets
            Vertices of the hierarchy.
        """
        heaviest = max(int(arcs[1::2].max(initial=0)) for arcs in (self.up_arcs, self.down_arcs))
        if 2 * self.levels * heaviest > keys.limit:  # no path has more arcs up, or down, than there are levels
            return None
        reached, new = np.zeros(self.graph.n, bool), np.unique(targets).astype(np.int64)
        while len(new):
            reached[new] = True
            tails = np.unique(self.down_arcs[0::2][gathered(self.down_offsets, new)[0]]).astype(np.int64)
            new = tails[~reached[tails]]
        above = np.flatnonzero(reached)
        arc, offsets = gathered(self.down_offsets, above)
        if len(arc) > MOST_SWEPT * int(self.down_offsets[-1]):
            return None
        arcs = np.zeros((len(arc) + AHEAD, 2), keys.dtype)
        arcs[: len(arc)] = self.down_arcs.reshape(-1, 2)[arc]
        part, level = _without_empty(self.part, np.searchsorted(above, self.level))
        launch, part = _without_empty(self.launch, part)
        return Restriction(above.astype(np.uint32), np.unique(launch), part, level, offsets.astype(np.uint32),
                           arcs.reshape(-1))


def _without_empty(first: NDArray[Any], begins: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return where things begin without those that are empty, and where groups of things begin among the rest."""
    filled = np.diff(begins) > 0
    left = np.concatenate([[0], np.cumsum(filled)])
    return left[first].astype(np.uint32), np.append(begins[:-1][filled], begins[-1]).astype(np.uint32)


def hierarchy_memory(
    n: int, arcs: int, directed: bool, keys: Keys, kept: int | None = None, weighed: bool = False
) -> tuple[int, int]:
    """Return the most bytes that a hierarchy takes without its graph, and that making it takes, itself included.

    Parameters
    ----------
    kept
        Number of arcs of a contraction that is kept, or None.
    weighed
        Whether it has the weights.
    """
    filled, width = most_arcs(n, arcs) if kept is None else kept, keys.dtype.itemsize
    own = (1 + directed) * (4 * (n + 1) + 2 * width * (filled + AHEAD)) + 16 * (n + 1)
    # Contraction: its lists, the arcs twice, and words for vertices and arcs.
    contracting = 4 * room_for(n, arcs) + 8 * most_arcs(n, arcs) + 4 * (15 * n + 2 * arcs) + 4 * STACKS
    weighing = filled * (17 + (3 + directed) * width) + 96 * n + own
    return own, max(0 if kept is not None else contracting, 0 if weighed else weighing)


def build_hierarchy(graph: SearchGraph, keys: Keys, in_parts: bool, threads: int) -> Hierarchy | Refusal:
    """Return a new hierarchy of a graph, however much work it takes, or a refusal if it takes too much memory.

    It is not cached. `kept.cached_hierarchy` takes one that an earlier run has built.
    """
    with HostDevice(threads) as host:
        found = contracted(graph, UNLIMITED, host)
        return found if isinstance(found, Refusal) else Hierarchy.of(graph, found, keys, host, in_parts)


@dataclass(frozen=True)
class Plateaus:
    """The vertices at the ends of arcs of weight 0, called members.

    Attributes
    ----------
    vertex
        Shape (members,), uint32: ascending.
    offsets, tail
        Shapes (members + 1,) and (arcs,), uint32: the arcs of weight 0 that enter each member, in the graph's order.
    """

    vertex: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    tail: NDArray[np.uint32]

    @classmethod
    def of(cls, graph: SearchGraph) -> Plateaus:
        """Return the plateaus of a graph."""
        pairs = graph.in_arcs.reshape(-1, 2)
        free = np.flatnonzero(pairs[:, 1] == 0)
        tail = pairs[free, 0].astype(np.uint32)
        head = (np.searchsorted(graph.in_offsets, free, side="right") - 1).astype(np.uint32)
        vertex = np.unique(np.concatenate([head, tail]))
        starts = np.searchsorted(head, np.append(vertex, 2**32))
        return cls(vertex, starts.astype(np.uint32), np.searchsorted(vertex, tail).astype(np.uint32))

    def members(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the member number of each vertex, `NO_MEMBER` for vertices that are no members."""
        if not len(self.vertex):
            return np.full(vertices.shape, NO_MEMBER)
        at = np.minimum(np.searchsorted(self.vertex, vertices), len(self.vertex) - 1)
        return np.where(self.vertex[at] == vertices, at, NO_MEMBER).astype(np.uint32)


@dataclass(frozen=True)
class Restriction:
    """The vertices from which the targets are reached downwards, and the arcs that enter them.

    Attributes
    ----------
    vertex
        Shape (vertices,), uint32: ascending.
    launch, part, level
        As in `Hierarchy`, of these vertices alone; levels begin in `vertex`.
    down_offsets, down_arcs
        The arcs to each of these vertices, as in `Hierarchy`.
    """

    vertex: NDArray[np.uint32]
    launch: NDArray[np.uint32]
    part: NDArray[np.uint32]
    level: NDArray[np.uint32]
    down_offsets: NDArray[np.uint32]
    down_arcs: NDArray[Any]


def restriction_bytes(n: int, arcs: int, keys: Keys) -> int:
    """Return the most bytes of a restriction of a hierarchy with so many vertices and arcs, and of making it."""
    return 25 * n + int(MOST_SWEPT * arcs) * (2 * keys.dtype.itemsize + 8)

"""Rounds of iterated 1-Steiner: what the ranks do together, and when they end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report, StopCriteria
from hpcsolve.algorithms.steiner_kmb.rows import RowSearch
from hpcsolve.algorithms.steiner_kmb.spanning import Candidates, Spanning, Tree, merged
from hpcsolve.algorithms.steiner_kmb.table import Table
from hpcsolve.parallel.comm import Comm

NOBODY = np.empty(0, np.uint32)


@dataclass
class Watch:
    """When to stop, as rank 0 says and all ranks agree.

    Attributes
    ----------
    target
        In the weights of the graph.
    """

    comm: Comm
    criteria: StopCriteria
    target: int | None
    started: float = field(default_factory=time.perf_counter)

    def is_over(self, weight: int | None = None) -> bool:
        """Whether the time is up, or a tree of this weight (on rank 0) is light enough. Collective."""
        if self.criteria.seconds is None and self.target is None:
            return False
        late = self.criteria.seconds is not None and time.perf_counter() - self.started >= self.criteria.seconds
        return self.comm.bcast(late or (weight is not None and self.target is not None and weight <= self.target))


@dataclass
class Rounds:
    """The table of all ranks and, on rank 0, the tree of nodes. All methods are collective.

    Attributes
    ----------
    nodes
        On rank 0.
    best
        The weight of the lightest tree so far, on rank 0.
    scale
        Of weights.
    number, relaxed
        Rounds so far; the arcs that this rank followed.
    """

    comm: Comm
    table: Table
    nodes: Spanning | None
    watch: Watch
    report: Report
    scale: int
    best: int = 0
    number: int = 0
    relaxed: int = 0

    def settle(self, search: RowSearch, new: NDArray[np.uint32]) -> None:
        """From these new nodes on (numbers, on rank 0), rounds until no vertex helps, or the time is up."""
        while True:
            vertices = self._search(search, new)
            if vertices is None:
                return
            self.number += 1
            self._mend(vertices)
            found = self._links(self.table.promising)
            new = NOBODY if found is None or self.nodes is None else self.nodes.accept(found)
            if not self.comm.bcast(len(new)) or self.watch.is_over(self.nodes.weight if self.nodes else None):
                return

    def join(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Make nodes of these vertices (positions, on rank 0) that are none, as far as there is room; their numbers."""
        others = self.comm.bcast(NOBODY if self.nodes is None else np.setdiff1d(vertices, self.nodes.vertex))
        found = self._links(lambda tree: self.table.linked(tree, others))
        return NOBODY if found is None or self.nodes is None else self.nodes.accept(found, whatever=True)

    def shake(self, key: int) -> None:
        """Take out half of the nodes that are no terminals, so that others may come; the key decides which."""
        if self.nodes is not None:
            self.nodes.shake(key)
        self._mend(self.comm.bcast(NOBODY if self.nodes is None else self.nodes.vertex))

    def _search(self, search: RowSearch, new: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
        """Bring the rows of new nodes, near ones together; their positions, or None if the time was up before."""
        chosen = NOBODY, NOBODY
        if self.nodes is not None:
            walk = self.nodes.walk()
            order = walk[np.isin(walk, new)]
            chosen = self.nodes.vertex[order], self.nodes.slot[order]
        vertices, slots = self.comm.bcast(chosen)
        relaxed, arrived = self.table.fill(search, vertices, slots, self._is_over)
        self.relaxed += relaxed
        return vertices if arrived else None

    def _mend(self, new: NDArray[np.uint32]) -> None:
        """Make the tree the minimum spanning tree, and drop nodes that are of no use, as long as there are any.

        As yet it lacks nothing but edges between new nodes; where nodes were dropped, it may lack others.
        """
        while True:
            found = self._links(partial(self.table.promising, vertices=new))
            if found is not None and self.nodes is not None:
                self.nodes.mend(found)
            if not self.comm.bcast(self.nodes is not None and self.nodes.drop()):
                return
            new = self.comm.bcast(NOBODY if self.nodes is None else self.nodes.vertex)

    def _links(self, find: Callable[[Tree], Candidates]) -> Candidates | None:
        """What all ranks find for the tree as it is, with links to nodes, on rank 0."""
        tree, order = (None, None) if self.nodes is None else self.nodes.tree()
        sent = self.comm.bcast(tree)
        assert sent is not None
        parts = self.comm.gather(find(sent))
        if parts is None or order is None:
            return None
        found = merged(parts)
        return replace(found, to=order[found.to])

    def _is_over(self, done: float) -> bool:
        """Whether to give up, when so much of a round's searches is behind us; the first round takes the longest."""
        if self.nodes is not None:
            best, now = (f"{weight / self.scale:.10g}" for weight in (self.best, self.nodes.weight))
            text = f"round {self.number + 1}: {len(self.nodes.vertex)} nodes, their tree {now}, best {best}"
            self.report(0.6 * done if self.number == 0 else 0.7 - 0.1 / self.number, text)
        return self.watch.is_over()

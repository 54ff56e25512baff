"""The rounds of iterated 1-Steiner, in which all ranks take part, and when they end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report, StopCriteria
from hpcsolve.algorithms.shortest_paths.engines.rows import RowSearch
from hpcsolve.algorithms.steiner_kmb.best.node_table import NodeTable
from hpcsolve.algorithms.steiner_kmb.best.node_tree import Candidates, NodeTree, PlacedTree, merged
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, Wish, agreed
from hpcsolve.checkpoint.store import State
from hpcsolve.parallel.comm import Comm

NO_VERTICES = np.empty(0, np.uint32)


@dataclass
class RoundStop:
    """The time limit of a run, by the first clock of any rank, its target, and interruptions of any rank.

    Attributes
    ----------
    target
        A weight, scaled as those of the graph.
    offset
        By how much a tree of the graph as it was read is heavier than its part in the reduced graph, whose weight
        `is_over` takes.
    checkpoints, nbytes
        The checkpoints, which also know of interruptions of this rank; the bytes that this rank writes into each.
    wish
        What all ranks have agreed to do: go on, save, or stop.
    met, broken_off
        The criterion that was met, in words, or ""; whether the run was interrupted before.
    saved
        Whether a checkpoint has been written since the interruption.
    """

    comm: Comm
    criteria: StopCriteria
    target: int | None
    checkpoints: Checkpoints = NONE
    nbytes: int = 0
    wish: Wish = Wish.GO_ON
    started: float = field(default_factory=time.perf_counter)
    met: str = ""
    broken_off: bool = False
    saved: bool = False
    offset: int = 0

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.started

    def is_over(self, weight: int | None = None) -> bool:
        """Return whether a criterion is met, with a tree of this weight (given on rank 0), or any rank is interrupted.

        Collective.
        """
        met = self._criterion(weight if self.comm.rank == 0 else None)
        votes = self.comm.allgather((met, self.checkpoints.wish(self.nbytes)))
        self.met = next((met for met, _ in votes if met), "")
        self.wish = agreed([wish for _, wish in votes])
        over, asked = bool(self.met), self.wish == Wish.STOP
        self.broken_off = asked and not over
        return over or asked

    def ends(self, weight: int | None, state: Callable[[], State] | None) -> bool:
        """Return whether the run must stop, as `is_over`. Save the state if it is time and `state` is given."""
        over = self.is_over(weight)
        if state is not None and self.wish != Wish.GO_ON and (self.broken_off or not over):
            self.checkpoints.save(state(), last=over)
            self.saved = over
        return over

    def is_late(self) -> bool:
        """Return whether this rank's time is up: then `is_over` will end the run."""
        return bool(self._criterion(None))

    def is_due(self) -> bool:
        """Return whether this rank's time is up or it is interrupted: then `is_over` will end the run."""
        return self.is_late() or self.checkpoints.wish(self.nbytes) == Wish.STOP

    def meets_target(self, weight: int) -> bool:
        """Return whether a tree of this weight meets the target."""
        if self.target is None or weight + self.offset > self.target:
            return False
        self.met = self._criterion(weight)
        return True

    def ended(self, rounds: int) -> str:
        """Return why the run ended early, in words, or "" if it was complete."""
        reason = "interrupted" if self.broken_off else self.met
        return reason and f"{reason} {f'in round {rounds}' if rounds else 'before the first round'}"

    def _criterion(self, weight: int | None) -> str:
        """Return the criterion that is met by now, in words, or ""."""
        if self.criteria.seconds is not None and self.seconds() >= self.criteria.seconds:
            return f"{self.criteria.seconds:g} s reached"
        if weight is not None and self.target is not None and weight + self.offset <= self.target:
            return f"target {self.criteria.target:.10g} reached"
        return ""


@dataclass
class Rounds:
    """The table of all ranks and, on rank 0, the tree of nodes. All methods are collective.

    Attributes
    ----------
    nodes
        The tree of nodes, on rank 0.
    scale
        Scale of the graph's weights, for messages.
    best
        The weight of the best tree so far, on rank 0.
    history
        As in `kmb.Work`.
    number, relaxed
        Number of rounds so far; number of arcs that this rank has relaxed.
    tree, joined, shakes
        The best tree so far, on rank 0; whether its branch vertices have been tried; number of shakes so far.
    state
        Returns the state before the rows of new nodes (numbers, on rank 0) are there. Collective.
    """

    comm: Comm
    table: NodeTable
    nodes: NodeTree | None
    stop: RoundStop
    report: Report
    scale: int
    best: int = 0
    history: list[tuple[int, float, int]] = field(default_factory=list)
    number: int = 0
    relaxed: int = 0
    tree: Indices | None = None
    joined: bool = False
    shakes: int = 0
    state: Callable[[Rounds, NDArray[np.uint32]], State] | None = None

    def is_over(self, new: NDArray[np.uint32], weight: int | None = None) -> bool:
        """Return whether the run must stop, before the rows of new nodes (numbers, on rank 0). Save if it is time."""
        return self.stop.ends(weight, None if self.state is None else partial(self.state, self, new))

    def must_save(self) -> bool:
        """Return whether the run was interrupted, and its last state has not been saved."""
        return self.state is not None and self.stop.broken_off and not self.stop.saved

    def note(self, weight: int) -> None:
        """Note the weight of the best tree so far."""
        self.best = weight
        self.history.append((self.number, self.stop.seconds(), weight + self.stop.offset))

    def settle(self, search: RowSearch, new: NDArray[np.uint32]) -> None:
        """Repeat rounds, first with these new nodes (numbers, on rank 0), until none helps or the run must stop."""
        while True:
            vertices = self._search(search, new)
            if vertices is None:
                return
            self.number += 1
            self._mend(vertices)
            found = self._links(self.table.promising)
            new = NO_VERTICES if found is None or self.nodes is None else self.nodes.accept(found)
            if not self.comm.bcast(len(new)) or self.is_over(new, self.nodes.weight if self.nodes else None):
                return

    def join(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Make nodes of vertices (positions, given on rank 0), as many as fit, and return the new nodes' numbers."""
        others = self.comm.bcast(NO_VERTICES if self.nodes is None else np.setdiff1d(vertices, self.nodes.vertex))
        found = self._links(lambda tree: self.table.linked(tree, others))
        return NO_VERTICES if found is None or self.nodes is None else self.nodes.accept(found, whatever=True)

    def shake(self, key: int) -> None:
        """Drop about half of the nodes that are no terminals, so that others may come. The key decides which."""
        if self.nodes is not None:
            self.nodes.shake(key)
        self._mend(self.comm.bcast(NO_VERTICES if self.nodes is None else self.nodes.vertex))

    def _search(self, search: RowSearch, new: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
        """Fill in the rows of new nodes, and return the nodes' positions, or None if the run was to stop first."""
        chosen = NO_VERTICES, NO_VERTICES
        if self.nodes is not None:
            walk = self.nodes.walk()
            order = walk[np.isin(walk, new)]
            chosen = self.nodes.vertex[order], self.nodes.slot[order]
        vertices, slots = self.comm.bcast(chosen)
        relaxed, arrived = self.table.fill(search, vertices, slots, partial(self._is_over, new))
        self.relaxed += relaxed
        return vertices if arrived else None

    def _mend(self, new: NDArray[np.uint32]) -> None:
        """Turn the tree into the minimum spanning tree and drop useless nodes, until there are none.

        At first only edges at new nodes may be missing from the tree. After nodes were dropped, any others may.
        """
        while True:
            found = self._links(partial(self.table.promising, vertices=new))
            if found is not None and self.nodes is not None:
                self.nodes.mend(found)
            if not self.comm.bcast(self.nodes is not None and self.nodes.drop()):
                return
            new = self.comm.bcast(NO_VERTICES if self.nodes is None else self.nodes.vertex)

    def _links(self, find: Callable[[PlacedTree], Candidates]) -> Candidates | None:
        """Return on rank 0 what all ranks find for the present tree, with links that lead to nodes."""
        tree, order = (None, None) if self.nodes is None else self.nodes.tree()
        sent = self.comm.bcast(tree)
        assert sent is not None
        parts = self.comm.gather(find(sent))
        if parts is None or order is None:
            return None
        found = merged(parts)
        return replace(found, to=order[found.to])

    def _is_over(self, new: NDArray[np.uint32], done: float) -> bool:
        """Report progress after this share of a round's searches, and return whether the run must stop."""
        if self.nodes is not None:
            weights = self.best, self.nodes.weight
            best, now = (f"{(weight + self.stop.offset) / self.scale:.10g}" for weight in weights)
            text = f"round {self.number + 1}: {len(self.nodes.vertex)} nodes, their tree {now}, best {best}"
            self.report(0.6 * done if self.number == 0 else 0.7 - 0.1 / self.number, text)
        return self.is_over(new)

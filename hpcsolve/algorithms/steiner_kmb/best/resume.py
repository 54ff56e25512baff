"""What mode best keeps in a checkpoint: the tree of nodes, their rows of the table, and the best tree so far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.best.node_table import PANEL, NodeTable
from hpcsolve.algorithms.steiner_kmb.best.rounds import NO_VERTICES, Rounds
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import Part, State, part
from hpcsolve.wording import counted

PANELS_AT_ONCE = 256
"""Panels of the table that are copied at a time."""


def state_of(rounds: Rounds, new: NDArray[np.uint32]) -> State:
    """Return the state while rows of new nodes (their numbers, on rank 0) may still be missing. Collective."""
    comm, nodes, table = rounds.comm, rounds.nodes, rounds.table
    slots = comm.bcast(None if nodes is None else _filled(nodes.slot, new, table))
    assert slots is not None
    parts = [_panels(table, slots, panels) for panels in _pieces(len(table.rows))]
    if nodes is not None:
        tree = np.empty(0, np.int64) if rounds.tree is None else rounds.tree.astype(np.int64)
        history = [(number, weight) for number, _, weight in rounds.history]
        arrays = {"vertex": nodes.vertex, "slot": nodes.slot, "parent": nodes.parent, "edge": nodes.edge, "new": new,
                  "filled": slots, "tree": tree,
                  "history": np.array(history, np.int64).reshape(-1, 2),
                  "seconds": np.array([seconds for _, seconds, _ in rounds.history], np.float64)}
        parts += [part(name, 0, values) for name, values in arrays.items()]
    numbers = {"round": rounds.number, "key": 0 if nodes is None else nodes.key, "joined": int(rounds.joined),
               "shakes": rounds.shakes, "seconds": rounds.stop.seconds()}
    return State(numbers, parts, f"in round {rounds.number + 1}, with {counted(len(slots), 'row')}")


def resume(saved: Saved, rounds: Rounds) -> NDArray[np.uint32]:
    """Set the rounds to those of a checkpoint, and return the numbers of the new nodes on rank 0, elsewhere none."""
    rounds.number, rounds.shakes = saved.integer("round"), saved.integer("shakes")
    rounds.joined = bool(saved.integer("joined"))
    rounds.stop.started -= float(saved.numbers["seconds"])
    table, slots = rounds.table, saved.gathered("filled", (), np.uint32)
    rows = table.rows
    for panels in _pieces(len(table.rows)):
        first = table.own.start // PANEL
        wanted = range(first + panels.start, first + panels.stop)
        rows[panels.start : panels.stop, slots] = saved.rows("rows", wanted, (len(slots), PANEL), rows.dtype)
    new = NO_VERTICES
    if (nodes := rounds.nodes) is not None:
        nodes.vertex, nodes.slot, nodes.parent, new = (
            saved.gathered(name, (), np.uint32) for name in ("vertex", "slot", "parent", "new"))
        nodes.edge, nodes.key = saved.gathered("edge", (), nodes.edge.dtype), saved.integer("key")
        rounds.tree = saved.gathered("tree", (), np.int64)
        seconds = saved.gathered("seconds", (), np.float64).tolist()
        rounds.history = [(number, at, weight) for (number, weight), at in
                          zip(saved.gathered("history", (2,), np.int64).tolist(), seconds)]
    table.ready[slots] = True
    return new


def _filled(slot: NDArray[np.uint32], new: NDArray[np.uint32], table: NodeTable) -> NDArray[np.uint32]:
    """Return the filled rows of the table: those of all nodes except new ones whose rows are not ready."""
    waiting = slot[new]
    return np.setdiff1d(slot, waiting[~table.ready[waiting]])


def _pieces(panels: int) -> Iterator[range]:
    """Return ranges of at most `PANELS_AT_ONCE` panels."""
    return (range(first, min(first + PANELS_AT_ONCE, panels)) for first in range(0, panels, PANELS_AT_ONCE))


def _panels(table: NodeTable, slots: NDArray[np.uint32], panels: range) -> Part:
    """Return the filled rows in some of this rank's panels."""
    shape = len(panels), len(slots), PANEL
    return Part("rows", table.own.start // PANEL + panels.start, shape, table.rows.dtype,
                lambda: table.rows[panels.start : panels.stop, slots])

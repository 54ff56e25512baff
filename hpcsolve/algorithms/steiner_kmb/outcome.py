"""What a run returns: the tree with its lower bound, and the tables beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.steiner_kmb.dual_ascent import Bound
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Edges, ReducedGraph
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree
from hpcsolve.answers import tree
from hpcsolve.answers.contents import Column, Dataset, DistanceTable, columns

Tables = Mapping[str, Mapping[str, Column]]

REDUCTIONS = {
    "vertices": Dataset("int64", "Vertices after the reductions"),
    "edges": Dataset("int64", "Edges after the reductions"),
    "contracted": Dataset("int64", "Edges of weight 0 that were contracted"),
    "parallel": Dataset("int64", "Parallel edges and loops that were dropped"),
    "ends": Dataset("int64", "Leaves that were dropped: vertices with one neighbour"),
    "passed": Dataset("int64", "Vertices with two neighbours that became part of an edge"),
    "terminals": Dataset("int64", "Of modes best and exact: edges in some lightest tree, which were contracted",
                         optional=True),
    "special": Dataset("int64", "Of modes best and exact: edges in no lightest tree, by the special distance",
                       optional=True),
    "lighter": Dataset("int64", "Of modes best and exact: edges in no tree lighter than the best one at that time",
                       optional=True),
}
"""The group `/reductions`."""
HISTORY = {
    "step": Dataset("int64", "Number of rounds before it", "row"),
    "seconds": Dataset("float64", "Since the start", "row", "s"),
    "best": Dataset("float64", "Weight of the best tree so far, in the instance's own unit", "row"),
}
"""The group `/history` of modes best and exact: a row for each better tree, and one for the best at the end."""
LAYERS = {
    "size": Dataset("int64", "Number of terminals in the sets", "layer"),
    "sets": Dataset("int64", "Sets of which states were kept", "layer"),
    "states": Dataset("int64", "States (a set and a vertex) that were kept", "layer"),
}
"""The group `/layers` of mode exact: a row for each size of sets. It is empty if reductions and bounds were enough."""


@dataclass(frozen=True)
class Certified:
    """A tree in the graph as it was read, with a lower bound on the weight of any tree.

    Attributes
    ----------
    optimal, proof
        As in `answers.tree.Tree`.
    """

    edges: Edges
    closure: ClosureTree
    lower_bound: int
    optimal: bool | None = None
    proof: str | None = None

    def answer(self, matrix: DistanceTable | None) -> tree.Tree:
        """Return the answer, with this rank's part of the matrix if there is one."""
        edges = self.edges.tails, self.edges.heads, self.edges.weights
        return tree.tree_from_edges(edges, self.lower_bound, self.closure.weight, self.closure.bottleneck, self.proof,
                                    matrix, self.optimal)


def tables_of(bound: Bound, smaller: ReducedGraph) -> Tables:
    """Return the groups `/prices` and `/reductions`."""
    prices = tree.Prices(bound.root, bound.terminals.astype(np.int32), bound.duals.astype(np.int64))
    sizes = {"vertices": smaller.graph.n, "edges": smaller.graph.edges}
    return {"prices": prices.group(), "reductions": columns(REDUCTIONS, {**sizes, **smaller.counts})}


def layers_of(sets: Sequence[int], states: Sequence[int]) -> Tables:
    """Return the group `/layers` with the numbers of sets and states of each size, from 1."""
    return {"layers": columns(LAYERS, {"size": np.arange(1, len(sets) + 1), "sets": np.array(sets, np.int64),
                                       "states": np.array(states, np.int64)})}


def history_of(rows: Sequence[tuple[int, float, int]], scale: int) -> Tables:
    """Return the group `/history` with these rows (`kmb.Work.history`), or no group if there are none.

    Parameters
    ----------
    scale
        A weight in the instance's own unit is weight / scale.
    """
    if not rows:
        return {}
    steps, seconds, weights = zip(*rows)
    best = np.array(weights, np.int64) / scale
    return {"history": columns(HISTORY, {"step": steps, "seconds": seconds, "best": best})}

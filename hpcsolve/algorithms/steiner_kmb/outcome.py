"""What a run gives back: the tree with what certifies it, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import Column, as_column
from hpcsolve.algorithms.steiner_kmb.dual_ascent import Bound
from hpcsolve.algorithms.steiner_kmb.reduce import Edges, ReducedGraph
from hpcsolve.algorithms.steiner_kmb.trees import ClosureTree
from hpcsolve.problems.verify.steiner_bound import ratio_of

Tables = Mapping[str, Mapping[str, Column]]


@dataclass(frozen=True)
class Answer:
    """A tree in the graph as it was read, and what no tree is lighter than."""

    tree: Edges
    closure: ClosureTree
    lower_bound: int

    @property
    def weight(self) -> int:
        """Of the tree, exact."""
        return int(self.tree.weights.sum())


def solution_of(answer: Answer) -> dict[str, Column]:
    """`/solution`."""
    tree, weight, least = answer.tree, answer.weight, answer.lower_bound
    text = "No Steiner tree of this instance is lighter; proven by /prices or by closure_mst"
    return {
        "u": as_column(tree.tails.astype(np.int32), "Ends of the tree's edges, the smaller position", "1", "edge"),
        "v": as_column(tree.heads.astype(np.int32), "Ends of the tree's edges, the larger position", "1", "edge"),
        "weight": as_column(tree.weights.astype(np.int64), "Weight of each edge, times /instance/scale", "1", "edge"),
        "lower_bound": Column(_int64(least), text),
        "ratio": Column(np.array(ratio_of(weight, least)), "So many times the optimum at most: cost / lower_bound"),
        "closure_mst": Column(_int64(answer.closure.weight), "Spanning tree of the terminals' distances: its weight"),
        "closure_bottleneck": Column(_int64(answer.closure.bottleneck), "Its longest edge"),
    }


def tables_of(bound: Bound, smaller: ReducedGraph) -> Tables:
    """`/prices` and `/reductions`."""
    return {"prices": _prices(bound), "reductions": _reductions(smaller)}


def _int64(number: int) -> Any:
    return np.array(number, dtype=np.int64)


def _prices(bound: Bound) -> dict[str, Column]:
    text = "Terminal (position) whose set of vertices asks for a price, in order"
    return {
        "root": Column(_int64(bound.root), "Position of the terminal that no set holds"),
        "terminal": as_column(bound.terminals.astype(np.int32), text, "1", "raise"),
        "price": as_column(bound.duals.astype(np.int64), "The price: all together are a lower bound", "1", "raise"),
    }


def _reductions(smaller: ReducedGraph) -> dict[str, Column]:
    texts = {
        "contracted": "Edges of weight 0 that were contracted",
        "parallel": "Parallel edges and loops that were dropped",
        "ends": "Vertices of one neighbour that were dropped",
        "passed": "Vertices of two that became part of an edge",
    }
    sizes = {
        "vertices": Column(_int64(smaller.graph.n), "Vertices that were left"),
        "edges": Column(_int64(smaller.graph.edges), "Edges that were left"),
    }
    return sizes | {name: Column(_int64(number), texts[name]) for name, number in smaller.counts.items()}

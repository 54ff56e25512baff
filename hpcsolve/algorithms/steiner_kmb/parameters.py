"""What the user asks: the `[steiner-kmb]` table of a job file."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hpcsolve.algorithms.shortest_paths.engines import ROW_ENGINES, RowEngineName, described
from hpcsolve.answers.tree import TreeQuestion
from hpcsolve.problems.graph import Graph


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The `[steiner-kmb]` table of a job file.

    Attributes
    ----------
    mode
        "fast": a tree grown by one search, on rank 0 alone; "kmb": as Kou, Markowsky and Berman published it, one
        search a terminal, spread over the ranks; "best": iterated 1-Steiner on the table of the terminals' distances to
        every vertex, which the ranks make by k searches and keep in slices. Mode best alone can be stopped: it ends
        with the round that it is in, and the tree that it has.
    engine
        Of modes kmb and best: how to search; the tree does not depend on it. (ENGINES); or an engine of shortest-paths.
    at_once
        Of engine p-pull: how many terminals, at least 1.
    shakes
        Of mode best: how often half of the nodes go, for others to come; the seed decides which. Each takes about as
        long as the rounds before it; four make trees lighter by a few tenths of a per cent.
    halt
        Of mode kmb, where a search ends: "bottleneck", at the longest edge of the terminals' spanning tree, which one
        search finds before; "terminals", when it has come to the last one, as published. The tree is the same.
    matrix
        Of mode kmb: whether the result has the table of distances between all terminals, too; each search then goes on
        to the last one.
    exchange
        Whether paths of the tree are exchanged for shorter ways as long as there are any, on rank 0: one or two seconds
        where there are 10^5 vertices, for a tree that is lighter by a per cent or so. Mode best always does.
    """

    mode: Literal["fast", "kmb", "best"] = "fast"
    engine: RowEngineName = "tile"
    at_once: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 8
    shakes: Annotated[int, msgspec.Meta(ge=0)] = 4
    halt: Literal["bottleneck", "terminals"] = "bottleneck"
    matrix: bool = False
    exchange: bool = False


Parameters.__doc__ = described(Parameters.__doc__, ROW_ENGINES)


def asked(graph: Graph, parameters: Parameters) -> TreeQuestion:
    """Return what is asked beside the tree."""
    return TreeQuestion(parameters.matrix)

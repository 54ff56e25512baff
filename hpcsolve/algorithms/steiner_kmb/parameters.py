"""The `[steiner-kmb]` table of a job file."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hpcsolve.algorithms.shortest_paths.engines import ROW_ENGINES, TerminalEngineName, described
from hpcsolve.answers.tree import TreeQuestion
from hpcsolve.problems.graph import Graph


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The `[steiner-kmb]` table of a job file.

    Attributes
    ----------
    mode
        "fast": a tree grown by one search, on rank 0 alone; "kmb": the method that Kou, Markowsky and Berman published,
        with one search per terminal, spread over the ranks; "best": reductions by bounds, then iterated 1-Steiner on
        a table of distances from the terminals to every vertex, which is spread over the ranks, then ruin and recreate;
        "exact": the lightest tree, with a proof, by reductions, mode best (if they leave more than 12 terminals), and
        dynamic programming over sets of terminals, which is spread over the ranks. Its time and memory cannot be
        foreseen. Modes best and exact honour [stop]: they end soon, with the best tree so far.
    engine
        Of modes kmb, best and exact: how to search; the tree does not depend on it. "auto": phast if the graph has at
        most 4 arcs per vertex and there are enough terminals for each core to pay for a hierarchy; else tile.
        (ENGINES); or an engine of shortest-paths.
    at_once
        Of engine p-pull: number of terminals that are searched from at once.
    shakes
        Of modes best and exact: how long ruin and recreate goes on, from a few hundredths of a second for each shake to
        a second and more in graphs of 10^5 vertices. With at most 64 terminals, half of the nodes of iterated 1-Steiner
        are also dropped at least this many times. The seed decides what is tried. Four shakes make trees lighter by a
        few tenths of a per cent.
    starts
        Of modes best and exact: number of independent searches by ruin and recreate, each as long as `shakes` says.
        They are dealt to the ranks and their CPU threads. The edges of all their trees are a smaller problem, which is
        solved in the same way, and so on as long as trees become lighter.
    halt
        Of mode kmb: where a search ends. "bottleneck": at the length of the longest edge of the terminals' spanning
        tree, which one search finds beforehand; "terminals": when the last terminal is settled, as published. The tree
        is the same.
    matrix
        Of mode kmb: whether the result also has the table of distances between all terminals. Each search then goes on
        to the last terminal.
    exchange
        Whether key-path exchange improves the tree, on rank 0. It takes one or two seconds for 10^5 vertices, and makes
        the tree lighter by about one per cent. Modes best and exact always do it.
    """

    mode: Literal["fast", "kmb", "best", "exact"] = "fast"
    engine: TerminalEngineName = "auto"
    at_once: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 8
    shakes: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 4
    starts: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 1
    halt: Literal["bottleneck", "terminals"] = "bottleneck"
    matrix: bool = False
    exchange: bool = False


Parameters.__doc__ = described(Parameters.__doc__, ROW_ENGINES)


def asked(graph: Graph, parameters: Parameters) -> TreeQuestion:
    """Return what the job asks for beside the tree."""
    return TreeQuestion(parameters.matrix)

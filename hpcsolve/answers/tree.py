"""A Steiner tree with a lower bound, and the prices (dual values of cuts) that prove the bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers import base
from hpcsolve.answers.contents import Column, Contents, DistanceTable, columns, datasets, own_unit, stored
from hpcsolve.answers.edges import EDGES, edges_group
from hpcsolve.answers.rounding import Worth, declared, exactly, rounding_group
from hpcsolve.answers.snaps import PLACES, place_lines, places_group
from hpcsolve.answers.tour import COST
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.check_distances import require
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.search_again import check_columns
from hpcsolve.problems.steiner import check_tree, closure_bound, closure_spanning_tree, ratio_of, replayed
from hpcsolve.problems.unrounded import unrounded_tree
from hpcsolve.wording import counted

ROWS_CHECKED = 256
"""About how many rows of the terminals' distances `verify` computes again."""
_BOUND = "No Steiner tree of this instance is lighter; proven by /prices, by closure_mst, or as /solution/proof says"
_PROOF = "Method that proves the lower bound: dual (/prices prove it), search (no short certificate), or another one"
_ENDS = "Ends of the tree's edges, the {} position"
_TERMINAL = "Position of the terminal whose cut (a set of vertices around it) gets the price, in order of the prices"
_MATRIX = "Distances between the terminals, in the order of /instance/terminal, times /instance/scale"
SHOWN = 12
"""Most edges of a tree that is printed in full."""
DUAL, SEARCH = "dual", "search"
"""The proofs of mode exact: the prices, or the search itself."""


@dataclass(frozen=True)
class Tree:
    """A tree in the graph as it was read, with weights in scaled integers.

    `u`, `v` and `weight` have shape (edges,). `matrix`, if it was asked for, has the distances between the terminals.
    """

    cost: int = stored("int64", COST, scaled=True)
    u: NDArray[np.int32] = stored("int32", _ENDS.format("smaller"), "edge")
    v: NDArray[np.int32] = stored("int32", _ENDS.format("larger"), "edge")
    weight: NDArray[np.int64] = stored("int64", "Weight of each edge, times /instance/scale", "edge", scaled=True)
    lower_bound: int = stored("int64", _BOUND, scaled=True)
    ratio: float = stored("float64", "Upper bound on cost / optimum: cost / lower_bound")
    closure_mst: int = stored("int64", "Spanning tree of the terminals' distances: its weight", scaled=True)
    closure_bottleneck: int = stored("int64", "Longest edge of that spanning tree", scaled=True)
    proof: str | None = stored("text", _PROOF, optional=True)
    optimal: bool | None = stored("bool", "Of mode exact: whether the tree is proven to be lightest", optional=True)
    matrix: DistanceTable | None = stored("uint32|uint64", _MATRIX, "terminal, to_terminal", scaled=True, optional=True)

    @base.judged
    def check(self, graph: Graph) -> base.Verdict:
        """Check the tree, the numbers beside it, and that the bound is neither too low nor above the tree's weight."""
        assert graph.terminals is not None
        weight = check_tree(graph, self.u, self.v, self.weight)
        known, bound = closure_spanning_tree(graph), int(self.lower_bound)
        least = closure_bound(known.weight, len(graph.terminals))
        claims = {
            "cost": (self.cost, weight),
            "closure_mst": (self.closure_mst, known.weight),
            "closure_bottleneck": (self.closure_bottleneck, known.bottleneck),
            "ratio": (self.ratio, ratio_of(weight, bound)),
        }
        for name, (claimed, right) in claims.items():
            require(claimed == right, f"{name} is {claimed}, not {right}")
        require(least <= bound <= weight,
                f"lower_bound is {bound}; closure_mst proves {least}, and the tree weighs {weight}")
        require(self.optimal is None or bool(self.optimal) == (bound == weight),
                f"optimal is {int(bool(self.optimal))}, but lower_bound is {bound} and the tree weighs {weight}")
        require(weight <= known.weight, f"the tree weighs {weight}, more than closure_mst, {known.weight}")
        return base.Verdict(True, "a pruned tree that joins the terminals; weights and closure_mst from the instance")


@dataclass(frozen=True)
class Prices:
    """The group `/prices`: a dual solution, whose prices (dual values of cuts) add up to the lower bound.

    `terminal` and `price` have shape (prices,).
    """

    root: int = stored("int64", "Position of the root, the terminal that is in none of the sets")
    terminal: NDArray[np.int32] = stored("int32", _TERMINAL, "raise")
    price: NDArray[np.int64] = stored(
        "int64", "Dual value of the cut, times /instance/scale: the sum of all is a lower bound", "raise", scaled=True)

    def group(self) -> dict[str, Column]:
        """Return the columns of `/prices`."""
        return columns(datasets(Prices), {"root": self.root, "terminal": self.terminal, "price": self.price})


@dataclass(frozen=True)
class TreeQuestion:
    """What a job asks for beside the tree: whether the distances between all terminals are stored too."""

    matrix: bool = False


def tree_from_edges(
    edges: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], lower_bound: int, closure_mst: int, closure_bottleneck: int,
    proof: str | None = None, matrix: DistanceTable | None = None, optimal: bool | None = None,
) -> Tree:
    """Return the record of a tree with these edges, with its cost and ratio computed.

    Parameters
    ----------
    edges
        Three arrays of shape (edges,): positions of the smaller and of the larger end, weights in scaled integers.
    lower_bound
        In scaled integers. It is proven by `Prices`, which the algorithm returns beside the tree, by `closure_mst`, or
        by another method.
    closure_mst, closure_bottleneck
        Weight and longest edge of a minimum spanning tree of the terminal distance graph (the metric closure).
    proof
        Name of that other method, or None. Of mode exact: `DUAL` or `SEARCH`.
    matrix
        This rank's rows of the distances between the terminals, or None if they were not asked for.
    optimal
        Whether the tree is proven to be lightest, or None if that was not asked.
    """
    cost = int(edges[2].sum())
    u, v, weight = (values.astype(kind) for values, kind in zip(edges, (np.int32, np.int32, np.int64)))
    ratio = ratio_of(cost, lower_bound)
    return Tree(cost, u, v, weight, lower_bound, ratio, closure_mst, closure_bottleneck, proof, optimal, matrix)


class TreeMixin(base.ResultPart):
    """The part of `hpcsolve.Result` about a Steiner tree."""

    @property
    @base.only_of("tree")
    def tree(self) -> list[tuple[Any, Any]]:
        """The edges of a Steiner tree, both ends by name or by number in the instance's file."""
        u, v = (self.named(self.contents.value("solution", name, [])) for name in ("u", "v"))
        return list(zip(u, v))

    @property
    @base.only_of("tree", "distances", "paths", "reductions")
    def terminals(self) -> list[Any]:
        """The terminals by name or by number in the instance's file, or empty."""
        return self.named(self.contents.value("instance", "terminal", []))


def _check_row(problem: Graph, row: int, distance: Any, where: str) -> None:
    """Raise a `ValueError`, which names the place, unless a row of the matrix is right."""
    assert problem.terminals is not None
    terminals = problem.terminals
    if wrong := base.message_of(check_columns, problem, terminals[row : row + 1], terminals, distance[None], first=row):
        raise ValueError(f"{where}: {wrong}")


class TreeType(base.AnswerType):
    """A Steiner tree, as an answer."""

    name, in_words, records = "tree", "a Steiner tree", (Tree,)
    row_values = "u"
    groups = declared("cost", "error", edges=EDGES, places=PLACES)

    def check(self, problem: Graph, question: TreeQuestion | None, answer: Tree, comm: Comm) -> base.Verdict:
        """Check a run's tree and all numbers beside it on rank 0, but not the prices.

        Of the matrix, the first and the last of rank 0's rows are checked.
        """
        return on_rank_0(comm, lambda: self._checked(problem, answer))

    @base.judged
    def _checked(self, problem: Graph, answer: Tree) -> base.Verdict:
        verdict, table = answer.check(problem), answer.matrix
        if not verdict.passed or table is None:
            return verdict
        for row in sorted({0, len(table.values) - 1}):
            _check_row(problem, table.first + row, table.values[row], "matrix")
        return base.Verdict(True, f"{verdict.reason}; two rows of the matrix found again by a search on the host")

    @base.judged
    def verify(
        self, contents: Contents, answer: Tree, problem: Graph, question: TreeQuestion, rows: base.RowBlocks
    ) -> base.Verdict:
        """Check the tree in a result file, the numbers beside it, and the lower bound by its prices."""
        stated, cost = contents.cost, answer.cost
        require(stated == own_unit(cost, problem.scale),
                f"the attribute cost is {stated}, but /solution/cost is {cost} at scale {problem.scale}")
        verdict = answer.check(problem)
        if not verdict.passed:
            return verdict
        found = [verdict.reason, self._bound_checked(contents, problem, answer)]
        if question.matrix or contents.tables:
            found.append(self._matrix_checked(contents, problem, rows))
        return base.Verdict(True, "; ".join(found))

    def _bound_checked(self, contents: Contents, problem: Graph, answer: Tree) -> str:
        """Return how the lower bound was checked, or why it was not. Raises a `ValueError` if it is wrong."""
        assert problem.terminals is not None
        bound = int(answer.lower_bound)
        if bound == closure_bound(int(answer.closure_mst), len(problem.terminals)):
            return "closure_mst proves the lower bound"
        if answer.proof == SEARCH:
            program = ", the bound rule and the separator rule" if self._searched(contents) else " and bounds"
            return (f"the lower bound was proven by search, by reductions{program}, and has no short certificate; "
                    "hpcsolve verify --again searches again with other rules")
        if answer.proof not in (None, DUAL):
            return f"the lower bound was not checked, {answer.proof} proves it"
        root, terminals, prices = (contents.value("prices", name) for name in ("root", "terminal", "price"))
        if prices is None or terminals is None or root is None or len(terminals) != len(prices):
            raise ValueError("/prices is missing or incomplete: nothing proves the lower bound")
        proven = replayed(problem, int(root), zip(terminals.tolist(), prices.tolist()))
        if proven is None:
            return "the prices were not checked, which would take too long"
        require(proven == bound, f"lower_bound is {bound}, the prices prove {proven}")
        return "the prices prove the lower bound"

    def _matrix_checked(self, contents: Contents, problem: Graph, rows: base.RowBlocks) -> str:
        """Return which rows of the matrix were searched again. Raises a `ValueError` if one is wrong."""
        assert problem.terminals is not None
        k, table = len(problem.terminals), contents.tables.get("matrix")
        if table is None or table.shape != (k, k) or table.none is not None or len(contents.tables) > 1:
            raise ValueError(f"/solution/matrix is missing, or is not a table of {k} x {k} distances")
        step = -(-k // ROWS_CHECKED)
        for first, (block,) in rows(["matrix"]):
            for row in range(-first % step, len(block), step):
                _check_row(problem, first + row, block[row], "/solution/matrix")
        return f"every {'row' if step == 1 else f'{step}th row'} of the matrix found again by a search on the host"

    def beside(self, problem: Graph, question: TreeQuestion, answer: Tree) -> dict[str, dict[str, Column]]:
        """Return the groups beside a tree that has passed its check.

        These are `/edges` if the instance says more of its edges than their weights, `/places` if places stand for
        terminals, and `/rounding` if weights were rounded.
        """
        edges = {} if problem.edge_texts is None else edges_group(problem, answer.u, answer.v)
        groups = edges | places_group(problem.places)
        if problem.rounding is None:
            return groups
        return groups | rounding_group(unrounded_tree(problem, answer.u, answer.v))

    def how_proven(self, contents: Contents) -> str:
        """Return how mode exact proved that the tree is the lightest one, or "" if it did not."""
        if not contents.value("solution", "optimal"):
            return ""
        if contents.value("solution", "proof") == DUAL:
            return "a dual ascent, /prices in the file"
        return self._searched(contents) or "reductions and bounds"

    def _searched(self, contents: Contents) -> str:
        """Return how many states and sets mode exact kept, or "" if it came to no sets."""
        size, sets, states = (np.asarray(contents.value("layers", name, [])) for name in ("size", "sets", "states"))
        if not len(size):
            return ""
        kept = f"{counted(int(states.sum()), 'state')} of {counted(int(sets.sum()), 'set')}"
        return f"{kept} of up to {counted(int(size[-1]), 'terminal')}"

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield the size of the reduced graph, the tree, its cost and the lower bound."""
        counts = {name: int(column.values) for name, column in contents.groups.get("reductions", {}).items()}
        if counts:
            of = {name: counts.get(name, 0) for name in ("contracted", "parallel", "ends", "passed")}
            removed = (f"{counted(of['contracted'], 'edge')} of weight 0, {counted(of['parallel'], 'parallel edge')}, "
                       f"{counted(of['ends'], 'leaf')}, {counted(of['passed'], 'vertex')} of degree 2")
            if "lighter" in counts:
                removed += (f", {counted(counts['special'], 'edge')} by the special distance, {counts['lighter']} that "
                            f"no lighter tree has; contracted: {counted(counts['terminals'], 'edge')} at terminals")
            yield f"reduced: {counts.get('vertices')} vertices, {counts.get('edges')} edges (removed: {removed})"
        yield from place_lines(contents)
        u, v = (np.asarray(contents.value("solution", name)) for name in ("u", "v"))
        labels = contents.shown_names()
        known = all(((end >= 0) & (end < len(labels))).all() for end in (u, v))
        if len(u) == len(v) <= SHOWN and known:
            yield f"tree:   {', '.join(f'{labels[a]} - {labels[b]}' for a, b in zip(u, v)) or 'one vertex'}"
        else:
            yield f"tree:   {len(u)} edges, /solution/u and /solution/v in the file"
        exact = exactly(contents.value("rounding", "cost"))
        yield f"cost:   {contents.attributes['cost']}{exact}, {Worth(contents).tree_bounds()}"
        if proof := self.how_proven(contents):
            yield f"proof:  {proof}"
        elif searched := self._searched(contents):
            yield f"search: {searched}"

    def summary(self, contents: Contents) -> str:
        """Return the cost and the number of vertices: `cost 99, optimal; 400 vertices`."""
        optimal = ", optimal" if contents.value("solution", "ratio") == 1 else ""
        return f"cost {contents.attributes['cost']}{optimal}; {contents.value('instance', 'vertices')} vertices"

    def rows(self, contents: Contents) -> Iterator[base.Rows]:
        """Yield the edges of the tree with their ends by name and their weights."""
        names, found = contents.unique_names(), self.edges(contents)
        assert found.weights is not None
        yield {"u": names[found.tails], "v": names[found.heads], "weight": found.weights}

    def edges(self, contents: Contents, number: int | None = None) -> base.Edges:
        """Return the edges of the tree. The vertices of a tree without edges are its terminals."""
        u, v = (np.asarray(contents.value("solution", name), np.int64) for name in ("u", "v"))
        vertices = np.unique(np.concatenate([u, v, np.asarray(contents.value("instance", "terminal", []), np.int64)]))
        return base.Edges(u, v, contents.own("solution", "weight"), False, vertices)


TREE = TreeType()

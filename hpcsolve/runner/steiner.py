"""Steiner problems as a kind of problem: a graph with terminals, answered by a tree that is checked with its bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import Algorithm, Column, Outcome, as_column
from hpcsolve.formats import GraphInstance
from hpcsolve.output.contents import Contents
from hpcsolve.output.reader import row_blocks
from hpcsolve.output.schema import TREE_ANSWER
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import check_tree, require_problem
from hpcsolve.problems.verify.host_paths import check_columns
from hpcsolve.problems.verify.steiner_bound import closure, guaranteed, ratio_of, replayed
from hpcsolve.runner import graph
from hpcsolve.runner.collect import own_unit
from hpcsolve.runner.graph import SIZE as SIZE
from hpcsolve.runner.graph import content_hash as content_hash
from hpcsolve.runner.graph import identity as identity
from hpcsolve.runner.graph import size as size
from hpcsolve.runner.graph import write as write
from hpcsolve.runner.verdict import Verdict

ROWS_CHECKED = 256
"""Rows of a matrix that are searched again."""
SHOWN = 12
"""Edges up to which a tree is printed in full."""


def read(path: str, options: Mapping[str, Any]) -> GraphInstance:
    """A file of a graph with terminals; raises as `graph.read` and `require_problem`."""
    found = graph.read(path, options)
    return replace(found, problem=require_problem(found.problem))


def given(problem: Any, options: Mapping[str, Any]) -> Graph:
    """A graph with terminals; raises as `graph.given` and `require_problem`."""
    return require_problem(graph.given(problem, options, directed=False))


def headline(problem: Graph) -> str:
    """`alue7080, 34479 vertices, 55494 edges, 2344 terminals`."""
    assert problem.terminals is not None
    return f"{problem.name}, {problem.n} vertices, {problem.edges} edges, {len(problem.terminals)} terminals"


def columns(instance: GraphInstance) -> dict[str, Column]:
    """As of a graph, with the terminals."""
    assert instance.problem.terminals is not None
    repeated = np.array(instance.problem.repeated_terminals, dtype=np.int64)
    terminals = instance.problem.terminals.astype(np.int32)
    return {
        **graph.columns(instance),
        "kind": Column("steiner", "Kind of problem"),
        "terminal": as_column(terminals, "Positions of the terminals, from 0", dimension="terminal_number"),
        "repeated_terminals": Column(repeated, "Dropped: named before"),
    }


def check(module: Algorithm, problem: Graph, parameters: Any, outcome: Outcome, comm: Comm) -> Verdict:
    """Check a run's tree and what certifies it, all but the prices, on rank 0."""
    values = {name: column.values for name, column in outcome.solution.items()}
    return comm.bcast(_checked(problem, values, outcome) if comm.rank == 0 else Verdict(None, ""))


def _checked(problem: Graph, values: Mapping[str, Any], outcome: Outcome) -> Verdict:
    """The verdict on rank 0, with the first and the last of its rows of the matrix."""
    verdict, table = check_answer(problem, {**values, "cost": outcome.cost}), outcome.rows.get("matrix")
    if verdict.passed is False or table is None:
        return verdict
    try:
        for row in sorted({0, len(table.values) - 1}):
            _check_row(problem, table.first + row, table.values[row])
    except ValueError as error:
        return Verdict(False, f"matrix: {error}")
    return Verdict(True, f"{verdict.reason}; two rows of the matrix found again by a search on the host")


def check_answer(problem: Graph, solution: Mapping[str, Any]) -> Verdict:
    """Check a tree, its cost, the closure and the ratio; the lower bound only against what is known of any."""
    try:
        weight = check_tree(problem, solution["u"], solution["v"], solution["weight"])
    except ValueError as error:
        return Verdict(False, str(error))
    wrong = next(_wrong_claims(problem, solution, weight), None)
    reason = "a pruned tree that joins the terminals; weights and closure_mst from the instance"
    return Verdict(True, reason) if wrong is None else Verdict(False, wrong)


def _wrong_claims(problem: Graph, solution: Mapping[str, Any], weight: int) -> Iterator[str]:
    """What of the numbers beside a tree of this weight is not so."""
    assert problem.terminals is not None
    known, bound = closure(problem), int(solution["lower_bound"])
    least = guaranteed(known.weight, len(problem.terminals))
    right = {"cost": weight, "closure_mst": known.weight, "closure_bottleneck": known.bottleneck,
             "ratio": ratio_of(weight, bound)}  # fmt: skip
    yield from (f"{name} is {solution[name]}, not {value}" for name, value in right.items() if solution[name] != value)
    if not least <= bound <= weight:
        yield f"lower_bound is {bound}; closure_mst proves {least}, and the tree weighs {weight}"
    if weight > known.weight:
        yield f"the tree weighs {weight}, more than closure_mst, {known.weight}"


def verify(path: str, contents: Contents, problem: Graph, parameters: Any) -> Verdict:
    """Check the tree in a result file with all that certifies it; the prices are raised again."""
    solution = {name: contents.value("solution", name) for name in TREE_ANSWER}
    if any(values is None for values in solution.values()):
        return Verdict(False, "/solution holds no tree")
    if contents.attributes["cost"] != own_unit(int(solution["cost"]), problem.scale):
        return Verdict(False, f"the attribute cost is {contents.attributes['cost']}, /solution/cost {solution['cost']}")
    verdict = check_answer(problem, solution)
    if verdict.passed is not False:
        verdict = _with_bound(contents, problem, verdict)
    if verdict.passed is False or not (parameters.matrix or contents.tables):
        return verdict
    return _with_matrix(path, contents, problem, verdict)


def _with_bound(contents: Contents, problem: Graph, verdict: Verdict) -> Verdict:
    """The verdict on the lower bound too."""
    assert problem.terminals is not None
    bound = int(contents.value("solution", "lower_bound"))
    if bound == guaranteed(int(contents.value("solution", "closure_mst")), len(problem.terminals)):
        return Verdict(True, f"{verdict.reason}; closure_mst proves the lower bound")
    root, terminals, prices = (contents.value("prices", name) for name in ("root", "terminal", "price"))
    if prices is None or terminals is None or root is None or len(terminals) != len(prices):
        return Verdict(False, "/prices is not there or not whole: nothing proves the lower bound")
    try:
        proven = replayed(problem, int(root), zip(terminals.tolist(), prices.tolist()))
    except ValueError as error:
        return Verdict(False, str(error))
    if proven is None:
        return Verdict(True, f"{verdict.reason}; the lower bound was not replayed, which would take too long")
    if proven != bound:
        return Verdict(False, f"lower_bound is {bound}, the prices prove {proven}")
    return Verdict(True, f"{verdict.reason}; the lower bound's prices raised again")


def _with_matrix(path: str, contents: Contents, problem: Graph, verdict: Verdict) -> Verdict:
    """The verdict on the distances between the terminals too: so many of the rows are found again by a search."""
    assert problem.terminals is not None
    k, table = len(problem.terminals), contents.tables.get("matrix")
    if table is None or table.shape != (k, k) or table.none is not None or len(contents.tables) > 1:
        return Verdict(False, f"/solution/matrix is not there, or no table of {k} x {k} distances")
    step = -(-k // ROWS_CHECKED)
    try:
        for first, (rows,) in row_blocks(path, ["matrix"]):
            for row in range(-first % step, len(rows), step):
                _check_row(problem, first + row, rows[row])
    except ValueError as error:
        return Verdict(False, f"/solution/matrix: {error}")
    which = "every row" if step == 1 else f"every {step}th row"
    return Verdict(True, f"{verdict.reason}; {which} of the matrix found again by a search on the host")


def _check_row(problem: Graph, row: int, distance: Any) -> None:
    """Check a row of the matrix; raises as `check_columns`."""
    assert problem.terminals is not None
    check_columns(problem, problem.terminals[row : row + 1], problem.terminals, distance[None], first=row)


def answer_lines(contents: Contents) -> Iterator[str]:
    """What was taken out, the tree, its cost and how far it may be from the least."""
    counts = {name: int(column.values) for name, column in contents.groups.get("reductions", {}).items()}
    if counts:
        texts = {"contracted": "edges contracted", "parallel": "parallel", "ends": "ends", "passed": "passed through"}
        taken = ", ".join(f"{counts.get(name, 0)} {text}" for name, text in texts.items())
        yield f"left:   {counts.get('vertices')} vertices, {counts.get('edges')} edges ({taken})"
    u, v = (np.asarray(contents.value("solution", name)) for name in ("u", "v"))
    labels = np.asarray(contents.value("instance", "vertex_name", contents.value("instance", "label")))
    known = all(((end >= 0) & (end < len(labels))).all() for end in (u, v))
    if len(u) == len(v) <= SHOWN and known:
        yield f"tree:   {', '.join(f'{labels[a]} - {labels[b]}' for a, b in zip(u, v)) or 'one vertex'}"
    else:
        yield f"tree:   {len(u)} edges, /solution/u and /solution/v in the file"
    cost, scale = contents.attributes["cost"], int(contents.value("instance", "scale"))
    bound, ratio = (contents.value("solution", name) for name in ("lower_bound", "ratio"))
    how_good = "proven optimal" if ratio == 1 else f"at most {float(ratio):.6g} times the optimum"
    yield f"cost:   {cost}, {how_good}: lower bound {own_unit(int(bound), scale)}"

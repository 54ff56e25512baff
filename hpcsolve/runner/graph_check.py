"""Answers of shortest paths checked. In a run every rank checks its own rows; `verify` checks all of a result file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Algorithm, Outcome
from hpcsolve.algorithms.shortest_paths.question import Parameters, question
from hpcsolve.formats import pairs_sha256
from hpcsolve.output.contents import Contents
from hpcsolve.output.reader import row_blocks
from hpcsolve.output.schema import QUERIES_ANSWER
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.verify.host_paths import check_columns, check_shortest, smallest_predecessors
from hpcsolve.problems.verify.pair_paths import PairPaths, check_pair_paths
from hpcsolve.problems.verify.paths import check_distances, roots, unreached_of
from hpcsolve.runner.verdict import Verdict

Seeds = Sequence[NDArray[np.int64]]
_ROWS = "in every row: no arc offers less, and paths of that length lead there"


def check(module: Algorithm, problem: Graph, parameters: Any, outcome: Outcome, comm: Comm) -> Verdict:
    """The algorithm's own check, and numpy's of all paths, or of each rank's first and last row; collective."""
    numpys = _wrong_path if "offset" in outcome.solution else _wrong_row
    wrong = module.check(problem, parameters, outcome) or numpys(problem, parameters, outcome)
    found = comm.allgather(wrong)
    failures = [f"rank {rank}: {text}" for rank, text in enumerate(found) if text]
    if failures:
        return Verdict(False, failures[0] + (f", and on {len(failures) - 1} more ranks" if len(failures) > 1 else ""))
    beside = "rows of each rank in numpy too"
    if "target" in outcome.solution:
        beside = "every path added up in numpy" if "offset" in outcome.solution else "before the targets were picked"
    return comm.bcast(Verdict(True, f"no arc offers less, paths of that length lead there; {beside}"))


def verify(path: str, contents: Contents, problem: Graph, parameters: Any) -> Verdict:
    """Check all paths, or every row of the tables, in a result file.

    Raises
    ------
    InputError
        The queries' file is there and cannot be read, or has other queries now.
    """
    limit = _limit(problem, parameters)
    try:
        if parameters.queries is not None:
            return _verify_queries(contents, problem, parameters, limit)
        asked, tables = question(problem, parameters), contents.tables
        _require_same(contents, "source", asked.sources)
        _require_same(contents, "target", asked.targets)
        columns = problem.n if asked.targets is None else len(asked.targets)
        for name, table in tables.items():
            _require(table.shape == (len(asked.seeds), columns),
                     f"/solution/{name} has shape {table.shape}, not {(len(asked.seeds), columns)}")  # fmt: skip
            none = unreached_of(table.dtype) if name == "distance" else -1
            _require(table.none == none, f"/solution/{name} says none is {table.none}, not {none}")
        names = [name for name in ("distance", "predecessor", "nearest") if name in tables]
        _require("distance" in names, "/solution/distance is no table")
        for first, blocks in row_blocks(path, names):
            here = slice(first, first + len(blocks[0]))
            if asked.targets is None:
                block = dict(zip(names, blocks, strict=True))
                _check_rows(problem, asked.seeds[here], block, limit, first)
            else:
                check_columns(problem, asked.sources[here], asked.targets, blocks[0], cutoff=limit, first=first)
    except ValueError as error:
        return Verdict(False, str(error))
    again = "every distance found again by a search on the host"
    return Verdict(True, _ROWS if asked.targets is None else again)


def _verify_queries(contents: Contents, graph: Graph, parameters: Parameters, limit: float | None) -> Verdict:
    answer = _answer({name: contents.value("solution", name) for name in QUERIES_ANSWER})
    pairs = np.stack([answer.source, answer.target], axis=1)
    file = parameters.queries
    if isinstance(file, str) and not os.path.exists(file):  # the job knows the SHA-256 of what it held
        same = pairs_sha256(graph.labels[pairs]) == parameters.queries_sha256
    else:
        same = np.array_equal(pairs, cast(Any, question(graph, parameters).pairs))
    _require(same, "/solution/source and target are not the queries of the job")
    none, said = unreached_of(answer.distance.dtype), contents.groups["solution"]["distance"].none
    _require(said == none, f"/solution/distance says none is {said}, not {none}")
    check_pair_paths(graph, answer, limit)
    check_shortest(graph, answer, limit)
    return Verdict(True, "every path added up, every distance and path found again by a search on the host")


def _wrong_path(graph: Graph, parameters: Parameters, outcome: Outcome) -> str | None:
    """What is wrong with the paths, on rank 0."""
    try:
        answer = _answer({name: column.values for name, column in outcome.solution.items()})
        check_pair_paths(graph, answer, _limit(graph, parameters))
    except ValueError as error:
        return str(error)
    return None


def _wrong_row(graph: Graph, parameters: Parameters, outcome: Outcome) -> str | None:
    """What numpy finds wrong in the first and the last of this rank's rows."""
    rows = outcome.rows.get("distance")
    if rows is None or not len(rows.values) or rows.values.shape[1] != graph.n or "target" in outcome.solution:
        return None
    seeds, limit = question(graph, parameters).seeds, _limit(graph, parameters)
    for row in sorted({0, len(rows.values) - 1}):
        here = {name: table.values[row : row + 1] for name, table in outcome.rows.items()}
        first = rows.first + row
        try:
            _check_rows(graph, seeds[first : first + 1], here, limit, first)
        except ValueError as error:
            return str(error)
    return None


def _check_rows(graph: Graph, seeds: Seeds, tables: Mapping[str, NDArray[Any]], limit: float | None, first: int
                ) -> None:
    distance, predecessor, nearest = tables["distance"], tables.get("predecessor"), tables.get("nearest")
    check_distances(graph, seeds, distance, predecessor, cutoff=limit, first=first)
    tails = graph.tails()
    for row in range(len(distance) if len(tables) > 1 else 0):
        before = smallest_predecessors(graph, tails, seeds[row], distance[row])
        if predecessor is not None:
            _require_equal(graph, predecessor[row], before, f"row {first + row}: the smallest predecessor of")
        if nearest is not None:
            own = np.where(distance[row] == unreached_of(distance.dtype), -1, roots(before))
            _require_equal(graph, nearest[row], own, f"row {first + row}: the nearest source of")


def _require_equal(graph: Graph, claimed: NDArray[Any], found: NDArray[Any], what: str) -> None:
    """See that two rows agree on all vertices."""
    other = np.flatnonzero(claimed != found)
    if len(other):
        raise ValueError(f"{what} vertex {graph.labels[other[0]]} is another one")


def _answer(columns: Mapping[str, Any]) -> PairPaths:
    return PairPaths(*(np.asarray(columns[name]) for name in QUERIES_ANSWER))


def _limit(graph: Graph, parameters: Parameters) -> float | None:
    """The cutoff as distances are held: of integers the largest that counts."""
    if parameters.cutoff is None:
        return None
    scaled = parameters.cutoff * graph.scale
    return scaled if graph.weights.dtype.kind == "f" else min(int(scaled), 2**64 - 2)


def _require_same(contents: Contents, name: str, asked: NDArray[np.int64] | None) -> None:
    """A column of positions must be that of the job."""
    there = contents.value("solution", name)
    same = there is None if asked is None else there is not None and np.array_equal(there, asked)
    _require(same, f"/solution/{name} has not the {name}s of the job")


def _require(right: bool, message: str) -> None:
    if not right:
        raise ValueError(message)

"""Distances from sources, at all vertices or at targets: tables with a row a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import AnswerType, RowBlocks, Verdict, failed, require, tables_of
from hpcsolve.answers.dataset import Dataset, datasets
from hpcsolve.answers.table import DistanceTable
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.verify.distances import check_distances, roots, unreached_of
from hpcsolve.problems.verify.host_paths import check_columns, smallest_predecessors

if TYPE_CHECKING:
    from hpcsolve.output.contents import Contents
    from hpcsolve.parallel.comm import Comm

SHOWN = 12
"""Sources and queries that are printed one by one."""
NO_VERTEX = -1
LENGTH_TYPES, UNREACHED = "uint32|uint64|float64", "not reached: the largest value of the type"


@dataclass(frozen=True)
class Distances:
    """Tables of distances.

    The positions in `source` have shape (sources,), those in `target` (targets,) or None.
    """

    source: Annotated[NDArray[np.int32], Dataset("int32", "Positions of the sources, from 0", "source")]
    distance: Annotated[
        DistanceTable,
        Dataset(LENGTH_TYPES, "Distance from the sources of each search, times /instance/scale",
                "search, vertex", none=UNREACHED),
    ]
    target: Annotated[
        NDArray[np.int32] | None, Dataset("int32", "Positions of the targets, from 0", "target")
    ] = None
    predecessor: Annotated[
        DistanceTable | None,
        Dataset("int32", "The vertex before on a shortest path, the smallest of those that fit",
                "search, vertex", none="-1: a source, or not reached"),
    ] = None
    nearest: Annotated[
        DistanceTable | None,
        Dataset("int32", "The source from which a vertex is nearest", "search, vertex", none="-1: not reached"),
    ] = None


@dataclass(frozen=True)
class PathQuestion:
    """What was asked of a graph.

    Attributes
    ----------
    sources
        Shape (sources,), int64: positions, in the order of the job; of queries one a pair.
    seeds
        One set of sources a search: each alone, or all in one; none if there are queries.
    targets
        Positions of the targets, or None for all vertices.
    pairs
        Shape (queries, 2), int64: positions of source and target of each query in its order, or None.
    pairs_sha256
        SHA-256 of the pairs' labels, where the pairs are not at hand.
    cutoff
        Distance beyond which a vertex counts as unreached, as distances are held, or None.
    """

    sources: NDArray[np.int64]
    seeds: tuple[NDArray[np.int64], ...]
    targets: NDArray[np.int64] | None
    pairs: NDArray[np.int64] | None = None
    pairs_sha256: str | None = None
    cutoff: float | None = None


def distance_table(
    name: str, values: NDArray[Any], first: int, total: int, column: str = "vertex", none: float | None = None
) -> DistanceTable:
    """Return a table of `Distances` from this rank's rows.

    Parameters
    ----------
    name
        The field of `Distances`.
    values
        Shape (own rows, columns).
    first, total
        Number of the first row; how many rows there are on all ranks.
    column
        Name of the columns' dimension: "vertex" or "target".
    none
        What stands for "not reached"; by default that of the type of distances.
    """
    dataset = replace(datasets(Distances)[name], dimension=f"search, {column}")
    return DistanceTable(values, first, total, dataset, unreached_of(values.dtype) if none is None else none)


def check(problem: Graph, question: PathQuestion, answer: Distances, comm: Comm) -> Verdict:
    """Check each rank's first and last row in numpy. The algorithm has checked all rows against the arcs."""
    beside = "rows of each rank in numpy too"
    if question.targets is not None:
        beside = "before the targets were picked"
    passed = Verdict(True, f"no arc offers less, paths of that length lead there; {beside}")
    return failed(comm, _wrong_row(problem, question, answer)) or passed


def _wrong_row(graph: Graph, question: PathQuestion, answer: Distances) -> str | None:
    """Return what numpy finds wrong in the first and the last of this rank's rows."""
    rows = answer.distance
    if not len(rows.values) or question.targets is not None:
        return None
    for row in sorted({rows.first, rows.first + len(rows.values) - 1}):
        here = {name: table.own(row, row + 1) for name, table in tables_of(answer).items()}
        try:
            _check_rows(graph, question.seeds[row : row + 1], here, question.cutoff, row)
        except ValueError as error:
            return str(error)
    return None


def verify(contents: Contents, problem: Graph, question: PathQuestion, rows: RowBlocks) -> Verdict:
    """Check every row of the tables in a result file."""
    try:
        _check_columns_of(contents, question)
        _check_shapes(contents, problem, question)
        for first, blocks in rows(list(contents.tables)):
            here = dict(zip(contents.tables, blocks, strict=True))
            seeds = slice(first, first + len(here["distance"]))
            if question.targets is None:
                _check_rows(problem, question.seeds[seeds], here, question.cutoff, first)
            else:
                sources, targets = question.sources[seeds], question.targets
                check_columns(problem, sources, targets, here["distance"], cutoff=question.cutoff, first=first)
    except ValueError as error:
        return Verdict(False, str(error))
    if question.targets is not None:
        return Verdict(True, "every distance found again by a search on the host")
    return Verdict(True, "in every row: no arc offers less, and paths of that length lead there")


def _check_columns_of(contents: Contents, question: PathQuestion) -> None:
    """Refuse columns of positions that are not those of the job."""
    for name, asked in (("source", question.sources), ("target", question.targets)):
        there = contents.value("solution", name)
        same = there is None if asked is None else there is not None and np.array_equal(there, asked)
        require(same, f"/solution/{name} does not hold the {name}s of the job")


def _check_shapes(contents: Contents, graph: Graph, question: PathQuestion) -> None:
    wanted = len(question.seeds), graph.n if question.targets is None else len(question.targets)
    for name, table in contents.tables.items():
        require(table.shape == wanted, f"/solution/{name} has shape {table.shape}, not {wanted}")
        none = unreached_of(table.dtype) if name == "distance" else NO_VERTEX
        require(table.none == none, f"/solution/{name} says none is {table.none}, not {none}")
    require("distance" in contents.tables, "/solution/distance is not a table")


def _check_rows(
    graph: Graph, seeds: Sequence[NDArray[np.int64]], tables: Mapping[str, NDArray[Any]], cutoff: float | None,
    first: int,
) -> None:
    distance, predecessor, nearest = tables["distance"], tables.get("predecessor"), tables.get("nearest")
    check_distances(graph, seeds, distance, predecessor, cutoff=cutoff, first=first)
    tails = graph.tails()
    for row in range(len(distance) if len(tables) > 1 else 0):
        before = smallest_predecessors(graph, tails, seeds[row], distance[row])
        if predecessor is not None:
            _require_equal(graph, predecessor[row], before, f"row {first + row}: the smallest predecessor of")
        if nearest is not None:
            own = np.where(distance[row] == unreached_of(distance.dtype), NO_VERTEX, roots(before))
            _require_equal(graph, nearest[row], own, f"row {first + row}: the nearest source of")


def _require_equal(graph: Graph, claimed: NDArray[Any], found: NDArray[Any], what: str) -> None:
    """Raise a `ValueError` at the first vertex on which two rows differ."""
    other = np.flatnonzero(claimed != found)
    if len(other):
        raise ValueError(f"{what} vertex {graph.labels[other[0]]} is another one")


def lines(contents: Contents) -> Iterator[str]:
    """Yield the sources, and what tables there are."""
    sources = np.asarray(contents.value("solution", "source"))
    labels = np.asarray(contents.value("instance", "label"))
    if ((sources >= 0) & (sources < len(labels))).all() and len(sources) <= SHOWN:
        yield f"source: {' '.join(str(label) for label in labels[sources.astype(np.int64)])}"
    else:
        yield f"source: {len(sources)} vertices, /solution/source in the file"
    for name, table in contents.tables.items():
        yield f"table:  {name}, {table.shape[0]} x {table.shape[1]}, {table.dtype}"


def summary(contents: Contents) -> str:
    """Return `distance 2 x 300, predecessor 2 x 300; 300 vertices`."""
    tables = ", ".join(f"{name} {table.shape[0]} x {table.shape[1]}" for name, table in contents.tables.items())
    return f"{tables}; {contents.value('instance', 'vertices')} vertices"


class VertexFace:
    """What a result in Python offers of the vertices of a graph."""

    contents: Contents

    def named(self, positions: Any) -> list[Any]:
        """Return the names of the vertices at these positions, or their numbers in the instance's file."""
        found: list[Any] = self._vertex_names()[np.asarray(positions, dtype=np.int64)].tolist()
        return found

    def _vertex_names(self) -> NDArray[Any]:
        return np.asarray(self.contents.value("instance", "vertex_name", self.contents.value("instance", "label")))

    def _position(self, vertex: Any) -> int:
        found = np.flatnonzero(self._vertex_names() == vertex)
        if not len(found):
            raise InputError(f"the result has no vertex {vertex!r}")
        return int(found[0])


class Face(VertexFace):
    """What a result in Python offers of distances."""

    @property
    def sources(self) -> list[Any]:
        """The sources of shortest paths, by name or by number in the instance's file, one for each search or query."""
        return self.named(self.contents.value("solution", "source", []))

    @property
    def targets(self) -> list[Any]:
        """The targets by name or number, empty if there are distances to all vertices."""
        return self.named(self.contents.value("solution", "target", []))

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distances in the instance's own unit, `inf` where no path leads, as scipy has them.

        Shape (searches, vertices), (searches, targets) or (queries,); empty if the result has no distances. The exact
        integers are `contents.value("solution", "distance")`.
        """
        values = np.asarray(self.contents.value("solution", "distance", np.empty((0, 0))))
        scale = int(self.contents.value("instance", "scale"))
        return np.where(values == unreached_of(values.dtype), np.inf, values / scale)

    @property
    def predecessor(self) -> NDArray[np.int32]:
        """The predecessors, shape (searches, vertices): positions, -1 for none, or empty if they were not asked for."""
        return np.asarray(self.contents.value("solution", "predecessor", np.empty((0, 0))), dtype=np.int32)

    def _path_between(self, source: Any, target: Any) -> list[Any]:
        """Return the vertices of a shortest path, from a table of predecessors."""
        start, path = self._position(source), [self._position(target)]
        rows = np.flatnonzero(np.asarray(self.contents.value("solution", "source")) == start)
        if not len(rows):
            raise InputError(f"vertex {source!r} is not a source of the result")
        before = self.predecessor
        row = int(rows[0]) if len(before) > 1 else 0  # all sources together (voronoi): one row
        distance = self.contents.value("solution", "distance")
        if distance[row, path[0]] == unreached_of(distance.dtype):
            return []
        while (last := int(before[row, path[-1]])) >= 0:
            path.append(last)
        if path[-1] != start:
            raise InputError(f"vertex {target!r} is nearer to another source, {self.named(path)[-1]!r}")
        return self.named(path[::-1])


DISTANCES = AnswerType("distances", (Distances,), check, verify, lines, summary)

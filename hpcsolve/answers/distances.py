"""Distances from sources to all vertices or to targets, as tables with one row per search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import AnswerType, RowBlocks, Verdict, distance_tables_of, first_failure, require
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
"""Most sources, or queries, that are printed one by one."""
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
                "search, vertex", none=UNREACHED, scaled=True),
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
    """What a job asks of a graph: distances from sources, or the paths of queries.

    Attributes
    ----------
    sources
        Shape (sources,), int64: positions of the sources in the order of the job, for queries one per query.
    seeds
        The sources where each search begins: one array per search, of one source or of all; empty if there are queries.
    targets
        Shape (targets,), int64: positions of the targets, or None for all vertices.
    pairs
        Shape (queries, 2), int64: positions of source and target of each query in the order of the job, or None.
    pairs_sha256
        SHA-256 of the labels in `pairs`, where `pairs` itself was not read from its file.
    cutoff
        Distance, times the scale, beyond which a vertex counts as unreached, or None.
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
    """Return the table for a field of `Distances`, made of this rank's rows.

    Parameters
    ----------
    name
        The field of `Distances`.
    values
        Shape (own rows, columns).
    first, total
        Number of the first of these rows, and number of rows on all ranks together.
    column
        Name of the columns' dimension: "vertex" or "target".
    none
        The value that stands for "not reached", by default the largest of the type.
    """
    dataset = replace(datasets(Distances)[name], dimension=f"search, {column}")
    return DistanceTable(values, first, total, dataset, unreached_of(values.dtype) if none is None else none)


def check(problem: Graph, question: PathQuestion, answer: Distances, comm: Comm) -> Verdict:
    """Check each rank's first and last row in numpy. The algorithm has checked all rows against the arcs."""
    beside = "two rows of each rank were checked in numpy too"
    if question.targets is not None:
        beside = "checked before the columns of the targets were taken"
    passed = Verdict(True, f"no arc shortens a distance, and a path of each distance exists; {beside}")
    return first_failure(comm, _wrong_row(problem, question, answer)) or passed


def _wrong_row(graph: Graph, question: PathQuestion, answer: Distances) -> str | None:
    """Return what numpy finds wrong in the first or the last of this rank's rows, or None."""
    rows = answer.distance
    if not len(rows.values) or question.targets is not None:
        return None
    for row in sorted({rows.first, rows.first + len(rows.values) - 1}):
        here = {name: table.own_rows(row, row + 1) for name, table in distance_tables_of(answer).items()}
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
    return Verdict(True, "in every row no arc shortens a distance, and a path of each distance exists")


def _check_columns_of(contents: Contents, question: PathQuestion) -> None:
    """Refuse sources or targets that are not those of the job."""
    for name, asked in (("source", question.sources), ("target", question.targets)):
        stored = contents.value("solution", name)
        same = stored is None if asked is None else stored is not None and np.array_equal(stored, asked)
        require(same, f"/solution/{name} does not hold the {name}s of the job")


def _check_shapes(contents: Contents, graph: Graph, question: PathQuestion) -> None:
    expected = len(question.seeds), graph.n if question.targets is None else len(question.targets)
    for name, table in contents.tables.items():
        require(table.shape == expected, f"/solution/{name} has shape {table.shape}, not {expected}")
        none = unreached_of(table.dtype) if name == "distance" else NO_VERTEX
        require(table.none == none, f"/solution/{name} says that {table.none} stands for none, not {none}")
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
    """Yield a line with the sources, and one for each table with its shape and type."""
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


class VertexMixin:
    """The part of `hpcsolve.Result` about vertices, for distances, paths and trees."""

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


class DistancesMixin(VertexMixin):
    """The part of `hpcsolve.Result` about distances."""

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
        row = int(rows[0]) if len(before) > 1 else 0  # a single row serves all sources (voronoi)
        distance = self.contents.value("solution", "distance")
        if distance[row, path[0]] == unreached_of(distance.dtype):
            return []
        while (last := int(before[row, path[-1]])) >= 0:
            path.append(last)
        if path[-1] != start:
            raise InputError(f"vertex {target!r} is nearer to another source, {self.named(path)[-1]!r}")
        return self.named(path[::-1])


DISTANCES = AnswerType("distances", (Distances,), check, verify, lines, summary)

"""Distances from sources to all vertices or to targets, as tables with one row per search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers import base
from hpcsolve.answers.contents import Column, Contents, DistanceTable, datasets, stored
from hpcsolve.answers.rounding import Worth, declared, rounding_group
from hpcsolve.answers.snaps import PLACES, place_lines, places_group
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.check_distances import NO_VERTEX, check_distances, no_path_of, require, roots
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.labels import Labels
from hpcsolve.problems.questions import PathQuestion
from hpcsolve.problems.search_again import check_columns, smallest_predecessors
from hpcsolve.problems.unrounded import unrounded_paths

SHOWN = 12
"""Most sources, or queries, that are printed one by one."""
LENGTH_TYPES, UNREACHED = "uint32|uint64|float64", "not reached: the largest value of the type"


@dataclass(frozen=True)
class Distances:
    """Tables of distances.

    The positions in `source` have shape (sources,), those in `target` (targets,) or None. `restricted`, which the file
    does not have, says that no search saw all vertices, so that the algorithm could not check the distances.
    """

    source: NDArray[np.int32] = stored("int32", "Positions of the sources, from 0", "source")
    distance: DistanceTable = stored(
        LENGTH_TYPES, "Distance from the sources of each search, times /instance/scale", "source, vertex",
        none=UNREACHED, scaled=True)
    target: NDArray[np.int32] | None = stored("int32", "Positions of the targets, from 0", "target", optional=True)
    predecessor: DistanceTable | None = stored(
        "int32", "The vertex before on a shortest path, the smallest of those that fit", "source, vertex",
        none="-1: a source, or not reached", optional=True)
    nearest: DistanceTable | None = stored(
        "int32", "The source from which a vertex is nearest", "search, vertex", none="-1: not reached", optional=True)
    restricted: bool = False


def distance_table(
    name: str, values: NDArray[Any], first: int, total: int, dimension: str, none: float | None = None
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
    dimension
        Names of the dimensions of rows and columns: "source, vertex". A row of all sources is a "search".
    none
        The value that stands for "not reached", by default the largest of the type.
    """
    dataset = replace(datasets(Distances)[name], dimension=dimension)
    return DistanceTable(values, first, total, dataset, no_path_of(values.dtype) if none is None else none)


def require_columns(contents: Contents, **expected: NDArray[Any] | None) -> None:
    """Raise a `ValueError` if a column of `/solution` has other values than the job asks for, None for no column."""
    for name, asked in expected.items():
        stored = contents.value("solution", name)
        same = stored is None if asked is None else stored is not None and np.array_equal(stored, asked)
        require(same, f"/solution/{name} does not hold the {name.removesuffix('s')}s of the job")


def _check_blocks(
    graph: Graph, question: PathQuestion, blocks: Iterable[tuple[int, Mapping[str, NDArray[Any]]]]
) -> None:
    """Check blocks of rows of the tables, each given with the number of its first row. Raises a `ValueError`."""
    for first, here in blocks:
        rows, cutoff = slice(first, first + len(here["distance"])), question.cutoff
        if question.targets is None:
            _check_rows(graph, question.seeds[rows], here, cutoff, first)
        else:
            check_columns(graph, question.sources[rows], question.targets, here["distance"], cutoff=cutoff, first=first)


def _check_rows(
    graph: Graph, seeds: Sequence[NDArray[np.int64]], tables: Mapping[str, NDArray[Any]], cutoff: float | None,
    first: int,
) -> None:
    distance, predecessor, nearest = tables["distance"], tables.get("predecessor"), tables.get("nearest")
    check_distances(graph, seeds, distance, predecessor, cutoff=cutoff, first=first)
    tails = graph.tails()
    for row in range(len(distance) if len(tables) > 1 else 0):
        before = smallest_predecessors(graph, tails, seeds[row], distance[row])
        found = []
        if predecessor is not None:
            found.append(("smallest predecessor", predecessor[row], before))
        if nearest is not None:
            own = np.where(distance[row] == no_path_of(distance.dtype), NO_VERTEX, roots(before))
            found.append(("nearest source", nearest[row], own))
        for what, claimed, right in found:
            wrong = graph.labels[claimed != right]
            if len(wrong):
                raise ValueError(f"row {first + row}: the {what} of vertex {wrong[0]} is not the one in the result")


def chosen(count: int, number: int | None, what: str) -> int:
    """Return the number of a search or query (`what` in the plural), which may be left out if there is only one.

    Raises
    ------
    InputError
        There are several and none is named, or there is no such number.
    """
    if number is None and count == 1:
        return 0
    if number is None or not 0 <= number < count:
        wrong = "choose one" if number is None else f"there is no number {number}"
        raise InputError(f"the result has {count} {what}, numbered from 0: {wrong}, with number=0 or --number 0")
    return number


class DistancesMixin(base.ResultPart):
    """The part of `hpcsolve.Result` about distances."""

    @property
    @base.only_of("distances", "paths", "reductions")
    def sources(self) -> list[Any]:
        """The sources of shortest paths, by name or by number in the instance's file, one for each search or query."""
        return self.named(self.contents.value("solution", "source", []))

    @property
    @base.only_of("distances", "paths", "reductions")
    def targets(self) -> list[Any]:
        """The targets by name or number, empty if there are distances to all vertices."""
        return self.named(self.contents.value("solution", "target", []))

    @property
    @base.only_of("distances", "paths")
    def distance(self) -> NDArray[np.float64]:
        """Distances in the instance's own unit, `inf` where no path leads, as scipy has them.

        Shape (searches, vertices), (searches, targets) or (queries,). The exact integers are
        `contents.value("solution", "distance")`.
        """
        return self.contents.own_distances(np.asarray(self.contents.value("solution", "distance", np.empty((0, 0)))))

    @property
    @base.only_of("distances")
    def predecessor(self) -> NDArray[np.int32]:
        """The predecessors, shape (searches, vertices): positions, -1 for none, or empty if they were not asked for."""
        return np.asarray(self.contents.value("solution", "predecessor", np.empty((0, 0))), dtype=np.int32)

    def _path_between(self, source: Any, target: Any) -> list[Any]:
        """Return the vertices of a shortest path, from a table of predecessors."""
        labels, names = (self.contents.value("instance", name, ()) for name in ("label", "vertex_name"))
        known = Labels(np.asarray(labels), list(map(str, names)), "the result", "vertex", "vertices")
        start, end = (int(known.positions([vertex])[0]) for vertex in (source, target))
        rows = np.flatnonzero(np.asarray(self.contents.value("solution", "source")) == start)
        if not len(rows):
            raise InputError(f"vertex {source!r} is not a source of the result")
        before = self.predecessor
        row = int(rows[0]) if len(before) > 1 else 0  # a single row serves all sources (voronoi)
        distance = self.contents.value("solution", "distance")
        if distance[row, end] == no_path_of(distance.dtype):
            return []
        path = [end]
        while (last := int(before[row, path[-1]])) >= 0:
            path.append(last)
        if path[-1] != start:
            raise InputError(f"vertex {target!r} is nearer to another source, {self.named(path)[-1]!r}")
        return self.named(path[::-1])


class DistancesType(base.AnswerType):
    """Tables of distances, as an answer."""

    name, in_words, records = "distances", "distances", (Distances,)
    row_values = "distance"
    groups = declared("error", "part", places=PLACES)

    def check(self, problem: Graph, question: PathQuestion, answer: Distances, comm: Comm) -> base.Verdict:
        """Check each rank's first and last row in numpy. All rows, unless restricted, were checked by the algorithm."""
        table, tables = answer.distance, base.distance_tables_of(answer)
        rows: list[int] = []
        if len(table.values) and (question.targets is None or answer.restricted):
            rows = sorted({table.first, table.first + len(table.values) - 1})
        blocks = ((row, {name: whole.own_rows(row, row + 1) for name, whole in tables.items()}) for row in rows)
        wrong = base.message_of(_check_blocks, problem, question, blocks)
        if question.targets is None:
            beside = "no arc shortens a distance, and a path of each distance exists; two rows of each rank were " \
                     "checked in numpy too"
        elif answer.restricted:
            beside = "two rows of each rank were searched again on the host"
        else:
            beside = "no arc shortens a distance, and a path of each distance exists; checked before the columns of " \
                     "the targets were taken"
        return base.first_failure(comm, wrong) or base.Verdict(True, beside)

    @base.judged
    def verify(
        self, contents: Contents, answer: Distances, problem: Graph, question: PathQuestion, rows: base.RowBlocks
    ) -> base.Verdict:
        """Check every row of the tables in a result file."""
        require_columns(contents, source=question.sources, target=question.targets)
        self._check_shapes(contents, problem, question)
        blocks = ((first, dict(zip(contents.tables, here, strict=True))) for first, here in rows(list(contents.tables)))
        _check_blocks(problem, question, blocks)
        if question.targets is not None:
            return base.Verdict(True, "every distance found again by a search on the host")
        return base.Verdict(True, "in every row no arc shortens a distance, and a path of each distance exists")

    def _check_shapes(self, contents: Contents, graph: Graph, question: PathQuestion) -> None:
        expected = len(question.seeds), graph.n if question.targets is None else len(question.targets)
        for name, table in contents.tables.items():
            require(table.shape == expected, f"/solution/{name} has shape {table.shape}, not {expected}")
            none = no_path_of(table.dtype) if name == "distance" else NO_VERTEX
            require(table.none == none, f"/solution/{name} says that {table.none} stands for none, not {none}")
        require("distance" in contents.tables, "/solution/distance is not a table")

    def beside(self, problem: Graph, question: PathQuestion, answer: object = None) -> dict[str, dict[str, Column]]:
        """Return `/places`, if there are any, and `/rounding` of distances whose weights were rounded."""
        places = places_group(problem.places, question.places)
        if problem.rounding is None:
            return places
        targets = None if question.targets is None else [question.targets] * len(question.seeds)
        return places | rounding_group(unrounded_paths(problem, question.seeds, targets, question.cutoff))

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield a line with the sources, one for each table with its shape and type, and what is known of rounding."""
        sources = np.asarray(contents.value("solution", "source"))
        labels = contents.shown_names()
        if ((sources >= 0) & (sources < len(labels))).all() and len(sources) <= SHOWN:
            between = " " if labels.dtype.kind in "iu" else ", "
            yield f"source: {between.join(str(label) for label in labels[sources.astype(np.int64)])}"
        else:
            yield f"source: {len(sources)} vertices, /solution/source in the file"
        yield from place_lines(contents)
        for name, table in contents.tables.items():
            yield f"table:  {name}, {table.shape[0]} x {table.shape[1]}, {table.dtype}"
        if bounds := Worth(contents).distance_bounds():
            yield f"bound:  {bounds}"

    def summary(self, contents: Contents) -> str:
        """Return the sizes of the tables and the number of vertices: `distance 2 x 300; 300 vertices`."""
        tables = ", ".join(f"{name} {table.shape[0]} x {table.shape[1]}" for name, table in contents.tables.items())
        return f"{tables}; {contents.value('instance', 'vertices')} vertices"

    def rows(self, contents: Contents) -> Iterator[base.Rows]:
        """Yield a block for each search: source, vertex (or target), distance, and what else was asked for, by name.

        A search from all sources at once has no column `source`. Unreached vertices have the distance `inf`, and None
        in place of a predecessor or a nearest source.
        """
        names = contents.unique_names()
        sources, targets = (contents.value("solution", name) for name in ("source", "target"))
        stored = [name for name in datasets(Distances) if name in contents.tables]
        tables = {name: np.asarray(contents.value("solution", name)) for name in stored}
        distances = tables.pop("distance")
        single = len(sources) == len(distances)
        for row, distance in enumerate(distances):
            table = {"vertex" if targets is None else "target": names if targets is None else names[targets]}
            table["distance"] = contents.own_distances(distance)
            for name, found in tables.items():
                table[name] = names.astype(object)[found[row]]
                table[name][found[row] == NO_VERTEX] = None
            yield {"source": np.repeat(names[sources[row : row + 1]], len(distance)), **table} if single else table

    def edges(self, contents: Contents, number: int | None = None) -> base.Edges:
        """Return the arcs of the shortest-path tree of a search, from predecessors to vertices."""
        before = contents.value("solution", "predecessor")
        if before is None:
            raise InputError("the result has no shortest-path trees; solve it with predecessors = true")
        row = chosen(len(before), number, "searches")
        heads = np.flatnonzero(before[row] != NO_VERTEX)
        tails = before[row, heads].astype(np.int64)
        distance = contents.value("solution", "distance")[row]
        reached = np.flatnonzero(distance != no_path_of(distance.dtype))
        return base.Edges(tails, heads, contents.in_own_unit(distance[heads] - distance[tails]), True, reached)


DISTANCES = DistancesType()

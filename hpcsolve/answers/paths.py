"""Shortest paths: a distance and a path for each query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers import base, distances
from hpcsolve.answers.contents import Column, Contents, own_unit, stored
from hpcsolve.answers.distances import LENGTH_TYPES, SHOWN, UNREACHED, DistancesMixin
from hpcsolve.answers.edges import EDGES, AnswerEdges, edges_group
from hpcsolve.answers.rounding import Worth, declared, exactly, rounding_group
from hpcsolve.errors import InputError
from hpcsolve.formats.vertex_lists import queries_sha256
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.check_distances import PairPaths, no_path_of, require
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion
from hpcsolve.problems.search_again import check_shortest
from hpcsolve.problems.unrounded import unrounded_length, unrounded_paths
from hpcsolve.wording import counted


@dataclass(frozen=True, eq=False)
class Paths(PairPaths):
    """The distances and paths of all queries, in the order of the job. Only rank 0 has them."""

    source: NDArray[np.int32] = stored("int32", "Positions of the sources, from 0", "query")
    target: NDArray[np.int32] = stored("int32", "Positions of the targets, from 0", "query")
    distance: NDArray[Any] = stored(
        LENGTH_TYPES, "Length of the path, times /instance/scale", "query", none=UNREACHED, scaled=True)
    offset: NDArray[np.int64] = stored("int64", "Where each path begins in `path`, and the end of the last", "offset")
    path: NDArray[np.int32] = stored(
        "int32", "Vertices of all paths, both ends included, positions from 0: query i has "
        "path[offset[i]:offset[i+1]]", "path")


class PathsMixin(DistancesMixin):
    """The part of `hpcsolve.Result` about distances and paths."""

    def path(self, *ends: Any) -> list[Any]:
        """Return the vertices of a shortest path by name or label, from source to target, or [] if there is no path.

        `path(i)` is the path of query i, counted from 0. `path(source, target)` takes names or labels, and needs a
        result with a table of predecessors.

        Raises
        ------
        InputError
            No such query or vertex, or the result has no paths.
        """
        if len(ends) == 1 and self.contents.value("solution", "path") is not None:
            return self.named(self._path_of_query(ends[0]))
        if len(ends) == 2 and self.contents.value("solution", "predecessor") is not None:
            return self._path_between(*ends)
        raise InputError("path(i) needs a result of queries, path(source, target) one with predecessors = true")

    def _path_of_query(self, query: Any) -> NDArray[Any]:
        offset = self.contents.value("solution", "offset")
        if query not in range(len(offset) - 1):
            raise InputError(f"there is no query {query!r}; they are numbered 0 to {len(offset) - 2}")
        path: NDArray[Any] = self.contents.value("solution", "path")[offset[query] : offset[query + 1]]
        return path


class PathsType(base.AnswerType):
    """A path for each query, as an answer."""

    name, in_words, records = "paths", "shortest paths", (Paths,)
    row_values = "source"
    groups = declared("error", "part", "distance", edges=EDGES)

    def check(self, problem: Graph, question: PathQuestion, answer: Paths | None, comm: Comm) -> base.Verdict:
        """Check all paths in numpy, on the rank that has them."""
        passed = "no arc shortens a distance, and a path of each distance exists; every path added up in numpy"
        wrong = None if answer is None else base.message_of(answer.check_paths, problem, question.cutoff)
        return base.first_failure(comm, wrong) or base.Verdict(True, passed)

    @base.judged
    def verify(
        self, contents: Contents, answer: Paths, problem: Graph, question: PathQuestion, rows: base.RowBlocks
    ) -> base.Verdict:
        """Check all paths in a result file, and find every distance again by a search on the host."""
        pairs = np.stack([answer.source, answer.target], axis=1)
        if question.pairs is None:
            labels, names = problem.labels, problem.vertex_names
            named = np.array(names, dtype=object) if names else labels
            same = question.pairs_sha256 in (queries_sha256(labels[pairs]), queries_sha256(named[pairs]))
        else:
            same = np.array_equal(pairs, question.pairs)
        require(same, "/solution/source and target are not the queries of the job")
        none, stored = no_path_of(answer.distance.dtype), contents.groups["solution"]["distance"].none
        require(stored == none, f"/solution/distance says that {stored} stands for none, not {none}")
        answer.check_paths(problem, question.cutoff)
        check_shortest(problem, answer, question.cutoff)
        return base.Verdict(True, "every path added up, every distance and path found again by a search on the host")

    def beside(self, problem: Graph, question: PathQuestion, answer: Paths) -> dict[str, dict[str, Column]]:
        """Return `/edges` of paths that have passed their check, and `/rounding` if weights were rounded."""
        goes_on = np.ones(len(answer.path), bool)
        goes_on[answer.offset[1:][np.diff(answer.offset) > 0] - 1] = False
        edges = edges_group(problem, answer.path[goes_on], answer.path[1:][goes_on[:-1]])
        if problem.rounding is None:
            return edges
        sources, place = np.unique(answer.source, return_inverse=True)
        targets = [answer.target[place == number].astype(np.int64) for number in range(len(sources))]
        found = unrounded_paths(problem, [np.array([source], np.int64) for source in sources], targets, question.cutoff)
        if len(answer.source) > SHOWN:
            return edges | rounding_group(found)
        paths = [answer.path[begin:end] for begin, end in pairwise(answer.offset.tolist())]
        lengths = [unrounded_length(problem, path) if len(path) else None for path in paths]
        return edges | rounding_group(found, distance=lengths)

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield one line per query with its distance, or one line with the number of queries if there are many."""
        yield from self._query_lines(contents)
        if bounds := Worth(contents).distance_bounds():
            yield f"bound:  {bounds}"

    def _query_lines(self, contents: Contents) -> Iterator[str]:
        columns = {name: np.asarray(contents.value("solution", name)) for name in ("source", "target", "distance")}
        labels = contents.shown_names()
        scale = max(1, int(contents.value("instance", "scale")))
        reached = columns["distance"] != no_path_of(columns["distance"].dtype)
        lengths = np.diff(contents.value("solution", "offset"))
        ends = np.concatenate([columns["source"], columns["target"]])
        rows = {len(reached), len(lengths), *map(len, columns.values())}
        if len(reached) > SHOWN or len(rows) > 1 or not ((ends >= 0) & (ends < len(labels))).all():
            number = counted(len(reached), "query")
            yield f"query:  {number}, {reached.sum()} reached; /solution of the file has the paths"
            return
        exact = contents.value("rounding", "distance", [""] * len(reached))
        queries = zip(*columns.values(), reached, lengths, exact, strict=True)
        for source, target, distance, there, length, text in queries:
            found = f"{own_unit(distance.item(), scale)}{exactly(text)}, {counted(length, 'vertex')}"
            found = found if there else "not reached"
            yield f"query:  {labels[source]} -> {labels[target]}: {found}"

    def summary(self, contents: Contents) -> str:
        """Return how many queries and vertices there are: `2 queries, 1 reached; 300 vertices`."""
        distance = np.asarray(contents.value("solution", "distance"))
        reached = int((distance != no_path_of(distance.dtype)).sum())
        vertices = contents.value("instance", "vertices")
        return f"{counted(distance.size, 'query')}, {reached} reached; {vertices} vertices"

    def rows(self, contents: Contents) -> Iterator[base.Rows]:
        """Yield the queries with their distances, `inf` where no path leads, and their paths: lists of names."""
        names, offset = contents.unique_names(), np.asarray(contents.value("solution", "offset"))
        path = names[np.asarray(contents.value("solution", "path"), np.int64)]
        paths = np.empty(len(offset) - 1, object)
        paths[:] = [path[begin:end].tolist() for begin, end in pairwise(offset)]
        ends = {name: names[np.asarray(contents.value("solution", name), np.int64)] for name in ("source", "target")}
        distance = contents.own_distances(np.asarray(contents.value("solution", "distance")))
        yield {"query": np.arange(len(paths)), **ends, "distance": distance, "path": paths}

    def edges(self, contents: Contents, number: int | None = None) -> base.Edges:
        """Return the arcs of the path of a query, with their weights, which results of older versions lack."""
        path = self.vertices(contents, number)
        weights = AnswerEdges(contents).weights(path[:-1], path[1:])
        return base.Edges(path[:-1], path[1:], weights, True, path)

    def vertices(self, contents: Contents, number: int | None = None) -> NDArray[np.int64]:
        """Return the positions of the vertices of the path of a query, from source to target."""
        offset = np.asarray(contents.value("solution", "offset"))
        chosen = distances.chosen(len(offset) - 1, number, "queries")
        return np.asarray(contents.value("solution", "path"), np.int64)[offset[chosen] : offset[chosen + 1]]


PATHS = PathsType()

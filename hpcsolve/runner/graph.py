"""Graphs as a kind of problem, answered by tables of distances. Every rank checks its own rows; `verify` checks all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Column, Outcome, as_column
from hpcsolve.algorithms.registry import Algorithm
from hpcsolve.errors import InputError
from hpcsolve.formats import GraphInstance, read_graph, write_coordinates, write_dimacs, write_steinlib
from hpcsolve.output.contents import Contents
from hpcsolve.output.reader import row_blocks
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph, vertex_positions
from hpcsolve.problems.graph_convert import from_networkx, from_scipy
from hpcsolve.problems.paths import check_distances
from hpcsolve.runner.verdict import Verdict

SIZE = "vertices"
SHOWN = 12
"""Sources that are printed by name."""
OPTIONS = ("coordinates", "directed")
"""Keys of the job's table `{ file = ..., ... }`."""


def read(path: str, options: Mapping[str, Any]) -> GraphInstance:
    """A file of a graph, with coordinates in another one if asked for.

    Raises
    ------
    InputError
        One line with file and line, or key.
    """
    for key in options:
        if key not in OPTIONS:
            raise InputError(f"instance: no key {key!r} beside file; there are {', '.join(OPTIONS)}")
    places, directed = options.get("coordinates"), options.get("directed")
    if not isinstance(places, (str, type(None))) or not isinstance(directed, (bool, type(None))):
        raise InputError("instance: coordinates is the name of a file, directed is true or false")
    return read_graph(path, places, directed=directed)


def given(problem: Any) -> Graph:
    """A graph, or that of a sparse matrix of scipy or a graph of networkx.

    Raises
    ------
    InputError
        It is none of these.
    """
    if isinstance(problem, Graph):
        return problem
    if hasattr(problem, "tocoo"):
        return from_scipy(problem)
    if hasattr(problem, "is_directed"):
        return from_networkx(problem)
    what = "a Graph, a sparse matrix of scipy, a graph of networkx, or a file"
    raise InputError(f"{type(problem).__name__} is no graph; give {what}")


def write(problem: Graph, path: str) -> None:
    """Write a graph: SteinLib if the name ends in .stp, coordinates alone if in .co, else DIMACS; raises as these."""
    writers = {".stp": write_steinlib, ".co": write_coordinates}
    writers.get(os.path.splitext(path.lower())[1], write_dimacs)(problem, path)


def content_hash(problem: Graph) -> str:
    """SHA-256 of arcs, weights, labels and terminals."""
    head = f"graph {problem.n} {problem.arcs} {problem.scale} {problem.directed} {problem.weights.dtype}"
    digest = hashlib.sha256(head.encode())
    terminals = np.empty(0, dtype=np.int64) if problem.terminals is None else problem.terminals
    for array in (problem.offsets, problem.heads, problem.weights, problem.labels, terminals):
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def identity(instance: GraphInstance) -> str:
    """The graph's content: one file may be read as directed or not."""
    return content_hash(instance.problem)


def size(problem: Graph) -> int:
    """Number of vertices."""
    return problem.n


def headline(problem: Graph) -> str:
    """`NY, 264346 vertices, 730100 arcs, directed`."""
    arcs = f"{problem.arcs} arcs, directed" if problem.directed else f"{problem.edges} edges, undirected"
    return f"{problem.name}, {problem.n} vertices, {arcs}"


def columns(instance: GraphInstance) -> dict[str, Column]:
    """Names, sizes, vertices; not the arcs."""
    graph = instance.problem
    found = {
        "name": Column(graph.name, "Name"),
        "kind": Column("graph", "Kind of problem"),
        "comment": Column(graph.comment, "Comment of the file"),
        "path": Column(instance.path, "Where it was read, empty if it was generated"),
        "format": Column(instance.format, "How it was read"),
        "sha256": Column(instance.sha256, "SHA-256 of the file, or of the content if there was no file"),
        "content_sha256": Column(content_hash(graph), "SHA-256 of the arcs as they were read, labels and terminals"),
        "vertices": Column(np.array(graph.n, dtype=np.int64), "Number of vertices"),
        "arcs": Column(np.array(graph.arcs, dtype=np.int64), "Number of arcs, two for each undirected edge"),
        "directed": Column(graph.directed, "Whether an arc leads one way only"),
        "scale": Column(np.array(graph.scale, dtype=np.int64), "A weight in the instance's own unit is weight / scale"),
        "parallel_arcs": Column(np.array(graph.parallel_arcs, dtype=np.int64), "Dropped: a lighter one is beside them"),
        "loops": Column(np.array(graph.loops, dtype=np.int64), "Dropped: arcs from a vertex to itself"),
        "label": as_column(graph.labels, "Number of each vertex in the file", dimension="vertex"),
    }
    if graph.vertex_names:
        names = np.array(graph.vertex_names, dtype=object)
        found["vertex_name"] = as_column(names, "Name of each vertex", dimension="vertex")
    if graph.coordinates is not None:
        for axis, values in zip("xyz", graph.coordinates.T):
            found[axis] = as_column(values, f"Coordinate {axis}, as in the file", dimension="vertex")
    return found


def trial(problem: Graph, parameters: Any) -> None:
    """None: the work differs too much from graph to graph."""


def check(module: Algorithm, problem: Graph, parameters: Any, outcome: Outcome, comm: Comm) -> Verdict:
    """The algorithm's own check of all rows, and numpy's of each rank's first and last row; collective."""
    wrong = cast(Any, module).check(problem, parameters, outcome) or _sample(problem, parameters, outcome)
    found = comm.allgather(wrong)
    failures = [f"rank {rank}: {text}" for rank, text in enumerate(found) if text]
    if failures:
        return Verdict(False, failures[0] + (f", and on {len(failures) - 1} more ranks" if len(failures) > 1 else ""))
    beside = "before the targets were picked" if "target" in outcome.solution else "rows of each rank in numpy too"
    return Verdict(True, f"no arc offers less, paths of that length lead there; {beside}")


def verify(path: str, contents: Contents, problem: Graph, parameters: Any) -> Verdict:
    """Check every row of the tables in a result file."""
    source, tables = contents.value("solution", "source"), contents.tables
    if source is None or "distance" not in tables:
        return Verdict(False, "/solution has no source or no distance")
    asked = _asked_sources(problem, parameters)
    if asked is not None and not np.array_equal(asked, source):
        return Verdict(False, "/solution/source has not the sources of the job")
    together = bool(getattr(parameters, "voronoi", False))
    seeds, n = _seeds(np.asarray(source), together), problem.n
    if not ((np.asarray(source) >= 0) & (np.asarray(source) < n)).all():
        return Verdict(False, "/solution/source names vertices that the instance has not")
    for name, table in tables.items():
        if table.shape[0] != len(seeds):
            return Verdict(False, f"/solution/{name} has {table.shape[0]} rows for {len(seeds)} searches")
    if tables["distance"].shape[1] != n or contents.value("solution", "target") is not None:
        return Verdict(None, "distances at some vertices alone cannot be checked without solving it again")
    names = [name for name in ("distance", "predecessor", "nearest") if name in tables]
    try:
        for first, blocks in row_blocks(path, names):
            block = dict(zip(names, blocks, strict=True))
            _check_rows(problem, seeds[first : first + len(blocks[0])], block, parameters, first)
    except ValueError as error:
        return Verdict(False, str(error))
    return Verdict(True, "in every row: no arc offers less, and paths of that length lead there")


def answer_lines(contents: Contents) -> Iterator[str]:
    """The sources, and what tables there are."""
    sources = np.asarray(contents.value("solution", "source", []))
    labels = np.asarray(contents.value("instance", "label", []))
    if ((sources >= 0) & (sources < len(labels))).all() and len(sources) <= SHOWN:
        yield f"source: {' '.join(str(label) for label in labels[sources.astype(np.int64)])}"
    else:
        yield f"source: {len(sources)} vertices, /solution/source in the file"
    for name, table in contents.tables.items():
        yield f"table:  {name}, {table.shape[0]} x {table.shape[1]}, {table.dtype}"


def _sample(graph: Graph, parameters: Any, outcome: Outcome) -> str | None:
    """What numpy finds wrong in the first and the last of this rank's rows."""
    rows = outcome.rows.get("distance")
    if rows is None or not len(rows.values) or rows.values.shape[1] != graph.n or "target" in outcome.solution:
        return None
    seeds = _seeds(np.asarray(outcome.solution["source"].values), bool(getattr(parameters, "voronoi", False)))
    for row in sorted({0, len(rows.values) - 1}):
        here = {name: table.values[row : row + 1] for name, table in outcome.rows.items()}
        try:
            _check_rows(graph, seeds[rows.first + row : rows.first + row + 1], here, parameters, rows.first + row)
        except ValueError as error:
            return str(error)
    return None


def _check_rows(
    graph: Graph, seeds: list[NDArray[np.int64]], tables: Mapping[str, NDArray[Any]], parameters: Any, first: int
) -> None:
    cutoff = getattr(parameters, "cutoff", None)
    limit = None if cutoff is None else cutoff * graph.scale
    distance, predecessor = tables["distance"], tables.get("predecessor")
    check_distances(graph, seeds, distance, predecessor, cutoff=limit, first=first)
    if "nearest" in tables:
        _check_nearest(graph, seeds, distance, tables["nearest"], first)


def _check_nearest(
    graph: Graph, seeds: list[NDArray[np.int64]], distance: NDArray[Any], nearest: NDArray[Any], first: int
) -> None:
    """Each source is nearest to itself; every other vertex has that of a neighbour at the end of a tight arc."""
    tails = graph.tails()
    for row, sources in enumerate(seeds):
        here, claimed = distance[row], nearest[row].astype(np.int64)
        reached = here != (np.inf if here.dtype.kind == "f" else np.iinfo(here.dtype).max)
        led = ~reached
        led[sources] = claimed[sources] == sources
        start, end = here[tails], here[graph.heads]
        if here.dtype.kind == "f":
            tight = start + graph.weights == end
        else:
            tight = (end >= start) & (np.where(end >= start, end - start, 0) == graph.weights)
        tight &= reached[tails] & reached[graph.heads] & (claimed[tails] == claimed[graph.heads])
        is_source = np.zeros(graph.n, dtype=bool)
        is_source[sources] = True
        led[graph.heads[tight & ~is_source[graph.heads]]] = True
        wrong = np.flatnonzero(~led | (~reached & (claimed != -1)) | (reached & ~np.isin(claimed, sources)))
        if len(wrong):
            vertex = wrong[0]
            raise ValueError(f"row {first + row}: the nearest source of vertex {graph.labels[vertex]} is another one")


def _seeds(sources: NDArray[Any], together: bool) -> list[NDArray[np.int64]]:
    """The sources of each row."""
    positions = sources.astype(np.int64)
    return [np.sort(positions)] if together else list(positions.reshape(-1, 1))


def _asked_sources(graph: Graph, parameters: Any) -> NDArray[np.int64] | None:
    """Positions of the sources that the job names, None where it leaves them to chance."""
    asked = getattr(parameters, "sources", None)
    if asked == "terminals":
        return graph.terminals
    return vertex_positions(graph, asked) if isinstance(asked, (list, tuple)) else None

"""Graphs as a kind of problem, answered by tables of distances, or by paths between pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import Column, as_column
from hpcsolve.errors import InputError
from hpcsolve.formats import GraphInstance, read_graph, read_terminals, write_graph
from hpcsolve.output.contents import Contents
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_convert import from_networkx, from_scipy
from hpcsolve.problems.steiner import at_positions, with_terminals
from hpcsolve.problems.verify.paths import unreached_of
from hpcsolve.runner.collect import own_unit
from hpcsolve.runner.graph_check import check as check
from hpcsolve.runner.graph_check import verify as verify

SIZE = "vertices"
write = write_graph
SHOWN = 12
"""Sources and queries that are printed one by one."""
_LABEL = ("instance", "label")
OPTIONS = ("coordinates", "directed", "terminals")
"""Keys of the job's table `{ file = ..., ... }`."""


def read(path: str, options: Mapping[str, Any]) -> GraphInstance:
    """A file of a graph, with coordinates or terminals in another one if asked for.

    Raises
    ------
    InputError
        One line with file and line, or key.
    """
    for key in options:
        if key not in OPTIONS:
            raise InputError(f"instance: no key {key!r} beside file; there are {', '.join(OPTIONS)}")
    places, directed, terminals = (options.get(key) for key in OPTIONS)
    if not isinstance(places, (str, type(None))) or not isinstance(directed, (bool, type(None))):
        raise InputError("instance: coordinates is the name of a file, directed is true or false")
    if not isinstance(terminals, (str, list, type(None))):
        raise InputError("instance: terminals is a list of vertices, or the name of a file with one on each line")
    found = read_graph(path, places, directed=directed)
    return found if terminals is None else replace(found, problem=_with_terminals(found.problem, terminals))


def _with_terminals(graph: Graph, asked: str | list[Any]) -> Graph:
    if isinstance(asked, str):
        return at_positions(graph, read_terminals(asked).positions(graph).reshape(-1))
    return with_terminals(graph, asked)


def given(problem: Any, options: Mapping[str, Any], directed: bool = True) -> Graph:
    """A graph, that of a sparse matrix of scipy (each entry an arc, or an edge), or of a graph of networkx.

    Raises
    ------
    InputError
        It is none of these.
    """
    if isinstance(problem, Graph):
        graph = problem
    elif hasattr(problem, "tocoo"):
        graph = from_scipy(problem, directed=directed)
    elif hasattr(problem, "is_directed"):
        graph = from_networkx(problem)
    else:
        what = "a Graph, a sparse matrix of scipy, a graph of networkx, or a file"
        raise InputError(f"{type(problem).__name__} is no graph; give {what}")
    return with_terminals(graph, options["terminals"]) if "terminals" in options else graph


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


def answer_lines(contents: Contents) -> Iterator[str]:
    """The sources, and what tables there are; or the queries."""
    if contents.value("solution", "path") is not None:
        yield from _query_lines(contents)
        return
    sources, labels = (np.asarray(contents.value(*name, [])) for name in (("solution", "source"), _LABEL))
    if ((sources >= 0) & (sources < len(labels))).all() and len(sources) <= SHOWN:
        yield f"source: {' '.join(str(label) for label in labels[sources.astype(np.int64)])}"
    else:
        yield f"source: {len(sources)} vertices, /solution/source in the file"
    for name, table in contents.tables.items():
        yield f"table:  {name}, {table.shape[0]} x {table.shape[1]}, {table.dtype}"


def _query_lines(contents: Contents) -> Iterator[str]:
    """Each of a few queries with its distance; the number of many."""
    columns = {name: np.asarray(contents.value("solution", name)) for name in ("source", "target", "distance")}
    labels, scale = np.asarray(contents.value(*_LABEL, [])), max(1, int(contents.value("instance", "scale")))
    reached = columns["distance"] != unreached_of(columns["distance"].dtype)
    lengths = np.diff(contents.value("solution", "offset"))
    ends = np.concatenate([columns["source"], columns["target"]])
    rows = {len(reached), len(lengths), *map(len, columns.values())}
    if len(reached) > SHOWN or len(rows) > 1 or not ((ends >= 0) & (ends < len(labels))).all():
        yield f"query:  {len(reached)} pairs, {reached.sum()} of them reached; /solution in the file has the paths"
        return
    for source, target, distance, there, length in zip(*columns.values(), reached, lengths, strict=True):
        found = f"{own_unit(distance.item(), scale)}, {length} vertices" if there else "not reached"
        yield f"query:  {labels[source]} -> {labels[target]}: {found}"

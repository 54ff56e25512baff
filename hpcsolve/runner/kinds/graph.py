"""Graphs as a kind of problem. They have weights, and may have coordinates and terminals."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats import GraphInstance, read_graph, read_terminals, write_graph
from hpcsolve.problems.graph import Graph, fitted_graph, with_terminals_at
from hpcsolve.problems.libraries import from_networkx, from_scipy
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.steiner import with_terminals
from hpcsolve.runner.kinds import ProblemKind
from hpcsolve.wording import counted, did_you_mean

OPTIONS = ("coordinates", "directed", "terminals", "weight")
"""Keys of the job's table `{ file = ..., ... }`."""


def read(path: str, options: Mapping[str, Any], precision: Precision, whole: bool = False) -> GraphInstance:
    """Read the file of a graph, with coordinates or terminals from other files if the options name them.

    Parameters
    ----------
    whole
        Whether weights must be integers, which are rounded where they must be.

    Raises
    ------
    InputError
        One line with file and line, or key.
    """
    for key in options:
        if key not in OPTIONS:
            hint = did_you_mean(key, OPTIONS, f"; the keys are {', '.join(OPTIONS)}")
            raise InputError(f"instance: no key {key!r} beside file{hint}")
    coordinates, directed, terminals, weight = (options.get(key) for key in OPTIONS)
    if not isinstance(coordinates, (str, type(None))) or not isinstance(directed, (bool, type(None))):
        raise InputError("instance: coordinates must be the name of a file, and directed true or false")
    if not isinstance(weight, (str, type(None))):
        raise InputError("instance: weight must be the name of an attribute or column")
    if not isinstance(terminals, (str, list, type(None))):
        raise InputError("instance: terminals must be a list of vertices, or the name of a file with one per line")
    found = read_graph(path, coordinates, directed=directed, weight=weight)
    found = replace(found, problem=fitted_graph(found.problem, precision, whole))
    return found if terminals is None else replace(found, problem=_with_terminals(found.problem, terminals))


def _with_terminals(graph: Graph, asked: str | list[Any]) -> Graph:
    if isinstance(asked, str) and not os.path.exists(asked):
        listed = "--set 'instance.terminals=[\"a\", \"b\"]'"
        raise InputError(f"instance.terminals: there is no file {asked}; a list of vertices is written {listed}")
    if isinstance(asked, str):
        return with_terminals_at(graph, read_terminals(asked).positions(graph).reshape(-1))
    return with_terminals(graph, asked)


def given(problem: Any, options: Mapping[str, Any], precision: Precision, whole: bool = False) -> Graph:
    """Return the graph that a program gave: a `Graph`, a sparse matrix of scipy, or a graph of networkx.

    Each entry of a matrix is an arc, but an edge if weights must be `whole` (as in `read`), for a Steiner problem.

    Raises
    ------
    InputError
        It is none of these, or has not what is among the options: `weight` is for graphs of networkx, `directed` for
        these and matrices.
    """
    directed = options.get("directed")
    if isinstance(problem, Graph):
        graph = problem
        if directed not in (None, graph.directed):
            raise InputError(f"directed={directed}: a Graph says itself whether it is directed; remove directed=")
    elif hasattr(problem, "tocoo"):
        graph = from_scipy(problem, directed=None if whole and directed is None else directed is not False)
    elif hasattr(problem, "is_directed"):
        graph = from_networkx(problem, options.get("weight", "weight"), directed=directed)
    else:
        what = "a Graph, a sparse matrix of scipy, a graph of networkx, or a file"
        how = "networkx.from_pandas_edgelist makes a graph of a table, with create_using=networkx.DiGraph one of arcs"
        raise InputError(f"{type(problem).__name__} is not a graph; give {what}; {how}")
    if "weight" in options and not hasattr(problem, "is_directed"):
        raise InputError(f"weight= names an attribute of networkx's edges, and {type(problem).__name__} has none")
    graph = fitted_graph(graph, precision, whole)
    return with_terminals(graph, options["terminals"]) if "terminals" in options else graph


def is_graph(problem: object) -> bool:
    """Return whether a program gave a graph of one of these types."""
    return isinstance(problem, Graph) or hasattr(problem, "tocoo") or hasattr(problem, "is_directed")


def content_hash(problem: Graph) -> str:
    """Return the SHA-256 of arcs, weights, labels and terminals."""
    head = f"graph {problem.n} {problem.arcs} {problem.scale} {problem.directed} {problem.weights.dtype}"
    digest = hashlib.sha256(head.encode())
    terminals = np.empty(0, dtype=np.int64) if problem.terminals is None else problem.terminals
    for array in (problem.offsets, problem.heads, problem.weights, problem.labels, terminals):
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def identity(instance: GraphInstance) -> str:
    """Return the hash of the graph's content, since one file may be read as directed or not."""
    return content_hash(instance.problem)


def size(problem: Graph) -> int:
    """Return the number of vertices."""
    return problem.n


def headline(problem: Graph) -> str:
    """Return `NY, 264346 vertices, 730100 arcs, directed`."""
    edges = f"{counted(problem.edges, 'edge')}, undirected"
    arcs = f"{counted(problem.arcs, 'arc')}, directed" if problem.directed else edges
    return f"{problem.name}, {counted(problem.n, 'vertex')}, {arcs}"


def values(instance: GraphInstance) -> dict[str, Any]:
    """Return the values of `/instance`: names, sizes and vertices, but not the arcs."""
    graph = instance.problem
    axes = () if graph.coordinates is None else graph.coordinates.T
    return {
        "name": graph.name,
        "comment": graph.comment,
        "path": instance.path,
        "format": instance.format,
        "sha256": instance.sha256,
        "content_sha256": content_hash(graph),
        "vertices": graph.n,
        "arcs": graph.arcs,
        "directed": graph.directed,
        "scale": graph.scale,
        "rounded_to": None if graph.rounding is None else 1 / graph.scale,
        "parallel_arcs": graph.parallel_arcs,
        "loops": graph.loops,
        "label": graph.labels,
        "vertex_name": graph.vertex_names or None,
        "coordinates_kind": graph.coordinates_kind,
        **dict(zip("xyz", axes)),
    }


KIND = ProblemKind("vertices", read, given, write_graph, content_hash, identity, size, headline, values)

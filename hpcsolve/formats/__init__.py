"""Reading and writing instances: `known.py` lists the formats, `tsp/` and `graph/` hold one file each of them."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import as_text, open_file
from hpcsolve.formats.graph.dimacs import with_coordinates, write_coordinates, write_dimacs
from hpcsolve.formats.graph.queries import pairs_sha256, read_queries
from hpcsolve.formats.graph.steiner_solution import write_steiner_solution
from hpcsolve.formats.graph.steinlib import write_steinlib
from hpcsolve.formats.graph.terminals import read_terminals
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.formats.record import GraphInstance, Instance, InstanceOf, read_instance, write_instance
from hpcsolve.formats.tsp.tsplib import read_tour_text
from hpcsolve.formats.tsp.tsplib_write import write_tour, write_tsplib
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import Tsp

__all__ = [
    "GraphInstance",
    "Instance",
    "InstanceOf",
    "pairs_sha256",
    "read",
    "read_graph",
    "read_queries",
    "read_terminals",
    "read_tour",
    "write",
    "write_coordinates",
    "write_dimacs",
    "write_graph",
    "write_steiner_solution",
    "write_steinlib",
    "write_tour",
    "write_tsplib",
]


def read(path: str | os.PathLike[str]) -> Instance:
    """Read a travelling salesman problem in any of `known.TSP_FORMATS`, perhaps compressed with gz or xz.

    Parameters
    ----------
    path
        "-" is standard input.

    Raises
    ------
    InputError
        In one line, with file and line: what is wrong and what to do.
    ResourceError
        The cost matrix would not fit this machine.
    """
    wrong_kind = "a graph ({}), not a travelling salesman problem, which needs all distances"
    return read_instance(path, TSP_FORMATS, GRAPH_FORMATS, wrong_kind)


def read_graph(
    path: str | os.PathLike[str], coordinates: str | os.PathLike[str] | None = None, *, directed: bool | None = None
) -> GraphInstance:
    """Read a graph in any of `known.GRAPH_FORMATS`, perhaps compressed with gz or xz.

    Parameters
    ----------
    path
        "-" is standard input.
    coordinates
        A DIMACS `.co` file.
    directed
        For formats that leave it open (DIMACS, Matrix Market, edge lists, .npz): whether a line is an arc, or an edge
        of both directions. By default as the format says; edge lists are undirected.

    Raises
    ------
    InputError
        In one line, with file and line: what is wrong and what to do.
    """
    wrong_kind = "a travelling salesman problem ({}), not a graph; scipy.sparse.save_npz writes a matrix as a graph"
    found = read_instance(path, GRAPH_FORMATS, TSP_FORMATS, wrong_kind, directed)
    if coordinates is None:
        return found
    graph = with_coordinates(found.problem, as_text(open_file(os.fspath(coordinates))))
    return GraphInstance(graph, found.path, found.sha256, found.format)


def read_tour(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Return the labels of the cities of a TSPLIB tour in their order; `problems.tsp.positions` finds the positions.

    Raises
    ------
    InputError
        In one line, with file and line.
    """
    return read_tour_text(as_text(open_file(os.fspath(path))))


def write(tsp: Tsp, path: str) -> None:
    """Write a travelling salesman problem as TSPLIB, or as the suffix says; raises as `write_tsplib`."""
    write_instance(tsp, path, TSP_FORMATS)


def write_graph(graph: Graph, path: str) -> None:
    """Write a graph as DIMACS, or as the suffix says (`.co`: its coordinates alone); raises as these functions."""
    if path.lower().endswith(".co"):
        write_coordinates(graph, path)
    else:
        write_instance(graph, path, GRAPH_FORMATS)

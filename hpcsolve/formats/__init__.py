"""Readers and writers of instances. `known.py` lists the formats, and `tsp/` and `graph/` have a file for each.

`known.py` imports all of them. So functions here import it only when a file is read or written, as most ranks never do.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.base import GraphInstance, Instance, InstanceOf, read_instance, write_instance
from hpcsolve.formats.files import as_text, open_file
from hpcsolve.formats.graph.dimacs import with_coordinates, write_coordinates, write_dimacs
from hpcsolve.formats.graph.queries import queries_sha256, read_queries
from hpcsolve.formats.graph.steiner_solution import steiner_solution_lines
from hpcsolve.formats.graph.steinlib import write_steinlib
from hpcsolve.formats.graph.terminals import read_terminals
from hpcsolve.formats.tsp.tsplib_tour import read_tour_text
from hpcsolve.formats.tsp.tsplib_write import tour_lines, write_tour, write_tsplib
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp

__all__ = [
    "GraphInstance",
    "Instance",
    "InstanceOf",
    "queries_sha256",
    "read",
    "read_graph",
    "read_queries",
    "read_terminals",
    "read_tour",
    "steiner_solution_lines",
    "tour_lines",
    "write",
    "write_coordinates",
    "write_dimacs",
    "write_graph",
    "write_steinlib",
    "write_tour",
    "write_tsplib",
]


def read(path: str | os.PathLike[str], precision: Precision | None = None) -> Instance:
    """Read a travelling salesman problem in any of `known.TSP_FORMATS`, perhaps compressed with gz or xz.

    Parameters
    ----------
    path
        "-" is standard input.
    precision
        How to round decimals that are too many for exact integers; by default they are refused.

    Raises
    ------
    InputError
        The file is missing, damaged or not a travelling salesman problem. The message names file and line.
    ResourceError
        The cost matrix would not fit this machine.
    """
    from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS

    wrong_kind = "a graph ({}), not a travelling salesman problem, which needs the distances between all cities"
    return read_instance(path, TSP_FORMATS, GRAPH_FORMATS, wrong_kind, precision)


def read_graph(
    path: str | os.PathLike[str],
    coordinates: str | os.PathLike[str] | None = None,
    *,
    directed: bool | None = None,
    weight: str | None = None,
) -> GraphInstance:
    """Read a graph in any of `known.GRAPH_FORMATS`, perhaps compressed with gz or xz.

    Parameters
    ----------
    path
        "-" is standard input.
    coordinates
        A DIMACS `.co` file.
    directed
        Whether an entry of the file is an arc (True), or an edge (False), whose weight is the lighter one of two
        directions. By default the file says it. One that does not (edge lists, GeoJSON) has edges, and is refused if
        two of them lead opposite ways with different weights.
    weight
        The attribute or column with the weights, in formats that may have several.

    Raises
    ------
    InputError
        A file is missing, damaged or not a graph. The message names file and line.
    """
    from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS

    wrong_kind = "a travelling salesman problem ({}), not a graph; save a matrix as a graph with scipy.sparse.save_npz"
    found = read_instance(path, GRAPH_FORMATS, TSP_FORMATS, wrong_kind, directed, weight=weight)
    if coordinates is None:
        return found
    graph = with_coordinates(found.problem, as_text(open_file(os.fspath(coordinates))))
    return GraphInstance(graph, found.path, found.sha256, found.format)


def read_tour(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Return the labels of the cities of a TSPLIB tour in their order.

    `problems.tsp.positions` returns the positions that belong to labels.

    Raises
    ------
    InputError
        The file is missing, damaged or not a tour. The message names file and line.
    """
    return read_tour_text(as_text(open_file(os.fspath(path))))


def write(tsp: Tsp, path: str) -> None:
    """Write a travelling salesman problem in the format of the path's suffix, by default TSPLIB.

    Raises
    ------
    InputError
        The format cannot express the problem.
    EnvironmentFault
        The file cannot be written.
    """
    from hpcsolve.formats.known import TSP_FORMATS

    _, *others = TSP_FORMATS
    other = path.lower().endswith(tuple(suffix for format in others for suffix in format.suffixes))
    if tsp.precedences and other:
        raise InputError(f"{tsp.name} says which cities come before others, which only TSPLIB has; write a .sop file")
    write_instance(tsp, path, TSP_FORMATS)


def write_graph(graph: Graph, path: str) -> None:
    """Write a graph in the format of the path's suffix, by default DIMACS. With `.co` write its coordinates alone.

    Raises
    ------
    InputError
        The format cannot express the graph, or the graph has no coordinates.
    EnvironmentFault
        The file cannot be written.
    """
    from hpcsolve.formats.known import GRAPH_FORMATS

    if path.lower().endswith(".co"):
        write_coordinates(graph, path)
    else:
        write_instance(graph, path, GRAPH_FORMATS)

"""Writing graphs: DIMACS `.gr` and `.co`, SteinLib `.stp`, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats.write import decimal, write_text
from hpcsolve.problems.graph import Graph


def write_dimacs(graph: Graph, path: str) -> None:
    """Write all arcs as a `.gr` file; vertices are numbered from 1, decimal weights written exactly.

    Parameters
    ----------
    path
        "-" is standard output.

    Raises
    ------
    EnvironmentFault
        If the file cannot be written.
    """
    head = [*_comments(graph), f"p sp {graph.n} {graph.arcs}"]
    write_text("\n".join([*head, *_arcs(graph, "a", np.arange(graph.arcs)), ""]), path)


def write_coordinates(graph: Graph, path: str) -> None:
    """Write the first two coordinates of each vertex as a `.co` file; raises as `write_dimacs`.

    Raises
    ------
    InputError
        The graph has none.
    """
    if graph.coordinates is None:
        raise InputError("has no coordinates", graph.name)
    points = enumerate(graph.coordinates[:, :2].tolist(), start=1)
    lines = (f"v {vertex} {_number(x)} {_number(y)}" for vertex, (x, y) in points)
    write_text("\n".join([*_comments(graph), f"p aux sp co {graph.n}", *lines, ""]), path)


def write_steinlib(graph: Graph, path: str) -> None:
    """Write a Steiner problem as `.stp`; raises as `write_dimacs`.

    Raises
    ------
    InputError
        The graph is directed, or has no terminals.
    """
    if graph.directed or graph.terminals is None:
        raise InputError("a Steiner problem is an undirected graph with terminals", graph.name)
    once = np.flatnonzero(graph.tails() <= graph.heads)
    lines = chain(
        ["33D32945 STP File, STP Format Version 1.0", "", "SECTION Graph", f"Nodes {graph.n}", f"Edges {graph.edges}"],
        _arcs(graph, "E", once),
        ["END", "", "SECTION Terminals", f"Terminals {len(graph.terminals)}"],
        (f"T {position + 1}" for position in graph.terminals.tolist()),
        ["END", ""],
        _coordinate_section(graph),
        ["EOF", ""],
    )
    write_text("\n".join(lines), path)


def _coordinate_section(graph: Graph) -> Iterator[str]:
    if graph.coordinates is None:
        return
    yield "SECTION Coordinates"
    for vertex, place in enumerate(graph.coordinates.tolist(), start=1):
        yield f"{'D' * len(place)} {vertex} {' '.join(map(_number, place))}"
    yield "END"
    yield ""


def _arcs(graph: Graph, key: str, chosen: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Iterator[str]:
    tails, heads, weights = graph.tails()[chosen] + 1, graph.heads[chosen] + 1, graph.weights[chosen]
    for tail, head, weight in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        yield f"{key} {tail} {head} {decimal(weight, graph.scale) if isinstance(weight, int) else repr(weight)}"


def _comments(graph: Graph) -> list[str]:
    return [f"c {line}" for line in [graph.name, *graph.comment.splitlines()] if line.strip()]


def _number(x: float) -> str:
    return repr(x).removesuffix(".0")

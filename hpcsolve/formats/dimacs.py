"""DIMACS shortest paths: `.gr`, the arcs of a directed graph, and `.co`, the coordinates of its vertices.

Source: 9th DIMACS Implementation Challenge, file formats. Lines begin with c (comment), p (problem: `p sp n m`,
`p aux sp co n`), a (an arc: tail, head, weight) or v (a vertex: id, x, y); ids count from 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hpcsolve.formats.base import Source, words
from hpcsolve.formats.lines import (
    Records,
    header_numbers,
    positions_in,
    read_records,
    require_count,
    require_plausible,
    weights_in,
)
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled


@dataclass(frozen=True)
class Header:
    """The numbers of a file's `p` line, that line, and the comments."""

    numbers: list[int]
    line: int
    comment: str


def read_dimacs(source: Source, directed: bool | None = None) -> Graph:
    """Read a `.gr` file.

    Parameters
    ----------
    directed
        False takes each arc as an edge, so that of both directions the least counts; default True.

    Raises
    ------
    InputError
        With file and line.
    """
    records = read_records(source, source.content, 1, ("a tail", "a head", "a weight"), b"a")
    header = header_of(source, records, ["sp"], 2, "`p sp VERTICES ARCS`", "an arc (a)")
    n, count = header.numbers
    require_plausible(source, n, header.line)
    require_count(source, count, len(records.lines), "arcs", header.line)
    tails, heads = (positions_in(source, column, records.lines, n) for column in records.columns[:2])
    weights, scale = weights_in(source, records.columns[2], records.lines, n)
    return assembled(
        source.stem or "graph", n, tails, heads, weights, directed=directed is not False, scale=scale,
        labels=np.arange(1, n + 1), comment=header.comment,
    )  # fmt: skip


def with_coordinates(graph: Graph, source: Source) -> Graph:
    """The graph with the coordinates of a `.co` file, one line a vertex by its label.

    Raises
    ------
    InputError
        With file and line.
    """
    records = read_records(source, source.content, 1, ("a vertex", "an x", "a y"), b"v")
    header = header_of(source, records, ["aux", "sp", "co"], 1, "`p aux sp co VERTICES`", "a vertex (v)")
    require_count(source, header.numbers[0], len(records.lines), "vertices", header.line)
    if len(records.lines) != graph.n:
        raise source.error(f"has {len(records.lines)} vertices, {graph.name} has {graph.n}", header.line)
    vertices = positions_in(source, records.columns[0], records.lines, graph.n)
    visits = np.bincount(vertices, minlength=graph.n)
    if graph.n and visits.max() > 1:
        index = int(np.flatnonzero(visits[vertices] > 1)[-1])
        raise source.error(f"vertex {vertices[index] + 1} for the second time", int(records.lines[index]))
    points = np.empty((graph.n, 2))
    points[vertices] = np.stack([column.astype(np.float64) for column in records.columns[1:]], axis=1)
    finite = np.isfinite(points[vertices]).all(axis=1)
    if not finite.all():
        raise source.error("a coordinate is too large", int(records.lines[np.argmin(finite)]))
    return replace(graph, coordinates=points)


def header_of(source: Source, records: Records, keys: list[str], count: int, example: str, what: str) -> Header:
    """The one `p` line, which must have these words and that many numbers; all other lines must be comments.

    Raises
    ------
    InputError
        With file and line.
    """
    found = [(line, words(text)) for line, text in records.others if words(text)[0] == "p"]
    if not found:
        first = int(records.lines[0]) if len(records.lines) else source.last_line
        raise source.error(f"the line {example} is missing; write it above this one", first)
    line, header = found[0]
    if header[1 : 1 + len(keys)] != keys or len(header) != 1 + len(keys) + count:
        raise source.error(f"expected {example}, found {shown(' '.join(header))}", line)
    numbers = header_numbers(source, header[1 + len(keys) :], line, example)
    if len(found) > 1:
        raise source.error(f"a second p line; the first is line {line}", found[1][0])
    comments = []
    for number, text in records.others:
        kind = words(text)[0]
        if kind not in ("c", "p"):
            raise source.error(f"neither a comment (c) nor {what}: {shown(text)}", number)
        comments += [text[1:].strip()] if kind == "c" else []
    return Header(numbers, line, "\n".join(comment for comment in comments if comment))

"""DIMACS files of shortest paths: `.gr`, the arcs of a directed graph, and `.co`, the coordinates of its vertices.

Source: 9th DIMACS Implementation Challenge, file formats. Lines begin with c (comment), p (problem: `p sp n m`,
`p aux sp co n`), a (an arc: tail, head, weight) or v (a vertex: id, x, y); ids count from 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats import records
from hpcsolve.formats.files import InputFile, words, write_text
from hpcsolve.formats.tables import shortest
from hpcsolve.problems.graph import Graph
from hpcsolve.wording import shown

_FIRST_LINE = re.compile(rb"(?:[ \t]*(?:c(?:[ \t][^\n]*)?)?\n)*[ \t]*p[ \t]+(\w+)")


@dataclass(frozen=True)
class ProblemLine:
    """The numbers of the one `p` line of a file, the number of that line, and the comments."""

    numbers: list[int]
    line: int
    comment: str


def read_dimacs(file: InputFile, directed: bool | None = None) -> Graph:
    """Return the graph of a `.gr` file.

    Parameters
    ----------
    directed
        False takes each arc as an edge, whose weight is the smaller one of both directions; by default True.

    Raises
    ------
    InputError
        With file and line.
    """
    body = records.read_records(file, file.content, 1, ("a tail", "a head", "a weight"), b"a")
    header = problem_line(body, ["sp"], 2, "`p sp VERTICES ARCS`", "an arc (a)")
    return counted_graph(body, header, "arcs", directed is not False)


def counted_graph(body: records.Records, header: ProblemLine, what: str, directed: bool) -> Graph:
    """Return the graph of records, of which there are as many (`what`, in the plural) as the `p` line says."""
    n, count = header.numbers
    records.require_plausible(body.file, n, header.line)
    body.require_count(count, what, header.line)
    return body.graph(n, directed=directed, comment=header.comment)


def looks_like_dimacs(content: bytes) -> bool:
    """Return whether the first line that is neither blank nor a comment is a `p` line, except PACE's `p tw`."""
    return problem_word(content) not in (b"", b"tw")


def problem_word(content: bytes) -> bytes:
    """Return the word after `p` on the first line that is neither blank nor a comment, empty if that is no `p` line."""
    found = _FIRST_LINE.match(content)
    return found[1] if found else b""


def with_coordinates(graph: Graph, file: InputFile) -> Graph:
    """Return a graph with the coordinates of a `.co` file, which has one line for each vertex.

    Raises
    ------
    InputError
        With file and line.
    """
    body = records.read_records(file, file.content, 1, ("a vertex", "an x", "a y"), b"v")
    header = problem_line(body, ["aux", "sp", "co"], 1, "`p aux sp co VERTICES`", "a vertex (v)")
    body.require_count(header.numbers[0], "vertices", header.line)
    if len(body.lines) != graph.n:
        found = f"has coordinates of {len(body.lines)} vertices"
        raise file.error(f"{found}; the graph {graph.name} has {graph.n}", header.line)
    vertices = body.positions(0, graph.n)
    visits = np.bincount(vertices, minlength=graph.n)
    if graph.n and visits.max() > 1:
        index = int(np.flatnonzero(visits[vertices] > 1)[-1])
        raise file.error(f"vertex {vertices[index] + 1} is given twice", int(body.lines[index]))
    points = np.empty((graph.n, 2))
    points[vertices] = np.stack([column.astype(np.float64) for column in body.columns[1:]], axis=1)
    finite = np.isfinite(points[vertices]).all(axis=1)
    if not finite.all():
        raise file.error("a coordinate is too large for a double", int(body.lines[np.argmin(finite)]))
    return replace(graph, coordinates=points)


def write_dimacs(graph: Graph, path: str) -> None:
    """Write all arcs as a `.gr` file, with vertices numbered from 1 and exact decimal weights.

    Parameters
    ----------
    path
        "-" is standard output.

    Raises
    ------
    EnvironmentFault
        The file cannot be written.
    """
    head = [*records.comment_lines(graph, "c "), f"p sp {graph.n} {graph.arcs}"]
    write_text("\n".join([*head, *records.arc_lines(graph, "a ", np.arange(graph.arcs)), ""]), path)


def write_coordinates(graph: Graph, path: str) -> None:
    """Write the first two coordinates of each vertex as a `.co` file.

    Raises
    ------
    InputError
        The graph has no coordinates.
    EnvironmentFault
        The file cannot be written.
    """
    if graph.coordinates is None:
        raise InputError("has no coordinates", graph.name)
    points = enumerate(graph.coordinates[:, :2].tolist(), start=1)
    lines = (f"v {vertex} {shortest(x)} {shortest(y)}" for vertex, (x, y) in points)
    write_text("\n".join([*records.comment_lines(graph, "c "), f"p aux sp co {graph.n}", *lines, ""]), path)


def problem_line(body: records.Records, keys: list[str], count: int, example: str, what: str) -> ProblemLine:
    """Return the one `p` line of a file whose other lines are records or comments.

    Parameters
    ----------
    keys, count
        The words that must follow `p`, and how many numbers must follow them.
    example, what
        The `p` line and a record as messages describe them.

    Raises
    ------
    InputError
        With file and line.
    """
    found = [(line, words(text)) for line, text in body.others if words(text)[0] == "p"]
    if not found:
        first = int(body.lines[0]) if len(body.lines) else body.file.last_line
        raise body.file.error(f"the line {example} is missing; write it above this one", first)
    line, header = found[0]
    if header[1 : 1 + len(keys)] != keys or len(header) != 1 + len(keys) + count:
        raise body.file.error(f"expected {example}, found {shown(' '.join(header))}", line)
    numbers = records.header_numbers(body.file, header[1 + len(keys) :], line, example)
    if len(found) > 1:
        raise body.file.error(f"a second p line; the first is line {line}", found[1][0])
    comments = []
    for number, text in body.others:
        kind = words(text)[0]
        if kind not in ("c", "p"):
            raise body.file.error(f"neither a comment (c) nor {what}: {shown(text)}", number)
        comments += [text[1:].strip()] if kind == "c" else []
    return ProblemLine(numbers, line, "\n".join(comment for comment in comments if comment))

"""PACE files: graphs without weights (`p tw n m`), and Steiner problems of 2018 in the sections of SteinLib.

Sources: PACE challenge 2016 (track A, `.gr`) and 2018 (Steiner tree). A `p tw` file lists edges `u v`, ids from 1,
and comments after c. A tree decomposition after the terminals (track B of 2018) is skipped. A Steiner tree is written
as `VALUE weight`, then both ends of each edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hpcsolve.formats import records
from hpcsolve.formats.dimacs import counted_graph, problem_line, problem_word
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.steinlib import begins_with_section, read_steinlib
from hpcsolve.problems.graph import Graph


def looks_like_pace(content: bytes) -> bool:
    """Return whether the file begins with a section, or its first line (comments apart) is `p tw`."""
    return begins_with_section(content) or problem_word(content) == b"tw"


def read_pace(file: InputFile, directed: bool | None = None) -> Graph:
    """Return the Steiner problem of a file of 2018, or the graph of a `p tw` file, whose edges weigh 1.

    Raises
    ------
    InputError
        With file and line.
    """
    if begins_with_section(file.content):
        return read_steinlib(file, directed)
    records.require_undirected(file, directed)
    body = records.read_records(file, file.content, 1, ("a vertex", "a vertex"))
    header = problem_line(body, ["tw"], 2, "`p tw VERTICES EDGES`", "two vertices")
    return counted_graph(body, header, "edges", False)


def steiner_solution_lines(value: float, edges: Iterable[tuple[object, object]]) -> Iterator[str]:
    """Yield the lines of a file with a Steiner tree.

    Parameters
    ----------
    value
        The weight of the tree, in the unit of the instance.
    edges
        Labels (or names) of both ends of each edge.
    """
    yield f"VALUE {value}\n"
    yield from (f"{a} {b}\n" for a, b in edges)

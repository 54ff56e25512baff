"""Vertices that a file beside the graph's names, one or more on each line: what queries and terminals share.

Lines that begin with # or c are comments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, words
from hpcsolve.formats.graph.lines import Numbers, Records
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph, vertex_positions


@dataclass(frozen=True, eq=False)
class NamedVertices:
    """The vertices that a file names.

    Attributes
    ----------
    labels
        Shape (lines, vertices on each line), int64, as in the file.
    lines
        Shape (lines,): the number of each line, from 1.
    """

    file: InputFile
    labels: NDArray[np.int64]
    lines: NDArray[np.int64]

    def positions(self, graph: Graph) -> NDArray[np.int64]:
        """Return the positions of the vertices in a graph, in the shape of `labels`.

        Raises
        ------
        InputError
            With file and line: the graph has no such vertex.
        """
        try:
            return vertex_positions(graph, self.labels)
        except InputError as error:
            first = int(np.argmin(np.isin(self.labels, graph.labels).all(axis=1)))
            raise self.file.error(str(error), int(self.lines[first])) from None


def require_comments(file: InputFile, records: Records, what: tuple[str, ...]) -> None:
    """Refuse lines that are neither records nor comments. Raises `InputError` with file and line."""
    for line, text in records.others:
        if not text.startswith("#") and words(text)[0] != "c":
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", line)


def vertices_in(file: InputFile, records: Records) -> NamedVertices:
    """Return the vertices of all records, which must be whole numbers. Raises `InputError` with file and line."""
    columns = [_whole(file, column, records.lines) for column in records.columns]
    return NamedVertices(file, np.stack(columns, axis=1), records.lines)


def _whole(file: InputFile, values: Numbers, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        wrong = (np.floor(values) != values) | (np.abs(values) >= 2.0**53)
    else:
        wrong = values >= np.uint64(2**63)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise file.error(f"vertex {values[index]} is not a whole number below 2^63", int(lines[index]))
    return values.astype(np.int64)

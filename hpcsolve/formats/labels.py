"""Labels of vertices in a file of their own, some on each line, with comments behind # or c: queries, terminals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.base import Source, words
from hpcsolve.formats.lines import Numbers, Records
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph, vertex_positions


@dataclass(frozen=True, eq=False)
class Labels:
    """What a file names.

    Attributes
    ----------
    labels
        Shape (lines, labels a line), int64, as in the file.
    lines
        Shape (lines,): the number (from 1) of each.
    """

    source: Source
    labels: NDArray[np.int64]
    lines: NDArray[np.int64]

    def positions(self, graph: Graph) -> NDArray[np.int64]:
        """Where they stand in a graph; the shape of `labels`.

        Raises
        ------
        InputError
            With file and line: no such vertex.
        """
        try:
            return vertex_positions(graph, self.labels)
        except InputError as error:
            first = int(np.argmin(np.isin(self.labels, graph.labels).all(axis=1)))
            raise self.source.error(str(error), int(self.lines[first])) from None


def require_comments(source: Source, records: Records, what: tuple[str, ...]) -> None:
    """See that what is no record is a comment; raises InputError with file and line."""
    for line, text in records.others:
        if not text.startswith("#") and words(text)[0] != "c":
            raise source.error(f"expected {', '.join(what)}, found {shown(text)}", line)


def labels_in(source: Source, records: Records) -> Labels:
    """The numbers of all records, which must be whole, perhaps negative; raises InputError with file and line."""
    columns = [_whole(source, column, records.lines) for column in records.columns]
    return Labels(source, np.stack(columns, axis=1), records.lines)


def _whole(source: Source, values: Numbers, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        wrong = (np.floor(values) != values) | (np.abs(values) >= 2.0**53)
    else:
        wrong = values >= np.uint64(2**63)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise source.error(f"vertex {values[index]} is no whole number of 63 bits", int(lines[index]))
    return values.astype(np.int64)

"""Files that list vertices of a graph, one or more on each line: what files of queries and of terminals share.

Lines that begin with # or c are comments. A file has either labels, which are whole numbers, or names. Commas,
semicolons, tabs or blanks separate the names on a line. A name that contains the separator stands in quotes.
"""

from __future__ import annotations

import bisect
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.cells import cells_of, delimiter_of
from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.formats.graph.lines import Numbers, Records
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph, vertex_positions

_NAMES = re.compile(rb"(?m)^(?![ \t]*(?:#|c[ \t\n]|c$))[^\n]*?[^\s\d+\-.eE]")
_BLANKS = " \t\n\v\f\r"
_COMMENT = re.compile(r"[ \t]*(?:#|c(?:[ \t]|$))")


@dataclass(frozen=True, eq=False)
class NamedVertices:
    """The vertices that a file lists, by label or by name.

    Attributes
    ----------
    labels
        Shape (lines, vertices on each line): int64, or the names as texts.
    lines
        Shape (lines,): the number of each line, from 1.
    """

    file: InputFile
    labels: NDArray[Any]
    lines: NDArray[np.int64]

    def positions(self, graph: Graph) -> NDArray[np.int64]:
        """Return the positions of the vertices in a graph, in the shape of `labels`.

        Raises
        ------
        InputError
            With file and line: the graph has no such vertex, or several of this name.
        """
        try:
            return _positions(graph, self.labels)
        except InputError:
            first = bisect.bisect_left(range(len(self.labels)), 1, key=lambda row: self._mistake(graph, row)[0])
            raise self.file.error(self._mistake(graph, first)[1], int(self.lines[first])) from None

    def _mistake(self, graph: Graph, last: int) -> tuple[int, str]:
        """Return 1 and the message if a row up to `last` has a mistake, else 0 and an empty text."""
        try:
            _positions(graph, self.labels[: last + 1])
        except InputError as error:
            return 1, str(error)
        return 0, ""


def has_names(file: InputFile) -> bool:
    """Return whether any line except comments has something other than numbers."""
    return _NAMES.search(file.content) is not None


def names_in(file: InputFile, what: Sequence[str]) -> NamedVertices:
    """Return the vertices of a file of names, as many on each line as `what` has words.

    Raises
    ------
    InputError
        With file and line: a line has more or fewer names.
    """
    rows = list(_rows(file, what))
    labels = np.array([row for _, row in rows], dtype=object).reshape(-1, len(what))
    return NamedVertices(file, labels, np.array([line for line, _ in rows], dtype=np.int64))


def require_comments(file: InputFile, records: Records, what: tuple[str, ...]) -> None:
    """Refuse lines that are neither records nor comments. Raises `InputError` with file and line."""
    for line, text in records.others:
        if not text.startswith("#") and words(text)[0] != "c":
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", line)


def vertices_in(file: InputFile, records: Records) -> NamedVertices:
    """Return the vertices of all records, which must be whole numbers. Raises `InputError` with file and line."""
    columns = [_whole(file, column, records.lines) for column in records.columns]
    return NamedVertices(file, np.stack(columns, axis=1), records.lines)


def _positions(graph: Graph, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind in "iu":
        return vertex_positions(graph, labels)
    return vertex_positions(graph, labels.reshape(-1).tolist()).reshape(labels.shape)


def _rows(file: InputFile, what: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(decode(file.content).split("\n"), start=1):
        if not words(line) or _COMMENT.match(line):
            continue
        if len(what) == 1 and '"' not in line:
            row = [line.strip(_BLANKS)]
        else:
            try:
                row = cells_of(line.strip(_BLANKS), delimiter_of(line.strip(_BLANKS)))
            except csv.Error as problem:
                raise file.error(f"not a line of names: {problem}", number) from None
        if len(row) != len(what) or not all(row):
            raise file.error(f"expected {', '.join(what)}, found {shown(line.strip(_BLANKS))}", number)
        yield number, row


def _whole(file: InputFile, values: Numbers, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        wrong = (np.floor(values) != values) | (np.abs(values) >= 2.0**53)
    else:
        wrong = values >= np.uint64(2**63)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise file.error(f"vertex {values[index]} is not a whole number below 2^63", int(lines[index]))
    return values.astype(np.int64)

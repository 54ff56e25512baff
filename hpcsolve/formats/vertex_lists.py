"""Files that list vertices of a graph: terminals, one on each line, and queries, a source and a target on each line.

Lines that begin with # or c are comments. A file has either labels, which are whole numbers, or names, as the graph's
file has them. Commas, semicolons, tabs or blanks separate the names on a line. A name that contains the separator
stands in quotes. Queries may also be in the point-to-point format of the 9th DIMACS Implementation Challenge: `p aux sp
p2p QUERIES`, then `q source target`.
"""

from __future__ import annotations

import bisect
import csv
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.dimacs import problem_line
from hpcsolve.formats.files import InputFile, as_text, decode, open_file, words
from hpcsolve.formats.records import Numbers, Records, read_records, require_count
from hpcsolve.formats.tables import cells_of, delimiter_of
from hpcsolve.problems.graph import Graph, vertex_positions
from hpcsolve.wording import shown

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


_TERMINAL = ("a terminal",)


def read_terminals(path: str) -> NamedVertices:
    """Return the terminals of a file, perhaps compressed with gz or xz.

    Raises
    ------
    InputError
        With file and line: it is not a file of terminals, or it has none.
    """
    file = as_text(open_file(path))
    if has_names(file):
        return names_in(file, _TERMINAL)
    records = read_records(file, file.content, 1, _TERMINAL)
    require_comments(file, records, _TERMINAL)
    if not len(records.lines):
        raise file.error("there is no terminal; write a vertex on each line", file.last_line)
    return vertices_in(file, records)


_DIMACS = re.compile(rb"(?:[ \t]*(?:c(?:[ \t][^\n]*)?)?\n)*[ \t]*[pq][ \t]")
_QUERY = ("a source", "a target")


@dataclass(frozen=True, eq=False)
class Queries(NamedVertices):
    """The queries of a file. `labels` has shape (queries, 2): sources and targets."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the queries alone, whatever comments, blanks and compression the file has."""
        return queries_sha256(self.labels)


def read_queries(path: str, sha256: str | None = None) -> Queries:
    """Return the queries of a file, perhaps compressed with gz or xz.

    Parameters
    ----------
    sha256
        The `Queries.sha256` that is expected. None accepts any queries.

    Raises
    ------
    InputError
        With file and line: it is not a file of queries, it has none, or it has others than expected.
    """
    file = as_text(open_file(path))
    found = names_in(file, _QUERY) if has_names(file) and not _DIMACS.match(file.content) else _numbered_queries(file)
    result = Queries(file, found.labels, found.lines)
    if sha256 not in (None, result.sha256):
        what = "has other queries than the job (its SHA-256 differs); --set shortest-paths.queries=FILE takes these"
        raise file.error(what)
    return result


def _numbered_queries(file: InputFile) -> NamedVertices:
    dimacs = _DIMACS.match(file.content) is not None
    records = read_records(file, file.content, 1, _QUERY, b"q" if dimacs else b"")
    if dimacs:
        header = problem_line(file, records, ["aux", "sp", "p2p"], 1, "`p aux sp p2p QUERIES`", "a query (q)")
        require_count(file, header.numbers[0], len(records.lines), "queries", header.line)
    else:
        require_comments(file, records, _QUERY)
    if not len(records.lines):
        raise file.error("there is no query; write `source target` on each line", file.last_line)
    return vertices_in(file, records)


def queries_sha256(labels: NDArray[Any]) -> str:
    """Return the SHA-256 of queries in their order, given labels or names of shape (queries, 2)."""
    if labels.dtype.kind not in "iu":
        return hashlib.sha256(json.dumps(labels.tolist()).encode()).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(labels, "<i8").tobytes()).hexdigest()

"""Files that list vertices of a graph: terminals, sources or targets, one on each line, and queries, two on each line.

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
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.dimacs import problem_line
from hpcsolve.formats.files import InputFile, open_file, words
from hpcsolve.formats.place_lists import PlaceList, read_place_list
from hpcsolve.formats.records import Records, read_records
from hpcsolve.formats.tables import cells_of, delimiter_of, lines_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.snapping import Snapped
from hpcsolve.wording import shown

_NAMES = re.compile(rb"(?m)^(?![ \t]*(?:#|c[ \t\n]|c$))[^\n]*?[^\s\d+\-.eE]")
_DIMACS = re.compile(rb"(?:[ \t]*(?:c(?:[ \t][^\n]*)?)?\n)*[ \t]*[pq][ \t]")
_BLANKS = " \t\n\v\f\r"
_SKIPPED = re.compile(r"[ \t]*(?:#|c(?:[ \t]|$))|[ \t\n\v\f\r]*$")


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

    @property
    def sha256(self) -> str:
        """SHA-256 of the vertices alone, whatever comments, blanks and compression the file has."""
        return queries_sha256(self.labels)

    def placed(self, graph: Graph, role: str) -> tuple[NDArray[np.int64], tuple[Snapped, ...]]:
        """Return the positions of single vertices in a graph, which no places stand for. Raises as `positions`."""
        return self.positions(graph).reshape(-1), ()

    def positions(self, graph: Graph) -> NDArray[np.int64]:
        """Return the positions of the vertices in a graph, in the shape of `labels`.

        Raises
        ------
        InputError
            With file and line: the graph has no such vertex, or several of this name.
        """
        def mistake(count: int) -> str:
            """Return what is wrong with the first lines, this many, or an empty text."""
            try:
                _positions(graph, self.labels[:count])
            except InputError as error:
                return str(error)
            return ""

        try:
            return _positions(graph, self.labels)
        except InputError:
            first = bisect.bisect_left(range(len(self.labels)), True, key=lambda row: bool(mistake(row + 1)))
            raise self.file.error(mistake(first + 1), int(self.lines[first])) from None


def read_vertices(
    path: str, role: str = "terminal", sha256: str | None = None, column: str | None = None, speed: float | None = None
) -> NamedVertices | PlaceList:
    """Return the vertices of a file, or its places, which stand for the nearest ones. It may be compressed (gz, xz).

    Parameters
    ----------
    role
        What they are in the problem: "terminal", "source", "target" or "stop".
    sha256
        The SHA-256 that is expected. None accepts any.
    column, speed
        As of `read_place_list`.

    Raises
    ------
    InputError
        With file and line: it is neither a file of vertices nor one of places, it has none, or others than expected.
        The column is missing or has no numbers, or there are no places.
    """
    file = open_file(path).as_text()
    found: NamedVertices | PlaceList | None = read_place_list(file, column, speed)
    if found is None and column is not None:
        raise file.error(f"the column {shown(column)} needs places, with lat and lon or x and y; or give the "
                         "opportunities as a list", file.first_line)
    if found is None:
        found = _listed(file, (f"a {role}",), f"there is no {role}; write a vertex on each line")
    if sha256 not in (None, found.sha256):
        differ = f"has other {role}s than the job (its SHA-256 differs); --set shortest-paths.{role}s=FILE takes these"
        raise file.error(differ)
    return found


def read_queries(path: str, sha256: str | None = None) -> NamedVertices:
    """Return the sources and targets of the queries of a file, perhaps compressed with gz or xz.

    Parameters
    ----------
    sha256
        The `NamedVertices.sha256` that is expected. None accepts any queries.

    Raises
    ------
    InputError
        With file and line: it is not a file of queries, it has none, or it has others than expected.
    """
    file, what = open_file(path).as_text(), ("a source", "a target")
    nothing = "there is no query; write `source target` on each line"
    if _DIMACS.match(file.content):
        records = read_records(file, file.content, 1, what, b"q")
        header = problem_line(records, ["aux", "sp", "p2p"], 1, "`p aux sp p2p QUERIES`", "a query (q)")
        records.require_count(header.numbers[0], "queries", header.line)
        result = _numbered(records, nothing)
    else:
        result = _listed(file, what, nothing)
    if sha256 not in (None, result.sha256):
        differ = "has other queries than the job (its SHA-256 differs); --set shortest-paths.queries=FILE takes these"
        raise file.error(differ)
    return result


def queries_sha256(labels: NDArray[Any]) -> str:
    """Return the SHA-256 of queries in their order, given labels or names of shape (queries, 2)."""
    if labels.dtype.kind not in "iu":
        return hashlib.sha256(json.dumps(labels.tolist()).encode()).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(labels, "<i8").tobytes()).hexdigest()


def _listed(file: InputFile, what: tuple[str, ...], nothing: str) -> NamedVertices:
    """Return the vertices of a file, as many on each line as `what` has words, and at least one line."""
    if _NAMES.search(file.content):
        names, numbers = [], []
        for number, whole in lines_of(file.content, _SKIPPED):
            text = whole.strip(_BLANKS)
            try:  # the separator is found for each line
                cells = [text] if len(what) == 1 and '"' not in text else cells_of(text, delimiter_of(text))
            except csv.Error as problem:
                raise file.error(f"not a line of names: {problem}", number) from None
            if len(cells) != len(what) or not all(cells):
                raise file.error(f"expected {', '.join(what)}, found {shown(text)}", number)
            names.append(cells)
            numbers.append(number)
        labels = np.array(names, dtype=object).reshape(-1, len(what))
        return NamedVertices(file, labels, np.array(numbers, dtype=np.int64))
    records = read_records(file, file.content, 1, what)
    for line, text in records.others:
        if not text.startswith("#") and words(text)[0] != "c":
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", line)
    return _numbered(records, nothing)


def _positions(graph: Graph, labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind in "iu":
        return graph.positions(labels)
    return graph.positions(labels.reshape(-1).tolist()).reshape(labels.shape)


def _numbered(records: Records, nothing: str) -> NamedVertices:
    """Return the vertices of records, which must be whole numbers. `nothing` is the message if there is no record."""
    if not len(records.lines):
        raise records.file.error(nothing, records.file.last_line)
    for values in records.columns:
        if values.dtype.kind == "f":
            wrong = (np.floor(values) != values) | (np.abs(values) >= 2.0**53)
        else:
            wrong = values >= np.uint64(2**63)
        if wrong.any():
            index = int(np.argmax(wrong))
            message = f"vertex {values[index]} is not a whole number below 2^63"
            raise records.file.error(message, int(records.lines[index]))
    labels = np.stack([values.astype(np.int64) for values in records.columns], axis=1)
    return NamedVertices(records.file, labels, records.lines)

"""Files of queries: each line has a source and a target, between which a shortest path is asked for.

A file has either `source target` on each line, with comments after # or c, or the point-to-point format of the 9th
DIMACS Implementation Challenge: `p aux sp p2p QUERIES`, then `q source target`. Vertices are given by their labels or
names in the graph's file.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import InputFile, as_text, open_file
from hpcsolve.formats.graph.columns import require_count
from hpcsolve.formats.graph.dimacs import problem_line
from hpcsolve.formats.graph.lines import read_records
from hpcsolve.formats.graph.named_vertices import NamedVertices, has_names, names_in, require_comments, vertices_in

_DIMACS = re.compile(rb"(?:[ \t]*(?:c(?:[ \t][^\n]*)?)?\n)*[ \t]*[pq][ \t]")
_WHAT = ("a source", "a target")


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
    found = names_in(file, _WHAT) if has_names(file) and not _DIMACS.match(file.content) else _numbers(file)
    result = Queries(file, found.labels, found.lines)
    if sha256 not in (None, result.sha256):
        what = "has other queries than the job (its SHA-256 differs); --set shortest-paths.queries=FILE takes these"
        raise file.error(what)
    return result


def _numbers(file: InputFile) -> NamedVertices:
    dimacs = _DIMACS.match(file.content) is not None
    records = read_records(file, file.content, 1, _WHAT, b"q" if dimacs else b"")
    if dimacs:
        header = problem_line(file, records, ["aux", "sp", "p2p"], 1, "`p aux sp p2p QUERIES`", "a query (q)")
        require_count(file, header.numbers[0], len(records.lines), "queries", header.line)
    else:
        require_comments(file, records, _WHAT)
    if not len(records.lines):
        raise file.error("there is no query; write `source target` on each line", file.last_line)
    return vertices_in(file, records)


def queries_sha256(labels: NDArray[Any]) -> str:
    """Return the SHA-256 of queries in their order, given labels or names of shape (queries, 2)."""
    if labels.dtype.kind not in "iu":
        return hashlib.sha256(json.dumps(labels.tolist()).encode()).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(labels, "<i8").tobytes()).hexdigest()

"""Queries: pairs of vertices between which shortest paths are wanted, one a line.

Either `source target` on each line, with comments behind # or c, or the point-to-point files of the 9th DIMACS
Implementation Challenge: `p aux sp p2p QUERIES`, then `q source target`. Vertices are named as in the graph's file.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.base import open_source, text_source
from hpcsolve.formats.dimacs import header_of
from hpcsolve.formats.labels import Labels, labels_in, require_comments
from hpcsolve.formats.lines import read_records, require_count

_DIMACS = re.compile(rb"(?:[ \t]*(?:c(?:[ \t][^\n]*)?)?\n)*[ \t]*[pq][ \t]")
_WHAT = ("a source", "a target")


@dataclass(frozen=True, eq=False)
class Queries(Labels):
    """The pairs in a file; `labels` has shape (queries, 2)."""

    @property
    def sha256(self) -> str:
        """Of the pairs; comments, blanks and compression do not count."""
        return pairs_sha256(self.labels)


def read_queries(path: str, sha256: str | None = None) -> Queries:
    """Read a file of queries; gz and xz too.

    Parameters
    ----------
    sha256
        Of the pairs that are expected.

    Raises
    ------
    InputError
        With file and line: not such a file, no query in it, or other pairs than expected.
    """
    source = text_source(open_source(path))
    dimacs = _DIMACS.match(source.content) is not None
    records = read_records(source, source.content, 1, _WHAT, b"q" if dimacs else b"")
    if dimacs:
        header = header_of(source, records, ["aux", "sp", "p2p"], 1, "`p aux sp p2p QUERIES`", "a query (q)")
        require_count(source, header.numbers[0], len(records.lines), "queries", header.line)
    else:
        require_comments(source, records, _WHAT)
    if not len(records.lines):
        raise source.error("there is no query; write `source target` on each line", source.last_line)
    found = Queries(source, labels_in(source, records).labels, records.lines)
    if sha256 not in (None, found.sha256):
        what = "has other queries than the job (another SHA-256); name it anew with --set shortest-paths.queries=FILE"
        raise source.error(what)
    return found


def pairs_sha256(labels: NDArray[np.int64]) -> str:
    """SHA-256 of pairs in their order."""
    return hashlib.sha256(np.ascontiguousarray(labels, "<i8").tobytes()).hexdigest()

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

from hpcsolve.formats.base import Source, open_source, text_source
from hpcsolve.formats.dimacs import header_of
from hpcsolve.formats.lines import Numbers, Records, read_records, require_count
from hpcsolve.problems.decimals import shown

_DIMACS = re.compile(rb"(?:[ \t]*(?:c(?:[ \t][^\n]*)?)?\n)*[ \t]*[pq][ \t]")
_WHAT = ("a source", "a target")


@dataclass(frozen=True, eq=False)
class Queries:
    """The pairs in a file.

    Attributes
    ----------
    labels
        Shape (q, 2), int64: source and target of each, as in the file.
    lines
        Shape (q,): the line (from 1) of each.
    """

    source: Source
    labels: NDArray[np.int64]
    lines: NDArray[np.int64]

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
        _require_comments(source, records)
    if not len(records.lines):
        raise source.error("there is no query; write `source target` on each line")
    labels = np.stack([_labels(source, column, records.lines) for column in records.columns], axis=1)
    found = Queries(source, labels, records.lines)
    if sha256 not in (None, found.sha256):
        what = "has other queries than the job (another SHA-256); name it anew with --set shortest-paths.queries=FILE"
        raise source.error(what)
    return found


def pairs_sha256(labels: NDArray[np.int64]) -> str:
    """SHA-256 of pairs in their order."""
    return hashlib.sha256(np.ascontiguousarray(labels, "<i8").tobytes()).hexdigest()


def _require_comments(source: Source, records: Records) -> None:
    """What is no query must be a comment."""
    for line, text in records.others:
        if not text.startswith("#") and text.split()[0] != "c":
            raise source.error(f"expected {', '.join(_WHAT)}, found {shown(text)}", line)


def _labels(source: Source, values: Numbers, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """A column as labels of vertices: whole numbers, perhaps negative."""
    if values.dtype.kind == "f":
        wrong = (np.floor(values) != values) | (np.abs(values) >= 2.0**53)
    else:
        wrong = values >= np.uint64(2**63)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise source.error(f"vertex {values[index]} is no whole number of 63 bits", int(lines[index]))
    return values.astype(np.int64)

"""Matrix Market: a sparse square matrix as a graph; entry (i, j) is the arc from i to j.

Source: NIST, Matrix Market exchange formats. A file of coordinates: a banner, comments behind %, a line of sizes, then
one entry a line, ids from 1. Read here and not by scipy: `mmread` allocates what the header promises, rounds integers
beyond 64 bits, sums parallel arcs on the way to rows, and starts a thread a core.
"""

from __future__ import annotations

import re

import numpy as np

from hpcsolve.formats.base import Source, decode, words
from hpcsolve.formats.lines import (
    header_numbers,
    positions_in,
    read_records,
    require_count,
    require_plausible,
    weights_in,
)
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled

BANNER = b"%%matrixmarket"
_EXAMPLE = "`%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric`"


def read_matrix_market(source: Source, directed: bool | None = None) -> Graph:
    """Read a graph; without values each arc weighs 1; a symmetric matrix is an undirected graph.

    Parameters
    ----------
    directed
        False takes each entry as an edge; default True for a general matrix.

    Raises
    ------
    InputError
        With file and line.
    """
    field, symmetry = _banner(source)
    body, line, sizes, comment = _header(source)
    rows, columns, count = sizes
    if rows != columns:
        raise source.error(f"the matrix has {rows} rows and {columns} columns; a graph's is square", line)
    require_plausible(source, rows, line)
    what = ("a row", "a column") if field == "pattern" else ("a row", "a column", "a value")
    records = read_records(source, body, line + 1, what)
    for number, text in records.others:
        if not text.startswith("%"):
            raise source.error(f"expected {', '.join(what)}, found {shown(text)}", number)
    require_count(source, count, len(records.lines), "entries", line)
    tails, heads = (positions_in(source, column, records.lines, rows) for column in records.columns[:2])
    values = np.ones(len(tails), dtype=np.uint64) if field == "pattern" else records.columns[2]
    weights, scale = weights_in(source, values, records.lines, rows)
    one_way = symmetry == "general" and directed is not False
    return assembled(
        source.stem or "graph", rows, tails, heads, weights, directed=one_way, scale=scale,
        labels=np.arange(1, rows + 1), comment=comment,
    )  # fmt: skip


def _banner(source: Source) -> tuple[str, str]:
    """Field (pattern or not) and symmetry."""
    banner = words(decode(source.content.split(b"\n", 1)[0]).lower())
    if len(banner) != 5 or banner[1] != "matrix":
        raise source.error(f"expected {_EXAMPLE}", 1)
    _, _, layout, field, symmetry = banner
    if layout != "coordinate":
        raise source.error(f"{shown(layout)}: only sparse matrices (coordinate) are graphs", 1)
    if field not in ("real", "double", "integer", "pattern", "unsigned-integer"):
        raise source.error(f"values are {shown(field)}; weights must be real, integer or pattern", 1)
    if symmetry not in ("general", "symmetric"):
        raise source.error(f"the matrix is {shown(symmetry)}; it must be general or symmetric", 1)
    return field, symmetry


def _header(source: Source) -> tuple[bytes, int, list[int], str]:
    """The entries' text, the line of sizes and its three numbers, the comments."""
    found = re.compile(rb"[^\n]*(?:\n[ \t]*(?:%[^\n]*)?)*\n[ \t]*([^%\s][^\n]*)(?:\n|$)").match(source.content)
    if found is None:
        raise source.error("the line of sizes, ROWS COLUMNS ENTRIES, is missing", source.last_line)
    line = source.line(found.start(1))
    header = words(decode(found[1]))
    if len(header) != 3:
        raise source.error(f"expected ROWS COLUMNS ENTRIES, found {shown(decode(found[1]))}", line)
    comments = [text.strip()[1:].strip() for text in decode(source.content[: found.start(1)]).split("\n")[1:]]
    sizes = header_numbers(source, header, line, "ROWS COLUMNS ENTRIES")
    return source.content[found.end() :], line, sizes, "\n".join(text for text in comments if text)

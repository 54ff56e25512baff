"""Matrix Market files: a sparse square matrix as a graph, with an arc from i to j for each entry (i, j).

Source: NIST, Matrix Market exchange formats. Such a file has a banner, comments after %, a line of sizes, then one
entry on each line, with ids from 1. It is not read by scipy, since `mmread` allocates what the header says, rounds
integers beyond 64 bits, sums parallel arcs, and starts one thread for each core.
"""

from __future__ import annotations

import re

import numpy as np

from hpcsolve.formats import records
from hpcsolve.formats.files import InputFile, decode, words, write_text
from hpcsolve.problems.graph import Graph
from hpcsolve.wording import shown

_EXAMPLE = "`%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric`"


def looks_like_matrix_market(content: bytes) -> bool:
    """Return whether the file begins with the banner of Matrix Market."""
    return content[:20].lower().startswith(b"%%matrixmarket")


def read_matrix_market(file: InputFile, directed: bool | None = None) -> Graph:
    """Return a graph, undirected if the matrix is symmetric, whose weights are 1 if the matrix has no values.

    Parameters
    ----------
    directed
        False takes each entry as an edge; by default True for a general matrix.

    Raises
    ------
    InputError
        With file and line.
    """
    field, symmetry = _banner(file)
    body, line, sizes, comment = _header(file)
    rows, columns, count = sizes
    if rows != columns:
        raise file.error(f"the matrix has {rows} rows and {columns} columns; a graph needs a square one", line)
    records.require_plausible(file, rows, line)
    what = ("a row", "a column") if field == "pattern" else ("a row", "a column", "a value")
    entries = records.read_records(file, body, line + 1, what)
    for number, text in entries.others:
        if not text.startswith("%"):
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", number)
    entries.require_count(count, "entries", line)
    one_way = symmetry == "general" and directed is not False
    way_out = "a symmetric matrix has one of them, or both alike; if both count, write general in line 1"
    symmetric = way_out if symmetry == "symmetric" else None
    return entries.graph(rows, directed=one_way, comment=comment, way_out=symmetric)


def write_matrix_market(graph: Graph, path: str) -> None:
    """Write the weights as a sparse matrix with exact decimals, of an undirected graph the lower half.

    Raises
    ------
    EnvironmentFault
        The file cannot be written.
    """
    chosen = np.arange(graph.arcs) if graph.directed else np.flatnonzero(graph.tails() >= graph.heads)
    whole = graph.weights.dtype.kind == "u" and graph.scale == 1 and int(graph.weights.max(initial=0)) < 2**63
    field, symmetry = "integer" if whole else "real", "general" if graph.directed else "symmetric"
    head = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", *records.comment_lines(graph, "% ")]
    sizes = f"{graph.n} {graph.n} {len(chosen)}"
    write_text("\n".join([*head, sizes, *records.arc_lines(graph, "", chosen), ""]), path)


def _banner(file: InputFile) -> tuple[str, str]:
    """Return the type of the values (`pattern`: there are none) and the symmetry."""
    banner = words(decode(file.content.split(b"\n", 1)[0]).lower())
    if len(banner) != 5 or banner[1] != "matrix":
        raise file.error(f"expected {_EXAMPLE}", 1)
    _, _, storage, field, symmetry = banner
    if storage != "coordinate":
        raise file.error(f"the matrix is stored as {shown(storage)}; a graph needs a sparse one, 'coordinate'", 1)
    if field not in ("real", "double", "integer", "pattern", "unsigned-integer"):
        raise file.error(f"values are {shown(field)}; weights must be real, integer or pattern", 1)
    if symmetry not in ("general", "symmetric"):
        raise file.error(f"the matrix is {shown(symmetry)}; it must be general or symmetric", 1)
    return field, symmetry


def _header(file: InputFile) -> tuple[bytes, int, list[int], str]:
    """Return the text of the entries, the number of the line of sizes, its three numbers, and the comments."""
    found = re.compile(rb"[^\n]*(?:\n[ \t]*(?:%[^\n]*)?)*\n[ \t]*([^%\s][^\n]*)(?:\n|$)").match(file.content)
    if found is None:
        raise file.error("the line of sizes, ROWS COLUMNS ENTRIES, is missing", file.last_line)
    line = file.line(found.start(1))
    header = words(decode(found[1]))
    if len(header) != 3:
        raise file.error(f"expected ROWS COLUMNS ENTRIES, found {shown(decode(found[1]))}", line)
    comments = [text.strip()[1:].strip() for text in decode(file.content[: found.start(1)]).split("\n")[1:]]
    sizes = records.header_numbers(file, header, line, "ROWS COLUMNS ENTRIES")
    return file.content[found.end() :], line, sizes, "\n".join(text for text in comments if text)

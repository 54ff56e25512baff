"""Edge lists: two vertices and perhaps a weight on each line, separated by blanks, commas, semicolons or tabs.

Lines that begin with # or % are comments. The first line may have titles of the columns; there may then be more than
three. Vertices are either whole numbers below 2^63, by which they are ordered, or names. A comment that
begins with "Directed graph" or "Undirected graph" (as in files of SNAP) says what the lines are. Without it they are
edges, of which no two may lead opposite ways with different weights.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats.cells import cells_of, delimiter_of
from hpcsolve.formats.files import InputFile, decode, words, write_text
from hpcsolve.formats.graph.columns import require_one_weight, weight_text, weights_in
from hpcsolve.formats.graph.edge_table import (
    HEAD,
    TAIL,
    begins_with_id,
    direction_notes,
    names_axes,
    names_columns,
    positions_by_label,
    read_edge_table,
)
from hpcsolve.formats.graph.lines import NUMBER, read_records
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled

_COMMENT = re.compile(rb"[ \t]*[#%]")
_LONGEST_HEAD = 1 << 20


def has_edge_titles(content: bytes) -> bool:
    """Return whether the first line that is no comment names the ends of edges, and not the cities of a matrix."""
    first, *others = _first_cells(content)
    is_matrix = not first[0] and any(row[0] == first[1] for row in others)
    return names_columns(first) and not is_matrix


def looks_like_edge_list(content: bytes) -> bool:
    """Return whether one of the first two lines that are not comments looks like an edge, or names its ends.

    An edge is two or three numbers and nothing else, or two texts and a number.
    """
    rows = [row for _, row in _first_lines(content)]
    numbers = any(len(row) in (2, 3) and all(map(NUMBER.fullmatch, row)) for row in rows)
    return numbers or any(names_columns(row) or _is_edge_of_names(row) for row in _first_cells(content))


def read_edge_list(file: InputFile, directed: bool | None = None, weight: str | None = None) -> Graph:
    """Return a graph, whose weights are 1 if there is no column for them.

    Parameters
    ----------
    directed
        Whether a line is an arc from the first to the second vertex; by default as the comments say. If these say
        nothing, lines are edges, of which no two may lead opposite ways with different weights.
    weight
        The title of the column with the weights.

    Raises
    ------
    InputError
        With file and line.
    """
    if file.content.lstrip().startswith(b"<"):
        raise file.error("is HTML or XML, not a list of edges", file.first_line)
    first_lines = _first_lines(file.content)
    width = next((len(row) for _, row in first_lines if all(map(NUMBER.fullmatch, row))), 0)
    # The quick reader below is for numbers alone, in the order tail, head, weight.
    titles = _first_cells(file.content)[0]
    if weight is not None or width not in (2, 3) or not _is_in_order(titles):
        found = [decode(text).strip() for text in re.findall(rb"(?m)^[ \t]*[#%]+([^\n]*)", file.content)]
        comment = "\n".join(filter(None, found))
        return read_edge_table(file, _is_directed(directed, found), weight, comment)
    what = ("a vertex", "a vertex", "a weight")[:width]
    records = read_records(file, _with_blanks(file.content), 1, what)
    comments = []
    for line, text in records.others:
        if _COMMENT.match(text.encode()):
            comments.append(text.lstrip(" \t#%").strip())
        elif line != first_lines[0][0]:  # which may have titles
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", line)
    labels, tails, heads = positions_by_label(file, records.columns[0], records.columns[1], records.lines)
    values = np.ones(len(tails), dtype=np.uint64) if width == 2 else records.columns[2]
    weights, scale = weights_in(file, values, records.lines, len(labels))
    stated = _is_directed(directed, comments)
    if stated is None:
        require_one_weight(file, len(labels), (tails, heads), (weights, scale), records.lines, labels)
    return assembled(
        file.stem or "graph", len(labels), tails, heads, weights, directed=bool(stated), scale=scale, labels=labels,
        comment="\n".join(comment for comment in comments if comment), notes=direction_notes(titles, stated),
    )


def write_edge_list(graph: Graph, path: str) -> None:
    """Write the titles `u,v,w`, then a line for each edge, with names or labels. In a `.tsv` file tabs separate them.

    Raises
    ------
    InputError
        A vertex has no edge, a label is negative, or a name is a number, empty, or looks like a comment.
    EnvironmentFault
        The file cannot be written.
    """
    names = [" ".join(name.split()) for name in graph.vertex_names] or list(map(str, graph.labels.tolist()))
    _require_expressible(graph, names)
    tails = graph.tails()
    chosen = np.arange(graph.arcs) if graph.directed else np.flatnonzero(tails <= graph.heads)
    rows = zip(tails[chosen].tolist(), graph.heads[chosen].tolist(), graph.weights[chosen].tolist())
    stream = io.StringIO()
    if graph.directed:
        stream.write("# Directed graph\n")
    table = csv.writer(stream, delimiter="\t" if path.lower().endswith(".tsv") else ",", lineterminator="\n")
    table.writerow(["u", "v", "w"])
    table.writerows((names[a], names[b], weight_text(w, graph.scale)) for a, b, w in rows)
    write_text(stream.getvalue(), path)


def _require_expressible(graph: Graph, names: Sequence[str]) -> None:
    """Refuse vertices that an edge list would lose or that would be read as something else. Raises `InputError`."""
    used = np.zeros(graph.n, dtype=bool)
    used[graph.heads] = used[graph.tails()] = True
    if not used.all():
        what = f"vertex {names[int(np.argmin(used))]} has no edge, and an edge list has only vertices with edges"
        raise InputError(f"{what}; write it as .gr", graph.name)
    if graph.vertex_names:
        for name in names:
            if not name or name[0] in "#%" or NUMBER.fullmatch(name):
                what = f"a vertex has the name {shown(name)}, which an edge list cannot have; it may not be empty,"
                raise InputError(f"{what} a number, or begin with # or %", graph.name)
    elif graph.labels.min(initial=0) < 0:
        what = f"the label {graph.labels.min()} is negative, which an edge list cannot have"
        raise InputError(f"{what}; write it as .gr", graph.name)


def _is_directed(directed: bool | None, comments: Sequence[str]) -> bool | None:
    """Return whether lines are arcs: as asked, or else as the comments say, or None if these say nothing."""
    if directed is not None:
        return directed
    found = (re.match(r"(un)?directed graph", comment, re.IGNORECASE) for comment in comments)
    return next((match[1] is None for match in found if match), None)


def _is_edge_of_names(cells: Sequence[str]) -> bool:
    number = [NUMBER.fullmatch(cell) is not None for cell in cells]
    return len(cells) == 3 and number[2] and not any(number[:2]) and all(cells)


def _is_in_order(cells: Sequence[str]) -> bool:
    """Return whether the columns are tail, head, weight, as far as the cells of the first line tell."""
    if not names_columns(cells):
        return not begins_with_id(cells) and not names_axes(cells)
    first, second, *rest = [cell.lower() for cell in cells]
    if any(title in (*TAIL, *HEAD) for title in rest) or (rest and begins_with_id(rest)):
        return False
    return first in TAIL and second in HEAD


def _first_cells(content: bytes) -> list[list[str]]:
    """Return the cells of the first two lines that are neither blank nor comments, of which there is at least one."""
    lines = [decode(line) for line in re.findall(rb"(?m)^[ \t]*([^\s#%][^\n]*)", content[:_LONGEST_HEAD])[:2]]
    try:
        return [cells_of(line, delimiter_of(lines[0])) for line in lines] or [[""]]
    except csv.Error:
        return [[""]]


def _first_lines(content: bytes) -> list[tuple[int, list[str]]]:
    """Return the number and the words of the first two lines that are neither blank nor comments."""
    found = []
    for match in re.finditer(rb"(?m)^[ \t]*([^\s#%][^\n]*)", content):
        line = content.count(b"\n", 0, match.start()) + 1
        found.append((line, words(decode(_with_blanks(match[1])))))
        if len(found) == 2:
            break
    return found


def _with_blanks(text: bytes) -> bytes:
    """Return the text with blanks in place of delimiters and quotes.

    A decimal comma between semicolons (1,5) stays, and is refused as a number later.
    """
    marks = b';"' if b";" in text else b',"'
    return text.translate(bytes.maketrans(marks, b" " * len(marks)))

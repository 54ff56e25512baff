"""Edge lists: two vertices and perhaps a weight on each line, between blanks, commas, semicolons or tabs.

Lines that begin with # or % are comments. A first line of words, not numbers, may name the columns, of which there may
then be more. Ids are whole numbers below 2^63, and vertices are ordered by them; or they are texts, which are names. A
graph is undirected, unless a comment begins with "Directed graph" (as in files of SNAP).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats.cells import cells_of, delimiter_of
from hpcsolve.formats.decimal_text import decimal
from hpcsolve.formats.files import InputFile, decode, words, write_text
from hpcsolve.formats.graph.columns import weights_in
from hpcsolve.formats.graph.edge_table import (
    HEAD,
    TAIL,
    begins_with_id,
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
        Whether a line is an arc from the first to the second vertex; by default as the comments say.
    weight
        The title of the column with the weights.

    Raises
    ------
    InputError
        With file and line.
    """
    first = _first_lines(file.content)
    width = next((len(row) for _, row in first if all(map(NUMBER.fullmatch, row))), 0)
    if weight is not None or width not in (2, 3) or not _is_in_order(_first_cells(file.content)[0]):
        found = [decode(text).strip() for text in re.findall(rb"(?m)^[ \t]*[#%]+([^\n]*)", file.content)]
        comment = "\n".join(filter(None, found))
        return read_edge_table(file, _is_directed(directed, found), weight, comment)
    what = ("a vertex", "a vertex", "a weight")[:width]
    records = read_records(file, _with_blanks(file.content), 1, what)
    comments = []
    for line, text in records.others:
        if _COMMENT.match(text.encode()):
            comments.append(text.lstrip(" \t#%").strip())
        elif line != first[0][0]:
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", line)
    labels, tails, heads = positions_by_label(file, records.columns[0], records.columns[1], records.lines)
    values = np.ones(len(tails), dtype=np.uint64) if width == 2 else records.columns[2]
    weights, scale = weights_in(file, values, records.lines, len(labels))
    return assembled(
        file.stem or "graph", len(labels), tails, heads, weights, directed=_is_directed(directed, comments),
        scale=scale, labels=labels, comment="\n".join(comment for comment in comments if comment),
    )


def write_edge_list(graph: Graph, path: str) -> None:
    """Write lines `u,v,w` below these titles, with names or labels. A path with `.tsv` gets tabs between them.

    Raises
    ------
    InputError
        A vertex has no edge, a label is negative, or a name is a number, empty, or looks like a comment.
    EnvironmentFault
        The file cannot be written.
    """
    names = graph.vertex_names or tuple(map(str, graph.labels.tolist()))
    used = np.zeros(graph.n, dtype=bool)
    used[graph.heads] = used[graph.tails()] = True
    if not used.all():
        raise InputError(f"vertex {names[int(np.argmin(used))]} has no edge, so that an edge list lacks it", graph.name)
    unclear = [name for name in graph.vertex_names if NUMBER.fullmatch(name.strip()) or name.strip()[:1] in "#%"]
    if unclear:
        raise InputError(f"an edge list cannot have {shown(unclear[0])} as a vertex's name", graph.name)
    if not graph.vertex_names and graph.labels.min(initial=0) < 0:
        raise InputError(f"the label {graph.labels.min()} is negative, which an edge list cannot hold", graph.name)
    mark, tails = "\t" if path.lower().endswith(".tsv") else ",", graph.tails()
    chosen = np.arange(graph.arcs) if graph.directed else np.flatnonzero(tails <= graph.heads)
    rows = zip(tails[chosen].tolist(), graph.heads[chosen].tolist(), graph.weights[chosen].tolist())
    stream = io.StringIO("# Directed graph\n" if graph.directed else "")
    stream.seek(0, io.SEEK_END)
    table = csv.writer(stream, delimiter=mark, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    table.writerow(["u", "v", "w"])
    table.writerows((_written(names[a]), _written(names[b]), _number(w, graph.scale)) for a, b, w in rows)
    write_text(stream.getvalue(), path)


def _written(name: str) -> str:
    return " ".join(name.split())


def _number(weight: int | float, scale: int) -> str:
    return decimal(weight, scale) if isinstance(weight, int) else repr(weight)


def _is_directed(directed: bool | None, comments: Iterable[str]) -> bool:
    said = any(comment.lower().startswith("directed graph") for comment in comments)
    return said if directed is None else directed


def _is_edge_of_names(cells: Sequence[str]) -> bool:
    number = [NUMBER.fullmatch(cell) is not None for cell in cells]
    return len(cells) == 3 and number[2] and not any(number[:2]) and all(cells)


def _is_in_order(cells: Sequence[str]) -> bool:
    """Return whether the first line has numbers, or no titles that say that ends and weight are not in this order."""
    if not names_columns(cells):
        return not begins_with_id(cells)
    first, second, *rest = [cell.lower() for cell in cells]
    return first in TAIL and second in HEAD and not (names_columns([*rest, "u"]) or names_columns([*rest, "v"])
                                                     or (rest and begins_with_id(rest)))


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

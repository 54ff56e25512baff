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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, decode, words, write_text
from hpcsolve.formats.records import (
    NUMBER,
    Numbers,
    numbers_of,
    read_records,
    require_one_weight,
    weight_text,
    weights_in,
)
from hpcsolve.formats.tables import cells_of, delimiter_of, listed
from hpcsolve.problems.graph import Graph, assembled
from hpcsolve.problems.notes import ONE_WAY, not_used, one_way_notes, read_note
from hpcsolve.wording import shown

# Titles of columns, in any case.
TAIL = ("u", "from", "source", "src", "tail", "node1")
HEAD = ("v", "to", "target", "dst", "head", "node2")
_UNDIRECTED = ("u", "v", "node1", "node2")
"""Titles of ends that do not name a direction."""
WEIGHT = ("w", "weight", "length", "distance", "cost")
_EDGE_ID = ("id", "key", "edge", "fid", "osmid", "no", "nr", "")
"""Titles of columns that number the edges, and that are never taken for weights."""
EXAMPLE = "id,u,v,w"
_LABEL = re.compile(r"\d{1,18}", re.ASCII)
_LARGEST_ID = 2**63 - 1

Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


@dataclass(frozen=True)
class EdgeColumns:
    """Positions of columns, from 0. The weight is None where each edge weighs 1."""

    tail: int
    head: int
    weight: int | None


def read_edge_table(file: InputFile, directed: bool | None, weight: str | None, comment: str = "") -> Graph:
    """Return the graph of a table of edges.

    Parameters
    ----------
    directed
        Whether lines are arcs. None: they are edges, of which no two may lead opposite ways with different weights.
    weight
        The title of the column with the weights. None: the column with a title of `WEIGHT`, else the only one beside
        the ends. Without such a column each edge weighs 1.

    Raises
    ------
    InputError
        With file and line: it is not clear which columns hold what, a cell is missing, or a weight is not a number.
    """
    rows = list(_rows(file))
    header = _has_titles(file, rows[0], weight)
    columns = _columns(file, rows[0], header, weight)
    body = rows[1:] if header else rows
    if not body:
        raise file.error("there are no edges below the first line", rows[0][0])
    for line, cells in body:
        if len(cells) != len(rows[0][1]):
            raise file.error(f"{len(cells)} cells, but line {rows[0][0]} has {len(rows[0][1])}", line)
        if not cells[columns.tail] or not cells[columns.head]:
            raise file.error("a vertex is missing", line)
    lines = np.array([line for line, _ in body], dtype=np.int64)
    if not header or not names_columns(rows[0][1]):
        _refuse_places(file, body, columns)
    labels, names, tails, heads = _vertices(file, body, columns, lines)
    values = np.ones(len(body), dtype=np.uint64) if columns.weight is None else _numbers(file, body, columns.weight)
    weights, scale = weights_in(file, values, lines, len(labels))
    if directed is None:
        require_one_weight(file, len(labels), (tails, heads), (weights, scale), lines, names or labels)
    titles = rows[0][1] if header else []
    used = {columns.tail, columns.head, columns.weight}
    others = [title for column, title in enumerate(titles) if column not in used and title.lower() not in _EDGE_ID]
    one_way = [cells[titles.index(title)] for title in others if title.lower() == ONE_WAY for _, cells in body]
    notes = (
        *direction_notes(titles, directed), *one_way_notes("column", one_way, directed),
        *not_used([title for title in others if title.lower() != ONE_WAY]),
    )
    return assembled(
        file.stem or "graph", len(labels), tails, heads, weights, directed=bool(directed), scale=scale, labels=labels,
        vertex_names=names, comment=comment, notes=notes,
    )


def direction_notes(titles: Sequence[str], directed: bool | None) -> tuple[str, ...]:
    """Return the line that says that edges under titles such as from and to lead both ways.

    There is no line if the user says whether they are arcs.
    """
    ends = [title for title in titles if title.lower() in (*TAIL, *HEAD) and title.lower() not in _UNDIRECTED]
    if directed is not None or not names_columns(titles) or not ends:
        return ()
    what = f"{' and '.join(ends)} are the ends of edges, which lead both ways"
    return (read_note(f"{what}; directed = true makes arcs of them"),)


def names_columns(titles: Sequence[str]) -> bool:
    """Return whether titles say which columns hold the two ends of an edge."""
    found = [title.lower() for title in titles]
    return any(title in TAIL for title in found) and any(title in HEAD for title in found)


def names_axes(titles: Sequence[str]) -> bool:
    """Return whether titles say that columns hold coordinates."""
    return {"x", "y"} <= {title.lower() for title in titles}


def begins_with_id(titles: Sequence[str]) -> bool:
    """Return whether the first column numbers the edges."""
    return titles[0].lower() in _EDGE_ID


def positions_by_label(
    file: InputFile, tails: Numbers, heads: Numbers, lines: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels in ascending order, and the positions of tails and heads among them.

    Raises
    ------
    InputError
        With file and line: an end is not a whole number from 0 to 2^63 - 1.
    """
    for ends in (tails, heads):
        wrong = (ends < 0) | (ends > _LARGEST_ID)
        if ends.dtype.kind == "f":
            wrong |= (np.floor(ends) != ends) | (ends >= 2.0**53)
        if wrong.any():
            index = int(np.argmax(wrong))
            raise file.error(f"vertex {ends[index]} is not a whole number from 0 to 2^63 - 1", int(lines[index]))
    ids = np.concatenate([tails, heads]).astype(np.int64)
    most = int(ids.max(initial=-1))
    if most < 4 * len(ids):
        # A table of all ids is quicker than sorting, and no larger than the list.
        present = np.zeros(most + 1, dtype=bool)
        present[ids] = True
        labels = np.flatnonzero(present)
        positions = (np.cumsum(present) - 1)[ids]
    else:
        labels, positions = np.unique(ids, return_inverse=True)
    return labels, positions[: len(tails)], positions[len(tails) :]


def _rows(file: InputFile) -> Iterator[Row]:
    """Yield the lines that are neither blank nor comments. The first one shows what separates the cells of all."""
    delimiter: str | None = None
    found = False
    for number, line in enumerate(decode(file.content).split("\n"), start=1):
        if not words(line) or line.lstrip(" \t")[:1] in ("#", "%"):
            continue
        if not found:
            delimiter, found = delimiter_of(line), True
        try:
            yield number, cells_of(line, delimiter)
        except csv.Error as problem:
            raise file.error(f"not a line of a table: {problem}", number) from None
    if not found:
        raise file.error("expected two vertices and perhaps a weight on each line", file.last_line)


def _has_titles(file: InputFile, first: Row, weight: str | None) -> bool:
    """Return whether the first line has titles. Raises `InputError` if they lack `weight`."""
    line, cells = first
    if weight is not None and cells.count(weight) != 1:
        which = f"{cells.count(weight)} columns are" if weight in cells else "no column is"
        raise file.error(f"{which} called {shown(weight)}; there are {listed(cells)}", line)
    if weight is not None or names_columns(cells):
        return True
    if len(cells) == 2 or (len(cells) == 3 and NUMBER.fullmatch(cells[2])):
        return False
    if len(cells) == 3 and cells[2]:
        return True
    message = f"{len(cells)} columns and no titles; write a first line that names them, such as {EXAMPLE}"
    raise file.error(message, line)


def _columns(file: InputFile, first: Row, header: bool, weight: str | None) -> EdgeColumns:
    """Return the columns of ends and weight. Raises `InputError` if the titles leave them open."""
    line, cells = first
    if not header and not names_axes(cells):
        return EdgeColumns(0, 1, 2 if len(cells) == 3 else None)
    titles = [cell.lower() for cell in cells]
    tail, head = _only(file, titles, TAIL, line), _only(file, titles, HEAD, line)
    if tail is None or head is None:
        if len(cells) > 3 or begins_with_id(cells) or names_axes(cells) or tail is not None or head is not None:
            raise file.error(f"it is not clear which columns are the ends; call them u and v, as in {EXAMPLE}", line)
        tail, head = 0, 1
    if weight is not None:
        return EdgeColumns(tail, head, cells.index(weight))
    known = _only(file, titles, WEIGHT, line)
    others = [column for column in range(len(cells)) if column not in (tail, head)]
    if known is not None or not others or all(titles[column] in _EDGE_ID for column in others):
        return EdgeColumns(tail, head, known)
    if len(others) > 1:
        names = listed([cells[column] for column in others])
        raise file.error(f"it is not clear which column is the weight: {names}; choose with weight = ...", line)
    return EdgeColumns(tail, head, others[0])


def _only(file: InputFile, titles: Sequence[str], spellings: Sequence[str], line: int) -> int | None:
    """Return the column with one of these titles, None if there is none. Raises `InputError` if there are two."""
    found = [index for index, title in enumerate(titles) if title in spellings]
    if len(found) > 1:
        first, second = (titles[index] for index in found[:2])
        cure = "choose with weight = ..." if spellings is WEIGHT else "rename or remove one"
        raise file.error(f"the columns {first} and {second} may mean the same; {cure}", line)
    return found[0] if found else None


def _refuse_places(file: InputFile, body: Sequence[Row], columns: EdgeColumns) -> None:
    """Refuse ends without titles if those of one column alone are numbers: these may be coordinates of the others."""
    numbers = [all(NUMBER.fullmatch(cells[column]) for _, cells in body) for column in (columns.tail, columns.head)]
    texts = [not any(NUMBER.fullmatch(cells[column]) for _, cells in body) for column in (columns.tail, columns.head)]
    if any(numbers) and any(texts):
        cure = f"write titles such as {EXAMPLE} above edges, or name,lat,lon above places"
        raise file.error(f"one end of each line is a name, the other one a number; {cure}", body[0][0])


def _vertices(
    file: InputFile, body: Sequence[Row], columns: EdgeColumns, lines: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]:
    """Return labels, names (none if all vertices are whole numbers), and the positions of both ends."""
    tails, heads = ([cells[column] for _, cells in body] for column in (columns.tail, columns.head))
    if all(map(_LABEL.fullmatch, tails)) and all(map(_LABEL.fullmatch, heads)):
        whole = [np.array([int(text) for text in ends], dtype=np.uint64) for ends in (tails, heads)]
        labels, a, b = positions_by_label(file, whole[0], whole[1], lines)
        return labels, (), a, b
    position: dict[str, int] = {}
    ends = [position.setdefault(text, len(position)) for pair in zip(tails, heads) for text in pair]
    both = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return np.arange(len(position)), tuple(position), both[:, 0].copy(), both[:, 1].copy()


def _numbers(file: InputFile, body: Sequence[Row], column: int) -> Numbers:
    """Return the numbers in a column. Raises `InputError` with file and line if a cell is not a number."""
    cells = [cells[column] for _, cells in body]
    for (line, _), text in zip(body, cells):
        if not NUMBER.fullmatch(text):
            what = f"must be a number, found {shown(text)}" if text else "is missing"
            raise file.error(f"a weight {what}", line)
    values = numbers_of(" ".join(cells).encode(), len(cells), max(map(len, cells)))
    if values is None:
        raise file.error("a weight is not a number", body[0][0])
    return values


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

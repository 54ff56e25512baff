"""Edge lists: two vertices and perhaps a weight on each line, separated by blanks, commas, semicolons or tabs.

Lines that begin with # or % are comments. The first line may have titles of the columns; there may then be more than
three. Vertices are either whole numbers below 2^63, by which they are ordered, or names. A comment that
begins with "Directed graph" or "Undirected graph" (as in files of SNAP) says what the lines are. Without it they are
edges, of which no two may lead opposite ways with different weights.

Lines of numbers alone, in the order tail, head, weight, are read as whole arrays, all others as tables of text. There
weights between semicolons or tabs may have a decimal comma (`tables.with_points`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats import records
from hpcsolve.formats.files import InputFile, decode, words, write_text
from hpcsolve.formats.tables import Row, cells_of, delimiter_of, listed, rows_of, with_point, with_points
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
_SKIPPED = re.compile(r"[ \t]*[#%]|[ \t\n\v\f\r]*$")
_CONTENT = re.compile(rb"(?m)^[ \t]*([^\s#%][^\n]*)")
_MARKS = {";": re.compile(rb"(?m)^[ \t]*[^\s#%][^\n,.]*[,.]"), "\t": re.compile(rb"(?m)^[ \t]*[^\s#%][^\n,]*,")}
_LIKE_A_NUMBER = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*(?:[eE][+-]?\d+)?", re.ASCII)
"""Numbers, and what may be meant as one, such as 1.234,5: a title is something else."""
_LABEL = re.compile(r"\d{1,18}", re.ASCII)
_LARGEST_ID = 2**63 - 1
_LONGEST_HEAD = 1 << 20


class Edges(NamedTuple):
    """What a file says of its edges, one on each line.

    Attributes
    ----------
    labels, names
        Of the vertices; no names if all are whole numbers.
    tails, heads
        Positions of the ends.
    values
        The weights, as the file has them.
    lines
        The number of each line.
    comments
        The text of each comment.
    one_way
        The cells of a column that marks one-way streets.
    unused
        The titles of columns that are not used.
    """

    labels: NDArray[np.int64]
    names: tuple[str, ...]
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    values: records.Numbers
    lines: NDArray[np.int64]
    comments: Sequence[str]
    one_way: Sequence[str] = ()
    unused: Sequence[str] = ()


class FirstLine(NamedTuple):
    """The cells of the first line that is neither blank nor a comment: titles of the columns, or an edge."""

    cells: Sequence[str]

    @property
    def titles(self) -> list[str]:
        """The cells in lower case."""
        return [cell.lower() for cell in self.cells]

    @property
    def names_ends(self) -> bool:
        """Whether titles say which columns hold the two ends of an edge."""
        return any(title in TAIL for title in self.titles) and any(title in HEAD for title in self.titles)

    @property
    def names_axes(self) -> bool:
        """Whether titles say that columns hold coordinates."""
        return {"x", "y"} <= set(self.titles)

    @property
    def in_order(self) -> bool:
        """Whether the columns are tail, head, weight, as far as this line tells."""
        if not self.names_ends:
            return self.titles[0] not in _EDGE_ID and not self.names_axes
        first, second, *rest = self.titles
        if any(title in (*TAIL, *HEAD) for title in rest) or (rest and rest[0] in _EDGE_ID):
            return False
        return first in TAIL and second in HEAD

    def has_titles(self, file: InputFile, line: int, weight: str | None) -> bool:
        """Return whether the cells are titles. Raises `InputError` if they lack `weight`, or if it cannot be told."""
        cells = self.cells
        if weight is not None and cells.count(weight) != 1:
            which = f"{cells.count(weight)} columns are" if weight in cells else "no column is"
            raise file.error(f"{which} called {shown(weight)}; there are {listed(cells)}", line)
        if weight is not None or self.names_ends:
            return True
        if len(cells) == 2 or (len(cells) == 3 and _LIKE_A_NUMBER.fullmatch(cells[2])):
            return False
        if len(cells) == 3 and cells[2]:
            return True
        message = f"{len(cells)} columns and no titles; write a first line that names them, such as {EXAMPLE}"
        raise file.error(message, line)

    def columns(self, file: InputFile, line: int, weight: str | None) -> tuple[int, int, int | None]:
        """Return the columns of tail, head and weight by their titles, the last one None where each edge weighs 1.

        Raises
        ------
        InputError
            The titles leave them open.
        """
        cells, titles = self.cells, self.titles
        tail, head = self._only(file, line, TAIL), self._only(file, line, HEAD)
        if tail is None or head is None:
            unclear = tail is not None or head is not None or self.names_axes
            if len(cells) > 3 or titles[0] in _EDGE_ID or unclear:
                message = f"it is not clear which columns are the ends; call them u and v, as in {EXAMPLE}"
                raise file.error(message, line)
            tail, head = 0, 1
        if weight is not None:
            return tail, head, cells.index(weight)
        known = self._only(file, line, WEIGHT)
        others = [column for column in range(len(cells)) if column not in (tail, head)]
        if known is not None or not others or all(titles[column] in _EDGE_ID for column in others):
            return tail, head, known
        if len(others) > 1:
            names = listed([cells[column] for column in others])
            raise file.error(f"it is not clear which column is the weight: {names}; choose with weight = ...", line)
        return tail, head, others[0]

    def _only(self, file: InputFile, line: int, spellings: Sequence[str]) -> int | None:
        """Return the column with one of these titles, None if there is none. Raises `InputError` if there are two."""
        found = [index for index, title in enumerate(self.titles) if title in spellings]
        if len(found) > 1:
            first, second = (self.titles[index] for index in found[:2])
            cure = "choose with weight = ..." if spellings is WEIGHT else "rename or remove one"
            raise file.error(f"the columns {first} and {second} may mean the same; {cure}", line)
        return found[0] if found else None


def has_edge_titles(content: bytes) -> bool:
    """Return whether the first line that is no comment names the ends of edges, and not the cities of a matrix."""
    first, *others = _first_cells(_first_lines(content[:_LONGEST_HEAD]))
    return FirstLine(first).names_ends and (first[0] != "" or all(row[0] != first[1] for row in others))


def looks_like_edge_list(content: bytes) -> bool:
    """Return whether one of the first two lines that are not comments looks like an edge, or names its ends.

    An edge is two or three numbers and nothing else, or two texts and a number.
    """
    lines = _first_lines(content)
    for row in _first_cells(lines):
        number = [records.NUMBER.fullmatch(with_point(cell, ";")) is not None for cell in row]
        if FirstLine(row).names_ends or (number == [False, False, True] and all(row)):
            return True
    return any(width in (2, 3) for width in _widths_of_numbers(lines))


def read_edge_list(file: InputFile, directed: bool | None = None, weight: str | None = None) -> Graph:
    """Return a graph, whose weights are 1 if there is no column for them.

    Parameters
    ----------
    directed
        Whether a line is an arc from the first to the second vertex; by default as the comments say. If these say
        nothing, lines are edges, of which no two may lead opposite ways with different weights.
    weight
        The title of the column with the weights. None: the column with a title of `WEIGHT`, else the only one beside
        the ends. Without such a column each edge weighs 1.

    Raises
    ------
    InputError
        With file and line: it is not clear which columns hold what, a cell is missing, or a weight is not a number.
    """
    if file.content.lstrip().startswith(b"<"):
        raise file.error("is HTML or XML, not a list of edges", file.first_line)
    lines = _first_lines(file.content)
    first, widths = FirstLine(_first_cells(lines)[0]), _widths_of_numbers(lines)
    if weight is None and widths[:1] in ([2], [3]) and first.in_order and not _has_marks(file.content, lines):
        edges = _edges_of_numbers(file, lines[0], widths[0])
    else:
        edges = _edges_of_cells(file, weight)
    if directed is None:
        said = (re.match(r"(un)?directed graph", comment, re.IGNORECASE) for comment in edges.comments)
        directed = next((match[1] is None for match in said if match), None)
    n = len(edges.labels)
    weights, scale = records.weights_in(file, edges.values, edges.lines, n)
    notes: tuple[str, ...] = ()
    if directed is None:
        names = edges.names or edges.labels
        records.require_one_weight(file, n, (edges.tails, edges.heads), (weights, scale), edges.lines, names)
        ends = [cell for cell, title in zip(first.cells, first.titles)
                if title in (*TAIL, *HEAD) and title not in _UNDIRECTED]
        if first.names_ends and ends:
            what = f"{' and '.join(ends)} are the ends of edges, which lead both ways"
            notes = (read_note(f"{what}; directed = true makes arcs of them"),)
    notes += one_way_notes("column", edges.one_way, directed) + not_used(edges.unused)
    return assembled(
        file.stem or "graph", n, edges.tails, edges.heads, weights, directed=bool(directed), scale=scale,
        labels=edges.labels, vertex_names=edges.names, comment="\n".join(filter(None, edges.comments)), notes=notes,
    )


def _first_lines(content: bytes) -> list[tuple[int, bytes]]:
    """Return the number and the text of the first two lines that are neither blank nor comments."""
    found = islice(_CONTENT.finditer(content), 2)
    return [(content.count(b"\n", 0, match.start()) + 1, match[1]) for match in found]


def _first_cells(lines: Sequence[tuple[int, bytes]]) -> list[list[str]]:
    """Return the cells of the first lines, of which there is at least one."""
    texts = [decode(text) for _, text in lines]
    try:
        return [cells_of(text, delimiter_of(texts[0])) for text in texts] or [[""]]
    except csv.Error:
        return [[""]]


def _has_marks(content: bytes, lines: Sequence[tuple[int, bytes]]) -> bool:
    """Return whether a line that is no comment has a comma or point that may separate decimals or thousands."""
    delimiter = delimiter_of(decode(lines[0][1])) if lines else None
    return delimiter in _MARKS and _MARKS[delimiter].search(content) is not None


def _widths_of_numbers(lines: Sequence[tuple[int, bytes]]) -> list[int]:
    """Return how many numbers each line that has nothing else has."""
    rows = ([with_point(word, ";") for word in words(decode(_with_blanks(text, lines[0][1])))] for _, text in lines)
    return [len(row) for row in rows if all(map(records.NUMBER.fullmatch, row))]


def _with_blanks(text: bytes, first_line: bytes) -> bytes:
    """Return the text with blanks in place of quotes and of what separates the cells of the first line."""
    marks = {";": b';"', "\t": b'"'}.get(delimiter_of(decode(first_line)) or ",", b',"')
    return text.translate(bytes.maketrans(marks, b" " * len(marks)))


def _edges_of_numbers(file: InputFile, first: tuple[int, bytes], width: int) -> Edges:
    """Return the edges of lines of numbers alone, below a first line that may have titles."""
    what = ("a vertex", "a vertex", "a weight")[:width]
    body = records.read_records(file, _with_blanks(file.content, first[1]), 1, what)
    comments = []
    for line, text in body.others:
        if text.startswith(("#", "%")):
            comments.append(text.lstrip(" \t#%").strip())
        elif line != first[0]:
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", line)
    labels, tails, heads = _positions_by_label(file, body.columns[0], body.columns[1], body.lines)
    values = np.ones(len(tails), dtype=np.uint64) if width == 2 else body.columns[2]
    return Edges(labels, (), tails, heads, values, body.lines, comments)


def _edges_of_cells(file: InputFile, weight: str | None) -> Edges:
    """Return the edges of a table of text."""
    rows, delimiter = rows_of(file, "a line of a table", _SKIPPED)
    if not rows:
        raise file.error("expected two vertices and perhaps a weight on each line", file.last_line)
    first_line, first = rows[0].line, FirstLine(rows[0].cells)
    has_titles = first.has_titles(file, first_line, weight)
    tail, head, weighted = 0, 1, 2 if len(first.cells) == 3 else None
    if has_titles or first.names_axes:
        tail, head, weighted = first.columns(file, first_line, weight)
    body = rows[1:] if has_titles else rows
    if not body:
        raise file.error("there are no edges below the first line", first_line)
    for line, cells in body:
        if len(cells) != len(first.cells):
            raise file.error(f"{len(cells)} cells, but line {first_line} has {len(first.cells)}", line)
        if not cells[tail] or not cells[head]:
            raise file.error("a vertex is missing", line)
    if weighted is not None:
        body = with_points(file, body, delimiter, (weighted,))
    lines = np.array([line for line, _ in body], dtype=np.int64)
    ends = [[cells[column] for _, cells in body] for column in (tail, head)]
    numbers = [sum(records.NUMBER.fullmatch(text) is not None for text in column) for column in ends]
    if not (has_titles and first.names_ends) and 0 in numbers and len(body) in numbers:  # perhaps places
        cure = f"write titles such as {EXAMPLE} above edges, or name,lat,lon above places"
        raise file.error(f"one end of each line is a name, the other one a number; {cure}", body[0].line)
    names: tuple[str, ...] = ()
    if all(_LABEL.fullmatch(text) for column in ends for text in column):
        whole = [np.array([int(text) for text in column], dtype=np.uint64) for column in ends]
        labels, tails, heads = _positions_by_label(file, whole[0], whole[1], lines)
    else:
        position: dict[str, int] = {}
        both = [position.setdefault(text, len(position)) for pair in zip(*ends) for text in pair]
        tails, heads = np.array(both, dtype=np.int64).reshape(-1, 2).T.copy()
        labels, names = np.arange(len(position)), tuple(position)
    values = np.ones(len(body), dtype=np.uint64) if weighted is None else _weights(file, body, weighted)
    others = [column for column, title in enumerate(first.titles if has_titles else ())
              if column not in (tail, head, weighted) and title not in _EDGE_ID]
    marks = [column for column in others if first.titles[column] == ONE_WAY]
    comments = [decode(text).strip() for text in re.findall(rb"(?m)^[ \t]*[#%]+([^\n]*)", file.content)]
    return Edges(
        labels, names, tails, heads, values, lines, comments, [cells[column] for column in marks for _, cells in body],
        [first.cells[column] for column in others if column not in marks],
    )


def _positions_by_label(
    file: InputFile, tails: records.Numbers, heads: records.Numbers, lines: NDArray[np.int64]
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


def _weights(file: InputFile, body: Sequence[Row], column: int) -> records.Numbers:
    """Return the numbers in a column. Raises `InputError` with file and line if a cell is not a number."""
    cells = [cells[column] for _, cells in body]
    for (line, _), text in zip(body, cells):
        if not records.NUMBER.fullmatch(text):
            what = f"must be a number, found {shown(text)}" if text else "is missing"
            raise file.error(f"a weight {what}", line)
    values = records.numbers_of(" ".join(cells).encode(), len(cells), max(map(len, cells)))
    if values is None:
        raise file.error("a weight is not a number", body[0].line)
    return values


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
    # What an edge list would lose, or what would be read as something else.
    used = np.zeros(graph.n, dtype=bool)
    used[graph.heads] = used[graph.tails()] = True
    if not used.all():
        what = f"vertex {names[int(np.argmin(used))]} has no edge, and an edge list has only vertices with edges"
        raise InputError(f"{what}; write it as .gr", graph.name)
    for name in names if graph.vertex_names else ():
        if not name or name[0] in "#%" or records.NUMBER.fullmatch(name):
            what = f"a vertex has the name {shown(name)}, which an edge list cannot have; it may not be empty,"
            raise InputError(f"{what} a number, or begin with # or %", graph.name)
    if not graph.vertex_names and graph.labels.min(initial=0) < 0:
        what = f"the label {graph.labels.min()} is negative, which an edge list cannot have"
        raise InputError(f"{what}; write it as .gr", graph.name)
    chosen = graph.once()
    rows = zip(graph.tails()[chosen].tolist(), graph.heads[chosen].tolist(), graph.weights[chosen].tolist())
    stream = io.StringIO()
    if graph.directed:
        stream.write("# Directed graph\n")
    table = csv.writer(stream, delimiter="\t" if path.lower().endswith(".tsv") else ",", lineterminator="\n")
    table.writerow(["u", "v", "w"])
    table.writerows((names[a], names[b], records.weight_text(w, graph.scale)) for a, b, w in rows)
    write_text(stream.getvalue(), path)

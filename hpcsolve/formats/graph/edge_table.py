"""Edge lists whose vertices are texts, or whose first line says which columns hold the ends and the weight."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.cells import cells_of, delimiter_of, listed
from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.formats.graph.columns import require_one_weight, weights_in
from hpcsolve.formats.graph.lines import NUMBER, Numbers, numbers_of
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled
from hpcsolve.problems.notes import ONE_WAY, not_used, one_way_notes, read_note

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

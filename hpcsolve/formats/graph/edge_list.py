"""Edge lists: two vertices and perhaps a weight on each line, between blanks, commas, semicolons or tabs.

Lines that begin with # or % are comments. A first line of words, not numbers, may name the columns. Ids are whole
numbers below 2^63, and vertices are ordered by them. A graph is undirected, unless a comment begins with "Directed
graph" (as in files of SNAP).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.formats.graph.columns import weights_in
from hpcsolve.formats.graph.lines import NUMBER, Numbers, read_records
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled

_COMMENT = re.compile(rb"[ \t]*[#%]")
_LARGEST_ID = 2**63 - 1


def looks_like_edge_list(content: bytes) -> bool:
    """Return whether one of the first two lines that are not comments has two or three numbers and nothing else."""
    rows = [row for _, row in _first_lines(content)]
    return any(len(row) in (2, 3) and all(map(NUMBER.fullmatch, row)) for row in rows)


def read_edge_list(file: InputFile, directed: bool | None = None) -> Graph:
    """Return a graph, whose weights are 1 if there is no third column.

    Parameters
    ----------
    directed
        Whether a line is an arc from the first to the second vertex; by default as the comments say.

    Raises
    ------
    InputError
        With file and line.
    """
    first = _first_lines(file.content)
    width = next((len(row) for _, row in first if all(map(NUMBER.fullmatch, row))), 0)
    if width not in (2, 3):
        line = first[0][0] if first else file.last_line
        raise file.error("expected two vertices and perhaps a weight on each line", line)
    what = ("a vertex", "a vertex", "a weight")[:width]
    records = read_records(file, _with_blanks(file.content), 1, what)
    comments = []
    for line, text in records.others:
        if _COMMENT.match(text.encode()):
            comments.append(text.lstrip(" \t#%").strip())
        elif line != first[0][0]:
            raise file.error(f"expected {', '.join(what)}, found {shown(text)}", line)
    labels, tails, heads = _positions(file, records.columns[0], records.columns[1], records.lines)
    values = np.ones(len(tails), dtype=np.uint64) if width == 2 else records.columns[2]
    weights, scale = weights_in(file, values, records.lines, len(labels))
    if directed is None:
        directed = any(comment.lower().startswith("directed graph") for comment in comments)
    return assembled(
        file.stem or "graph", len(labels), tails, heads, weights, directed=directed, scale=scale, labels=labels,
        comment="\n".join(comment for comment in comments if comment),
    )


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


def _positions(
    file: InputFile, tails: Numbers, heads: Numbers, lines: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels in ascending order, and the positions of both ends."""
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

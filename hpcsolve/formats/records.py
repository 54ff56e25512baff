"""The lines of numbers that text formats of graphs consist of, read as whole arrays, checked, and written.

A record is a line of numbers, perhaps after a key of one letter (`a 1 2 803`). All other lines (headers, comments) are
returned as text. The text is read in chunks of some MiB, so that temporary arrays stay small and in cache.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.formats.tables import decimal
from hpcsolve.problems.graph import EITHER_WEIGHT, LARGEST_ORDER, Graph, assembled, opposite_arcs
from hpcsolve.problems.rounding import BadNumber, Weights, exact_weights
from hpcsolve.wording import shown

Numbers = NDArray[np.uint64] | NDArray[np.float64]

_CHUNK = 1 << 22
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SMALL_ORDER = 1 << 20
"""Number of vertices that a file of any size may have, since isolated vertices take no room in it."""


@dataclass(frozen=True, eq=False)
class Records:
    """Records with the same number of columns, and the lines between them.

    Attributes
    ----------
    file
        The file that they are in.
    columns
        One array for each column: uint64 if it has only digits (2 ** 64 - 1 stands for all larger numbers), else
        float64.
    lines
        The line (from 1) of each record.
    others
        The number and text of each other line that is not blank.
    """

    file: InputFile
    columns: tuple[Numbers, ...]
    lines: NDArray[np.int64]
    others: list[tuple[int, str]]

    def require_count(self, stated: int, what: str, line: int | None) -> None:
        """Refuse a file whose header states another number of these records. Raises as `require_count`."""
        require_count(self.file, stated, len(self.lines), what, line)

    def positions(self, column: int, n: int) -> NDArray[np.int64]:
        """Return the positions of a column of vertices, whose ids count from 1. Raises as `positions_in`."""
        return positions_in(self.file, self.columns[column], self.lines, n)

    def graph(self, n: int, *, directed: bool, comment: str, way_out: str | None = None) -> Graph:
        """Return the graph of records with a tail, a head (ids from 1) and perhaps a weight, which is 1 by default.

        Parameters
        ----------
        way_out
            The end of the message if two edges lead opposite ways with different weights. None: they may.

        Raises
        ------
        InputError
            As `positions_in`, `weights_in` and `require_one_weight`.
        """
        tails, heads = self.positions(0, n), self.positions(1, n)
        values = self.columns[2] if len(self.columns) > 2 else np.ones(len(tails), dtype=np.uint64)
        weights, scale = weights_in(self.file, values, self.lines, n)
        if way_out is not None:
            ends, numbers = (tails, heads), range(1, n + 1)
            require_one_weight(self.file, n, ends, (weights, scale), self.lines, numbers, way_out)
        return assembled(
            self.file.stem or "graph", n, tails, heads, weights, directed=directed, scale=scale,
            labels=np.arange(1, n + 1), comment=comment,
        )


def read_records(file: InputFile, text: bytes, line: int, what: tuple[str, ...], key: bytes = b"") -> Records:
    """Return all records of a text.

    Parameters
    ----------
    file, line
        The file that the text is a part of, and the line on which it begins.
    what
        The meaning of each column, for messages: ("a vertex", "a weight").
    key
        The letter that a record begins with, in either case; if empty, every line that begins like a number is a
        record.

    Raises
    ------
    InputError
        With file and line: a record is too short or too long, or has something other than numbers.
    """
    columns: list[list[Numbers]] = [[] for _ in what]
    lines: list[NDArray[np.int64]] = []
    others: list[tuple[int, str]] = []
    for chunk in _chunks(text):
        table, numbers, rest = _read_chunk(file, chunk, line, what, key)
        for column, values in zip(columns, table.T, strict=True):
            column.append(np.ascontiguousarray(values))
        lines.append(numbers)
        others += rest
        line += chunk.count(b"\n")
    joined = tuple(_joined(column) for column in columns)
    return Records(file, joined, np.concatenate(lines) if lines else np.empty(0, dtype=np.int64), others)


def _chunks(text: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(text):
        end = text.find(b"\n", begin + _CHUNK) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _read_chunk(
    file: InputFile, chunk: bytes, line: int, what: tuple[str, ...], key: bytes
) -> tuple[NDArray[Any], NDArray[np.int64], list[tuple[int, str]]]:
    """Return the table of numbers, the line of each record, and the other lines."""
    text = np.frombuffer(chunk, dtype=np.uint8).copy()
    places = word_positions(text)
    rows = np.flatnonzero(places.counts)
    begin = places.starts[places.first[rows]]
    if key:
        alone = places.ends[places.first[rows]] - begin == 1
        chosen = alone & ((text[begin] | 32) == ord(key.lower()))
    else:
        chosen = np.isin(text[begin], np.frombuffer(b"0123456789+-.", dtype=np.uint8))
    others = _taken_out(text, places, rows[~chosen], line)
    rows, begin = rows[chosen], begin[chosen]
    if key:
        text[begin] = 32
    wrong = places.counts[rows] != len(what) + len(key)
    if wrong.any():
        row = int(rows[np.argmax(wrong)])
        found = decode(chunk.split(b"\n", row + 1)[row].strip())
        wanted = ", ".join([*([decode(key)] if key else []), *what])
        raise file.error(f"expected {wanted}, found {shown(found)}", line + row)
    values = numbers_of(text.tobytes(), len(what) * len(rows), places.longest(rows))
    if values is None:
        raise _bad_word(file, chunk, rows, line, what, len(key))
    return values.reshape(-1, len(what)), rows + line, others


@dataclass(frozen=True, eq=False)
class WordPositions:
    """The places of the words in a text.

    Attributes
    ----------
    starts, ends
        The first byte of each word, and the one after its last.
    first, counts
        The index of the first word of each line, and the number of its words; blank lines count.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]

    def longest(self, rows: NDArray[np.int64]) -> int:
        """Return the length of the longest word of some lines, which all have the same number of words."""
        if not len(rows):
            return 0
        words = self.first[rows][:, None] + np.arange(self.counts[rows[0]])
        return int((self.ends[words] - self.starts[words]).max(initial=0))


def word_positions(text: NDArray[np.uint8]) -> WordPositions:
    """Return the places of all words and lines of a text."""
    blank = np.ones(len(text) + 2, dtype=bool)
    np.less_equal(text, 32, out=blank[1:-1])
    starts = np.flatnonzero(blank[:-2] & ~blank[1:-1])
    ends = np.flatnonzero(blank[2:] & ~blank[1:-1]) + 1
    line_ends = np.flatnonzero(text == 10)
    if len(text) and text[-1] != 10:
        line_ends = np.append(line_ends, len(text))
    bounds = np.searchsorted(starts, line_ends)
    first = np.concatenate([[0], bounds[:-1]]) if len(bounds) else bounds
    return WordPositions(starts, ends, first, bounds - first)


def _taken_out(
    text: NDArray[np.uint8], places: WordPositions, rows: NDArray[np.int64], line: int
) -> list[tuple[int, str]]:
    """Return the number and text of some lines, and overwrite them with blanks."""
    others = []
    last = places.first[rows] + places.counts[rows] - 1
    for row, begin, end in zip(rows, places.starts[places.first[rows]], places.ends[last], strict=True):
        others.append((int(row) + line, decode(text[begin:end].tobytes())))
        text[begin:end] = 32
    return others


def numbers_of(text: bytes, count: int, longest: int) -> Numbers | None:
    """Return all numbers of a text, or None if it has anything else.

    Parameters
    ----------
    count, longest
        The number of words, and the length of the longest.
    """
    rest = text.translate(None, b"0123456789 \t\n\r\v\f")
    if not rest and longest > 18:
        most = 2**64 - 1
        return np.array([min(int(word), most) if len(word) < 400 else most for word in text.split()], dtype=np.uint64)
    if rest.translate(None, b"+-.eE"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            values = np.fromstring(text, dtype=np.float64 if rest else np.int64, sep=" ") if count else np.empty(0)
        except (ValueError, DeprecationWarning):
            return None
    if len(values) != count:
        return None
    return values.astype(np.float64) if rest else values.astype(np.int64).view(np.uint64)


def _bad_word(
    file: InputFile, chunk: bytes, rows: NDArray[np.int64], line: int, what: tuple[str, ...], skip: int
) -> InputError:
    """Return the error of the first word that is not a number."""
    texts = chunk.split(b"\n")
    for row in rows:
        for column, word in enumerate(words(decode(texts[row]))[skip:]):
            if not NUMBER.fullmatch(word):
                return file.error(f"{what[column]} must be a number, found {shown(word)}", line + int(row))
    return file.error("holds something other than numbers", line)


def _joined(parts: list[Numbers]) -> Numbers:
    if not parts:
        return np.empty(0, dtype=np.uint64)
    if any(part.dtype.kind == "f" for part in parts):
        return np.concatenate([part.astype(np.float64) for part in parts])
    return cast(Numbers, np.concatenate(parts))


def positions_in(
    file: InputFile, values: Numbers, lines: NDArray[np.int64], n: int, first: int = 1
) -> NDArray[np.int64]:
    """Return the positions 0..n-1 of a column of vertices that the file counts from `first`.

    Raises
    ------
    InputError
        With file and line: a vertex is out of range or not a whole number.
    """
    wrong = (values < first) | (values >= n + first)
    if values.dtype.kind == "f":
        wrong |= np.floor(values) != values
    if wrong.any():
        index = int(np.argmax(wrong))
        what = f"vertex {values[index]:.16g}" if values.dtype.kind == "f" else f"vertex {values[index]}"
        raise file.error(f"{what} is not a whole number from {first} to {n - 1 + first}", int(lines[index]))
    return values.astype(np.int64) - first


def weights_in(file: InputFile, values: ArrayLike, lines: NDArray[np.int64], n: int) -> tuple[Weights, int]:
    """Return a column of weights in the form that `Graph` has, and their scale.

    Raises
    ------
    InputError
        With file and line: a weight is negative, infinite or too large.
    """
    try:
        return exact_weights(values, n)
    except BadNumber as problem:
        raise file.error(f"the weight {problem.reason}", int(lines[problem.index])) from None


def require_one_weight(
    file: InputFile, n: int, ends: tuple[NDArray[np.int64], NDArray[np.int64]], weights: tuple[Weights, int],
    lines: NDArray[np.int64], names: Any, way_out: str = f"{EITHER_WEIGHT} (--set instance.directed=false)",
) -> None:
    """Refuse edges that are there in both directions with different weights, as if they were arcs.

    Parameters
    ----------
    ends, weights
        Tails and heads (positions); weights and their scale.
    names
        Names or labels of the vertices, by position.
    way_out
        The end of the message.

    Raises
    ------
    InputError
        With file and both lines.
    """
    found = opposite_arcs(n, *ends, weights[0])
    if found is None:
        return
    (one, weight), (other, other_weight) = (
        (f"from {names[ends[0][arc]]} to {names[ends[1][arc]]}", weight_text(weights[0][arc].item(), weights[1]))
        for arc in found)
    message = f"the weight {other} is {other_weight}, but {one} it is {weight} (line {lines[found[0]]})"
    raise file.error(f"{message}; {way_out}", int(lines[found[1]]))


def require_undirected(file: InputFile, directed: bool | None) -> None:
    """Refuse `directed = true` for a file whose format has only edges. Raises `InputError`."""
    if directed:
        raise file.error("a graph in this format is undirected; remove directed = true")


def require_plausible(file: InputFile, n: int, line: int | None, size: int | None = None) -> None:
    """Refuse a number of vertices that no file of this size has, before anything is allocated for them.

    Parameters
    ----------
    size
        The size in bytes; by default that of the file.

    Raises
    ------
    InputError
        With file and line.
    """
    size = len(file.content) if size is None else size
    if not 0 <= n <= min(max(_SMALL_ORDER, size), LARGEST_ORDER):
        raise file.error(f"the header says {n} vertices, too many for {size} bytes; it may be damaged", line)


def require_count(file: InputFile, stated: int, count: int, what: str, line: int | None) -> None:
    """Refuse a file whose header gives another number of records than there are.

    Raises
    ------
    InputError
        With file and line of the header.
    """
    if stated != count:
        hint = "; it may be truncated" if count < stated else ""
        raise file.error(f"the header says {stated} {what}, but the file has {count}{hint}", line)


def header_numbers(file: InputFile, texts: list[str], line: int, example: str) -> list[int]:
    """Return the whole numbers of a header.

    Raises
    ------
    InputError
        One of them is not a whole number; the message says that the line should look like `example`.
    """
    for text in texts:
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
            raise file.error(f"expected {example}, found {shown(text)}", line)
    return [int(text) for text in texts]


def arc_lines(graph: Graph, prefix: str, chosen: NDArray[np.int64]) -> Iterator[str]:
    """Yield a line for each chosen arc: the prefix, the tail and the head from 1, the exact weight."""
    tails, heads, weights = graph.tails()[chosen] + 1, graph.heads[chosen] + 1, graph.weights[chosen]
    for tail, head, weight in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        yield f"{prefix}{tail} {head} {weight_text(weight, graph.scale)}"


def comment_lines(graph: Graph, prefix: str) -> list[str]:
    """Return the graph's name and comment as lines that begin with this prefix."""
    return [f"{prefix}{line}" for line in [graph.name, *graph.comment.splitlines()] if line.strip()]


def weight_text(weight: int | float, scale: int) -> str:
    """Return a weight in the unit of the input, as text that reads back exactly. Floats have scale 1."""
    return decimal(weight, scale) if isinstance(weight, int) else repr(weight)

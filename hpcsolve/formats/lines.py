"""Lines of numbers, read by whole arrays: what all text formats of graphs are made of.

A record is a line of numbers, perhaps behind a key of one letter (`a 1 2 803`). All the others (headers, comments) are
handed back as text. A piece of some MiB is taken at a time, so that temporary arrays stay small and in cache.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.base import Source, decode, words
from hpcsolve.problems.decimals import BadNumber, shown
from hpcsolve.problems.graph import LARGEST_ORDER
from hpcsolve.problems.weights import Weights, exact_weights

Numbers = NDArray[np.uint64] | NDArray[np.float64]

_PIECE = 1 << 22
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SMALL_ORDER = 1 << 20


@dataclass(frozen=True, eq=False)
class Records:
    """Records of one width.

    Attributes
    ----------
    columns
        One array a column: uint64 where it has nothing but digits (2 ** 64 - 1 stands for more), else float64.
    lines
        The line (from 1) of each record.
    others
        Number and text of each line that is no record, and not blank.
    """

    columns: tuple[Numbers, ...]
    lines: NDArray[np.int64]
    others: list[tuple[int, str]]


@dataclass(frozen=True, eq=False)
class Scan:
    """Where the words of a text stand.

    Attributes
    ----------
    starts, ends
        First byte of each word, and the one after its last.
    first, counts
        Of each line, the blank ones too: its first word's index, and the number of its words.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]


def read_records(source: Source, text: bytes, line: int, what: tuple[str, ...], key: bytes = b"") -> Records:
    """Read all records of a text.

    Parameters
    ----------
    source, line
        Of what file the text is a part, and on which of its lines it begins.
    what
        What the columns are, for messages: ("a vertex", "a weight").
    key
        The letter that a record begins with, in either case; without one every line that begins like a number is one.

    Raises
    ------
    InputError
        With file and line: a record that is too short or long, or has something else than numbers.
    """
    columns: list[list[Numbers]] = [[] for _ in what]
    lines: list[NDArray[np.int64]] = []
    others: list[tuple[int, str]] = []
    for piece in _pieces(text):
        table, numbers, rest = _read_piece(source, piece, line, what, key)
        for column, values in zip(columns, table.T, strict=True):
            column.append(np.ascontiguousarray(values))
        lines.append(numbers)
        others += rest
        line += piece.count(b"\n")
    joined = tuple(_joined(column) for column in columns)
    return Records(joined, np.concatenate(lines) if lines else np.empty(0, dtype=np.int64), others)


def scanned(text: NDArray[np.uint8]) -> Scan:
    """Find the words and lines of a text."""
    blank = np.ones(len(text) + 2, dtype=bool)
    np.less_equal(text, 32, out=blank[1:-1])
    starts = np.flatnonzero(blank[:-2] & ~blank[1:-1])
    ends = np.flatnonzero(blank[2:] & ~blank[1:-1]) + 1
    line_ends = np.flatnonzero(text == 10)
    if len(text) and text[-1] != 10:
        line_ends = np.append(line_ends, len(text))
    bounds = np.searchsorted(starts, line_ends)
    first = np.concatenate([[0], bounds[:-1]]) if len(bounds) else bounds
    return Scan(starts, ends, first, bounds - first)


def numbers_of(text: bytes, words: int, longest: int) -> Numbers | None:
    """All numbers of a text that should hold nothing else; None if it does.

    Parameters
    ----------
    words, longest
        How many words it has, and the length of the longest.
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
            values = np.fromstring(text, dtype=np.float64 if rest else np.int64, sep=" ") if words else np.empty(0)
        except (ValueError, DeprecationWarning):
            return None
    if len(values) != words:
        return None
    return values.astype(np.float64) if rest else values.astype(np.int64).view(np.uint64)


def positions_in(
    source: Source, values: Numbers, lines: NDArray[np.int64], n: int, first: int = 1
) -> NDArray[np.int64]:
    """A column of vertices as positions 0..n-1, given that the file counts them from `first`.

    Raises
    ------
    InputError
        With file and line: a vertex that is out of range, or no whole number.
    """
    wrong = (values < first) | (values >= n + first)
    if values.dtype.kind == "f":
        wrong |= np.floor(values) != values
    if wrong.any():
        index = int(np.argmax(wrong))
        what = f"vertex {values[index]:.16g}" if values.dtype.kind == "f" else f"vertex {values[index]}"
        raise source.error(f"{what} is out of range {first} to {n - 1 + first}", int(lines[index]))
    return values.astype(np.int64) - first


def weights_in(source: Source, values: Numbers, lines: NDArray[np.int64], n: int) -> tuple[Weights, int]:
    """A column of weights in its final form, and their scale.

    Raises
    ------
    InputError
        With file and line: a weight that is negative, infinite or too large.
    """
    try:
        return exact_weights(values, n)
    except BadNumber as problem:
        raise source.error(f"the weight {problem.reason}", int(lines[problem.index])) from None


def header_numbers(source: Source, words: list[str], line: int, example: str) -> list[int]:
    """Whole numbers of a header.

    Raises
    ------
    InputError
        One of them is none; `example` is how the line should look.
    """
    for word in words:
        if not re.fullmatch(r"\d{1,18}", word, re.ASCII):
            raise source.error(f"expected {example}, found {shown(word)}", line)
    return [int(word) for word in words]


def require_plausible(source: Source, n: int, line: int | None, size: int | None = None) -> None:
    """Refuse a number of vertices that no file of this size has, before anything is allocated for them.

    Parameters
    ----------
    size
        In bytes, default the file's.

    Raises
    ------
    InputError
        With file and line.
    """
    size = len(source.content) if size is None else size
    if not 0 <= n <= min(max(_SMALL_ORDER, size), LARGEST_ORDER):
        raise source.error(f"{n} vertices are promised, by {size} bytes; the header may be damaged", line)


def require_count(source: Source, promised: int, count: int, what: str, line: int | None) -> None:
    """Refuse a file that has another number of records than its header promises.

    Raises
    ------
    InputError
        With file and line of the header.
    """
    if promised != count:
        hint = "; it may be truncated" if count < promised else ""
        raise source.error(f"{promised} {what} are promised, the file has {count}{hint}", line)


def _pieces(text: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(text):
        end = text.find(b"\n", begin + _PIECE) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _joined(parts: list[Numbers]) -> Numbers:
    if not parts:
        return np.empty(0, dtype=np.uint64)
    if any(part.dtype.kind == "f" for part in parts):
        return np.concatenate([part.astype(np.float64) for part in parts])
    return cast(Numbers, np.concatenate(parts))


def _read_piece(
    source: Source, piece: bytes, line: int, what: tuple[str, ...], key: bytes
) -> tuple[NDArray[Any], NDArray[np.int64], list[tuple[int, str]]]:
    """The table of numbers, the line of each record, the other lines."""
    text = np.frombuffer(piece, dtype=np.uint8).copy()
    scan = scanned(text)
    rows = np.flatnonzero(scan.counts)
    begin = scan.starts[scan.first[rows]]
    chosen = _is_record(text, begin, scan.ends[scan.first[rows]] - begin, key)
    others = _taken_out(text, scan, rows[~chosen], line)
    rows, begin = rows[chosen], begin[chosen]
    if key:
        text[begin] = 32
    wrong = scan.counts[rows] != len(what) + len(key)
    if wrong.any():
        row = int(rows[np.argmax(wrong)])
        raise source.error(_wrong_width(piece, row, what, key), line + row)
    lengths = scan.ends - scan.starts
    values = numbers_of(text.tobytes(), len(what) * len(rows), int(lengths.max(initial=0)))
    if values is None:
        raise _bad_word(source, piece, rows, line, what, len(key))
    return values.reshape(-1, len(what)), rows + line, others


def _is_record(
    text: NDArray[np.uint8], begin: NDArray[np.int64], length: NDArray[np.int64], key: bytes
) -> NDArray[np.bool_]:
    head = text[begin]
    if key:
        head[length != 1] = 0
        return cast(NDArray[np.bool_], (head | 32) == ord(key.lower()))
    return np.isin(head, np.frombuffer(b"0123456789+-.", dtype=np.uint8))


def _taken_out(text: NDArray[np.uint8], scan: Scan, rows: NDArray[np.int64], line: int) -> list[tuple[int, str]]:
    """Number and text of those lines; blanks them in the text."""
    others = []
    last = scan.first[rows] + scan.counts[rows] - 1
    for row, begin, end in zip(rows, scan.starts[scan.first[rows]], scan.ends[last], strict=True):
        others.append((int(row) + line, decode(text[begin:end].tobytes())))
        text[begin:end] = 32
    return others


def _wrong_width(piece: bytes, row: int, what: tuple[str, ...], key: bytes) -> str:
    found = decode(piece.split(b"\n", row + 1)[row].strip())
    return f"expected {', '.join([*([decode(key)] if key else []), *what])}, found {shown(found)}"


def _bad_word(
    source: Source, piece: bytes, rows: NDArray[np.int64], line: int, what: tuple[str, ...], skip: int
) -> InputError:
    """The error of the first word that is no number."""
    texts = piece.split(b"\n")
    for row in rows:
        for column, word in enumerate(words(decode(texts[row]))[skip:]):
            if not NUMBER.fullmatch(word):
                return source.error(f"{what[column]} must be a number, found {shown(word)}", line + int(row))
    return source.error("holds something else than numbers", line)

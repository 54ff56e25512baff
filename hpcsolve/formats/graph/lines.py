"""Reads the lines of numbers that text formats of graphs consist of, as whole arrays.

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
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.problems.decimals import shown

Numbers = NDArray[np.uint64] | NDArray[np.float64]

_CHUNK = 1 << 22
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Records:
    """Records with the same number of columns, and the lines between them.

    Attributes
    ----------
    columns
        One array for each column: uint64 if it has only digits (2 ** 64 - 1 stands for all larger numbers), else
        float64.
    lines
        The line (from 1) of each record.
    others
        The number and text of each other line that is not blank.
    """

    columns: tuple[Numbers, ...]
    lines: NDArray[np.int64]
    others: list[tuple[int, str]]


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
    return Records(joined, np.concatenate(lines) if lines else np.empty(0, dtype=np.int64), others)


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


def _chunks(text: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(text):
        end = text.find(b"\n", begin + _CHUNK) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _joined(parts: list[Numbers]) -> Numbers:
    if not parts:
        return np.empty(0, dtype=np.uint64)
    if any(part.dtype.kind == "f" for part in parts):
        return np.concatenate([part.astype(np.float64) for part in parts])
    return cast(Numbers, np.concatenate(parts))


def _read_chunk(
    file: InputFile, chunk: bytes, line: int, what: tuple[str, ...], key: bytes
) -> tuple[NDArray[Any], NDArray[np.int64], list[tuple[int, str]]]:
    """Return the table of numbers, the line of each record, and the other lines."""
    text = np.frombuffer(chunk, dtype=np.uint8).copy()
    places = word_positions(text)
    rows = np.flatnonzero(places.counts)
    begin = places.starts[places.first[rows]]
    chosen = _is_record(text, begin, places.ends[places.first[rows]] - begin, key)
    others = _taken_out(text, places, rows[~chosen], line)
    rows, begin = rows[chosen], begin[chosen]
    if key:
        text[begin] = 32
    wrong = places.counts[rows] != len(what) + len(key)
    if wrong.any():
        row = int(rows[np.argmax(wrong)])
        raise file.error(_wrong_width(chunk, row, what, key), line + row)
    values = numbers_of(text.tobytes(), len(what) * len(rows), _longest_word(places, rows))
    if values is None:
        raise _bad_word(file, chunk, rows, line, what, len(key))
    return values.reshape(-1, len(what)), rows + line, others


def _is_record(
    text: NDArray[np.uint8], begin: NDArray[np.int64], length: NDArray[np.int64], key: bytes
) -> NDArray[np.bool_]:
    head = text[begin]
    if key:
        head[length != 1] = 0
        return cast(NDArray[np.bool_], (head | 32) == ord(key.lower()))
    return np.isin(head, np.frombuffer(b"0123456789+-.", dtype=np.uint8))


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


def _longest_word(places: WordPositions, rows: NDArray[np.int64]) -> int:
    """Return the length of the longest word of some lines, which all have the same number of words."""
    if not len(rows):
        return 0
    words = places.first[rows][:, None] + np.arange(places.counts[rows[0]])
    return int((places.ends[words] - places.starts[words]).max(initial=0))


def _wrong_width(chunk: bytes, row: int, what: tuple[str, ...], key: bytes) -> str:
    found = decode(chunk.split(b"\n", row + 1)[row].strip())
    return f"expected {', '.join([*([decode(key)] if key else []), *what])}, found {shown(found)}"


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

"""Opening input files: gz and xz by their first bytes, `-` for standard input, sizes bounded, errors in one line."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Generic, TypeVar

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import Tsp

MAXIMUM_BYTES = 4 * 2**30
"""Larger input is refused; it also bounds what a small compressed file may expand to."""

STANDARD_INPUT = "<stdin>"

_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\v\f\r")
_WORD = re.compile(r"[^ \t\n\v\f\r]+")

Problem = TypeVar("Problem")


@dataclass(frozen=True, eq=False)
class InstanceOf(Generic[Problem]):
    """A problem and where it came from.

    Attributes
    ----------
    path
        As given; "-" is standard input.
    sha256
        Of the file's own bytes (compressed, if it is).
    format
        "tsplib", "npy" or "text matrix"; of graphs "dimacs", "steinlib", "pace", "matrix market", "metis",
        "edge list" or "npz".
    """

    problem: Problem
    path: str
    sha256: str
    format: str


Instance = InstanceOf[Tsp]
"""A travelling salesman problem and where it came from."""

GraphInstance = InstanceOf[Graph]
"""A graph, perhaps with terminals, and where it came from."""


@dataclass(frozen=True)
class Source:
    """The content of an input file, decompressed.

    Attributes
    ----------
    name
        What messages call it: the path, or <stdin>.
    content
        Bytes; in `text_source`s with line ends of one newline, UTF-8, no byte order mark.
    """

    name: str
    content: bytes
    sha256: str

    @property
    def stem(self) -> str:
        """The file's name up to its first point, or nothing for standard input."""
        return "" if self.name == STANDARD_INPUT else PurePath(self.name).name.split(".")[0]

    def line(self, offset: int) -> int:
        """The line (from 1) that a byte is on."""
        return self.content.count(b"\n", 0, offset) + 1

    @property
    def first_line(self) -> int:
        """The number of the first line that is not blank."""
        return self.line(len(self.content) - len(self.content.lstrip()))

    @property
    def last_line(self) -> int:
        """The number of the last line that is not blank."""
        return self.line(len(self.content.rstrip()))

    def error(self, message: str, line: int | None = None) -> InputError:
        """An error of this file, to be raised."""
        return InputError(message, self.name, line)


def open_source(path: str) -> Source:
    """Read a file whole, decompressing gz and xz.

    Raises
    ------
    InputError
        It is missing, unreadable, a directory, damaged, empty or too large.
    """
    name = STANDARD_INPUT if path == "-" else path
    try:
        if path == "-":
            raw = _bounded(sys.stdin.buffer, name)
        else:
            with open(path, "rb") as file:
                raw = _bounded(file, name)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        raise InputError(f"cannot be read: {reason}", name) from None
    content = _decompressed(raw, name)
    if not content.strip():
        raise InputError("is empty", name)
    return Source(name, content, hashlib.sha256(raw).hexdigest())


def text_source(source: Source) -> Source:
    """The same source with plain newlines, UTF-8 and no byte order mark.

    Raises
    ------
    InputError
        At the first NUL byte or other control character: no text file has one (but for the Ctrl-Z at the end of some).
    """
    content = source.content
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", errors="replace").encode()
    content = content.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\x1a")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    result = Source(source.name, content, source.sha256)
    _refuse_control_characters(result)
    return result


def words(text: str) -> list[str]:
    """The words of a line: what stands between ASCII blanks; `str.split` knows more blanks than the formats do."""
    return _WORD.findall(text)


def decode(text: bytes) -> str:
    """Text of a name or comment: UTF-8, or Latin-1 as old files have it."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def suffix_of(path: str) -> str:
    """The lower-case suffix, without a compressor's: `.tsp` of `a.TSP.gz`."""
    found = re.search(r"(\.[a-z0-9]+)$", re.sub(r"\.(gz|xz)$", "", path.lower()))
    return found[1] if found else ""


def _refuse_control_characters(source: Source) -> None:
    if len(source.content.translate(None, _CONTROL)) == len(source.content):
        return
    found = re.search(b"[" + re.escape(_CONTROL) + b"]", source.content)
    assert found is not None
    name = "NUL byte" if found[0] == b"\0" else f"control character (0x{found[0].hex().upper()})"
    raise source.error(f"a {name}: the file is damaged, or not text", source.line(found.start()))


def _bounded(file: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    parts, total = [], 0
    while part := file.read(1 << 24):
        parts.append(part)
        total += len(part)
        if total > MAXIMUM_BYTES:
            raise InputError(f"holds more than {MAXIMUM_BYTES // 2**30} GiB", name)
    return b"".join(parts)


def _decompressed(raw: bytes, name: str) -> bytes:
    try:
        if raw.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(raw), "rb") as file:
                return _bounded(file, name)
        if raw.startswith(b"\xfd7zXZ\0"):
            with lzma.open(io.BytesIO(raw), "rb") as file:
                return _bounded(file, name)
        return raw
    except (OSError, EOFError, zlib.error, lzma.LZMAError, MemoryError) as problem:
        raise InputError(f"is damaged, it does not decompress: {problem}", name) from None

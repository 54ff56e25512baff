"""Opens input files (gz and xz too, `-` for standard input), and writes files either completely or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import re
import sys
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Any

from hpcsolve.errors import InputError, ResourceError
from hpcsolve.formats.spreadsheets import as_csv
from hpcsolve.memory import available_memory
from hpcsolve.replacing import write_bytes
from hpcsolve.wording import unreadable

MAXIMUM_BYTES = 4 * 2**30
"""Largest input in bytes, before and after decompression. A small compressed file may expand to no more than this."""
LARGEST_PART = 1 / 4
"""The content of an input may take this part of the free memory. Reading it takes several times as much."""

STANDARD_INPUT = "<stdin>"

_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\v\f\r")
_WORD = re.compile(r"[^ \t\n\v\f\r]+")
_SUFFIXES = re.compile(r"(?<=.)(\.[a-z][a-z0-9]*)?(\.(gz|xz))?$", re.IGNORECASE)
_EXCEL = re.compile(rb'"?sep=[,;|\t]?"?[,;\t]*(?=\n)', re.IGNORECASE)
"""The line with which Excel is told what separates the cells of a table."""


@dataclass(frozen=True)
class InputFile:
    """The content of an input file, decompressed.

    Attributes
    ----------
    name
        What messages call it: the path, or <stdin>.
    content
        The bytes. After `as_text` they are UTF-8 without a byte order mark, and each line ends with one newline.
    sha256
        SHA-256 of the file's own bytes (compressed, if it is).
    """

    name: str
    content: bytes
    sha256: str

    @property
    def stem(self) -> str:
        """The file's name without its suffix (`stem_of`), empty for standard input."""
        return "" if self.name == STANDARD_INPUT else stem_of(self.name)

    @property
    def suffix(self) -> str:
        """The suffix in lower case, without that of a compressor: `.tsp` for `a.TSP.gz`."""
        found = re.search(r"(\.[a-z0-9]+)$", re.sub(r"\.(gz|xz)$", "", self.name.lower()))
        return found[1] if found else ""

    @property
    def first_line(self) -> int:
        """The number of the first line that is not blank."""
        return self.line(len(self.content) - len(self.content.lstrip()))

    @property
    def last_line(self) -> int:
        """The number of the last line that is not blank."""
        return self.line(len(self.content.rstrip()))

    def line(self, offset: int) -> int:
        """Return the number (from 1) of the line that a byte is on."""
        return self.content.count(b"\n", 0, offset) + 1

    def parts(
        self, keyword: re.Pattern[bytes], begin: int = 0
    ) -> Iterator[tuple[int, re.Match[bytes] | None, int, int]]:
        """Yield each keyword with the number of its line, and the first and last byte (+ 1) of the text behind it.

        The first one is None, with the text from `begin` on that is above all keywords.
        """
        found, line, counted = None, 1, 0
        for following in (*keyword.finditer(self.content, begin), None):
            end = len(self.content) if following is None else following.start()
            yield line, found, begin, end
            if following is not None:
                line += self.content.count(b"\n", counted, end)
                found, counted, begin = following, end, following.end()

    def note_once(self, seen: dict[int, int], key: int, what: str, line: int) -> None:
        """Note the line of a key in `seen`. Raises `InputError`, which says `what` it is, if a line above has it."""
        if key in seen:
            raise self.error(f"{what} is given twice, first on line {seen[key]}", line)
        seen[key] = line

    def error(self, message: str, line: int | None = None) -> InputError:
        """Return an error whose message names this file (and line), for the caller to raise."""
        return InputError(message, self.name, line)

    def as_text(self) -> InputFile:
        """Return the file with plain newlines, in UTF-8, without a byte order mark, without the text of a line `sep=;`.

        Raises
        ------
        InputError
            The content has a NUL byte or another control character, which no text file has, apart from a final Ctrl-Z
            in old ones. The message names the line of the first.
        """
        content = self.content
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            content = content.decode("utf-16", errors="replace").encode()
        content = content.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\x1a")
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        excel = _EXCEL.match(content)
        if excel:
            content = content[excel.end() :]  # its line stays, blank, so that lines keep their numbers
        result = InputFile(self.name, content, self.sha256)
        result._refuse_control_characters()
        return result

    def _refuse_control_characters(self) -> None:
        if len(self.content.translate(None, _CONTROL)) == len(self.content):
            return
        found = re.search(b"[" + re.escape(_CONTROL) + b"]", self.content)
        assert found is not None
        name = "NUL byte" if found[0] == b"\0" else f"control character (0x{found[0].hex().upper()})"
        raise self.error(f"a {name}: the file is damaged, or not text", self.line(found.start()))

    def json(self) -> Any:
        """Return the content of a JSON file. Raises `InputError` with file and line."""
        try:
            return json.loads(decode(self.content), parse_constant=_refuse_constant)
        except json.JSONDecodeError as problem:
            raise self.error(f"is not JSON: {problem.msg}", problem.lineno) from None
        except (ValueError, RecursionError) as problem:  # NaN, thousands of digits, thousands of brackets
            what = "it is nested too deep" if isinstance(problem, RecursionError) else str(problem).split(";")[0]
            raise self.error(f"is not JSON that can be read: {what}", self.first_line) from None


def stem_of(path: str) -> str:
    """Return the name of a file without its suffix and that of a compressor: `n20w100.003` for `n20w100.003.txt.gz`.

    A number behind a dot is no suffix, since such files differ in it alone.
    """
    return _SUFFIXES.sub("", PurePath(path).name, count=1)


def open_file(path: str) -> InputFile:
    """Read a whole file, decompress it if it is gz or xz, and take the table of a spreadsheet as CSV.

    Raises
    ------
    InputError
        The file is missing, unreadable, a directory, damaged, empty or too large.
    ResourceError
        As `read_bounded`.
    """
    name = STANDARD_INPUT if path == "-" else path
    try:
        if path == "-":
            raw = read_bounded(sys.stdin.buffer, name)
        else:
            with open(path, "rb") as stream:
                raw = read_bounded(stream, name)
    except (OSError, ValueError) as problem:
        raise InputError(unreadable(path, problem), name) from None
    with memory_checked(name):
        content = as_csv(_decompressed(raw, name), name)
    if not content.strip():
        raise InputError("is empty", name)
    return InputFile(name, content, hashlib.sha256(raw).hexdigest())


@contextmanager
def memory_checked(name: str) -> Iterator[None]:
    """Raise a `ResourceError` that names the file if what its block reads does not fit in memory."""
    try:
        yield
    except MemoryError:
        raise ResourceError(f"{name}: reading it takes more memory than is free; read it where more is free") from None


def decode(text: bytes) -> str:
    """Return bytes of a name or comment as text. They are UTF-8, or Latin-1 in old files.

    Unicode has two ways to write some letters, such as an u with two dots. The text has the composed one (NFC), so that
    names that look the same are the same.
    """
    try:
        return unicodedata.normalize("NFC", text.decode())
    except UnicodeDecodeError:
        return text.decode("latin-1")


def words(text: str) -> list[str]:
    """Return the words of a text, which ASCII blanks separate."""
    # Not str.split, which splits at Unicode blanks too. No format means those as blanks.
    return _WORD.findall(text)


def write_text(text: str, path: str) -> None:
    """Write a text file completely or not at all, with the errors of `write_file`."""
    write_file(text.encode(), path)


def write_file(content: bytes, path: str) -> None:
    """Write a file completely or not at all.

    Parameters
    ----------
    path
        "-" is standard output.

    Raises
    ------
    EnvironmentFault
        The file cannot be written.
    """
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return
    write_bytes(Path(path), content)


def read_bounded(stream: IO[bytes] | gzip.GzipFile, name: str, already: int = 0) -> bytes:
    """Return all that a stream has, which may be a small file that expands to terabytes.

    Parameters
    ----------
    already
        Bytes that were read before from the same input, such as other members of an archive. They count towards the
        limits.

    Raises
    ------
    InputError
        It is more than any input may have.
    ResourceError
        It is more than `LARGEST_PART` of the free memory, in which it would have to be read.
    """
    free = available_memory() * LARGEST_PART
    whole = io.BytesIO()
    while part := stream.read(1 << 22):
        whole.write(part)
        size = already + whole.tell()
        if size > MAXIMUM_BYTES:
            raise InputError(f"holds more than {MAXIMUM_BYTES // 2**30} GiB", name)
        if size > free:
            what = f"holds more than {free / 2**20:.0f} MiB, {LARGEST_PART:.0%} of the free memory"
            raise ResourceError(f"{name}: {what}; read it where more is free")
    return whole.getvalue()


def _decompressed(raw: bytes, name: str) -> bytes:
    try:
        if raw.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(raw), "rb") as stream:
                return read_bounded(stream, name)
        if raw.startswith(b"\xfd7zXZ\0"):
            with lzma.open(io.BytesIO(raw), "rb") as stream:
                return read_bounded(stream, name)
        return raw
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as problem:
        raise InputError(f"is damaged and cannot be decompressed: {problem}", name) from None


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")

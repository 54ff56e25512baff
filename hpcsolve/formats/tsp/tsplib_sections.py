"""The parts of a TSPLIB file: its keywords with their values, and where its data sections begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.problems.decimals import shown
from hpcsolve.wording import did_you_mean, nearest

KEYS = (
    "NAME",
    "TYPE",
    "COMMENT",
    "DIMENSION",
    "CAPACITY",
    "EDGE_WEIGHT_TYPE",
    "EDGE_WEIGHT_FORMAT",
    "EDGE_DATA_FORMAT",
    "NODE_COORD_TYPE",
    "DISPLAY_DATA_TYPE",
)
SECTIONS = (
    "NODE_COORD_SECTION",
    "EDGE_WEIGHT_SECTION",
    "DISPLAY_DATA_SECTION",
    "TOUR_SECTION",
    "FIXED_EDGES_SECTION",
    "EDGE_DATA_SECTION",
    "DEMAND_SECTION",
    "DEPOT_SECTION",
)

# A line that begins with a letter is a keyword, unless it begins with the name of a number, as costs may be `inf`.
_KEYWORD = re.compile(rb"(?mi)^[ \t]*(?!(?:inf|infinity|nan)\b)([a-z]\w*)[ \t]*(:?)([^\n]*)$")
# Matches whatever is not a whole number of at most 18 digits between blanks.
_NOT_INTEGERS = re.compile(rb"[^\d\s+-]|\d[+-]|[+-](?!\d)|\d{19}")


@dataclass(frozen=True)
class KeyValue:
    """The value of a keyword, and the line that it stands on."""

    value: str
    line: int


@dataclass(frozen=True)
class TsplibSection:
    """A data section: `content[begin:end]` of the file, below its keyword on `line`."""

    name: str
    line: int
    begin: int
    end: int


@dataclass(frozen=True)
class TsplibParts:
    """The parts of a TSPLIB file, not interpreted yet.

    Attributes
    ----------
    keys
        The values by upper-case keyword; several comments are joined by newlines.
    """

    file: InputFile
    keys: dict[str, KeyValue]
    sections: dict[str, TsplibSection]

    def text(self, name: str) -> str:
        """Return the value of a keyword, empty if the file does not have it."""
        return self.keys[name].value if name in self.keys else ""

    def required(self, name: str, example: str) -> KeyValue:
        """Return the value of a keyword. Raises `InputError`, with an example line, if the file does not have it."""
        if name in self.keys and self.keys[name].value:
            return self.keys[name]
        close = nearest(name, [key for key in self.keys if key not in KEYS])
        if close:
            raise self.file.error(f"{close[0]} is not known; did you mean {name}?", self.keys[close[0]].line)
        line = min((section.line for section in self.sections.values()), default=self.file.last_line)
        line = self.keys[name].line if name in self.keys else line
        raise self.file.error(f"{name} is missing; add a line like `{name}: {example}`", line)

    def section(self, name: str) -> TsplibSection:
        """Return a section. Raises `InputError` if the file does not have it."""
        if name not in self.sections:
            raise self.file.error(f"{name} is missing; the file may be truncated", self.file.last_line)
        return self.sections[name]


def looks_like_tsplib(content: bytes) -> bool:
    """Return whether the first line that is not blank has a keyword of TSPLIB."""
    found = re.match(rb"\s*([A-Za-z_]+)[ \t]*(?::|\n|$)", content)
    return found is not None and found[1].decode().upper() in (*KEYS, *SECTIONS)


def parts_of(file: InputFile) -> TsplibParts:
    """Return all keywords and sections, up to EOF or the end of the file.

    Raises
    ------
    InputError
        A keyword or section is given twice, a section is unknown, or a line is neither a keyword nor in a section.
    """
    keys: dict[str, KeyValue] = {}
    sections: dict[str, TsplibSection] = {}
    open_section: tuple[str, int, int] | None = None
    counted, line, after = 0, 1, 0
    for found in _KEYWORD.finditer(file.content):
        line += file.content.count(b"\n", counted, found.start())
        counted = found.start()
        _close(file, sections, open_section, after, found.start())
        open_section, after = None, found.end()
        word = found[1].decode().upper()
        if word == "EOF":
            return TsplibParts(file, keys, sections)
        if word in SECTIONS or word.endswith("_SECTION"):
            _require_known(file, word, found[3], line, sections)
            open_section = (word, line, found.end())
        else:
            if not found[2] and word not in KEYS:
                raise file.error(f"neither a number nor a keyword: {shown(decode(found[0]).strip())}", line)
            _add_key(file, keys, word, decode(found[3]).strip(), line)
    _close(file, sections, open_section, after, len(file.content))
    return TsplibParts(file, keys, sections)


def integers_only(text: bytes) -> bool:
    """Return whether a text has only whole numbers that fit 64 bits."""
    return _NOT_INTEGERS.search(text) is None


def lines_of(parts: TsplibParts, section: TsplibSection) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line of a section that is not blank."""
    text = decode(parts.file.content[section.begin : section.end])
    for number, line in enumerate(text.split("\n"), start=section.line):
        found = words(line)
        if found:
            yield number, found


def line_of_word(parts: TsplibParts, section: TsplibSection, index: int) -> int:
    """Return the line of the word with an index (from 0) in a section."""
    line = section.line
    for line, found in lines_of(parts, section):
        index -= len(found)
        if index < 0:
            return line
    return line


def dimension_of(parts: TsplibParts) -> int:
    """Return the number of cities by the key DIMENSION. Raises `InputError` with file and line if there is none."""
    key = parts.required("DIMENSION", "42")
    n = integer_of(key.value)
    if n is None or n < 1:
        raise parts.file.error(f"DIMENSION is {shown(key.value)}; it must be the number of cities", key.line)
    return n


def label_of(parts: TsplibParts, word: str, line: int) -> int:
    """Return a word as a city's number. Raises `InputError` with file and line if it is not a number of at least 0."""
    label = integer_of(word)
    if label is None:
        raise parts.file.error(f"a city's number must be a whole number, found {shown(word)}", line)
    if label < 0:
        raise parts.file.error(f"city number {label} is out of range; it must not be negative", line)
    return label


def integer_of(word: str) -> int | None:
    """Return a whole number of at most 18 digits, or None if a word is something else."""
    digits = word[1:] if word[:1] in ("+", "-") else word
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def _close(
    file: InputFile, sections: dict[str, TsplibSection], begun: tuple[str, int, int] | None, after: int, end: int
) -> None:
    """End the open section before a keyword. Where no section is open, refuse all but blanks."""
    if begun is not None:
        sections[begun[0]] = TsplibSection(*begun, end)
        return
    stray = re.compile(rb"\S[^\n]*").search(file.content, after, end)
    if stray is not None:
        message = f"neither a keyword nor in a section: {shown(decode(stray[0]))}"
        raise file.error(message, file.line(stray.start()))


def _require_known(file: InputFile, word: str, rest: bytes, line: int, sections: dict[str, TsplibSection]) -> None:
    if word in sections:
        raise file.error(f"{word} is given twice, first on line {sections[word].line}", line)
    if word not in SECTIONS:
        raise file.error(f"unknown section {word}{did_you_mean(word, SECTIONS)}", line)
    if rest.strip(b" \t:"):
        raise file.error(f"{shown(decode(rest).strip())} after {word}; data begin on the next line", line)


def _add_key(file: InputFile, keys: dict[str, KeyValue], word: str, value: str, line: int) -> None:
    if word == "COMMENT" and word in keys:
        keys[word] = KeyValue(keys[word].value + "\n" + value, keys[word].line)
    elif word in keys:
        raise file.error(f"{word} is given twice, first on line {keys[word].line}", line)
    else:
        keys[word] = KeyValue(value, line)

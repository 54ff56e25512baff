"""The skeleton of a TSPLIB file: its keys and values, and where its data sections begin and end."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hpcsolve.formats.base import Source, decode, words
from hpcsolve.problems.decimals import shown

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

# A line that begins with a letter is a keyword, but for numbers' names in a section of costs.
_KEYWORD = re.compile(rb"(?mi)^[ \t]*(?!(?:inf|infinity|nan)\b)([a-z]\w*)[ \t]*(:?)([^\n]*)$")
# Whatever makes a text other than whole numbers of at most 18 digits between blanks.
_NOT_INTEGERS = re.compile(rb"[^\d\s+-]|\d[+-]|[+-](?!\d)|\d{19}")


@dataclass(frozen=True)
class Key:
    """The value of a keyword, and its line."""

    value: str
    line: int


@dataclass(frozen=True)
class Section:
    """A data section: its bytes are `content[begin:end]` of the source, its keyword stands on `line`."""

    name: str
    line: int
    begin: int
    end: int


@dataclass(frozen=True)
class TsplibFile:
    """A TSPLIB file taken apart; nothing is interpreted yet.

    Attributes
    ----------
    keys
        By upper-case keyword; comments joined by newlines.
    """

    source: Source
    keys: dict[str, Key]
    sections: dict[str, Section]

    def text(self, name: str) -> str:
        """A key's value, or nothing."""
        return self.keys[name].value if name in self.keys else ""

    def required(self, name: str, example: str) -> Key:
        """A key that must be there."""
        if name in self.keys and self.keys[name].value:
            return self.keys[name]
        close = difflib.get_close_matches(name, [key for key in self.keys if key not in KEYS], n=1)
        if close:
            raise self.source.error(f"{close[0]} is not known and {name} is missing", self.keys[close[0]].line)
        line = min((section.line for section in self.sections.values()), default=self.source.last_line)
        line = self.keys[name].line if name in self.keys else line
        raise self.source.error(f"{name} is missing; add a line like `{name}: {example}`", line)

    def section(self, name: str) -> Section:
        """A section that must be there."""
        if name not in self.sections:
            raise self.source.error(f"{name} is missing; the file may be truncated", self.source.last_line)
        return self.sections[name]


def looks_like_tsplib(content: bytes) -> bool:
    """Whether the first line that is not blank is a keyword of TSPLIB."""
    found = re.match(rb"\s*([A-Za-z_]+)[ \t]*(?::|\n|$)", content)
    return found is not None and found[1].decode().upper() in (*KEYS, *SECTIONS)


def take_apart(source: Source) -> TsplibFile:
    """Find all keywords and sections, up to EOF or the end of the file.

    Raises
    ------
    InputError
        A keyword or section twice, an unknown section, a line that is neither a keyword nor in a section.
    """
    keys: dict[str, Key] = {}
    sections: dict[str, Section] = {}
    open_section: tuple[str, int, int] | None = None
    counted, line, after = 0, 1, 0
    for found in _KEYWORD.finditer(source.content):
        line += source.content.count(b"\n", counted, found.start())
        counted = found.start()
        _close(source, sections, open_section, after, found.start())
        open_section, after = None, found.end()
        word = found[1].decode().upper()
        if word == "EOF":
            return TsplibFile(source, keys, sections)
        if word in SECTIONS or word.endswith("_SECTION"):
            _require_known(source, word, found[3], line, sections)
            open_section = (word, line, found.end())
        else:
            if not found[2] and word not in KEYS:
                raise source.error(f"not a number, nor a keyword: {shown(decode(found[0]).strip())}", line)
            _add_key(source, keys, word, decode(found[3]).strip(), line)
    _close(source, sections, open_section, after, len(source.content))
    return TsplibFile(source, keys, sections)


def integers_only(text: bytes) -> bool:
    """Whether a text is nothing but whole numbers that fit 64 bits."""
    return _NOT_INTEGERS.search(text) is None


def lines_of(file: TsplibFile, section: Section) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line of a section that is not blank."""
    text = decode(file.source.content[section.begin : section.end])
    for number, line in enumerate(text.split("\n"), start=section.line):
        found = words(line)
        if found:
            yield number, found


def line_of_word(file: TsplibFile, section: Section, index: int) -> int:
    """The line on which a section's word of that index (from 0) stands."""
    line = section.line
    for line, found in lines_of(file, section):
        index -= len(found)
        if index < 0:
            return line
    return line


def _close(
    source: Source, sections: dict[str, Section], begun: tuple[str, int, int] | None, after: int, end: int
) -> None:
    """End the open section before a keyword; without one, nothing but blanks may stand there."""
    if begun is not None:
        sections[begun[0]] = Section(*begun, end)
        return
    stray = re.compile(rb"\S[^\n]*").search(source.content, after, end)
    if stray is not None:
        message = f"neither a keyword nor in a section: {shown(decode(stray[0]))}"
        raise source.error(message, source.line(stray.start()))


def _require_known(source: Source, word: str, rest: bytes, line: int, sections: dict[str, Section]) -> None:
    if word in sections:
        raise source.error(f"{word} for the second time; it began on line {sections[word].line}", line)
    if word not in SECTIONS:
        close = difflib.get_close_matches(word, SECTIONS, n=1)
        raise source.error(f"unknown section {word}" + (f", did you mean {close[0]}?" if close else ""), line)
    if rest.strip(b" \t:"):
        raise source.error(f"{shown(decode(rest).strip())} after {word}; data begin on the next line", line)


def _add_key(source: Source, keys: dict[str, Key], word: str, value: str, line: int) -> None:
    if word == "COMMENT" and word in keys:
        keys[word] = Key(keys[word].value + "\n" + value, keys[word].line)
    elif word in keys:
        raise source.error(f"{word} for the second time; it stands on line {keys[word].line} already", line)
    else:
        keys[word] = Key(value, line)

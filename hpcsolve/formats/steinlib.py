"""SteinLib (`.stp`) and PACE 2018 (`.gr`): Steiner problems in undirected graphs, in sections.

Source: T. Koch, A. Martin, S. Voss, SteinLib, description of the STP format. Keywords in any case, `#` begins a
comment, ids count from 1; sections other than Graph, Terminals, Coordinates and Comment are skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.base import Source, decode, words
from hpcsolve.formats.lines import (
    Records,
    header_numbers,
    positions_in,
    read_records,
    require_count,
    require_plausible,
    weights_in,
)
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled

_KEYWORD = re.compile(rb"(?mi)^[ \t]*(?:section[ \t]+(\S[^\n]*)|(end|eof)[ \t]*(?:#[^\n]*)?)$")
_MAGIC = re.compile(rb"(?i)\s*33D32945[ \t]+STP[^\n]*")


@dataclass(frozen=True)
class Section:
    """The text between a section's first and last line; its first line is number `line`."""

    text: bytes
    line: int


def looks_like_steinlib(content: bytes) -> bool:
    """Whether the file begins with SteinLib's magic line or with a section."""
    return re.match(rb"(?i)\s*(33D32945\b|section[ \t]+\w)", content) is not None


def has_magic(content: bytes) -> bool:
    """Whether the first line is SteinLib's; PACE's files have none."""
    return _MAGIC.match(content) is not None


def read_steinlib(source: Source) -> Graph:
    """Read graph, terminals, and coordinates if every vertex has them.

    Raises
    ------
    InputError
        With file and line; directed and prize-collecting problems by name.
    """
    sections = _sections(source)
    for name in ("graph", "terminals"):
        if name not in sections:
            raise source.error(f"SECTION {name.capitalize()} is missing; the file may be truncated", source.last_line)
    graph = sections["graph"]
    what = ("a vertex", "a vertex", "a weight")
    records = read_records(source, _without_comments(graph.text), graph.line, what, b"e")
    n = _order(source, records, graph.line - 1)
    tails, heads = (positions_in(source, column, records.lines, n) for column in records.columns[:2])
    weights, scale = weights_in(source, records.columns[2], records.lines, n)
    terminals = _terminals(source, sections["terminals"], n)
    comment = sections.get("comment")
    return assembled(
        source.stem or "graph", n, tails, heads, weights, directed=False, scale=scale, labels=np.arange(1, n + 1),
        terminals=terminals, coordinates=_coordinates(source, sections.get("coordinates"), n),
        comment=decode(comment.text).strip() if comment else "",
    )  # fmt: skip


def _sections(source: Source) -> dict[str, Section]:
    """Each section by its lower-case name, up to EOF or the end of the file; one may end where the next begins."""
    sections: dict[str, Section] = {}
    content = source.content
    magic = _MAGIC.match(content)
    name, begin = "", 0 if magic is None else magic.end()
    line, opened, counted = 1, 0, 0
    for found in _KEYWORD.finditer(content, begin):
        line += content.count(b"\n", counted, found.start())
        counted = found.start()
        _close(source, sections, name, opened, begin, found.start())
        word = (found[2] or b"").lower()
        if word == b"eof":
            return sections
        name = "" if word else " ".join(decode(found[1]).split("#")[0].lower().split())
        begin, opened = min(found.end() + 1, len(content)), line
        if name in sections:
            raise source.error(f"SECTION {name.capitalize()} for the second time", line)
    _close(source, sections, name, opened, begin, len(content))
    return sections


def _close(source: Source, sections: dict[str, Section], name: str, opened: int, begin: int, end: int) -> None:
    text = source.content[begin:end]
    if name:
        sections[name] = Section(text, opened + 1)
        return
    stray = _without_comments(text).split()
    if stray:
        message = f"neither SECTION nor in a section: {shown(decode(stray[0]))}"
        raise source.error(message, source.line(begin + text.index(stray[0])))


def _without_comments(text: bytes) -> bytes:
    return re.sub(rb"#[^\n]*", b"", text) if b"#" in text else text


def _order(source: Source, records: Records, line: int) -> int:
    """The number of vertices, by the keys of the Graph section; its number of edges must be right."""
    keys: dict[str, tuple[int, int]] = {}
    for number, text in records.others:
        key, *rest = words(text.lower())
        if key in ("a", "arcs"):
            message = "arcs (A) are directed; only Steiner problems in undirected graphs, with edges (E), are read"
            raise source.error(message, number)
        if key in ("nodes", "edges") and len(rest) == 1:
            if key in keys:
                raise source.error(f"{key.capitalize()} for the second time", number)
            keys[key] = (header_numbers(source, rest, number, f"`{key.capitalize()} NUMBER`")[0], number)
        elif key not in ("optimal", "obstacles", "name", "remark"):
            raise source.error(f"expected Nodes, Edges or an edge (E), found {shown(text)}", number)
    for key in ("nodes", "edges"):
        if key not in keys:
            raise source.error(f"SECTION Graph has no line `{key.capitalize()} NUMBER`", line)
    require_plausible(source, *keys["nodes"])
    require_count(source, keys["edges"][0], len(records.lines), "edges", keys["edges"][1])
    return keys["nodes"][0]


def _terminals(source: Source, section: Section, n: int) -> NDArray[np.int64]:
    records = read_records(source, _without_comments(section.text), section.line, ("a vertex",), b"t")
    promised: tuple[int, int] | None = None
    for line, text in records.others:
        key, *rest = words(text.lower())
        if key != "terminals" or len(rest) != 1 or promised:
            _refuse_variant(source, text, line)
        promised = (header_numbers(source, rest, line, "`Terminals NUMBER`")[0], line)
    if promised is None:
        raise source.error("SECTION Terminals has no line `Terminals NUMBER`", section.line - 1)
    require_count(source, promised[0], len(records.lines), "terminals", promised[1])
    if not len(records.lines):
        raise source.error("no terminals; a Steiner problem has at least one", promised[1])
    return positions_in(source, records.columns[0], records.lines, n)


def _refuse_variant(source: Source, text: str, line: int) -> NoReturn:
    key = words(text)[0]
    variants = {"tp": "prize-collecting", "rootp": "rooted prize-collecting", "root": "rooted", "tg": "group"}
    variant = variants.get(key.lower())
    if variant:
        raise source.error(f"{shown(key)}: this is a {variant} Steiner problem, which is not solved", line)
    raise source.error(f"expected Terminals or a terminal (T), found {shown(text)}", line)


def _coordinates(source: Source, section: Section | None, n: int) -> NDArray[np.float64] | None:
    """Shape (n, 2 or 3), or None if a vertex has none: they serve the order in memory and drawings alone."""
    if section is None:
        return None
    text = re.sub(rb"(?mi)^[ \t]*D{1,3}(?=[ \t])", b"", _without_comments(section.text))
    axes = max(len(text.lstrip().split(b"\n", 1)[0].split()) - 1, 1)
    if axes > 3:
        raise source.error("expected D, a vertex and one to three coordinates", section.line)
    what = ("a vertex", *["a coordinate"] * axes)
    records = read_records(source, text, section.line, what)
    for line, other in records.others:
        raise source.error(f"expected D, a vertex and coordinates, found {shown(other)}", line)
    vertices = positions_in(source, records.columns[0], records.lines, n)
    points = np.full((n, axes), np.nan)
    points[vertices] = np.stack([column.astype(np.float64) for column in records.columns[1:]], axis=1)
    return points if axes > 1 and np.isfinite(points).all() else None

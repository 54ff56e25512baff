"""SteinLib files: Steiner problems in undirected graphs, in the sections that files of PACE 2018 have too.

Source: T. Koch, A. Martin, S. Voss, SteinLib, description of the STP format. Keywords in any case, `#` begins a
comment, ids count from 1. A tree decomposition changes nothing and is skipped, as are notes on reductions (Presolve)
that have fixed no cost. All other sections, such as NodeWeights, change the problem, and are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats import records
from hpcsolve.formats.files import InputFile, decode, words, write_text
from hpcsolve.formats.tables import shortest
from hpcsolve.problems.graph import Graph
from hpcsolve.wording import not_solved, shown

_READ = ("graph", "terminals", "coordinates", "comment")
_SKIPPED = ("presolve", "tree decomposition")
_VARIANTS = {"tp": "prize-collecting", "rootp": "rooted prize-collecting", "root": "rooted", "tg": "group"}
_KEYWORD = re.compile(rb"(?mi)^[ \t]*(?:section[ \t]+(\S[^\n]*)|(end|eof)[ \t]*(?:#[^\n]*)?)$")
_FIRST_LINE = re.compile(rb"(?i)\s*33D32945\b[^\n]*")
_FIXED_COST = re.compile(rb"(?mi)^[ \t]*fixed\b[ \t]*([^\n]*)$")


@dataclass(frozen=True)
class SteinlibSection:
    """A section: its name, the text between its first and last line, and the number of the line where that begins."""

    title: str
    text: bytes
    line: int


def looks_like_steinlib(content: bytes) -> bool:
    """Return whether the file begins with the number that every SteinLib file begins with."""
    return _FIRST_LINE.match(content) is not None


def begins_with_section(content: bytes) -> bool:
    """Return whether the file begins with a section, as the files of PACE 2018 do."""
    return re.match(rb"(?i)\s*section[ \t]+\w", content) is not None


def read_steinlib(file: InputFile, directed: bool | None = None) -> Graph:
    """Return the graph with its terminals, and with coordinates if every vertex has them.

    Raises
    ------
    InputError
        With file and line: what is wrong, or that the problem is directed or prize-collecting, or another one by a
        section of its own.
    """
    records.require_undirected(file, directed)
    sections = _sections(file)
    _require_plain_problem(file, sections)
    for name in ("graph", "terminals"):
        if name not in sections:
            raise file.error(f"SECTION {name.capitalize()} is missing; the file may be truncated", file.last_line)
    graph = sections["graph"]
    what = ("a vertex", "a vertex", "a weight")
    body = records.read_records(file, _without_comments(graph.text), graph.line, what, b"e")
    n = _vertex_count(file, body, graph.line - 1)
    comment = decode(sections["comment"].text).strip() if "comment" in sections else ""
    found = body.graph(n, directed=False, comment=comment)
    found = found.with_terminals_at(_terminals(file, sections["terminals"], n))
    return replace(found, coordinates=_coordinates(file, sections.get("coordinates"), n))


def write_steinlib(graph: Graph, path: str) -> None:
    """Write a Steiner problem as `.stp`.

    Raises
    ------
    InputError
        The graph is directed, or has no terminals.
    EnvironmentFault
        The file cannot be written.
    """
    if graph.directed or graph.terminals is None:
        raise InputError("a Steiner problem is an undirected graph with terminals", graph.name)
    once, coordinates = graph.once(), []
    if graph.coordinates is not None:
        points = enumerate(graph.coordinates.tolist(), start=1)
        coordinates = [f"{'D' * len(point)} {vertex} {' '.join(map(shortest, point))}" for vertex, point in points]
        coordinates = ["SECTION Coordinates", *coordinates, "END", ""]
    lines = chain(
        ["33D32945 STP File, STP Format Version 1.0", "", "SECTION Graph", f"Nodes {graph.n}", f"Edges {graph.edges}"],
        records.arc_lines(graph, "E ", once),
        ["END", "", "SECTION Terminals", f"Terminals {len(graph.terminals)}"],
        (f"T {position + 1}" for position in graph.terminals.tolist()),
        ["END", ""],
        coordinates,
        ["EOF", ""],
    )
    write_text("\n".join(lines), path)


def _sections(file: InputFile) -> dict[str, SteinlibSection]:
    """Return the sections by their names in lower case, up to EOF or the end of the file. END may be missing."""
    sections: dict[str, SteinlibSection] = {}
    magic = _FIRST_LINE.match(file.content)
    for line, found, begin, end in file.parts(_KEYWORD, 0 if magic is None else magic.end()):
        if found is not None and (found[2] or b"").lower() == b"eof":
            break
        title = " ".join(words(decode(found[1]).split("#")[0])) if found is not None and found[1] else ""
        if title.lower() in sections:
            raise file.error(f"SECTION {title} is given twice", line)
        if title:
            sections[title.lower()] = SteinlibSection(title, file.content[begin + 1 : end], line + 1)
            continue
        text = file.content[begin:end]
        stray = _without_comments(text).split()
        if stray:
            message = f"text outside of a section: {shown(decode(stray[0]))}"
            raise file.error(message, file.line(begin + text.index(stray[0])))
    return sections


def _require_plain_problem(file: InputFile, sections: dict[str, SteinlibSection]) -> None:
    """Refuse sections that make another problem of a file: unknown ones, and reductions with a fixed cost."""
    for name, section in sections.items():
        if name not in (*_READ, *_SKIPPED):
            what = not_solved(section.title) or "it may change the problem, and hpcsolve does not know it"
            message = f"SECTION {shown(section.title)}: {what}"
            raise file.error(f"{message}; remove it only if the answer may ignore it", section.line - 1)
    presolve = sections.get("presolve")
    for found in _FIXED_COST.finditer(_without_comments(presolve.text) if presolve else b""):
        cost = decode(found[1]).strip()
        if not records.NUMBER.fullmatch(cost) or float(cost):
            assert presolve is not None
            message = f"SECTION Presolve: reductions fixed a cost of {shown(cost)}, which a tree here would not count"
            line = presolve.line + presolve.text.count(b"\n", 0, found.start())
            raise file.error(f"{message}; give the file from before the reductions", line)


def _without_comments(text: bytes) -> bytes:
    return re.sub(rb"#[^\n]*", b"", text) if b"#" in text else text


def _vertex_count(file: InputFile, body: records.Records, line: int) -> int:
    """Return the number of vertices that the Graph section states, after a check of its number of edges."""
    keys: dict[str, tuple[int, int]] = {}
    for number, text in body.others:
        key, *rest = words(text.lower())
        if key in ("a", "arcs"):
            message = "arcs (A) are directed; only Steiner problems in undirected graphs, with edges (E), are read"
            raise file.error(message, number)
        if key in ("nodes", "edges") and len(rest) == 1:
            if key in keys:
                raise file.error(f"{key.capitalize()} is given twice", number)
            keys[key] = (records.header_numbers(file, rest, number, f"`{key.capitalize()} NUMBER`")[0], number)
        elif key not in ("optimal", "obstacles", "name", "remark"):
            raise file.error(f"expected Nodes, Edges or an edge (E), found {shown(text)}", number)
    for key in ("nodes", "edges"):
        if key not in keys:
            raise file.error(f"SECTION Graph has no line `{key.capitalize()} NUMBER`", line)
    records.require_plausible(file, *keys["nodes"])
    body.require_count(keys["edges"][0], "edges", keys["edges"][1])
    return keys["nodes"][0]


def _terminals(file: InputFile, section: SteinlibSection, n: int) -> NDArray[np.int64]:
    body = records.read_records(file, _without_comments(section.text), section.line, ("a vertex",), b"t")
    stated: tuple[int, int] | None = None
    for line, text in body.others:
        key, *rest = words(text.lower())
        if variant := _VARIANTS.get(key):
            what = f"a {variant} Steiner problem, which hpcsolve does not solve"
            raise file.error(f"{shown(words(text)[0])}: {what}", line)
        if key != "terminals":
            raise file.error(f"expected Terminals or a terminal (T), found {shown(text)}", line)
        if stated:
            raise file.error("Terminals is given twice", line)
        if len(rest) != 1:
            raise file.error(f"expected `Terminals NUMBER`, found {shown(text)}", line)
        stated = (records.header_numbers(file, rest, line, "`Terminals NUMBER`")[0], line)
    if stated is None:
        raise file.error("SECTION Terminals has no line `Terminals NUMBER`", section.line - 1)
    body.require_count(stated[0], "terminals", stated[1])
    if not len(body.lines):
        raise file.error("there are no terminals; a Steiner problem has at least one", stated[1])
    return body.positions(0, n)


def _coordinates(file: InputFile, section: SteinlibSection | None, n: int) -> NDArray[np.float64] | None:
    """Return the coordinates, shape (n, 2 or 3), or None if a vertex has none.

    Missing ones are no error, since only drawings and the order in memory depend on coordinates.
    """
    if section is None:
        return None
    text = re.sub(rb"(?mi)^[ \t]*D{1,3}(?=[ \t])", b"", _without_comments(section.text))
    axes = max(len(text.lstrip().split(b"\n", 1)[0].split()) - 1, 1)
    if axes > 3:
        raise file.error("expected D, a vertex and one to three coordinates", section.line)
    what = ("a vertex", *["a coordinate"] * axes)
    body = records.read_records(file, text, section.line, what)
    for line, other in body.others:
        raise file.error(f"expected D, a vertex and coordinates, found {shown(other)}", line)
    vertices = body.positions(0, n)
    points = np.full((n, axes), np.nan)
    points[vertices] = np.stack([column.astype(np.float64) for column in body.columns[1:]], axis=1)
    return points if axes > 1 and np.isfinite(points).all() else None

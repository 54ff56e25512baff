"""Writes answers as files for other programs: `hpcsolve export`. The file's suffix names the format (`EXPORTERS`).

CSV has the rows that `Result.to_pandas` has: a header with the names of the columns, then a line for each row.

GeoJSON (RFC 7946) has lines in longitude and latitude, in decimal degrees of WGS 84. A line that crosses the 180th
meridian is cut there, as the RFC asks, since maps would draw it around the globe.

The other formats are those of their fields: TSPLIB's tours, the trees of PACE 2018, Graphviz's DOT.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers import answer_in
from hpcsolve.answers.base import Rows
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tree import TREE
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats.pace import steiner_solution_lines
from hpcsolve.formats.tables import csv_line, harmless, shortest
from hpcsolve.formats.tsplib_write import tour_lines
from hpcsolve.output.schema import require_whole
from hpcsolve.replacing import replacing
from hpcsolve.wording import visible


def export(contents: Contents, source: str, path: str, number: int | None = None) -> None:
    """Write the answer of a result in the format that the suffix of `path` names. An existing file is replaced.

    Parameters
    ----------
    source
        The result file, for messages.
    number
        The number of the search or query, from 0, for formats that have one of them.

    Raises
    ------
    InputError
        There is no such format, or the answer cannot be written in it.
    DamagedFileError
        The answer does not fit the instance.
    EnvironmentFault
        The file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in EXPORTERS:
        known = ", ".join(EXPORTERS)
        raise InputError(f"{path}: no format has the suffix {suffix!r}; there are {known}")
    pieces = EXPORTERS[suffix].checked_pieces(contents, source, number)
    with replacing(Path(path)) as part, open(part, "x", encoding="utf-8", newline="") as file:
        file.writelines(pieces)


@dataclass(frozen=True)
class Exporter:
    """A format that answers are written in.

    Attributes
    ----------
    name
        As messages and documents call it.
    refusal
        Returns why an answer cannot be written in this format, given the contents of the result, or None if it can.
    pieces
        Yields the text of the file, given the contents and the number of a search or query (None: the only one).
    """

    name: str
    refusal: Callable[[Contents], str | None]
    pieces: Callable[[Contents, int | None], Iterator[str]]

    def checked_pieces(self, contents: Contents, source: str, number: int | None = None) -> Iterator[str]:
        """Yield the text of an answer in a format. Raises as `export`, on the first piece."""
        reason = self.refusal(contents)
        if reason is not None:
            able = [suffix for suffix, other in EXPORTERS.items() if other.refusal(contents) is None]
            way_out = f"hpcsolve export can write it as {', '.join(able)}" if able else "there is nothing to write"
            raise InputError(f"{source}: {reason}; {way_out}")
        try:
            yield from self.pieces(contents, number)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise DamagedFileError(f"{source}: damaged: the answer does not fit the instance: {error}") from None


def no_tour(contents: Contents) -> str | None:
    """Return why an answer has neither rows nor edges, or None if it has some."""
    return "the answer states that there is no tour" if contents.value("solution", "infeasible") else None


def csv_lines(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield the header, then blocks of lines. Unreached vertices and missing values are empty, paths are JSON lists."""
    header: list[str] = []
    for block in require_whole(contents).rows(contents):
        if not header:
            header = list(block)
            yield csv_line(map(cell, header))
        yield "".join(csv_line(map(cell, row.values())) for row in records(block))


def records(block: Rows) -> Iterator[dict[str, Any]]:
    """Yield the rows of a block with Python's own types. Infinities and NaN are None."""
    for values in zip(*(column.tolist() for column in block.values())):
        yield {name: None if isinstance(value, float) and not math.isfinite(value) else value
               for name, value in zip(block, values)}


def cell(value: Any) -> str:
    """Return a value as the text of a cell, a name so that no spreadsheet takes it for a formula."""
    if value is None:
        return ""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, float):
        return shortest(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


Feature = dict[str, Any]
Points = NDArray[np.float64]
"""Shape (points, 2): longitudes and latitudes."""


def no_lines(contents: Contents) -> str | None:
    """Return why an answer cannot be placed on the globe, or None if it can."""
    kind = require_whole(contents)
    if no_tour(contents) or "lon" in contents.coordinates():
        return no_tour(contents) or (None if kind.name in FEATURES else f"{kind.in_words} have no map of their own")
    if not contents.coordinates():
        return "the instance has no coordinates"
    if contents.value("instance", "coordinates_kind") is None:
        return "the file does not say whether its coordinates are latitudes and longitudes (run its job again for that)"
    return "its coordinates are not latitudes and longitudes, which GeoJSON needs"


def features(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a collection of features: lines of a tour, tree or paths, and points of cities, terminals or vertices."""
    places = contents.coordinates()
    points = np.stack([places["lon"], places["lat"]], axis=1)
    before = '{"type": "FeatureCollection", "features": [\n'
    for feature in FEATURES[require_whole(contents).name](contents, points):
        yield before + visible(json.dumps(feature, ensure_ascii=False))
        before = ",\n"
    yield (before if before.startswith("{") else "") + "\n]}\n"


def _tour(contents: Contents, points: Points) -> Iterator[Feature]:
    answer = require_whole(contents)
    legs = answer.edges(contents, None)
    order = np.append(legs.tails, legs.heads[-1:]) if len(legs.tails) else legs.vertices
    about = {"name": contents.value("instance", "name"), "cost": contents.attributes["cost"]}
    yield _feature(_line(points[order]), about)
    for block in answer.rows(contents):
        for row, city in zip(records(block), legs.vertices.tolist()):
            about = {name: value for name, value in row.items() if name not in ("lat", "lon")}
            yield _feature(_point(points[city]), about)


def _tree(contents: Contents, points: Points) -> Iterator[Feature]:
    answer, names = require_whole(contents), contents.unique_names().tolist()
    edges = answer.edges(contents, None)
    for block in answer.rows(contents):
        for row, u, v in zip(records(block), edges.tails.tolist(), edges.heads.tolist()):
            yield _feature(_line(points[[u, v]]), row)
    for terminal in contents.value("instance", "terminal", ()):
        yield _feature(_point(points[terminal]), {"terminal": names[terminal]})


def _paths(contents: Contents, points: Points) -> Iterator[Feature]:
    answer = require_whole(contents)
    for block in answer.rows(contents):
        for row in records(block):
            way = points[answer.edges(contents, row["query"]).vertices]
            about = {name: value for name, value in row.items() if name != "path"}
            if len(way):
                yield _feature(_line(way), about)


def _distances(contents: Contents, points: Points) -> Iterator[Feature]:
    targets = contents.value("solution", "target")
    ends = points if targets is None else points[np.asarray(targets, np.int64)]
    for block in require_whole(contents).rows(contents):
        reached = (pair for pair in zip(records(block), ends) if pair[0]["distance"] is not None)
        yield from (_feature(_point(place), row) for row, place in reached)


def _feature(geometry: Feature, properties: Feature) -> Feature:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _point(place: Points) -> Feature:
    return {"type": "Point", "coordinates": place.tolist()}


def _line(way: Points) -> Feature:
    """Return the geometry of a line through these points, which is a point if there is only one."""
    if len(way) == 1:
        return _point(way[0])
    parts = _cut(way)
    if len(parts) == 1:
        return {"type": "LineString", "coordinates": parts[0]}
    return {"type": "MultiLineString", "coordinates": parts}


def _cut(way: Points) -> list[list[list[float]]]:
    """Return the parts of a line between its crossings of the 180th meridian."""
    parts = [[way[0].tolist()]]
    for (lon, lat), (next_lon, next_lat) in pairwise(way.tolist()):
        if abs(next_lon - lon) > 180:
            meridian = 180.0 if lon > 0 else -180.0
            fraction = (meridian - lon) / (next_lon + 2 * meridian - lon)
            crossing = lat + fraction * (next_lat - lat)
            parts[-1].append([meridian, crossing])
            parts.append([[-meridian, crossing]])
        parts[-1].append([next_lon, next_lat])
    return parts


def no_cycle(contents: Contents) -> str | None:
    """Return why an answer is not a closed tour, or None if it is."""
    if not len(contents.value("solution", "tour", ())):
        return "the answer is not a tour"
    return "the answer is an open path, and a TSPLIB tour is closed" if TOUR.is_open(contents) else None


def tsplib_tour(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a TSPLIB tour. Its nodes count from 1, so labels are replaced by positions + 1 where one is smaller."""
    order = np.asarray(contents.value("solution", "tour"), np.int64)
    labels = np.asarray(contents.value("instance", "label"))
    name, comment = str(contents.value("instance", "name")), f"cost {contents.attributes['cost']}"
    if labels.min() < 1:
        labels, comment = np.arange(1, len(labels) + 1), f"{comment}\nnode k is city k of the instance, counted from 1"
    yield from tour_lines(labels[order], name=name, comment=comment)


def no_tree(contents: Contents) -> str | None:
    """Return why an answer is not a Steiner tree, or None if it is."""
    found = answer_in(contents)
    return None if found is TREE else f"the answer is of kind {found.name if found else 'unknown'}, not a Steiner tree"


def pace(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a tree as in PACE 2018."""
    names, found = contents.unique_names().tolist(), TREE.edges(contents, None)
    ends = ((names[u], names[v]) for u, v in zip(found.tails.tolist(), found.heads.tolist()))
    yield from steiner_solution_lines(contents.attributes["cost"], ends)


def no_edges(contents: Contents) -> str | None:
    """Return why an answer has no edges, or None if it has some."""
    if no_tour(contents):
        return no_tour(contents)
    try:
        require_whole(contents).edges(contents, 0)
    except InputError as error:
        return str(error).removeprefix("the result: ")
    return None


def dot(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a graph for Graphviz, whose nodes have positions as identifiers and names as labels."""
    found, names = require_whole(contents).edges(contents, number), contents.unique_names().tolist()
    kind, arrow = ("digraph", "->") if found.directed else ("graph", "--")
    terminals = set(np.asarray(contents.value("instance", "terminal", ())).tolist())
    yield f"{kind} {_quoted(contents.value('instance', 'name'))} {{\n"
    for vertex in found.vertices.tolist():
        shape = ", shape=box" if vertex in terminals else ""
        yield f"  {vertex} [label={_quoted(names[vertex])}{shape}];\n"
    weights = [None] * len(found.tails) if found.weights is None else found.weights.tolist()
    for tail, head, weight in zip(found.tails.tolist(), found.heads.tolist(), weights):
        label = "" if weight is None else f" [label={_quoted(shortest(weight))}]"
        yield f"  {tail} {arrow} {head}{label};\n"
    yield "}\n"


def _quoted(name: object) -> str:
    """Return a text in one line, quoted for Graphviz."""
    line = visible(str(name)).replace("\n", " ")
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


FEATURES = {"tour": _tour, "tree": _tree, "paths": _paths, "distances": _distances}
"""Kind of answer -> the function that yields its features on the globe."""
PACE = Exporter("PACE", no_tree, pace)
EXPORTERS = {
    ".csv": Exporter("CSV", no_tour, csv_lines),
    ".geojson": Exporter("GeoJSON", no_lines, features),
    ".dot": Exporter("DOT", no_edges, dot),
    ".tour": Exporter("TSPLIB", no_cycle, tsplib_tour),
    ".pace": PACE,
}
"""Suffix -> the format."""

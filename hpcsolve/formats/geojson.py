"""GeoJSON lines as a graph: the places of all lines are its vertices, edges join consecutive places of a line.

Source: RFC 7946. LineString and MultiLineString features count; elevations are skipped, and so are points and polygons,
which a note says. Weights are great-circle lengths in metres, rounded to millimetres. With `weight`, the name of a
property, each line is one edge between its ends with the weight in that property. A line that meets another one between
its ends is then refused, since it is several edges, whose weights nothing tells. A vertex has its coordinates in the
file as its name: "16.37,48.21".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hpcsolve.formats.files import InputFile
from hpcsolve.formats.records import require_one_weight, weights_in
from hpcsolve.formats.tables import listed, shortest
from hpcsolve.problems.distances import great_circle
from hpcsolve.problems.edge_texts import GEOMETRY, EdgeTexts, edge_texts, line_text
from hpcsolve.problems.geographic import DEGREES, out_of_range
from hpcsolve.problems.graph import Graph, assembled
from hpcsolve.problems.labels import is_real
from hpcsolve.problems.notes import ONE_WAY, not_used, one_way_notes, read_note
from hpcsolve.wording import shown

_TYPES = rb'"(?:FeatureCollection|Feature|LineString|MultiLineString|GeometryCollection)"'
_LINES = ("LineString", "MultiLineString", "GeometryCollection")
_SIGNATURE = re.compile(rb'\{(?s:.{0,4000}?)"type"\s*:\s*' + _TYPES)

_POINT = re.compile(rb'"type"\s*:\s*"Point"')
_LINE = re.compile(rb'"type"\s*:\s*"(?:LineString|MultiLineString|GeometryCollection)"')

Place = tuple[float, float]
"""Longitude and latitude, as in the file."""


@dataclass(frozen=True)
class Line:
    """A line of a feature.

    Attributes
    ----------
    properties
        Those of its feature.
    file_line
        The line of the file on which its geometry begins, or the file's first line if that cannot be told.
    """

    places: list[Place]
    properties: Mapping[str, Any]
    file_line: int


def looks_like_geojson(content: bytes) -> bool:
    """Return whether the file is a JSON object with coordinates, and one of GeoJSON's types near its beginning.

    Files that have points and no lines are no graphs.
    """
    start = content.lstrip()
    if _SIGNATURE.match(start) is None or b'"coordinates"' not in content:
        return False
    return _POINT.search(content) is None or _LINE.search(content) is not None


def read_geojson(file: InputFile, directed: bool | None = None, weight: str | None = None) -> Graph:
    """Return the graph of all lines, with coordinates in decimal degrees.

    Parameters
    ----------
    directed
        Whether lines are arcs, from the first place to the last; by default they are edges.
    weight
        The property with the weight of a line.

    Raises
    ------
    InputError
        With file and line: it is not JSON, has no lines, or coordinates that are not degrees.
    """
    skipped: list[str] = []
    lines = whole = list(_lines(file, skipped))
    if not lines:
        raise file.error("has no LineString and no MultiLineString", file.first_line)
    if weight is not None:
        _refuse_crossings(file, lines)
        lines = [Line([line.places[0], line.places[-1]], line.properties, line.file_line) for line in lines]
    position: dict[Place, int] = {}
    for line in lines:
        for place in line.places:
            position.setdefault(place, len(position))
    pairs = [(position[a], position[b], line) for line in lines for a, b in zip(line.places, line.places[1:])]
    ends = np.array([(a, b) for a, b, _ in pairs], dtype=np.int64)
    points = np.array(list(position), dtype=np.float64)[:, ::-1].copy()
    if weight is None:
        values: Any = np.rint(1000 * great_circle(points[ends[:, 0]], points[ends[:, 1]])) / 1000
    else:
        values = [_property(file, line, weight) for _, _, line in pairs]
    file_lines = np.array([line.file_line for _, _, line in pairs], dtype=np.int64)
    weights, scale = weights_in(file, values, file_lines, len(position))
    names = tuple(f"{shortest(x)},{shortest(y)}" for x, y in position)
    tails, heads = ends[:, 0].copy(), ends[:, 1].copy()
    if directed is None:
        require_one_weight(file, len(position), (tails, heads), (weights, scale), file_lines, names)
    graph = assembled(
        file.stem or "graph", len(position), tails, heads, weights, scale=scale, directed=bool(directed),
        coordinates=points, coordinates_kind=DEGREES, vertex_names=names,
        notes=_notes(lines, skipped, directed, weight),
        edge_texts=_texts(ends, values, whole, [line.properties for *_, line in pairs], weight is not None,
                          bool(directed)),
    )
    return replace(graph, unit="m") if weight is None else graph


def _texts(ends: Any, weights: Any, lines: list[Line], properties: list[Mapping[str, Any]], curved: bool,
           directed: bool) -> EdgeTexts | None:
    """Return the properties of the line of each edge, and its geometry if a line is an edge (`curved`)."""
    if curved:
        curves = [line_text(line.places) for line in lines]
        properties = [{**about, GEOMETRY: curve} for about, curve in zip(properties, curves, strict=True)]
    if not any(properties):
        return None
    data = [(None, about) for about in properties]
    return edge_texts(ends[:, 0], ends[:, 1], weights, data, keyed=False, arcs=directed)


def _notes(
    lines: Sequence[Line], skipped: Sequence[str], directed: bool | None, weight: str | None
) -> tuple[str, ...]:
    """Return the lines that say which properties and features were not used."""
    one_way = [line.properties[ONE_WAY] for line in lines if ONE_WAY in line.properties]
    notes = one_way_notes("property", one_way, directed)
    numbers = [key for key in lines[0].properties if all(is_real(line.properties.get(key)) for line in lines)]
    if weight is None and numbers:
        what = f"weights are lengths in metres; each line has numbers in its properties too: {listed(numbers)}"
        notes += (read_note(f"{what} (choose one with weight)"),)
    return notes + not_used([f"{kind} ({skipped.count(kind)})" for kind in dict.fromkeys(skipped)], "type")


def _lines(file: InputFile, skipped: list[str]) -> Iterator[Line]:
    """Yield all lines, and append the types of other geometries to a list."""
    for feature, number in features(file):
        geometry = feature.get("geometry") if feature.get("type") == "Feature" else feature
        properties = feature.get("properties")
        if isinstance(geometry, dict) and geometry.get("type") not in _LINES:
            skipped.append(str(geometry.get("type")))
        for places in _geometry_lines(file, geometry, number):
            yield Line(places, properties if isinstance(properties, dict) else {}, number)


def features(file: InputFile) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield each feature, or the geometry that is alone in the file, and the line on which it begins.

    Raises
    ------
    InputError
        With file and line: it is not JSON, the features are no list of objects, or coordinates are not degrees.
    """
    content = file.json()
    _require_degrees(file, content)
    whole = isinstance(content, dict) and content.get("type") == "FeatureCollection"
    found = content.get("features") if whole else [content]
    if not isinstance(found, list):
        raise file.error("the FeatureCollection has no list of features", file.first_line)
    starts = [file.line(match.start()) for match in re.finditer(rb'"geometry"', file.content)]
    for index, feature in enumerate(found):
        number = starts[index] if len(starts) == len(found) else file.first_line
        if not isinstance(feature, dict):
            raise file.error(f"feature {index} is not an object", number)
        yield feature, number


def _require_degrees(file: InputFile, content: Any) -> None:
    """Refuse a file with the key `crs` of older GeoJSON, unless it says that coordinates are degrees."""
    system = content.get("crs") if isinstance(content, dict) else None
    if system is not None and not re.search(r"crs84|4326|wgs ?84\b", json.dumps(system), re.IGNORECASE):
        what = f"its coordinates are of the system {shown(json.dumps(system))}"
        raise file.error(f"{what}; export it with longitudes and latitudes (EPSG:4326)", file.first_line)


def _geometry_lines(file: InputFile, geometry: Any, line: int) -> Iterator[list[Place]]:
    if not isinstance(geometry, dict):
        return
    kind, coordinates = geometry.get("type"), geometry.get("coordinates")
    if kind == "GeometryCollection":
        raise file.error("a GeometryCollection is not read; write its lines as features", line)
    parts = {"LineString": [coordinates], "MultiLineString": coordinates}.get(str(kind), [])
    if not isinstance(parts, list):
        raise file.error("the coordinates are not a list", line)
    for part in parts:
        if not isinstance(part, list) or len(part) < 2:
            raise file.error("a line needs a list of at least two places", line)
        yield [place_of(file, place, line) for place in part]


def place_of(file: InputFile, place: Any, line: int) -> Place:
    """Return the longitude and latitude of a place. Raises `InputError` with file and line."""
    numbers = place[:2] if isinstance(place, list) and len(place) >= 2 else []
    if len(numbers) != 2 or not all(map(is_real, numbers)):
        raise file.error(f"expected [longitude, latitude], found {shown(json.dumps(place))}", line)
    for value, what in zip(numbers, ("longitude", "latitude")):
        wrong = out_of_range(value, what) if abs(value) < 1e300 else f"the {what} is too large"
        if wrong:
            raise file.error(wrong, line)
    return float(numbers[0]), float(numbers[1])


def _refuse_crossings(file: InputFile, lines: list[Line]) -> None:
    """Refuse lines that meet another line, or themselves, between their ends."""
    count: dict[Place, int] = {}
    for line in lines:
        for place in set(line.places):
            count[place] = count.get(place, 0) + 1
    for line in lines:
        for place in line.places[1:-1]:
            if count[place] > 1 or place in (line.places[0], line.places[-1]):
                where = f"{shortest(place[0])},{shortest(place[1])}"
                message = f"the line passes through {where}, where another one meets it, so it is several edges"
                raise file.error(f"{message}; split it there, or remove weight for lengths in metres", line.file_line)


def _property(file: InputFile, line: Line, weight: str) -> float:
    value: Any = line.properties.get(weight)
    if not is_real(value):
        found = listed(map(str, line.properties)) or "none"
        has = f"is {shown(str(value))}" if weight in line.properties else f"is missing; properties are {found}"
        raise file.error(f"{weight!r} of a line {has}; give each line a number", line.file_line)
    number: float = value
    return number

"""Answers on the globe as GeoJSON (RFC 7946): lines in longitude and latitude, in decimal degrees of WGS 84.

A line that crosses the 180th meridian is cut there, as the RFC asks, since maps would draw it around the globe.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.export.tables import records
from hpcsolve.answers.base import coordinates_of, names_of
from hpcsolve.answers.contents import Contents
from hpcsolve.output.schema import require_whole
from hpcsolve.wording import visible

Feature = dict[str, Any]
Points = NDArray[np.float64]
"""Shape (points, 2): longitudes and latitudes."""


def no_lines(contents: Contents) -> str | None:
    """Return why an answer cannot be placed on the globe, or None if it can."""
    if contents.value("solution", "infeasible"):
        return "the answer states that there is no tour"
    if "lon" in coordinates_of(contents):
        return None
    if not coordinates_of(contents):
        return "the instance has no coordinates"
    if contents.value("instance", "coordinates_kind") is None:
        return "the file does not say whether its coordinates are latitudes and longitudes (run its job again for that)"
    return "its coordinates are not latitudes and longitudes, which GeoJSON needs"


def features(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a collection of features: lines of a tour, tree or paths, and points of cities, terminals or vertices."""
    places = coordinates_of(contents)
    points = np.stack([places["lon"], places["lat"]], axis=1)
    found = {"tour": _tour, "tree": _tree, "paths": _paths, "distances": _distances}
    make = found[require_whole(contents).name]
    before = '{"type": "FeatureCollection", "features": [\n'
    for feature in make(contents, points):
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
            yield _feature(_point(points[city]), _without_place(row))


def _tree(contents: Contents, points: Points) -> Iterator[Feature]:
    answer, names = require_whole(contents), names_of(contents).tolist()
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


def _without_place(row: Feature) -> Feature:
    return {name: value for name, value in row.items() if name not in ("lat", "lon")}

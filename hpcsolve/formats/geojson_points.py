"""GeoJSON points as cities: the places of all Point features, with costs and perhaps windows as a table of places has.

Source: RFC 7946. A point's name is its property `name`, `address`, `city` or `place`, as in a table of places. Other
geometries are refused, since a file with lines is a graph, and of an area it is not clear where a tour should go.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hpcsolve.formats.files import InputFile
from hpcsolve.formats.geojson import features, looks_like_geojson, place_of
from hpcsolve.formats.order_files import windows_of_places
from hpcsolve.formats.spreadsheets import cell_text
from hpcsolve.problems import geographic
from hpcsolve.problems.notes import not_used
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import shown

_SIGNATURE = re.compile(rb'\{(?s:.{0,4000}?)"type"\s*:\s*"(?:FeatureCollection|Feature)"')
_POINT = re.compile(rb'"type"\s*:\s*"Point"')


def looks_like_points(content: bytes) -> bool:
    """Return whether the file is GeoJSON that has points, and no lines."""
    return not looks_like_geojson(content) and _SIGNATURE.match(content.lstrip()) is not None and \
        b'"coordinates"' in content and _POINT.search(content) is not None


def read_points(file: InputFile, precision: Precision | None = None, speed: float | None = None) -> Tsp:
    """Return the cities of all points, labelled from 1. Distances are whole metres, whatever the precision.

    Parameters
    ----------
    speed
        As in `places.read_places`; the windows are properties of the points.

    Raises
    ------
    InputError
        With file and line: it is not JSON, a feature is no point, coordinates are not degrees, or only some points have
        a name.
    """
    places, named, unused = [], [], dict[str, None]()
    lines: list[int] = []
    timed: list[dict[str, str]] = []
    for feature, line in features(file):
        geometry, properties = feature.get("geometry"), feature.get("properties")
        kind = geometry.get("type") if isinstance(geometry, dict) else None
        if not isinstance(geometry, dict) or kind != "Point":
            raise file.error(f"a feature is {shown(str(kind))}, not a Point; keep the points that a tour visits", line)
        places.append(place_of(file, geometry.get("coordinates"), line))
        own: dict[str, Any] = properties if isinstance(properties, dict) else {}
        key = next((key for word in geographic.NAME for key in own if key.lower() == word), None)
        named.append("" if key is None or own[key] is None else str(own[key]).strip())
        try:
            times = geographic.time_columns(list(own), speed)
        except ValueError as problem:
            raise file.error(str(problem), line) from None
        timed.append({name: cell_text(own[name]) for name in times})
        unused |= dict.fromkeys(name for name in own if name != key and name not in times)
        lines.append(line)
    if not places:
        raise file.error("has no points", file.first_line)
    if any(named) and not all(named):
        raise file.error("the point has no name, but others have one", lines[named.index("")])
    tsp = geographic.from_places(
        [north for _, north in places], [east for east, _ in places], file.stem or "points",
        city_names=named if any(named) else (), notes=not_used(list(unused), "attribute"),
    )
    if speed is None:
        return tsp
    tsp = geographic.at_speed(tsp, speed)
    return replace(tsp, windows=windows_of_places(file, zip(lines, timed), tsp)) if any(timed) else tsp

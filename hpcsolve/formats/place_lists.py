"""Files of places that stand for vertices of a graph, the nearest ones: GeoJSON points, or tables with coordinates.

A table has a header that names the columns: lat and lon in decimal degrees, as for tours, or x and y in a plane. One
more column of numbers, or property of the points, may be asked for: the opportunities at the places.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import InputFile
from hpcsolve.formats.geojson import features
from hpcsolve.formats.geojson_points import looks_like_points, read_points
from hpcsolve.formats.places import delimiter_of_table, header_of, looks_like_places, read_places, table_rows
from hpcsolve.formats.tables import listed, with_points
from hpcsolve.problems.access import opportunities_of
from hpcsolve.problems.geographic import NAME, time_columns
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.plane_points import AXES, has_plane_columns
from hpcsolve.problems.rounding import BadNumber, Costs, is_number
from hpcsolve.problems.snapping import Snapped, snapped
from hpcsolve.problems.tsp import Tsp
from hpcsolve.problems.windows import Windows
from hpcsolve.wording import shown


@dataclass(frozen=True, eq=False)
class PlaceList:
    """The places of a file.

    Attributes
    ----------
    points
        Shape (m, 2): latitudes and longitudes (`degrees`), or x and y.
    names
        A name for each place, or its number.
    opportunities
        Those of each place, if they were asked for.
    windows
        Those of each place in whole seconds, if there was a speed and the file has them.
    notes
        Lines that name what else the file has.
    """

    file: InputFile
    points: NDArray[np.float64]
    degrees: bool
    names: tuple[str, ...]
    opportunities: Costs | None = None
    windows: Windows | None = None
    notes: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """SHA-256 of the file."""
        return self.file.sha256

    def placed(self, graph: Graph, role: str) -> tuple[NDArray[np.int64], tuple[Snapped, ...]]:
        """Return the nearest vertices, each one once, and how places became these. Raises `InputError` as `snapped`."""
        found = snapped(graph, self.points, self.degrees, self.names, role)
        return found.once(), (found,)


def read_place_list(file: InputFile, column: str | None = None, speed: float | None = None) -> PlaceList | None:
    """Return the places of a file, or None if it does not look like one of places.

    Parameters
    ----------
    column
        The column of a table, or property of GeoJSON points, that has the opportunities of the places.
    speed
        As in `places.read_places`.

    Raises
    ------
    InputError
        With file and line: a coordinate is missing, no number or out of range; or as for cities. There is no such
        column, or it has something else than numbers of at least 0.
    """
    points = looks_like_points(file.content)
    if points:
        found = _of_cities(file, read_points(file, speed=speed))
    elif looks_like_places(file.content):
        found = _of_cities(file, read_places(file, speed=speed))
    else:
        try:
            if not has_plane_columns(header_of(file.content)):
                return None
        except csv.Error:
            return None
        found = _in_plane(file)
        if speed is not None and time_columns(header_of(file.content), speed):
            what = "time windows go with lat and lon alone; remove their columns, or the speed"
            raise file.error(what, file.first_line)
    if column is None:
        return found
    lines, texts = zip(*(_properties if points else _cells)(file, column))
    try:
        return replace(found, opportunities=opportunities_of(texts))
    except BadNumber as error:
        raise file.error(f"{column}: {shown(texts[error.index])} {error.reason}", lines[error.index]) from None


def _properties(file: InputFile, name: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each point, and the text of a property."""
    for feature, line in features(file):
        properties = feature.get("properties")
        own = properties if isinstance(properties, dict) else {}
        if name not in own:
            raise file.error(f"the point has no property {shown(name)}; it has {listed(own) or 'none'}", line)
        yield line, str(own[name])


def _cells(file: InputFile, title: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each row of a table, and the text in a column, with a decimal point."""
    (title_line, header), *rows = table_rows(file)
    if title not in header:
        raise file.error(f"there is no column {shown(title)}; the columns are {listed(header)}", title_line)
    at = header.index(title)
    for line, cells in with_points(file, rows, delimiter_of_table(file), [at]):
        yield line, cells[at]


def _of_cities(file: InputFile, cities: Tsp) -> PlaceList:
    assert cities.coordinates is not None
    names = cities.city_names or tuple(map(str, cities.labels.tolist()))
    return PlaceList(file, cities.coordinates, True, names, windows=cities.windows, notes=cities.notes)


def _in_plane(file: InputFile) -> PlaceList:
    """Return the places of a table with columns x and y."""
    (title_line, header), *rows = table_rows(file)
    words = [title.lower() for title in header]
    x, y = columns = [words.index(axis) for axis in AXES]
    naming = next((words.index(title) for title in (*NAME, "id") if title in words), None)
    for line, cells in rows:
        if len(cells) != len(header):
            raise file.error(f"{len(cells)} cells under a header of {len(header)}", line)
    points, names = [], []
    for line, cells in with_points(file, rows, delimiter_of_table(file), columns, False):
        for axis, text in zip(AXES, (cells[x], cells[y])):
            if not is_number(text) or not abs(float(text)) <= 1e150:
                raise file.error(f"the coordinate {axis} {shown(text)} is not a number", line)
        points.append((float(cells[x]), float(cells[y])))
        names.append(str(len(points)) if naming is None else cells[naming])
    if not points:
        raise file.error("there are no places below the header", title_line)
    return PlaceList(file, np.array(points), False, tuple(names))


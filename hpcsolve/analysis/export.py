"""Writes answers as files for other programs: `hpcsolve export`. The file's suffix names the format (`EXPORTERS`).

CSV has the rows that `Result.to_pandas` has: a header with the names of the columns, then a line for each row. Parquet
and sheets of Excel have the same rows, which pandas writes. Times are written as times of day where it is known what a
unit of the costs is: the table of a tour is for drivers, and can be read again as a table of visits.

GeoJSON (RFC 7946) has lines in longitude and latitude, in decimal degrees of WGS 84. A line that crosses the 180th
meridian is cut there, as the RFC asks, since maps would draw it around the globe.

GPX (1.1, https://www.topografix.com/GPX/1/1/) has routes for navigation devices, and tracks along curves. Tours between
vertices of a graph run along its streets (`hpcsolve/analysis/streets.py`), as on the maps of reports. The other formats
are those of their fields: TSPLIB's tours, the trees of PACE 2018, Graphviz's DOT, numpy's arrays.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis import require_installed
from hpcsolve.analysis.streets import Points, has_streets, network_of, streets_of, ways_of
from hpcsolve.answers import answer_in
from hpcsolve.answers.base import Rows
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.edges import AnswerEdges
from hpcsolve.answers.paths import PATHS
from hpcsolve.answers.schedule import with_clock_times
from hpcsolve.answers.snaps import named_by_places
from hpcsolve.answers.tour import TOUR, TourType
from hpcsolve.answers.tours import ToursType
from hpcsolve.answers.tree import TREE
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats.pace import steiner_solution_lines
from hpcsolve.formats.tables import csv_line, harmless, shortest
from hpcsolve.formats.tsplib_write import tour_lines
from hpcsolve.output.schema import require_whole
from hpcsolve.problems.edge_texts import GEOMETRY
from hpcsolve.replacing import replacing
from hpcsolve.wording import visible

if TYPE_CHECKING:
    import pandas


def export(contents: Contents, source: str, path: str, number: int | None = None) -> None:
    """Write the answer of a result in the format that the suffix of `path` names. An existing file is replaced.

    Parameters
    ----------
    source
        The result file, for messages.
    number
        The number of the search or query, from 0, for formats that have one of them; of several tours, or of the
        instances of a batch, which one.

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
    contents = one_of(contents, number)
    pieces = EXPORTERS[suffix].checked_pieces(contents, source, number)
    with replacing(Path(path)) as part, open(part, "xb") as file:
        file.writelines(piece.encode() if isinstance(piece, str) else piece for piece in pieces)


def one_of(contents: Contents, number: int | None) -> Contents:
    """Return the contents with one of several tours, or of a batch's instances, as the answer, if it has several."""
    kind = require_whole(contents)
    return kind.one_of(contents, number) if number is not None and isinstance(kind, (TourType, ToursType)) else contents


class Exporter(ABC):
    """A format that answers are written in."""

    @abstractmethod
    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer of a result cannot be written in this format, or None if it can."""

    @abstractmethod
    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the content of the file. `number` is that of a search or query (None: the only one)."""

    def checked_pieces(self, contents: Contents, source: str, number: int | None = None) -> Iterator[str | bytes]:
        """Yield an answer in a format. Raises as `export`, on the first piece."""
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


def blocks_of(contents: Contents) -> Iterator[Rows]:
    """Yield the rows of an answer in blocks, as files have them."""
    kind = require_whole(contents)
    for block in kind.rows(contents):
        yield with_clock_times(contents, block) if isinstance(kind, (TourType, ToursType)) else block


def rows_of(contents: Contents) -> Iterator[dict[str, Any]]:
    """Yield the rows of an answer with Python's own types. Infinities and NaN are None."""
    for block in blocks_of(contents):
        yield from _rows(block)


def _rows(block: Rows) -> Iterator[dict[str, Any]]:
    for values in zip(*(column.tolist() for column in block.values())):
        yield {name: None if isinstance(value, float) and not math.isfinite(value) else value
               for name, value in zip(block, values)}


class Csv(Exporter):
    """A header, then a line for each row. Unreached vertices and missing values are empty, paths are JSON lists."""

    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer has no rows, or None if it has some."""
        return no_tour(contents)

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the header and the lines."""
        header: list[str] = []
        for block in blocks_of(contents):
            if not header:
                header = list(block)
                yield csv_line(map(self._cell, header))
            yield "".join(csv_line(map(self._cell, row.values())) for row in _rows(block))

    def _cell(self, value: Any) -> str:
        """Return a value as the text of a cell, a name so that no spreadsheet takes it for a formula."""
        if value is None:
            return ""
        if isinstance(value, str):
            return harmless(value)
        if isinstance(value, float):
            return shortest(value)
        return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


def frame_of(contents: Contents, number: int | None = None) -> pandas.DataFrame:
    """Return the rows of an answer as a `pandas.DataFrame`, times as numbers.

    Parameters
    ----------
    number
        As of `export`.

    Raises
    ------
    InputError
        There is no such tour or instance.
    EnvironmentFault
        pandas is not installed.
    """
    require_installed("pandas")
    contents = one_of(contents, number)
    return _frame(require_whole(contents).rows(contents))


def _frame(rows: Iterator[Rows]) -> pandas.DataFrame:
    import pandas

    blocks = list(rows)
    return pandas.DataFrame({name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]})


@dataclass(frozen=True)
class Frame(Exporter):
    """The rows as a table, which pandas writes by another package.

    Attributes
    ----------
    package
        The name of that package.
    write
        Writes a table to an open file.
    most
        The most rows that the format holds.
    """

    package: str
    write: Callable[[pandas.DataFrame, io.BytesIO], None]
    most: float = math.inf

    def refusal(self, contents: Contents) -> str | None:
        """Return why the rows cannot be written, or None if they can."""
        if no_tour(contents):
            return no_tour(contents)
        rows = require_whole(contents).row_count(contents)
        return f"the answer has {rows} rows, more than the {self.most} that a sheet holds" if rows > self.most else None

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the file."""
        for package in ("pandas", self.package):
            require_installed(package)
        file = io.BytesIO()
        self.write(_frame(blocks_of(contents)), file)
        yield file.getvalue()


def _write_parquet(frame: pandas.DataFrame, file: io.BytesIO) -> None:
    frame.to_parquet(file, index=False)


def _write_sheet(frame: pandas.DataFrame, file: io.BytesIO) -> None:
    """Write a sheet. Paths become JSON lists, infinities empty cells, and no text is a formula."""

    def cell(value: Any) -> Any:
        if isinstance(value, (list, np.ndarray)):
            value = json.dumps(np.asarray(value).tolist(), ensure_ascii=False)
        if isinstance(value, float) and math.isinf(value):
            return None
        return harmless(visible(value)) if isinstance(value, str) else value

    import pandas

    cells = {name: [cell(value) for value in column.tolist()] for name, column in frame.items()}
    pandas.DataFrame(cells, dtype=object).to_excel(file, index=False)


class Npy(Exporter):
    """The table of distances as `Result.distance` has it: float64, infinite where no path leads."""

    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer is no table of distances, or None if it is one."""
        kind = require_whole(contents)
        return None if kind is DISTANCES else f"the answer is of kind {kind.name}, not a table of distances"

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the header and the rows."""
        table = contents.value("solution", "distance")
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": np.shape(table)})
        yield header.getvalue()
        for row in table:
            yield contents.own_distances(np.asarray(row)).astype("<f8").tobytes()


_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][+-]?\d{1,2})?", re.ASCII)
"""Texts that become numbers in GeoJSON."""
Features = Iterator[tuple[Points, dict[str, Any]]]
"""For each feature the points of its line, or its single point, and its properties."""


def not_on_the_globe(contents: Contents, format_name: str) -> str | None:
    """Return why an answer cannot be placed on the globe, or None if it can."""
    if no_tour(contents):
        return no_tour(contents)
    if "lon" in contents.coordinates():
        return None
    if not contents.coordinates():
        return "the instance has no coordinates"
    if contents.value("instance", "coordinates_kind") is None:
        what = "the file does not say whether its coordinates are latitudes and longitudes"
        return f"{what} (run its job again for that)"
    return f"its coordinates are not latitudes and longitudes, which {format_name} needs"


def _with_numbers(about: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return properties of features, with numbers for each name whose values are all texts of numbers.

    OSMnx writes every attribute into GraphML as text. Texts with leading zeros stay texts.
    """
    texts = [(name, value) for one in about for name, value in one.items() if value is not None]
    numbers = {name for name, _ in texts} - {
        name for name, value in texts if not (isinstance(value, str) and _NUMBER.fullmatch(value))}
    return [{name: json.loads(value) if name in numbers and value is not None else value for name, value in one.items()}
            for one in about]


NO_STREETS = "straight lines, since the graph of the streets is gone, has changed or is too large"
"""The note on a tour that is not drawn along its streets."""


def _along_streets(contents: Contents) -> tuple[Points | None, dict[int, Any]]:
    """Return the line of a tour along the streets of its graph, and for each city the vertex, as the graph names it.

    The line is None if the graph or the ways are not found. Without the graph there are no vertices either.
    """
    streets = streets_of(contents, network_of(contents)) if has_streets(contents) else None
    if streets is None:
        return None, {}
    names = streets.graph.vertex_names or streets.graph.labels.tolist()
    order = _whole_tour(contents)
    legs = ways_of(contents, streets, order)
    start = streets.points[streets.stops[order[:1]]]
    line = None if legs is None else np.concatenate([start, *(leg[1:] for leg in legs)])
    return line, {city: names[vertex] for city, vertex in enumerate(streets.stops.tolist())}


def _whole_tour(contents: Contents) -> NDArray[np.int64]:
    """Return the positions of the cities of a tour in their order, of a cycle with the first one at the end, too."""
    legs = TOUR.edges(contents)
    return np.append(legs.tails, legs.heads[-1:]) if len(legs.tails) else legs.vertices


class Gpx(Exporter):
    """Routes: a tour from its first city, back to it if it is closed, or each path from source to target.

    Beside a route of which more than its stops or vertices is known, there is a track along the streets.
    """

    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer has no routes on the globe, or None if it has some."""
        kind = require_whole(contents)
        if kind not in (TOUR, PATHS):
            return f"the answer is of kind {kind.name}, not a tour or paths"
        return not_on_the_globe(contents, "GPX")

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the file: a route at a time, then a track at a time, in the order that GPX asks for."""
        places, names = contents.coordinates(), contents.unique_names().tolist()
        points = np.stack([places["lon"], places["lat"]], axis=1)
        tracks: list[tuple[str, Points]] = []
        yield ('<?xml version="1.0" encoding="UTF-8"?>\n'
               '<gpx version="1.1" creator="hpcsolve" xmlns="http://www.topografix.com/GPX/1/1">\n')
        for name, route, line, note in self._routes(contents, points):
            about = f"<desc>{self._text(note)}</desc>" if note else ""
            yield f"<rte><name>{self._text(name)}</name>{about}\n"
            for vertex, point in zip(route, points[route].tolist()):
                yield f"<rtept {self._place(*point)}><name>{self._text(names[vertex])}</name></rtept>\n"
            yield "</rte>\n"
            tracks += [] if line is None else [(self._text(name), line)]
        for title, line in tracks:
            yield f"<trk><name>{title}</name><trkseg>\n"
            yield from (f"<trkpt {self._place(*point)}/>\n" for point in line.tolist())
            yield "</trkseg></trk>\n"
        yield "</gpx>\n"

    def _routes(self, contents: Contents, points: Points) -> Iterator[tuple[object, list[int], Points | None, str]]:
        """Yield for each route its name, its vertices, its line if that is not straight, and a note."""
        if require_whole(contents) is TOUR:
            line, _ = _along_streets(contents)
            note = NO_STREETS if line is None and has_streets(contents) else ""
            yield contents.value("instance", "name"), _whole_tour(contents).tolist(), line, note
            return
        known = AnswerEdges(contents)
        for row in rows_of(contents):
            route = PATHS.vertices(contents, row["query"])
            if len(route):
                line = known.line_of_path(route, points)
                curved = len(line) > len(route)
                yield f"{row['source']} - {row['target']}", route.tolist(), line if curved else None, ""

    def _place(self, lon: float, lat: float) -> str:
        """Return the attributes of a point."""
        return f'lat="{self._decimal(lat)}" lon="{self._decimal(-180.0 if lon == 180 else lon)}"'

    def _decimal(self, degrees: float) -> str:
        """Return degrees to a tenth of a millimetre. XML's decimals have no exponent."""
        return f"{degrees:.9f}".rstrip("0").rstrip(".")

    def _text(self, name: object) -> str:
        """Return a name as text of XML, which has no control characters."""
        return escape(visible(str(name)).replace("\n", " "))


class GeoJson(Exporter):
    """A collection of features: lines of a tour, tree or paths, and points of cities, terminals or vertices."""

    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer cannot be placed on the globe, or None if it can."""
        kind = require_whole(contents)
        return not_on_the_globe(contents, "GeoJSON") or (
            None if kind.name in self._features() else f"{kind.in_words} have no map of their own")

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the collection, a feature at a time."""
        places = contents.coordinates()
        points = np.stack([places["lon"], places["lat"]], axis=1)
        before = '{"type": "FeatureCollection", "features": [\n'
        for way, about in self._features()[require_whole(contents).name](contents, points):
            feature = {"type": "Feature", "geometry": self._geometry(way), "properties": about}
            yield before + visible(json.dumps(feature, ensure_ascii=False))
            before = ",\n"
        yield (before if before.startswith("{") else "") + "\n]}\n"

    def _features(self) -> dict[str, Callable[[Contents, Points], Features]]:
        """Return the functions that yield the features of the answers of each kind."""
        return {"tour": self._tour, "tree": self._tree, "paths": self._paths, "distances": self._distances,
                "reductions": self._reductions}

    def _tour(self, contents: Contents, points: Points) -> Features:
        line, vertices = _along_streets(contents)
        note = {"note": NO_STREETS} if line is None and has_streets(contents) else {}
        about = {"name": contents.value("instance", "name"), "cost": contents.cost} | note
        yield points[_whole_tour(contents)] if line is None else line, about
        stops = _rows(with_clock_times(contents, TOUR.stops(contents)))
        for row, city in zip(stops, TOUR.edges(contents).vertices.tolist()):
            vertex = {"vertex": vertices[city]} if vertices else {}
            yield points[[city]], self._beside_places(row) | vertex

    def _tree(self, contents: Contents, points: Points) -> Features:
        names, edges, known = contents.unique_names().tolist(), TREE.edges(contents), AnswerEdges(contents)
        ends = list(zip(edges.tails.tolist(), edges.heads.tolist()))
        about = _with_numbers([self._about(known, u, v) for u, v in ends])
        for row, (u, v), own in zip(rows_of(contents), ends, about):
            yield known.line(u, v, points), own | row
        terminals = np.asarray(contents.value("instance", "terminal", ()), np.int64)
        for terminal, name in zip(terminals, named_by_places(contents, "terminal", terminals)):
            yield points[[terminal]], {"name": name, "terminal": names[terminal]}

    def _paths(self, contents: Contents, points: Points) -> Features:
        known = AnswerEdges(contents)
        for row in rows_of(contents):
            path = PATHS.vertices(contents, row["query"])
            about = {name: value for name, value in row.items() if name != "path"}
            if known.has_attributes:
                about = self._about_steps(known, path.tolist()) | about | {"path": row["path"]}
            if len(path):
                yield known.line_of_path(path, points), about

    def _about(self, known: AnswerEdges, tail: int, head: int) -> dict[str, Any]:
        """Return what the input says of an edge, without its line, as properties of a feature."""
        key = {"key": known.key(tail, head)} if known.keyed else {}
        return key | {name: value for name, value in known.attributes(tail, head).items() if name != GEOMETRY}

    def _about_steps(self, known: AnswerEdges, path: list[int]) -> dict[str, list[Any]]:
        """Return the same of the edges of a path: a list for each property, in their order, null where one lacks it."""
        steps = [self._about(known, tail, head) for tail, head in itertools.pairwise(path)]
        names = dict.fromkeys(name for about in steps for name in about)
        return {name: [about.get(name) for about in steps] for name in names}

    def _distances(self, contents: Contents, points: Points) -> Features:
        targets = contents.value("solution", "target")
        ends = np.arange(len(points)) if targets is None else np.asarray(targets, np.int64)
        for row, end in zip(rows_of(contents), itertools.cycle(ends)):
            if row["distance"] is not None:
                yield points[[end]], row

    def _reductions(self, contents: Contents, points: Points) -> Features:
        for row, source in zip(rows_of(contents), np.asarray(contents.value("solution", "source"), np.int64)):
            yield points[[source]], self._beside_places(row)

    def _beside_places(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row as properties of a point, which has the coordinates itself."""
        return {name: value for name, value in row.items() if name not in ("lat", "lon")}

    def _geometry(self, way: Points) -> dict[str, Any]:
        """Return the geometry of a line through these points, which is a point if there is only one.

        The line is cut where it crosses the 180th meridian.
        """
        if len(way) == 1:
            return {"type": "Point", "coordinates": way[0].tolist()}
        parts = [[way[0].tolist()]]
        for (lon, lat), (next_lon, next_lat) in itertools.pairwise(way.tolist()):
            if abs(next_lon - lon) > 180:
                meridian = 180.0 if lon > 0 else -180.0
                across = next_lon + 2 * meridian - lon
                fraction = (meridian - lon) / across if across else 0.0  # 0: both lie on the meridian
                crossing = lat + fraction * (next_lat - lat)
                parts[-1].append([meridian, crossing])
                parts.append([[-meridian, crossing]])
            parts[-1].append([next_lon, next_lat])
        if len(parts) == 1:
            return {"type": "LineString", "coordinates": parts[0]}
        return {"type": "MultiLineString", "coordinates": parts}


class TsplibTour(Exporter):
    """A TSPLIB tour. Its nodes count from 1, so labels are replaced by positions + 1 where one is smaller."""

    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer is not a closed tour, or None if it is one."""
        if not len(contents.value("solution", "tour", ())):
            return "the answer is not a tour"
        return "the answer is an open path, and a TSPLIB tour is closed" if TOUR.is_open(contents) else None

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the lines of the file."""
        order = np.asarray(contents.value("solution", "tour"), np.int64)
        labels = np.asarray(contents.value("instance", "label"))
        name, comment = str(contents.value("instance", "name")), f"cost {contents.attributes['cost']}"
        if labels.min() < 1:
            labels = np.arange(1, len(labels) + 1)
            comment = f"{comment}\nnode k is city k of the instance, counted from 1"
        yield from tour_lines(labels[order], name=name, comment=comment)


class Pace(Exporter):
    """A Steiner tree as in PACE 2018."""

    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer is not a Steiner tree, or None if it is one."""
        kind = answer_in(contents)
        return None if kind is TREE else f"the answer is of kind {kind.name if kind else 'unknown'}, not a Steiner tree"

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the lines of the file."""
        names, found = contents.unique_names().tolist(), TREE.edges(contents)
        ends = ((names[u], names[v]) for u, v in zip(found.tails.tolist(), found.heads.tolist()))
        yield from steiner_solution_lines(contents.cost, ends)


class Dot(Exporter):
    """A graph for Graphviz, whose nodes have positions as identifiers and names as labels."""

    def refusal(self, contents: Contents) -> str | None:
        """Return why the answer has no edges, or None if it has some."""
        if no_tour(contents):
            return no_tour(contents)
        try:
            require_whole(contents).edges(contents, 0)
        except InputError as error:
            return str(error).removeprefix("the result: ")
        return None

    def pieces(self, contents: Contents, number: int | None) -> Iterator[str | bytes]:
        """Yield the lines of the file."""
        found, names = require_whole(contents).edges(contents, number), contents.unique_names().tolist()
        kind, arrow = ("digraph", "->") if found.directed else ("graph", "--")
        terminals = set(np.asarray(contents.value("instance", "terminal", ())).tolist())
        yield f"{kind} {self._quoted(contents.value('instance', 'name'))} {{\n"
        for vertex in found.vertices.tolist():
            shape = ", shape=box" if vertex in terminals else ""
            yield f"  {vertex} [label={self._quoted(names[vertex])}{shape}];\n"
        weights = [None] * len(found.tails) if found.weights is None else found.weights.tolist()
        for tail, head, weight in zip(found.tails.tolist(), found.heads.tolist(), weights):
            label = "" if weight is None else f" [label={self._quoted(shortest(weight))}]"
            yield f"  {tail} {arrow} {head}{label};\n"
        yield "}\n"

    def _quoted(self, name: object) -> str:
        """Return a text in one line, quoted for Graphviz."""
        line = visible(str(name)).replace("\n", " ")
        return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


EXPORTERS: dict[str, Exporter] = {
    ".csv": Csv(), ".geojson": GeoJson(), ".dot": Dot(), ".tour": TsplibTour(), ".pace": Pace(), ".gpx": Gpx(),
    ".xlsx": Frame("openpyxl", _write_sheet, most=2**20 - 1), ".parquet": Frame("pyarrow", _write_parquet),
    ".npy": Npy(),
}
"""Suffix -> the format."""

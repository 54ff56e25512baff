"""TSPLIB 95 files: instances of TSP, ATSP and SOP, TSPTW as LKH-3 reads it, and tours.

Source: G. Reinelt, TSPLIB 95 (the documentation of the library). Matrices may go beyond it: decimal costs are exact or
rounded, and `inf` means that there is no arc. Fixed edges and other problems are refused; so are keywords of other
problems, such as CAPACITY. Keywords that are not known earn a note. Names of cities may stand in the comment, as lines
`CITY LABEL NAME`.

In a sequential ordering problem (SOP) an entry -1 from a to b means that b comes before a. By their convention the path
begins in the first city and ends in the last one, which such entries say too. The section of the matrix may begin with
the number of cities.

TSPTW is a type of K. Helsgaun's LKH-3 (An extension of the Lin-Kernighan-Helsgaun TSP solver for constrained traveling
salesman and vehicle routing problems, 2017): TIME_WINDOW_SECTION has lines `CITY EARLIEST LATEST`, and a service takes
the SERVICE_TIME of all cities but the depot, or that of its line `CITY TIME` in SERVICE_TIME_SECTION. The depot is the
first city.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.problems.distances import FUNCTIONS, dimensions
from hpcsolve.problems.geographic import DEGREES_MINUTES
from hpcsolve.problems.notes import not_used
from hpcsolve.problems.rounding import NUMBER, BadNumber, Costs, Precision, Rounding, costs_of, is_number, whole_numbers
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs, from_points, require_memory
from hpcsolve.problems.windows import windows_beside
from hpcsolve.wording import counted, did_you_mean, nearest, not_solved, shown

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
    "SERVICE_TIME",
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
    *(WINDOW_SECTIONS := ("TIME_WINDOW_SECTION", "SERVICE_TIME_SECTION")),
)

# A line that begins with a letter is a keyword, unless it begins with the name of a number, as costs may be `inf`.
_KEYWORD = re.compile(rb"(?mi)^[ \t]*(?!(?:inf|infinity|nan)\b)([a-z]\w*)[ \t]*(:?)([^\n]*)$")
TYPES = ("TSP", "ATSP", "SOP", "TSPTW")
_A_TOUR = "this is a tour, not an instance; give the .tsp or .atsp file that it is a tour of"
_LINE = re.compile(r"(?m)^CITY (\d{1,18}) (.+)$")


@cache
def _wrong_city(axes: int) -> re.Pattern[bytes]:
    """Return what finds a line that is neither blank nor a city's number, of at most 15 digits, and its coordinates."""
    return re.compile(rb"(?m)^(?!(?:[ \t]*\d{1,15}(?:[ \t]+" + NUMBER.encode() + rb"){%d})?[ \t]*$)" % axes)


class Listed(NamedTuple):
    """The entries of a matrix that a file lists, row by row.

    Attributes
    ----------
    part
        "full", or "upper" or "lower" of a symmetric matrix.
    diagonal
        Whether a triangle includes the diagonal.
    """

    part: str
    diagonal: bool = True

    def count(self, n: int) -> int:
        """Return how many numbers are listed for n cities."""
        return n * n if self.part == "full" else n * (n + 1) // 2 if self.diagonal else n * (n - 1) // 2

    def entries(self, n: int) -> NDArray[np.bool_]:
        """Return which entries of the matrix of n cities are listed, shape (n, n)."""
        if self.part == "full":
            return np.ones((n, n), dtype=bool)
        upper = self.part == "upper"
        below = np.tri(n, k=-1 if self.diagonal == upper else 0, dtype=bool)
        return ~below if upper else below

    def matrix(self, values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Return the whole matrix, shape (n, n): triangles are mirrored, a diagonal that is not listed is 0."""
        if self.part == "full":
            return values.reshape(n, n)
        cost, listed = np.zeros((n, n), dtype=np.int64), self.entries(n)
        cost[listed] = cost.T[listed] = values
        return cost


ORDERS: Mapping[str, Listed] = {
    "FULL_MATRIX": Listed("full"),
    "UPPER_ROW": Listed("upper", False),
    "LOWER_ROW": Listed("lower", False),
    "UPPER_DIAG_ROW": Listed("upper"),
    "LOWER_DIAG_ROW": Listed("lower"),
    "UPPER_COL": Listed("lower", False),
    "LOWER_COL": Listed("upper", False),
    "UPPER_DIAG_COL": Listed("lower"),
    "LOWER_DIAG_COL": Listed("upper"),
}
"""What every EDGE_WEIGHT_FORMAT of explicit costs lists: the columns of one triangle are the rows of the other."""


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

    def _instance_type(self) -> str:
        if "TYPE" not in self.keys and "TOUR_SECTION" in self.sections:
            raise self.file.error(_A_TOUR)
        key = self.required("TYPE", "TSP")
        word = key.value.split()[0].upper()
        if word in TYPES:
            return word
        raise self.file.error(_A_TOUR if word == "TOUR" else _unknown("TYPE", word, list(TYPES)), key.line)

    def _require_supported_sections(self, kind: str) -> None:
        read = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION")
        lines = {name: part.line for parts in (self.sections, self.keys) for name, part in parts.items()}
        for name in (*WINDOW_SECTIONS, "SERVICE_TIME"):
            if kind != "TSPTW" and name in lines:
                raise self.file.error(f"{name}: TYPE is {kind}; write `TYPE: TSPTW` for time windows", lines[name])
        for section in self.sections.values():
            if section.name not in (*read, *((*WINDOW_SECTIONS, "DEPOT_SECTION") if kind == "TSPTW" else ())):
                what = not_solved(section.name) or "of a TSP or ATSP it is not supported"
                message = f"{section.name}: {what}; remove it if the answer may ignore it"
                raise self.file.error(message, section.line)
        for key, value in self.keys.items():
            if what := not_solved(key):
                raise self.file.error(f"{key}: {what}; remove it if the answer may ignore it", value.line)

    def _read_costs(self, kind: str, precision: Precision | None) -> Tsp:
        n, file = self.dimension(), self.file
        weight_type = self.required("EDGE_WEIGHT_TYPE", "EUC_2D")
        word = weight_type.value.upper()
        if word == "EXPLICIT":
            tsp = (self._without_dimension(n) if kind == "SOP" else self)._read_explicit(n, precision)
            if kind == "TSP":
                self._require_symmetric(tsp)
            if kind == "SOP":  # -1 is no cost, but says that the column's city comes before the row's
                before = np.argwhere(tsp.cost == -tsp.scale)
                tsp.cost[tuple(before.T)] = NO_ARC
                tsp = replace(tsp, precedences=tuple((b, a) for a, b in before.tolist()))
            return tsp
        if kind == "SOP":
            why = "its matrix says which cities come before others"
            raise file.error(f"EDGE_WEIGHT_TYPE of a SOP must be EXPLICIT: {why}", weight_type.line)
        if word in FUNCTIONS:
            return self._read_coordinates(n, word)
        raise file.error(_unknown("EDGE_WEIGHT_TYPE", word, ["EXPLICIT", *FUNCTIONS]), weight_type.line)

    def _read_coordinates(self, n: int, weight_type: str) -> Tsp:
        """Return an instance whose costs are the distances between the cities' coordinates."""
        if "EDGE_WEIGHT_SECTION" in self.sections:
            message = f"there is an EDGE_WEIGHT_SECTION, but EDGE_WEIGHT_TYPE is {weight_type} and not EXPLICIT"
            raise self.file.error(message, self.sections["EDGE_WEIGHT_SECTION"].line)
        weight_format = self.keys.get("EDGE_WEIGHT_FORMAT", KeyValue("FUNCTION", 0))
        if weight_format.value.upper() != "FUNCTION":
            message = f"EDGE_WEIGHT_FORMAT is {shown(weight_format.value)}; for {weight_type} it must be FUNCTION"
            raise self.file.error(message, weight_format.line)
        section = self.section("NODE_COORD_SECTION")
        labels, coordinates = self._coordinates(section, n, dimensions(weight_type))
        if weight_type == "GEO":
            self._refuse_decimal_degrees(section, coordinates)
        kind = DEGREES_MINUTES if weight_type == "GEO" else ""
        try:
            tsp = from_points(coordinates, weight_type, self.text("NAME"), labels, comment=self.text("COMMENT"),
                              coordinates_kind=kind)
        except OverflowError:
            message = f"the coordinates are so large that a tour of {n} cities may overflow 62 bits; scale them down"
            raise self.file.error(message, section.line) from None
        return replace(tsp, unit="km") if weight_type == "GEO" else tsp

    def _coordinates(self, section: TsplibSection, n: int, axes: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the labels, shape (n,), and coordinates, shape (n, axes), of a section with one city on each line."""
        text = self.file.content[section.begin : section.end]
        if text.strip() and not _wrong_city(axes).search(text):
            table = np.fromstring(text, np.float64, sep=" ").reshape(-1, axes + 1)
            labels = table[:, 0].astype(np.int64)
            if len(table) == n and np.isfinite(table).all() and np.diff(np.sort(labels)).all():
                return labels, table[:, 1:].copy()
        return self._coordinates_by_line(section, n, axes)

    def _coordinates_by_line(
        self, section: TsplibSection, n: int, axes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the same, line by line, which finds the line of a fault."""
        seen: dict[int, int] = {}
        points: list[list[float]] = []
        line = section.line
        for line, texts in self.lines(section):
            if len(texts) != axes + 1:
                message = f"expected a city's number and {axes} coordinates, found {shown(' '.join(texts))}"
                raise self.file.error(message, line)
            label = self.label(texts[0], line)
            self.file.note_once(seen, label, f"city {label}", line)
            values = [float(text) if is_number(text) else float("nan") for text in texts[1:]]
            for text in (text for text, value in zip(texts[1:], values) if not np.isfinite(value)):
                raise self.file.error(f"a coordinate must be a number, found {shown(text)}", line)
            points.append(values)
            if len(points) > n:
                raise self.file.error(f"more cities in {section.name} than DIMENSION says ({n})", line)
        if len(points) < n:
            raise self.file.error(f"{section.name} ends after {len(points)} of {n} cities", line)
        return np.array(list(seen), dtype=np.int64), np.array(points, dtype=np.float64)

    def label(self, word: str, line: int) -> int:
        """Return a word as a city's number. Raises `InputError` with file and line if that is not 0 or more."""
        label = integer_of(word)
        if label is None:
            raise self.file.error(f"a city's number must be a whole number, found {shown(word)}", line)
        if label < 0:
            raise self.file.error(f"city number {label} is out of range; it must not be negative", line)
        return label

    def _refuse_decimal_degrees(self, section: TsplibSection, points: NDArray[np.float64]) -> None:
        """Refuse coordinates if more than 2 % of them have 60 minutes or more.

        Of random decimal degrees 40 % have such a fraction. Published files have a few by mistake (3 of the 1070 in
        TSPLIB's ali535), and their published optima count on them.
        """
        minutes = 100.0 * np.abs(points - np.trunc(points))
        wrong = minutes >= 60.0 - 1e-7  # 10.6 is read as a float below 10.60
        if np.count_nonzero(wrong) <= points.size / 50:
            return
        city, axis = np.argwhere(wrong)[0].tolist()
        message = (f"{points[city, axis]:.10g} has 60 minutes or more, but GEO means degrees.minutes (30.45 is "
                   "30 degrees 45 minutes); convert decimal degrees to degrees.minutes, or put them into a CSV table "
                   "with columns name, lat, lon")
        raise self.file.error(message, self.line_of_word(section, 3 * city))

    def _without_dimension(self, n: int) -> TsplibParts:
        """Return a file's parts, where the section of the matrix does not begin with the number of cities.

        Raises
        ------
        InputError
            EDGE_WEIGHT_FORMAT is not FULL_MATRIX.
        """
        key = self.required("EDGE_WEIGHT_FORMAT", "FULL_MATRIX")
        if key.value.upper() != "FULL_MATRIX":
            raise self.file.error("EDGE_WEIGHT_FORMAT of a SOP must be FULL_MATRIX", key.line)
        section = self.section("EDGE_WEIGHT_SECTION")
        text = self.file.content[section.begin : section.end]
        first = re.match(rb"\s*(\d+)\s", text)
        if first is None or int(first[1]) != n or len(text.split()) != n * n + 1:
            return self
        begin = section.begin + first.end(1)
        line = section.line + self.file.content.count(b"\n", section.begin, begin)
        matrix = replace(section, line=line, begin=begin)
        return replace(self, sections={**self.sections, "EDGE_WEIGHT_SECTION": matrix})

    def _read_explicit(self, n: int, precision: Precision | None) -> Tsp:
        """Return an instance with a matrix of costs, and perhaps coordinates to draw it."""
        key = self.required("EDGE_WEIGHT_FORMAT", "FULL_MATRIX")
        if key.value.upper() not in ORDERS:
            raise self.file.error(_unknown("EDGE_WEIGHT_FORMAT", key.value.upper(), list(ORDERS)), key.line)
        order = ORDERS[key.value.upper()]
        section = self.section("EDGE_WEIGHT_SECTION")
        values, scale, rounding = self._costs(section, order, n, precision)
        labels, coordinates = np.arange(1, n + 1), None
        for name in ("NODE_COORD_SECTION", "DISPLAY_DATA_SECTION"):
            if name in self.sections and coordinates is None:
                drawn = self.sections[name]  # which only serves to draw
                first = next(self.lines(drawn), (drawn.line, []))[1]
                axes = 3 if len(first) == 4 and name == "NODE_COORD_SECTION" else 2
                labels, coordinates = self._coordinates(drawn, n, axes)
                ascending = np.argsort(labels)
                labels, coordinates = labels[ascending], coordinates[ascending]
        require_memory(n)

        if rounding is not None and (exact := rounding.exact) is not None:
            places = order.matrix(np.arange(len(values)), n).reshape(-1)
            rounding = Rounding(rounding.error, lambda index: exact(int(places[index])))
        return from_costs(
            order.matrix(values, n), self.text("NAME"), labels=labels, scale=scale, rounding=rounding,
            coordinates=coordinates, comment=self.text("COMMENT"),
        )

    def _costs(self, section: TsplibSection, order: Listed, n: int, precision: Precision | None) -> Costs:
        """Return all numbers of a section as integers."""
        numbers: Any = whole_numbers(self.file.content[section.begin : section.end])
        nothing: Any = 0
        if numbers is None:
            numbers, nothing = [word for _, line in self.lines(section) for word in line], "inf"
            for index, word in enumerate(numbers):
                if not is_number(word):
                    raise self.file.error(f"expected a cost, found {shown(word)}", self.line_of_word(section, index))
        self._require_count(section, order, n, len(numbers))
        for place in np.flatnonzero(np.eye(n, dtype=bool)[order.entries(n)]).tolist():
            numbers[place] = nothing
        try:
            return costs_of(numbers, n, precision, self.file.name)
        except BadNumber as problem:
            row, column = np.argwhere(order.entries(n))[problem.index]
            message = f"the cost from city {row + 1} to city {column + 1} {problem.reason}"
            raise self.file.error(message, self.line_of_word(section, problem.index)) from None

    def _require_count(self, section: TsplibSection, order: Listed, n: int, count: int) -> None:
        wanted = order.count(n)
        if count == wanted:
            return
        word = self.text("EDGE_WEIGHT_FORMAT").upper()
        fits = [name for name, other in ORDERS.items() if other.count(n) == count]
        hint = f" (as {' or '.join(fits)} would have)" if fits else ""
        last = self.line_of_word(section, min(count, wanted) if count > wanted else max(count - 1, 0))
        raise self.file.error(f"{section.name} has {count} numbers{hint}, but {word} of {n} cities has {wanted}", last)

    def _require_symmetric(self, tsp: Tsp) -> None:
        if tsp.symmetric:
            return
        row, column = np.argwhere(tsp.cost != tsp.cost.T)[0].tolist()
        a, b = tsp.labels[row], tsp.labels[column]
        line = self.line_of_word(self.sections["EDGE_WEIGHT_SECTION"], row * tsp.n + column)  # of a full matrix
        message = f"TYPE is TSP, but the costs from city {a} to {b} and from {b} to {a} differ; write `TYPE: ATSP`"
        raise InputError(message, self.file.name, line)

    def _with_windows(self, tsp: Tsp) -> Tsp:
        """Return the instance of a TSPTW file with its windows."""
        file, n = self.file, tsp.n
        depot = int(tsp.labels[0])
        if "DEPOT_SECTION" in self.sections:
            section = self.sections["DEPOT_SECTION"]
            cities = [word for _, line in self.lines(section) for word in line if word != "-1"]
            if cities != [str(depot)]:
                message = f"the depot must be the first city, {depot}, alone, found {shown(' '.join(cities))}"
                raise file.error(f"{message}; list the depot first", section.line)
        windows = self._by_city(self.section("TIME_WINDOW_SECTION"), tsp, ("earliest time", "latest time"))
        missing = [int(label) for label in tsp.labels if int(label) not in windows]
        if missing:
            section = self.section("TIME_WINDOW_SECTION")
            what = f"{section.name} has no window of city {missing[0]}; the file may be truncated"
            raise file.error(what, self.line_of_word(section, 3 * n))
        service = self._by_city(self.sections["SERVICE_TIME_SECTION"], tsp, ("service time",)) \
            if "SERVICE_TIME_SECTION" in self.sections else {}
        if "SERVICE_TIME" in self.keys:
            key = self.keys["SERVICE_TIME"]
            if service:
                raise file.error("SERVICE_TIME beside SERVICE_TIME_SECTION; remove one of them", key.line)
            if not is_number(key.value):
                raise file.error(f"SERVICE_TIME is {shown(key.value)}; it must be a number", key.line)
            service = {label: (key.line, [key.value]) for label in tsp.labels.tolist() if label != depot}
        at = [windows[label] for label in tsp.labels.tolist()]
        stays = [service.get(label, (0, ["0"])) for label in tsp.labels.tolist()]
        texts = [*(words[0] for _, words in at), *(words[1] for _, words in at), *(words[0] for _, words in stays)]
        try:
            costs, found = windows_beside(Costs(tsp.cost, tsp.scale, tsp.rounding), n, texts)
        except BadNumber as problem:
            column, city = divmod(problem.index, n)
            what = ("earliest time", "latest time", "service time")[column]
            line = (at[city] if column < 2 else stays[city])[0]
            raise file.error(f"the {what} of city {tsp.labels[city]} {problem.reason}", line) from None
        scaled = tsp if costs.scale == tsp.scale else tsp.with_costs(costs.values, scale=costs.scale)
        return replace(scaled, windows=found)

    def _by_city(
        self, section: TsplibSection, tsp: Tsp, what: tuple[str, ...]
    ) -> dict[int, tuple[int, list[str]]]:
        """Return the line and the numbers of each city, by its label, that a section lists up to -1 or its end."""
        found: dict[int, tuple[int, list[str]]] = {}
        seen: dict[int, int] = {}
        cities = set(tsp.labels.tolist())
        for line, texts in self.lines(section):
            if texts == ["-1"]:
                break
            if len(texts) != 1 + len(what):
                message = f"expected a city's number, {' and '.join(what)}, found {shown(' '.join(texts))}"
                raise self.file.error(message, line)
            label = self.label(texts[0], line)
            if label not in cities:
                raise self.file.error(f"there is no city {label}", line)
            self.file.note_once(seen, label, f"city {label}", line)
            for name, text in zip(what, texts[1:]):
                if not is_number(text):
                    raise self.file.error(f"the {name} must be a number, found {shown(text)}", line)
            found[label] = line, texts[1:]
        return found

    def _tour_labels(self, section: TsplibSection) -> tuple[list[int], list[int]]:
        """Return the labels up to -1 or the end of the section, and the line of each."""
        labels: list[int] = []
        lines: list[int] = []
        ended = False
        for line, texts in self.lines(section):
            for word in texts:
                if word == "-1":
                    ended = True
                elif ended:
                    raise self.file.error("a second tour; give a file with one tour", line)
                else:
                    labels.append(self.label(word, line))
                    lines.append(line)
        return labels, lines

    def dimension(self) -> int:
        """Return the number of cities by the key DIMENSION. Raises `InputError` with file and line if there is none."""
        key = self.required("DIMENSION", "42")
        n = integer_of(key.value)
        if n is None or n < 1:
            raise self.file.error(f"DIMENSION is {shown(key.value)}; it must be the number of cities", key.line)
        return n

    def lines(self, section: TsplibSection) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the words of each line of a section that is not blank."""
        text = decode(self.file.content[section.begin : section.end])
        for number, line in enumerate(text.split("\n"), start=section.line):
            found = words(line)
            if found:
                yield number, found

    def line_of_word(self, section: TsplibSection, index: int) -> int:
        """Return the line of the word with an index (from 0) in a section."""
        line = section.line
        for line, found in self.lines(section):
            index -= len(found)
            if index < 0:
                return line
        return line


def looks_like_tsplib(content: bytes) -> bool:
    """Return whether the first line that is not blank has a keyword of TSPLIB."""
    found = re.match(rb"\s*([A-Za-z_]+)[ \t]*(?::|\n|$)", content)
    return found is not None and found[1].decode().upper() in (*KEYS, *SECTIONS)


def read_tsplib(file: InputFile, precision: Precision | None = None) -> Tsp:
    """Return a TSP, ATSP, SOP or TSPTW instance.

    Raises
    ------
    InputError
        With file and line: what is missing, contradictory, unknown or not a number.
    """
    parts = parts_of(file)
    kind = parts._instance_type()
    parts._require_supported_sections(kind)
    tsp = parts._read_costs(kind, precision)
    if kind == "TSPTW":  # costs are times then, whose unit the file does not say
        tsp = replace(parts._with_windows(tsp), unit="")
    return replace(tsp, notes=not_used([key for key in parts.keys if key not in KEYS], "keyword"))


def parts_of(file: InputFile) -> TsplibParts:
    """Return all keywords and sections, up to EOF or the end of the file.

    Raises
    ------
    InputError
        A keyword or section is given twice, a section is unknown, or a line is neither a keyword nor in a section.
    """
    keys: dict[str, KeyValue] = {}
    comments: list[str] = []
    sections: dict[str, TsplibSection] = {}
    for line, found, begin, end in file.parts(_KEYWORD):
        word = found[1].decode().upper() if found else ""
        if word == "EOF":
            break
        opens = word in SECTIONS or word.endswith("_SECTION")
        if found is not None and not (found[2] or opens or word in KEYS):
            raise file.error(f"neither a number nor a keyword: {shown(decode(found[0]).strip())}", line)
        first = sections.get(word) or (keys.get(word) if word != "COMMENT" else None)
        if first is not None:
            raise file.error(f"{word} is given twice, first on line {first.line}", line)
        if found is not None and opens:
            if word not in SECTIONS:
                raise file.error(f"unknown section {word}{did_you_mean(word, SECTIONS)}", line)
            if found[3].strip(b" \t:"):
                raise file.error(f"{shown(decode(found[3]).strip())} after {word}; data begin on the next line", line)
            sections[word] = TsplibSection(word, line, begin, end)
            continue
        if found is not None:
            value = decode(found[3]).strip()
            keys.setdefault(word, KeyValue(value, line))
            comments += [value] if word == "COMMENT" else []
        stray = re.compile(rb"\S[^\n]*").search(file.content, begin, end)
        if stray is not None:
            message = f"neither a keyword nor in a section: {shown(decode(stray[0]))}"
            raise file.error(message, file.line(stray.start()))
    if comments:
        keys["COMMENT"] = replace(keys["COMMENT"], value="\n".join(comments))
    return TsplibParts(file, keys, sections)


def _unknown(key: str, word: str, known: list[str]) -> str:
    hint = did_you_mean(word, known, f"; known are {', '.join(known)}")
    return f"{key} {shown(word)} is not known{hint}"


def integer_of(word: str) -> int | None:
    """Return a whole number of at most 18 digits, or None if a word is something else."""
    digits = word[1:] if word[:1] in ("+", "-") else word
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def with_names(tsp: Tsp) -> Tsp:
    """Return the instance with city names if its comment has a line `CITY LABEL NAME` for each city."""
    found = {int(label): name for label, name in _LINE.findall(tsp.comment)}
    if tsp.city_names or len(found) != tsp.n or set(found) != set(tsp.labels.tolist()):
        return tsp
    rest = re.sub(r"(?m)^CITY \d+ .+\n?", "", tsp.comment).strip()
    return replace(tsp, city_names=tuple(found[label].strip() for label in tsp.labels.tolist()), comment=rest)


def read_tour_text(file: InputFile) -> NDArray[np.int64]:
    """Return the labels of the cities of a TOUR file in their order.

    Raises
    ------
    InputError
        With file and line: there is no tour or more than one, a city is listed twice, or DIMENSION is another number.
    """
    parts = parts_of(file)
    kind = parts.text("TYPE").split()[:1]
    if kind and kind[0].upper() != "TOUR":
        raise file.error(f"TYPE is {kind[0]}, not TOUR; give a .tour file", parts.keys["TYPE"].line)
    labels, lines = parts._tour_labels(parts.section("TOUR_SECTION"))
    seen: dict[int, int] = {}
    for label, line in zip(labels, lines, strict=True):
        file.note_once(seen, label, f"city {label}", line)
    if "DIMENSION" in parts.keys and parts.dimension() != len(labels):
        where = parts.keys["DIMENSION"].line
        raise file.error(f"DIMENSION is {parts.dimension()}, but the tour has {counted(len(labels), 'city')}", where)
    if not labels:
        raise file.error("the tour has no cities", parts.sections["TOUR_SECTION"].line)
    return np.array(labels, dtype=np.int64)

"""TSPLIB 95 files of TSP, ATSP and SOP instances.

Source: G. Reinelt, TSPLIB 95 (the documentation of the library). Matrices may go beyond it: decimal costs are exact or
rounded, and `inf` means that there is no arc. Fixed edges and other problems are refused; so are keywords of other
problems, such as CAPACITY. Keywords that are not known earn a note.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.tsp.distances import dimensions, distance_functions, distance_matrix, first_decimal_degrees
from hpcsolve.formats.tsp.entry_order import EntryOrder, entry_orders
from hpcsolve.formats.tsp.sequential import with_precedences, without_dimension
from hpcsolve.formats.tsp.tsplib_sections import (
    KEYS,
    KeyValue,
    TsplibParts,
    TsplibSection,
    dimension_of,
    integers_only,
    label_of,
    line_of_word,
    lines_of,
    parts_of,
)
from hpcsolve.problems.decimals import BadNumber, is_number, shown
from hpcsolve.problems.geographic import DEGREES_MINUTES
from hpcsolve.problems.notes import not_used
from hpcsolve.problems.rounding import Costs, Precision, Rounding, costs_from_texts
from hpcsolve.problems.tsp import Tsp, from_costs, largest_cost, require_memory
from hpcsolve.wording import did_you_mean, not_solved

TYPES = ("TSP", "ATSP", "SOP")
_A_TOUR = "this is a tour, not an instance; give the .tsp or .atsp file that it is a tour of"


def read_tsplib(file: InputFile, precision: Precision | None = None) -> Tsp:
    """Return a TSP, ATSP or SOP instance.

    Raises
    ------
    InputError
        With file and line: what is missing, contradictory, unknown or not a number.
    """
    parts = parts_of(file)
    kind = _instance_type(parts)
    _require_supported_sections(parts)
    tsp = _read_costs(parts, kind, precision)
    return replace(tsp, notes=not_used([key for key in parts.keys if key not in KEYS], "keyword"))


def _read_costs(parts: TsplibParts, kind: str, precision: Precision | None) -> Tsp:
    n, file = dimension_of(parts), parts.file
    weight_type = parts.required("EDGE_WEIGHT_TYPE", "EUC_2D")
    word = weight_type.value.upper()
    if word == "EXPLICIT":
        tsp = _read_explicit(without_dimension(parts, n) if kind == "SOP" else parts, n, precision)
        if kind == "TSP":
            _require_symmetric(parts, tsp)
        return with_precedences(tsp) if kind == "SOP" else tsp
    if kind == "SOP":
        why = "its matrix says which cities come before others"
        raise file.error(f"EDGE_WEIGHT_TYPE of a SOP must be EXPLICIT: {why}", weight_type.line)
    if word in distance_functions():
        return _read_coordinates(parts, n, word)
    raise file.error(_unknown("EDGE_WEIGHT_TYPE", word, ["EXPLICIT", *distance_functions()]), weight_type.line)


def _instance_type(parts: TsplibParts) -> str:
    if "TYPE" not in parts.keys and "TOUR_SECTION" in parts.sections:
        raise parts.file.error(_A_TOUR)
    key = parts.required("TYPE", "TSP")
    word = key.value.split()[0].upper()
    if word in TYPES:
        return word
    raise parts.file.error(_A_TOUR if word == "TOUR" else _unknown("TYPE", word, list(TYPES)), key.line)


def _require_supported_sections(parts: TsplibParts) -> None:
    read = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION")
    for section in parts.sections.values():
        if section.name not in read:
            what = not_solved(section.name) or "of a TSP or ATSP it is not supported"
            message = f"{section.name}: {what}; remove it if the answer may ignore it"
            raise parts.file.error(message, section.line)
    for key, value in parts.keys.items():
        if what := not_solved(key):
            raise parts.file.error(f"{key}: {what}; remove it if the answer may ignore it", value.line)


def _unknown(key: str, word: str, known: list[str]) -> str:
    hint = did_you_mean(word, known, f"; known are {', '.join(known)}")
    return f"{key} {shown(word)} is not known{hint}"


def _read_coordinates(parts: TsplibParts, n: int, weight_type: str) -> Tsp:
    """Return an instance whose costs are the distances between the cities' coordinates."""
    if "EDGE_WEIGHT_SECTION" in parts.sections:
        message = f"there is an EDGE_WEIGHT_SECTION, but EDGE_WEIGHT_TYPE is {weight_type} and not EXPLICIT"
        raise parts.file.error(message, parts.sections["EDGE_WEIGHT_SECTION"].line)
    weight_format = parts.keys.get("EDGE_WEIGHT_FORMAT", KeyValue("FUNCTION", 0))
    if weight_format.value.upper() != "FUNCTION":
        message = f"EDGE_WEIGHT_FORMAT is {shown(weight_format.value)}; for {weight_type} it must be FUNCTION"
        raise parts.file.error(message, weight_format.line)
    section = parts.section("NODE_COORD_SECTION")
    labels, coordinates = _coordinates(parts, section, n, dimensions(weight_type))
    if weight_type == "GEO":
        _refuse_decimal_degrees(parts, section, coordinates)
    require_memory(n)
    cost = distance_matrix(coordinates, weight_type, largest_cost(n))
    if cost is None:
        message = f"the coordinates are so large that a tour of {n} cities may overflow 62 bits; scale them down"
        raise parts.file.error(message, section.line)
    kind = DEGREES_MINUTES if weight_type == "GEO" else ""
    return from_costs(cost, parts.text("NAME"), labels=labels, coordinates=coordinates, comment=parts.text("COMMENT"),
                      coordinates_kind=kind)


def _refuse_decimal_degrees(parts: TsplibParts, section: TsplibSection, points: NDArray[np.float64]) -> None:
    found = first_decimal_degrees(points)
    if found is not None:
        value = f"{points[found]:.10g}"
        line = line_of_word(parts, section, 3 * found[0])
        message = f"{value} has 60 minutes or more, but GEO means degrees.minutes (30.45 is 30 degrees 45 minutes)"
        way_out = "convert decimal degrees to degrees.minutes, or put them into a CSV table with columns name, lat, lon"
        raise parts.file.error(f"{message}; {way_out}", line)


def _coordinates(
    parts: TsplibParts, section: TsplibSection, n: int, axes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the labels, shape (n,), and coordinates, shape (n, axes), of a section with one city on each line."""
    seen: dict[int, int] = {}
    points: list[list[float]] = []
    line = section.line
    for line, words in lines_of(parts, section):
        if len(words) != axes + 1:
            message = f"expected a city's number and {axes} coordinates, found {shown(' '.join(words))}"
            raise parts.file.error(message, line)
        label = label_of(parts, words[0], line)
        if label in seen:
            raise parts.file.error(f"city {label} is given twice, first on line {seen[label]}", line)
        seen[label] = line
        points.append([_coordinate(parts, word, line) for word in words[1:]])
        if len(points) > n:
            raise parts.file.error(f"more cities in {section.name} than DIMENSION says ({n})", line)
    if len(points) < n:
        raise parts.file.error(f"{section.name} ends after {len(points)} of {n} cities", line)
    return np.array(list(seen), dtype=np.int64), np.array(points, dtype=np.float64)


def _coordinate(parts: TsplibParts, word: str, line: int) -> float:
    value = float(word) if is_number(word) else float("nan")
    if not np.isfinite(value):
        raise parts.file.error(f"a coordinate must be a number, found {shown(word)}", line)
    return value


def _read_explicit(parts: TsplibParts, n: int, precision: Precision | None) -> Tsp:
    """Return an instance with a matrix of costs, and perhaps coordinates to draw it."""
    order = _entry_order(parts)
    section = parts.section("EDGE_WEIGHT_SECTION")
    values, scale, rounding = _costs(parts, section, order, n, precision)
    labels, coordinates = np.arange(1, n + 1), None
    for name in ("NODE_COORD_SECTION", "DISPLAY_DATA_SECTION"):
        if name in parts.sections and coordinates is None:
            labels, coordinates = _coordinates(parts, parts.sections[name], n, _axes(parts, parts.sections[name]))
            ascending = np.argsort(labels)
            labels, coordinates = labels[ascending], coordinates[ascending]
    require_memory(n)

    def location(row: int, column: int) -> tuple[str, int]:
        return parts.file.name, line_of_word(parts, section, order.index(n, row, column))

    def exact(index: int) -> Decimal:
        assert rounding is not None and rounding.exact is not None
        return rounding.exact(order.index(n, *divmod(index, n)))

    name, comment = parts.text("NAME"), parts.text("COMMENT")
    cost = order.matrix(values, n)
    return from_costs(
        cost, name, labels=labels, scale=scale, rounding=rounding and Rounding(rounding.error, exact),
        coordinates=coordinates, comment=comment, location=location,
    )


def _entry_order(parts: TsplibParts) -> EntryOrder:
    key = parts.required("EDGE_WEIGHT_FORMAT", "FULL_MATRIX")
    known = entry_orders()
    if key.value.upper() not in known:
        raise parts.file.error(_unknown("EDGE_WEIGHT_FORMAT", key.value.upper(), list(known)), key.line)
    return known[key.value.upper()]


def _axes(parts: TsplibParts, section: TsplibSection) -> int:
    """Return the number of coordinates of each city in a section that only serves to draw: 2, or 3."""
    first = next(lines_of(parts, section), (section.line, []))
    return 3 if len(first[1]) == 4 and section.name == "NODE_COORD_SECTION" else 2


def _costs(
    parts: TsplibParts, section: TsplibSection, order: EntryOrder, n: int, precision: Precision | None
) -> Costs:
    """Return all numbers of a section as integers."""
    text = parts.file.content[section.begin : section.end]
    if integers_only(text):
        values = np.fromstring(text, dtype=np.int64, sep=" ") if text.strip() else np.empty(0, dtype=np.int64)
        _require_count(parts, section, order, n, len(values))
        return Costs(values, 1)
    words = [word for _, line in lines_of(parts, section) for word in line]
    for index, word in enumerate(words):
        if not is_number(word):
            message = f"expected a cost, found {shown(word)}"
            raise parts.file.error(message, line_of_word(parts, section, index))
    _require_count(parts, section, order, n, len(words))
    if order.diagonal:
        for row in range(n):
            words[order.index(n, row, row)] = "inf"
    try:
        return costs_from_texts(words, n, largest_cost(n), precision, parts.file.name)
    except BadNumber as problem:
        row, column = order.entry(n, problem.index)
        message = f"the cost from city {row + 1} to city {column + 1} {problem.reason}"
        raise parts.file.error(message, line_of_word(parts, section, problem.index)) from None


def _require_count(parts: TsplibParts, section: TsplibSection, order: EntryOrder, n: int, count: int) -> None:
    wanted = order.count(n)
    if count == wanted:
        return
    word = parts.text("EDGE_WEIGHT_FORMAT").upper()
    fits = [name for name, other in entry_orders().items() if other.count(n) == count]
    hint = f" (as {' or '.join(fits)} would have)" if fits else ""
    last = line_of_word(parts, section, min(count, wanted) if count > wanted else max(count - 1, 0))
    raise parts.file.error(f"{section.name} has {count} numbers{hint}, but {word} of {n} cities has {wanted}", last)


def _require_symmetric(parts: TsplibParts, tsp: Tsp) -> None:
    if tsp.symmetric:
        return
    row, column = (int(i) for i in np.argwhere(tsp.cost != tsp.cost.T)[0])
    a, b = tsp.labels[row], tsp.labels[column]
    section = parts.sections["EDGE_WEIGHT_SECTION"]
    line = line_of_word(parts, section, _entry_order(parts).index(tsp.n, row, column))
    message = f"TYPE is TSP, but the costs from city {a} to {b} and from {b} to {a} differ; write `TYPE: ATSP`"
    raise InputError(message, parts.file.name, line)

"""TSPLIB 95 files: TSP and ATSP instances, and tours.

Source: G. Reinelt, TSPLIB 95 (the documentation of the library). Beyond it, for matrices of our own: decimal costs,
scaled exactly, and `inf` where there is no arc. Not read: fixed edges, and other problems than TSP and ATSP.
"""

from __future__ import annotations

import difflib

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.base import Source
from hpcsolve.formats.distances import dimensions, distance_functions, distance_matrix
from hpcsolve.formats.layouts import Layout, layouts
from hpcsolve.formats.tsplib_sections import Key, Section, TsplibFile, integers_only, line_of_word, lines_of, take_apart
from hpcsolve.problems.decimals import BadNumber, exact_from_texts, is_number, shown
from hpcsolve.problems.tsp import Tsp, from_costs, largest_cost, require_memory

_OTHER_TYPES = {
    "SOP": "SOP is not solved yet; hpcsolve solves TSP and ATSP",
    "HCP": "HCP (Hamiltonian cycles) is not solved; hpcsolve solves TSP and ATSP",
    "CVRP": "CVRP (vehicle routing) is not solved; hpcsolve solves TSP and ATSP",
    "TOUR": "this is a tour, not an instance; give the .tsp or .atsp file that it is a tour of",
}


def read_tsplib(source: Source) -> Tsp:
    """Read a TSP or ATSP instance.

    Parameters
    ----------
    source
        As `text_source` gives it.

    Raises
    ------
    InputError
        With file and line: whatever is missing, contradictory, unknown or no number.
    """
    file = take_apart(source)
    kind = _instance_type(file)
    _require_supported_sections(file)
    n = _dimension(file)
    weight_type = file.required("EDGE_WEIGHT_TYPE", "EUC_2D")
    word = weight_type.value.upper()
    if word == "EXPLICIT":
        tsp = _read_explicit(file, n)
        if kind == "TSP":
            _require_symmetric(file, tsp)
        return tsp
    if word in distance_functions():
        return _read_coordinates(file, n, word)
    raise source.error(_unknown("EDGE_WEIGHT_TYPE", word, ["EXPLICIT", *distance_functions()]), weight_type.line)


def read_tour_text(source: Source) -> NDArray[np.int64]:
    """Read a TOUR file: the labels of its cities, in order.

    Raises
    ------
    InputError
        With file and line: no tour, a city twice, a number of cities other than DIMENSION, several tours.
    """
    file = take_apart(source)
    kind = file.text("TYPE").split()[:1]
    if kind and kind[0].upper() != "TOUR":
        raise source.error(f"TYPE is {kind[0]}, not TOUR; give a .tour file", file.keys["TYPE"].line)
    labels, lines = _tour_labels(file, file.section("TOUR_SECTION"))
    seen: dict[int, int] = {}
    for label, line in zip(labels, lines, strict=True):
        if label in seen:
            raise source.error(f"city {label} for the second time; it stands on line {seen[label]} already", line)
        seen[label] = line
    if "DIMENSION" in file.keys and _dimension(file) != len(labels):
        where = file.keys["DIMENSION"].line
        raise source.error(f"DIMENSION is {_dimension(file)}, but the tour has {len(labels)} cities", where)
    if not labels:
        raise source.error("the tour has no cities", file.sections["TOUR_SECTION"].line)
    return np.array(labels, dtype=np.int64)


def _instance_type(file: TsplibFile) -> str:
    if "TYPE" not in file.keys and "TOUR_SECTION" in file.sections:
        raise file.source.error(_OTHER_TYPES["TOUR"])
    key = file.required("TYPE", "TSP")
    word = key.value.split()[0].upper()
    if word in ("TSP", "ATSP"):
        return word
    raise file.source.error(_OTHER_TYPES.get(word) or _unknown("TYPE", word, ["TSP", "ATSP"]), key.line)


def _require_supported_sections(file: TsplibFile) -> None:
    read = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION")
    for section in file.sections.values():
        if section.name not in read:
            message = f"{section.name} is not supported in a TSP or ATSP; the answer would ignore it"
            raise file.source.error(message, section.line)


def _dimension(file: TsplibFile) -> int:
    key = file.required("DIMENSION", "42")
    n = _integer(key.value)
    if n is None or n < 1:
        raise file.source.error(f"DIMENSION is {shown(key.value)}; it must be the number of cities", key.line)
    return n


def _integer(word: str) -> int | None:
    """A whole number of at most 18 digits, or None."""
    digits = word[1:] if word[:1] in ("+", "-") else word
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def _unknown(key: str, word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    hint = f", did you mean {close[0]}?" if close else ""
    return f"{key} {shown(word)} is not known{hint}; known are {', '.join(known)}"


def _read_coordinates(file: TsplibFile, n: int, weight_type: str) -> Tsp:
    """An instance whose costs are distances between its cities' coordinates."""
    if "EDGE_WEIGHT_SECTION" in file.sections:
        message = f"EDGE_WEIGHT_SECTION, but EDGE_WEIGHT_TYPE is {weight_type}; for a matrix it must be EXPLICIT"
        raise file.source.error(message, file.sections["EDGE_WEIGHT_SECTION"].line)
    weight_format = file.keys.get("EDGE_WEIGHT_FORMAT", Key("FUNCTION", 0))
    if weight_format.value.upper() != "FUNCTION":
        message = f"EDGE_WEIGHT_FORMAT is {shown(weight_format.value)}; for {weight_type} it must be FUNCTION"
        raise file.source.error(message, weight_format.line)
    section = file.section("NODE_COORD_SECTION")
    labels, coordinates = _coordinates(file, section, n, dimensions(weight_type))
    require_memory(n)
    cost = distance_matrix(coordinates, weight_type, largest_cost(n))
    if cost is None:
        message = f"coordinates so large that a tour of {n} cities may overflow 62 bits; divide them"
        raise file.source.error(message, section.line)
    name, comment = file.text("NAME"), file.text("COMMENT")
    return from_costs(cost, name, labels=labels, coordinates=coordinates, comment=comment)


def _coordinates(
    file: TsplibFile, section: Section, n: int, axes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels, shape (n,), and coordinates, shape (n, axes), one city a line."""
    seen: dict[int, int] = {}
    places: list[list[float]] = []
    line = section.line
    for line, words in lines_of(file, section):
        if len(words) != axes + 1:
            message = f"expected a city's number and {axes} coordinates, found {shown(' '.join(words))}"
            raise file.source.error(message, line)
        label = _label(file, words[0], line)
        if label in seen:
            raise file.source.error(f"city {label} for the second time; it stands on line {seen[label]} already", line)
        seen[label] = line
        places.append([_coordinate(file, word, line) for word in words[1:]])
        if len(places) > n:
            raise file.source.error(f"more cities in {section.name} than DIMENSION says, {n}", line)
    if len(places) < n:
        raise file.source.error(f"{section.name} ends after {len(places)} of {n} cities", line)
    return np.array(list(seen), dtype=np.int64), np.array(places, dtype=np.float64)


def _label(file: TsplibFile, word: str, line: int) -> int:
    label = _integer(word)
    if label is None:
        raise file.source.error(f"a city's number must be a whole number, found {shown(word)}", line)
    if label < 0:
        raise file.source.error(f"city number {label} is out of range; it must not be negative", line)
    return label


def _coordinate(file: TsplibFile, word: str, line: int) -> float:
    value = float(word) if is_number(word) else float("nan")
    if not np.isfinite(value):
        raise file.source.error(f"a coordinate must be a number, found {shown(word)}", line)
    return value


def _read_explicit(file: TsplibFile, n: int) -> Tsp:
    """An instance with a matrix of costs, and perhaps coordinates to draw it."""
    layout = _layout(file)
    section = file.section("EDGE_WEIGHT_SECTION")
    values, scale = _costs(file, section, layout, n)
    labels, coordinates = np.arange(1, n + 1), None
    for name in ("NODE_COORD_SECTION", "DISPLAY_DATA_SECTION"):
        if name in file.sections and coordinates is None:
            labels, coordinates = _coordinates(file, file.sections[name], n, _axes(file, file.sections[name]))
            order = np.argsort(labels)
            labels, coordinates = labels[order], coordinates[order]
    require_memory(n)

    def place(row: int, column: int) -> tuple[str, int]:
        return file.source.name, line_of_word(file, section, layout.index(n, row, column))

    name, comment = file.text("NAME"), file.text("COMMENT")
    cost = layout.matrix(values, n)
    return from_costs(cost, name, labels=labels, scale=scale, coordinates=coordinates, comment=comment, place=place)


def _layout(file: TsplibFile) -> Layout:
    key = file.required("EDGE_WEIGHT_FORMAT", "FULL_MATRIX")
    known = layouts()
    if key.value.upper() not in known:
        raise file.source.error(_unknown("EDGE_WEIGHT_FORMAT", key.value.upper(), list(known)), key.line)
    return known[key.value.upper()]


def _axes(file: TsplibFile, section: Section) -> int:
    """Coordinates a city in a section that only serves to draw: as its first line has them."""
    first = next(lines_of(file, section), (section.line, []))
    return 3 if len(first[1]) == 4 and section.name == "NODE_COORD_SECTION" else 2


def _costs(file: TsplibFile, section: Section, layout: Layout, n: int) -> tuple[NDArray[np.int64], int]:
    """All numbers of the section as exact integers, and their scale."""
    text = file.source.content[section.begin : section.end]
    if integers_only(text):
        values = np.fromstring(text, dtype=np.int64, sep=" ") if text.strip() else np.empty(0, dtype=np.int64)
        _require_count(file, section, layout, n, len(values))
        return values, 1
    words = [word for _, line in lines_of(file, section) for word in line]
    for index, word in enumerate(words):
        if not is_number(word):
            message = f"expected a cost, found {shown(word)}"
            raise file.source.error(message, line_of_word(file, section, index))
    _require_count(file, section, layout, n, len(words))
    if layout.diagonal:
        for row in range(n):
            words[layout.index(n, row, row)] = "inf"
    try:
        return exact_from_texts(words, largest_cost(n))
    except BadNumber as problem:
        row, column = layout.entry(n, problem.index)
        message = f"the cost from city {row + 1} to city {column + 1} {problem.reason}"
        raise file.source.error(message, line_of_word(file, section, problem.index)) from None


def _require_count(file: TsplibFile, section: Section, layout: Layout, n: int, count: int) -> None:
    wanted = layout.count(n)
    if count == wanted:
        return
    word = file.text("EDGE_WEIGHT_FORMAT").upper()
    fits = [name for name, other in layouts().items() if other.count(n) == count]
    hint = f" (as {' or '.join(fits)} would have)" if fits else ""
    last = line_of_word(file, section, min(count, wanted) if count > wanted else max(count - 1, 0))
    raise file.source.error(f"{section.name} has {count} numbers{hint}, {word} of {n} cities has {wanted}", last)


def _require_symmetric(file: TsplibFile, tsp: Tsp) -> None:
    if tsp.symmetric:
        return
    row, column = (int(i) for i in np.argwhere(tsp.cost != tsp.cost.T)[0])
    a, b = tsp.labels[row], tsp.labels[column]
    section = file.sections["EDGE_WEIGHT_SECTION"]
    line = line_of_word(file, section, _layout(file).index(tsp.n, row, column))
    message = f"TYPE is TSP, but the costs from city {a} to {b} and from {b} to {a} differ; say `TYPE: ATSP`"
    raise InputError(message, file.source.name, line)


def _tour_labels(file: TsplibFile, section: Section) -> tuple[list[int], list[int]]:
    """Labels up to -1 or the section's end, and the line of each."""
    labels: list[int] = []
    lines: list[int] = []
    ended = False
    for line, words in lines_of(file, section):
        for word in words:
            if word == "-1":
                ended = True
            elif ended:
                raise file.source.error("a second tour; give a file with one tour", line)
            else:
                labels.append(_label(file, word, line))
                lines.append(line)
    return labels, lines

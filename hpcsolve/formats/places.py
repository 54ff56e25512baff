"""Tables of places: a header that names the columns, then name, latitude and longitude of one place on each line.

Costs are great-circle distances in whole metres or, where a speed is given, travel times in whole seconds; then columns
earliest, latest and service are time windows. Other columns are not used, which a note says. Between semicolons or
tabs degrees may have a decimal comma (`tables.with_points`).
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, decode, write_text
from hpcsolve.formats.order_files import windows_of_places
from hpcsolve.formats.tables import Row, cells_of, delimiter_of, shortest, with_points
from hpcsolve.problems import geographic
from hpcsolve.problems.distances import GREAT_CIRCLE
from hpcsolve.problems.notes import not_used
from hpcsolve.problems.rounding import Precision, is_number
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import shown

_HEADER = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*([^\n]*)")
_LARGEST_HEADER = 1 << 16
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def looks_like_places(content: bytes) -> bool:
    """Return whether the first line that is neither blank nor a comment names a latitude and a longitude."""
    try:
        return geographic.has_place_columns(header_of(content))
    except csv.Error:
        return False


def header_of(content: bytes) -> list[str]:
    """Return the cells of the first line that is neither blank nor a comment. Raises `csv.Error`."""
    found = _HEADER.match(content[:_LARGEST_HEADER])
    assert found is not None
    header = decode(found[1])
    return list(cells_of(header, delimiter_of(header) or ","))


def read_places(file: InputFile, precision: Precision | None = None, speed: float | None = None) -> Tsp:
    """Return the problem of a table of places. Distances are whole metres, whatever the precision.

    Parameters
    ----------
    speed
        In km/h: with it costs are seconds (`geographic.at_speed`), and the table may have time windows.

    Raises
    ------
    InputError
        With file and line: a column is missing or there twice, a line has too few or too many cells, or a number is
        missing or out of range; or as `windows_of_places`.
    """
    (title_line, header), *rows = table_rows(file)
    try:
        columns, times = geographic.place_columns(header), geographic.time_columns(header, speed)
    except ValueError as problem:
        raise file.error(str(problem), title_line) from None
    naming = columns.label if columns.name is None else columns.name
    lines: list[int] = []
    named: list[str] = []
    ids: list[str] = []
    places: list[tuple[float, float]] = []
    timed: list[tuple[int | None, dict[str, str]]] = []
    for line, cells in rows:
        if len(cells) != len(header):
            hint = "; put quotes around a text with commas" if len(cells) > len(header) else ""
            raise file.error(f"{len(cells)} cells under a header of {len(header)}{hint}", line)
    degrees = (columns.latitude, columns.longitude)
    for numbers in (degrees, *((column,) for column in times.values())):  # apart, since 8.00 may be meant as 08:00
        rows = with_points(file, rows, delimiter_of_table(file), numbers, False)
    for line, cells in rows:
        if naming is not None and not cells[naming]:
            raise file.error(f"the {'id' if columns.name is None else 'name'} is missing", line)
        places.append((_degrees(file, cells[columns.latitude], "latitude", line),
                       _degrees(file, cells[columns.longitude], "longitude", line)))
        lines.append(line)
        named += [] if naming is None else [cells[naming]]
        ids += [] if columns.label is None else [cells[columns.label]]
        timed.append((line, {title: cells[column] for title, column in times.items()}))
    if not places:
        raise file.error("there are no places below the header", title_line)
    labels = None if columns.label is None else _labels(file, lines, ids, columns.name is not None)
    latitudes, longitudes = np.array(places).T
    tsp = geographic.from_places(
        latitudes, longitudes, file.stem or "places", labels=labels, notes=not_used(columns.unused(header, times)),
        city_names=named if columns.name is not None or labels is None else (),
    )
    if speed is None:
        return tsp
    tsp = geographic.at_speed(tsp, speed)
    return replace(tsp, windows=windows_of_places(file, timed, tsp)) if times else tsp


def table_rows(file: InputFile) -> Iterator[Row]:
    """Yield the header and each row that is not blank: the number of its first line, and its cells."""
    found = _HEADER.match(file.content)
    assert found is not None
    begin, line = found.start(1), file.line(found.start(1))
    text = io.StringIO(decode(file.content[begin:]), newline="\n")
    rows = csv.reader(text, delimiter=delimiter_of_table(file), skipinitialspace=True, strict=True)
    while True:
        first = line + rows.line_num
        try:
            cells = next(rows, None)
        except csv.Error as problem:
            raise file.error(f"not a row of a CSV table: {problem}", first) from None
        if cells is None:
            return
        cells = [" ".join(cell.split()) for cell in cells]
        if any(cells):
            yield Row(first, cells)


def delimiter_of_table(file: InputFile) -> str:
    """Return what separates the cells of a table of places, as its header shows."""
    found = _HEADER.match(file.content)
    assert found is not None
    return delimiter_of(decode(found[1])) or ","


def _degrees(file: InputFile, text: str, what: str, line: int) -> float:
    if not text:
        raise file.error(f"the {what} is missing", line)
    value = float(text) if is_number(text) else float("nan")
    if not math.isfinite(value):
        comma = re.fullmatch(r"[+-]?\d+,\d+", text)
        hint = "give decimal degrees"
        if comma:
            hint = "write decimals with a point, or semicolons between cells"
            if file.suffix in (".xlsx", ".xlsm"):
                hint = "some decimals are texts with a comma, others numbers; make all of them numbers"
        raise file.error(f"the {what} {shown(text)} is not a number; {hint}", line)
    wrong = geographic.out_of_range(value, what)
    if wrong:
        raise file.error(wrong, line)
    return value


def _labels(file: InputFile, lines: Sequence[int], ids: Sequence[str], named: bool) -> list[int] | None:
    """Return the ids of the places on these lines, or None if one is not a whole number.

    Raises
    ------
    InputError
        Two of them are the same; or only some are whole numbers, although there is a column of names too (`named`).
    """
    whole = [_WHOLE.fullmatch(text) is not None for text in ids]
    if not all(whole):
        if named and any(whole):
            line = lines[whole.index(False)]
            raise file.error("the id is not a whole number, but other ids are; number all places or none", line)
        return None
    seen: dict[int, int] = {}
    for line, label in zip(lines, map(int, ids)):
        file.note_once(seen, label, f"id {label}", line)
    return list(seen)


def write_places(tsp: Tsp, path: str) -> None:
    """Write a table of places with the columns id, name (where there are names), lat and lon.

    Raises
    ------
    InputError
        The costs are not great-circle distances between places.
    EnvironmentFault
        The file cannot be written.
    """
    places = tsp.coordinates
    if places is None or tsp.coordinates_kind != geographic.DEGREES:
        raise InputError("has no latitudes and longitudes in decimal degrees; write it as .tsp or .npy", tsp.name)
    if tsp.metric != GREAT_CIRCLE:
        raise InputError("its costs are not its great-circle distances; write it as .tsp or .npy", tsp.name)
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(["id", *(["name"] if tsp.city_names else []), "lat", "lon"])
    names = [[name] for name in tsp.city_names] or [[]] * tsp.n
    for label, name, place in zip(tsp.labels.tolist(), names, places.tolist(), strict=True):
        table.writerow([label, *name, *map(shortest, place)])
    write_text(stream.getvalue(), path)

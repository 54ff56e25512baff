"""Tours in files of TSPLIB 95."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import InputFile
from hpcsolve.formats.tsp.tsplib_sections import (
    TsplibParts,
    TsplibSection,
    dimension_of,
    label_of,
    lines_of,
    parts_of,
)
from hpcsolve.wording import counted


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
    labels, lines = _tour_labels(parts, parts.section("TOUR_SECTION"))
    seen: dict[int, int] = {}
    for label, line in zip(labels, lines, strict=True):
        if label in seen:
            raise file.error(f"city {label} is given twice, first on line {seen[label]}", line)
        seen[label] = line
    if "DIMENSION" in parts.keys and dimension_of(parts) != len(labels):
        where = parts.keys["DIMENSION"].line
        raise file.error(f"DIMENSION is {dimension_of(parts)}, but the tour has {counted(len(labels), 'city')}", where)
    if not labels:
        raise file.error("the tour has no cities", parts.sections["TOUR_SECTION"].line)
    return np.array(labels, dtype=np.int64)


def _tour_labels(parts: TsplibParts, section: TsplibSection) -> tuple[list[int], list[int]]:
    """Return the labels up to -1 or the end of the section, and the line of each."""
    labels: list[int] = []
    lines: list[int] = []
    ended = False
    for line, words in lines_of(parts, section):
        for word in words:
            if word == "-1":
                ended = True
            elif ended:
                raise parts.file.error("a second tour; give a file with one tour", line)
            else:
                labels.append(label_of(parts, word, line))
                lines.append(line)
    return labels, lines

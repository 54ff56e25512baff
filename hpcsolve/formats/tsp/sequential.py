"""Sequential ordering problems (SOP) in TSPLIB's files: a full matrix in which -1 says what comes before.

An entry -1 from a to b means that b comes before a. By their convention the path begins in the first city and ends in
the last one, which such entries say too. The section of the matrix may begin with the number of cities.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats.tsp.tsplib_sections import TsplibParts
from hpcsolve.problems.tsp import FORBIDDEN, Tsp

SECTION = "EDGE_WEIGHT_SECTION"


def without_dimension(parts: TsplibParts, n: int) -> TsplibParts:
    """Return a file's parts, where the section of the matrix does not begin with the number of cities.

    Raises
    ------
    InputError
        EDGE_WEIGHT_FORMAT is not FULL_MATRIX.
    """
    key = parts.required("EDGE_WEIGHT_FORMAT", "FULL_MATRIX")
    if key.value.upper() != "FULL_MATRIX":
        raise parts.file.error("EDGE_WEIGHT_FORMAT of a SOP must be FULL_MATRIX", key.line)
    section = parts.section(SECTION)
    text = parts.file.content[section.begin : section.end]
    first = re.match(rb"\s*(\d+)\s", text)
    if first is None or int(first[1]) != n or len(text.split()) != n * n + 1:
        return parts
    begin = section.begin + first.end(1)
    line = section.line + parts.file.content.count(b"\n", section.begin, begin)
    return replace(parts, sections={**parts.sections, SECTION: replace(section, line=line, begin=begin)})


def with_precedences(tsp: Tsp) -> Tsp:
    """Return an instance in which -1 is no cost, but says that the column's city comes before the row's."""
    before = np.argwhere(tsp.cost == -tsp.scale)
    cost = tsp.cost.copy()
    cost[tuple(before.T)] = FORBIDDEN
    return replace(tsp, cost=cost, precedences=tuple((int(b), int(a)) for a, b in before))


def costs_with_precedences(tsp: Tsp) -> Tsp:
    """Return an instance whose costs have -1 where the column's city comes before the row's.

    Raises
    ------
    InputError
        A cost is negative, so that it could be taken for a precedence.
    """
    if (tsp.cost < 0).any():
        raise InputError(f"{tsp.name} has negative costs, which a SOP file cannot express beside precedences")
    cost = tsp.cost.copy()
    for a, b in tsp.precedences:
        cost[b, a] = -tsp.scale
    return replace(tsp, cost=cost)

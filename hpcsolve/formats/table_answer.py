"""Answers of routing services as costs of cities: the tables of OSRM, Valhalla and openrouteservice, in JSON.

Sources: the table service of OSRM, the matrix service of Valhalla (its answers with and without `verbose`), the matrix
service of openrouteservice. All say how long, or how far, it is from each source to each target; null means that there
is no way. If an answer has both durations and distances, `weight` must say which ones are the costs. Sources and
targets must be the same places in the same order. Cities are labelled from 0, as in a matrix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve.formats.files import InputFile
from hpcsolve.formats.geojson import looks_like_geojson
from hpcsolve.formats.networkx_files import looks_like_node_link
from hpcsolve.formats.tables import listed
from hpcsolve.problems.labels import is_real
from hpcsolve.problems.notes import read_note
from hpcsolve.problems.rounding import EXACT_IN_DOUBLES, Precision, costs_of_table
from hpcsolve.problems.tsp import Tsp, from_costs, require_memory
from hpcsolve.wording import counted, shown

_SIGNATURE = re.compile(rb'"(?:durations|distances)"\s*:\s*\[|"sources_to_targets"\s*:')
TABLES = {"durations": "time", "distances": "distance"}
"""Names of tables, and what a cell of Valhalla calls its number."""
SYMBOLS = {"seconds": "s", "metres": "m", "m": "m", "kilometers": "km", "km": "km"}
"""What answers call a unit -> its symbol. Of others, such as miles, the result has none."""
_SAME = ("location", "lat", "lon")
"""What says where a source or target is."""


def looks_like_table_answer(content: bytes) -> bool:
    """Return whether the file is a JSON object with durations, distances or `sources_to_targets`, and no graph."""
    if not content.lstrip().startswith(b"{") or _SIGNATURE.search(content) is None:
        return False
    return not looks_like_geojson(content) and not looks_like_node_link(content) and b'"features"' not in content


def read_table_answer(file: InputFile, precision: Precision | None = None, weight: str | None = None) -> Tsp:
    """Return the cities of a table.

    Parameters
    ----------
    weight
        "durations" or "distances". None: the only one that the answer has.

    Raises
    ------
    InputError
        With file and line: the answer is an error, has not the table or two of them, is not square, its targets are not
        its sources, or a cell is no number.
    """
    answer, line = file.json(), file.first_line
    if not isinstance(answer, dict):
        raise file.error("expected the answer of a routing service, an object of JSON", line)
    if answer.get("code", "Ok") != "Ok" or "error" in answer:
        said = answer.get("message", answer.get("error", answer.get("code")))
        raise file.error(f"the routing service answered with an error: {shown(str(said))}", line)
    tables = _tables(file, answer)
    if weight is None and len(tables) > 1:
        raise file.error('has durations and distances; choose with weight = "durations" or weight = "distances"', line)
    name = next(iter(tables), "") if weight is None else weight
    if name not in tables:
        has = f"its tables are {listed(tables)}" if tables else "it has neither durations nor distances"
        raise file.error(f"has no table {shown(name)}; {has}" if name else has, line)
    table, n = tables[name], len(tables[name])
    for row, cells in enumerate(table):
        if not isinstance(cells, list) or len(cells) != n:
            count = len(cells) if isinstance(cells, list) else "no"
            raise file.error(f"row {row} of {name} has {count} cells, and there are {n} rows; it must be square, from "
                             "all places to all places", line)
        for column, cell in enumerate(cells):
            if cell is not None and not is_real(cell):
                raise file.error(f"{name} from {row} to {column}: expected a number or null, found {shown(str(cell))}",
                                 line)
    if not n:
        raise file.error(f"{name} has no rows", line)
    _require_same_places(file, answer)
    require_memory(n, 40)
    large = any(isinstance(cell, int) and abs(cell) > EXACT_IN_DOUBLES for cells in table for cell in cells)
    numbers = np.array([[np.inf if cell is None else cell for cell in cells] for cells in table],
                       dtype=object if large else np.float64)
    costs = costs_of_table(numbers, precision, file.name)
    tsp = from_costs(costs.values, file.stem or "table", scale=costs.scale, rounding=costs.rounding)
    measured = _unit(answer, name)
    return replace(tsp, notes=_notes(answer, name, measured), unit=SYMBOLS.get(measured, ""))


def _tables(file: InputFile, answer: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the tables that an answer has, by their names in `TABLES`."""
    if isinstance(answer.get("times"), list) or isinstance(answer.get("weights"), list):
        raise file.error("is an answer of GraphHopper; keep its distances or its times alone, as a matrix",
                         file.first_line)
    whole = answer.get("sources_to_targets", answer)
    if isinstance(whole, dict):
        return {name: whole[name] for name in TABLES if isinstance(whole.get(name), list)}
    if not isinstance(whole, list) or not all(isinstance(row, list) for row in whole):
        raise file.error("sources_to_targets is no list of rows", file.first_line)
    for row, cells in enumerate(whole):
        for column, cell in enumerate(cells):
            named = isinstance(cell, dict) and (cell.get("from_index", row), cell.get("to_index", column))
            if named != (row, column):
                what = f"cell {column} of row {row} of sources_to_targets is not from {row} to {column}"
                raise file.error(what, file.first_line)
    return {name: [[cell.get(key) for cell in cells] for cells in whole] for name, key in TABLES.items()
            if any(cell.get(key) is not None for cells in whole for cell in cells)}


def _require_same_places(file: InputFile, answer: Mapping[str, Any]) -> None:
    """Refuse an answer whose targets are at other places than its sources."""
    sources, targets = answer.get("sources"), answer.get("destinations", answer.get("targets"))
    if not isinstance(sources, list) or not isinstance(targets, list):
        return
    for place, (source, target) in enumerate(zip(_flat(sources), _flat(targets))):
        if isinstance(source, dict) and isinstance(target, dict) and any(
                source.get(key) != target.get(key) for key in _SAME):
            where = ", ".join(json.dumps([at[key] for key in _SAME if key in at]) for at in (source, target))
            what = f"source and target {place} are at other places ({where})"
            raise file.error(f"{what}; ask for the table from all places to the same places", file.first_line)


def _flat(places: list[Any]) -> list[Any]:
    """Return the places of a list, or of a list in a list, as older versions of Valhalla have it."""
    return places[0] if len(places) == 1 and isinstance(places[0], list) else places


def _unit(answer: Mapping[str, Any], name: str) -> str:
    """Return the unit of the costs in words, as the answer has it."""
    if name == "durations":
        return "seconds"
    asked = answer.get("metadata")
    query = asked.get("query") if isinstance(asked, dict) else None
    return str((query.get("units") if isinstance(query, dict) else None) or answer.get("units") or "metres")


def _notes(answer: Mapping[str, Any], name: str, unit: str) -> tuple[str, ...]:
    """Return the lines that say what the costs are, and which ones are guesses."""
    guessed = answer.get("fallback_speed_cells")
    notes: tuple[str, ...] = (read_note(f"costs are {name} in {shown(unit)[1:-1]}"),)
    if isinstance(guessed, list) and guessed:
        notes += (read_note(f"{counted(len(guessed), 'cost')} of places without a way are guessed (fallback_speed)"),)
    return notes

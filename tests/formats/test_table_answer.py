"""Answers of routing services, as they document them, are read as costs. What is not clear in them is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_object
from hpcsolve.problems.tsp import NO_ARC
from hpcsolve.runner.choose import choose
from hpcsolve.runner.verify import verify_file
from tests.formats.reading import refusal
from tests.oracles import brute_force

PLACES = [[16.37, 48.21], [15.44, 47.07], [14.29, 48.31]]
DURATIONS = [[0, 7204.3, 6311], [7190.9, 0, None], [6300, 8000.25, 0]]
DISTANCES = [[0, 197034.5, 184000], [196000, 0, None], [183000, 220000, 0]]


def osrm(**tables):
    """Return an answer of OSRM's table service, version 1."""
    waypoints = [{"hint": "abc=", "distance": 4.2, "name": "Ring", "location": place} for place in PLACES]
    return {"code": "Ok", "sources": waypoints, "destinations": waypoints, **tables}


def openrouteservice(**tables):
    places = [{"location": place, "snapped_distance": 12.5} for place in PLACES]
    query = {"locations": PLACES, "profile": "driving-car", "metrics": ["duration"], "units": "m"}
    return {**tables, "destinations": places, "sources": places,
            "metadata": {"attribution": "openrouteservice.org", "service": "matrix", "query": query}}


def valhalla(durations, distances, nested=False):
    """Return an answer of Valhalla with `verbose`, whose places older versions put into a list of their own."""
    cells = [[{"distance": distances[i][j], "time": durations[i][j], "from_index": i, "to_index": j} for j in range(3)]
             for i in range(3)]
    places = [{"lon": x, "lat": y} for x, y in PLACES]
    places = [places] if nested else places
    return {"algorithm": "costmatrix", "units": "kilometers", "sources": places, "targets": places,
            "sources_to_targets": cells}


def short_valhalla(**tables):
    return {"algorithm": "costmatrix", "units": "kilometers", "sources_to_targets": tables}


def costs(tsp):
    return [[None if cost == NO_ARC else cost / tsp.scale for cost in row] for row in tsp.cost.tolist()]


def expected(table):
    return [[None if i == j else cost for j, cost in enumerate(row)] for i, row in enumerate(table)]


BOTH = {"durations": DURATIONS, "distances": DISTANCES}


@pytest.mark.parametrize(("answer", "weight", "table", "note"), [
    (osrm(durations=DURATIONS), None, DURATIONS, "durations in seconds"),
    (osrm(**BOTH), "durations", DURATIONS, "durations in seconds"),
    (osrm(**BOTH), "distances", DISTANCES, "distances in metres"),
    (openrouteservice(durations=DURATIONS), None, DURATIONS, "durations in seconds"),
    (openrouteservice(**BOTH), "distances", DISTANCES, "distances in m"),
    (valhalla(DURATIONS, DISTANCES), "durations", DURATIONS, "durations in seconds"),
    (valhalla(DURATIONS, DISTANCES, nested=True), "distances", DISTANCES, "distances in kilometers"),
    (valhalla(DURATIONS, [[None] * 3] * 3), None, DURATIONS, "durations in seconds"),
    (short_valhalla(**BOTH), "distances", DISTANCES, "distances in kilometers"),
    (short_valhalla(durations=DURATIONS), None, DURATIONS, "durations in seconds"),
])
def test_answers(tmp_path, answer, weight, table, note):
    (tmp_path / "table.json").write_text(json.dumps(answer, indent=1))
    instance = read(tmp_path / "table.json", weight=weight)
    assert instance.format == "table answer"
    for tsp in (instance.problem, read_object(answer, weight=weight)):
        assert costs(tsp) == expected(table) and tsp.labels.tolist() == [0, 1, 2]
        assert tsp.notes == (f"read:   costs are {note}",)


@given(st.integers(1, 5).flatmap(lambda n: st.lists(
    st.lists(st.none() | st.integers(0, 10**6) | st.integers(0, 10**7).map(lambda tenths: tenths / 10),
             min_size=n, max_size=n), min_size=n, max_size=n)))
def test_any_table(table):
    assert costs(read_object(osrm(durations=table) | {"sources": [], "destinations": []})) == expected(table)


@pytest.mark.parametrize(("answer", "weight", "message"), [
    (osrm(**BOTH), None, 'has durations and distances; choose with weight = "durations" or weight = "distances"'),
    (valhalla(DURATIONS, DISTANCES), None, "has durations and distances; choose with weight"),
    (osrm(durations=DURATIONS), "distances", "has no table 'distances'; its tables are durations"),
    (osrm(**BOTH), "time", "has no table 'time'; its tables are durations, distances"),
    ({"code": "NoTable", "message": "not found", "durations": []}, None, "the routing service answered with an erro"),
    (osrm(durations=DURATIONS[:2]), None, "row 0 of durations has 3 cells, and there are 2 rows; it must be square"),
    (osrm(durations=[[0, "1"], [1, 0]]), None, "durations from 0 to 1: expected a number or null, found '1'"),
    (osrm(durations=[[0, True], [1, 0]]), None, "durations from 0 to 1: expected a number or null, found 'True'"),
    (osrm(durations=[]), None, "durations has no rows"),
    ({**osrm(durations=DURATIONS), "destinations": osrm()["sources"][::-1]}, None,
     "source and target 0 are at other places ([[16.37, 48.21]], [[14.29, 48.31]]); ask for the table from all"),
    ({"sources_to_targets": [[{"time": 1, "from_index": 0, "to_index": 1}]]}, None,
     "cell 0 of row 0 of sources_to_targets is not from 0 to 0"),
    ({"sources_to_targets": [1]}, None, "sources_to_targets is no list of rows"),
    ({"sources_to_targets": {}}, None, "it has neither durations nor distances"),
])
def test_answers_that_are_refused(tmp_path, answer, weight, message):
    (tmp_path / "table.json").write_text(json.dumps(answer))
    assert refusal(read, tmp_path / "table.json", weight=weight).startswith(f"{tmp_path / 'table.json'}:1: {message}")


def test_guessed_costs_are_noted():
    tsp = read_object(osrm(durations=[[0, 1], [2, 0]]) | {"fallback_speed_cells": [[0, 1]]})
    assert tsp.notes[1] == "read:   1 cost of places without a way are guessed (fallback_speed)"


def test_a_dict_and_a_file_are_solved(tmp_path):
    costs_or_none = np.array([[np.inf if cost is None else cost for cost in row] for row in DURATIONS])
    result = hpcsolve.solve(osrm(**BOTH), weight="durations", device="cpu")
    assert result.cost == brute_force(np.where(np.isinf(costs_or_none), 10**9, costs_or_none * 100)) / 100
    with pytest.raises(InputError, match='choose with weight = "durations"'):
        hpcsolve.solve(osrm(**BOTH), device="cpu")
    with pytest.raises(InputError, match=r"weight='km' names a table of a dict, and list has none|is not a graph"):
        hpcsolve.solve([[0, 1], [1, 0]], "held-karp", weight="km", device="cpu")
    (tmp_path / "table.json").write_text(json.dumps(osrm(**BOTH)))
    for weight in BOTH:
        chosen = choose(str(tmp_path / "table.json"), overrides=[f"instance.weight={weight}"])
        assert chosen.job.settings.algorithm == "held-karp"
        assert chosen.table["instance"] == {"file": str(tmp_path / "table.json"), "weight": weight}
    both = [hpcsolve.solve(tmp_path / "table.json", weight=weight, device="cpu", output=tmp_path / f"{weight}.h5")
            for weight in BOTH]
    assert both[0].cost == result.cost and both[1].cost != both[0].cost
    hashes = {result.contents.value("job", "hash") for result in both}
    assert len(hashes) == 2, "the file alone does not name the instance"
    for weight in BOTH:
        contents, verdict = verify_file(str(tmp_path / f"{weight}.h5"))
        assert verdict.passed and contents.value("instance", "format") == "table answer"

"""GeoJSON lines become edges whose weights are lengths in metres or a property, or are refused if unclear."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.formats import read_graph
from hpcsolve.problems.distances import great_circle
from tests.formats.reading import refusal
from tests.formats.samples import GEOJSON

places = st.sampled_from([(16.37, 48.21), (16.38, 48.22), (16.4, 48.2), (-0.1, 51.5), (180.0, -90.0), (0, 0)])
lines = st.lists(st.lists(places, min_size=2, max_size=6), min_size=1, max_size=6)


def read_text(folder, text, **options):
    (folder / "t.geojson").write_text(text)
    return read_graph(folder / "t.geojson", **options).problem


def feature(line, **properties):
    geometry = {"type": "LineString", "coordinates": line}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(features):
    return json.dumps({"type": "FeatureCollection", "features": features})


def name(place):
    return ",".join(str(x).removesuffix(".0") for x in place)


def edges_of(graph):
    arcs = zip(graph.tails().tolist(), graph.heads.tolist(), (graph.weights / graph.scale).tolist(), strict=True)
    return {(graph.vertex_names[a], graph.vertex_names[b]): weight for a, b, weight in arcs}


@given(lines, st.booleans(), st.booleans())
def test_lines_become_edges(tmp_path_factory, drawn, directed, as_one):
    one = {"type": "MultiLineString", "coordinates": drawn}
    text = json.dumps(one) if as_one else collection([feature(line) for line in drawn])
    graph = read_text(tmp_path_factory.mktemp("g"), text, directed=directed)
    expected = {}
    for line in drawn:
        for a, b in itertools.pairwise(line):
            if a != b:
                metres = float(great_circle(np.array(a[::-1], float), np.array(b[::-1], float)))
                for ends in ((a, b),) if directed else ((a, b), (b, a)):
                    expected[name(ends[0]), name(ends[1])] = round(metres, 3)
    found = edges_of(graph)
    assert found.keys() == expected.keys() and all(abs(found[ends] - expected[ends]) < 0.0011 for ends in found)
    assert [name(point[::-1]) for point in graph.coordinates.tolist()] == list(graph.vertex_names)
    assert graph.coordinates_kind == "degrees"


def test_a_property_as_weight(tmp_path):
    """With a property each line is one edge between its ends."""
    graph = read_text(tmp_path, GEOJSON, weight="km", directed=True)
    assert edges_of(graph) == {("16.37,48.21", "16.4,48.2"): 2.5, ("16.4,48.2", "16.37,48.21"): 1.5}


@pytest.mark.parametrize(("text", "options", "message"), [
    (GEOJSON, {"weight": "time"}, ":3: 'time' of a line is missing; properties are name, km; give each line a number"),
    (GEOJSON.replace("2.5", '"far"'), {"weight": "km"}, ":3: 'km' of a line is 'far'; give each line a number"),
    (GEOJSON.replace("2.5", "-2.5"), {"weight": "km"}, ":3: the weight is negative"),
    (collection([feature([[0, 0], [1, 1], [2, 2]], km=1), feature([[1, 1], [3, 3]], km=1)]), {"weight": "km"},
     ":1: the line passes through 1,1, where another one meets it, so it is several edges; split it there"),
    (GEOJSON.replace("48.22", "5340000.5"), {}, ":3: the latitude 5.34e+06 is outside of -90 to 90"),
    (GEOJSON.replace("48.22", "1e999"), {}, ":3: the latitude is too large"),
    (GEOJSON.replace("48.22", '"x"'), {}, ":3: expected [longitude, latitude], found '[16.38, \"x\"]'"),
    (collection([feature([[0, 0]])]), {}, ":1: a line needs a list of at least two places"),
    (collection([]), {}, ":1: has no LineString and no MultiLineString"),
    ('{"type": "FeatureCollection", "coordinates": [', {}, ":1: is not JSON: Expecting value"),
    ('{"type": "FeatureCollection", "features": {"coordinates": 1}}', {}, ":1: the FeatureCollection has no list"),
    ('{"type": "LineString", "coordinates": ' + "[" * 100_000, {}, ":1: is not JSON"),
])
def test_mistakes(tmp_path, text, options, message):
    assert refusal(read_text, tmp_path, text, **options).startswith(f"{tmp_path}/t.geojson{message}")

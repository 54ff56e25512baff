"""What an input says of its edges: which of parallel edges is meant, by brute force, and lines as text."""

import datetime
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.problems.edge_texts import edge_texts, line_in, line_text

ENDS = st.integers(0, 4)
NUMBERS = st.floats(-180, 180)


class Line:
    """A line as shapely has it, as far as it is used."""

    def __init__(self, *places):
        self.coords = places


class Shapes:
    """Several lines in one, whose coordinates shapely refuses."""

    @property
    def coords(self):
        raise NotImplementedError("Multi-part geometries do not provide a coordinate sequence")

    def __str__(self):
        return "MULTILINESTRING ((0 0, 1 1))"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ENDS, ENDS, st.integers(0, 3)), min_size=1, max_size=25), st.booleans())
def test_the_edge_that_a_search_takes(edges, directed):
    tails, heads, weights = zip(*edges)
    texts = edge_texts(tails, heads, weights, [(number, {}) for number in range(len(edges))], keyed=True, arcs=directed)
    for tail, head, _ in edges:
        fits = [(weight, number) for number, (a, b, weight) in enumerate(edges)
                if (a, b) == (tail, head) or (not directed and (b, a) == (tail, head))]
        assert texts.of(5, directed, [tail], [head]).tolist() == [min(fits)[1]]
    everything = texts.of(5, directed, tails, heads)
    assert [json.loads(key) for key, _ in texts.texts(everything)] == everything.tolist()


def test_no_such_edge():
    texts = edge_texts([0], [1], None, [(None, {})], keyed=False, arcs=True)
    assert texts.of(3, False, [1], [0]).tolist() == [0] and not len(texts.of(3, True, [], []))
    for tail, head in ((1, 0), (1, 2)):
        with pytest.raises(ValueError, match="none of the instance's file"):
            texts.of(3, True, [tail], [head])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=5))
def test_lines_are_read_as_they_are_written(places):
    assert line_in(line_text(places)).tolist() == [list(place) for place in places]


def test_what_other_programs_write_as_lines():
    assert line_in("LINESTRING Z (1 2 9, 3 4 9)").tolist() == [[1, 2], [3, 4]]
    assert line_in(" linestring(1.5e1 -2,3 4)\n").tolist() == [[15, -2], [3, 4]]
    for text in ("LINESTRING EMPTY", "LINESTRING (1 2)", "LINESTRING (1 2, 3)", "LINESTRING (1 2, 3 x)", "POINT (1 2)",
                 "MULTILINESTRING ((0 0, 1 1))", "LINESTRING (1 2, nan 3)", "LINESTRING (1, 2)", "", 5, None):
        assert line_in(text) is None


def test_attributes_as_json():
    about = {"osmid": [np.int64(7), 8], "geometry": Line((1, 2.5), (3, 4)), "lanes": float("nan"), 5: {"b"},
             "shape": Shapes(), "day": datetime.date(2026, 1, 2), "wide": np.array([1.5]), "oneway": True}
    texts = edge_texts([0], [1], None, [((1, "a"), about)], keyed=True, arcs=True)
    ((key, attributes),) = texts.texts(np.array([0]))
    assert json.loads(key) == [1, "a"] and json.loads(attributes) == {
        "osmid": [7, 8], "geometry": "LINESTRING (1 2.5, 3 4)", "lanes": None, "5": ["b"], "oneway": True,
        "shape": "MULTILINESTRING ((0 0, 1 1))", "day": "2026-01-02", "wide": [1.5]}

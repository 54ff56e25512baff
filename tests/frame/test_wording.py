"""Suggestions for misspelt words, and nouns with their numbers."""

import pytest

from hpcsolve.wording import counted, did_you_mean, nearest

KEYS = ("seed", "share-gpu", "stop", "road-graph", "road-steiner", "NODE_COORD_SECTION")


@pytest.mark.parametrize(("word", "expected"), [
    ("sede", ["seed"]), ("SEED", ["seed"]), ("share_gpu", ["share-gpu"]), ("road", ["road-graph", "road-steiner"]),
    ("node_cord_section", ["NODE_COORD_SECTION"]), ("st", ["stop"]), ("zzz", []), ("", []),
])
def test_the_nearest_words(word, expected):
    assert nearest(word, KEYS) == expected


def test_the_end_of_a_message():
    assert did_you_mean("road", KEYS) == "; did you mean road-graph or road-steiner?"
    assert did_you_mean("zzz", KEYS) == "" and did_you_mean("zzz", KEYS, "; the keys are a, b") == "; the keys are a, b"


@pytest.mark.parametrize(("number", "noun", "expected"), [
    (1, "thread", "1 thread"), (2, "thread", "2 threads"), (0, "city", "0 cities"), (1, "city", "1 city"),
    (3, "vertex", "3 vertices"), (1, "vertex", "1 vertex"), (2, "query", "2 queries"),
])
def test_nouns_with_numbers(number, noun, expected):
    assert counted(number, noun) == expected

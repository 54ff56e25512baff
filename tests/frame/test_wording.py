"""Suggestions for misspelt words, and nouns with their numbers."""

import pytest

from hpcsolve.wording import counted, did_you_mean, nearest, not_solved

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


@pytest.mark.parametrize(("word", "problem"), [
    ("vehicles", "vehicle routing"), ("DEMAND_SECTION", "vehicle routing"), ("Demand [kg]", "vehicle routing"),
    ("NodeWeights", "weights of vertices"), ("node_weights", "weights of vertices"), ("prize", "prize collecting"),
    ("MaximumDegrees", "bounds on degrees"), ("due_date", "tardiness"), ("tardiness", "tardiness"),
])
def test_what_is_not_solved(word, problem):
    assert not_solved(word).startswith("hpcsolve does not solve ") and problem in not_solved(word)
    assert did_you_mean(word, [word[:-1]], "; or what") == f"; {not_solved(word)}"


@pytest.mark.parametrize("word", ["", "s", "depot", "start", "seed", "earliest", "weight", "section", "1"])
def test_other_words_have_no_such_sentence(word):
    assert not_solved(word) == ""


@pytest.mark.parametrize(("number", "noun", "expected"), [
    (1, "thread", "1 thread"), (2, "thread", "2 threads"), (0, "city", "0 cities"), (1, "city", "1 city"),
    (3, "vertex", "3 vertices"), (1, "vertex", "1 vertex"), (2, "query", "2 queries"),
])
def test_nouns_with_numbers(number, noun, expected):
    assert counted(number, noun) == expected

"""What tests ask of a file that they wrote: the arcs that are read from it, or the line that refuses it."""

import time
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from hpcsolve.errors import InputError


def refusal(read, *arguments, **options):
    """Return the message of the error, which must be one line and come within a second."""
    begin = time.process_time()
    with pytest.raises(InputError) as caught:
        read(*arguments, **options)
    assert time.process_time() - begin < 1 and "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


def named_arcs(graph):
    """Return the weight of each arc, by names or labels of its ends."""
    called = graph.vertex_names or graph.labels.tolist()
    arcs = zip(graph.tails().tolist(), graph.heads.tolist(), graph.weights.tolist(), strict=True)
    return {(called[a], called[b]): Fraction(repr(weight)) / graph.scale for a, b, weight in arcs}


def names(least=1, most=12):
    """Return a strategy of names of so many letters, digits and signs, without needless blanks."""
    letters = st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])
    tidy = st.text(letters, min_size=least, max_size=most).map(
        lambda text: unicodedata.normalize("NFC", " ".join(text.split())))
    return tidy.filter(bool) if least else tidy

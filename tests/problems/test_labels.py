"""Cities and vertices are found by label or name, and what could be misread is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.problems.labels import positions_of

names = st.sampled_from(["Wien", "Graz", "0", "1", "7", "-3", "007", "1.0", "", " "])


def found(labels, searched, names=()):
    return positions_of(np.array(labels), searched, "town", "city", "cities", names)


@given(st.lists(names, min_size=1, max_size=8), st.data())
def test_a_number_is_a_label_and_a_text_a_name(called, data):
    """Whatever is found has the label or the name that was asked for, and no other city has it."""
    n = len(called)
    labels = data.draw(st.lists(st.integers(-4, 8), min_size=n, max_size=n, unique=True))
    asked = data.draw(names | st.integers(-5, 9))
    try:
        position = int(found(labels, [asked], called)[0])
    except InputError:
        position = None
    if isinstance(asked, str):
        assert position == (called.index(asked) if called.count(asked) == 1 else None)
    else:
        conflict = any(name == str(asked) and label != asked for name, label in zip(called, labels, strict=True))
        assert position == (labels.index(asked) if asked in labels and not conflict else None)


def test_lists_of_both():
    assert found([5, 6, 7], ["b", 5, "c", np.int64(6)], ["a", "b", "c"]).tolist() == [1, 0, 2, 1]
    assert found([5, 6], [(1, "x"), 6.0], ["(1, 'x')", "b"]).tolist() == [0, 1]
    assert found([5, 6], np.array([[6, 5], [5, 5]])).tolist() == [[1, 0], [0, 0]]
    assert found([5, 6], []).tolist() == []


@pytest.mark.parametrize(("searched", "message"), [
    (["Viena"], "town has no city 'Viena'; did you mean 'Vienna'?"),
    (["vienna"], "town has no city 'vienna'; did you mean 'Vienna'?"),
    (["Xyz"], "town has no city 'Xyz'; its cities have names such as 'Vienna'"),
    (["Graz"], "town has 2 cities named 'Graz', such as 11 and 12; give the number"),
    (["13"], "town has no city '13' by name; 13 is a label of its cities, to be given as a number"),
    ([9], "town has no city 9; its cities are numbered 10 to 13"),
    ([10], "10 is the number of 'Vienna' in town, and another city has '10' as its name; write the name that you mean"),
    ([2**70], "town has no city '1180591620717411303424'"),
    ([None], "town has no city 'None'"),
    ([True], "town has no city 'True'"),
])
def test_messages(searched, message):
    with pytest.raises(InputError) as caught:
        found([10, 11, 12, 13], searched, ["Vienna", "Graz", "Graz", "10"])
    assert str(caught.value).startswith(message)


def test_names_where_there_are_none():
    with pytest.raises(InputError, match="town has no city 'Wien'; its cities have numbers, 1 to 2, and no names"):
        found([1, 2], ["Wien"])


def test_a_near_miss_among_a_million_names_is_found_at_once():
    called = [f"house {i}" for i in range(1_000_000)]
    with pytest.raises(InputError, match="did you mean 'house 7'"):
        found(np.arange(1_000_000), ["house  7"], called)

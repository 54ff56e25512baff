"""What ranks have in common is compared by name, also what only one of them has."""

import pytest

from hpcsolve.parallel.launch import difference


@pytest.mark.parametrize(
    ("record", "first", "said"),
    [
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, ""),
        ({"a": "1", "b": "3"}, {"a": "1", "b": "2"}, "b: 3 instead of 2"),
        ({"a": "1"}, {"a": "1", "b": "2"}, "b: nothing instead of 2"),
        ({"a": "1", "b": "2"}, {"a": "1"}, "b: 2 instead of nothing"),
    ],
)
def test_the_first_difference_is_named(record, first, said):
    assert difference(record, first) == said

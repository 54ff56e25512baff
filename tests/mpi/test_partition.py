"""`blocks` splits items evenly, in order and without gaps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.parallel.comm import even_shares


@given(n=st.integers(0, 10_000), size=st.integers(1, 200))
def test_every_item_once_in_order_and_evenly(n, size):
    shares = even_shares(n, size)
    assert len(shares) == size
    assert [item for share in shares for item in share] == list(range(n))
    lengths = [len(share) for share in shares]
    assert max(lengths) - min(lengths) <= 1
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize(("n", "size"), [(-1, 2), (3, 0), (3, -1)])
def test_negative_counts_and_no_ranks_are_refused(n, size):
    with pytest.raises(ValueError, match="cannot split"):
        even_shares(n, size)

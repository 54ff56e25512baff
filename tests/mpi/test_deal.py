"""Items, rows and terms of ranks: split evenly in order, dealt to ranks, and compared by name."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.places import place_costs
from hpcsolve.algorithms.held_karp.bounded.relaxation import GROUP, WORK, Deal, Relaxation, first_wishes, make_slots
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm, even_shares
from hpcsolve.parallel.launch import difference
from tests.thread_comm import on_ranks


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


PROGRAM = Path(__file__).with_name("deal_program.py")


@pytest.mark.slow
def test_the_bounds_are_the_same_on_real_ranks(start_ranks):
    """Not only the proof is, but every value of every table, and the arcs that are removed."""
    printed = set()
    for ranks in (1, 2, 3, 4):
        done = start_ranks(ranks, sys.executable, PROGRAM)
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1 and printed.pop().startswith("(")


@pytest.mark.parametrize("ranks", [2, 8, 9, 17, 30])
def test_each_row_is_computed_once_in_each_group(ranks):
    """Also where there are more ranks than rows."""
    for cities in (5, 50):
        deals = on_ranks(ranks, lambda comm: Deal(comm, cities))  # noqa: B023
        for first in {deal.first for deal in deals}:
            group = [deal for deal in deals if deal.first == first]
            assert 2 <= len(group) <= GROUP
            assert [city for deal in group for city in deal.own] == list(range(cities))


def test_the_bounds_are_the_same_where_ranks_have_no_rows():
    """The first group has 5 ranks and 4 rows."""
    problem = place_costs(np.random.default_rng(1).integers(0, 30, (5, 5, 5)))
    slots = make_slots(problem, first_wishes(problem), np.arange(4), 5)

    def bounds(comm):
        with HostDevice(threads=1) as device:
            relaxation = Relaxation(problem, Devices(device, device), 4, Deal(comm, 4, work=0))
            relaxation.remember(slots)
            found = relaxation.solve(np.arange(4))
            left = relaxation.fix(found.reduced + 20)
            return b"".join(relaxation.bounds_of(place).download().tobytes() for place in range(1, 5)) + bytes([left])

    alone = on_ranks(1, bounds)[0]
    assert on_ranks(9, bounds) == [alone] * 9


def test_small_tables_are_not_dealt():
    """All ranks decide alike, by the size of the table and the most units of a device."""
    assert not Deal(SerialComm(), 60).deals(1 << 40)

    def decide(comm):
        return [Deal(comm, 60, units).deals(work) for units in (1, 4) for work in (WORK - 1, WORK, 4 * WORK)]

    assert on_ranks(2, decide) == [[False, True, True, False, False, True]] * 2


@pytest.mark.parametrize(("record", "first", "said"), [
    ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, ""),
    ({"a": "1", "b": "3"}, {"a": "1", "b": "2"}, "b: 3 instead of 2"),
    ({"a": "1"}, {"a": "1", "b": "2"}, "b: nothing instead of 2"),
    ({"a": "1", "b": "2"}, {"a": "1"}, "b: 2 instead of nothing"),
])
def test_the_first_difference_is_named(record, first, said):
    assert difference(record, first) == said

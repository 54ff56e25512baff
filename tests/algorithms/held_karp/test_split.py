"""Every slice of the lattice has an owner, loads are even, and both ends of a message agree on it."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.algorithms.held_karp.lattice import split as lattice
from hpcsolve.algorithms.held_karp.lattice.split import FEWEST_SPLIT, Share, Split, split_cities

splits = st.builds(Split, st.integers(5, 7), st.sampled_from([1, 3, 5]), st.integers(1, 5))
ranks = st.integers(1, 9)


@pytest.mark.parametrize("cities", range(FEWEST_SPLIT, 47))
def test_split_covers_the_cities_and_has_a_middle(cities: int) -> None:
    split = split_cities(cities)
    assert split.low + split.mid + split.top == cities
    assert split.low >= 5 and split.mid % 2 == 1 and 1 <= split.top <= 9


@given(splits, ranks, st.booleans())
def test_owners_are_even_and_complements_meet(split: Split, size: int, symmetric: bool) -> None:
    owner = lattice.owners(split, size, symmetric)
    unit = 2 if symmetric else 1
    counts = [owner.count(r) for r in range(size)]
    assert sum(counts) == split.slices and max(counts) - min(counts) <= unit
    if symmetric:
        assert owner == owner[::-1]


@given(splits, ranks, st.booleans())
def test_messages_agree_at_both_ends(split: Split, size: int, symmetric: bool) -> None:
    owner = lattice.owners(split, size, symmetric)
    parts = [lattice.stream_slots(split, owner, rank) for rank in range(size)]
    for sender in range(size):
        for receiver in range(size):
            out = [(m.stage, m.count) for m in parts[sender].outgoing if m.peer == receiver]
            into = [(m.stage, m.count) for m in parts[receiver].incoming if m.peer == sender]
            assert out == into


@given(splits, ranks, st.booleans())
def test_a_plane_is_read_where_it_was_written(split: Split, size: int, symmetric: bool) -> None:
    owner = lattice.owners(split, size, symmetric)
    for rank in range(size):
        part = lattice.stream_slots(split, owner, rank)
        written: dict[tuple[int, int], int] = {}
        for row in part.table:
            a = int(row[0])
            for i in range(split.top):
                stage = a.bit_count() - (a >> i & 1)
                slot = int(part.stage_start[stage] + row[1 + i])
                pair = (a & ~(1 << i), i)
                assert written.setdefault(pair, slot) == slot and 0 <= slot < part.count
        assert len(set(written.values())) == len(written)


@given(splits, ranks, st.booleans(), st.sampled_from([2, 4]))
def test_bytes_sent_are_the_formula(split: Split, size: int, symmetric: bool, itemsize: int) -> None:
    owner = lattice.owners(split, size, symmetric)
    edges = sum(
        owner[a] != owner[a | 1 << i] for a in range(split.slices) for i in range(split.top) if not a >> i & 1
    )
    sets = sum(comb(split.mid, size) for size in range(split.middle + 1)) << split.low
    halves = 1 if symmetric else 2
    sent = [Share(split, size, rank, symmetric, itemsize).bytes_sent() for rank in range(size)]
    assert sum(sent) == edges * sets * halves * itemsize


@given(splits)
def test_work_of_all_slices_is_the_textbook_count(split: Split) -> None:
    m = split.cities
    assert Share(split, 1, 0, False, 2).operations() == m * (m - 1) << (m - 2)
    assert Share(split, 1, 0, True, 2).operations() == m * (m - 1) << (m - 3)


def test_chunks_list_every_mid_set_once() -> None:
    split = Split(5, 5, 2)
    rows = lattice.chunks(split, 3)
    assert rows.dtype == np.int32
    assert [int(rows[rows[:, 0] == t, 2].sum()) for t in range(3)] == [1, 5, 10]
    assert all(rows[:, 2] <= 3)

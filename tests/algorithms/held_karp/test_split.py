"""Every slice of the lattice has an owner, loads are even, and both ends of a message agree on it."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
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
def test_at_most_one_message_goes_each_way_in_a_step(split: Split, size: int, symmetric: bool) -> None:
    """In all stages together, and both ends agree on its planes: those of an arc of the lattice by stage."""
    owner = lattice.owners(split, size, symmetric)
    streams = [lattice.stream_of(split, owner, rank) for rank in range(size)]
    for sender, receiver in permutations(range(size), 2):
        out = [m.parts for m in streams[sender].outgoing if m.peer == receiver]
        into = [m.parts for m in streams[receiver].incoming if m.peer == sender]
        crossing = [a.bit_count() for a in range(split.slices) for i in range(split.top)
                    if not a >> i & 1 and (owner[a], owner[a | 1 << i]) == (sender, receiver)]
        assert len(out) == len(into) == bool(crossing)
        for stream, parts in zip((streams[sender], streams[receiver]), (*out, *into)):
            planes = dict(zip(stream.stages[parts].tolist(), stream.planes[parts].tolist()))
            assert planes == Counter(crossing) and sorted(planes) == list(planes)


@given(splits, ranks, st.booleans(), st.integers(1, 3), st.integers(1, 5))
def test_a_plane_is_read_where_it_was_written(split: Split, size: int, symmetric: bool, lag: int, chunk: int) -> None:
    """In every step the planes fill the stream's room without gaps, and both slices of a plane agree on its blocks."""
    owner, sets = lattice.owners(split, size, symmetric), lattice.chunks(split, chunk)[:, 2]
    for rank in range(size):
        stream = lattice.stream_of(split, owner, rank)
        starts = stream.starts(sets, lag, len(sets) + lag * split.top)
        for step, first in enumerate(starts.tolist()):
            written: dict[tuple[int, int], range] = {}
            for a, *at in stream.table.tolist():
                for i in range(split.top):
                    stage = a.bit_count() - (a >> i & 1)
                    if 0 <= step - lag * stage < len(sets):
                        count = int(sets[step - lag * stage])
                        begin = first[at[2 * i]] + at[2 * i + 1] * count
                        blocks = range(begin, begin + count)
                        assert written.setdefault((a & ~(1 << i), i), blocks) == blocks
            assert sorted(b for blocks in written.values() for b in blocks) == list(range(first[-1]))
            assert first[-1] <= stream.count * chunk


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

"""Which states of a layer that is too wide are kept, chosen by digits over the ranks, beside a plain sort."""

from __future__ import annotations

import numpy as np
import pytest

from hpcsolve.algorithms.held_karp.bounded.search import bound_of_width, smallest_keys
from tests.thread_comm import on_ranks


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("top", [9, 70_000, 2**40, 2**64 - 1])
def test_the_smallest_keys_of_all_ranks(top: int, words: int) -> None:
    for ranks in (1, 2, 4):
        rng = np.random.default_rng([ranks, words])
        keys = np.unique(rng.integers(0, top, (200, words), np.uint64, endpoint=True), axis=0)
        rng.shuffle(keys)
        owner, room = rng.integers(0, ranks, len(keys)), int(rng.integers(1, len(keys)))
        parts = on_ranks(ranks, lambda comm: keys[owner == comm.rank][  # noqa: B023
            smallest_keys(keys[owner == comm.rank], room, comm)])  # noqa: B023
        expected = keys[np.lexsort(keys.T)[:room]]
        assert sorted(np.concatenate(parts).tolist()) == sorted(expected.tolist())


@pytest.mark.parametrize("top", [3, 70_000, 2**32])
def test_the_bound_at_a_position_of_all_ranks(top: int) -> None:
    for ranks in (1, 3):
        rng = np.random.default_rng(ranks)
        bounds, owner = rng.integers(0, top, 300).astype(np.uint32), rng.integers(0, ranks, 300)
        for width in (0, 1, 150, 299):
            found = on_ranks(ranks, lambda comm: bound_of_width(bounds[owner == comm.rank], width, comm))  # noqa: B023
            threshold = int(np.sort(bounds)[width])
            assert found == [(threshold, width - int((bounds < threshold).sum()))] * ranks

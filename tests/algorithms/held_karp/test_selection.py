"""Which states of a layer that is too wide are kept, chosen by digits over the ranks, beside a plain sort."""

from __future__ import annotations

import numpy as np
import pytest

from hpcsolve.algorithms.held_karp.bounded.search import smallest
from tests.thread_comm import on_ranks


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("top", [9, 70_000, 2**40, 2**64 - 1])
def test_the_smallest_rows_of_all_ranks(top: int, words: int) -> None:
    """Of many equal bounds of 32 bits and of different keys, which are compared after them, the last word first."""
    for ranks, bounds in ((1, 1), (2, 3), (3, 70_000), (4, 2**32)):
        rng = np.random.default_rng([ranks, words])
        keys = np.unique(rng.integers(0, top, (200, words), np.uint64, endpoint=True), axis=0)
        rng.shuffle(keys)
        bound, owner = rng.integers(0, bounds, len(keys)).astype(np.uint32), rng.integers(0, ranks, len(keys))
        ordered = np.lexsort([*keys.T, bound])
        for room in (0, 1, int(rng.integers(1, len(keys))), len(keys) - 1):
            parts = on_ranks(ranks, lambda comm: np.flatnonzero(owner == comm.rank)[  # noqa: B023
                smallest([part[owner == comm.rank] for part in (bound, *keys.T[::-1])], room, comm)])  # noqa: B023
            assert sorted(np.concatenate(parts).tolist()) == sorted(ordered[:room].tolist())

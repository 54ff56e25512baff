"""Families of states of several parts, joined in little memory."""

import tracemalloc

import numpy as np
import pytest

from hpcsolve.algorithms.steiner_kmb.subset_states import Families


def some_parts(count, families, states, words):
    """Return parts whose sets are all different, in random order, with random states."""
    rng = np.random.default_rng(count)
    numbers, parts = rng.permutation(count * families).astype(np.uint64), []
    for part in range(count):
        own = numbers[part * families : (part + 1) * families]
        sets = np.stack([own % np.uint64(7), own][-words:], axis=1)
        sizes = rng.integers(0, 2 * states + 1, families)
        vertices = np.concatenate([rng.permutation(4 * states)[:size] for size in sizes]).astype(np.uint32)
        weights = rng.integers(0, 1000, len(vertices)).astype(np.uint64)
        parts.append(Families.of_states(sets, sizes, vertices, weights, own))
    return parts


def as_dict(families):
    """Return the least weight and the states of each set."""
    begin = families.begin.astype(int)
    return {tuple(key): (least, list(zip(families.vertices[a:b].tolist(), families.weights[a:b].tolist())))
            for key, least, a, b in zip(families.sets.tolist(), families.least.tolist(), begin, begin[1:])}


@pytest.mark.parametrize("words", [1, 2])
def test_joined_families_are_sorted_and_complete(words):
    parts = some_parts(5, 20, 6, words)
    whole, row = Families.joined(parts), Families.joined(parts, by_set=False)
    expected = {key: value for part in parts for key, value in as_dict(part).items()}
    assert as_dict(whole) == as_dict(row) == expected and len(expected) == 100
    assert [tuple(key) for key in whole.sets.tolist()] == sorted(expected, key=lambda key: key[::-1])
    assert all(states == sorted(states) for _, states in as_dict(whole).values())
    assert int(whole.begin[-1]) == len(whole.vertices)


def test_joining_takes_little_more_than_the_result():
    parts = some_parts(60, 20, 400, 1)
    tracemalloc.start()
    try:
        whole = Families.joined(parts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert whole.nbytes > 4_000_000 and peak < 1.2 * whole.nbytes

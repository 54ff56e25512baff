"""Random integers from a seed that are the same on every platform and with every version of numpy.

numpy guarantees the raw 64-bit words of PCG64 for a seed, but not what `Generator.integers` or `normal` compute from
them. So the integers here are computed from the raw words by integer arithmetic alone, without libm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.memory import require_free
from hpcsolve.problems.labels import is_integer
from hpcsolve.wording import counted

BYTES_AN_EDGE = 160
"""Bytes that generating a graph takes at its peak for each edge that is drawn, until it is an instance."""
LARGEST_RANGE = 2**31
"""Largest size of a range of random integers: its product with 32 random bits must fit 63 bits."""


def next_words(stream: np.random.PCG64, count: int) -> NDArray[np.uint64]:
    """Return the next raw words of a stream."""
    result: NDArray[np.uint64] = stream.random_raw(count)
    return result


def integers_below(raw: NDArray[np.uint64], bound: int) -> NDArray[np.int64]:
    """Return one integer in 0..bound-1 for each raw word, computed from its high 32 bits.

    The probability of each value is 1 / bound within 2 ** -32.

    Raises
    ------
    InputError
        If the bound is above 2 ** 31.
    """
    if bound > LARGEST_RANGE:
        raise InputError(f"a range of {bound} integers is too large; at most {LARGEST_RANGE} are possible")
    return ((raw >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32)).astype(np.int64)


def sorted_unique(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct keys in ascending order, for millions of keys much faster than the hashing `numpy.unique`."""
    keys = np.sort(keys)
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    result: NDArray[np.int64] = keys[first]
    return result


def require_integers(**values: tuple[object, int]) -> None:
    """Refuse values that are not integers of at least their bound and below 2 ** 31, or 2 ** 63 for a seed.

    Parameters
    ----------
    values
        The value and the bound of each key.

    Raises
    ------
    InputError
        For the first key with such a value.
    """
    for key, (value, least) in values.items():
        most = 2**63 - 1 if key == "seed" else LARGEST_RANGE - 1
        if not is_integer(value):
            raise InputError(f"{key} is {value!r}; it must be an integer")
        if not least <= value <= most:
            raise InputError(f"{key} is {value}; it must be {least} to {most}")


def require_truths(**values: object) -> None:
    """Refuse values that are neither true nor false. Raises `InputError` for the first key with such a value."""
    for key, value in values.items():
        if not isinstance(value, bool):
            raise InputError(f"{key} is {value!r}; it must be true or false")


def require_memory_of(n: int, bytes_a_vertex: int, edges: int = 0) -> None:
    """Refuse to generate a graph that takes more memory than is free.

    Parameters
    ----------
    bytes_a_vertex
        Bytes that generating takes at its peak for each vertex, beside 160 for each of the `edges` that are drawn.

    Raises
    ------
    ResourceError
        With the largest number of vertices that would fit.
    """
    needed = bytes_a_vertex * n + BYTES_AN_EDGE * edges
    beside = f" and {counted(edges, 'edge')}" if edges else ""
    require_free(needed, f"generating a graph of {counted(n, 'vertex')}{beside}",
                 lambda free: f"some {counted(n * free // max(needed, 1), 'vertex')}")

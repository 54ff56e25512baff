"""Keys of states (cuda_src/held_karp/states.cuh) in numpy: bits of the visited cities, the last city's number above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import ResourceError

Keys = NDArray[np.uint64]
"""Shape (states, words)."""
MOST_CITIES = {1: 58, 2: 121}
"""Words of a key -> the most cities whose bits and number it holds."""
LAST_SHIFT = {1: 58, 2: 57}
"""Words of a key -> the bit in its last word where the last city's number begins."""


def key_words(cities: int) -> int:
    """Return the words of a key, 1 or 2. Raises `ResourceError` if not even 2 hold so many cities."""
    for words, most in MOST_CITIES.items():
        if cities <= most:
            return words
    raise ResourceError(f"{cities} cities beside the depot are too many: a state's key holds {MOST_CITIES[2]}; use a "
                        "heuristic or branch and cut")


def make_keys(visited: NDArray[np.bool_], last: NDArray[np.integer]) -> Keys:
    """Return the keys of states.

    Parameters
    ----------
    visited
        Shape (states, m): which cities have been visited, the last one included.
    last
        Shape (states,): the last city.
    """
    keys = masks_of(visited, key_words(visited.shape[1]))
    keys[:, -1] |= last.astype(np.uint64) << np.uint64(LAST_SHIFT[keys.shape[1]])
    return keys


def masks_of(members: NDArray[np.bool_], words: int) -> Keys:
    """Return sets of cities as bits, shape (sets, words), from a table of shape (sets, m)."""
    padded = np.zeros((len(members), 64 * words), bool)
    padded[:, : members.shape[1]] = members
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def last_cities(keys: Keys) -> NDArray[np.int64]:
    """Return the last city of each state."""
    return (keys[:, -1] >> np.uint64(LAST_SHIFT[keys.shape[1]])).astype(np.int64)


def contains(keys: Keys, city: int) -> NDArray[np.bool_]:
    """Return which states have visited a city."""
    found: NDArray[np.bool_] = (keys[:, city >> 6] >> np.uint64(city & 63) & np.uint64(1)).astype(bool)
    return found


def visited(keys: Keys, cities: int) -> NDArray[np.bool_]:
    """Return the visited cities of each state, shape (states, cities)."""
    bits = np.unpackbits(np.ascontiguousarray(keys).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :cities].astype(bool)


def set_hash(keys: Keys) -> NDArray[np.uint64]:
    """Return the hash of each state's visited set, which says its bucket and rank."""
    sets = keys.copy()
    sets[:, -1] &= np.uint64((1 << LAST_SHIFT[keys.shape[1]]) - 1)
    return hashed(sets)


def hashed(keys: Keys) -> NDArray[np.uint64]:
    """Return the hash of each key."""
    x = np.zeros(len(keys), np.uint64)
    for word in range(keys.shape[1]):
        x = _mixed((x + np.uint64(0x9E3779B97F4A7C15)) ^ keys[:, word])
    return x


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for _ in range(2):
        x = (x ^ x >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ x >> np.uint64(32)


def are_states(keys: Keys, cities: int, place: int) -> bool:
    """Return whether all keys are those of states with so many of the cities, the last one among them."""
    last = last_cities(keys)
    if (last >= cities).any():
        return False
    members = visited(keys, LAST_SHIFT[keys.shape[1]] + 64 * (keys.shape[1] - 1))
    fits = (members.sum(axis=1) == place) & members[np.arange(len(keys)), last] & ~members[:, cities:].any(axis=1)
    return bool(fits.all())

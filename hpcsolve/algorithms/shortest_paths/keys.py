"""Keys: distances as the kernels hold them, as unsigned integers in the same order.

See cuda_src/paths/distances.cuh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph


@dataclass(frozen=True)
class Keys:
    """A type of keys.

    Attributes
    ----------
    code
        The ending of the names of their kernels. "u4" and "u8" are integers, "f8" the bit patterns of float64.
    limit
        The largest key of a distance that Near-Far can hold, which reserves one bit.
    whole_limit
        The largest key of a distance that Bellman-Ford can hold, one below `unreached`.
    """

    code: str
    limit: int
    whole_limit: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the keys in memory."""
        return np.dtype("u4" if self.code == "u4" else "u8")

    @property
    def unreached(self) -> int:
        """The key of a vertex that no path reaches: all ones."""
        return int(np.iinfo(self.dtype).max)

    def encode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the keys of distances or weights."""
        if self.code == "f8":
            return np.ascontiguousarray(values, np.float64).view(np.uint64)
        return np.ascontiguousarray(values).astype(self.dtype)

    def encode_one(self, value: float) -> int:
        """Return the key of a number. Integer keys are rounded down, and are at most `whole_limit`."""
        if self.code == "f8":
            return int(self.encode(np.array([value]))[0])
        return min(int(value), self.whole_limit)

    def decode(self, keys: NDArray[Any]) -> NDArray[Any]:
        """Return the distances of keys. At unreached vertices a float is infinite, an integer is `unreached`."""
        if self.code != "f8":
            return keys
        return np.where(keys == np.uint64(self.unreached), np.inf, keys.view(np.float64))


WORD = Keys("u4", 2**31 - 2, 2**32 - 2)
LONG = Keys("u8", 2**63 - 2, 2**64 - 2)
REAL = Keys("f8", 0x7FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF)
KINDS = {kind.code: kind for kind in (WORD, LONG, REAL)}


def first_keys(graph: Graph) -> Keys:
    """Return the narrowest keys that hold the weights. Distances may need wider ones."""
    if graph.weights.dtype.kind == "f":
        return REAL
    small = not graph.arcs or int(graph.weights.max()) <= WORD.limit
    return WORD if small else LONG


def wider(keys: Keys) -> Keys | None:
    """Return the next wider keys, or None if there are none."""
    return LONG if keys is WORD else None

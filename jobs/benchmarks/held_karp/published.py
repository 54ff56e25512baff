"""What two posts about Held-Karp on GPUs publish: layers as textures in WebGL, and a numba CUDA program with one table.

The second stores a set without its last city in a compact index, so that its table has (n - 1) 2^(n - 2) values of 32
bits, and launches all sets in each layer. The layout `compact` of hpcsolve is that scheme.
"""

from __future__ import annotations

TEXTURES_MOST = 16
"""Largest n of the first post (level textures in a browser). Its times are not known here."""
NUMBA, NUMBA_N, NUMBA_SECONDS, NUMBA_BYTES = "post, numba on an RTX 40-class card", 28, 2.0, 7e9
"""The second post's one figure: about 2 s and about 7 GB for this n."""


def full_table_bytes(n: int) -> int:
    """Return the bytes of the second post's table: (n - 1) 2^(n - 2) values of 32 bits."""
    return 4 * (n - 1) << (n - 2)

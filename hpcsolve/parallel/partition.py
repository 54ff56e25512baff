"""How items of work are divided among ranks."""

from __future__ import annotations

from itertools import pairwise


def blocks(n: int, size: int) -> list[range]:
    """Split 0..n-1 into `size` contiguous ranges, in order, whose lengths differ by at most one.

    The longer ranges come first. A rank without work gets an empty range.
    """
    if n < 0 or size < 1:
        raise ValueError(f"cannot split {n} items among {size} ranks")
    short, longer = divmod(n, size)
    starts = [rank * short + min(rank, longer) for rank in range(size + 1)]
    return [range(start, stop) for start, stop in pairwise(starts)]

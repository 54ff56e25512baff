"""How items of work are divided among ranks."""

from __future__ import annotations

from itertools import pairwise


def even_shares(n: int, size: int) -> list[range]:
    """Return a contiguous range of the items 0..n-1 for each of `size` ranks, whose lengths differ by at most one.

    The ranges are in order, the longer ones first. A rank without work gets an empty range.
    """
    if n < 0 or size < 1:
        raise ValueError(f"cannot split {n} items among {size} ranks")
    short, longer = divmod(n, size)
    starts = [rank * short + min(rank, longer) for rank in range(size + 1)]
    return [range(start, stop) for start, stop in pairwise(starts)]

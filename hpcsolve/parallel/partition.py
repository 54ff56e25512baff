"""How work is split over ranks."""

from __future__ import annotations

from itertools import pairwise


def blocks(n: int, size: int) -> list[range]:
    """Split 0..n-1 into `size` contiguous shares, in order, whose lengths differ by one at most.

    A rank without work gets an empty range; the longer shares come first.
    """
    if n < 0 or size < 1:
        raise ValueError(f"cannot split {n} items over {size} ranks")
    short, longer = divmod(n, size)
    starts = [rank * short + min(rank, longer) for rank in range(size + 1)]
    return [range(start, stop) for start, stop in pairwise(starts)]
